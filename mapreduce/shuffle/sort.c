/* Radix sort of references to pairs, most significant byte first.
 *
 * msd_sort() distributes by one byte of the prefix; when all eight bytes of a
 * piece are equal, tie_sort() separates the keys that end here and continues
 * with the next eight bytes of the others. Keys that share LEVELS_MAX prefixes
 * (256 bytes) are left to a merge sort, which bounds the recursion whatever the
 * keys.
 */
#include "mapreduce/shuffle/sort.h"

#include <stdbool.h>

#include "base/core/coding.h"
#include "base/core/panic.h"

/* Below this many references, insertion is faster than distribution. */
#define INSERTION_COUNT 40
#define LEVELS_MAX      32

struct sorter {
    const struct sort_keys *keys;
};

static void msd_sort(const struct sorter *s,
                     struct sort_ref *a,
                     struct sort_ref *tmp,
                     size_t n,
                     int shift,
                     unsigned level);

uint64_t sort_prefix(struct slice key, size_t from)
{
    size_t left = key.len - from;
    uint64_t v = 0;
    PRE(from <= key.len);
    if (left >= 8)
        return get_be64(key.data + from);
    for (size_t i = 0; i < left; i++)
        v |= (uint64_t)(unsigned char)key.data[from + i] << (56 - 8 * i);
    return v;
}

static struct slice key_of(const struct sorter *s, const struct sort_ref *r)
{
    return s->keys->key(s->keys->ctx, r->at);
}

/* Order of two keys known to agree in their first @depth bytes. */
static int tail_cmp(const struct sorter *s,
                    const struct sort_ref *a,
                    const struct sort_ref *b,
                    size_t depth)
{
    struct slice x = key_of(s, a);
    struct slice y = key_of(s, b);
    return slice_cmp(slice_sub(x, depth, x.len), slice_sub(y, depth, y.len));
}

static bool ref_less(const struct sorter *s,
                     const struct sort_ref *a,
                     const struct sort_ref *b,
                     size_t depth)
{
    if (a->prefix != b->prefix)
        return a->prefix < b->prefix;
    return tail_cmp(s, a, b, depth) < 0;
}

static void insertion_sort(const struct sorter *s,
                           struct sort_ref *a,
                           size_t n,
                           size_t depth)
{
    for (size_t i = 1; i < n; i++) {
        struct sort_ref x = a[i];
        size_t j = i;
        while (j > 0 && ref_less(s, &x, &a[j - 1], depth)) {
            a[j] = a[j - 1];
            j--;
        }
        a[j] = x;
    }
}

/* Stable, and of depth log n: for keys with very long common beginnings. */
static void merge_sort(const struct sorter *s,
                       struct sort_ref *a,
                       struct sort_ref *tmp,
                       size_t n,
                       size_t depth)
{
    size_t half = n / 2;
    size_t i = 0;
    size_t j = half;
    size_t k = 0;
    if (n <= INSERTION_COUNT) {
        insertion_sort(s, a, n, depth);
        return;
    }
    merge_sort(s, a, tmp, half, depth);
    merge_sort(s, a + half, tmp + half, n - half, depth);
    memcpy(tmp, a, half * sizeof(*a));
    while (i < half && j < n) {
        if (ref_less(s, &a[j], &tmp[i], depth))
            a[k++] = a[j++];
        else
            a[k++] = tmp[i++];
    }
    memcpy(a + k, tmp + i, (half - i) * sizeof(*a));
}

/* All of @a agree in 8 * (level + 1) bytes, counting zeros after their ends.
 * Keys that end within them differ by length alone and go first; the others are
 * sorted by the bytes that follow. */
static void tie_sort(const struct sorter *s,
                     struct sort_ref *a,
                     struct sort_ref *tmp,
                     size_t n,
                     unsigned level)
{
    size_t depth = 8 * (size_t)level;
    size_t starts[10] = {0};
    size_t next[10];
    size_t longer;
    if (level + 1 >= LEVELS_MAX) {
        merge_sort(s, a, tmp, n, depth);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        size_t left = key_of(s, &a[i]).len - depth;
        a[i].prefix = MIN_OF(left, 9);
        starts[a[i].prefix]++;
    }
    longer = starts[9];
    for (size_t c = 0, sum = 0; c < 10; c++) {
        next[c] = sum;
        sum += starts[c];
    }
    for (size_t i = 0; i < n; i++)
        tmp[next[a[i].prefix]++] = a[i];
    memcpy(a, tmp, n * sizeof(*a));
    a += n - longer;
    for (size_t i = 0; i < longer; i++)
        a[i].prefix = sort_prefix(key_of(s, &a[i]), depth + 8);
    msd_sort(s, a, tmp, longer, 56, level + 1);
}

static void msd_spread(const struct sorter *s,
                       struct sort_ref *a,
                       struct sort_ref *tmp,
                       size_t n,
                       int shift,
                       unsigned level,
                       const uint32_t *counts)
{
    uint32_t next[256];
    uint32_t sum = 0;
    for (size_t c = 0; c < 256; c++) {
        next[c] = sum;
        sum += counts[c];
    }
    for (size_t i = 0; i < n; i++)
        tmp[next[a[i].prefix >> shift & 255]++] = a[i];
    memcpy(a, tmp, n * sizeof(*a));
    for (size_t c = 0; c < 256; c++) {
        if (counts[c] > 1)
            msd_sort(s, a, tmp, counts[c], shift - 8, level);
        a += counts[c];
    }
}

/* Sort @a, whose prefixes agree above bit @shift + 8. */
static void msd_sort(const struct sorter *s,
                     struct sort_ref *a,
                     struct sort_ref *tmp,
                     size_t n,
                     int shift,
                     unsigned level)
{
    uint32_t counts[256];
    for (; n > INSERTION_COUNT && shift >= 0; shift -= 8) {
        memset(counts, 0, sizeof(counts));
        for (size_t i = 0; i < n; i++)
            counts[a[i].prefix >> shift & 255]++;
        if (counts[a[0].prefix >> shift & 255] < n) {
            msd_spread(s, a, tmp, n, shift, level, counts);
            return;
        }
    }
    if (n <= INSERTION_COUNT)
        insertion_sort(s, a, n, 8 * (size_t)level);
    else
        tie_sort(s, a, tmp, n, level);
}

/* Distribute by partition; @starts gets where each begins. */
static void spread_partitions(struct sort_ref *refs,
                              struct sort_ref *scratch,
                              size_t count,
                              unsigned partition_count,
                              uint32_t *starts)
{
    uint32_t sum = 0;
    memset(starts, 0, (partition_count + 1) * sizeof(*starts));
    for (size_t i = 0; i < count; i++)
        starts[refs[i].partition]++;
    for (unsigned p = 0; p < partition_count; p++) {
        uint32_t n = starts[p];
        starts[p] = sum;
        sum += n;
    }
    for (size_t i = 0; i < count; i++)
        scratch[starts[refs[i].partition]++] = refs[i];
    memcpy(refs, scratch, count * sizeof(*refs));
    /* Each has advanced to the start of the next. */
    memmove(starts + 1, starts, partition_count * sizeof(*starts));
    starts[0] = 0;
}

void sort_refs(struct sort_ref *refs,
               struct sort_ref *scratch,
               size_t count,
               unsigned partition_count,
               const struct sort_keys *keys)
{
    struct sorter s = {keys};
    uint32_t *starts;
    PRE(count <= UINT32_MAX);
    if (partition_count <= 1) {
        msd_sort(&s, refs, scratch, count, 56, 0);
        return;
    }
    starts = mem_zalloc(partition_count + 1, sizeof(*starts));
    spread_partitions(refs, scratch, count, partition_count, starts);
    for (unsigned p = 0; p < partition_count; p++)
        msd_sort(&s, refs + starts[p], scratch, starts[p + 1] - starts[p], 56,
                 0);
    mem_free(starts);
}

static void sort_reverse_refs(struct sort_ref *a, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        struct sort_ref x = a[i];
        a[i] = a[n - 1 - i];
        a[n - 1 - i] = x;
    }
}

void sort_reverse(struct sort_ref *refs,
                  size_t count,
                  const struct sort_keys *keys)
{
    struct sorter s = {keys};
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count; end++)
            if (refs[end].partition != refs[i].partition)
                break;
        sort_reverse_refs(refs + i, end - i);
    }
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count; end++)
            if (refs[end].partition != refs[i].partition ||
                tail_cmp(&s, &refs[i], &refs[end], 0) != 0)
                break;
        sort_reverse_refs(refs + i, end - i);
    }
}
