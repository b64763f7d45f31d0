/* Scouts go to every node of a list once, and so far ahead that nobody who
 * reads it in order comes to one first, or hardly ever. */
#include <stdlib.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/rand.h"
#include "bigtable/lsm/chain_prefetch.h"
#include "bigtable/lsm/skip_list.h"
#include "bigtable/sstable/chunk_pool.h"
#include "tests/lib/check_main.h"

#define KEY_BYTES 8

/* Keys are numbers from 0 on, inserted in no order. */
static void fill(struct rand_gen *r, struct skip_list *l, uint64_t count)
{
    uint64_t *numbers = calloc(count + 1, sizeof(*numbers));
    for (uint64_t i = 0; i < count; i++) {
        uint64_t k = rand_below(r, i + 1);
        numbers[i] = numbers[k];
        numbers[k] = i;
    }
    for (uint64_t i = 0; i < count; i++) {
        char key[KEY_BYTES];
        put_be64(key, numbers[i]);
        skip_list_insert(l, slice_make(key, sizeof(key)), 0, SLICE_EMPTY);
    }
    free(numbers);
}

/* The number of the node that the last step came to; @none: to no node. */
static uint64_t came_to(const struct chain_prefetch *s, uint64_t none)
{
    const struct skip_node *n =
        s->streams[(s->turn + PREFETCH_STREAM_COUNT - 1) %
                   PREFETCH_STREAM_COUNT]
            .at;
    return n ? get_be64(skip_node_key(n).data) : none;
}

/* Read a list of @count nodes in order, with streams. Returns how many they had
 * not been at. */
static uint64_t read_in_order(const struct skip_list *l, uint64_t count)
{
    struct chain_prefetch s;
    uint64_t behind = 0;
    uint64_t ahead = count;
    bool *seen = calloc(count + 1, sizeof(*seen));
    chain_prefetch_start(&s, l);
    for (uint64_t i = 0; i < 2 * count + PREFETCH_STEPS_AHEAD; i++) {
        uint64_t at;
        chain_prefetch_step(&s);
        at = came_to(&s, count);
        if (at == count)
            continue;
        ck_assert(!seen[at]);
        seen[at] = true;
        ahead--;
        behind += at < i;
    }
    if (count > 4 * PREFETCH_STEPS_AHEAD)
        ck_assert_uint_eq(ahead, PREFETCH_STEPS_AHEAD);
    for (size_t i = 0; i < PREFETCH_STREAM_COUNT; i++)
        ck_assert_ptr_null(s.streams[i].at);
    free(seen);
    return behind;
}

START_TEST(test_every_node_once_and_in_time)
{
    static const uint64_t counts[] = {0, 1, 2, 100, 10000, 100000};
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        struct chunk_pool *pool = chunk_pool_new();
        struct skip_list l;
        skip_list_init(&l, pool);
        fill(&r, &l, counts[i]);
        ck_assert_uint_le(read_in_order(&l, counts[i]), counts[i] / 20);
        skip_list_close(&l);
        chunk_pool_free(pool);
    }
}

END_TEST

TEST_MAIN("chain_prefetch", test_every_node_once_and_in_time)
