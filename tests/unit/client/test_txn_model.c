/* Random transactions, many open at once, against a model: a list of commits by
 * row. Every read, every scan and the outcome of every commit is the model's,
 * over flushes, compactions and restarts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/rand.h"
#include "bigtable/quarry_txn.h"
#include "tests/lib/check_main.h"
#include "tests/unit/client/test_target.h"

enum {
    ROWS = 8,
    OPEN = 5,
    STEPS = 600,
    VERSIONS = 400,
    NOTHING = -1 /* As a value: the row is not there. */
};

static struct err err;

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

struct version {
    int64_t commit;
    int value;
};

struct model_row {
    struct version versions[VERSIONS];
    int count;
};

struct open_txn {
    struct quarry_txn *txn; /* NULL: none. */
    bool serializable;
    bool wrote[ROWS];
    int value[ROWS]; /* If it wrote. */
    bool read[ROWS];
};

struct run {
    struct quarry *quarry;
    struct quarry_table *table;
    char target[300];
    struct rand_gen rand;
    struct model_row rows[ROWS];
    struct open_txn open[OPEN];
    int commits;
    int conflicts;
    int next_value;
};

static int model_at(const struct run *r, int row, int64_t at)
{
    for (int i = r->rows[row].count; i-- > 0;)
        if (r->rows[row].versions[i].commit <= at)
            return r->rows[row].versions[i].value;
    return NOTHING;
}

static bool model_changed(const struct run *r, int row, int64_t since)
{
    int n = r->rows[row].count;
    return n > 0 && r->rows[row].versions[n - 1].commit > since;
}

static struct slice row_name(int row, char text[16])
{
    snprintf(text, 16, "r%d", row);
    return slice_str(text);
}

static int
expected_value(const struct run *r, const struct open_txn *o, int row)
{
    return o->wrote[row] ? o->value[row]
                         : model_at(r, row, quarry_txn_start(o->txn));
}

static void step_read(struct run *r, struct open_txn *o, int row)
{
    struct buf b = BUF_INIT;
    char name[16];
    bool found;
    int expected = expected_value(r, o, row);
    OK(quarry_txn_get(o->txn, r->table, row_name(row, name), "f", SLICE_EMPTY,
                      &b, &found, &err));
    ck_assert_int_eq(found ? atoi(buf_cstr(&b)) : NOTHING, expected);
    o->read[row] = true;
    buf_close(&b);
}

static void step_scan(struct run *r, struct open_txn *o)
{
    struct quarry_txn_scanner *s;
    const struct quarry_row *row;
    int at = 0;
    OK(quarry_txn_scan(o->txn, r->table, SLICE_EMPTY, SLICE_EMPTY, &s, &err));
    do {
        int found = ROWS;
        OK(quarry_txn_scanner_next(s, &row, &err));
        if (row)
            found = row->key.data[1] - '0';
        for (; at < found; at++)
            ck_assert_int_eq(expected_value(r, o, at), NOTHING);
        if (row) {
            char text[16];
            snprintf(text, sizeof(text), "%.*s",
                     SLICE_ARG(row->cells[0].value));
            ck_assert_int_eq(atoi(text), expected_value(r, o, at));
            at++;
        }
    } while (row);
    quarry_txn_scanner_close(s);
    for (int i = 0; i < ROWS; i++)
        o->read[i] = true;
}

static void step_write(struct run *r, struct open_txn *o, int row)
{
    char name[16];
    char text[16];
    o->wrote[row] = true;
    if (rand_one_in(&r->rand, 4)) {
        o->value[row] = NOTHING;
        OK(quarry_txn_delete(o->txn, r->table, row_name(row, name),
                             rand_one_in(&r->rand, 2) ? "f" : NULL, SLICE_EMPTY,
                             &err));
        return;
    }
    o->value[row] = r->next_value++;
    snprintf(text, sizeof(text), "%d", o->value[row]);
    OK(quarry_txn_put(o->txn, r->table, row_name(row, name), "f", SLICE_EMPTY,
                      slice_str(text), &err));
}

static bool should_conflict(const struct run *r, const struct open_txn *o)
{
    int64_t start = quarry_txn_start(o->txn);
    bool writes = false;
    bool conflict = false;
    for (int i = 0; i < ROWS; i++)
        writes |= o->wrote[i];
    for (int i = 0; i < ROWS; i++)
        if (o->wrote[i] || (writes && o->serializable && o->read[i]))
            conflict |= model_changed(r, i, start);
    return conflict;
}

static void step_commit(struct run *r, struct open_txn *o)
{
    bool conflict = should_conflict(r, o);
    int64_t commit = 0;
    int rc = quarry_txn_commit(o->txn, &commit, &err);
    ck_assert_msg(rc == (conflict ? ERR_CONFLICT : 0), "%s", err.text);
    for (int i = 0; rc == 0 && i < ROWS; i++) {
        struct model_row *m = &r->rows[i];
        if (!o->wrote[i])
            continue;
        ck_assert_int_lt(m->count, VERSIONS);
        m->versions[m->count++] = (struct version){commit, o->value[i]};
    }
    r->commits += rc == 0;
    r->conflicts += rc != 0;
    quarry_txn_close(o->txn);
    o->txn = NULL;
}

static void maintain(struct run *r)
{
    switch (rand_below(&r->rand, 3)) {
    case 0: OK(quarry_flush(r->quarry, &err)); break;
    case 1: OK(quarry_table_compact(r->quarry, "t", &err)); break;
    default:
        for (int i = 0; i < OPEN; i++) {
            quarry_txn_close(r->open[i].txn);
            r->open[i].txn = NULL;
        }
        quarry_table_close(r->table);
        quarry_close(r->quarry);
        OK(test_open(r->target, NULL, &r->quarry, &err));
        OK(quarry_table_open(r->quarry, "t", &r->table, &err));
    }
}

static void step(struct run *r)
{
    struct open_txn *o = &r->open[rand_below(&r->rand, OPEN)];
    int row = (int)rand_below(&r->rand, ROWS);
    if (!o->txn) {
        struct quarry_txn_options opts = {.serializable =
                                              rand_one_in(&r->rand, 2)};
        *o = (struct open_txn){.serializable = opts.serializable};
        OK(quarry_txn_begin(r->quarry, &opts, &o->txn, &err));
        return;
    }
    switch (rand_below(&r->rand, 8)) {
    case 0:
    case 1: step_commit(r, o); break;
    case 2:
    case 3: step_write(r, o, row); break;
    case 4: step_scan(r, o); break;
    default: step_read(r, o, row); break;
    }
}

static void run_seed(uint64_t seed)
{
    static const struct quarry_family_spec family = {"f", "versions=1"};
    struct run *r = calloc(1, sizeof(*r));
    err_init(&err);
    rand_init(&r->rand, seed);
    test_new_target(r->target, sizeof(r->target));
    OK(test_open(r->target, NULL, &r->quarry, &err));
    OK(quarry_table_create(r->quarry, "t", &family, 1, NULL, 0, &err));
    OK(quarry_table_enable_transactions(r->quarry, "t", &err));
    OK(quarry_table_open(r->quarry, "t", &r->table, &err));
    for (int i = 0; i < STEPS; i++) {
        step(r);
        if (i % 40 == 39)
            maintain(r);
    }
    ck_assert_int_gt(r->commits, 20);
    ck_assert_int_gt(r->conflicts, 2);
    for (int i = 0; i < OPEN; i++)
        quarry_txn_close(r->open[i].txn);
    OK(quarry_table_drop(r->quarry, "t", &err));
    quarry_table_close(r->table);
    quarry_close(r->quarry);
    free(r);
}

/* Reads and outcomes are those of the model, of five seeds. */
START_TEST(test_model)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        fprintf(stderr, "seed %d\n", (int)seed);
        run_seed(seed);
    }
}

END_TEST

TEST_MAIN("txn_model", test_model)
