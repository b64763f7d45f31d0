/* Chunks that are used again. */
#include <string.h>

#include "base/core/rand.h"
#include "bigtable/sstable/chunk_pool.h"
#include "tests/lib/check_main.h"

enum {
    HELD_MAX = 700,
    STEPS = 6000
};

static void mark(char *chunk, char with)
{
    for (size_t at = 0; at < CHUNK_BYTES; at += CHUNK_ALIGN)
        chunk[at] = with;
    chunk[CHUNK_BYTES - 1] = with;
}

static void check_mark(const char *chunk, char with)
{
    size_t good = 0;
    while (good < CHUNK_BYTES && chunk[good] == with)
        good += CHUNK_ALIGN;
    ck_assert_uint_eq(good, CHUNK_BYTES);
    ck_assert_int_eq(chunk[CHUNK_BYTES - 1], with);
}

/* Chunks that are out do not overlap, whatever is taken and given back, and in
 * whatever order; more than are kept, too. */
START_TEST(test_apart)
{
    struct chunk_pool *p = chunk_pool_new();
    static char *held[HELD_MAX];
    static char marks[HELD_MAX];
    size_t count = 0;
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (unsigned i = 0; i < STEPS; i++) {
        bool growing = i / 1000 % 2 == 0; /* Up to the most, and down again. */
        if (count < HELD_MAX &&
            (count == 0 || rand_below(&r, 10) < 9) == growing) {
            held[count] = chunk_pool_take(p);
            ck_assert_uint_eq((uintptr_t)held[count] % CHUNK_ALIGN, 0);
            marks[count] = (char)i;
            mark(held[count], marks[count]);
            count++;
        } else if (count > 0) {
            size_t k = rand_below(&r, (uint32_t)count);
            check_mark(held[k], marks[k]);
            chunk_pool_give(p, held[k]);
            held[k] = held[--count];
            marks[k] = marks[count];
        }
    }
    while (count > 0) {
        check_mark(held[count - 1], marks[count - 1]);
        chunk_pool_give(p, held[--count]);
    }
    chunk_pool_free(p);
}

END_TEST

/* The next memtable gets the memory of the last one. */
START_TEST(test_again)
{
    struct chunk_pool *p = chunk_pool_new();
    char *first = chunk_pool_take(p);
    char *second;
    chunk_pool_give(p, first);
    second = chunk_pool_take(p);
    ck_assert_ptr_eq(first, second);
    chunk_pool_give(p, second);
    chunk_pool_free(p);
}

END_TEST

TEST_MAIN("chunk pool", test_apart, test_again)
