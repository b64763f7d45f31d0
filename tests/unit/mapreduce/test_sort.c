/* References come out in order of partition and key, equal keys as they came.
 */
#include <stdlib.h>
#include <string.h>

#include "base/core/rand.h"
#include "mapreduce/shuffle/sort.h"
#include "tests/lib/check_main.h"

struct keys {
    struct slice *at;
    size_t count;
};

static struct slice key_at(const void *ctx, uint32_t at)
{
    return ((const struct keys *)ctx)->at[at];
}

/* Keys of all lengths over few letters, zero among them, many with long common
 * beginnings: what makes prefixes tie. */
static struct slice random_key(struct rand_gen *r)
{
    static const size_t lengths[] = {0, 1, 3, 7, 8, 9, 15, 16, 17, 40, 300};
    size_t n = lengths[rand_below(r, sizeof(lengths) / sizeof(lengths[0]))];
    char *p = malloc(n + 1);
    memset(p, 'a', n);
    for (size_t i = 0; i < n; i++)
        if (rand_one_in(r, n > 20 ? 20 : 2))
            p[i] = "\0ab\xff"[rand_below(r, 4)];
    return slice_make(p, n);
}

static struct keys make_keys(struct rand_gen *r, size_t count)
{
    struct keys k = {calloc(count + 1, sizeof(*k.at)), count};
    for (size_t i = 0; i < count; i++)
        k.at[i] = i > 0 && rand_one_in(r, 3)
                      ? slice_make(memcpy(malloc(k.at[i / 2].len + 1),
                                          k.at[i / 2].data, k.at[i / 2].len),
                                   k.at[i / 2].len)
                      : random_key(r);
    return k;
}

static void free_keys(struct keys *k)
{
    for (size_t i = 0; i < k->count; i++)
        free((void *)(uintptr_t)k->at[i].data);
    free(k->at);
}

static void check_order(const struct sort_ref *a,
                        const struct sort_ref *b,
                        const struct keys *k,
                        int sign)
{
    int c = slice_cmp(k->at[a->at], k->at[b->at]) * sign;
    ck_assert_uint_le(a->partition, b->partition);
    if (a->partition == b->partition) {
        ck_assert_int_le(c, 0);
        if (c == 0)
            ck_assert_uint_lt(a->at, b->at);
    }
}

static void check_sort(struct rand_gen *r, size_t count, unsigned partitions)
{
    struct keys k = make_keys(r, count);
    struct sort_keys how = {key_at, &k};
    struct sort_ref *refs = calloc(2 * count + 1, sizeof(*refs));
    for (uint32_t i = 0; i < count; i++)
        refs[i] = (struct sort_ref){sort_prefix(k.at[i], 0), i,
                                    (uint32_t)rand_below(r, partitions)};
    sort_refs(refs, refs + count, count, partitions, &how);
    for (size_t i = 1; i < count; i++)
        check_order(&refs[i - 1], &refs[i], &k, 1);
    sort_reverse(refs, count, &how);
    for (size_t i = 1; i < count; i++)
        check_order(&refs[i - 1], &refs[i], &k, -1);
    free(refs);
    free_keys(&k);
}

/* Any number of keys, of any kind, in any number of partitions. */
START_TEST(test_sorted_and_stable)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int i = 0; i < 60; i++)
        check_sort(&r, rand_below(&r, 3000), 1 + (unsigned)rand_below(&r, 5));
    check_sort(&r, 0, 1);
    check_sort(&r, 1, 3);
}

END_TEST

/* Keys that are each other's beginnings, deeper than any recursion may go. */
START_TEST(test_nested_keys)
{
    enum {
        COUNT = 4000
    };

    char *text = malloc(COUNT);
    struct keys k = {calloc(COUNT, sizeof(struct slice)), COUNT};
    struct sort_keys how = {key_at, &k};
    struct sort_ref *refs = calloc(2 * COUNT, sizeof(*refs));
    memset(text, 'x', COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        k.at[i] = slice_make(text, (i * 2654435761u) % COUNT);
        refs[i] = (struct sort_ref){sort_prefix(k.at[i], 0), i, 0};
    }
    sort_refs(refs, refs + COUNT, COUNT, 1, &how);
    for (size_t i = 1; i < COUNT; i++)
        check_order(&refs[i - 1], &refs[i], &k, 1);
    free(refs);
    free(k.at);
    free(text);
}

END_TEST

TEST_MAIN("sort", test_sorted_and_stable, test_nested_keys)
