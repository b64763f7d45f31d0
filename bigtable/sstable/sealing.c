/* Encryption of a table file: see sealing.h. */
#include "bigtable/sstable/sealing.h"

#include <string.h>

#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "base/crypt/aead.h"
#include "base/crypt/keyring.h"

/* Offsets in a sealing. */
enum {
    SEALING_KEY_AT = 0,
    SEALING_LENT_AT = 8,
    SEALING_SALT_AT = 24,
    SEALING_CRC_AT = 40,
    SEALING_TAG_AT = 44,
};

#define SEALING_PURPOSE "quarry table file"

STATIC_ASSERT(SEALING_TAG_AT + AEAD_TAG_BYTES == TABLE_SEALING_BYTES,
              "on disk");
STATIC_ASSERT(BLOCK_SEAL_BYTES == AEAD_TAG_BYTES, "on disk");

struct table_sealing {
    struct keyring *ring; /* Shared. */
    uint64_t key_id;
    unsigned char lent[KEYRING_SALT_BYTES]; /* 0s: not with a lent key. */
    unsigned char salt[KEYRING_SALT_BYTES];
    struct aead_key *key; /* Of this file. Owned. */
};

static int table_sealing_make(struct keyring *k,
                              uint64_t key_id,
                              const unsigned char lent[KEYRING_SALT_BYTES],
                              const unsigned char salt[KEYRING_SALT_BYTES],
                              struct table_sealing **out,
                              struct err *err)
{
    struct table_sealing *s = mem_zalloc(1, sizeof(*s));
    int rc;

    s->ring = keyring_ref(k);
    s->key_id = key_id;
    memcpy(s->lent, lent, sizeof(s->lent));
    memcpy(s->salt, salt, sizeof(s->salt));
    rc = keyring_derive_lent(k, key_id, lent, salt, SEALING_PURPOSE, &s->key,
                             err);
    if (rc) {
        table_sealing_free(s);
        s = NULL;
    }
    *out = s;
    return rc;
}

int table_sealing_new(struct keyring *k,
                      struct table_sealing **out,
                      struct err *err)
{
    unsigned char salt[KEYRING_SALT_BYTES];

    keyring_refresh(k);
    keyring_salt(k, salt);
    return table_sealing_make(k, keyring_current_id(k), keyring_lent(k), salt,
                              out, err);
}

void table_sealing_free(struct table_sealing *s)
{
    if (!s)
        return;
    keyring_key_free(s->ring, s->key);
    keyring_unref(s->ring);
    mem_free(s);
}

static void sealing_nonce(uint64_t offset,
                          unsigned char nonce[AEAD_NONCE_BYTES])
{
    memset(nonce, 0, AEAD_NONCE_BYTES);
    put_le64((char *)nonce, offset);
}

void table_sealing_seal(const struct table_sealing *s,
                        uint64_t offset,
                        enum block_codec codec,
                        struct slice payload,
                        struct buf *out)
{
    unsigned char nonce[AEAD_NONCE_BYTES];
    char aad = (char)codec;

    sealing_nonce(offset, nonce);
    aead_seal(s->key, nonce, slice_make(&aad, 1), payload,
              buf_extend(out, payload.len + BLOCK_SEAL_BYTES));
}

int table_sealing_unseal(const struct table_sealing *s,
                         uint64_t offset,
                         enum block_codec codec,
                         struct slice stored,
                         char *to,
                         struct err *err)
{
    unsigned char nonce[AEAD_NONCE_BYTES];
    char aad = (char)codec;

    sealing_nonce(offset, nonce);
    return aead_open(s->key, nonce, slice_make(&aad, 1), stored, to, err);
}

/* What the tag is over: the sealing in front of it, and the footer. */
static struct slice sealing_aad(const char *sealing,
                                const char *footer,
                                char room[SEALING_TAG_AT + TABLE_FOOTER_BYTES])
{
    memcpy(room, sealing, SEALING_TAG_AT);
    memcpy(room + SEALING_TAG_AT, footer, TABLE_FOOTER_BYTES);
    return slice_make(room, SEALING_TAG_AT + TABLE_FOOTER_BYTES);
}

void table_sealing_append(const struct table_sealing *s,
                          uint64_t offset,
                          struct slice footer,
                          struct buf *out)
{
    unsigned char nonce[AEAD_NONCE_BYTES];
    char aad[SEALING_TAG_AT + TABLE_FOOTER_BYTES];
    char sealing[TABLE_SEALING_BYTES] = {0};

    PRE(footer.len == TABLE_FOOTER_BYTES);
    put_le64(sealing + SEALING_KEY_AT, s->key_id);
    memcpy(sealing + SEALING_LENT_AT, s->lent, sizeof(s->lent));
    memcpy(sealing + SEALING_SALT_AT, s->salt, sizeof(s->salt));
    put_le32(sealing + SEALING_CRC_AT, crc32c(sealing, SEALING_CRC_AT));
    sealing_nonce(offset, nonce);
    aead_seal(s->key, nonce, sealing_aad(sealing, footer.data, aad),
              SLICE_EMPTY, sealing + SEALING_TAG_AT);
    buf_append(out, sealing, sizeof(sealing));
    buf_append_slice(out, footer);
}

static int check_sealing_tag(const struct table_sealing *s,
                             const char *p,
                             uint64_t offset,
                             struct err *err)
{
    unsigned char nonce[AEAD_NONCE_BYTES];
    char aad[SEALING_TAG_AT + TABLE_FOOTER_BYTES];
    char none;
    int rc;

    sealing_nonce(offset, nonce);
    rc = aead_open(s->key, nonce, sealing_aad(p, p + TABLE_SEALING_BYTES, aad),
                   slice_make(p + SEALING_TAG_AT, AEAD_TAG_BYTES), &none, err);
    if (rc)
        err_wrap(err, "footer");
    return rc;
}

int table_sealing_open(struct keyring *k,
                       const char *p,
                       uint64_t offset,
                       struct table_sealing **out,
                       struct err *err)
{
    unsigned char lent[KEYRING_SALT_BYTES];
    unsigned char salt[KEYRING_SALT_BYTES];
    int rc;

    *out = NULL;
    if (get_le32(p + SEALING_CRC_AT) != crc32c(p, SEALING_CRC_AT))
        return err_set(err, ERR_CORRUPT, "sealing: checksum mismatch");
    if (!k) {
        err_set(err, ERR_DENIED, "it is encrypted, and there is no key for it");
        err_hint(err, "name the master key: [encryption] key-file or "
                      "key-command");
        return ERR_DENIED;
    }
    memcpy(lent, p + SEALING_LENT_AT, sizeof(lent));
    memcpy(salt, p + SEALING_SALT_AT, sizeof(salt));
    rc = table_sealing_make(k, get_le64(p + SEALING_KEY_AT), lent, salt, out,
                            err);
    if (rc)
        return rc;
    rc = check_sealing_tag(*out, p, offset, err);
    if (rc) {
        table_sealing_free(*out);
        *out = NULL;
    }
    return rc;
}
