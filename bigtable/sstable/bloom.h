/* A Bloom filter blocked by cache line: one memory access a question.
 *
 *     filter = { line of 64 bytes } probes
 *
 * A hash picks a line by its upper half and `probes` bits in it by successive
 * products of its lower half. About 1 % of absent keys pass at 10 bits a key.
 */
#ifndef BIGTABLE_SSTABLE_BLOOM_H
#define BIGTABLE_SSTABLE_BLOOM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/slice.h"

#define BLOOM_LINE_BYTES ((size_t)64)

struct bloom_builder {
    struct buf hashes; /* The 64-bit hashes added so far. */
    uint64_t last;     /* The newest one: neighbours are often equal. */
};

/* Without keys. bloom_builder_close() frees the hashes kept. */
void bloom_builder_init(struct bloom_builder *b);
void bloom_builder_close(struct bloom_builder *b);
/* Add a key by its @hash; repeated ones in a row count once. */
void bloom_builder_add(struct bloom_builder *b, uint64_t hash);

static inline size_t bloom_builder_count(const struct bloom_builder *b)
{
    return b->hashes.len / sizeof(uint64_t);
}

/* Append the filter of everything added to @out, and start afresh. */
void bloom_builder_finish(struct bloom_builder *b,
                          uint32_t bits_per_key,
                          struct buf *out);

/* May @hash have been added? A malformed filter says yes. */
bool bloom_may_contain(struct slice filter, uint64_t hash);

#endif /* BIGTABLE_SSTABLE_BLOOM_H */
