/* A small file that is encrypted as a whole.
 *
 *     file = "QRYSEAL1", crc le32 of the unit, unit (sealer.h)
 *
 * The magic is the unit's associated data. A file without it is not encrypted.
 *
 * Threads: any.
 */
#ifndef BASE_CRYPT_SEALED_BYTES_H
#define BASE_CRYPT_SEALED_BYTES_H

#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct buf;
struct keyring;

/* Bytes that sealing adds to a text. */
#define SEALED_BYTES_MORE ((size_t)60)

/* Append @plain, sealed with @k, to @out. Parks. Errors: those of
 * unit_sealer_new(). */
MUST_CHECK int sealed_bytes_put(struct keyring *k,
                                struct slice plain,
                                struct buf *out,
                                struct err *err);
/* Replace the sealed bytes of @b from @at on by their plain text; does
 * nothing if they are not sealed. @k may be NULL. Parks. Errors:
 * ERR_CORRUPT, ERR_DENIED (it is sealed, and @k is NULL). */
MUST_CHECK int
sealed_bytes_open(struct keyring *k, struct buf *b, size_t at, struct err *err);

#endif /* BASE_CRYPT_SEALED_BYTES_H */
