/* Several simulated machines share time and trace and nothing else: crashes,
 * pauses, clocks and the network hit whom they are meant for, and equal seeds
 * give equal runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/sim_cluster.h"
#include "base/runtime/stream.h"
#include "base/runtime/sync.h"
#include "tests/lib/check_main.h"

/* One thread runs the simulation: there is nothing for ThreadSanitizer to find,
 * which is slow with fibers. */
#ifdef __SANITIZE_THREAD__
#define SEEDS 1
#else
#define SEEDS 10
#endif

/* --- Fixture --------------------------------------------------------- */

enum {
    SECOND = 1000000
};

static struct sim_cluster *cluster;
static struct world *a;
static struct world *b;

static void start(uint64_t seed)
{
    struct sim_options o = {.network_us = 200, .sync_us = 500};
    cluster = sim_cluster_new(seed);
    a = sim_machine_new(cluster, "a", &o);
    b = sim_machine_new(cluster, "b", &o);
}

static void everywhere(task_fn scenario)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        start(seed);
        sim_cluster_run(cluster, scenario, NULL);
        sim_cluster_free(cluster);
    }
}

static struct world *here(void)
{
    return loop_world(loop_self());
}

/* An echo server at port 7 of its machine. */

static void echo_one(void *arg)
{
    struct stream *s = arg;
    char p[1000];
    size_t got;
    while (stream_read(s, p, sizeof(p), &got, NULL) == 0 && got) {
        struct slice part = slice_make(p, got);
        if (stream_write(s, &part, 1, NULL))
            break;
    }
    stream_close(s);
}

static int echoes_running;

static void echo_accept(void *arg)
{
    struct stream *s;
    while (stream_accept(arg, &s, NULL) == 0)
        fiber_detach(fiber_start(loop_self(), "echo", echo_one, s));
}

static void echo_server(void *arg)
{
    struct stream_listener *l;
    struct err err = ERR_INIT;
    struct fiber *f;
    (void)arg;
    if (stream_listen("0.0.0.0:7", &l, &err) == ERR_CANCELLED)
        return;
    ck_assert_msg(err.code == 0, "%s", err.text);
    f = fiber_start(loop_self(), "accept", echo_accept, l);
    echoes_running++;
    while (fiber_check(NULL) == 0)
        if (fiber_park_checked(NULL))
            break;
    echoes_running--;
    stream_listener_close(l);
    fiber_join(f);
}

static int say(struct stream *s, char what, struct err *err)
{
    struct slice part = slice_make(&what, 1);
    char back = 0;
    int rc = stream_write(s, &part, 1, err);
    if (rc == 0)
        rc = stream_read_full(s, &back, 1, err);
    if (rc == 0)
        ck_assert_int_eq(back, what);
    return rc;
}

static struct stream *must_connect(const char *to)
{
    struct err err = ERR_INIT;
    struct stream *s;
    ck_assert_msg(stream_connect(to, &s, &err) == 0, "%s", err.text);
    return s;
}

/* --- Names ----------------------------------------------------------- */

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

/* --- Crashes --------------------------------------------------------- */

static struct file *must_open(struct world *w, const char *path)
{
    struct err err = ERR_INIT;
    struct file *f;
    ck_assert_msg(
        file_open(w, path, FILE_READ | FILE_WRITE | FILE_CREATE, &f, &err) == 0,
        "%s", err.text);
    return f;
}

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
    ck_assert_uint_ge(log_bytes(b), 8);      /* What was synced stays. */
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

/* --- Stop and pause -------------------------------------------------- */

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

/* --- Clocks ---------------------------------------------------------- */

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

/* --- Network --------------------------------------------------------- */

static void partitions(void *arg)
{
    struct err err = ERR_INIT;
    struct stream *s;
    struct world *d = sim_director(cluster);
    struct slice part = SLICE_LIT("y");
    uint64_t from;
    char p[1];
    (void)arg;
    sim_boot(a, echo_server, NULL);
    world_sleep_us(d, 1000);
    s = must_connect("a:7");
    /* Cut for a while: late, not lost. */
    sim_cut(d, a, true);
    ck_assert_int_eq(stream_write(s, &part, 1, &err), 0);
    world_sleep_us(d, 3 * SECOND);
    sim_cut(d, a, false);
    from = sim_cluster_now_us(cluster);
    ck_assert_int_eq(stream_read_full(s, p, 1, &err), 0);
    ck_assert_uint_lt(sim_cluster_now_us(cluster) - from, SECOND);
    /* The way back cut: it hears us, we do not hear it. */
    sim_cut(a, d, true);
    ck_assert_int_eq(stream_write(s, &part, 1, &err), 0);
    fiber_set_deadline(world_mono_ns(d) + UINT64_C(2000000000));
    ck_assert_int_eq(stream_read_full(s, p, 1, &err), ERR_DEADLINE);
    fiber_set_deadline(0);
    /* For long: given up. */
    ck_assert_int_eq(stream_read_full(s, p, 1, &err), ERR_CLOSED);
    ck_assert_ptr_nonnull(strstr(err.text, "timed out"));
    stream_close(s);
    from = sim_cluster_now_us(cluster);
    ck_assert_int_eq(stream_connect("a:7", &s, &err), ERR_UNAVAILABLE);
    ck_assert_uint_ge(sim_cluster_now_us(cluster) - from, SIM_NET_GIVE_UP_US);
    sim_heal(cluster);
    s = must_connect("a:7");
    ck_assert_int_eq(say(s, 'z', &err), 0);
    sim_reset_connections(cluster, a, d);
    ck_assert_int_eq(say(s, 'z', &err), ERR_CLOSED);
    stream_close(s);
}

/* A short cut delays, a long one breaks; each way on its own. */
START_TEST(test_partitions)
{
    everywhere(partitions);
}

END_TEST

static char to_a[] = "a:7";
static char to_b[] = "b:7";

static void try_partition(void *arg)
{
    struct err err = ERR_INIT;
    struct stream *s;
    int rc;
    fiber_set_deadline(world_mono_ns(here()) + 1000000000);
    rc = stream_connect(arg, &s, &err);
    if (rc == 0)
        rc = say(s, 'p', &err);
    errors_seen += rc != 0;
    stream_close(s);
}

static void sides(void *arg)
{
    struct world *side[1] = {a};
    (void)arg;
    errors_seen = 0;
    sim_boot(a, echo_server, NULL);
    sim_boot(b, echo_server, NULL);
    world_sleep_us(here(), 1000);
    sim_partition(cluster, side, 1);
    try_partition(to_b);
    sim_spawn(a, "self", try_partition, to_a);
    world_sleep_us(here(), 2 * SECOND);
    ck_assert_int_eq(errors_seen, 0);
    sim_spawn(a, "out", try_partition, to_b);
    sim_spawn(b, "in", try_partition, to_a);
    try_partition(to_a);
    world_sleep_us(here(), 2 * SECOND);
    ck_assert_int_eq(errors_seen, 3);
}

/* A partition parts its side from the rest, and nobody else. */
START_TEST(test_partition_sides)
{
    everywhere(sides);
}

END_TEST

static int served; /* Bytes the counting server has read. */

static void count_one(void *arg)
{
    struct stream *s = arg;
    char p[1];
    size_t got;
    while (stream_read(s, p, 1, &got, NULL) == 0 && got) {
        struct slice part = slice_make(p, 1);
        served++;
        if (stream_write(s, &part, 1, NULL))
            break;
    }
    stream_close(s);
}

static void count_accept(void *arg)
{
    struct stream *s;
    while (stream_accept(arg, &s, NULL) == 0)
        fiber_detach(fiber_start(loop_self(), "count", count_one, s));
}

static void count_server(void *arg)
{
    struct stream_listener *l;
    (void)arg;
    ck_assert_int_eq(stream_listen(":7", &l, NULL), 0);
    count_accept(l);
    stream_listener_close(l);
}

static void lost_answers(void *arg)
{
    struct err err = ERR_INIT;
    struct world *d = sim_director(cluster);
    struct stream *s;
    int answered = 0;
    (void)arg;
    served = 0;
    sim_boot(a, count_server, NULL);
    world_sleep_us(d, 1000);
    sim_set_link(cluster, d, a,
                 &(struct sim_link){.answer_rate = 300000, .loss_rate = 50000});
    for (int i = 0; i < 100; i++) {
        s = must_connect("a:7");
        answered += say(s, 'q', &err) == 0;
        stream_close(s);
    }
    world_sleep_us(d, 10 * SECOND);
    ck_assert_int_eq(served, 100); /* All were executed. */
    ck_assert_int_lt(answered, 85);
    ck_assert_int_gt(answered, 50);
    sim_set_link(cluster, d, a, &(struct sim_link){.reset_rate = 1000000});
    s = must_connect("a:7");
    ck_assert_int_eq(say(s, 'q', &err), ERR_CLOSED);
    stream_close(s);
}

/* A lost answer's request is executed; a reset's caller hears of it. */
START_TEST(test_lost_answers)
{
    everywhere(lost_answers);
}

END_TEST

static void sink_server(void *arg)
{
    struct stream_listener *l;
    struct stream *s;
    char p[1000];
    size_t got;
    (void)arg;
    ck_assert_int_eq(stream_listen(":7", &l, NULL), 0);
    ck_assert_int_eq(stream_accept(l, &s, NULL), 0);
    while (stream_read(s, p, sizeof(p), &got, NULL) == 0 && got)
        continue;
    stream_close(s);
    stream_listener_close(l);
}

static void bandwidth(void *arg)
{
    struct err err = ERR_INIT;
    struct world *d = sim_director(cluster);
    struct stream *s;
    char *big = calloc(1, 1000000);
    struct slice part = slice_make(big, 1000000);
    uint64_t from = sim_cluster_now_us(cluster);
    (void)arg;
    sim_boot(a, sink_server, NULL);
    world_sleep_us(d, 1000);
    sim_set_link(cluster, d, a, &(struct sim_link){.bytes_per_s = 500000});
    s = must_connect("a:7");
    ck_assert_int_eq(stream_write(s, &part, 1, &err), 0);
    ck_assert_uint_gt(sim_cluster_now_us(cluster) - from, SECOND);
    ck_assert_uint_lt(sim_cluster_now_us(cluster) - from, 3 * SECOND);
    stream_close(s);
    free(big);
}

/* A line takes the time its bytes need. */
START_TEST(test_bandwidth)
{
    start(1);
    sim_cluster_run(cluster, bandwidth, NULL);
    sim_cluster_free(cluster);
}

END_TEST

/* --- Rot ------------------------------------------------------------- */

static void rot(void *arg)
{
    struct file *f;
    struct slice part = SLICE_LIT("00000000");
    char p[8];
    size_t got;
    int differ = 0;
    (void)arg;
    ck_assert(!sim_rot(a, "dir/"));
    ck_assert_int_eq(world_mkdir(a, "dir", NULL), 0);
    f = must_open(a, "dir/file");
    ck_assert_int_eq(file_write_at(f, 0, &part, 1, NULL), 0);
    ck_assert_int_eq(file_sync(f, NULL), 0);
    ck_assert(!sim_rot(a, "other"));
    ck_assert(sim_rot(a, "dir/"));
    ck_assert_int_eq(file_read_at(f, 0, p, 8, &got, NULL), 0);
    for (int i = 0; i < 8; i++)
        differ += p[i] != '0';
    ck_assert_int_eq(differ, 1);
    file_close(f);
}

/* Rot flips one bit of a file below the prefix. */
START_TEST(test_rot)
{
    everywhere(rot);
}

END_TEST

/* --- Replay ---------------------------------------------------------- */

static void chatter(void *arg)
{
    for (int i = 0; fiber_check(NULL) == 0 && i < 1000; i++) {
        struct stream *s;
        if (stream_connect(arg, &s, NULL) == 0) {
            (void)!say(s, (char)i, NULL);
            stream_close(s);
        }
        world_sleep_us(here(), world_random(here()) % 5000);
    }
}

static void chaos(void *arg)
{
    struct world *d = sim_director(cluster);
    (void)arg;
    sim_boot(a, echo_server, NULL);
    sim_boot(b, echo_server, NULL);
    sim_spawn(a, "chatter", chatter, to_b);
    sim_spawn(b, "chatter", chatter, to_a);
    sim_set_link(cluster, NULL, NULL,
                 &(struct sim_link){.loss_rate = 100000, .jitter_us = 500});
    for (int i = 0; i < 6; i++) {
        struct world *w = world_random(d) % 2 ? a : b;
        world_sleep_us(d, world_random(d) % SECOND);
        sim_crash(w, world_random(d) % 2 ? SIM_CRASH_KILL : SIM_CRASH_POWER);
        sim_await_end(w);
        sim_boot_again(w);
        sim_note(cluster, "round %d", i);
        sim_spawn(w, "chatter", chatter, w == a ? to_b : to_a);
    }
}

static uint64_t hash_of(uint64_t seed)
{
    uint64_t hash;
    start(seed);
    sim_cluster_run(cluster, chaos, NULL);
    hash = sim_cluster_trace_hash(cluster);
    sim_cluster_free(cluster);
    return hash;
}

/* The same seed gives the same run, another one another. */
START_TEST(test_replay)
{
    for (uint64_t seed = 1; seed < 8; seed++) {
        uint64_t h = hash_of(seed);
        ck_assert_uint_eq(h, hash_of(seed));
        ck_assert_uint_ne(h, hash_of(seed + 100));
    }
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
          test_partitions,
          test_partition_sides,
          test_lost_answers,
          test_bandwidth,
          test_rot,
          test_replay)
