/* Secrets: read from files that only their owner may read, and proved by
 * HMAC. Each reading makes one immutable object with a reference count, so
 * that a handshake under way finishes with the secrets it began with. */
#include "base/rpc/security.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdatomic.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/rpc/security_internal.h"
#include "base/runtime/sync.h"
#include "base/runtime/tls.h"
#include "base/runtime/world.h"

/* Longest key or PEM file. */
#define SECRET_BYTES_MAX ((size_t)64 << 10)

const struct rpc_security rpc_security_default = {.kind = RPC_SECURITY_NONE};

/* --- files --------------------------------------------------------------- */

static int read_bytes(struct file *f, struct buf *out, struct err *err)
{
    size_t got;
    int rc = file_read_at(f, 0, buf_reserve(out, SECRET_BYTES_MAX),
                          SECRET_BYTES_MAX, &got, err);
    if (rc)
        return rc;
    if (got == SECRET_BYTES_MAX)
        return err_set(err, ERR_TOOBIG, "over %zu bytes", SECRET_BYTES_MAX);
    out->len = got;
    return 0;
}

static int
read_file(struct world *w, const char *path, struct buf *out, struct err *err)
{
    struct file *f;
    int rc = file_open(w, path, FILE_READ, &f, err);
    if (rc)
        return rc;
    rc = read_bytes(f, out, err);
    if (rc)
        err_wrap(err, "%s", path);
    file_close(f);
    return rc;
}

static int
read_secret(struct world *w, const char *path, struct buf *out, struct err *err)
{
    int rc = world_check_secret(w, path, err);
    return rc ? rc : read_file(w, path, out, err);
}

/* --- making -------------------------------------------------------------- */

static void security_wipe(struct buf *b)
{
    if (b->data)
        OPENSSL_cleanse(b->data, b->cap);
    buf_close(b);
}

static void copy_name(char *to, const char *from)
{
    size_t len = MIN_OF(strlen(from), (size_t)RPC_NAME_BYTES_MAX);
    memcpy(to, from, len);
    to[len] = '\0';
}

static struct rpc_security *new_security(enum rpc_security_kind kind,
                                         const char *cluster,
                                         const char *principal)
{
    struct rpc_security *s = mem_zalloc(1, sizeof(*s));
    s->kind = kind;
    copy_name(s->cluster, cluster);
    copy_name(s->principal, principal);
    return s;
}

struct rpc_security *rpc_security_none(const char *cluster,
                                       const char *principal)
{
    return new_security(RPC_SECURITY_NONE, cluster, principal);
}

/* --- secrets ------------------------------------------------------------- */

struct security_secrets {
    atomic_uint users;
    struct buf keys[SECURITY_KEYS_MAX];
    size_t key_count;
    struct tls_context *tls; /* Owned; NULL: keys. */
};

#define PATHS_MAX 3

/* The paths of the secrets, and the newest secrets. */
struct security_files {
    atomic_uint users;
    enum rpc_security_kind kind;
    char *paths[PATHS_MAX]; /* The key's; certificate, its key, authority. */
    struct mutex mutex;     /* Guards `secrets`. */
    struct security_secrets *secrets;
};

void security_secrets_unref(struct security_secrets *x)
{
    if (!x || atomic_fetch_sub(&x->users, 1) != 1)
        return;
    for (size_t i = 0; i < x->key_count; i++)
        security_wipe(&x->keys[i]);
    tls_context_free(x->tls);
    mem_free(x);
}

struct security_secrets *security_secrets_ref(const struct rpc_security *s)
{
    struct security_files *f = s->files;
    struct security_secrets *x;
    PRE(f);
    mutex_lock(&f->mutex);
    x = f->secrets;
    atomic_fetch_add(&x->users, 1);
    mutex_unlock(&f->mutex);
    return x;
}

size_t security_key_count(const struct security_secrets *x)
{
    return x->key_count;
}

const struct tls_context *security_tls(const struct security_secrets *x)
{
    return x->tls;
}

static int add_key(struct security_secrets *x,
                   struct slice key,
                   const char *path,
                   struct err *err)
{
    if (key.len < RPC_KEY_BYTES_MIN)
        return err_set(err, ERR_INVALID,
                       "%s: the key is %zu bytes, it must be %d at least", path,
                       key.len, RPC_KEY_BYTES_MIN);
    if (x->key_count == SECURITY_KEYS_MAX)
        return err_set(err, ERR_INVALID, "%s: more than %d keys, a line each",
                       path, SECURITY_KEYS_MAX);
    buf_append_slice(&x->keys[x->key_count++], key);
    return 0;
}

static int take_keys(struct security_secrets *x,
                     struct slice text,
                     const char *path,
                     struct err *err)
{
    int rc = 0;
    text = slice_trim(text);
    if (text.len == 0)
        return add_key(x, text, path, err);
    while (text.len && rc == 0) {
        size_t at = slice_find_byte(text, '\n');
        struct slice line = slice_trim(slice_sub(text, 0, at));
        if (line.len)
            rc = add_key(x, line, path, err);
        text = slice_sub(text, at + 1, text.len);
    }
    return rc;
}

static int read_keys(struct world *w,
                     const char *path,
                     struct security_secrets *x,
                     struct err *err)
{
    struct buf text = BUF_INIT;
    int rc = read_secret(w, path, &text, err);
    if (rc == 0)
        rc = take_keys(x, buf_slice(&text), path, err);
    security_wipe(&text);
    return rc;
}

static int read_tls(struct world *w,
                    char *const *paths,
                    struct security_secrets *x,
                    struct err *err)
{
    struct buf cert = BUF_INIT;
    struct buf key = BUF_INIT;
    struct buf authority = BUF_INIT;
    int rc = read_file(w, paths[0], &cert, err);
    if (rc == 0)
        rc = read_secret(w, paths[1], &key, err);
    if (rc == 0)
        rc = read_file(w, paths[2], &authority, err);
    if (rc == 0) {
        rc = tls_context_new(buf_slice(&cert), buf_slice(&key),
                             buf_slice(&authority), &x->tls, err);
        if (rc)
            err_wrap(err, "%s, %s, %s", paths[0], paths[1], paths[2]);
    }
    buf_close(&cert);
    security_wipe(&key);
    buf_close(&authority);
    return rc;
}

/* *@out is owned. */
static int read_secrets(struct world *w,
                        const struct security_files *f,
                        struct security_secrets **out,
                        struct err *err)
{
    struct security_secrets *x = mem_zalloc(1, sizeof(*x));
    int rc;
    atomic_init(&x->users, 1);
    rc = f->kind == RPC_SECURITY_KEY ? read_keys(w, f->paths[0], x, err)
                                     : read_tls(w, f->paths, x, err);
    if (rc) {
        security_secrets_unref(x);
        x = NULL;
    }
    *out = x;
    return rc;
}

static void unref_files(struct security_files *f)
{
    if (!f || atomic_fetch_sub(&f->users, 1) != 1)
        return;
    for (size_t i = 0; i < PATHS_MAX; i++)
        mem_free(f->paths[i]);
    security_secrets_unref(f->secrets);
    mutex_close(&f->mutex);
    mem_free(f);
}

/* Files at @paths (a NULL ends them early), read for the first time. *@out
 * is owned. */
static int open_files(struct world *w,
                      enum rpc_security_kind kind,
                      const char *const *paths,
                      struct security_files **out,
                      struct err *err)
{
    struct security_files *f = mem_zalloc(1, sizeof(*f));
    int rc;
    atomic_init(&f->users, 1);
    mutex_init(&f->mutex);
    f->kind = kind;
    for (size_t i = 0; i < PATHS_MAX && paths[i]; i++)
        f->paths[i] = mem_strdup(paths[i]);
    rc = read_secrets(w, f, &f->secrets, err);
    if (rc) {
        unref_files(f);
        f = NULL;
    }
    *out = f;
    return rc;
}

/* The first proof makes OpenSSL read its configuration, which takes longer
 * than a small task: do it here, before attempts are forked. */
static void security_prime(const struct security_secrets *x)
{
    unsigned char mac[SECURITY_MAC_BYTES];
    security_mac(x, 0, "", NULL, 0, mac);
}

int rpc_security_key(struct world *w,
                     const char *cluster,
                     const char *principal,
                     const char *key_path,
                     struct rpc_security **out,
                     struct err *err)
{
    const char *const paths[PATHS_MAX] = {key_path};
    struct security_files *f;
    int rc = open_files(w, RPC_SECURITY_KEY, paths, &f, err);
    *out = NULL;
    if (rc)
        return rc;
    *out = new_security(RPC_SECURITY_KEY, cluster, principal);
    (*out)->files = f;
    security_prime(f->secrets);
    return 0;
}

int rpc_security_tls(struct world *w,
                     const char *cluster,
                     const char *cert_path,
                     const char *key_path,
                     const char *authority_path,
                     struct rpc_security **out,
                     struct err *err)
{
    const char *const paths[PATHS_MAX] = {cert_path, key_path, authority_path};
    struct security_files *f;
    int rc = open_files(w, RPC_SECURITY_TLS, paths, &f, err);
    *out = NULL;
    if (rc)
        return rc;
    *out = new_security(RPC_SECURITY_TLS, cluster,
                        tls_context_name(f->secrets->tls));
    (*out)->files = f;
    return 0;
}

/* Peers know this side's name: a new certificate must keep it. */
static int check_name(const struct rpc_security *s,
                      const struct security_secrets *x,
                      struct err *err)
{
    char name[RPC_NAME_BYTES_MAX + 1];
    if (!x->tls)
        return 0;
    copy_name(name, tls_context_name(x->tls));
    if (strcmp(name, s->principal) == 0)
        return 0;
    err_set(err, ERR_INVALID, "%s: the certificate is for %s, not for %s",
            s->files->paths[0], name, s->principal);
    err_hint(err, "stop the process to give it another name");
    return ERR_INVALID;
}

int rpc_security_reload(struct rpc_security *s,
                        struct world *w,
                        struct err *err)
{
    struct security_files *f = s->files;
    struct security_secrets *x;
    struct security_secrets *old;
    int rc;
    if (!f)
        return 0;
    rc = read_secrets(w, f, &x, err);
    if (rc)
        return rc;
    rc = check_name(s, x, err);
    if (rc) {
        security_secrets_unref(x);
        return rc;
    }
    mutex_lock(&f->mutex);
    old = f->secrets;
    f->secrets = x;
    mutex_unlock(&f->mutex);
    security_secrets_unref(old);
    return 0;
}

struct rpc_security *rpc_security_as(const struct rpc_security *s,
                                     const char *principal)
{
    struct rpc_security *other = new_security(s->kind, s->cluster, principal);
    PRE(s->kind != RPC_SECURITY_TLS);
    other->files = s->files;
    if (other->files)
        atomic_fetch_add(&other->files->users, 1);
    return other;
}

void rpc_security_free(struct rpc_security *s)
{
    if (!s)
        return;
    unref_files(s->files);
    mem_free(s);
}

const char *rpc_security_cluster(const struct rpc_security *s)
{
    return s->cluster;
}

const char *rpc_security_principal(const struct rpc_security *s)
{
    return s->principal;
}

int64_t rpc_security_end_s(const struct rpc_security *s)
{
    struct security_secrets *x;
    int64_t end_s;
    if (s->kind != RPC_SECURITY_TLS)
        return 0;
    x = security_secrets_ref(s);
    end_s = tls_context_end_s(security_tls(x));
    security_secrets_unref(x);
    return end_s;
}

const char *rpc_security_kind_name(const struct rpc_security *s)
{
    static const char *const names[] = {"none", "key", "tls"};
    return names[s->kind];
}

/* --- proving ------------------------------------------------------------- */

void security_mac(const struct security_secrets *x,
                  size_t index,
                  const char *label,
                  const struct slice *parts,
                  size_t part_count,
                  unsigned char out[SECURITY_MAC_BYTES])
{
    struct buf text = BUF_INIT;
    PRE(index < x->key_count);
    buf_append(&text, label, strlen(label) + 1);
    for (size_t i = 0; i < part_count; i++)
        buf_append_slice(&text, parts[i]);
    if (!HMAC(EVP_sha256(), x->keys[index].data, (int)x->keys[index].len,
              (const unsigned char *)text.data, text.len, out, NULL))
        PANIC("HMAC-SHA256");
    buf_close(&text);
}

bool security_same(const void *a, const void *b, size_t len)
{
    return CRYPTO_memcmp(a, b, len) == 0;
}
