/* Mutexes exclude, conditions wake, on threads that fight over them. */
#include <stdio.h>
#include <stdlib.h>

#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "tests/lib/check_main.h"

enum {
    THREADS = 4,
    ROUNDS = 20000
};

/* --- Fixture ------------------------------------------------------------- */

struct shared {
    struct world *world;
    struct mutex mutex;
    struct cond changed;
    long counter;   /* Guarded by mutex. */
    int turn;       /* The next task; guarded by mutex. */
    int waiting;    /* Tasks inside cond_wait; guarded by mutex. */
    bool go;        /* Guarded by mutex. */
    int next_index; /* Guarded by mutex. */
};

static void set_up(struct shared *s)
{
    *s = (struct shared){.world = world_real_new()};
    mutex_init(&s->mutex);
    cond_init(&s->changed);
}

static void tear_down(struct shared *s)
{
    cond_close(&s->changed);
    mutex_close(&s->mutex);
    world_free(s->world);
}

static void run_tasks(struct shared *s, task_fn fn, int count)
{
    struct task *tasks[16];
    for (int i = 0; i < count; i++)
        tasks[i] = task_start(s->world, "test", fn, s);
    for (int i = 0; i < count; i++)
        task_join(tasks[i]);
}

/* --- Tests --------------------------------------------------------------- */

static void add_many(void *arg)
{
    struct shared *s = arg;
    for (int i = 0; i < ROUNDS; i++) {
        mutex_lock(&s->mutex);
        s->counter++;
        mutex_unlock(&s->mutex);
    }
}

/* No increment made under the mutex is lost. */
START_TEST(test_mutex_excludes)
{
    struct shared s;
    set_up(&s);
    run_tasks(&s, add_many, THREADS);
    ck_assert_int_eq(s.counter, (long)THREADS * ROUNDS);
    tear_down(&s);
}

END_TEST

static void take_turns(void *arg)
{
    struct shared *s = arg;
    int me;
    mutex_lock(&s->mutex);
    me = s->next_index++;
    for (int i = 0; i < 500; i++) {
        while (s->turn % THREADS != me)
            cond_wait(&s->changed, &s->mutex);
        s->turn++;
        cond_broadcast(&s->changed);
    }
    mutex_unlock(&s->mutex);
}

/* Threads that wait for their turn all get it: no wake-up is lost. */
START_TEST(test_condition_wakes_all)
{
    struct shared s;
    set_up(&s);
    run_tasks(&s, take_turns, THREADS);
    ck_assert_int_eq(s.turn, THREADS * 500);
    tear_down(&s);
}

END_TEST

static void wait_once(void *arg)
{
    struct shared *s = arg;
    mutex_lock(&s->mutex);
    s->waiting++;
    while (!s->go)
        cond_wait(&s->changed, &s->mutex);
    s->go = false;
    s->counter++;
    mutex_unlock(&s->mutex);
}

/* One signal lets one waiter go, also when sent without the mutex. */
START_TEST(test_signal_wakes_one)
{
    struct shared s;
    struct task *tasks[THREADS];
    set_up(&s);
    for (int i = 0; i < THREADS; i++)
        tasks[i] = task_start(s.world, "waiter", wait_once, &s);
    for (int done = 0; done < THREADS;) {
        mutex_lock(&s.mutex);
        if (s.waiting == THREADS && s.counter == done && !s.go) {
            s.go = true;
            done++;
        }
        mutex_unlock(&s.mutex);
        cond_signal(&s.changed);
        world_sleep_us(s.world, 100);
    }
    for (int i = 0; i < THREADS; i++)
        task_join(tasks[i]);
    ck_assert_int_eq(s.counter, THREADS);
    tear_down(&s);
}

END_TEST

/* A timed wait without a signal ends after its time, with the mutex held. */
START_TEST(test_timed_wait_ends)
{
    struct shared s;
    uint64_t before;
    set_up(&s);
    mutex_lock(&s.mutex);
    before = world_mono_ns(s.world);
    ck_assert(!cond_wait_us(&s.changed, &s.mutex, s.world, 20000));
    ck_assert(world_mono_ns(s.world) - before >= 20000000);
    ck_assert(!mutex_try_lock(&s.mutex));
    mutex_unlock(&s.mutex);
    tear_down(&s);
}

END_TEST

static void time_out_often(void *arg)
{
    struct shared *s = arg;
    for (int i = 0; i < 2000; i++) {
        mutex_lock(&s->mutex);
        if (cond_wait_us(&s->changed, &s->mutex, s->world, (uint64_t)i % 50))
            s->counter++;
        mutex_unlock(&s->mutex);
        cond_signal(&s->changed);
    }
}

/* Signals and time-outs that race leave the lists whole. */
START_TEST(test_timeouts_race_signals)
{
    struct shared s;
    set_up(&s);
    run_tasks(&s, time_out_often, THREADS);
    printf("signals that beat the clock: %ld\n", s.counter);
    tear_down(&s);
}

END_TEST

TEST_MAIN("sync",
          test_mutex_excludes,
          test_condition_wakes_all,
          test_signal_wakes_one,
          test_timed_wait_ends,
          test_timeouts_race_signals)
