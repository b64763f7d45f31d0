/* Distribution of non-negative integers: log-linear buckets, 32 to each power
 * of two, so that any percentile is exact to about 3 %.
 *
 * Fixed size, no allocation; merging adds counts. One thread: keep a histogram
 * per thread and merge.
 *
 * Invariants, kept by add and merge
 *     INV-1. count is the sum of all buckets.
 *     INV-2. min <= max, unless count is 0.
 */
#ifndef BASE_CORE_HISTOGRAM_H
#define BASE_CORE_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

/* 2^5 buckets for 0..31, then 32 for each of the 59 higher powers of two. */
#define HISTOGRAM_SUB_BITS 5
#define HISTOGRAM_BUCKET_COUNT                                                 \
    ((64 - HISTOGRAM_SUB_BITS + 1) << HISTOGRAM_SUB_BITS)

struct histogram {
    uint64_t count; /* Values added. */
    uint64_t min;   /* Smallest; UINT64_MAX when empty. */
    uint64_t max;   /* Largest; 0 when empty. */
    uint64_t buckets[HISTOGRAM_BUCKET_COUNT];
};

/* An empty histogram. */
void histogram_init(struct histogram *h);
/* Count @value once, or @times times. */
void histogram_add(struct histogram *h, uint64_t value);
void histogram_add_many(struct histogram *h, uint64_t value, uint64_t times);
/* Add what @from holds. */
void histogram_merge(struct histogram *h, const struct histogram *from);
/* The value that @percent (0 to 100) of the values do not exceed; between
 * min and max, 0 when empty. */
uint64_t histogram_percentile(const struct histogram *h, double percent);

/* The bucket of @value, and the lowest value of bucket @index. */
size_t histogram_bucket(uint64_t value);
uint64_t histogram_bucket_low(size_t index);

#endif /* BASE_CORE_HISTOGRAM_H */
