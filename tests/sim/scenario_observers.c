/* Observers and indexes on a cell with tables. Writers change rows of a table
 * by plain calls and by transactions; two machines run an observer, which
 * counts each change and copies each row; one index, of unique values, is there
 * from the beginning, another is built while rows are written; tablets of the
 * table and of the entries are split, moved, flushed and compacted; and
 * everything crashes, hangs, is cut off, and has clocks that jump. When all is
 * healed each commit was counted once, the copy is the table, each index is
 * what its rows make of it, and nobody has seen half of a transaction.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/runtime/world.h"
#include "bigtable/quarry_index.h"
#include "bigtable/quarry_observer.h"
#include "tests/sim/cell.h"
#include "tests/sim/scenario.h"
#include "tests/sim/storm.h"
#include "tests/sim/strike.h"
#include "tests/sim/tables_cell.h"
#include "tests/sim/tables_health.h"

#define CALM_BEFORE_US (3 * SECOND_US)
#define STORM_US       (15 * SECOND_US)
#define TRUE_US        (120 * SECOND_US)
#define CALL_US        (10 * SECOND_US)
#define LEASE_US       (2 * SECOND_US)
#define FINISH_US      (60 * SECOND_US)
#define CATCH_UP_US    (240 * SECOND_US)
#define PAUSE_US       (SECOND_US / 8)
/* An observer is behind by as much as the clock of a tablet server is ahead:
 * hours would have to be waited for. */
#define CLOCK_US_MAX ((int64_t)(60 * SECOND_US))

enum {
    MASTERS = 2,
    TABLET_SERVERS = 3,
    WRITERS = 3,
    OBSERVERS = 2,
    ROWS = 24,
    NUMBERS = 6, /* Values of f:n. */
    MAILS = 16   /* Values of f:mail. */
};

struct observers_play {
    struct storm *storm;
    struct sim_cell *cell;
    struct tables_cell *tables;
    uint64_t ids;   /* Given out: each commit of rows has one a row. */
    uint64_t *made; /* By id: 1 tried, 2 acknowledged; owned. */
    uint64_t id_cap;
    uint64_t writes;  /* That were acknowledged. */
    uint64_t refused; /* By the unique index. */
};

/* --- writers ------------------------------------------------------------- */

/* A number for a commit to one row. */
static uint64_t new_id(struct observers_play *p)
{
    if (p->ids == p->id_cap) {
        p->id_cap = p->id_cap ? p->id_cap * 2 : 1024;
        p->made = mem_realloc(p->made, p->id_cap * sizeof(*p->made));
    }
    p->made[p->ids] = 1;
    return ++p->ids;
}

static void acknowledge(struct observers_play *p, uint64_t id)
{
    PRE(id > 0 && id <= p->ids);
    p->made[id - 1] = 2;
    p->writes++;
}

static struct slice row_name(uint64_t n, char text[8])
{
    snprintf(text, 8, "r%02u", (unsigned)(n % 100));
    return slice_str(text);
}

static void set_text(struct quarry_mutation *m, const char *column, uint64_t n)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRIu64, n);
    quarry_mutation_set(m, "f", slice_str(column), QUARRY_NOW, slice_str(text));
}

/* A new commit of @row: a number, an id, sometimes an address. */
static struct quarry_mutation *new_change(struct observers_play *p,
                                          struct rand_gen *rand,
                                          struct slice row,
                                          bool mail,
                                          uint64_t *id)
{
    struct quarry_mutation *m = quarry_mutation_new(row);
    *id = new_id(p);
    if (mail && rand_one_in(rand, 6))
        quarry_mutation_delete_row(m);
    set_text(m, "id", *id);
    set_text(m, "n", rand_below(rand, NUMBERS));
    if (mail && rand_one_in(rand, 2))
        set_text(m, "mail", rand_below(rand, MAILS));
    return m;
}

static void write_plain(struct observers_play *p,
                        struct quarry_table *t,
                        struct rand_gen *rand)
{
    struct err err = ERR_INIT;
    char name[8];
    uint64_t id;
    struct quarry_mutation *m =
        new_change(p, rand, row_name(rand_below(rand, ROWS), name), true, &id);
    int rc = quarry_apply(t, m, NULL, &err);
    if (rc == 0)
        acknowledge(p, id);
    if (rc == ERR_EXISTS) {
        p->made[id - 1] = 0; /* It was refused: nobody may ever see it. */
        p->refused++;
    }
    quarry_mutation_free(m);
}

/* Changes of two rows of the table, and both counters of `pairs`, which are
 * equal. */
struct pair_write {
    struct observers_play *play;
    struct quarry *quarry;
    struct quarry_table *table;
    struct quarry_table *pairs;
    struct rand_gen *rand;
    uint64_t ids[2];
};

static int
raise_pair(struct quarry_txn *txn, struct quarry_table *pairs, struct err *err)
{
    struct buf value = BUF_INIT;
    uint64_t n = 0;
    bool found;
    int rc = quarry_txn_get(txn, pairs, SLICE_LIT("a"), "f", SLICE_LIT("n"),
                            &value, &found, err);
    if (rc == 0 && found)
        rc = text_parse_u64(buf_slice(&value), &n, err);
    buf_clear(&value);
    buf_printf(&value, "%" PRIu64, n + 1);
    if (rc == 0)
        rc = quarry_txn_put(txn, pairs, SLICE_LIT("a"), "f", SLICE_LIT("n"),
                            buf_slice(&value), err);
    if (rc == 0)
        rc = quarry_txn_put(txn, pairs, SLICE_LIT("z"), "f", SLICE_LIT("n"),
                            buf_slice(&value), err);
    buf_close(&value);
    return rc;
}

static int write_two(struct quarry_txn *txn, void *ctx, struct err *err)
{
    struct pair_write *w = ctx;
    uint64_t first = rand_below(w->rand, ROWS - 1);
    int rc = raise_pair(txn, w->pairs, err);
    for (int i = 0; i < 2 && rc == 0; i++) {
        char name[8];
        struct quarry_mutation *m =
            new_change(w->play, w->rand, row_name(first + (uint64_t)i, name),
                       false, &w->ids[i]);
        rc = quarry_txn_apply(txn, w->table, m, err);
        quarry_mutation_free(m);
    }
    return rc;
}

static void write_in_txn(struct pair_write *w)
{
    const struct quarry_txn_options o = {.timeout_us = CALL_US,
                                         .lease_us = LEASE_US};
    if (quarry_txn_run(w->quarry, &o, write_two, w, NULL) == 0) {
        acknowledge(w->play, w->ids[0]);
        acknowledge(w->play, w->ids[1]);
    }
}

/* Of a counter that only rises: 0 when there is none, or no answer. */
static uint64_t read_pair(struct quarry_table *pairs, const char *row, bool *ok)
{
    struct buf value = BUF_INIT;
    uint64_t n = 0;
    bool found = false;
    *ok = quarry_get(pairs, slice_str(row), "f", SLICE_LIT("n"), &value, &found,
                     NULL) == 0;
    if (*ok && found)
        STORM_CHECK(text_parse_u64(buf_slice(&value), &n, NULL) == 0,
                    "a counter that was not written");
    buf_close(&value);
    return n;
}

/* The second is read after the first, so it is never behind. */
static void look_at_pair(struct quarry_table *pairs, struct rand_gen *rand)
{
    bool a_first = rand_one_in(rand, 2);
    bool ok[2];
    uint64_t first = read_pair(pairs, a_first ? "a" : "z", &ok[0]);
    uint64_t second = read_pair(pairs, a_first ? "z" : "a", &ok[1]);
    STORM_CHECK(!ok[0] || !ok[1] || second >= first,
                "half of a transaction is seen: %" PRIu64 " and then %" PRIu64,
                first, second);
}

static void write_rows(struct storm_client *c)
{
    struct observers_play *p = c->ctx;
    struct pair_write w = {.play = p, .rand = &c->rand};
    struct quarry *q;
    if (tables_cell_open(p->tables, c->world, CALL_US, &q, NULL))
        return;
    w.quarry = q;
    if (quarry_table_open(q, "t", &w.table, NULL) == 0 &&
        quarry_table_open(q, "pairs", &w.pairs, NULL) == 0) {
        while (storm_goes_on(c)) {
            if (rand_one_in(&c->rand, 3))
                write_in_txn(&w);
            else
                write_plain(p, w.table, &c->rand);
            look_at_pair(w.pairs, &c->rand);
            c->storm->call_count++;
            storm_sleep_us(rand_below(&c->rand, PAUSE_US));
        }
    }
    quarry_table_close(w.table);
    quarry_table_close(w.pairs);
    quarry_close(q);
}

/* --- the observer -------------------------------------------------------- */

/* Count the commit @id in row @id of "seen". */
static int count_id(struct quarry_observation *o,
                    struct quarry_table *seen,
                    uint64_t id,
                    struct err *err)
{
    struct buf value = BUF_INIT;
    struct quarry_mutation *m;
    uint64_t times = 0;
    char row[24];
    bool found;
    int rc;
    snprintf(row, sizeof(row), "%" PRIu64, id);
    rc = quarry_txn_get(o->txn, seen, slice_str(row), "f", SLICE_LIT("n"),
                        &value, &found, err);
    if (rc == 0 && found)
        rc = text_parse_u64(buf_slice(&value), &times, err);
    buf_close(&value);
    if (rc)
        return rc;
    m = quarry_mutation_new(slice_str(row));
    set_text(m, "n", times + 1);
    rc = quarry_observer_write(o, "seen", m, err);
    quarry_mutation_free(m);
    return rc;
}

static int count_changes(struct quarry_observation *o,
                         struct quarry_table *seen,
                         struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < o->change_count && rc == 0; i++) {
        const struct quarry_change *c = &o->changes[i];
        for (size_t k = 0; k < c->entry_count && rc == 0; k++) {
            uint64_t id;
            if (c->entries[k].kind == QUARRY_CHANGE_SET &&
                slice_eq_str(c->entries[k].qualifier, "id") &&
                text_parse_u64(c->entries[k].value, &id, NULL) == 0)
                rc = count_id(o, seen, id, err);
        }
    }
    return rc;
}

/* Row of "copy": what the row has now. */
static int copy_row(struct quarry_observation *o, struct err *err)
{
    struct quarry_mutation *m = quarry_mutation_new(o->row);
    int rc;
    quarry_mutation_delete_family(m, "f");
    for (size_t i = 0; o->cells && i < o->cells->cell_count; i++)
        quarry_mutation_set(m, "f", o->cells->cells[i].qualifier, QUARRY_NOW,
                            o->cells->cells[i].value);
    rc = quarry_observer_write(o, "copy", m, err);
    quarry_mutation_free(m);
    return rc;
}

static int observe_row(struct quarry_observation *o, void *ctx, struct err *err)
{
    int rc = count_changes(o, ctx, err);
    return rc ? rc : copy_row(o, err);
}

struct observing {
    struct quarry *quarry;
    struct quarry_table *seen;
    quarry_flag stop;
};

static void run_observer(void *arg)
{
    struct observing *o = arg;
    const struct quarry_observer_run_options run = {.stop = &o->stop};
    while (!o->stop) {
        (void)!quarry_observer_run(o->quarry, "o", observe_row, o->seen, &run,
                                   NULL);
        storm_sleep_us(SECOND_US / 5);
    }
}

/* Begin to run the observer on @q, whose machine is @world. */
static struct task *
start_observer(struct observing *o, struct world *world, struct quarry *q)
{
    *o = (struct observing){.quarry = q};
    if (quarry_table_open(q, "seen", &o->seen, NULL))
        return NULL;
    return task_start(world, "observer", run_observer, o);
}

static void end_observer(struct observing *o, struct task *task)
{
    o->stop = true;
    if (task)
        task_join(task);
    quarry_table_close(o->seen);
}

static void observe(struct storm_client *c)
{
    struct observers_play *p = c->ctx;
    struct observing o;
    struct quarry *q;
    struct task *task;
    if (tables_cell_open(p->tables, c->world, CALL_US, &q, NULL))
        return;
    task = start_observer(&o, c->world, q);
    while (task && storm_goes_on(c))
        storm_sleep_us(SECOND_US / 5);
    end_observer(&o, task);
    quarry_close(q);
}

/* --- who shapes the tables ----------------------------------------------- */

static int build_index(struct quarry *q, struct err *err)
{
    const struct quarry_index_column by[] = {{"f", {"n", 1}}};
    const struct quarry_index_spec spec = {
        .table = "t", .name = "n", .columns = by, .column_count = 1};
    return quarry_index_create(q, &spec, NULL, NULL, err);
}

/* The table of rows, or that of the entries of an index. */
static bool
choose_table(struct quarry *q, struct rand_gen *rand, struct buf *name)
{
    struct quarry_index_list *l;
    buf_clear(name);
    buf_append_slice(name, SLICE_LIT("t"));
    if (rand_one_in(rand, 2))
        return true;
    if (quarry_index_list(q, "t", &l, NULL))
        return false;
    if (l->count) {
        buf_clear(name);
        buf_printf(name, "%s", l->list[rand_below(rand, l->count)].entries);
    }
    quarry_index_list_free(l);
    return true;
}

static void
shape(struct observers_play *p, struct quarry *q, struct rand_gen *rand)
{
    unsigned server = (unsigned)rand_below(rand, TABLET_SERVERS);
    struct buf table = BUF_INIT;
    struct quarry_move move;
    char name[8];
    struct slice row = row_name(rand_below(rand, ROWS), name);
    if (choose_table(q, rand, &table)) {
        const char *t = buf_cstr(&table);
        switch (rand_below(rand, 5)) {
        case 0: (void)!quarry_table_split(q, t, row, NULL); break;
        case 1: (void)!quarry_table_compact(q, t, NULL); break;
        case 2: (void)!quarry_flush(q, NULL); break;
        case 3: (void)!build_index(q, NULL); break;
        default:
            (void)!quarry_table_move_tablet(
                q, t, row, p->tables->tablets[server].address, &move, NULL);
        }
    }
    buf_close(&table);
}

static void shape_tables(struct storm_client *c)
{
    struct observers_play *p = c->ctx;
    struct quarry *q;
    if (tables_cell_open(p->tables, c->world, CALL_US, &q, NULL))
        return;
    while (storm_goes_on(c)) {
        shape(p, q, &c->rand);
        c->storm->call_count++;
        storm_sleep_us(rand_below(&c->rand, 2 * SECOND_US));
    }
    quarry_close(q);
}

/* --- the cell ------------------------------------------------------------ */

static struct quarry *open_quiet(struct observers_play *p)
{
    struct err err = ERR_INIT;
    struct quarry *q;
    STORM_CHECK(tables_cell_open(p->tables, sim_director(p->storm->sim),
                                 FINISH_US, &q, &err) == 0,
                "%s", err.text);
    return q;
}

static int make_observer(struct quarry *q, struct err *err)
{
    static const char *const columns[] = {"f"};
    static const char *const writes[] = {"seen:f", "copy:f"};
    const struct quarry_observer_spec spec = {.name = "o",
                                              .table = "t",
                                              .columns = columns,
                                              .column_count = 1,
                                              .writes = writes,
                                              .write_count = 2,
                                              .tries = UINT32_MAX};
    return quarry_observer_create(q, &spec, err);
}

static int make_unique_index(struct quarry *q, struct err *err)
{
    const struct quarry_index_column by[] = {{"f", {"mail", 4}}};
    const struct quarry_index_spec spec = {.table = "t",
                                           .name = "mail",
                                           .columns = by,
                                           .column_count = 1,
                                           .unique = true};
    return quarry_index_create(q, &spec, NULL, NULL, err);
}

static void make_tables(struct observers_play *p)
{
    static const char *const others[] = {"seen", "copy", "pairs"};
    const struct quarry_family_spec f = {"f", "versions=1"};
    struct err err = ERR_INIT;
    struct quarry *q = open_quiet(p);
    int rc =
        quarry_table_create_with_changes(q, "t", &f, 1, NULL, 0, "1d", &err);
    if (rc == 0)
        rc = quarry_table_enable_transactions(q, "t", &err);
    for (size_t i = 0; i < ARRAY_LEN(others) && rc == 0; i++) {
        rc = quarry_table_create(q, others[i], &f, 1, NULL, 0, &err);
        if (rc == 0)
            rc = quarry_table_enable_transactions(q, others[i], &err);
    }
    if (rc == 0) /* The two counters are on two tablets. */
        rc = quarry_table_split(q, "pairs", SLICE_LIT("m"), &err);
    if (rc == 0)
        rc = make_unique_index(q, &err);
    if (rc == 0)
        rc = make_observer(q, &err);
    STORM_CHECK(rc == 0, "%s", err.text);
    quarry_close(q);
}

static void observers_begin(struct observers_play *p)
{
    static const char *const names[] = {"u0", "u1", "u2", "a0", "o0", "o1"};
    const struct sim_cell_options o = {
        .lock_servers = 3, .namenodes = 1, .chunk_servers = 3};
    p->cell = sim_cell_new(p->storm->sim, &o);
    p->tables = tables_cell_new(p->cell, MASTERS, TABLET_SERVERS);
    sim_cell_boot(p->cell);
    storm_sleep_us(CALM_BEFORE_US);
    tables_cell_boot(p->tables);
    (void)tables_await_true(p->tables, TRUE_US);
    make_tables(p);
    for (size_t i = 0; i < WRITERS + 1 + OBSERVERS; i++)
        storm_add_client(p->storm, names[i],
                         i < WRITERS    ? write_rows
                         : i == WRITERS ? shape_tables
                                        : observe,
                         p);
}

static uint64_t observers_strike(struct observers_play *p)
{
    struct strike s = {.storm = p->storm, .duration_us = STORM_US};
    struct world *machines[STORM_CLIENTS_MAX];
    struct world *servers[SIM_CELL_CHUNKS_MAX];
    size_t count = sim_cell_machines(p->cell, SIM_LOCK_SERVER, servers);
    strike_add(&s, servers, count, (count - 1) / 2);
    count = tables_cell_masters(p->tables, machines);
    strike_add(&s, machines, count, count);
    count = tables_cell_tablets(p->tables, machines);
    strike_add(&s, machines, count, count)->clock_us_max = CLOCK_US_MAX;
    count = storm_client_machines(p->storm, machines);
    strike_add(&s, machines, count, count);
    return strike_run(&s);
}

/* --- the outcome --------------------------------------------------------- */

static struct quarry_table *open_checked(struct quarry *q, const char *name)
{
    struct err err = ERR_INIT;
    struct quarry_table *t;
    STORM_CHECK(quarry_table_open(q, name, &t, &err) == 0, "%s", err.text);
    return t;
}

/* Text of f:@column of @row; empty: none. */
static struct slice text_of(const struct quarry_row *row, const char *column)
{
    for (size_t i = 0; row && i < row->cell_count; i++)
        if (slice_eq_str(row->cells[i].qualifier, column))
            return row->cells[i].value;
    return SLICE_EMPTY;
}

/* Run the observer until it has dealt with all that was written. */
static void catch_up(struct observers_play *p, struct quarry *q)
{
    const struct quarry_observer_run_options o = {.until_caught_up = true};
    struct quarry_table *seen = open_checked(q, "seen");
    uint64_t until = storm_now_us() + CATCH_UP_US;
    struct err err = ERR_INIT;
    int rc = ERR_UNAVAILABLE;
    (void)p;
    while (rc && storm_now_us() < until) {
        err_init(&err);
        rc = quarry_observer_run(q, "o", observe_row, seen, &o, &err);
    }
    STORM_CHECK(rc == 0, "the observer does not catch up: %s", err.text);
    quarry_table_close(seen);
}

/* How often each id was counted. */
static uint8_t *read_seen(struct observers_play *p, struct quarry *q)
{
    const struct quarry_read_options newest = {.versions = 1};
    struct quarry_table *seen = open_checked(q, "seen");
    uint8_t *times = mem_zalloc(p->ids + 1, 1);
    const struct quarry_row *row;
    struct quarry_scanner *s;
    struct err err = ERR_INIT;
    int rc = quarry_scan(seen, &newest, &s, &err);
    while (rc == 0 && (rc = quarry_scanner_next(s, &row, &err)) == 0 && row) {
        uint64_t id = 0;
        uint64_t n = 0;
        STORM_CHECK(text_parse_u64(row->key, &id, NULL) == 0 && id > 0 &&
                        id <= p->ids &&
                        text_parse_u64(text_of(row, "n"), &n, NULL) == 0,
                    "the observer counts what nobody wrote: %.*s",
                    SLICE_ARG(row->key));
        STORM_CHECK(n == 1, "commit %" PRIu64 " was counted %" PRIu64 " times",
                    id, n);
        times[id] = 1;
    }
    STORM_CHECK(rc == 0, "%s", err.text);
    quarry_scanner_close(s);
    quarry_table_close(seen);
    return times;
}

static void check_effects(struct observers_play *p, struct quarry *q)
{
    uint8_t *times = read_seen(p, q);
    for (uint64_t id = 1; id <= p->ids; id++) {
        STORM_CHECK(p->made[id - 1] != 2 || times[id],
                    "commit %" PRIu64 " was never counted", id);
        STORM_CHECK(p->made[id - 1] != 0 || !times[id],
                    "commit %" PRIu64 ", which was refused, was counted", id);
    }
    mem_free(times);
}

static bool is_same_row(const struct quarry_row *a, const struct quarry_row *b)
{
    static const char *const columns[] = {"id", "n", "mail"};
    for (size_t i = 0; i < ARRAY_LEN(columns); i++)
        if (!slice_eq(text_of(a, columns[i]), text_of(b, columns[i])))
            return false;
    return true;
}

static struct quarry_row *read_row(struct quarry_table *t, struct slice row)
{
    const struct quarry_read_options newest = {.versions = 1};
    struct quarry_row *found;
    struct err err = ERR_INIT;
    STORM_CHECK(quarry_read_row(t, row, &newest, &found, &err) == 0, "%s",
                err.text);
    return found;
}

/* Rows that the index gives for @value, as bits by their numbers. */
static uint64_t look_up(struct quarry_table *t, const char *index, uint64_t n)
{
    char text[24];
    int len = snprintf(text, sizeof(text), "%" PRIu64, n);
    const struct slice value = slice_make(text, (size_t)len);
    const struct quarry_index_query query = {
        .index = index, .equal = &value, .equal_count = 1};
    const struct quarry_row *row;
    struct quarry_scanner *s;
    struct err err = ERR_INIT;
    uint64_t found = 0;
    int rc = quarry_index_scan(t, &query, NULL, &s, &err);
    while (rc == 0 && (rc = quarry_scanner_next(s, &row, &err)) == 0 && row) {
        uint64_t number = 0;
        STORM_CHECK(
            row->key.len == 3 &&
                text_parse_u64(slice_sub(row->key, 1, 3), &number, NULL) == 0 &&
                number < ROWS,
            "index %s has a row that nobody wrote", index);
        STORM_CHECK(!(found >> number & 1), "index %s has row %.*s twice",
                    index, SLICE_ARG(row->key));
        found |= UINT64_C(1) << number;
    }
    STORM_CHECK(rc == 0, "index %s: %s", index, err.text);
    quarry_scanner_close(s);
    return found;
}

/* Rows that have @n in f:@column, as bits by their numbers. */
static uint64_t
recompute(struct quarry_row *const rows[ROWS], const char *column, uint64_t n)
{
    char text[24];
    uint64_t found = 0;
    snprintf(text, sizeof(text), "%" PRIu64, n);
    for (size_t i = 0; i < ROWS; i++)
        if (slice_eq_str(text_of(rows[i], column), text))
            found |= UINT64_C(1) << i;
    return found;
}

static void check_index(struct quarry *q,
                        struct quarry_table *t,
                        struct quarry_row *const rows[ROWS],
                        const char *name,
                        uint64_t values,
                        bool unique)
{
    struct quarry_index_report r;
    struct err err = ERR_INIT;
    for (uint64_t n = 0; n < values; n++) {
        uint64_t wanted = recompute(rows, name, n);
        uint64_t found = look_up(t, name, n);
        STORM_CHECK(found == wanted,
                    "index %s gives for %" PRIu64 " the rows %" PRIx64
                    ", and they are %" PRIx64,
                    name, n, found, wanted);
        STORM_CHECK(!unique || (wanted & (wanted - 1)) == 0,
                    "two rows have the value %" PRIu64 " of a unique index: "
                    "%" PRIx64,
                    n, wanted);
    }
    STORM_CHECK(quarry_index_check(q, "t", name, false, &r, NULL, NULL, &err) ==
                    0,
                "%s", err.text);
    STORM_CHECK(r.missing == 0 && r.twice == 0,
                "index %s lacks %" PRIu64 " rows, and has %" PRIu64 " twice",
                name, r.missing, r.twice);
}

static void finish_index(struct quarry *q)
{
    uint64_t until = storm_now_us() + CATCH_UP_US;
    struct err err = ERR_INIT;
    int rc;
    do {
        err_init(&err);
        rc = build_index(q, &err);
        if (rc && rc != ERR_EXISTS)
            storm_sleep_us(SECOND_US);
    } while (rc && rc != ERR_EXISTS && storm_now_us() < until);
    STORM_CHECK(rc == 0 || rc == ERR_EXISTS, "index n: %s", err.text);
}

static void observers_check(struct observers_play *p)
{
    struct quarry *q = open_quiet(p);
    struct quarry_table *t = open_checked(q, "t");
    struct quarry_table *copy = open_checked(q, "copy");
    struct quarry_txn_sweep swept;
    struct quarry_row *rows[ROWS];
    struct err err = ERR_INIT;
    /* Look-ups do not wait for transactions whose clients died. */
    STORM_CHECK(quarry_txn_sweep(q, NULL, &swept, &err) == 0, "%s", err.text);
    finish_index(q);
    catch_up(p, q);
    check_effects(p, q);
    for (size_t i = 0; i < ROWS; i++) {
        char name[8];
        struct quarry_row *copied = read_row(copy, row_name(i, name));
        rows[i] = read_row(t, row_name(i, name));
        STORM_CHECK(is_same_row(rows[i], copied),
                    "the copy of row %s has id %.*s, and the row has %.*s",
                    name, SLICE_ARG(text_of(copied, "id")),
                    SLICE_ARG(text_of(rows[i], "id")));
        quarry_row_free(copied);
    }
    check_index(q, t, rows, "mail", MAILS, true);
    check_index(q, t, rows, "n", NUMBERS, false);
    for (size_t i = 0; i < ROWS; i++)
        quarry_row_free(rows[i]);
    quarry_table_close(t);
    quarry_table_close(copy);
    quarry_close(q);
}

static void run_observers(struct storm *s, struct buf *figures)
{
    struct observers_play p = {.storm = s};
    uint64_t faults;
    observers_begin(&p);
    faults = observers_strike(&p);
    sim_cell_supervise(p.cell);
    tables_cell_supervise(p.tables);
    storm_end(s);
    (void)tables_await_true(p.tables, TRUE_US);
    observers_check(&p);
    buf_printf(figures,
               " faults=%" PRIu64 " calls=%" PRIu64 " writes=%" PRIu64
               " refused=%" PRIu64,
               faults, s->call_count, p.writes, p.refused);
    tables_cell_stop(p.tables);
    sim_cell_stop(p.cell);
    mem_free(p.made);
    tables_cell_free(p.tables);
    sim_cell_free(p.cell);
}

const struct scenario scenario_observers = {
    "observers",
    "3 lock servers, 2 masters, 3 tablet servers, 3 writers, one who shapes "
    "tables and builds an index, 2 that run an observer",
    run_observers};
