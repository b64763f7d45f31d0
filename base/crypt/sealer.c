/* Sealed units. Sealer and opener keep the key of the last unit, because
 * neighbours in a log share it; deriving one costs several times as much as
 * opening a small record. */
#include "base/crypt/sealer.h"

#include <stdbool.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/crypt/aead.h"
#include "base/crypt/keyring.h"

#define SALT_AT    8
#define COUNTER_AT (SALT_AT + KEYRING_SALT_BYTES)

STATIC_ASSERT(COUNTER_AT + 8 == UNIT_HEAD_BYTES, "on disk");
STATIC_ASSERT(UNIT_HEAD_BYTES + AEAD_TAG_BYTES == UNIT_BYTES_MORE, "on disk");

/* The identity of a key: the data key's id and the salt. */
struct unit_key {
    struct keyring *ring; /* Shared. */
    const char *purpose;
    uint64_t id;
    unsigned char salt[KEYRING_SALT_BYTES];
    struct aead_key *key; /* NULL: none yet. */
};

struct unit_sealer {
    struct unit_key key;
    uint64_t counter;
};

struct unit_opener {
    struct unit_key key; /* Of the last unit. */
};

static void unit_key_close(struct unit_key *k)
{
    if (k->ring)
        keyring_key_free(k->ring, k->key);
    keyring_unref(k->ring);
}

static void unit_nonce(uint64_t counter, unsigned char nonce[AEAD_NONCE_BYTES])
{
    memset(nonce, 0, AEAD_NONCE_BYTES);
    put_le64((char *)nonce, counter);
}

int unit_sealer_new(struct keyring *k,
                    const char *purpose,
                    struct unit_sealer **out,
                    struct err *err)
{
    struct unit_sealer *s = mem_zalloc(1, sizeof(*s));
    int rc;

    keyring_refresh(k);
    s->key.ring = keyring_ref(k);
    s->key.purpose = purpose;
    s->key.id = keyring_current_id(k);
    keyring_salt(k, s->key.salt);
    rc = keyring_derive(k, s->key.id, s->key.salt, purpose, &s->key.key, err);
    if (rc) {
        unit_sealer_free(s);
        s = NULL;
    }
    *out = s;
    return rc;
}

void unit_sealer_free(struct unit_sealer *s)
{
    if (!s)
        return;
    unit_key_close(&s->key);
    mem_free(s);
}

void unit_seal(struct unit_sealer *s,
               struct slice aad,
               struct slice plain,
               char *out)
{
    unsigned char nonce[AEAD_NONCE_BYTES];

    INVARIANT(s->counter < UINT64_MAX); /* INV-1. */
    unit_nonce(s->counter, nonce);
    aead_seal(s->key.key, nonce, aad, plain, out + UNIT_HEAD_BYTES);
    put_le64(out, s->key.id);
    memcpy(out + SALT_AT, s->key.salt, KEYRING_SALT_BYTES);
    put_le64(out + COUNTER_AT, s->counter++);
}

struct unit_opener *unit_opener_new(struct keyring *k, const char *purpose)
{
    struct unit_opener *o = mem_zalloc(1, sizeof(*o));
    o->key.ring = keyring_ref(k);
    o->key.purpose = purpose;
    return o;
}

void unit_opener_free(struct unit_opener *o)
{
    if (!o)
        return;
    unit_key_close(&o->key);
    mem_free(o);
}

/* Set @k to the key of @unit. */
static int unit_key_take(struct unit_key *k, struct slice unit, struct err *err)
{
    uint64_t id = get_le64(unit.data);
    unsigned char salt[KEYRING_SALT_BYTES];
    struct aead_key *key;
    int rc;

    memcpy(salt, unit.data + SALT_AT, sizeof(salt));
    if (k->key && k->id == id && memcmp(k->salt, salt, sizeof(salt)) == 0)
        return 0;
    rc = keyring_derive(k->ring, id, salt, k->purpose, &key, err);
    if (rc)
        return rc;
    keyring_key_free(k->ring, k->key);
    k->key = key;
    k->id = id;
    memcpy(k->salt, salt, sizeof(salt));
    return 0;
}

int unit_open(struct unit_opener *o,
              struct slice aad,
              struct slice unit,
              char *out,
              struct err *err)
{
    unsigned char nonce[AEAD_NONCE_BYTES];
    int rc;

    if (unit.len < UNIT_BYTES_MORE)
        return err_set(err, ERR_CORRUPT, "a sealed unit of %zu bytes",
                       unit.len);
    if (!o->key.ring) {
        err_set(err, ERR_DENIED, "it is encrypted, and there is no key for it");
        err_hint(err, "name the master key: [encryption] key-file or "
                      "key-command");
        return ERR_DENIED;
    }
    rc = unit_key_take(&o->key, unit, err);
    if (rc)
        return rc;
    unit_nonce(get_le64(unit.data + COUNTER_AT), nonce);
    unit.data += UNIT_HEAD_BYTES;
    unit.len -= UNIT_HEAD_BYTES;
    if (out == unit.data - UNIT_HEAD_BYTES) { /* In place: move up first. */
        memmove(out, unit.data, unit.len);
        unit.data = out;
    }
    return aead_open(o->key.key, nonce, aad, unit, out, err);
}
