/* The lock service in a store that others run keeps the promises of chubby.h:
 * over reads that are old, answers that are lost, and sessions that end. */
#include "base/sim/sim_cluster.h"
#include "chubby-lite/mapped/mapped.h"
#include "tests/lib/fake_coordination.h"
#include "tests/lib/lock_suite.h"

#define ROOT "/quarry"

static struct sim_cluster *cluster;
static struct fake_coordination *store;

static int connect_fake(void *ctx,
                        const struct chubby_options *o,
                        struct chubby **out,
                        struct err *err)
{
    struct chubby_options with = *o;
    (void)ctx;
    with.grace_ms = 8000;
    return mapped_connect_store(sim_director(cluster), &fake_coordination_ops,
                                store, ROOT, &with, out, err);
}

static struct lock_suite suite(void)
{
    return (struct lock_suite){.world = sim_director(cluster),
                               .connect = connect_fake,
                               .root = "/suite"};
}

static void run(uint64_t seed, void (*fn)(void *))
{
    cluster = sim_cluster_new(seed);
    store = fake_coordination_new();
    sim_cluster_run(cluster, fn, NULL);
    fake_coordination_free(store);
    sim_cluster_free(cluster);
}

static void run_suite(void *arg)
{
    struct lock_suite s = suite();
    (void)arg;
    lock_suite_all(&s);
    /* Nothing is left but the directories, with their locks. */
    ck_assert_uint_eq(fake_coordination_count(store, ROOT "/%s/"), 0);
    ck_assert_uint_eq(fake_coordination_count(store, ROOT "/%j/"), 0);
    ck_assert_uint_eq(fake_coordination_count(store, ROOT "/suite%d/"), 0);
}

/* The store answers at once, and always. */
START_TEST(test_contract)
{
    run(test_seed(), run_suite);
}

END_TEST

static void run_old(void *arg)
{
    store->old_reads = true;
    run_suite(arg);
}

/* Reads that need not be fresh may be old. */
START_TEST(test_contract_old_reads)
{
    run(test_seed(), run_old);
}

END_TEST

static void run_lossy(void *arg)
{
    store->old_reads = true;
    store->lose_one_in = 12;
    run_suite(arg);
}

/* Each change is made once, although its answer was lost. */
START_TEST(test_contract_lost_answers)
{
    for (uint64_t i = 0; i < 4; i++)
        run(test_seed() + i, run_lossy);
}

END_TEST

static void run_storm(void *arg)
{
    struct lock_suite s = suite();
    (void)arg;
    store->old_reads = true;
    store->lose_one_in = 15;
    (void)lock_suite_storm(&s, 5, 4 * LOCK_SUITE_SECOND, test_seed());
}

/* Calls of many sessions have an order. */
START_TEST(test_storm)
{
    for (uint64_t i = 0; i < 6; i++)
        run(test_seed() + i, run_storm);
}

END_TEST

/* --- sessions that end --------------------------------------------------- */

static void run_cut(void *arg)
{
    struct lock_suite s = suite();
    char sequencer[CHUBBY_SEQUENCER_BYTES_MAX];
    struct chubby_open_options o = {.lock_delay_ms = 3000};
    struct suite_client a;
    struct suite_client b;
    struct chubby_handle *h;
    struct chubby_handle *g;
    uint64_t cut_us;
    uint64_t unsafe_us = 0;
    (void)arg;
    lock_suite_begin(&s);
    suite_join(&a, &s);
    suite_join(&b, &s);
    ck_assert_int_eq(chubby_open(a.chubby, "/suite/l", LOCK_MAKE, &o, &h, NULL),
                     0);
    g = suite_open(&b, "l", LOCK_RW, 0);
    ck_assert_int_eq(chubby_acquire(h, CHUBBY_EXCLUSIVE, NULL), 0);
    ck_assert_int_eq(chubby_sequencer(h, sequencer, NULL), 0);
    store->cut = store->session_count - 1; /* That of a. */
    cut_us = sim_cluster_now_us(cluster);
    /* The other gets the lock only after the first has known for a while that
     * it may have lost it, and after its delay. */
    while (chubby_try_acquire(g, CHUBBY_EXCLUSIVE, NULL) == ERR_BUSY) {
        if (!unsafe_us && !chubby_is_safe(a.chubby))
            unsafe_us = sim_cluster_now_us(cluster);
        world_sleep_us(s.world, 20000);
    }
    ck_assert_uint_gt(unsafe_us, cut_us);
    ck_assert(a.events & CHUBBY_EVENT_JEOPARDY);
    ck_assert_uint_ge(sim_cluster_now_us(cluster) - unsafe_us, 3000000);
    ck_assert_int_eq(
        chubby_check_sequencer(b.chubby, slice_str(sequencer), NULL),
        ERR_ABORTED);
    store->cut = 0;
    suite_await(&a, CHUBBY_EVENT_EXPIRED);
    ck_assert_int_eq(chubby_write(h, SLICE_LIT("x"), 0, NULL), ERR_CLOSED);
    chubby_close(h);
    chubby_close(g);
    chubby_disconnect(a.chubby);
    chubby_disconnect(b.chubby);
}

/* A session knows that its locks may be lost before another has them. */
START_TEST(test_cut_off)
{
    run(test_seed(), run_cut);
}

END_TEST

static void run_short_cut(void *arg)
{
    struct lock_suite s = suite();
    struct suite_client a;
    struct chubby_handle *h;
    (void)arg;
    lock_suite_begin(&s);
    suite_join(&a, &s);
    h = suite_open(&a, "l", LOCK_MAKE, 0);
    ck_assert_int_eq(chubby_acquire(h, CHUBBY_EXCLUSIVE, NULL), 0);
    store->cut = store->session_count;
    suite_await(&a, CHUBBY_EVENT_JEOPARDY);
    store->cut = 0;
    suite_await(&a, CHUBBY_EVENT_SAFE);
    suite_write(h, "still mine");
    ck_assert(!(a.events & CHUBBY_EVENT_EXPIRED));
    ck_assert_int_eq(chubby_release(h, NULL), 0);
    chubby_close(h);
    chubby_disconnect(a.chubby);
}

/* One that is reached again in time keeps its locks. */
START_TEST(test_jeopardy)
{
    run(test_seed(), run_short_cut);
}

END_TEST

static void run_dead_reader(void *arg)
{
    struct lock_suite s = suite();
    struct suite_client a;
    struct suite_client b;
    struct chubby_handle *h;
    struct chubby_handle *g;
    (void)arg;
    lock_suite_begin(&s);
    suite_join(&a, &s);
    suite_join(&b, &s);
    h = suite_open(&a, "c", LOCK_MAKE, 0);
    g = suite_open(&b, "c", LOCK_RW, 0);
    suite_write(g, "old");
    suite_fill_cache(h, "old");
    store->cut = store->session_count - 1;
    /* The writer waits for the cache that it cannot reach. */
    ck_assert(chubby_is_cached(h));
    suite_write(g, "new");
    ck_assert(!chubby_is_cached(h));
    store->cut = 0;
    suite_await(&a, CHUBBY_EVENT_EXPIRED);
    chubby_close(h);
    chubby_close(g);
    chubby_disconnect(a.chubby);
    chubby_disconnect(b.chubby);
}

/* A change waits for a cache that is cut off, until it is out of use. */
START_TEST(test_cut_off_cache)
{
    run(test_seed(), run_dead_reader);
}

END_TEST

static void run_dead_ephemeral(void *arg)
{
    struct lock_suite s = suite();
    struct suite_client a;
    struct suite_client b;
    struct chubby_handle *h;
    struct chubby_handle *d;
    (void)arg;
    lock_suite_begin(&s);
    suite_join(&a, &s);
    suite_join(&b, &s);
    h = suite_open(&a, "e", LOCK_MAKE | CHUBBY_EPHEMERAL, 0);
    d = suite_open(&b, "", CHUBBY_READ, CHUBBY_EVENT_CHILDREN);
    store->cut = store->session_count - 1;
    suite_await(&b, CHUBBY_EVENT_CHILDREN);
    suite_list(&b, "");
    ck_assert_int_eq(suite_try_open(&b, "e", LOCK_RW), ERR_NOTFOUND);
    chubby_close(suite_open(&b, "e", LOCK_MAKE, 0)); /* A permanent one. */
    suite_list(&b, "e");
    store->cut = 0;
    suite_await(&a, CHUBBY_EVENT_EXPIRED);
    chubby_close(h);
    chubby_close(d);
    suite_remove(&b, "e");
    chubby_disconnect(a.chubby);
    chubby_disconnect(b.chubby);
}

/* An ephemeral file ends with the last session that has it open. */
START_TEST(test_dead_ephemeral)
{
    run(test_seed(), run_dead_ephemeral);
}

END_TEST

static void run_memo(void *arg)
{
    struct chubby_options o = {.memo = "/memo", .lease_ms = 60000};
    struct chubby_open_options no_delay = {.lock_delay_ms = 0};
    struct chubby *old;
    struct chubby *next;
    struct chubby_handle *h;
    struct chubby_handle *g;
    (void)arg;
    ck_assert_int_eq(connect_fake(NULL, &o, &old, NULL), 0);
    ck_assert_int_eq(chubby_open(old, "/l", LOCK_MAKE, &no_delay, &h, NULL), 0);
    ck_assert_int_eq(chubby_acquire(h, CHUBBY_EXCLUSIVE, NULL), 0);
    ck_assert_int_eq(connect_fake(NULL, &o, &next, NULL), 0);
    ck_assert_int_eq(chubby_open(next, "/l", LOCK_RW, &no_delay, &g, NULL), 0);
    ck_assert_int_eq(chubby_try_acquire(g, CHUBBY_EXCLUSIVE, NULL), 0);
    chubby_close(g);
    chubby_disconnect(next);
    chubby_close(h);
    chubby_disconnect(old);
}

/* A process that starts again ends the session that it had before. */
START_TEST(test_memo)
{
    run(test_seed(), run_memo);
}

END_TEST

TEST_MAIN("mapped",
          test_contract,
          test_contract_old_reads,
          test_contract_lost_answers,
          test_storm,
          test_cut_off,
          test_jeopardy,
          test_cut_off_cache,
          test_dead_ephemeral,
          test_memo)
