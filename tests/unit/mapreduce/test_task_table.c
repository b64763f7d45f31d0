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

/* Whatever order attempts fail and succeed in, each task is taken until it has
 * succeeded, and never while it runs. */
START_TEST(test_random_histories)
{
    struct rand_gen r;
    rand_init(&r, test_seed());
    for (int round = 0; round < 200; round++) {
        unsigned count = 1 + (unsigned)rand_below(&r, 30);
        unsigned skips = 0;
        struct task_table t;
        unsigned running[8];
        unsigned n = 0;
        task_table_init(&t, count, 1000, &skips);
        while (t.done < count) {
            unsigned task;
            if (n < 8 && rand_one_in(&r, 2) && task_table_take(&t, &task)) {
                for (unsigned i = 0; i < n; i++)
                    ck_assert_uint_ne(running[i], task);
                running[n++] = task;
            } else if (n > 0) {
                unsigned i = (unsigned)rand_below(&r, n);
                bool good = rand_one_in(&r, 2);
                task = running[i];
                running[i] = running[--n];
                ck_assert_int_eq(task_table_end(&t, task, good ? &ok : &failed),
                                 good ? TASK_ACCEPT : TASK_RETRY);
            }
            ck_assert_uint_eq(t.running, n);
        }
        ck_assert_uint_eq(n, 0);
        task_table_close(&t);
    }
}

END_TEST

/* The last attempt allowed ends the job; a permanent error does at once. */
START_TEST(test_giving_up)
{
    unsigned skips = 0;
    unsigned task;
    struct task_outcome permanent = {.permanent = true};
    struct task_table t;
    task_table_init(&t, 2, 3, &skips);
    for (int i = 0; i < 3; i++) {
        ck_assert(task_table_take(&t, &task));
        ck_assert_uint_eq(task, 0);
        ck_assert_int_eq(task_table_end(&t, 0, &failed),
                         i < 2 ? TASK_RETRY : TASK_GIVE_UP);
    }
    ck_assert(task_table_take(&t, &task));
    ck_assert(task_table_take(&t, &task));
    ck_assert_int_eq(task_table_end(&t, 1, &permanent), TASK_GIVE_UP);
    task_table_close(&t);
}

END_TEST

/* A record that kills is skipped by the next attempt, as long as the job has
 * skips left; skipping does not use up attempts. */
START_TEST(test_skipping)
{
    unsigned skips = 5;
    unsigned task;
    struct task_table t;
    task_table_init(&t, 1, 1, &skips);
    for (unsigned i = 0; i < 5; i++) {
        struct task_outcome o = died_at(100 + i, i % 2);
        ck_assert(task_table_take(&t, &task));
        ck_assert_int_eq(task_table_end(&t, 0, &o), TASK_RETRY_SKIP);
    }
    ck_assert_uint_eq(t.tasks[0].skip_count, 3);
    ck_assert_uint_eq(t.tasks[0].skips[1], 102);
    ck_assert_uint_eq(t.tasks[0].group_skip_count, 2);
    ck_assert_uint_eq(t.tasks[0].group_skips[1], 103);
    ck_assert(task_table_take(&t, &task));
    ck_assert_uint_eq(t.tasks[0].attempts, 6);
    struct task_outcome o = died_at(1, false);
    ck_assert_int_eq(task_table_end(&t, 0, &o), TASK_GIVE_UP);
    task_table_close(&t);
}

END_TEST

TEST_MAIN("task_table", test_random_histories, test_giving_up, test_skipping)
