/* Asynchronous calls: each calls back once, no more are in flight than may be,
 * chains continue, and closing waits for calls in flight. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bigtable/quarry.h"
#include "tests/lib/check_main.h"
#include "tests/unit/client/test_target.h"

enum {
    CALLS_MAX = 4,
    TASKS = 2,
    CHAINS = 6,
    LINKS = 40,
    CALLS = 300
};

static struct err err;

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

struct shared {
    struct quarry *quarry;
    struct quarry_table *table;
    atomic_int submitted; /* Returned from the call. */
    atomic_int ended;     /* Called back. */
    atomic_int failures;
    atomic_int links;
};

static void start(struct shared *s)
{
    static const struct quarry_family_spec family = {"f", ""};
    const struct quarry_options opts = {.async_tasks = TASKS,
                                        .async_calls = CALLS_MAX};
    char target[300];
    memset(s, 0, sizeof(*s));
    test_new_target(target, sizeof(target));
    OK(test_open(target, &opts, &s->quarry, &err));
    OK(quarry_table_create(s->quarry, "t", &family, 1, NULL, 0, &err));
    OK(quarry_table_open(s->quarry, "t", &s->table, &err));
}

static void submit(struct shared *s, int i, quarry_apply_cb cb)
{
    static const struct quarry_write_options logged = {QUARRY_LOGGED};
    char name[32];
    struct quarry_mutation *m;
    snprintf(name, sizeof(name), "row%d", i);
    m = quarry_mutation_new(slice_str(name));
    quarry_mutation_set(m, "f", SLICE_EMPTY, 1, slice_str(name));
    quarry_apply_async(s->table, m, &logged, cb, s);
    quarry_mutation_free(m);
}

static void count_end(void *arg, int code, const struct err *e)
{
    struct shared *s = arg;
    (void)e;
    s->failures += code != 0;
    s->ended++;
}

/* Stays in the callback for a while. */
static void count_slowly(void *arg, int code, const struct err *e)
{
    static const struct timespec a_while = {.tv_nsec = 1000000};
    nanosleep(&a_while, NULL);
    count_end(arg, code, e);
}

/* With the bound reached, a call returns only after another has ended, also
 * while every task is in a callback. */
START_TEST(test_bound)
{
    struct shared s;
    start(&s);
    for (int i = 0; i < CALLS; i++) {
        int in_flight;
        submit(&s, i, count_slowly);
        /* Those that ended are counted a moment before they make room. */
        in_flight = ++s.submitted - s.ended;
        ck_assert_int_le(in_flight, CALLS_MAX);
    }
    quarry_drain(s.quarry);
    ck_assert_int_eq(s.ended, CALLS);
    ck_assert_int_eq(s.failures, 0);
    quarry_table_close(s.table);
    quarry_close(s.quarry);
}

END_TEST

static void go_on(void *arg, int code, const struct err *e)
{
    struct shared *s = arg;
    count_end(arg, code, e);
    if (++s->links <= CHAINS * LINKS) {
        submit(s, s->links, go_on);     /* One for itself, */
        submit(s, s->links, count_end); /* and one more. */
    }
}

/* Callbacks that make calls are never stuck, however full the queue is, beside
 * a thread that fills it. */
START_TEST(test_chains)
{
    struct shared s;
    start(&s);
    for (int i = 0; i < CHAINS; i++)
        submit(&s, i, go_on);
    for (int i = 0; i < CALLS; i++)
        submit(&s, i, count_end);
    quarry_drain(s.quarry);
    ck_assert_int_eq(s.ended, CHAINS + CALLS + 2 * CHAINS * LINKS);
    ck_assert_int_eq(s.failures, 0);
    quarry_table_close(s.table);
    quarry_close(s.quarry);
}

END_TEST

static void
was_read(void *arg, int code, struct quarry_row *row, const struct err *e)
{
    count_end(arg, code, e);
    quarry_row_free(row);
}

/* A table is closed, and then the store, with calls in flight: they end well.
 */
START_TEST(test_close_under_way)
{
    struct shared s;
    start(&s);
    for (int i = 0; i < CALLS_MAX; i++) {
        if (i % 2)
            quarry_read_row_async(s.table, SLICE_LIT("row0"), NULL, was_read,
                                  &s);
        else
            submit(&s, i, count_end);
    }
    quarry_table_close(s.table);
    quarry_close(s.quarry);
    ck_assert_int_eq(s.ended, CALLS_MAX);
    ck_assert_int_eq(s.failures, 0);
}

END_TEST

TEST_MAIN("async", test_bound, test_chains, test_close_under_way)
