/* A file of the world that is encrypted in pieces, and read and written at any
 * offset.
 *
 *     file = "QRYSEALF" piece bytes le32, crc le32 of these 12, { piece }
 *     piece = sealed unit (sealer.h) of SEALED_PIECE_BYTES, the last of fewer
 *
 * The number of a piece (le64) is its associated data. Offsets and sizes are
 * those of the plain contents. A file without the header, or one made without a
 * keyring, is read and written unchanged. Readers of the contents must detect
 * missing pieces at the end themselves.
 *
 * Writing a piece again makes a new unit: see INV-1 of sealer.h.
 *
 * Threads: one at a time.
 */
#ifndef BASE_CRYPT_SEALED_FILE_H
#define BASE_CRYPT_SEALED_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct keyring;
struct sealed_file;
struct world;

#define SEALED_PIECE_BYTES ((size_t)64 << 10)

/* As file_open(). @k may be NULL. *@out is owned. Parks. Errors also:
 * ERR_DENIED (it is encrypted, and @k is NULL), ERR_CORRUPT. */
MUST_CHECK int sealed_file_open(struct world *w,
                                const char *path,
                                unsigned flags,
                                struct keyring *k,
                                struct sealed_file **out,
                                struct err *err);
void sealed_file_close(struct sealed_file *f); /* NULL is allowed. */
MUST_CHECK int
/* The size of the plain contents. Parks. */
sealed_file_size(struct sealed_file *f, uint64_t *bytes, struct err *err);
/* As file_read_at(). Errors also: ERR_CORRUPT. */
MUST_CHECK int sealed_file_read_at(struct sealed_file *f,
                                   uint64_t offset,
                                   void *dst,
                                   size_t len,
                                   size_t *got,
                                   struct err *err);
/* As file_write_at(). PRE: @offset is not past the end. */
MUST_CHECK int sealed_file_write_at(struct sealed_file *f,
                                    uint64_t offset,
                                    struct slice bytes,
                                    struct err *err);
/* As file_sync(). */
MUST_CHECK int sealed_file_sync(struct sealed_file *f, struct err *err);

#endif /* BASE_CRYPT_SEALED_FILE_H */
