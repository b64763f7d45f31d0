/* Sketches of unique counts, HyperLogLog++ as Cloud Bigtable keeps it: the
 * messages of ZetaSketch (encoding version 2) with a precision of 15 bits, 20
 * while they are sparse, byte for byte, so that ZetaSketch and BigQuery read
 * them and merge them with their own.
 *
 *     sketch      = 08 70                      its type, 112
 *                   10 added:varint            values that were added to it
 *                   18 02                      encoding version
 *                   20 values:varint           8: integers, 11: bytes
 *                   82 07 length:varint state
 *     state       = [10 count:varint]          of sparse values, unless 0
 *                   18 0f 20 14                the two precisions
 *                   2a 80 80 02 register…      2^15 bytes, or
 *                   32 length:varint sparse    differences as varints
 *
 * A sparse value is the first 20 bits of a hash, or, where the last 5 of these
 * are zeros, a flag, the first 15 and the number of zeros behind bit 20,
 * plus 1. A sketch becomes dense once its sparse values have 24 KiB.
 *
 * Threads: one at a time.
 *
 * Invariants
 *     INV-1  A sketch has registers, or sparse values, or neither.
 *     INV-2  The first `sorted` sparse values rise, one for each index.
 *     INV-3  A dense sketch never becomes sparse again.
 */
#ifndef BIGTABLE_ROW_HLL_SKETCH_H
#define BIGTABLE_ROW_HLL_SKETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/slice.h"

struct buf;

/* Values of each kind are hashed in their own way, and do not mix. */
enum hll_values {
    HLL_INTEGERS = 8,
    HLL_BYTES = 11,
};

#define HLL_PRECISION        15
#define HLL_SPARSE_PRECISION 20
#define HLL_REGISTER_COUNT   ((size_t)1 << HLL_PRECISION)

struct hll_sketch {
    enum hll_values values;
    uint64_t added;   /* Values that were added, repeated ones as well. */
    uint32_t *sparse; /* Owned. */
    size_t sparse_count;
    size_t sparse_cap;
    size_t sorted;      /* INV-2 */
    uint8_t *registers; /* Owned; NULL: none. */
};

/* An empty one. */
void hll_sketch_init(struct hll_sketch *s, enum hll_values values);
void hll_sketch_close(struct hll_sketch *s);

void hll_sketch_add(struct hll_sketch *s, uint64_t hash);
/* Merge an encoded sketch. False, and nothing has changed: hll_sketch_check()
 * would refuse it. */
bool hll_sketch_merge(struct hll_sketch *s, struct slice encoded);
/* Append the encoding; the same for all orders in which values came. */
void hll_sketch_put(struct hll_sketch *s, struct buf *out);

/* Is it a sketch of @values, with the precisions above? The bytes may
 * come from anywhere. */
bool hll_sketch_check(struct slice encoded, enum hll_values values);

#endif /* BIGTABLE_ROW_HLL_SKETCH_H */
