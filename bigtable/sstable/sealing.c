/* Encryption of an SSTable with a key of its own, which is derived from a data
 * key and a salt in the file (base/crypt/keyring.h). The offset of a block is
 * its nonce, so a block that is moved does not open. The tag of the sealing
 * authenticates the footer, which says where top, properties and dictionary
 * are.
 */
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

STATIC_ASSERT(SEALING_TAG_AT + AEAD_TAG_BYTES == SSTABLE_SEALING_BYTES,
              "on disk");
STATIC_ASSERT(BLOCK_SEAL_BYTES == AEAD_TAG_BYTES, "on disk");

struct sstable_sealing {
    struct keyring *ring; /* Shared. */
    uint64_t key_id;
    unsigned char lent[KEYRING_SALT_BYTES]; /* 0s: not with a lent key. */
    unsigned char salt[KEYRING_SALT_BYTES];
    struct aead_key *key; /* Of this file. Owned. */
};

static int sstable_sealing_make(struct keyring *k,
                                uint64_t key_id,
                                const unsigned char lent[KEYRING_SALT_BYTES],
                                const unsigned char salt[KEYRING_SALT_BYTES],
                                struct sstable_sealing **out,
                                struct err *err)
{
    struct sstable_sealing *s = mem_zalloc(1, sizeof(*s));
    int rc;

    s->ring = keyring_ref(k);
    s->key_id = key_id;
    memcpy(s->lent, lent, sizeof(s->lent));
    memcpy(s->salt, salt, sizeof(s->salt));
    rc = keyring_derive_lent(k, key_id, lent, salt, SEALING_PURPOSE, &s->key,
                             err);
    if (rc) {
        sstable_sealing_free(s);
        s = NULL;
    }
    POST(rc || s->key);
    *out = s;
    return rc;
}

int sstable_sealing_new(struct keyring *k,
                        struct sstable_sealing **out,
                        struct err *err)
{
    unsigned char salt[KEYRING_SALT_BYTES];

    keyring_refresh(k);
    keyring_salt(k, salt);
    return sstable_sealing_make(k, keyring_current_id(k), keyring_lent(k), salt,
                                out, err);
}

void sstable_sealing_free(struct sstable_sealing *s)
{
    if (!s)
        return;
    PRE(s->ring);
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

void sstable_sealing_seal(const struct sstable_sealing *s,
                          uint64_t offset,
                          enum block_codec codec,
                          struct slice payload,
                          struct buf *out)
{
    unsigned char nonce[AEAD_NONCE_BYTES];
    char aad = (char)codec;

    PRE(s->key);
    sealing_nonce(offset, nonce);
    PRE(codec == BLOCK_RAW || block_codec_ops(codec));
    aead_seal(s->key, nonce, slice_make(&aad, 1), payload,
              buf_extend(out, payload.len + BLOCK_SEAL_BYTES));
}

int sstable_sealing_unseal(const struct sstable_sealing *s,
                           uint64_t offset,
                           enum block_codec codec,
                           struct slice stored,
                           char *to,
                           struct err *err)
{
    unsigned char nonce[AEAD_NONCE_BYTES];
    char aad = (char)codec;

    PRE(s->key);
    sealing_nonce(offset, nonce);
    return aead_open(s->key, nonce, slice_make(&aad, 1), stored, to, err);
}

/* The data that the tag authenticates: the sealing before it, and the footer.
 */
static struct slice
sealing_aad(const char *sealing,
            const char *footer,
            char room[SEALING_TAG_AT + SSTABLE_FOOTER_BYTES])
{
    memcpy(room, sealing, SEALING_TAG_AT);
    memcpy(room + SEALING_TAG_AT, footer, SSTABLE_FOOTER_BYTES);
    return slice_make(room, SEALING_TAG_AT + SSTABLE_FOOTER_BYTES);
}

void sstable_sealing_append(const struct sstable_sealing *s,
                            uint64_t offset,
                            struct slice footer,
                            struct buf *out)
{
    unsigned char nonce[AEAD_NONCE_BYTES];
    char aad[SEALING_TAG_AT + SSTABLE_FOOTER_BYTES];
    char sealing[SSTABLE_SEALING_BYTES] = {0};

    PRE(offset > 0); /* INV-1: it is no block's. */
    PRE(footer.len == SSTABLE_FOOTER_BYTES);
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

static int check_sealing_tag(const struct sstable_sealing *s,
                             const char *p,
                             uint64_t offset,
                             struct err *err)
{
    unsigned char nonce[AEAD_NONCE_BYTES];
    char aad[SEALING_TAG_AT + SSTABLE_FOOTER_BYTES];
    char none;
    int rc;

    PRE(s->key);
    sealing_nonce(offset, nonce);
    rc =
        aead_open(s->key, nonce, sealing_aad(p, p + SSTABLE_SEALING_BYTES, aad),
                  slice_make(p + SEALING_TAG_AT, AEAD_TAG_BYTES), &none, err);
    if (rc)
        err_wrap(err, "footer");
    return rc;
}

int sstable_sealing_open(struct keyring *k,
                         const char *p,
                         uint64_t offset,
                         struct sstable_sealing **out,
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
    rc = sstable_sealing_make(k, get_le64(p + SEALING_KEY_AT), lent, salt, out,
                              err);
    if (rc)
        return rc;
    rc = check_sealing_tag(*out, p, offset, err);
    if (rc) {
        sstable_sealing_free(*out);
        *out = NULL;
    }
    return rc;
}
