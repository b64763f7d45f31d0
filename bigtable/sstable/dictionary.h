/* A zstd dictionary of one table: made from the table's own first blocks, so
 * that a block that is read alone still knows what its neighbours repeat.
 *
 * Threads: immutable once made.
 *
 * Invariants
 *     INV-1. It is for one direction: a writer's has `encode` and its bytes, a
 *            reader's has `decode` and no bytes of its own.
 */
#ifndef BIGTABLE_SSTABLE_DICTIONARY_H
#define BIGTABLE_SSTABLE_DICTIONARY_H

#include <stddef.h>

#include "base/core/err.h"
#include "base/core/slice.h"

/* Raw bytes of first blocks a writer gathers before it decides. */
#define DICTIONARY_SAMPLE_BYTES ((size_t)4 << 20)
/* Below this a dictionary costs more than it saves. */
#define DICTIONARY_SAMPLE_BYTES_MIN ((size_t)512 << 10)
/* The default of zstd's own tool, and the best of the sizes measured here. */
#define DICTIONARY_BYTES_MAX ((size_t)112 << 10)

struct dictionary {
    struct slice bytes;          /* Owned by a writer; empty on a reader. */
    struct ZSTD_DDict_s *decode; /* For decompression; NULL on a writer. */
    struct ZSTD_CDict_s *encode; /* For compression; NULL on a reader. */
};

/* Make a dictionary for compression at @level from @blocks, if it pays: NULL if
 * it does not. "Pays" is measured, on blocks it was not trained with. Owned. */
struct dictionary *
dictionary_train(const struct slice *blocks, size_t block_count, int level);

/* Make a dictionary for decompression of @bytes, copied. Owned.
 * Errors: ERR_NOMEM. */
MUST_CHECK int
dictionary_open(struct slice bytes, struct dictionary **out, struct err *err);

void dictionary_free(struct dictionary *d); /* NULL is allowed. */

#endif /* BIGTABLE_SSTABLE_DICTIONARY_H */
