/* Random changes by every call, of a table with several indexes, against a
 * model of its rows: each look-up gives exactly the rows whose newest values
 * match, also after writers that died at any step, flushes, compactions and
 * restarts; and a check of the indexes finds nothing missing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/fault.h"
#include "base/core/rand.h"
#include "bigtable/quarry_index.h"
#include "bigtable/quarry_txn.h"
#include "tests/lib/check_main.h"
#include "tests/unit/client/test_target.h"

enum {
    ROWS = 7,
    COLUMNS = 2,
    VALUES = 4,
    STEPS = 250,
    VERSIONS = 64,
};

static struct err err;

#define OK(call) ck_assert_msg((call) == 0, "%s: %s", #call, err.text)

struct cell {
    int64_t us;
    int value;
};

/* Columns f:a and f:b, of which all versions are kept. */
struct model_row {
    struct cell cells[COLUMNS][VERSIONS];
    int count[COLUMNS];
};

struct run {
    struct quarry *quarry;
    struct quarry_table *table;
    char target[300];
    struct rand_gen rand;
    struct model_row rows[ROWS];
    int64_t clock_us; /* Above all times given so far. */
    bool transactions;
};

static const char *const qualifiers[COLUMNS] = {"a", "b"};
/* One is the beginning of another, and one has a zero. */
static const struct slice values[VALUES] = {{"", 0},
                                            {"x", 1},
                                            {"x\0", 2},
                                            {"xy", 2}};

static struct slice row_name(int row, char text[16])
{
    snprintf(text, 16, "r%d", row);
    return slice_str(text);
}

static int pick(struct run *r, int n)
{
    return (int)rand_below(&r->rand, (uint64_t)n);
}

/* --- the model ----------------------------------------------------------- */

static void
model_delete(struct model_row *m, int c, int64_t min_us, int64_t max_us)
{
    int n = 0;
    for (int i = 0; i < m->count[c]; i++)
        if (m->cells[c][i].us < min_us || m->cells[c][i].us >= max_us)
            m->cells[c][n++] = m->cells[c][i];
    m->count[c] = n;
}

static void model_set(struct model_row *m, int c, int64_t us, int value)
{
    model_delete(m, c, us, us + 1);
    ck_assert_int_lt(m->count[c], VERSIONS);
    m->cells[c][m->count[c]++] = (struct cell){us, value};
}

/* -1: none. */
static int model_value(const struct model_row *m, int c)
{
    const struct cell *best = NULL;
    for (int i = 0; i < m->count[c]; i++)
        if (!best || m->cells[c][i].us > best->us)
            best = &m->cells[c][i];
    return best ? best->value : -1;
}

/* --- changes ------------------------------------------------------------- */

/* A change of one row, in the library and in a copy of the model's row. */
struct step {
    int row;
    struct quarry_mutation *m;
    struct model_row after;
};

static void random_op(struct run *r, struct step *s)
{
    int c = pick(r, COLUMNS);
    struct slice q = slice_str(qualifiers[c]);
    int64_t old_us = r->clock_us - 1 - pick(r, 40);
    int v = pick(r, VALUES);
    switch (pick(r, 8)) {
    case 0:
        quarry_mutation_delete_row(s->m);
        model_delete(&s->after, 0, 0, INT64_MAX);
        model_delete(&s->after, 1, 0, INT64_MAX);
        break;
    case 1:
        quarry_mutation_delete_cells(s->m, "f", q, 0, 0);
        model_delete(&s->after, c, 0, INT64_MAX);
        break;
    case 5:
        quarry_mutation_delete_cells(s->m, "f", q, old_us, old_us + 20);
        model_delete(&s->after, c, old_us, old_us + 20);
        break;
    case 6:
        quarry_mutation_set(s->m, "f", q, old_us, values[v]);
        model_set(&s->after, c, old_us, v);
        break;
    case 7:
        quarry_mutation_delete_family(s->m, "f");
        model_delete(&s->after, 0, 0, INT64_MAX);
        model_delete(&s->after, 1, 0, INT64_MAX);
        break;
    default:
        quarry_mutation_set(s->m, "f", q, r->clock_us, values[v]);
        model_set(&s->after, c, r->clock_us, v);
        quarry_mutation_set(s->m, "g", SLICE_LIT("other"), QUARRY_NOW,
                            SLICE_LIT("o"));
    }
    r->clock_us += 3;
}

static struct step step_new(struct run *r)
{
    struct step s = {.row = pick(r, ROWS)};
    char name[16];
    int ops = 1 + pick(r, 3);
    s.m = quarry_mutation_new(row_name(s.row, name));
    s.after = r->rows[s.row];
    for (int i = 0; i < ops; i++)
        random_op(r, &s);
    return s;
}

static void step_made(struct run *r, struct step *s)
{
    r->rows[s->row] = s->after;
    quarry_mutation_free(s->m);
}

static void change_plainly(struct run *r)
{
    struct step s = step_new(r);
    OK(quarry_apply(r->table, s.m, NULL, &err));
    step_made(r, &s);
}

/* Of rows that differ, so that the model is asked in any order. */
static void change_many(struct run *r)
{
    struct quarry_mutation *list[3];
    struct step steps[3];
    int codes[3];
    size_t n = 0;
    bool each = pick(r, 2);
    for (int i = 0; i < 3; i++) {
        struct step s = step_new(r);
        bool again = false;
        for (size_t k = 0; k < n; k++)
            again |= steps[k].row == s.row;
        if (again) {
            quarry_mutation_free(s.m);
            continue;
        }
        steps[n] = s;
        list[n++] = s.m;
    }
    if (each)
        OK(quarry_apply_each(r->table, list, n, NULL, codes, &err));
    else
        OK(quarry_apply_batch(r->table, list, n, NULL, NULL, &err));
    for (size_t i = 0; i < n; i++)
        step_made(r, &steps[i]);
}

/* If f:a is values[v] in any version, one thing, else another. */
static void change_checked(struct run *r)
{
    struct step s = step_new(r);
    char name[16];
    bool either = pick(r, 2);
    bool matched;
    bool expected = false;
    int v = pick(r, VALUES);
    struct quarry_filter *parts[2];
    struct quarry_filter *f;
    parts[0] = quarry_filter_column_range("f", QUARRY_CLOSED, SLICE_LIT("a"),
                                          QUARRY_CLOSED, SLICE_LIT("a"));
    parts[1] = quarry_filter_value_range(QUARRY_CLOSED, values[v],
                                         QUARRY_CLOSED, values[v]);
    f = quarry_filter_chain(parts, 2);
    for (int i = 0; i < r->rows[s.row].count[0]; i++)
        expected |= r->rows[s.row].cells[0][i].value == v;
    OK(quarry_check_and_mutate(r->table, row_name(s.row, name), f,
                               either ? s.m : NULL, either ? NULL : s.m, NULL,
                               &matched, &err));
    ck_assert_msg(matched == expected, "row %s %s", name,
                  matched ? "matched" : "did not match");
    quarry_filter_free(f);
    if (matched == either) {
        step_made(r, &s);
        return;
    }
    quarry_mutation_free(s.m);
}

static void read_model(struct run *r, int row)
{
    struct model_row *m = &r->rows[row];
    struct quarry_row *found;
    char name[16];
    memset(m, 0, sizeof(*m));
    OK(quarry_read_row(r->table, row_name(row, name), NULL, &found, &err));
    for (size_t i = 0; found && i < found->cell_count; i++) {
        const struct quarry_cell *c = &found->cells[i];
        int v = VALUES;
        if (!slice_eq_str(c->family, "f"))
            continue;
        for (int k = 0; k < VALUES; k++)
            if (slice_eq(values[k], c->value))
                v = k;
        model_set(m, c->qualifier.data[0] == 'b', c->timestamp_us, v);
        if (c->timestamp_us >= r->clock_us)
            r->clock_us = c->timestamp_us + 1;
    }
    quarry_row_free(found);
}

/* f:a has "" or nothing: append "x"; its time is the table's. */
static void change_by_append(struct run *r)
{
    struct quarry_rmw_rule rules[2] = {{.kind = QUARRY_RMW_APPEND,
                                        .family = "f",
                                        .qualifier = SLICE_LIT("a"),
                                        .append = SLICE_LIT("x")},
                                       {.kind = QUARRY_RMW_INCREMENT,
                                        .family = "g",
                                        .qualifier = SLICE_LIT("n"),
                                        .increment = 1}};
    int row = pick(r, ROWS);
    struct quarry_row *out;
    char name[16];
    int had = model_value(&r->rows[row], 0);
    if (had > 0)
        return;
    OK(quarry_read_modify_write(r->table, row_name(row, name), rules, 2, NULL,
                                &out, &err));
    ck_assert_int_eq((int)out->cell_count, 2);
    ck_assert(slice_eq_str(out->cells[0].value, "x"));
    quarry_row_free(out);
    read_model(r, row);
    ck_assert_int_eq(model_value(&r->rows[row], 0), 1);
}

/* The table's clock gives the times, of several columns at once. */
static void change_now(struct run *r)
{
    int row = pick(r, ROWS);
    char name[16];
    struct quarry_mutation *m = quarry_mutation_new(row_name(row, name));
    if (pick(r, 4) == 0)
        quarry_mutation_delete_cells(m, "f", SLICE_LIT("a"), 5, r->clock_us);
    for (int c = 0; c < COLUMNS; c++)
        if (pick(r, 2) || c == 1)
            quarry_mutation_set(m, "f", slice_str(qualifiers[c]), QUARRY_NOW,
                                values[pick(r, VALUES)]);
    if (pick(r, 4) == 0)
        quarry_mutation_delete_cells(m, "f", SLICE_LIT("b"), r->clock_us - 9,
                                     r->clock_us + 1000000000);
    if (pick(r, 8) == 0) /* From here on "now" is older. */
        quarry_mutation_set(m, "f", SLICE_LIT("b"), INT64_C(4000000000000000),
                            values[pick(r, VALUES)]);
    OK(quarry_apply(r->table, m, NULL, &err));
    quarry_mutation_free(m);
    read_model(r, row);
}

static void change_in_txn(struct run *r)
{
    int first = pick(r, ROWS);
    struct quarry_txn *t;
    if (!r->transactions)
        return;
    OK(quarry_txn_begin(r->quarry, NULL, &t, &err));
    for (int i = 0; i < 2; i++) {
        char name[16];
        struct slice q = slice_str(qualifiers[pick(r, COLUMNS)]);
        int v = pick(r, VALUES);
        struct slice key = row_name((first + i) % ROWS, name);
        if (pick(r, 4))
            OK(quarry_txn_put(t, r->table, key, "f", q, values[v], &err));
        else
            OK(quarry_txn_delete(t, r->table, key, pick(r, 2) ? "f" : NULL, q,
                                 &err));
    }
    OK(quarry_txn_commit(t, NULL, &err));
    quarry_txn_close(t);
    read_model(r, first);
    read_model(r, (first + 1) % ROWS);
}

static void change_range(struct run *r)
{
    char start[16];
    char end[16];
    int first = pick(r, ROWS);
    int last = first + 1 + pick(r, 2);
    OK(quarry_table_drop_rows(r->quarry, "t", row_name(first, start),
                              row_name(last, end), &err));
    for (int i = first; i < last && i < ROWS; i++)
        memset(&r->rows[i], 0, sizeof(r->rows[i]));
}

/* A writer that dies at one of its steps: the row is one or the other. */
static void change_and_die(struct run *r)
{
    struct step s = step_new(r);
    fault_arm("index.crash", 1 + (uint64_t)pick(r, 5), UINT64_MAX / 2);
    if (quarry_apply(r->table, s.m, NULL, &err)) {
        /* It may have been made. */
    }
    fault_disarm_all();
    quarry_mutation_free(s.m);
    read_model(r, s.row);
}

/* --- look-ups ------------------------------------------------------------ */

static bool is_between(const struct quarry_index_query *q, struct slice v)
{
    if (q->prefix.len)
        return slice_starts_with(v, q->prefix);
    if (q->lower_kind != QUARRY_UNBOUNDED &&
        slice_cmp(v, q->lower) < (q->lower_kind == QUARRY_OPEN))
        return false;
    return q->upper_kind == QUARRY_UNBOUNDED ||
           slice_cmp(v, q->upper) < (q->upper_kind == QUARRY_CLOSED);
}

/* @columns: those of the index, of which the first q->equal_count are equal. */
static bool model_matches(const struct run *r,
                          int row,
                          const int *columns,
                          const struct quarry_index_query *q)
{
    bool bounds = q->lower_kind != QUARRY_UNBOUNDED ||
                  q->upper_kind != QUARRY_UNBOUNDED || q->prefix.len;
    for (size_t i = 0; i < q->equal_count + bounds; i++) {
        int v = model_value(&r->rows[row], columns[i]);
        if (v < 0)
            return false;
        if (i < q->equal_count ? !slice_eq(values[v], q->equal[i])
                               : !is_between(q, values[v]))
            return false;
    }
    return q->equal_count + bounds > 0 ||
           model_value(&r->rows[row], columns[0]) >= 0;
}

static void expect_rows(struct run *r,
                        const struct quarry_index_query *q,
                        const int *columns,
                        const struct quarry_read_options *o)
{
    struct quarry_scanner *rows;
    const struct quarry_row *row;
    bool found[ROWS] = {false};
    OK(quarry_index_scan(r->table, q, o, &rows, &err));
    for (;;) {
        int i;
        OK(quarry_scanner_next(rows, &row, &err));
        if (!row)
            break;
        i = row->key.data[1] - '0';
        ck_assert_msg(!found[i], "%s: row r%d twice", q->index, i);
        found[i] = true;
    }
    quarry_scanner_close(rows);
    for (int i = 0; i < ROWS; i++)
        ck_assert_msg(found[i] == model_matches(r, i, columns, q),
                      "%s: row r%d (%d, %d) is %s: %d equal, bounds %d %d, "
                      "%d bytes of prefix",
                      q->index, i, model_value(&r->rows[i], 0),
                      model_value(&r->rows[i], 1),
                      found[i] ? "too many" : "missing", (int)q->equal_count,
                      (int)q->lower_kind, (int)q->upper_kind,
                      (int)q->prefix.len);
}

static void look_up(struct run *r)
{
    static const int orders[3][2] = {{0, -1}, {0, 1}, {1, 0}};
    static const char *const names[3] = {"by_a", "by_a_b", "by_b_a"};
    static const struct quarry_read_options strip = {.keys_only = true};
    int index = pick(r, 3);
    size_t columns = index ? 2 : 1;
    struct slice equal[2];
    struct quarry_index_query q = {.index = names[index], .equal = equal};
    q.equal_count = (size_t)pick(r, (int)columns + 1);
    for (size_t i = 0; i < q.equal_count; i++)
        equal[i] = values[pick(r, VALUES)];
    if (q.equal_count < columns) {
        q.lower_kind = (enum quarry_bound)pick(r, 3);
        q.upper_kind = (enum quarry_bound)pick(r, 3);
        q.lower = values[pick(r, VALUES)];
        q.upper = values[pick(r, VALUES)];
        if (pick(r, 4) == 0) {
            q.prefix = values[1 + pick(r, VALUES - 1)];
            q.lower_kind = q.upper_kind = QUARRY_UNBOUNDED;
        }
    }
    expect_rows(r, &q, orders[index], pick(r, 2) ? &strip : NULL);
}

static void check_indexes(struct run *r, bool mend)
{
    static const char *const names[3] = {"by_a", "by_a_b", "by_b_a"};
    struct quarry_index_report report;
    for (int i = 0; i < 3; i++) {
        OK(quarry_index_check(r->quarry, "t", names[i], mend, &report, NULL,
                              NULL, &err));
        ck_assert_msg(report.missing == 0, "%s: %llu are missing", names[i],
                      (unsigned long long)report.missing);
        if (!mend)
            continue;
        OK(quarry_index_check(r->quarry, "t", names[i], false, &report, NULL,
                              NULL, &err));
        ck_assert_int_eq((int)report.stale, 0);
        ck_assert_int_eq((int)report.entries, (int)report.rows);
    }
}

/* --- a run --------------------------------------------------------------- */

static void run_open(struct run *r)
{
    OK(test_open(r->target, NULL, &r->quarry, &err));
    OK(quarry_table_open(r->quarry, "t", &r->table, &err));
}

static void run_close(struct run *r)
{
    quarry_table_close(r->table);
    quarry_close(r->quarry);
}

static void create_index(struct run *r, const char *name, int a, int b)
{
    struct quarry_index_column columns[2] = {{"f", slice_str(qualifiers[a])},
                                             {"f", SLICE_EMPTY}};
    struct quarry_index_spec spec = {.table = "t",
                                     .name = name,
                                     .columns = columns,
                                     .column_count = b < 0 ? 1 : 2};
    if (b >= 0)
        columns[1].qualifier = slice_str(qualifiers[b]);
    OK(quarry_index_create(r->quarry, &spec, NULL, NULL, &err));
}

static void run_start(struct run *r, uint64_t seed, bool transactions)
{
    static const struct quarry_family_spec families[] = {{"f", ""}, {"g", ""}};
    err_init(&err);
    memset(r, 0, sizeof(*r));
    rand_init(&r->rand, seed);
    r->transactions = transactions;
    r->clock_us = 1000000;
    test_new_target(r->target, sizeof(r->target));
    OK(test_open(r->target, NULL, &r->quarry, &err));
    OK(quarry_table_create(r->quarry, "t", families, 2, NULL, 0, &err));
    if (transactions)
        OK(quarry_table_enable_transactions(r->quarry, "t", &err));
    OK(quarry_table_open(r->quarry, "t", &r->table, &err));
    for (int i = 0; i < 10; i++) /* Rows that are there before. */
        change_plainly(r);
    create_index(r, "by_a", 0, -1);
    create_index(r, "by_a_b", 0, 1);
    create_index(r, "by_b_a", 1, 0);
}

static void run_step(struct run *r)
{
    switch (pick(r, 24)) {
    case 0: OK(quarry_flush(r->quarry, &err)); break;
    case 1: OK(quarry_table_compact(r->quarry, "t", &err)); break;
    case 2:
        run_close(r);
        run_open(r);
        break;
    case 3: change_range(r); break;
    case 4:
    case 5: change_and_die(r); break;
    case 6:
    case 7: change_many(r); break;
    case 8:
    case 9: change_checked(r); break;
    case 10: change_by_append(r); break;
    case 11:
    case 12: change_in_txn(r); break;
    case 13:
    case 14: change_now(r); break;
    default: change_plainly(r);
    }
    for (int i = 0; i < ROWS; i++) /* The model has so much room. */
        for (int c = 0; c < COLUMNS; c++)
            if (r->rows[i].count[c] > VERSIONS / 2) {
                char name[16];
                struct quarry_mutation *m =
                    quarry_mutation_new(row_name(i, name));
                quarry_mutation_delete_row(m);
                OK(quarry_apply(r->table, m, NULL, &err));
                quarry_mutation_free(m);
                memset(&r->rows[i], 0, sizeof(r->rows[i]));
            }
    look_up(r);
}

static void run_random(uint64_t seed, bool transactions)
{
    static struct run r;
    run_start(&r, seed, transactions);
    for (int i = 0; i < STEPS; i++) {
        run_step(&r);
        if (i % 50 == 49)
            check_indexes(&r, i % 100 == 99);
    }
    run_close(&r);
}

/* Look-ups are those of the model, of some seeds. */
START_TEST(test_lookups)
{
    for (uint64_t seed = 1; seed <= 2; seed++) {
        fprintf(stderr, "seed %d\n", (int)seed);
        run_random(seed, false);
    }
}

END_TEST

/* The same for a table with transactions, and by them. */
START_TEST(test_lookups_beside_transactions)
{
    for (uint64_t seed = 11; seed <= 12; seed++) {
        fprintf(stderr, "seed %d\n", (int)seed);
        run_random(seed, true);
    }
}

END_TEST

TEST_MAIN("index_model", test_lookups, test_lookups_beside_transactions)
