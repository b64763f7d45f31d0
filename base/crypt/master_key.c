/* Master keys: reading them from files and commands, and parsing their text.
 * Each reading makes an immutable set in front of the older ones, so that
 * borrowed keys stay valid and lookups need no lock. */
#include "base/crypt/master_key.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdatomic.h>
#include <string.h>

#include "base/core/hex.h"
#include "base/core/ignore_result.h"
#include "base/core/panic.h"
#include "base/crypt/master_command.h"
#include "base/crypt/secret.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"

#define MASTER_KEY_LABEL "quarry master key"
/* Interval of readings for a missing key. */
#define LOOK_AGAIN_NS UINT64_C(1000000000)

enum {
    MASTER_CURRENT,
    MASTER_PREVIOUS,
    MASTER_COUNT,
};

/* Keys that were read at one time. Immutable. */
struct master_set {
    struct master_set *older;            /* Owned. */
    struct aead_key *keys[MASTER_COUNT]; /* NULL: not given. */
};

struct master_keys {
    atomic_uint refs;
    struct secret_slab *slab;
    _Atomic(struct master_set *) newest; /* Never NULL once read. */
    struct mutex reading;                /* Held while they are read again: */
    struct master_key_source source;     /* Owned texts. */
    uint64_t read_ns;                    /* When that was last tried. */
};

/* --- text ---------------------------------------------------------------- */

static bool parse_hex_key(struct slice text, unsigned char *out)
{
    return text.len == 2 * AEAD_KEY_BYTES &&
           hex_decode(text.data, AEAD_KEY_BYTES, out);
}

/* 44 digits, of which the last is padding, and may be missing. */
static bool parse_base64_key(struct slice text, unsigned char *out)
{
    unsigned char padded[44];
    unsigned char decoded[33];
    bool good;

    if (text.len != 43 && !(text.len == 44 && text.data[43] == '='))
        return false;
    memcpy(padded, text.data, 43);
    padded[43] = '=';
    good = EVP_DecodeBlock(decoded, padded, sizeof(padded)) == 33;
    if (good)
        memcpy(out, decoded, AEAD_KEY_BYTES);
    secret_wipe(padded, sizeof(padded));
    secret_wipe(decoded, sizeof(decoded));
    return good;
}

int master_key_parse(struct slice text,
                     const char *where,
                     unsigned char *out,
                     struct err *err)
{
    text = slice_trim(text);
    if (parse_hex_key(text, out) || parse_base64_key(text, out))
        return 0;
    err_set(err, ERR_INVALID,
            "%s: no master key: %zu characters, it must be 32 bytes as 64 "
            "hexadecimal digits or in base64",
            where, text.len);
    err_hint(err, "make one with: openssl rand -hex 32");
    return ERR_INVALID;
}

/* --- files --------------------------------------------------------------- */

static int read_key_file(struct world *w,
                         const char *path,
                         struct aead_key *out,
                         struct err *err)
{
    char text[MASTER_TEXT_BYTES_MAX];
    struct file *f;
    size_t got = 0;
    int rc = world_check_secret(w, path, err);

    if (rc == 0)
        rc = file_open(w, path, FILE_READ, &f, err);
    if (rc)
        return rc;
    rc = file_read_at(f, 0, text, sizeof(text), &got, err);
    file_close(f);
    if (rc == 0)
        rc = master_key_parse(slice_make(text, got), path, out->bytes, err);
    secret_wipe(text, sizeof(text));
    return rc;
}

static int
read_key_command(const char *command, struct aead_key *out, struct err *err)
{
    char text[MASTER_TEXT_BYTES_MAX];
    size_t got;
    int rc = master_command_run(command, text, sizeof(text), &got, err);

    if (rc == 0)
        rc = master_key_parse(slice_make(text, got), command, out->bytes, err);
    secret_wipe(text, sizeof(text));
    return rc;
}

static int add_master_key(struct master_keys *m,
                          struct master_set *set,
                          size_t i,
                          struct world *w,
                          const char *file,
                          const char *command,
                          struct err *err)
{
    int rc;

    if (!file && !command)
        return 0;
    if (file && command)
        return err_set(err, ERR_INVALID,
                       "both a file and a command are given for one key");
    set->keys[i] = secret_key_new(m->slab);
    rc = file ? read_key_file(w, file, set->keys[i], err)
              : read_key_command(command, set->keys[i], err);
    if (rc)
        err_wrap(err,
                 i == MASTER_CURRENT ? "master key" : "previous master key");
    return rc;
}

/* --- sets ---------------------------------------------------------------- */

static void master_set_free(struct master_keys *m, struct master_set *set)
{
    for (size_t i = 0; i < MASTER_COUNT; i++)
        secret_key_free(m->slab, set->keys[i]);
    mem_free(set);
}

static int check_master_source(const struct master_key_source *s,
                               struct err *err)
{
    if (s->key_file || s->key_command)
        return 0;
    return err_set(err, ERR_INVALID,
                   "a previous master key is given, and no present one");
}

/* *@out is owned. */
static int master_set_read(struct master_keys *m,
                           struct world *w,
                           const struct master_key_source *s,
                           struct master_set **out,
                           struct err *err)
{
    struct master_set *set = mem_zalloc(1, sizeof(*set));
    int rc = check_master_source(s, err);

    if (rc == 0)
        rc = add_master_key(m, set, MASTER_CURRENT, w, s->key_file,
                            s->key_command, err);
    if (rc == 0)
        rc = add_master_key(m, set, MASTER_PREVIOUS, w, s->previous_key_file,
                            s->previous_key_command, err);
    if (rc) {
        master_set_free(m, set);
        set = NULL;
    }
    *out = set;
    return rc;
}

static bool master_key_eq(const struct aead_key *a, const struct aead_key *b)
{
    return a == b ||
           (a && b && CRYPTO_memcmp(a->bytes, b->bytes, AEAD_KEY_BYTES) == 0);
}

/* Keys of older sets stay: callers may have borrowed them, and KEYS files
 * that they seal are rewrapped later. */
static void master_set_publish(struct master_keys *m, struct master_set *set)
{
    struct master_set *before = atomic_load(&m->newest);
    bool same = before != NULL;
    for (size_t i = 0; i < MASTER_COUNT && same; i++)
        same = master_key_eq(before->keys[i], set->keys[i]);
    if (same) {
        master_set_free(m, set);
        return;
    }
    set->older = before;
    atomic_store(&m->newest, set);
}

/* --- opening ------------------------------------------------------------- */

static struct master_keys *master_keys_new(void)
{
    struct master_keys *m = mem_zalloc(1, sizeof(*m));
    atomic_init(&m->refs, 1);
    atomic_init(&m->newest, NULL);
    mutex_init(&m->reading);
    m->slab = secret_slab_new();
    return m;
}

bool master_key_is_given(const struct master_key_source *s)
{
    return s->key_file || s->key_command || s->previous_key_file ||
           s->previous_key_command;
}

static const char *copy_master_text(const char *s)
{
    return s ? mem_strdup(s) : NULL;
}

static void set_master_source(struct master_keys *m,
                              const struct master_key_source *s)
{
    const struct master_key_source before = m->source;
    m->source = (struct master_key_source){
        .key_file = copy_master_text(s->key_file),
        .key_command = copy_master_text(s->key_command),
        .previous_key_file = copy_master_text(s->previous_key_file),
        .previous_key_command = copy_master_text(s->previous_key_command),
    };
    mem_free((void *)(uintptr_t)before.key_file);
    mem_free((void *)(uintptr_t)before.key_command);
    mem_free((void *)(uintptr_t)before.previous_key_file);
    mem_free((void *)(uintptr_t)before.previous_key_command);
}

int master_keys_read(struct world *w,
                     const struct master_key_source *s,
                     struct master_keys **out,
                     struct err *err)
{
    struct master_set *set;
    struct master_keys *m;
    int rc;

    *out = NULL;
    if (!master_key_is_given(s))
        return 0;
    m = master_keys_new();
    rc = master_set_read(m, w, s, &set, err);
    if (rc) {
        master_keys_unref(m);
        return rc;
    }
    master_set_publish(m, set);
    set_master_source(m, s);
    m->read_ns = world_mono_ns(w);
    *out = m;
    return 0;
}

/* PRE: `reading` is held. */
static int read_masters_again(struct master_keys *m,
                              struct world *w,
                              const struct master_key_source *s,
                              struct err *err)
{
    struct master_set *set;
    int rc = master_set_read(m, w, s, &set, err);

    m->read_ns = world_mono_ns(w);
    if (rc)
        return rc;
    master_set_publish(m, set);
    if (s != &m->source)
        set_master_source(m, s);
    return 0;
}

int master_keys_reload(struct master_keys *m,
                       struct world *w,
                       const struct master_key_source *s,
                       struct err *err)
{
    int rc;
    mutex_lock(&m->reading);
    rc = read_masters_again(m, w, s ? s : &m->source, err);
    mutex_unlock(&m->reading);
    return rc;
}

void master_keys_look_again(struct master_keys *m, struct world *w)
{
    struct err ignored = ERR_INIT;

    mutex_lock(&m->reading);
    if (master_key_is_given(&m->source) &&
        world_mono_ns(w) - m->read_ns >= LOOK_AGAIN_NS) {
        /* The known keys stay. */
        IGNORE_RESULT(read_masters_again(m, w, &m->source, &ignored));
    }
    mutex_unlock(&m->reading);
}

struct master_keys *master_keys_of(const unsigned char bytes[32])
{
    struct master_keys *m = master_keys_new();
    struct master_set *set = mem_zalloc(1, sizeof(*set));
    set->keys[MASTER_CURRENT] = secret_key_new(m->slab);
    memcpy(set->keys[MASTER_CURRENT]->bytes, bytes, AEAD_KEY_BYTES);
    master_set_publish(m, set);
    return m;
}

struct master_keys *master_keys_ref(struct master_keys *m)
{
    if (m)
        atomic_fetch_add(&m->refs, 1);
    return m;
}

void master_keys_unref(struct master_keys *m)
{
    static const struct master_key_source none;
    struct master_set *set;

    if (!m || atomic_fetch_sub(&m->refs, 1) != 1)
        return;
    set = atomic_load(&m->newest);
    while (set) {
        struct master_set *older = set->older;
        master_set_free(m, set);
        set = older;
    }
    set_master_source(m, &none);
    secret_slab_free(m->slab);
    mutex_close(&m->reading);
    mem_free(m);
}

const struct aead_key *master_keys_current(const struct master_keys *m)
{
    return atomic_load(&m->newest)->keys[MASTER_CURRENT];
}

const struct aead_key *master_keys_find(const struct master_keys *m,
                                        uint64_t name)
{
    const struct master_set *set = atomic_load(&m->newest);
    for (; set; set = set->older)
        for (size_t i = 0; i < MASTER_COUNT; i++)
            if (set->keys[i] && master_key_name(set->keys[i]) == name)
                return set->keys[i];
    return NULL;
}

uint64_t master_key_name(const struct aead_key *k)
{
    return aead_key_name(k, MASTER_KEY_LABEL);
}
