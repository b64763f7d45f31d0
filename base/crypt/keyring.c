/* Data keys: in memory under a lock, and as the bytes of KEYS. A change of
 * KEYS reads the file again, adds to it and replaces it as a whole under
 * file_lock, so that two processes rotating at once lose no key; a key is
 * published in memory only after that. */
#include "base/crypt/keyring.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <stdatomic.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/ignore_result.h"
#include "base/core/panic.h"
#include "base/crypt/aead.h"
#include "base/crypt/master_key.h"
#include "base/crypt/secret.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"

#define KEYS_MAGIC        "QRYKEYS1"
#define KEYS_HEADER_BYTES ((size_t)24)
#define KEYS_CRC_AT       8
#define KEYS_COUNT_AT     12
#define KEYS_MASTER_AT    16
#define KEY_AAD_BYTES     ((size_t)24)
#define KEY_ENTRY_BYTES                                                        \
    (16 + AEAD_NONCE_BYTES + AEAD_KEY_BYTES + AEAD_TAG_BYTES)
#define KEYS_TAIL_BYTES (AEAD_NONCE_BYTES + AEAD_TAG_BYTES)

/* KEYS is checked for changes at most this often. */
#define REFRESH_US ((uint64_t)1000000)

#define LOAN_PURPOSE "quarry lent key"

STATIC_ASSERT(KEY_ENTRY_BYTES == 76, "on disk");

struct data_key {
    uint64_t id;
    uint64_t created_us;
    struct aead_key *key;
};

struct keyring {
    atomic_uint refs;
    struct world *world;
    struct keyring *owner; /* Shared; NULL but for a view of its loans. */
    unsigned char lent[KEYRING_SALT_BYTES]; /* Name of the loan; zeros: none. */
    struct keyring_place place;             /* Without functions: ephemeral. */
    struct master_keys *masters;
    struct secret_slab *slab;
    struct mutex file_lock; /* Held during changes of KEYS; taken before
                               `lock`. */
    struct mutex lock;      /* Guards what follows. */
    uint64_t master;        /* Names the key that KEYS is sealed with. */
    struct data_key *keys;  /* The last one is in use. */
    size_t key_count;
    uint64_t refreshed_us;
};

/* --- KEYS as bytes ------------------------------------------------------- */

static void key_aad(char aad[KEY_AAD_BYTES], const struct data_key *d)
{
    memcpy(aad, KEYS_MAGIC, 8);
    put_le64(aad + 8, d->id);
    put_le64(aad + 16, d->created_us);
}

static void append_wrapped(struct world *w,
                           const struct aead_key *master,
                           const struct data_key *d,
                           struct buf *out)
{
    unsigned char nonce[AEAD_NONCE_BYTES];
    char aad[KEY_AAD_BYTES];

    world_random_bytes(w, nonce, sizeof(nonce));
    key_aad(aad, d);
    buf_append(out, aad + 8, 16);
    buf_append(out, nonce, sizeof(nonce));
    aead_seal(master, nonce, slice_make(aad, sizeof(aad)),
              slice_make(d->key->bytes, AEAD_KEY_BYTES),
              buf_extend(out, AEAD_KEY_BYTES + AEAD_TAG_BYTES));
}

static void encode_keys(struct world *w,
                        const struct aead_key *master,
                        const struct data_key *keys,
                        size_t count,
                        struct buf *out)
{
    unsigned char nonce[AEAD_NONCE_BYTES];
    struct slice sealed;
    char *head = buf_extend(out, KEYS_HEADER_BYTES);

    memcpy(head, KEYS_MAGIC, 8);
    put_le32(head + KEYS_CRC_AT, 0);
    put_le32(head + KEYS_COUNT_AT, (uint32_t)count);
    put_le64(head + KEYS_MASTER_AT, master_key_name(master));
    for (size_t i = 0; i < count; i++)
        append_wrapped(w, master, &keys[i], out);
    world_random_bytes(w, nonce, sizeof(nonce));
    buf_append(out, nonce, sizeof(nonce));
    buf_reserve(out, AEAD_TAG_BYTES);
    sealed = slice_make(out->data, out->len);
    aead_seal(master, nonce, sealed, SLICE_EMPTY, out->data + out->len);
    out->len += AEAD_TAG_BYTES;
    put_le32(out->data + KEYS_CRC_AT,
             crc32c(out->data + KEYS_COUNT_AT, out->len - KEYS_COUNT_AT));
}

static int check_keys_file(struct slice bytes, size_t *count, struct err *err)
{
    if (bytes.len < KEYS_HEADER_BYTES + KEYS_TAIL_BYTES ||
        memcmp(bytes.data, KEYS_MAGIC, 8) != 0)
        return err_set(err, ERR_CORRUPT, "KEYS: not a file of data keys");
    if (get_le32(bytes.data + KEYS_CRC_AT) !=
        crc32c(bytes.data + KEYS_COUNT_AT, bytes.len - KEYS_COUNT_AT))
        return err_set(err, ERR_CORRUPT, "KEYS: checksum mismatch");
    *count = get_le32(bytes.data + KEYS_COUNT_AT);
    if (*count == 0 || *count > KEYRING_KEYS_MAX ||
        bytes.len !=
            KEYS_HEADER_BYTES + *count * KEY_ENTRY_BYTES + KEYS_TAIL_BYTES)
        return err_set(err, ERR_CORRUPT, "KEYS: wrong length");
    return 0;
}

bool keys_file_is_one(struct slice head)
{
    return slice_starts_with(head, SLICE_LIT(KEYS_MAGIC));
}

int keys_file_list(struct slice bytes,
                   uint64_t *master,
                   struct keys_file_entry **out,
                   size_t *count,
                   struct err *err)
{
    const char *p = bytes.data + KEYS_HEADER_BYTES;
    int rc = check_keys_file(bytes, count, err);
    *out = NULL;
    if (rc)
        return rc;
    *master = get_le64(bytes.data + KEYS_MASTER_AT);
    *out = mem_alloc(*count * sizeof(**out));
    for (size_t i = 0; i < *count; i++, p += KEY_ENTRY_BYTES)
        (*out)[i] = (struct keys_file_entry){get_le64(p), get_le64(p + 8)};
    return 0;
}

static int find_master(const struct master_keys *masters,
                       uint64_t name,
                       const struct aead_key **out,
                       struct err *err)
{
    if (!masters) {
        err_set(err, ERR_DENIED,
                "it is encrypted, and no master key was given; its KEYS need "
                "master key %016" PRIx64,
                name);
        err_hint(err, "name the key's file or command: [encryption] key-file "
                      "or key-command");
        return ERR_DENIED;
    }
    *out = master_keys_find(masters, name);
    if (*out)
        return 0;
    err_set(err, ERR_DENIED,
            "it is encrypted, and its KEYS need master key %016" PRIx64
            "; the one given is %016" PRIx64,
            name, master_key_name(master_keys_current(masters)));
    err_hint(err, "give the right key, or name it as the previous one");
    return ERR_DENIED;
}

/* The tag at the end covers everything, with a checksum of 0. */
static int check_keys_tag(const struct aead_key *master,
                          struct slice bytes,
                          struct err *err)
{
    struct buf copy = BUF_INIT;
    unsigned char nonce[AEAD_NONCE_BYTES];
    size_t len = bytes.len - AEAD_TAG_BYTES;
    char none;
    int rc;

    buf_append(&copy, bytes.data, len);
    put_le32(copy.data + KEYS_CRC_AT, 0);
    memcpy(nonce, bytes.data + len - AEAD_NONCE_BYTES, sizeof(nonce));
    rc = aead_open(master, nonce, buf_slice(&copy),
                   slice_make(bytes.data + len, AEAD_TAG_BYTES), &none, err);
    buf_close(&copy);
    return rc;
}

static int unwrap_key(struct keyring *k,
                      const struct aead_key *master,
                      const char *p,
                      struct data_key *d,
                      struct err *err)
{
    unsigned char nonce[AEAD_NONCE_BYTES];
    char aad[KEY_AAD_BYTES];

    d->id = get_le64(p);
    d->created_us = get_le64(p + 8);
    d->key = secret_key_new(k->slab);
    memcpy(nonce, p + 16, sizeof(nonce));
    key_aad(aad, d);
    return aead_open(
        master, nonce, slice_make(aad, sizeof(aad)),
        slice_make(p + 16 + sizeof(nonce), AEAD_KEY_BYTES + AEAD_TAG_BYTES),
        (char *)d->key->bytes, err);
}

static void free_data_keys(struct keyring *k, struct data_key *keys, size_t n)
{
    for (size_t i = 0; i < n; i++)
        secret_key_free(k->slab, keys[i].key);
    mem_free(keys);
}

/* Replace the known keys by those in KEYS. */
static int decode_keys(struct keyring *k, struct slice bytes, struct err *err)
{
    const struct aead_key *master;
    struct data_key *keys;
    uint64_t name;
    size_t count = 0;
    size_t n = 0;
    int rc = check_keys_file(bytes, &count, err);

    if (rc)
        return rc;
    name = get_le64(bytes.data + KEYS_MASTER_AT);
    rc = find_master(k->masters, name, &master, err);
    if (rc == 0)
        rc = check_keys_tag(master, bytes, err);
    if (rc)
        return rc;
    keys = mem_zalloc(count, sizeof(*keys));
    while (n < count && rc == 0) {
        const char *p = bytes.data + KEYS_HEADER_BYTES + n * KEY_ENTRY_BYTES;
        rc = unwrap_key(k, master, p, &keys[n++], err);
    }
    if (rc) {
        free_data_keys(k, keys, n);
        return rc;
    }
    mutex_lock(&k->lock);
    free_data_keys(k, k->keys, k->key_count);
    k->keys = keys;
    k->key_count = count;
    k->master = name;
    mutex_unlock(&k->lock);
    return 0;
}

/* --- the place ----------------------------------------------------------- */

/* PRE: file_lock is held, or @k is not shared yet. */
static int read_keys(struct keyring *k, struct err *err)
{
    struct buf bytes = BUF_INIT;
    int rc = k->place.read(k->place.ctx, &bytes, err);
    if (rc == 0)
        rc = decode_keys(k, buf_slice(&bytes), err);
    if (rc == ERR_DENIED && k->masters) {
        /* The administrator may have changed the master key meanwhile. */
        master_keys_look_again(k->masters, k->world);
        rc = decode_keys(k, buf_slice(&bytes), err);
    }
    buf_close(&bytes);
    return rc;
}

/* Replace KEYS by the keys of @k, sealed with the present master key. PRE:
 * as above. */
static int replace_keys(struct keyring *k,
                        const struct data_key *keys,
                        size_t count,
                        struct err *err)
{
    const struct aead_key *master = master_keys_current(k->masters);
    struct buf bytes = BUF_INIT;
    int rc;

    encode_keys(k->world, master, keys, count, &bytes);
    rc = k->place.replace(k->place.ctx, buf_slice(&bytes), err);
    if (rc == 0) {
        mutex_lock(&k->lock);
        k->master = master_key_name(master);
        mutex_unlock(&k->lock);
    }
    buf_close(&bytes);
    return rc;
}

static void draw_key(struct keyring *k, struct data_key *d)
{
    do
        d->id = world_random(k->world);
    while (d->id == 0);
    d->created_us = world_now_us(k->world);
    d->key = secret_key_new(k->slab);
    world_random_bytes(k->world, d->key->bytes, AEAD_KEY_BYTES);
}

/* A copy of the list of keys, with room for one more. Owned; the keys in it
 * are not. */
static struct data_key *copy_list(struct keyring *k)
{
    struct data_key *keys = mem_zalloc(k->key_count + 1, sizeof(*keys));
    if (k->key_count)
        memcpy(keys, k->keys, k->key_count * sizeof(*keys));
    return keys;
}

static int add_key(struct keyring *k, struct err *err)
{
    struct data_key *keys;
    int rc = 0;

    if (k->key_count == KEYRING_KEYS_MAX)
        return err_set(err, ERR_TOOBIG, "KEYS: it has %zu data keys, the most",
                       KEYRING_KEYS_MAX);
    keys = copy_list(k);
    draw_key(k, &keys[k->key_count]);
    if (k->place.replace)
        rc = replace_keys(k, keys, k->key_count + 1, err);
    if (rc) {
        secret_key_free(k->slab, keys[k->key_count].key);
        mem_free(keys);
        return rc;
    }
    mutex_lock(&k->lock);
    mem_free(k->keys);
    k->keys = keys;
    k->key_count++;
    mutex_unlock(&k->lock);
    return 0;
}

/* --- opening ------------------------------------------------------------- */

static struct keyring *keyring_new(struct world *w, struct keyring_place place)
{
    struct keyring *k = mem_zalloc(1, sizeof(*k));
    atomic_init(&k->refs, 1);
    k->world = w;
    k->place = place;
    k->slab = secret_slab_new();
    mutex_init(&k->file_lock);
    mutex_init(&k->lock);
    return k;
}

int keyring_open(struct world *w,
                 struct keyring_place place,
                 struct master_keys *masters,
                 bool create,
                 struct keyring **out,
                 struct err *err)
{
    struct keyring *k = keyring_new(w, place);
    int rc;

    *out = NULL;
    k->masters = master_keys_ref(masters);
    rc = read_keys(k, err);
    if (rc == ERR_NOTFOUND) {
        bool make = masters && create;
        rc = make ? add_key(k, err) : 0;
        if (rc || !make) {
            keyring_unref(k);
            return rc;
        }
    }
    if (rc) {
        keyring_unref(k);
        return rc;
    }
    k->refreshed_us = world_mono_ns(w) / 1000;
    *out = k;
    return 0;
}

struct keyring *keyring_new_ephemeral(struct world *w)
{
    struct keyring *k = keyring_new(w, (struct keyring_place){.ctx = NULL});
    int rc = add_key(k, NULL);
    POST(rc == 0);
    return k;
}

/* A keyring of the one key @bytes. */
static struct keyring *keyring_of_one(struct world *w,
                                      const unsigned char bytes[AEAD_KEY_BYTES])
{
    struct keyring *k = keyring_new(w, (struct keyring_place){.ctx = NULL});
    k->keys = mem_zalloc(1, sizeof(*k->keys));
    k->keys[0].key = secret_key_new(k->slab);
    memcpy(k->keys[0].key->bytes, bytes, AEAD_KEY_BYTES);
    k->key_count = 1;
    return k;
}

struct keyring *keyring_new_of(struct world *w,
                               const unsigned char bytes[AEAD_KEY_BYTES])
{
    struct keyring *k = keyring_of_one(w, bytes);
    k->keys[0].id = aead_key_name(k->keys[0].key, "quarry shared key");
    return k;
}

struct keyring *keyring_ref(struct keyring *k)
{
    if (k)
        atomic_fetch_add(&k->refs, 1);
    return k;
}

void keyring_unref(struct keyring *k)
{
    if (!k || atomic_fetch_sub(&k->refs, 1) != 1)
        return;
    free_data_keys(k, k->keys, k->key_count);
    secret_slab_free(k->slab);
    keyring_unref(k->owner);
    master_keys_unref(k->masters);
    if (k->place.close)
        k->place.close(k->place.ctx);
    mutex_close(&k->file_lock);
    mutex_close(&k->lock);
    mem_free(k);
}

/* --- changes ------------------------------------------------------------- */

int keyring_rotate(struct keyring *k, struct err *err)
{
    int rc = 0;
    mutex_lock(&k->file_lock);
    if (k->place.read) /* Another process may have added one. */
        rc = read_keys(k, err);
    if (rc == 0)
        rc = add_key(k, err);
    mutex_unlock(&k->file_lock);
    return rc;
}

bool keyring_is_outdated(struct keyring *k)
{
    bool is;
    mutex_lock(&k->lock);
    is = k->masters &&
         k->master != master_key_name(master_keys_current(k->masters));
    mutex_unlock(&k->lock);
    return is;
}

int keyring_rewrap(struct keyring *k, bool *done, struct err *err)
{
    int rc = 0;
    *done = false;
    if (!k->place.read)
        return 0;
    mutex_lock(&k->file_lock);
    rc = read_keys(k, err);
    if (rc == 0 &&
        k->master != master_key_name(master_keys_current(k->masters))) {
        rc = replace_keys(k, k->keys, k->key_count, err);
        *done = rc == 0;
    }
    mutex_unlock(&k->file_lock);
    return rc;
}

void keyring_refresh(struct keyring *k)
{
    uint64_t now_us = world_mono_ns(k->world) / 1000;
    struct err ignored = ERR_INIT;

    if (k->owner)
        keyring_refresh(k->owner);
    if (!k->place.read)
        return;
    mutex_lock(&k->file_lock);
    if (now_us - k->refreshed_us >= REFRESH_US) {
        k->refreshed_us = now_us;
        /* The known keys stay in use. */
        IGNORE_RESULT(read_keys(k, &ignored));
    }
    mutex_unlock(&k->file_lock);
}

void keyring_get_status(struct keyring *k, struct keyring_status *out)
{
    const struct data_key *last;
    mutex_lock(&k->lock);
    last = &k->keys[k->key_count - 1];
    *out = (struct keyring_status){k->key_count, last->id, last->created_us,
                                   k->master};
    mutex_unlock(&k->lock);
}

/* --- keys of files ------------------------------------------------------- */

uint64_t keyring_current_id(struct keyring *k)
{
    uint64_t id;
    if (k->owner)
        return keyring_current_id(k->owner);
    mutex_lock(&k->lock);
    INVARIANT(k->key_count > 0);
    id = k->keys[k->key_count - 1].id;
    mutex_unlock(&k->lock);
    return id;
}

void keyring_salt(struct keyring *k, unsigned char salt[KEYRING_SALT_BYTES])
{
    world_random_bytes(k->world, salt, KEYRING_SALT_BYTES);
}

/* Derive from the key @id if it is there. */
static bool derive_known(struct keyring *k,
                         uint64_t id,
                         const unsigned char salt[KEYRING_SALT_BYTES],
                         const char *purpose,
                         struct aead_key *out)
{
    bool found = false;
    mutex_lock(&k->lock);
    for (size_t i = k->key_count; i > 0 && !found; i--) {
        found = k->keys[i - 1].id == id;
        if (found)
            aead_derive(k->keys[i - 1].key,
                        slice_make(salt, KEYRING_SALT_BYTES), purpose, out);
    }
    mutex_unlock(&k->lock);
    return found;
}

/* The same; without a key @id, KEYS is read again. */
static int keyring_derive_key(struct keyring *k,
                              uint64_t id,
                              const unsigned char salt[KEYRING_SALT_BYTES],
                              const char *purpose,
                              struct aead_key *out,
                              struct err *err)
{
    int rc = 0;

    if (derive_known(k, id, salt, purpose, out))
        return 0;
    mutex_lock(&k->file_lock);
    if (k->place.read)
        rc = read_keys(k, err);
    mutex_unlock(&k->file_lock);
    if (rc == 0 && !derive_known(k, id, salt, purpose, out))
        rc = err_set(err, ERR_CORRUPT,
                     "it is sealed with data key %016" PRIx64
                     ", which is missing in KEYS",
                     id);
    return rc;
}

/* Derive from the loan that @k makes under @lent. */
static int derive_lent(struct keyring *k,
                       uint64_t id,
                       const unsigned char lent[KEYRING_SALT_BYTES],
                       const unsigned char salt[KEYRING_SALT_BYTES],
                       const char *purpose,
                       struct aead_key *out,
                       struct err *err)
{
    struct aead_key *key = secret_key_new(k->slab);
    int rc = keyring_derive_key(k, id, lent, LOAN_PURPOSE, key, err);

    if (rc == 0)
        aead_derive(key, slice_make(salt, KEYRING_SALT_BYTES), purpose, out);
    secret_key_free(k->slab, key);
    return rc;
}

/* True if @k derives from the loan @lent (zeros: from no loan). */
static bool has_loan(const struct keyring *k,
                     const unsigned char lent[KEYRING_SALT_BYTES])
{
    return memcmp(k->lent, lent, KEYRING_SALT_BYTES) == 0;
}

int keyring_derive_lent(struct keyring *k,
                        uint64_t id,
                        const unsigned char lent[KEYRING_SALT_BYTES],
                        const unsigned char salt[KEYRING_SALT_BYTES],
                        const char *purpose,
                        struct aead_key **out,
                        struct err *err)
{
    static const unsigned char not_lent[KEYRING_SALT_BYTES];
    struct aead_key *key = secret_key_new(k->slab);
    int rc;

    *out = NULL;
    if (k->owner && has_loan(k, lent))
        rc = derive_lent(k->owner, id, lent, salt, purpose, key, err);
    else if (!k->owner && has_loan(k, lent))
        rc = keyring_derive_key(k, id, salt, purpose, key, err);
    else if (!has_loan(k, not_lent))
        rc = err_set(err, ERR_DENIED,
                     "it is encrypted with a key that was "
                     "not lent to this program");
    else
        rc = derive_lent(k, id, lent, salt, purpose, key, err);
    if (rc) {
        secret_key_free(k->slab, key);
        return rc;
    }
    *out = key;
    return 0;
}

int keyring_derive(struct keyring *k,
                   uint64_t id,
                   const unsigned char salt[KEYRING_SALT_BYTES],
                   const char *purpose,
                   struct aead_key **out,
                   struct err *err)
{
    return keyring_derive_lent(k, id, k->lent, salt, purpose, out, err);
}

void keyring_key_free(struct keyring *k, struct aead_key *key)
{
    if (key)
        secret_key_free(k->slab, key);
}

/* --- loans --------------------------------------------------------------- */

void key_loan_name(struct slice to, unsigned char lent[KEYRING_SALT_BYTES])
{
    unsigned char digest[EVP_MAX_MD_SIZE];

    if (EVP_Digest(to.data, to.len, digest, NULL, EVP_sha256(), NULL) != 1)
        PANIC("no SHA-256 in this OpenSSL");
    memcpy(lent, digest, KEYRING_SALT_BYTES);
    lent[0] |= 1; /* Never all zeros. */
}

int keyring_lend(struct keyring *k,
                 const unsigned char lent[KEYRING_SALT_BYTES],
                 struct key_loan *out,
                 struct err *err)
{
    struct aead_key *key = NULL;
    int rc;

    PRE(!k->owner);
    keyring_refresh(k);
    *out = (struct key_loan){.key_id = keyring_current_id(k)};
    memcpy(out->lent, lent, sizeof(out->lent));
    rc = keyring_derive(k, out->key_id, lent, LOAN_PURPOSE, &key, err);
    if (rc) {
        *out = (struct key_loan){.key_id = 0};
        return rc;
    }
    out->key = *key;
    keyring_key_free(k, key);
    return 0;
}

void key_loan_close(struct key_loan *l)
{
    secret_wipe(l, sizeof(*l));
}

struct keyring *keyring_new_borrowed(struct world *w, const struct key_loan *l)
{
    struct keyring *k;
    if (l->key_id == 0)
        return NULL;
    k = keyring_of_one(w, l->key.bytes);
    k->keys[0].id = l->key_id;
    memcpy(k->lent, l->lent, sizeof(k->lent));
    return k;
}

struct keyring *keyring_view_loan(struct keyring *k,
                                  const unsigned char lent[KEYRING_SALT_BYTES])
{
    struct keyring *view;
    PRE(!k->owner);
    view = keyring_new(k->world, (struct keyring_place){.ctx = NULL});
    view->owner = keyring_ref(k);
    memcpy(view->lent, lent, sizeof(view->lent));
    return view;
}

const unsigned char *keyring_lent(const struct keyring *k)
{
    return k->lent;
}
