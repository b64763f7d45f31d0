/* The cache keeps what is asked for again, within its bytes. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/core/rand.h"
#include "bigtable/sstable/block_cache.h"
#include "tests/lib/check_main.h"

static struct cached_block *
put(struct block_cache *c, uint64_t file, uint64_t offset, size_t bytes)
{
    struct cached_block *b = block_cache_alloc(c, bytes);
    memset(b->data, (int)(offset & 0xff), bytes);
    return block_cache_put(c, file, offset, b);
}

/* Whatever is put and got, the bytes in the queues stay within the capacity and
 * a block that is found is the one that was put. */
START_TEST(test_bounded_and_true)
{
    struct block_cache *c = block_cache_new(1 << 20);
    struct block_cache_stats stats;
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int i = 0; i < 20000; i++) {
        uint64_t file = 1 + rand_below(&r, 3);
        uint64_t offset = rand_below(&r, 500);
        struct cached_block *b = block_cache_get(c, file, offset);
        if (!b)
            b = put(c, file, offset, 100 + rand_below(&r, 9000));
        ck_assert_int_eq(b->data[b->len / 2], (char)(offset & 0xff));
        cached_block_unref(b);
    }
    block_cache_stats(c, &stats);
    ck_assert_uint_le(stats.bytes, 1 << 20);
    ck_assert_uint_gt(stats.bytes, 1 << 19);
    ck_assert_uint_gt(stats.hits, 0);
    block_cache_free(c);
}

END_TEST

/* A scan over ten times the cache leaves blocks that are in use where they
 * are. */
START_TEST(test_scan_spares_the_hot)
{
    enum {
        HOT = 100,
        BYTES = 4000
    };
    struct block_cache *c = block_cache_new(1 << 20);
    int found = 0;
    for (int round = 0; round < 3; round++)
        for (uint64_t i = 0; i < HOT; i++) {
            struct cached_block *b = block_cache_get(c, 1, i);
            if (!b)
                b = put(c, 1, i, BYTES);
            cached_block_unref(b);
        }
    for (uint64_t i = 0; i < 2500; i++)
        cached_block_unref(put(c, 2, i, BYTES));
    for (uint64_t i = 0; i < HOT; i++) {
        struct cached_block *b = block_cache_get(c, 1, i);
        found += b != NULL;
        cached_block_unref(b);
    }
    ck_assert_int_ge(found, HOT * 9 / 10);
    block_cache_free(c);
}

END_TEST

/* A block that was evicted stays whole for those who hold it. */
START_TEST(test_held_block_outlives_eviction)
{
    struct block_cache *c = block_cache_new(1 << 20);
    struct cached_block *held = put(c, 1, 77, 5000);
    for (uint64_t i = 0; i < 2000; i++)
        cached_block_unref(put(c, 2, i, 5000));
    for (size_t i = 0; i < 5000; i++)
        ck_assert_int_eq(held->data[i], 77);
    cached_block_unref(held);
    block_cache_free(c);
}

END_TEST

/* A block larger than a shard is handed back without entering. */
START_TEST(test_huge_block_does_not_enter)
{
    struct block_cache *c = block_cache_new(1 << 20);
    struct cached_block *b = put(c, 1, 1, 1 << 20);
    ck_assert(block_cache_get(c, 1, 1) == NULL);
    cached_block_unref(b);
    block_cache_free(c);
}

END_TEST

struct thread {
    pthread_t thread;
    struct block_cache *cache;
    uint64_t seed;
};

static void *hammer(void *arg)
{
    struct thread *t = arg;
    struct rand_gen r;
    rand_init(&r, t->seed);
    for (int i = 0; i < 20000; i++) {
        uint64_t offset = rand_below(&r, 300);
        struct cached_block *b = block_cache_get(t->cache, 1, offset);
        if (!b)
            b = put(t->cache, 1, offset, 3000);
        ck_assert_int_eq(b->data[2999], (char)(offset & 0xff));
        cached_block_unref(b);
    }
    return NULL;
}

/* Threads that share blocks and evict each other's see only whole blocks. */
START_TEST(test_threads)
{
    struct block_cache *c = block_cache_new(1 << 19);
    struct thread threads[4];
    for (size_t i = 0; i < 4; i++) {
        threads[i] = (struct thread){.cache = c, .seed = test_seed() + i};
        pthread_create(&threads[i].thread, NULL, hammer, &threads[i]);
    }
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i].thread, NULL);
    block_cache_free(c);
}

END_TEST

/* Reservations end at the share that may be pinned. */
START_TEST(test_reserve)
{
    struct block_cache *c = block_cache_new(1 << 20);
    ck_assert(block_cache_reserve(c, 10 << 20));
    ck_assert(!block_cache_reserve(c, 10 << 20));
    ck_assert(block_cache_reserve(c, 6 << 20));
    block_cache_unreserve(c, 10 << 20);
    ck_assert(block_cache_reserve(c, 10 << 20));
    block_cache_free(c);
}

END_TEST

/* Threads that want the same blocks at once. */
#define WANTED 300

struct loaders {
    struct block_cache *cache;
    atomic_int loads;
    atomic_int lost;
};

static void *want_all(void *arg)
{
    struct loaders *l = arg;
    for (uint64_t i = 0; i < WANTED; i++) {
        struct cached_block *b = block_cache_get(l->cache, 1, i);
        if (!b)
            b = block_cache_begin_load(l->cache, 1, i);
        if (!b) {
            atomic_fetch_add(&l->loads, 1);
            (void)sched_yield(); /* As a read would. */
            b = put(l->cache, 1, i, 100);
            block_cache_end_load(l->cache, 1, i);
        }
        if (b->data[50] != (char)(i & 0xff))
            atomic_fetch_add(&l->lost, 1);
        cached_block_unref(b);
    }
    return NULL;
}

/* A block that many want at once is loaded by one of them. */
START_TEST(test_loaded_once)
{
    struct loaders l = {.cache = block_cache_new(1 << 20)};
    pthread_t threads[6];
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, want_all, &l), 0);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(atomic_load(&l.loads), WANTED);
    ck_assert_int_eq(atomic_load(&l.lost), 0);
    block_cache_free(l.cache);
}

END_TEST

TEST_MAIN("block_cache",
          test_bounded_and_true,
          test_scan_spares_the_hot,
          test_held_block_outlives_eviction,
          test_huge_block_does_not_enter,
          test_threads,
          test_loaded_once,
          test_reserve)
