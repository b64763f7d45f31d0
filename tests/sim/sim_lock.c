/* A simulated cell of the lock service keeps its promises: sessions and locks
 * outlive leaders, and a failed holder's lock is free after its delay.
 * Clients' caches are tested in sim_lock_cache.c. (Storms: quarry-sim
 * --scenario lock.) */
#include "chubby-lite/chubby.h"
#include "tests/lib/sim_lock_cell.h"

/* --- two clients --------------------------------------------------------- */

static void use_files(void *arg)
{
    struct world *w = sim_director(cluster);
    struct client a;
    struct client b;
    struct chubby_handle *fa;
    struct chubby_handle *fb;
    struct chubby_handle *root;
    char **names;
    size_t count;
    uint64_t before;

    (void)arg;
    boot_all();
    join_cell(&a, w, 3000);
    join_cell(&b, w, 3000);
    fa = must_open(&a, "/f", MAKE, 0);
    fb = must_open(&b, "/f", RW, CHUBBY_EVENT_CONTENT);
    root = must_open(&b, "/", CHUBBY_READ, 0);
    must_write(fa, "one");
    must_read(fb, "one");
    /* From the cache, in no time. */
    before = sim_cluster_now_us(cluster);
    must_read(fb, "one");
    ck_assert_uint_lt(sim_cluster_now_us(cluster) - before, 100);
    /* Never old: the write waits for the reader's cache. */
    must_write(fa, "two");
    must_read(fb, "two");
    ck_assert_int_eq(chubby_list(root, &names, &count, NULL), 0);
    ck_assert_uint_eq(count, 2); /* acl, f */
    chubby_names_free(names, count);
    ck_assert_int_eq(chubby_delete(fa, NULL), 0);
    ck_assert_int_eq(chubby_list(root, &names, &count, NULL), 0);
    ck_assert_uint_eq(count, 1);
    chubby_names_free(names, count);
    sleep_us(SECOND);
    ck_assert_uint_eq(b.events, CHUBBY_EVENT_CONTENT | CHUBBY_EVENT_INVALID);
    chubby_close(fa);
    chubby_close(fb);
    chubby_close(root);
    chubby_disconnect(a.chubby);
    chubby_disconnect(b.chubby);
    stop_all();
}

/* Files, caches and events, on one server and on three. */
START_TEST(test_files)
{
    size_t servers;

    for (servers = 1; servers <= 3; servers += 2) {
        start(test_seed() + servers, servers);
        sim_cluster_run(cluster, use_files, NULL);
        finish();
    }
}

END_TEST

/* --- fail-over ----------------------------------------------------------- */

static void fail_over(void *arg)
{
    struct world *w = sim_director(cluster);
    struct client a;
    struct client b;
    struct chubby_handle *la;
    struct chubby_handle *lb;
    char sequencer[CHUBBY_SEQUENCER_BYTES_MAX];
    struct member *old;
    int round;

    (void)arg;
    boot_all();
    join_cell(&a, w, 4000);
    join_cell(&b, w, 4000);
    la = must_open(&a, "/l", MAKE, 0);
    lb = must_open(&b, "/l", RW, 0);
    ck_assert_int_eq(chubby_acquire(la, CHUBBY_EXCLUSIVE, NULL), 0);
    ck_assert_int_eq(chubby_sequencer(la, sequencer, NULL), 0);
    for (round = 0; round < 4; round++) {
        old = leader();
        ck_assert_ptr_nonnull(old);
        sim_crash(old->world, round % 2 ? SIM_CRASH_KILL : SIM_CRASH_POWER);
        sim_await_end(old->world);
        ck_assert_int_eq(chubby_try_acquire(lb, CHUBBY_SHARED, NULL), ERR_BUSY);
        ck_assert_int_eq(
            chubby_check_sequencer(b.chubby, slice_str(sequencer), NULL), 0);
        must_write(la, "still here");
        must_read(lb, "still here");
        ck_assert(chubby_is_safe(a.chubby));
        sim_boot_again(old->world);
        sleep_us(2 * SECOND);
    }
    ck_assert(a.events & CHUBBY_EVENT_FAILOVER);
    ck_assert(!(a.events & CHUBBY_EVENT_EXPIRED));
    chubby_close(la);
    ck_assert_int_eq(chubby_try_acquire(lb, CHUBBY_SHARED, NULL), 0);
    ck_assert_int_eq(
        chubby_check_sequencer(b.chubby, slice_str(sequencer), NULL),
        ERR_ABORTED);
    chubby_close(lb);
    chubby_disconnect(a.chubby);
    chubby_disconnect(b.chubby);
    stop_all();
}

/* Leaders die one after the other; sessions, locks and files stay. */
START_TEST(test_fail_over)
{
    uint64_t first = test_seed();
    uint64_t seed;

    for (seed = first; seed < first + 10; seed++) {
        start(seed, 3);
        sim_cluster_run(cluster, fail_over, NULL);
        finish();
    }
}

END_TEST

/* --- a holder fails ------------------------------------------------------ */

static bool has_lock;

static void hold_for_ever(void *arg)
{
    struct world *w = arg;
    struct client c;
    struct chubby_handle *h;

    join_cell(&c, w, 3000);
    h = must_open(&c, "/l", MAKE, 0);
    ck_assert_int_eq(chubby_acquire(h, CHUBBY_EXCLUSIVE, NULL), 0);
    has_lock = true;
    while (fiber_check(NULL) == 0)
        if (fiber_park_checked(NULL))
            break;
    has_lock = false;
    chubby_close(h);
    chubby_disconnect(c.chubby);
}

static void take_over(void *arg)
{
    struct world *w = sim_director(cluster);
    struct sim_options o = {.network_us = 300};
    struct world *machine = sim_machine_new(cluster, "holder", &o);
    struct client b;
    struct chubby_handle *h;
    uint64_t before;
    uint64_t took;

    (void)arg;
    boot_all();
    sim_boot(machine, hold_for_ever, machine);
    while (!has_lock)
        sleep_us(SECOND / 10);
    join_cell(&b, w, 3000);
    h = must_open(&b, "/l", RW, 0);
    sim_crash(machine, SIM_CRASH_POWER);
    sim_await_end(machine);
    before = sim_cluster_now_us(cluster);
    ck_assert_int_eq(chubby_acquire(h, CHUBBY_EXCLUSIVE, NULL), 0);
    took = sim_cluster_now_us(cluster) - before;
    /* The rest of its lease of 3 s, its lock-delay of 2, and little more. */
    ck_assert_uint_ge(took, 2 * SECOND);
    ck_assert_uint_le(took, 6 * SECOND);
    chubby_close(h);
    chubby_disconnect(b.chubby);
    stop_all();
}

/* The lock of a client that died goes to the next, after lease and delay. */
START_TEST(test_take_over)
{
    start(test_seed(), 3);
    sim_cluster_run(cluster, take_over, NULL);
    finish();
}

END_TEST

/* --- a client that restarts ---------------------------------------------- */

#define TWINS 2

struct twin {
    struct world *world;
    const char *own;
    const char *others;
    bool wrote;
    bool ready;
};

static struct twin twins[TWINS];

/* Holds a lock, and has cached what the other one writes. */
static void be_twin(void *arg)
{
    struct twin *t = arg;
    struct client c;
    struct chubby_handle *own;
    struct chubby_handle *others;

    join_with(&c, t->world, 12000, "session");
    own = must_open(&c, t->own, MAKE | CHUBBY_EPHEMERAL, 0);
    others = must_open(&c, t->others, MAKE | CHUBBY_EPHEMERAL, 0);
    if (chubby_acquire(own, CHUBBY_EXCLUSIVE, NULL) == 0) {
        struct buf b = BUF_INIT;
        must_write(own, "mine");
        t->wrote = true;
        while (!twins[0].wrote || !twins[1].wrote)
            sleep_us(SECOND / 100);
        ck_assert_int_eq(chubby_read(others, &b, NULL, NULL), 0);
        buf_close(&b);
        t->ready = true;
    }
    while (fiber_check(NULL) == 0)
        if (fiber_park_checked(NULL))
            break;
    chubby_close(own);
    chubby_close(others);
    chubby_disconnect(c.chubby);
}

static void await_twins(void)
{
    for (size_t i = 0; i < TWINS; i++)
        while (!twins[i].ready)
            sleep_us(SECOND / 100);
}

/* Twins that run. */
static void make_twins(void)
{
    struct sim_options o = {.network_us = 300};

    for (size_t i = 0; i < TWINS; i++) {
        twins[i] =
            (struct twin){.world = sim_machine_new(cluster, i ? "b" : "a", &o),
                          .own = i ? "/b" : "/a",
                          .others = i ? "/a" : "/b"};
        sim_boot(twins[i].world, be_twin, &twins[i]);
    }
    await_twins();
}

static void kill_twin(struct twin *t)
{
    t->wrote = false;
    t->ready = false;
    sim_crash(t->world, SIM_CRASH_KILL);
    sim_await_end(t->world);
}

/* Twins that run, and are killed at once. */
static void make_and_kill_twins(void)
{
    make_twins();
    for (size_t i = 0; i < TWINS; i++)
        kill_twin(&twins[i]);
}

static void restart(void *arg)
{
    uint64_t before;

    (void)arg;
    boot_all();
    make_and_kill_twins();
    before = sim_cluster_now_us(cluster);
    for (size_t i = 0; i < TWINS; i++)
        sim_boot_again(twins[i].world);
    await_twins();
    ck_assert_uint_le(sim_cluster_now_us(cluster) - before, SECOND);
    for (size_t i = 0; i < TWINS; i++) {
        sim_stop(twins[i].world);
        sim_await_end(twins[i].world);
    }
    stop_all();
}

/* Clients that were killed and restart end their old sessions themselves:
 * they wait neither for their leases, nor for each other's caches. */
START_TEST(test_restart)
{
    start(test_seed(), 3);
    sim_cluster_run(cluster, restart, NULL);
    finish();
}

END_TEST

/* Another client gets the locks of both. */
static void inherit(void *arg)
{
    struct client c;
    uint64_t before;

    (void)arg;
    boot_all();
    make_and_kill_twins();
    before = sim_cluster_now_us(cluster);
    join_cell(&c, sim_director(cluster), 12000);
    for (size_t i = 0; i < TWINS; i++) {
        struct chubby_handle *h = must_open(&c, twins[i].own, MAKE, 0);
        ck_assert_int_eq(chubby_acquire(h, CHUBBY_EXCLUSIVE, NULL), 0);
        chubby_close(h);
    }
    ck_assert_uint_le(sim_cluster_now_us(cluster) - before, 30 * SECOND);
    chubby_disconnect(c.chubby);
    stop_all();
}

/* Clients that die at once, each with the other's file in its cache: both
 * sessions end with their leases, and neither waits for the other. */
START_TEST(test_die_at_once)
{
    start(test_seed(), 3);
    sim_cluster_run(cluster, inherit, NULL);
    finish();
}

END_TEST

/* One is away until its session expires, the other not yet. */
static void stop_while_one_expires(void *arg)
{
    (void)arg;
    boot_all();
    make_twins();
    kill_twin(&twins[0]);
    sleep_us(8 * SECOND);
    kill_twin(&twins[1]);
    sleep_us(6 * SECOND);
    stop_all();
}

/* A service that stops while the end of a session waits for a cache of a client
 * that is dead, too, does not wait any longer. */
START_TEST(test_stop_while_one_expires)
{
    start(test_seed(), 1);
    sim_cluster_run(cluster, stop_while_one_expires, NULL);
    finish();
}

END_TEST

TEST_MAIN("lock",
          test_files,
          test_fail_over,
          test_take_over,
          test_restart,
          test_die_at_once,
          test_stop_while_one_expires)
