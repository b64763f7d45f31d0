/* Fibers park and wake, meet deadlines, are cancelled, and share locks with
 * threads, on real loops. */
#define _GNU_SOURCE /* RUSAGE_THREAD */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/core/buf.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/sanitize.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "tests/lib/check_main.h"

/* --- Fixture ------------------------------------------------------------- */

static struct world *world;
static struct loop *loop;

static struct loop *new_loop(const char *name)
{
    struct err err = ERR_INIT;
    struct loop *l;
    ck_assert_msg(loop_new(world, name, &l, &err) == 0, "%s", err.text);
    loop_start(l);
    return l;
}

static void end_loop(struct loop *l)
{
    loop_stop(l);
    loop_join(l);
    loop_free(l);
}

static void set_up(void)
{
    world = world_real_new();
    loop = new_loop("test");
}

static void tear_down(void)
{
    end_loop(loop);
    world_free(world);
}

/* --- Switching ----------------------------------------------------------- */

static char story[256];

static void tell(void *arg)
{
    for (int i = 0; i < 3; i++) {
        strcat(story, arg);
        fiber_yield();
    }
}

static char a_name[] = "a";
static char b_name[] = "b";

static void tell_two(void *arg)
{
    struct fiber *a = fiber_start(fiber_loop(fiber_self()), "a", tell, a_name);
    struct fiber *b = fiber_start(fiber_loop(fiber_self()), "b", tell, b_name);
    (void)arg;
    strcat(story, "-");
    fiber_join(a);
    fiber_join(b);
    strcat(story, ".");
}

/* Fibers run in the order they became ready, one at a time. */
START_TEST(test_order)
{
    set_up();
    loop_call(loop, "main", tell_two, NULL);
    ck_assert_str_eq(story, "-ababab.");
    tear_down();
}

END_TEST

static int depth_reached;

static int recurse(int depth)
{
    volatile char frame[1024];
    memset((void *)(uintptr_t)frame, depth, sizeof(frame));
    depth_reached = depth;
    if (depth == 100)
        return frame[5];
    fiber_yield();
    return recurse(depth + 1) + frame[7];
}

static void recurse_deep(void *arg)
{
    *(int *)arg = recurse(0);
}

static void many(void *arg)
{
    struct fiber *f[200];
    int sums[200];
    (void)arg;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 200; i++)
            f[i] = fiber_start(loop, "deep", recurse_deep, &sums[i]);
        for (int i = 0; i < 200; i++) {
            fiber_join(f[i]);
            ck_assert_int_eq(sums[i], sums[0]);
        }
    }
}

/* Many stacks in use at once stay apart, and are reused. */
START_TEST(test_many_stacks)
{
    set_up();
    loop_call(loop, "main", many, NULL);
    ck_assert_int_eq(depth_reached, 100);
    tear_down();
}

END_TEST

/* --- Time ---------------------------------------------------------------- */

static void sleep_some(void *arg)
{
    uint64_t before = world_mono_ns(world);
    world_sleep_us(world, 3000);
    *(uint64_t *)arg = world_mono_ns(world) - before;
}

/* A sleep lasts at least its time, and others run meanwhile. */
START_TEST(test_sleep)
{
    uint64_t ns = 0;
    set_up();
    loop_call(loop, "main", sleep_some, &ns);
    ck_assert_msg(ns >= 3000000, "%llu", (unsigned long long)ns);
    tear_down();
}

END_TEST

static void check_deadline(void *arg)
{
    struct err err = ERR_INIT;
    uint64_t deadline = world_mono_ns(world) + 20000000;
    uint64_t old = fiber_set_deadline(deadline);
    int early = fiber_check(&err);
    (void)arg;
    ck_assert_uint_eq(old, 0);
    ck_assert(early == 0 || world_mono_ns(world) >= deadline);
    world_sleep_us(world, 30000);
    ck_assert_int_eq(fiber_check(&err), ERR_DEADLINE);
    fiber_set_deadline(old);
    ck_assert_int_eq(fiber_check(&err), 0);
}

/* A deadline is met by the next check after it. */
START_TEST(test_deadline)
{
    set_up();
    loop_call(loop, "main", check_deadline, NULL);
    tear_down();
}

END_TEST

static void sleep_for_ever(void *arg)
{
    struct err err = ERR_INIT;
    world_sleep_us(world, UINT64_MAX);
    *(int *)arg = fiber_check(&err);
}

static void cancel_one(void *arg)
{
    struct fiber *f = fiber_start(loop, "sleeper", sleep_for_ever, arg);
    struct buf b = BUF_INIT;
    fiber_yield();
    fiber_dump(loop, &b);
    ck_assert_ptr_nonnull(strstr(buf_cstr(&b), "sleeper"));
    buf_close(&b);
    fiber_cancel(f);
    fiber_join(f);
}

/* A cancelled fiber leaves its sleep and learns why. */
START_TEST(test_cancel)
{
    int rc = 0;
    set_up();
    loop_call(loop, "main", cancel_one, &rc);
    ck_assert_int_eq(rc, ERR_CANCELLED);
    tear_down();
}

END_TEST

static void start_sleeper(void *arg)
{
    fiber_detach(fiber_start(loop, "sleeper", sleep_for_ever, arg));
}

/* A loop that is told to stop cancels its fibers and waits for their end. */
START_TEST(test_stop_cancels)
{
    int rc = 0;
    set_up();
    loop_call(loop, "main", start_sleeper, &rc);
    tear_down();
    ck_assert_int_eq(rc, ERR_CANCELLED);
}

END_TEST

/* --- Locks between fibers and threads ------------------------------------ */

enum {
    ROUNDS = 3000
};

struct shared {
    struct mutex mutex;
    struct cond changed;
    long counter; /* Guarded by mutex. */
    int turn;     /* Guarded by mutex. */
    int me;
};

static struct shared shared;

static void add_many(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        mutex_lock(&shared.mutex);
        shared.counter++;
        if (i % 64 == 0 && fiber_self())
            fiber_yield(); /* Held over a parking point. */
        mutex_unlock(&shared.mutex);
    }
}

static void add_on_fibers(void *arg)
{
    struct fiber *f[4];
    (void)arg;
    for (int i = 0; i < 4; i++)
        f[i] = fiber_start(loop_self(), "adder", add_many, NULL);
    for (int i = 0; i < 4; i++)
        fiber_join(f[i]);
}

static void call_other(void *arg)
{
    loop_call(arg, "adders", add_on_fibers, NULL);
}

/* One mutex serves fibers of two loops and plain threads: no count is lost. */
START_TEST(test_mutex_between_loops)
{
    struct loop *other;
    struct task *tasks[4];
    set_up();
    other = new_loop("other");
    mutex_init(&shared.mutex);
    tasks[0] = task_start(world, "a", call_other, loop);
    tasks[1] = task_start(world, "b", call_other, other);
    tasks[2] = task_start(world, "c", add_many, NULL);
    tasks[3] = task_start(world, "d", add_many, NULL);
    for (int i = 0; i < 4; i++)
        task_join(tasks[i]);
    ck_assert_int_eq(shared.counter, 10L * ROUNDS);
    mutex_close(&shared.mutex);
    end_loop(other);
    tear_down();
}

END_TEST

static void ping(int me)
{
    mutex_lock(&shared.mutex);
    for (int i = 0; i < ROUNDS; i++) {
        while (shared.turn % 2 != me)
            cond_wait(&shared.changed, &shared.mutex);
        shared.turn++;
        cond_signal(&shared.changed);
    }
    mutex_unlock(&shared.mutex);
}

static void ping_fiber(void *arg)
{
    (void)arg;
    ping(0);
}

static void call_ping(void *arg)
{
    loop_call(arg, "ping", ping_fiber, NULL);
}

/* A fiber and a thread hand a turn to and fro without losing a wake-up. */
START_TEST(test_condition_between_fiber_and_thread)
{
    struct task *t;
    set_up();
    mutex_init(&shared.mutex);
    cond_init(&shared.changed);
    t = task_start(world, "caller", call_ping, loop);
    ping(1);
    task_join(t);
    ck_assert_int_eq(shared.turn, 2 * ROUNDS);
    tear_down();
}

END_TEST

/* --- Offload and files --------------------------------------------------- */

static void note_fiber(void *arg)
{
    *(void **)arg = fiber_self();
}

static void offload_work(void)
{
    void *seen = fiber_self();
    ck_assert_ptr_nonnull(seen);
    offload(note_fiber, &seen);
    ck_assert_ptr_null(seen); /* It ran on a plain thread. */
}

static void use_file(void *arg)
{
    struct err err = ERR_INIT;
    struct slice part = SLICE_LIT("bytes on a disk");
    char back[64];
    size_t got;
    struct file *f;
    char **names;
    size_t count;
    char path[512];
    snprintf(path, sizeof(path), "%s/f", (const char *)arg);
    ck_assert_int_eq(
        file_open(world, path, FILE_READ | FILE_WRITE | FILE_CREATE, &f, &err),
        0);
    ck_assert_int_eq(file_write_at(f, 0, &part, 1, &err), 0);
    ck_assert_int_eq(file_sync(f, &err), 0);
    ck_assert_int_eq(file_read_at(f, 0, back, sizeof(back), &got, &err), 0);
    ck_assert_uint_eq(got, part.len);
    ck_assert_mem_eq(back, part.data, got);
    file_advise(f, 0, 4096, FILE_WONT_NEED);
    ck_assert_int_eq(file_read_at(f, 8, back, 3, &got, &err), 0);
    ck_assert_mem_eq(back, " a ", 3);
    file_close(f);
    ck_assert_int_eq(world_list(world, arg, &names, &count, &err), 0);
    ck_assert_uint_eq(count, 1);
    world_names_free(names, count);
    ck_assert_int_eq(world_remove(world, path, &err), 0);
}

static void use_files(void *arg)
{
    offload_work();
    use_file(arg);
}

/* Work that would block runs on the pool, and files are the same on fibers. */
START_TEST(test_files_on_fibers)
{
    set_up();
    loop_call(loop, "files", use_files, (void *)(uintptr_t)test_tmpdir());
    tear_down();
}

END_TEST

static void count_post(void *arg)
{
    ++*(int *)arg;
}

static void post_many(void *arg)
{
    for (int i = 0; i < 5000; i++)
        loop_post(loop, count_post, arg);
}

static void nothing(void *arg)
{
    (void)arg;
}

/* Posts from many threads all run, each thread's in its order. */
START_TEST(test_posts)
{
    struct task *tasks[3];
    int count = 0;
    set_up();
    for (int i = 0; i < 3; i++)
        tasks[i] = task_start(world, "poster", post_many, &count);
    for (int i = 0; i < 3; i++)
        task_join(tasks[i]);
    loop_call(loop, "flush", nothing, NULL);
    ck_assert_int_eq(count, 15000);
    tear_down();
}

END_TEST

/* More than any loop keeps without work. */
#define BURST 3000

static void yield_once(void *arg)
{
    (void)arg;
    fiber_yield();
}

static void run_burst(void *arg)
{
    static struct fiber *fibers[BURST];
    (void)arg;
    for (int i = 0; i < BURST; i++)
        fibers[i] = fiber_start(loop, "burst", yield_once, NULL);
    for (int i = 0; i < BURST; i++)
        fiber_join(fibers[i]);
}

static void run_one_by_one(void *arg)
{
    struct rusage before, after;
    (void)getrusage(RUSAGE_THREAD, &before);
    for (int i = 0; i < BURST; i++)
        fiber_join(fiber_start(loop, "single", yield_once, NULL));
    (void)getrusage(RUSAGE_THREAD, &after);
    *(long *)arg = after.ru_minflt - before.ru_minflt;
}

/* After a burst of more fibers than are kept, stacks are used again as before
 * it: no fiber costs a fresh one. */
START_TEST(test_stacks_after_a_burst)
{
    long faults = -1;
    set_up();
    loop_call(loop, "burst", run_burst, NULL);
    loop_call(loop, "single", run_one_by_one, &faults);
#ifndef WITH_TSAN /* It gives each fiber memory of its own. */
    ck_assert_int_lt(faults, BURST / 4);
#else
    ck_assert_int_ge(faults, 0);
#endif
    tear_down();
}

END_TEST

enum {
    MAPS = 4096,
    MAP_BYTES = 64 << 10
};

/* Memory mapped where stacks of ended fibers were is as good as any: their last
 * frames never returned, and what a sanitizer noted of them goes with them. */
START_TEST(test_memory_after_stacks)
{
    static char *maps[MAPS];
    static char copy[MAP_BYTES], nothing_there[MAP_BYTES];
    set_up();
    loop_call(loop, "burst", run_burst, NULL);
    tear_down();
    for (int i = 0; i < MAPS; i++) {
        maps[i] = mmap(NULL, MAP_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ck_assert(maps[i] != MAP_FAILED);
        memcpy(copy, maps[i], MAP_BYTES);
        ck_assert_mem_eq(copy, nothing_there, MAP_BYTES);
    }
    for (int i = 0; i < MAPS; i++)
        munmap(maps[i], MAP_BYTES);
}

END_TEST

/* --- Conditions ---------------------------------------------------------- */

enum {
    WAITERS = 20
};

struct crowd {
    struct mutex mutex;
    struct cond changed;
    int waiting; /* Guarded by mutex. */
    int woken;   /* Guarded by mutex. */
};

static void wait_in_crowd(void *arg)
{
    struct crowd *c = arg;
    mutex_lock(&c->mutex);
    c->waiting++;
    cond_wait(&c->changed, &c->mutex);
    c->woken++;
    mutex_unlock(&c->mutex);
}

static void wake_crowd(void *arg)
{
    struct crowd *c = arg;
    struct fiber *fibers[WAITERS];
    for (int i = 0; i < WAITERS; i++)
        fibers[i] =
            fiber_start(fiber_loop(fiber_self()), "waiter", wait_in_crowd, c);
    while (c->waiting < WAITERS)
        fiber_yield();
    mutex_lock(&c->mutex);
    for (int i = 0; i < WAITERS; i++)
        cond_signal(&c->changed);
    mutex_unlock(&c->mutex);
    fiber_yield();
    ck_assert_int_eq(c->woken, WAITERS);
    for (int i = 0; i < WAITERS; i++)
        fiber_join(fibers[i]);
}

/* Fibers that one of their loop wakes under the mutex all run in its next turn,
 * not each after the one before it has unlocked. */
START_TEST(test_woken_together)
{
    struct crowd c = {.waiting = 0};
    set_up();
    mutex_init(&c.mutex);
    cond_init(&c.changed);
    loop_call(loop, "waker", wake_crowd, &c);
    cond_close(&c.changed);
    mutex_close(&c.mutex);
    tear_down();
}

END_TEST

TEST_MAIN("fiber",
          test_order,
          test_many_stacks,
          test_stacks_after_a_burst,
          test_memory_after_stacks,
          test_sleep,
          test_deadline,
          test_cancel,
          test_stop_cancels,
          test_mutex_between_loops,
          test_condition_between_fiber_and_thread,
          test_woken_together,
          test_files_on_fibers,
          test_posts)
