/* Several simulated machines share time and trace and nothing else: names,
 * crashes, stops, pauses and clocks hit whom they are meant for. */
#include <string.h>

#include "base/core/rand.h"
#include "base/runtime/sync.h"
#include "tests/unit/runtime/sim_pair.h"

/* --- Names --------------------------------------------------------------- */

static void call_names(void *arg)
{
    struct err err = ERR_INIT;
    struct stream *s;
    (void)arg;
    s = must_connect("a:7");
    ck_assert_int_eq(say(s, 'x', &err), 0);
    stream_close(s);
    ck_assert_int_eq(stream_connect("nobody:7", &s, &err), ERR_NOTFOUND);
    ck_assert_int_eq(stream_connect("a:8", &s, &err), ERR_UNAVAILABLE);
    if (here() == a)
        s = must_connect("localhost:7");
    else
        ck_assert_int_eq(stream_connect("localhost:7", &s, &err),
                         ERR_UNAVAILABLE);
    stream_close(s);
}

static void names(void *arg)
{
    (void)arg;
    sim_boot(a, echo_server, NULL);
    world_sleep_us(here(), 1000);
    call_names(NULL);
    sim_boot(b, call_names, NULL);
    sim_spawn(a, "self", call_names, NULL);
    world_sleep_us(here(), SECOND / 10);
    sim_await_end(b);
}

/* A machine is reached by its name from all, by "localhost" from itself. */
START_TEST(test_names)
{
    everywhere(names);
    ck_assert_int_eq(echoes_running, 0); /* Stopped when the scenario ended. */
}

END_TEST

/* --- Crashes ------------------------------------------------------------- */

static int errors_seen;

/* Write for ever, until something fails. */
static void write_on(void *arg)
{
    struct file *f;
    struct slice part = SLICE_LIT("unsynced");
    int rc = 0;
    (void)arg;
    f = must_open(here(), "log");
    ck_assert_int_eq(file_write_at(f, 0, &part, 1, NULL), 0);
    ck_assert_int_eq(file_sync(f, NULL), 0);
    ck_assert_int_eq(world_sync_dir(here(), "/", NULL), 0);
    for (uint64_t at = 8; rc == 0; at += 8) {
        world_sleep_us(here(), 100);
        rc = file_write_at(f, at, &part, 1, NULL);
    }
    ck_assert_int_eq(rc, ERR_IO);
    ck_assert_int_eq(fiber_check(NULL), ERR_CANCELLED);
    errors_seen++;
    file_close(f);
}

static uint64_t log_bytes(struct world *w)
{
    struct file_info info;
    ck_assert_int_eq(world_stat(w, "log", &info, NULL), 0);
    return info.size_bytes;
}

static void just_return(void *arg)
{
    (void)arg;
}

static void crash_files(void *arg)
{
    uint64_t before;
    (void)arg;
    errors_seen = 0;
    sim_boot(a, write_on, NULL);
    sim_boot(b, write_on, NULL);
    world_sleep_us(here(), SECOND / 10);
    before = log_bytes(a);
    ck_assert_uint_gt(before, 100);
    sim_crash(a, SIM_CRASH_KILL);
    sim_crash(b, SIM_CRASH_POWER);
    sim_await_end(a);
    sim_await_end(b);
    ck_assert_int_eq(errors_seen, 2);
    sim_boot(a, just_return, NULL);
    sim_boot(b, just_return, NULL);
    sim_await_end(a);
    sim_await_end(b);
    ck_assert_uint_ge(log_bytes(a), before); /* A kill loses nothing. */
    ck_assert_uint_ge(log_bytes(b), 8);      /* Synced bytes stay. */
    *(uint64_t *)arg += log_bytes(b) < before;
}

/* A crash ends every call on files; loss of power loses what was not synced, a
 * kill does not; the other machine is not touched. */
START_TEST(test_crash_and_disk)
{
    uint64_t lossy = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        start(seed);
        sim_cluster_run(cluster, crash_files, &lossy);
        sim_cluster_free(cluster);
    }
    ck_assert_uint_gt(lossy, 5);
}

END_TEST

struct waiters {
    struct mutex mutex;
    struct cond never;
    bool closing;
};

static void wait_for_cond(void *arg)
{
    struct waiters *w = arg;
    mutex_lock(&w->mutex);
    while (!w->closing)
        cond_wait(&w->never, &w->mutex);
    mutex_unlock(&w->mutex);
}

static void sleep_a_day(void *arg)
{
    (void)arg;
    world_sleep_us(here(), UINT64_C(86400) * SECOND);
    ck_assert_int_eq(fiber_check(NULL), ERR_CANCELLED);
}

/* A program with tasks, a loop of its own and everything that waits. */
static void busy_program(void *arg)
{
    struct waiters w = {.closing = false};
    struct task *tasks[2];
    struct loop *l;
    struct stream *s;
    char p[10];
    size_t got;
    (void)arg;
    mutex_init(&w.mutex);
    cond_init(&w.never);
    ck_assert_int_eq(loop_new(here(), "own", &l, NULL), 0);
    loop_start(l);
    tasks[0] = task_start(here(), "waiter", wait_for_cond, &w);
    tasks[1] = task_start(here(), "sleeper", sleep_a_day, NULL);
    fiber_detach(fiber_start(l, "loop's", sleep_a_day, NULL));
    if (stream_connect("a:7", &s, NULL) == 0) {
        (void)!stream_read(s, p, sizeof(p), &got, NULL);
        stream_close(s);
    }
    while (fiber_check(NULL) == 0)
        if (fiber_park_checked(NULL))
            break;
    ck_assert_int_ne(stream_connect("a:7", &s, NULL), 0);
    mutex_lock(&w.mutex);
    w.closing = true;
    cond_broadcast(&w.never);
    mutex_unlock(&w.mutex);
    task_join(tasks[0]);
    fiber_cancel(fiber_self()); /* Once more does no harm. */
    loop_stop(l);
    loop_join(l);
    loop_free(l);
    if (!sim_is_off(here()))
        errors_seen++;
    task_join(tasks[1]);
    cond_close(&w.never);
    mutex_close(&w.mutex);
}

static void crash_busy(void *arg)
{
    struct rand_gen r;
    uint64_t from;
    (void)arg;
    rand_init(&r, sim_cluster_now_us(cluster));
    sim_boot(a, echo_server, NULL);
    for (int i = 0; i < 6; i++) {
        sim_boot(b, busy_program, NULL);
        world_sleep_us(here(), rand_below(&r, 3000));
        from = sim_cluster_now_us(cluster);
        sim_crash(b, i % 2 ? SIM_CRASH_KILL : SIM_CRASH_POWER);
        sim_await_end(b);
        ck_assert(!sim_is_up(b));
        ck_assert(sim_is_up(a));
        ck_assert_uint_lt(sim_cluster_now_us(cluster) - from, SECOND);
    }
}

/* Whatever a program waits in, at whatever moment: a crash makes it unwind at
 * once, and it can boot again. */
START_TEST(test_crash_unwinds)
{
    everywhere(crash_busy);
}

END_TEST

/* Time until the peer's crash is noticed by a reader, and by a writer. */
static uint64_t notice_us(enum sim_crash how, bool writing, struct err *err)
{
    struct stream *s = must_connect("a:7");
    struct slice part = SLICE_LIT("x");
    uint64_t from;
    char p[1];
    int rc;
    ck_assert_int_eq(say(s, '1', err), 0);
    sim_crash(a, how);
    sim_await_end(a);
    from = sim_cluster_now_us(cluster);
    fiber_set_deadline(world_mono_ns(here()) + UINT64_C(60000000000));
    if (writing)
        (void)!stream_write(s, &part, 1, err);
    rc = stream_read_full(s, p, 1, err);
    fiber_set_deadline(0);
    ck_assert_int_eq(rc, how == SIM_CRASH_POWER && !writing ? ERR_DEADLINE
                                                            : ERR_CLOSED);
    stream_close(s);
    sim_boot_again(a);
    world_sleep_us(here(), 1000);
    return sim_cluster_now_us(cluster) - from;
}

static void crash_seen(void *arg)
{
    struct err err = ERR_INIT;
    (void)arg;
    sim_boot(a, echo_server, NULL);
    world_sleep_us(here(), 1000);
    ck_assert_uint_lt(notice_us(SIM_CRASH_KILL, false, &err), SECOND / 10);
    ck_assert_uint_gt(notice_us(SIM_CRASH_POWER, true, &err),
                      SIM_NET_GIVE_UP_US - 1);
    ck_assert_uint_ge(notice_us(SIM_CRASH_POWER, false, &err), 60 * SECOND);
}

/* A killed process's peers hear at once; those of a machine without power only
 * when they have sent something, and after long. */
START_TEST(test_crash_as_seen_by_peers)
{
    everywhere(crash_seen);
}

END_TEST

static void reboot_seen(void *arg)
{
    struct err err = ERR_INIT;
    struct stream *s;
    uint64_t from;
    (void)arg;
    sim_boot(a, echo_server, NULL);
    world_sleep_us(here(), 1000);
    s = must_connect("a:7");
    ck_assert_int_eq(say(s, '1', &err), 0);
    sim_crash(a, SIM_CRASH_POWER);
    sim_await_end(a);
    sim_boot_again(a);
    from = sim_cluster_now_us(cluster);
    ck_assert_int_eq(say(s, '2', &err), ERR_CLOSED);
    ck_assert_ptr_nonnull(strstr(err.text, "reset"));
    ck_assert_uint_lt(sim_cluster_now_us(cluster) - from, 2 * SECOND);
    stream_close(s);
}

/* A machine that is back resets the connections it does not know. */
START_TEST(test_reboot_resets)
{
    everywhere(reboot_seen);
}

END_TEST

/* --- Stop and pause ------------------------------------------------------ */

static void stop_and_pause(void *arg)
{
    struct err err = ERR_INIT;
    struct stream *s;
    uint64_t from;
    (void)arg;
    sim_boot(a, echo_server, NULL);
    world_sleep_us(here(), 1000);
    s = must_connect("a:7");
    sim_pause(a);
    fiber_set_deadline(world_mono_ns(here()) + UINT64_C(30000000000));
    ck_assert_int_eq(say(s, '1', &err), ERR_DEADLINE); /* No reset. */
    fiber_set_deadline(0);
    from = world_mono_ns(a);
    world_sleep_us(here(), SECOND);
    ck_assert_uint_ge(world_mono_ns(a) - from, UINT64_C(1000000000));
    sim_resume(a);
    world_sleep_us(here(), SECOND);
    ck_assert_int_eq(stream_read_full(s, (char[1]){0}, 1, &err), 0);
    ck_assert_int_eq(say(s, '2', &err), 0);
    sim_stop(a);
    ck_assert(!sim_is_up(a));
    ck_assert_int_eq(say(s, '3', &err), ERR_CLOSED);
    stream_close(s);
}

/* A paused machine says nothing and loses nothing; a stopped one closes its
 * connections. */
START_TEST(test_stop_and_pause)
{
    everywhere(stop_and_pause);
}

END_TEST

/* --- Clocks -------------------------------------------------------------- */

static void clocks(void *arg)
{
    struct world *d = sim_director(cluster);
    uint64_t fast;
    uint64_t before;
    int64_t ahead;
    (void)arg;
    sim_set_clock(a, -3 * SECOND, 1000);
    before = world_mono_ns(a);
    ahead = (int64_t)(world_now_us(d) - world_now_us(a));
    ck_assert_int_ge(ahead, 3 * SECOND - 10);
    ck_assert_int_le(ahead, 3 * SECOND + 10);
    world_sleep_us(d, 100 * SECOND);
    fast = (world_mono_ns(a) - before) / 1000;
    ck_assert_uint_ge(fast, 100 * SECOND + SECOND / 10);
    ck_assert_uint_le(fast, 100 * SECOND + SECOND / 10 + 10);
    ahead = (int64_t)(world_now_us(d) - world_now_us(a));
    ck_assert_int_le(ahead, 29 * SECOND / 10 + 10);
    before = world_mono_ns(a);
    sim_set_clock(a, 0, 0);
    ck_assert_uint_ge(world_mono_ns(a), before);
}

static uint64_t slept_us;

static void sleep_ten(void *arg)
{
    uint64_t from = sim_cluster_now_us(cluster);
    (void)arg;
    world_sleep_us(here(), 10 * SECOND);
    slept_us = sim_cluster_now_us(cluster) - from;
}

static void slow_sleep(void *arg)
{
    (void)arg;
    sim_set_clock(b, 0, -50000);
    sim_boot(b, sleep_ten, NULL);
    sim_await_end(b);
    ck_assert_uint_ge(slept_us, 10 * SECOND / 95 * 100);
    ck_assert_uint_le(slept_us, 10 * SECOND / 95 * 100 + 100);
}

/* Clocks drift and jump by themselves alone; monotonic ones never go back;
 * timers follow the clock of their machine. */
START_TEST(test_clocks)
{
    everywhere(clocks);
    everywhere(slow_sleep);
}

END_TEST

/* --- Polls --------------------------------------------------------------- */

static uint64_t poll_end_ns;

/* Wait by polling, in a fiber that is already cancelled. */
static void poll_when_stopped(void *arg)
{
    (void)arg;
    while (fiber_check(NULL) == 0)
        if (fiber_park_checked(NULL))
            break;
    while (world_mono_ns(here()) < poll_end_ns)
        world_sleep_us(here(), 2000);
}

static void stop_a_poll(void *arg)
{
    (void)arg;
    sim_boot(a, poll_when_stopped, NULL);
    world_sleep_us(here(), 1000);
    poll_end_ns = world_mono_ns(a) + SECOND * UINT64_C(1000);
    sim_stop(a);
    sim_await_end(a);
    ck_assert_uint_ge(world_mono_ns(a), poll_end_ns);
}

/* A cancelled fiber that polls lets time pass. */
START_TEST(test_poll_when_stopped)
{
    everywhere(stop_a_poll);
}

END_TEST

TEST_MAIN("sim_cluster",
          test_names,
          test_crash_and_disk,
          test_crash_unwinds,
          test_crash_as_seen_by_peers,
          test_reboot_resets,
          test_stop_and_pause,
          test_clocks,
          test_poll_when_stopped)
