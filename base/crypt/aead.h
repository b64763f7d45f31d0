/* AES-256-GCM and HKDF-SHA256, by OpenSSL.
 *
 * A sealed text is the ciphertext, followed by a tag of 16 bytes. Opening it
 * takes the key, the nonce and the associated data of sealing; any difference,
 * down to one bit, is ERR_CORRUPT.
 *
 * Never seal two texts with the same key and nonce: that reveals both and
 * allows forgeries. Callers state in their headers why they never do.
 *
 * Each thread keeps two contexts of OpenSSL, which remember their last key, so
 * that nothing is allocated for a text, and a key is not set up again for the
 * next text of the same file.
 *
 * Threads: any. Nothing parks.
 */
#ifndef BASE_CRYPT_AEAD_H
#define BASE_CRYPT_AEAD_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

#define AEAD_KEY_BYTES   ((size_t)32)
#define AEAD_NONCE_BYTES ((size_t)12)
#define AEAD_TAG_BYTES   ((size_t)16)

/* Longest text: OpenSSL counts in int. */
#define AEAD_TEXT_BYTES_MAX ((size_t)0x7fff0000)

struct aead_key {
    unsigned char bytes[AEAD_KEY_BYTES];
};

/* Seal @plain to @out, which has room for AEAD_TAG_BYTES more; @out may
 * equal @plain, but must not overlap it otherwise. */
void aead_seal(const struct aead_key *key,
               const unsigned char nonce[AEAD_NONCE_BYTES],
               struct slice aad,
               struct slice plain,
               char *out);

/* Open @sealed to the sealed.len - AEAD_TAG_BYTES at @out, which may be
 * @sealed itself. Errors: ERR_CORRUPT; the bytes at @out are undefined then. */
MUST_CHECK int aead_open(const struct aead_key *key,
                         const unsigned char nonce[AEAD_NONCE_BYTES],
                         struct slice aad,
                         struct slice sealed,
                         char *out,
                         struct err *err);

/* The key that HKDF-SHA256 derives from @key with @salt for @purpose. */
void aead_derive(const struct aead_key *key,
                 struct slice salt,
                 const char *purpose,
                 struct aead_key *out);

/* The first eight bytes, as le64, of HMAC-SHA256 of @label under @key:
 * identifies a key without revealing it. Never 0. */
uint64_t aead_key_name(const struct aead_key *key, const char *label);

#endif /* BASE_CRYPT_AEAD_H */
