/* Every task is done once, and attempts end with what the rules say. */
#include <stdlib.h>

#include "base/core/rand.h"
#include "mapreduce/master/task_table.h"
#include "tests/lib/check_main.h"

static const struct task_outcome ok = {.ok = true};
static const struct task_outcome failed = {.ok = false};

static struct task_outcome died_at(uint64_t number, bool reducing)
{
    return (struct task_outcome){
        .at_record = true, .reducing = reducing, .number = number};
}

struct live {
    uint32_t task;
    uint32_t number;
};

/* The invariants of the table, checked after every step. */
static void check_table(const struct task_table *t)
{
    uint32_t waiting = 0;
    uint32_t with_live = 0;
    uint32_t live = 0;
    uint32_t seen = 0;
    ck_assert_uint_eq(t->waiting + t->running + t->done, t->count);
    for (uint32_t i = t->first; i != TASK_NONE; i = t->tasks[i].next) {
        ck_assert_int_eq(t->tasks[i].state, TASK_WAITING);
        ck_assert_uint_eq(t->tasks[i].live_count, 0);
        waiting++;
    }
    ck_assert_uint_eq(waiting, t->waiting);
    for (uint32_t i = t->first_live; i != TASK_NONE; i = t->tasks[i].next)
        with_live++;
    for (uint32_t i = 0; i < t->count; i++) {
        live += t->tasks[i].live_count;
        seen += t->tasks[i].live_count > 0;
        ck_assert(t->tasks[i].state != TASK_RUNNING ||
                  t->tasks[i].live_count > 0);
    }
    ck_assert_uint_eq(with_live, seen);
    ck_assert_uint_eq(live, t->live);
}

/* Whatever order attempts start, fail, win, are lost and stopped in, each task
 * is accepted once for each time its result was needed. */
START_TEST(test_random_histories)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int round = 0; round < 200; round++) {
        uint32_t count = 1 + (uint32_t)rand_below(&r, 30);
        unsigned skips = 0;
        uint32_t accepted = 0;
        uint32_t again = 0;
        uint64_t now = 0;
        struct task_table t;
        struct live live[64];
        unsigned n = 0;
        task_table_init(&t, count, 100000, &skips);
        while (t.done < count || n > 0) {
            unsigned what = (unsigned)rand_below(&r, 20);
            now++;
            if (what < 9 && n < 60 && t.waiting > 0) {
                uint32_t task = t.first;
                live[n++] = (struct live){
                    task, task_table_start(&t, task, now % 8, now)};
            } else if (what == 9 && n < 60 && n > 0) {
                uint32_t task = live[rand_below(&r, n)].task;
                if (t.tasks[task].state == TASK_RUNNING &&
                    t.tasks[task].live_count == 1)
                    live[n++] = (struct live){
                        task, task_table_start(&t, task, now % 8, now)};
            } else if (what == 10 && rand_one_in(&r, 4)) {
                again += task_table_lose_worker(&t, now % 8, true);
                for (unsigned i = n; i-- > 0;)
                    if (!task_table_attempt(&t, live[i].task, live[i].number))
                        live[i] = live[--n];
            } else if (n > 0) {
                unsigned i = (unsigned)rand_below(&r, n);
                bool good = rand_one_in(&r, 2);
                struct live l = live[i];
                live[i] = live[--n];
                accepted +=
                    task_table_end(&t, l.task, l.number, good ? &ok : &failed,
                                   now) == TASK_ACCEPT;
            }
            check_table(&t);
        }
        ck_assert_uint_eq(accepted, count + again);
        task_table_close(&t);
    }
}

END_TEST

/* The last attempt allowed ends the job; a permanent error does at once; an
 * attempt that was lost with its worker costs nothing. */
START_TEST(test_giving_up)
{
    unsigned skips = 0;
    struct task_outcome permanent = {.permanent = true};
    struct task_outcome lost = {.lost = true};
    struct task_table t;
    task_table_init(&t, 2, 3, &skips);
    for (int i = 0; i < 3; i++) {
        uint32_t number = task_table_start(&t, 0, 0, 0);
        ck_assert_int_eq(task_table_end(&t, 0, number, &failed, 0),
                         i < 2 ? TASK_RETRY : TASK_GIVE_UP);
    }
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(
            task_table_end(&t, 1, task_table_start(&t, 1, 0, 0), &lost, 0),
            TASK_RETRY);
    ck_assert_int_eq(
        task_table_end(&t, 1, task_table_start(&t, 1, 0, 0), &permanent, 0),
        TASK_GIVE_UP);
    task_table_close(&t);
}

END_TEST

/* Of two attempts the first to succeed wins, and the end of the other
 * changes nothing; if one fails the other continues. */
START_TEST(test_twins)
{
    unsigned skips = 0;
    struct task_table t;
    uint32_t a;
    uint32_t b;
    task_table_init(&t, 2, 4, &skips);
    a = task_table_start(&t, 0, 0, 100);
    b = task_table_start(&t, 0, 1, 200);
    ck_assert_uint_eq(t.backups, 1);
    ck_assert_int_eq(task_table_end(&t, 0, b, &ok, 300), TASK_ACCEPT);
    ck_assert_uint_eq(t.tasks[0].winner, b);
    ck_assert_uint_eq(t.took_us, 100);
    ck_assert_int_eq(task_table_attempt(&t, 0, a)->state, ATTEMPT_OUTRUN);
    ck_assert_int_eq(task_table_end(&t, 0, a, &ok, 300), TASK_LATE);
    a = task_table_start(&t, 1, 0, 100);
    b = task_table_start(&t, 1, 1, 200);
    ck_assert_int_eq(task_table_end(&t, 1, a, &failed, 300), TASK_RETRY);
    ck_assert_int_eq(t.tasks[1].state, TASK_RUNNING);
    ck_assert_int_eq(task_table_end(&t, 1, b, &ok, 300), TASK_ACCEPT);
    ck_assert_uint_eq(t.done, 2);
    check_table(&t);
    task_table_close(&t);
}

END_TEST

/* A record that kills is skipped by the next attempt, as long as the job has
 * skips left; skipping does not use up attempts. */
START_TEST(test_skipping)
{
    unsigned skips = 5;
    struct task_table t;
    struct task_outcome o;
    task_table_init(&t, 1, 1, &skips);
    for (unsigned i = 0; i < 5; i++) {
        o = died_at(100 + i, i % 2);
        ck_assert_int_eq(
            task_table_end(&t, 0, task_table_start(&t, 0, 0, 0), &o, 0),
            TASK_RETRY_SKIP);
    }
    ck_assert_uint_eq(t.tasks[0].skip_count, 3);
    ck_assert_uint_eq(t.tasks[0].skips[1], 102);
    ck_assert_uint_eq(t.tasks[0].group_skip_count, 2);
    ck_assert_uint_eq(t.tasks[0].group_skips[1], 103);
    o = died_at(1, false);
    ck_assert_uint_eq(task_table_start(&t, 0, 0, 0), 6);
    ck_assert_int_eq(task_table_end(&t, 0, 6, &o, 0), TASK_GIVE_UP);
    task_table_close(&t);
}

END_TEST

/* A task is found by each host that has its input, while it waits, also after
 * it has come back. */
START_TEST(test_places)
{
    unsigned skips = 0;
    struct task_table t;
    task_table_init(&t, 3, 4, &skips);
    task_table_place(&t, 1, 5);
    task_table_place(&t, 2, 5);
    task_table_place(&t, 2, 0);
    ck_assert_uint_eq(task_table_local(&t, 5), 1);
    ck_assert_uint_eq(task_table_local(&t, 0), 2);
    ck_assert_uint_eq(task_table_local(&t, 3), TASK_NONE);
    ck_assert_uint_eq(task_table_local(&t, 99), TASK_NONE);
    (void)task_table_start(&t, 1, 0, 0);
    ck_assert_uint_eq(task_table_local(&t, 5), 2);
    (void)task_table_start(&t, 2, 0, 0);
    ck_assert_uint_eq(task_table_local(&t, 5), TASK_NONE);
    ck_assert_int_eq(task_table_end(&t, 1, 1, &failed, 0), TASK_RETRY);
    ck_assert_uint_eq(task_table_local(&t, 5), 1);
    ck_assert_uint_eq(task_table_local(&t, 0), TASK_NONE);
    task_table_close(&t);
}

END_TEST

TEST_MAIN("task_table",
          test_random_histories,
          test_giving_up,
          test_twins,
          test_skipping,
          test_places)
