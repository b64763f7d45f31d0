/* Caches of clients of a simulated lock service are true: a change waits for
 * all clients that have the file cached, whatever becomes of them, and what
 * is worked out before a wait holds behind it. */
#include "chubby-lite/chubby.h"
#include "tests/lib/sim_lock_cell.h"

/* --- a client that has something cached, and is cancelled or killed ------ */

static bool has_cached;

static void cache_and_wait(void *world)
{
    struct buf b = BUF_INIT;
    struct chubby_handle *h;
    struct client c;

    join_cell(&c, world, 12000);
    h = must_open(&c, "/f", MAKE, 0);
    ck_assert_int_eq(chubby_read(h, &b, NULL, NULL), 0);
    buf_close(&b);
    has_cached = true;
    while (fiber_park_checked(NULL) == 0)
        ;
    chubby_close(h);
    chubby_disconnect(c.chubby);
}

static void cancel_and_write(void *arg)
{
    struct fiber *reader;
    struct client b;
    struct chubby_handle *h;
    uint64_t before;

    (void)arg;
    boot_all();
    join_cell(&b, sim_director(cluster), 12000);
    h = must_open(&b, "/f", MAKE, 0);
    must_write(h, "old");
    has_cached = false;
    reader = fiber_start(loop_self(), "reader", cache_and_wait,
                         sim_director(cluster));
    while (!has_cached)
        sleep_us(SECOND / 100);
    before = sim_cluster_now_us(cluster);
    fiber_cancel(reader);
    fiber_join(reader);
    must_write(h, "new");
    ck_assert_uint_le(sim_cluster_now_us(cluster) - before, SECOND);
    chubby_close(h);
    chubby_disconnect(b.chubby);
    stop_all();
}

/* A client ends its session also when its fiber was cancelled: nobody waits for
 * its lease to change what it had cached. */
START_TEST(test_cancelled_goodbye)
{
    start(test_seed(), 3);
    sim_cluster_run(cluster, cancel_and_write, NULL);
    finish();
}

END_TEST

static void write_first(void *h)
{
    must_write(h, "first");
}

/* The writer's news reach the reader just as it goes. */
static void part_and_write(void *arg)
{
    struct fiber *reader;
    struct fiber *writer;
    struct client b;
    struct chubby_handle *h;
    uint64_t before;
    unsigned i;

    (void)arg;
    boot_all();
    join_cell(&b, sim_director(cluster), 12000);
    h = must_open(&b, "/f", MAKE, 0);
    for (i = 0; i < 100; i++) {
        has_cached = false;
        reader = fiber_start(loop_self(), "reader", cache_and_wait,
                             sim_director(cluster));
        while (!has_cached)
            sleep_us(SECOND / 100);
        before = sim_cluster_now_us(cluster);
        writer = fiber_start(loop_self(), "writer", write_first, h);
        sleep_us(i * 20);
        fiber_cancel(reader);
        fiber_join(writer);
        ck_assert_uint_le(sim_cluster_now_us(cluster) - before, SECOND);
        fiber_join(reader);
    }
    chubby_close(h);
    chubby_disconnect(b.chubby);
    stop_all();
}

/* A client that closes while it gets an event still ends its session. */
START_TEST(test_goodbye_at_news)
{
    start(test_seed(), 3);
    sim_cluster_run(cluster, part_and_write, NULL);
    finish();
}

END_TEST

static void write_twice(void *arg)
{
    struct sim_options o = {.network_us = 300};
    struct world *reader = sim_machine_new(cluster, "reader", &o);
    struct fiber *first;
    struct client b;
    struct chubby_handle *h;
    uint64_t before;

    (void)arg;
    boot_all();
    join_cell(&b, sim_director(cluster), 12000);
    h = must_open(&b, "/f", MAKE, 0);
    must_write(h, "old");
    has_cached = false;
    sim_boot(reader, cache_and_wait, reader);
    while (!has_cached)
        sleep_us(SECOND / 100);
    sim_crash(reader, SIM_CRASH_KILL);
    sim_await_end(reader);
    before = sim_cluster_now_us(cluster);
    first = fiber_start(loop_self(), "first", write_first, h);
    sleep_us(SECOND / 10);
    must_write(h, "second");
    ck_assert_uint_ge(sim_cluster_now_us(cluster) - before, 5 * SECOND);
    fiber_join(first);
    chubby_close(h);
    chubby_disconnect(b.chubby);
    stop_all();
}

/* A cache that has not heard yet is waited for by each of two writes that come
 * one soon after the other: it may be in use after the second as well. */
START_TEST(test_two_writes)
{
    start(test_seed(), 3);
    sim_cluster_run(cluster, write_twice, NULL);
    finish();
}

END_TEST

/* --- what is computed before a wait -------------------------------------- */

static size_t must_list(struct chubby_handle *h)
{
    char **names;
    size_t count;
    struct err err = ERR_INIT;

    ck_assert_msg(chubby_list(h, &names, &count, &err) == 0, "%s", err.text);
    chubby_names_free(names, count);
    return count;
}

static void delete_file(void *handle)
{
    ck_assert_int_eq(chubby_delete(handle, NULL), 0);
}

struct creation {
    struct client *client;
    struct chubby_handle *handle;
};

static void create_file(void *arg)
{
    struct creation *c = arg;

    c->handle = must_open(c->client, "/d/a", MAKE, 0);
}

struct listing {
    struct chubby_handle *handle;
    bool over;
};

static void list_on(void *arg)
{
    struct listing *l = arg;

    while (!l->over) {
        (void)must_list(l->handle);
        sleep_us(20);
    }
}

/* /d/a is deleted, and @delay_us later created by another, while a third lists
 * /d from its cache. */
static void delete_and_create(void *delay_us)
{
    struct world *w = sim_director(cluster);
    struct client a;
    struct client b;
    struct client c;
    struct chubby_handle *victim;
    struct chubby_handle *uncached;
    struct creation creation = {&c, NULL};
    struct listing listing = {NULL, false};
    struct fiber *fibers[3];

    boot_all();
    join_cell(&a, w, 12000);
    join_cell(&b, w, 12000);
    join_cell(&c, w, 12000);
    listing.handle =
        must_open(&a, "/d", CHUBBY_READ | CHUBBY_CREATE | CHUBBY_DIRECTORY, 0);
    victim = must_open(&b, "/d/a", MAKE, 0);
    uncached = must_open(&b, "/d",
                         CHUBBY_READ | CHUBBY_UNCACHED | CHUBBY_DIRECTORY, 0);
    (void)must_list(listing.handle);
    fibers[0] = fiber_start(loop_self(), "list", list_on, &listing);
    fibers[1] = fiber_start(loop_self(), "delete", delete_file, victim);
    sleep_us(*(uint64_t *)delay_us);
    fibers[2] = fiber_start(loop_self(), "create", create_file, &creation);
    fiber_join(fibers[1]);
    fiber_join(fibers[2]);
    sleep_us(SECOND / 20);
    listing.over = true;
    fiber_join(fibers[0]);
    ck_assert_uint_eq(must_list(listing.handle), must_list(uncached));
    chubby_close(listing.handle);
    chubby_close(victim);
    chubby_close(uncached);
    chubby_close(creation.handle);
    chubby_disconnect(a.chubby);
    chubby_disconnect(b.chubby);
    chubby_disconnect(c.chubby);
    stop_all();
}

/* A name that comes and goes at once does not leave an old listing in a cache,
 * whenever the one is asked for while the other is under way. */
START_TEST(test_create_beside_delete)
{
    for (uint64_t delay_us = 0; delay_us < 4000; delay_us += 100) {
        start(test_seed() + delay_us, 3);
        sim_cluster_run(cluster, delete_and_create, &delay_us);
        finish();
    }
}

END_TEST

static void change_and_stat(void *arg)
{
    struct world *w = sim_director(cluster);
    struct client a;
    struct client b;
    struct chubby_handle *mine;
    struct chubby_handle *other;
    struct chubby_stat before;
    struct chubby_stat after;
    struct chubby_stat asked;
    struct buf bytes = BUF_INIT;

    (void)arg;
    boot_all();
    join_cell(&a, w, 12000);
    join_cell(&b, w, 12000);
    other = must_open(&b, "/f", MAKE | CHUBBY_CHANGE_ACL, 0);
    mine = must_open(&a, "/f", CHUBBY_READ, 0);
    ck_assert_int_eq(chubby_read(mine, &bytes, &before, NULL), 0);
    ck_assert_int_eq(chubby_acquire(other, CHUBBY_EXCLUSIVE, NULL), 0);
    ck_assert_int_eq(chubby_set_acl(other, "", "", "", NULL), 0);
    ck_assert_int_eq(chubby_read(mine, &bytes, &after, NULL), 0);
    ck_assert_int_eq(chubby_get_stat(mine, &asked, NULL), 0);
    ck_assert_uint_eq(after.lock_generation, before.lock_generation + 1);
    ck_assert_uint_eq(after.acl_generation, before.acl_generation + 1);
    ck_assert_uint_eq(after.lock_generation, asked.lock_generation);
    ck_assert_uint_eq(after.acl_generation, asked.acl_generation);
    buf_close(&bytes);
    chubby_close(mine);
    chubby_close(other);
    chubby_disconnect(a.chubby);
    chubby_disconnect(b.chubby);
    stop_all();
}

/* Metadata read with a file's contents are not older than changes
 * acknowledged to others: the generations of its lock and its lists. */
START_TEST(test_stat_is_not_old)
{
    start(test_seed(), 3);
    sim_cluster_run(cluster, change_and_stat, NULL);
    finish();
}

END_TEST

TEST_MAIN("lock_cache",
          test_cancelled_goodbye,
          test_goodbye_at_news,
          test_two_writes,
          test_create_beside_delete,
          test_stat_is_not_old)
