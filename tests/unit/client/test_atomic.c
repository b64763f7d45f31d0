/* Under many threads a row is changed as a whole or not at all, counters lose
 * nothing, and exactly one of several conditional writes wins. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "tests/lib/check_main.h"
#include "tests/unit/client/test_target.h"

enum {
    THREADS = 4,
    ROUNDS = 400
};

static struct err err;

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

struct shared {
    struct quarry *quarry;
    struct quarry_table *table;
    atomic_int failures;
    atomic_int winners;
    atomic_bool stop;
    atomic_int next;
};

static void start(struct shared *s)
{
    static const struct quarry_family_spec families[] = {{"a", "group=x"},
                                                         {"b", "group=y"}};
    static const struct quarry_group_spec groups[] = {{"x", "memtable=64KiB"},
                                                      {"y", "memtable=64KiB"}};
    const struct quarry_options opts = {.memtable_bytes = 4 << 20};
    char target[300];
    memset(s, 0, sizeof(*s));
    test_new_target(target, sizeof(target));
    OK(test_open(target, &opts, &s->quarry, &err));
    OK(quarry_table_create(s->quarry, "t", families, 2, groups, 2, &err));
    OK(quarry_table_open(s->quarry, "t", &s->table, &err));
}

static void finish(struct shared *s)
{
    ck_assert_int_eq(s->failures, 0);
    quarry_table_close(s->table);
    quarry_close(s->quarry);
}

static void run_threads(struct shared *s, task_fn fn)
{
    struct world *w = world_real_new();
    struct task *tasks[THREADS];
    for (int i = 0; i < THREADS; i++)
        tasks[i] = task_start(w, "test", fn, s);
    for (int i = 0; i < THREADS; i++)
        task_join(tasks[i]);
    world_free(w);
}

static const struct quarry_write_options logged = {QUARRY_LOGGED};

/* --- both families or none ----------------------------------------------- */

static void write_both(struct shared *s, int n)
{
    struct quarry_mutation *m = quarry_mutation_new(SLICE_LIT("row"));
    char value[2000];
    memset(value, 'x', sizeof(value));
    snprintf(value, sizeof(value), "%d", n);
    quarry_mutation_delete_row(m);
    quarry_mutation_set(m, "a", SLICE_LIT("n"), 1,
                        slice_make(value, sizeof(value)));
    quarry_mutation_set(m, "b", SLICE_LIT("n"), 1,
                        slice_make(value, sizeof(value)));
    if (quarry_apply(s->table, m, &logged, NULL))
        s->failures++;
    quarry_mutation_free(m);
}

static void read_both(struct shared *s)
{
    struct quarry_row *row;
    if (quarry_read_row(s->table, SLICE_LIT("row"), NULL, &row, NULL)) {
        s->failures++;
        return;
    }
    if (row && (row->cell_count != 2 ||
                !slice_eq(row->cells[0].value, row->cells[1].value)))
        s->failures++;
    quarry_row_free(row);
}

static void read_and_write(void *arg)
{
    struct shared *s = arg;
    int self = atomic_fetch_add(&s->next, 1);
    for (int i = 0; i < ROUNDS; i++) {
        if (self % 2)
            read_both(s);
        else
            write_both(s, i * THREADS + self);
    }
}

/* A reader never sees the one family without the other. */
START_TEST(test_row_is_atomic)
{
    struct shared s;
    start(&s);
    run_threads(&s, read_and_write);
    finish(&s);
}

END_TEST

/* --- counters ------------------------------------------------------------ */

static void count_up(void *arg)
{
    struct shared *s = arg;
    const struct quarry_rmw_rule rule = {.kind = QUARRY_RMW_INCREMENT,
                                         .family = "a",
                                         .qualifier = SLICE_LIT("n"),
                                         .increment = 1};
    for (int i = 0; i < ROUNDS; i++)
        if (quarry_read_modify_write(s->table, SLICE_LIT("row"), &rule, 1,
                                     &logged, NULL, NULL))
            s->failures++;
}

/* No increment is lost. */
START_TEST(test_counter)
{
    struct buf value = BUF_INIT;
    struct shared s;
    bool found;
    start(&s);
    run_threads(&s, count_up);
    OK(quarry_get(s.table, SLICE_LIT("row"), "a", SLICE_LIT("n"), &value,
                  &found, &err));
    ck_assert(found);
    ck_assert_uint_eq(get_be64(value.data), THREADS * ROUNDS);
    buf_close(&value);
    finish(&s);
}

END_TEST

/* --- conditional writes -------------------------------------------------- */

static void claim(void *arg)
{
    struct shared *s = arg;
    for (int i = 0; i < ROUNDS; i++) {
        char name[32];
        struct quarry_mutation *m;
        bool taken = true;
        snprintf(name, sizeof(name), "row%d", i);
        m = quarry_mutation_new(slice_str(name));
        quarry_mutation_set(m, "b", SLICE_LIT("owner"), QUARRY_NOW,
                            SLICE_LIT("me"));
        if (quarry_check_and_mutate(s->table, slice_str(name), NULL, NULL, m,
                                    &logged, &taken, NULL))
            s->failures++;
        if (!taken)
            s->winners++;
        quarry_mutation_free(m);
    }
}

/* Each row is claimed once. */
START_TEST(test_claims)
{
    struct shared s;
    start(&s);
    run_threads(&s, claim);
    ck_assert_int_eq(s.winners, ROUNDS);
    finish(&s);
}

END_TEST

/* --- asynchronous calls -------------------------------------------------- */

static void applied(void *arg, int code, const struct err *e)
{
    struct shared *s = arg;
    (void)e;
    if (code)
        s->failures++;
    s->winners++;
}

static void
was_read(void *arg, int code, struct quarry_row *row, const struct err *e)
{
    struct shared *s = arg;
    (void)e;
    if (code || !row || row->cell_count != 1)
        s->failures++;
    s->winners++;
    quarry_row_free(row);
}

/* Every asynchronous call calls back once, before drain returns. */
START_TEST(test_async)
{
    struct quarry_mutation *m = quarry_mutation_new(SLICE_LIT("x"));
    struct shared s;
    char name[32];
    start(&s);
    for (int i = 0; i < ROUNDS; i++) {
        snprintf(name, sizeof(name), "row%d", i);
        quarry_mutation_reset(m, slice_str(name));
        quarry_mutation_set(m, "a", SLICE_EMPTY, 1, slice_str(name));
        quarry_apply_async(s.table, m, &logged, applied, &s);
    }
    quarry_drain(s.quarry);
    ck_assert_int_eq(s.winners, ROUNDS);
    for (int i = 0; i < ROUNDS; i++) {
        snprintf(name, sizeof(name), "row%d", i);
        quarry_read_row_async(s.table, slice_str(name), NULL, was_read, &s);
    }
    quarry_drain(s.quarry);
    ck_assert_int_eq(s.winners, 2 * ROUNDS);
    quarry_mutation_free(m);
    finish(&s);
}

END_TEST

/* --- a drop -------------------------------------------------------------- */

/* Enough for flushes that are under way when the last row is in. */
static void fill_and_drop(struct quarry *q, int rows)
{
    static const struct quarry_family_spec family = {"f", "group=g"};
    static const struct quarry_group_spec group = {"g", "memtable=64KiB"};
    struct quarry_mutation *m = quarry_mutation_new(SLICE_LIT("row"));
    struct quarry_table *t;
    char value[4000];
    memset(value, 'x', sizeof(value));
    OK(quarry_table_create(q, "gone", &family, 1, &group, 1, &err));
    OK(quarry_table_open(q, "gone", &t, &err));
    for (int i = 0; i < rows; i++) {
        char row[16];
        snprintf(row, sizeof(row), "%08d", i);
        quarry_mutation_reset(m, slice_str(row));
        quarry_mutation_set(m, "f", SLICE_EMPTY, 1,
                            slice_make(value, sizeof(value)));
        OK(quarry_apply(t, m, &logged, &err));
    }
    quarry_mutation_free(m);
    quarry_table_close(t);
    OK(quarry_table_drop(q, "gone", &err));
}

static void flush_on(void *arg)
{
    struct shared *s = arg;
    struct err ignored = ERR_INIT; /* Of a table that is gone meanwhile. */
    while (!atomic_load(&s->stop))
        (void)!quarry_flush(s->quarry, &ignored);
}

/* A table is dropped while its memtables are being flushed. */
START_TEST(test_drop_while_flushed)
{
    struct shared s = {.failures = 0};
    struct world *w = world_real_new();
    struct task *flusher;
    struct quarry *q;
    char target[300];
    if (test_cluster()) { /* Its servers release a tablet first. */
        world_free(w);
        return;
    }
    test_new_target(target, sizeof(target));
    OK(test_open(target, NULL, &q, &err));
    s.quarry = q;
    flusher = task_start(w, "flusher", flush_on, &s);
    for (int i = 0; i < 300; i++)
        fill_and_drop(q, 4 + i % 20);
    atomic_store(&s.stop, true);
    task_join(flusher);
    world_free(w);
    quarry_close(q);
    OK(test_open(target, NULL, &q, &err));
    quarry_close(q);
}

END_TEST

TEST_MAIN("atomic",
          test_row_is_atomic,
          test_counter,
          test_claims,
          test_async,
          test_drop_while_flushed)
