/* Log-linear counting, as HdrHistogram does it: the bucket is the position
 * of the value's highest bit and the five bits below it, found without a
 * search. Adding is a few instructions, so that hot paths can afford it. */
#include "base/core/histogram.h"

#include <math.h>

#include "base/core/macros.h"
#include "base/core/panic.h"

#define SUB_COUNT ((uint64_t)1 << HISTOGRAM_SUB_BITS)

size_t histogram_bucket(uint64_t value)
{
    unsigned shift;
    if (value < SUB_COUNT)
        return (size_t)value;
    shift = 63 - (unsigned)__builtin_clzll(value) - HISTOGRAM_SUB_BITS;
    return (size_t)(((uint64_t)(shift + 1) << HISTOGRAM_SUB_BITS) +
                    ((value >> shift) - SUB_COUNT));
}

uint64_t histogram_bucket_low(size_t index)
{
    uint64_t sub = (uint64_t)index & (SUB_COUNT - 1);
    uint64_t row = (uint64_t)index >> HISTOGRAM_SUB_BITS;
    PRE(index < HISTOGRAM_BUCKET_COUNT);
    return row == 0 ? sub : (SUB_COUNT + sub) << (row - 1);
}

void histogram_init(struct histogram *h)
{
    *h = (struct histogram){.min = UINT64_MAX};
}

void histogram_add_many(struct histogram *h, uint64_t value, uint64_t times)
{
    if (times == 0)
        return;
    h->buckets[histogram_bucket(value)] += times;
    h->count += times;
    h->min = MIN_OF(h->min, value);
    h->max = MAX_OF(h->max, value);
}

void histogram_add(struct histogram *h, uint64_t value)
{
    histogram_add_many(h, value, 1);
}

void histogram_merge(struct histogram *h, const struct histogram *from)
{
    for (size_t i = 0; i < HISTOGRAM_BUCKET_COUNT; i++)
        h->buckets[i] += from->buckets[i];
    h->count += from->count;
    h->min = MIN_OF(h->min, from->min);
    h->max = MAX_OF(h->max, from->max);
    POST(h->count == 0 || h->min <= h->max); /* INV-2 */
}

/* The middle of bucket @index: at most half a bucket's width from any value
 * in it. */
static uint64_t bucket_middle(size_t index)
{
    uint64_t low = histogram_bucket_low(index);
    uint64_t row = (uint64_t)index >> HISTOGRAM_SUB_BITS;
    return row < 2 ? low : low + (UINT64_C(1) << (row - 2));
}

uint64_t histogram_percentile(const struct histogram *h, double percent)
{
    double want = ceil((double)h->count * percent / 100);
    uint64_t seen = 0;
    uint64_t v;
    PRE(percent >= 0 && percent <= 100);
    if (h->count == 0)
        return 0;
    if (percent >= 100)
        return h->max;
    for (size_t i = 0; i < HISTOGRAM_BUCKET_COUNT; i++) {
        seen += h->buckets[i];
        if (seen > 0 && (double)seen >= want) {
            v = bucket_middle(i);
            return v < h->min ? h->min : MIN_OF(v, h->max);
        }
    }
    return h->max;
}
