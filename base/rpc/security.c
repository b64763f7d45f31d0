/* Secrets: read from files that nobody else may read, and proved by HMAC. */
#include "base/rpc/security.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/rpc/security_internal.h"
#include "base/runtime/tls.h"
#include "base/runtime/world.h"

/* Longest key or PEM file. */
#define SECRET_BYTES_MAX ((size_t)64 << 10)
/* Mode bits of group and others. */
#define OTHERS_MODE 077

const struct rpc_security rpc_security_default = {.kind = RPC_SECURITY_NONE};

/* --- files ----------------------------------------------------------- */

static int check_mode(struct world *w, const char *path, struct err *err)
{
    struct file_info info;
    int rc = world_stat(w, path, &info, err);
    if (rc == 0 && (info.mode & OTHERS_MODE)) {
        err_set(err, ERR_DENIED, "%s: others may read this secret", path);
        err_hint(err, "chmod 600 %s", path);
        return ERR_DENIED;
    }
    return rc;
}

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
    int rc = check_mode(w, path, err);
    return rc ? rc : read_file(w, path, out, err);
}

/* --- making ---------------------------------------------------------- */

static void wipe(struct buf *b)
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

/* The first proof has OpenSSL read its configuration, which takes longer than a
 * small task: processes that are forked from this one need not. */
static void prime(const struct rpc_security *s)
{
    unsigned char mac[SECURITY_MAC_BYTES];
    security_mac(s, "", NULL, 0, mac);
}

int rpc_security_key(struct world *w,
                     const char *cluster,
                     const char *principal,
                     const char *key_path,
                     struct rpc_security **out,
                     struct err *err)
{
    struct buf text = BUF_INIT;
    struct slice key;
    int rc = read_secret(w, key_path, &text, err);
    *out = NULL;
    key = slice_trim(buf_slice(&text));
    if (rc == 0 && key.len < RPC_KEY_BYTES_MIN)
        rc = err_set(err, ERR_INVALID,
                     "%s: the key is %zu bytes, it must be %d at least",
                     key_path, key.len, RPC_KEY_BYTES_MIN);
    if (rc == 0) {
        *out = new_security(RPC_SECURITY_KEY, cluster, principal);
        buf_append_slice(&(*out)->key, key);
        prime(*out);
    }
    wipe(&text);
    return rc;
}

int rpc_security_tls(struct world *w,
                     const char *cluster,
                     const char *cert_path,
                     const char *key_path,
                     const char *authority_path,
                     struct rpc_security **out,
                     struct err *err)
{
    struct buf cert = BUF_INIT;
    struct buf key = BUF_INIT;
    struct buf authority = BUF_INIT;
    struct tls_context *tls = NULL;
    int rc = read_file(w, cert_path, &cert, err);
    *out = NULL;
    if (rc == 0)
        rc = read_secret(w, key_path, &key, err);
    if (rc == 0)
        rc = read_file(w, authority_path, &authority, err);
    if (rc == 0) {
        rc = tls_context_new(buf_slice(&cert), buf_slice(&key),
                             buf_slice(&authority), &tls, err);
        if (rc)
            err_wrap(err, "%s, %s, %s", cert_path, key_path, authority_path);
    }
    if (rc == 0) {
        *out = new_security(RPC_SECURITY_TLS, cluster, tls_context_name(tls));
        (*out)->tls = tls;
    }
    buf_close(&cert);
    wipe(&key);
    buf_close(&authority);
    return rc;
}

struct rpc_security *rpc_security_as(const struct rpc_security *s,
                                     const char *principal)
{
    struct rpc_security *other = new_security(s->kind, s->cluster, principal);
    PRE(s->kind != RPC_SECURITY_TLS);
    buf_append_slice(&other->key, buf_slice(&s->key));
    return other;
}

void rpc_security_free(struct rpc_security *s)
{
    if (!s)
        return;
    wipe(&s->key);
    tls_context_free(s->tls);
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

const char *rpc_security_kind_name(const struct rpc_security *s)
{
    static const char *const names[] = {"none", "key", "tls"};
    return names[s->kind];
}

/* --- proving --------------------------------------------------------- */

void security_mac(const struct rpc_security *s,
                  const char *label,
                  const struct slice *parts,
                  size_t part_count,
                  unsigned char out[SECURITY_MAC_BYTES])
{
    struct buf text = BUF_INIT;
    PRE(s->key.len >= RPC_KEY_BYTES_MIN);
    buf_append(&text, label, strlen(label) + 1);
    for (size_t i = 0; i < part_count; i++)
        buf_append_slice(&text, parts[i]);
    if (!HMAC(EVP_sha256(), s->key.data, (int)s->key.len,
              (const unsigned char *)text.data, text.len, out, NULL))
        PANIC("HMAC-SHA256");
    buf_close(&text);
}

bool security_same(const void *a, const void *b, size_t len)
{
    return CRYPTO_memcmp(a, b, len) == 0;
}
