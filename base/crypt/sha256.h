/* SHA-256 of bytes that come in pieces, by OpenSSL.
 *
 * Threads: one at a time.
 */
#ifndef BASE_CRYPT_SHA256_H
#define BASE_CRYPT_SHA256_H

#include <stddef.h>

#include "base/core/slice.h"

#define SHA256_BYTES ((size_t)32)
/* In hexadecimal digits, with the 0 behind them. */
#define SHA256_TEXT_BYTES (2 * SHA256_BYTES + 1)

struct sha256;

/* Of no bytes. Owned: sha256_free(). */
struct sha256 *sha256_new(void);
void sha256_add(struct sha256 *d, struct slice bytes);
/* That of all that was added since it was made, or since the last end. */
void sha256_end(struct sha256 *d, unsigned char out[SHA256_BYTES]);
void sha256_free(struct sha256 *d); /* NULL is allowed. */

/* All in one. */
void sha256_of(struct slice bytes, unsigned char out[SHA256_BYTES]);
void sha256_text(const unsigned char digest[SHA256_BYTES],
                 char out[SHA256_TEXT_BYTES]);

#endif /* BASE_CRYPT_SHA256_H */
