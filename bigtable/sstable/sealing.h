/* Encryption of an SSTable.
 *
 *     sealed table = { block } sealing footer
 *     sealing      = data key id le64, lent (16 bytes), salt (16 bytes),
 *                    crc le32 of what is before it, tag (16 bytes)
 *
 * `lent` names the loan (base/crypt/keyring.h) with whose key it is sealed, as
 * files of bulk loads are; 0s: with the data key.
 *
 * A payload as it is stored is AES-256-GCM of the payload as sstable_format.h
 * has it, and a tag of 16 bytes behind it; its codec, a byte, is the associated
 * data.
 * The checksum covers the stored bytes: damage is visible without the key.
 * The tag of the sealing is that of an empty text with the sealing before it
 * and the footer as associated data.
 *
 * Threads: immutable once made, used by any.
 *
 * Invariants
 *     INV-1. No two texts have the same key and nonce. The key is of this file
 *            alone: it is derived with 16 random bytes, drawn when the writer
 *            begins. The nonce is the offset in the file; a table is appended
 *            to by one writer and never changed, so each offset is sealed once,
 *            and the tag's own offset lies behind all blocks.
 */
#ifndef BIGTABLE_SSTABLE_SEALING_H
#define BIGTABLE_SSTABLE_SEALING_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/sstable/sstable_format.h"

struct keyring;
struct sstable_sealing;

/* Bytes that sealing adds to a payload. */
#define BLOCK_SEAL_BYTES      ((size_t)16)
#define SSTABLE_SEALING_BYTES ((size_t)60)

/* For a new file. @k is shared. Owned. Parks. */
MUST_CHECK int sstable_sealing_new(struct keyring *k,
                                   struct sstable_sealing **out,
                                   struct err *err);
/* For the file that ends with the sealing and the footer at @p, in
 * SSTABLE_SEALING_BYTES and SSTABLE_FOOTER_BYTES, the first of which is at
 * @offset of the file. Checks the tag. @k may be NULL. Parks. Errors:
 * ERR_DENIED (there is no key), ERR_CORRUPT (also: not this one). */
MUST_CHECK int sstable_sealing_open(struct keyring *k,
                                    const char *p,
                                    uint64_t offset,
                                    struct sstable_sealing **out,
                                    struct err *err);
void sstable_sealing_free(struct sstable_sealing *s); /* NULL is allowed. */

/* Seal the payload of a block that goes to @offset; what is to be stored is
 * appended to @out. */
void sstable_sealing_seal(const struct sstable_sealing *s,
                          uint64_t offset,
                          enum block_codec codec,
                          struct slice payload,
                          struct buf *out);
/* Open the payload @stored of the block at @offset to @to, which has room for
 * BLOCK_SEAL_BYTES less, and may be where @stored is. Errors: ERR_CORRUPT. */
MUST_CHECK int sstable_sealing_unseal(const struct sstable_sealing *s,
                                      uint64_t offset,
                                      enum block_codec codec,
                                      struct slice stored,
                                      char *to,
                                      struct err *err);
/* Append the sealing and @footer, encoded, behind it; the sealing goes to
 * @offset of the file. */
void sstable_sealing_append(const struct sstable_sealing *s,
                            uint64_t offset,
                            struct slice footer,
                            struct buf *out);

#endif /* BIGTABLE_SSTABLE_SEALING_H */
