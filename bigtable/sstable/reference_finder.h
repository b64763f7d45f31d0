/* Which earlier block of a table is most like this one, so that this one can be
 * compressed against it.
 *
 * Pages of a host share their frame, and versions of a page nearly all of their
 * text, but a block holds few of them. A block that is compressed with the
 * contents of a similar one as its prefix costs only what differs, and is still
 * read with one other block. "Long common strings", Bentley and McIlroy (DCC
 * 1999), find repeats at any distance by fingerprints of a sample of positions;
 * so does this, but the sample is chosen by content (as in rsync and in
 * deduplicating stores), so that equal text is sampled alike wherever it
 * begins.
 *
 * Only blocks that need no other block are offered (INV-1), so a read decodes
 * at most one block more.
 *
 * Threads: one task at a time.
 *
 * Invariants
 *     INV-1. A kept block was stored without a reference.
 *     INV-2. Kept bytes are at most REFERENCE_KEPT_BYTES_MAX and the newest
 *            block.
 *     INV-3. A fingerprint leads to the newest kept block that has it, or to
 *            one that is no longer kept.
 */
#ifndef BIGTABLE_SSTABLE_REFERENCE_FINDER_H
#define BIGTABLE_SSTABLE_REFERENCE_FINDER_H

#include "base/core/slice.h"
#include "bigtable/sstable/sstable_format.h"

/* A block may refer to one of this size; beside the rest of a page's block
 * (LARGE_TARGET_BYTES) that makes 256 KiB which are decoded for the page. A
 * larger block may refer to one of its own size, */
#define REFERENCE_BYTES_USUAL ((size_t)192 << 10)
/* but to none beyond this. */
#define REFERENCE_BYTES_MAX ((size_t)1 << 20)
/* Of the blocks that a writer keeps to compare with. */
#define REFERENCE_KEPT_BYTES_MAX ((size_t)32 << 20)

struct reference_finder;

/* A kept block. */
struct reference {
    struct block_handle handle;
    struct slice bytes; /* Decoded. */
};

/* With nothing kept. Owned. */
struct reference_finder *reference_finder_new(void);
void reference_finder_free(struct reference_finder *f); /* NULL is allowed. */

/* The kept block that has most in common with @block, of those that are not too
 * large for it, or NULL if none has enough. Borrowed until the next
 * reference_finder_keep(). */
const struct reference *reference_finder_search(struct reference_finder *f,
                                                struct slice block);

/* Keep the block last searched for, copied, which is stored at @handle without
 * a reference; forgets the oldest ones. Does nothing if it is too large. PRE:
 * reference_finder_search(@block) was the last call. */
void reference_finder_keep(struct reference_finder *f,
                           struct slice block,
                           const struct block_handle *handle);

#endif /* BIGTABLE_SSTABLE_REFERENCE_FINDER_H */
