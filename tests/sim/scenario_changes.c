/* A table that keeps its changes, on a cell with tables: clients write, readers
 * follow, and two machines run a named consumer that counts each change in a
 * transaction with its place, while tablets are split, moved and compacted and
 * everything crashes, hangs and is cut off, and at last loses its power. When
 * all is healed every reader has been told each commit once, in the order of
 * its row, and the consumer has counted each once (told_changes.h). In odd
 * seeds no clock of a tablet server jumps, and watermarks are true and rise.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "bigtable/follow/follow.h"
#include "bigtable/quarry_changes.h"
#include "tests/sim/cell.h"
#include "tests/sim/scenario.h"
#include "tests/sim/storm.h"
#include "tests/sim/strike.h"
#include "tests/sim/tables_cell.h"
#include "tests/sim/tables_health.h"
#include "tests/sim/told_changes.h"

#define CALM_BEFORE_US (3 * SECOND_US)
#define STORM_US       (20 * SECOND_US)
#define TRUE_US        (120 * SECOND_US)
#define CALL_US        (10 * SECOND_US)
#define FINISH_US      (60 * SECOND_US)
#define CATCH_UP_US    (180 * SECOND_US)
#define PAUSE_US       (SECOND_US / 10)
/* Of the consumer, so that a transaction has several changes, and some end
 * within a flush. */
#define CONSUMER_BYTES 2000

enum {
    MASTERS = 2,
    TABLET_SERVERS = 3,
    ROWS = 40,
    WRITERS = 3,
    READERS = 2,
    CONSUMERS = 2
};

struct changes_play {
    struct storm *storm;
    struct sim_cell *cell;
    struct tables_cell *tables;
    struct told_changes *told;
    struct told_reader *readers[READERS];
};

/* --- the named consumer -------------------------------------------------- */

struct counting {
    struct follower_run *run; /* Borrowed, as all. */
    struct quarry_table *seen;
    struct quarry_changes *changes;
    const struct quarry_change *list;
    size_t count;
};

static int count_one(struct quarry_txn *txn,
                     struct quarry_table *seen,
                     const struct quarry_change *c,
                     struct err *err)
{
    struct buf value = BUF_INIT;
    uint64_t times = 0;
    char row[24];
    bool found;
    int rc;
    snprintf(row, sizeof(row), "%" PRIu64, told_id(c));
    rc = quarry_txn_get(txn, seen, slice_str(row), "f", SLICE_LIT("n"), &value,
                        &found, err);
    if (rc == 0 && found)
        rc = text_parse_u64(buf_slice(&value), &times, err);
    buf_clear(&value);
    buf_printf(&value, "%" PRIu64, times + 1);
    if (rc == 0)
        rc = quarry_txn_put(txn, seen, slice_str(row), "f", SLICE_LIT("n"),
                            buf_slice(&value), err);
    buf_close(&value);
    return rc;
}

static int count_all(struct quarry_txn *txn, void *ctx, struct err *err)
{
    const struct counting *c = ctx;
    int rc = 0;
    for (size_t i = 0; i < c->count && rc == 0; i++)
        rc = count_one(txn, c->seen, &c->list[i], err);
    return rc ? rc : follower_save_in_txn(c->run, txn, c->changes, err);
}

static int consume(struct follower_run *run, struct err *err)
{
    const struct quarry_changes_options o = {.since_us = QUARRY_CHANGES_OLDEST,
                                             .batch_bytes = CONSUMER_BYTES};
    struct quarry *q = follower_quarry(run);
    struct quarry_table *t = NULL;
    struct counting c = {.run = run};
    int rc = quarry_table_open(q, "t", &t, err);
    if (rc == 0)
        rc = quarry_table_open(q, "seen", &c.seen, err);
    if (rc == 0)
        rc = follower_changes_open(run, t, &o, &c.changes, err);
    while (rc == 0 && !follower_stopped(run)) {
        rc = follower_next(run, c.changes, &c.list, &c.count, err);
        if (rc == 0 && c.count)
            rc = quarry_txn_run(q, NULL, count_all, &c, err);
    }
    quarry_changes_close(c.changes);
    if (c.seen)
        quarry_table_close(c.seen);
    if (t)
        quarry_table_close(t);
    return rc;
}

static const struct follower_kind counter_kind = {.name = "counter",
                                                  .run = consume};
static const struct follower_kind *const kinds[] = {&counter_kind};

/* --- clients ------------------------------------------------------------- */

static bool
open_table(struct storm_client *c, struct quarry **q, struct quarry_table **t)
{
    struct changes_play *p = c->ctx;
    if (tables_cell_open(p->tables, c->world, CALL_US, q, NULL))
        return false;
    if (quarry_table_open(*q, "t", t, NULL) == 0)
        return true;
    quarry_close(*q);
    return false;
}

static void write_rows(struct storm_client *c)
{
    struct changes_play *p = c->ctx;
    struct quarry_table *t;
    struct quarry *q;
    if (!open_table(c, &q, &t))
        return;
    while (storm_goes_on(c)) {
        told_write(p->told, t, &c->rand);
        c->storm->call_count++;
        storm_sleep_us(rand_below(&c->rand, PAUSE_US));
    }
    quarry_table_close(t);
    quarry_close(q);
}

/* The number of the reader is that of the client behind the writers. */
static void read_changes(struct storm_client *c)
{
    struct changes_play *p = c->ctx;
    struct told_reader *r = p->readers[c->number - WRITERS - 1];
    struct quarry_table *t;
    struct quarry *q;
    if (!open_table(c, &q, &t))
        return;
    while (storm_goes_on(c)) {
        if (told_read(r, t, &c->rand) != TOLD_SOME)
            storm_sleep_us(rand_below(&c->rand, PAUSE_US));
        c->storm->call_count++;
        if (rand_one_in(&c->rand, 20)) /* Until all is flushed. */
            storm_sleep_us(rand_below(&c->rand, 5 * SECOND_US));
    }
    quarry_table_close(t);
    quarry_close(q);
}

static void run_consumer(struct storm_client *c)
{
    struct changes_play *p = c->ctx;
    struct follower_host *h = NULL;
    struct quarry *q;
    if (tables_cell_open(p->tables, c->world, CALL_US, &q, NULL))
        return;
    if (follower_host_open(q, kinds, ARRAY_LEN(kinds), NULL, &h, NULL) == 0) {
        while (storm_goes_on(c))
            storm_sleep_us(SECOND_US / 5);
        follower_host_close(h);
    }
    quarry_close(q);
}

/* Split, move, flush and compact the table. */
static void shape_table(struct storm_client *c)
{
    struct changes_play *p = c->ctx;
    struct quarry_table *t;
    struct quarry *q;
    if (!open_table(c, &q, &t))
        return;
    while (storm_goes_on(c)) {
        struct quarry_move move;
        char row[8];
        unsigned server = (unsigned)rand_below(&c->rand, TABLET_SERVERS);
        snprintf(row, sizeof(row), "r%02u",
                 (unsigned)rand_below(&c->rand, ROWS) % 100);
        switch (rand_below(&c->rand, 4)) {
        case 0: (void)!quarry_table_split(q, "t", slice_str(row), NULL); break;
        case 1: (void)!quarry_table_compact(q, "t", NULL); break;
        case 2: (void)!quarry_flush(q, NULL); break;
        default:
            (void)!quarry_table_move_tablet(q, "t", slice_str(row),
                                            p->tables->tablets[server].address,
                                            &move, NULL);
        }
        c->storm->call_count++;
        storm_sleep_us(rand_below(&c->rand, 2 * SECOND_US));
    }
    quarry_table_close(t);
    quarry_close(q);
}

/* --- the cell ------------------------------------------------------------ */

static struct quarry *open_quiet(struct changes_play *p)
{
    struct err err = ERR_INIT;
    struct quarry *q;
    STORM_CHECK(tables_cell_open(p->tables, sim_director(p->storm->sim),
                                 FINISH_US, &q, &err) == 0,
                "%s", err.text);
    return q;
}

static void make_tables(struct changes_play *p)
{
    const struct follower_record counter = {
        .kind = "counter", .name = "c", .table = "t"};
    const struct quarry_family_spec f = {"f", "versions=1"};
    struct err err = ERR_INIT;
    struct quarry *q = open_quiet(p);
    told_table_create(q);
    STORM_CHECK(quarry_table_create(q, "seen", &f, 1, NULL, 0, &err) == 0, "%s",
                err.text);
    STORM_CHECK(quarry_table_enable_transactions(q, "seen", &err) == 0, "%s",
                err.text);
    STORM_CHECK(follower_create(q, &counter, &err) == 0, "%s", err.text);
    quarry_close(q);
}

static void changes_begin(struct changes_play *p)
{
    static const char *const names[] = {"u0", "u1", "u2", "r0",
                                        "r1", "a0", "v0", "v1"};
    const char *const *name = names;
    const struct sim_cell_options o = {
        .lock_servers = 3, .namenodes = 1, .chunk_servers = 3};
    p->cell = sim_cell_new(p->storm->sim, &o);
    p->tables = tables_cell_new(p->cell, MASTERS, TABLET_SERVERS);
    p->told = told_changes_new(ROWS);
    p->readers[0] =
        told_reader_new(p->told, "whole", false, p->storm->seed % 2);
    p->readers[1] = told_reader_new(p->told, "parts", true, false);
    sim_cell_boot(p->cell);
    storm_sleep_us(CALM_BEFORE_US);
    tables_cell_boot(p->tables);
    (void)tables_await_true(p->tables, TRUE_US);
    make_tables(p);
    for (size_t i = 0; i < WRITERS; i++)
        storm_add_client(p->storm, *name++, write_rows, p);
    for (size_t i = 0; i < READERS; i++)
        storm_add_client(p->storm, *name++, read_changes, p);
    storm_add_client(p->storm, *name++, shape_table, p);
    for (size_t i = 0; i < CONSUMERS; i++)
        storm_add_client(p->storm, *name++, run_consumer, p);
}

static bool not_clocks(void *ctx, enum nemesis_fault f, struct world *m)
{
    (void)ctx;
    (void)m;
    return f != NEMESIS_CLOCK;
}

static uint64_t changes_strike(struct changes_play *p)
{
    struct strike s = {.storm = p->storm, .duration_us = STORM_US};
    struct world *machines[STORM_CLIENTS_MAX];
    struct world *servers[SIM_CELL_CHUNKS_MAX];
    size_t count = sim_cell_machines(p->cell, SIM_LOCK_SERVER, servers);
    struct strike_group *tablets;
    strike_add(&s, servers, count, (count - 1) / 2);
    count = tables_cell_masters(p->tables, machines);
    strike_add(&s, machines, count, count);
    count = tables_cell_tablets(p->tables, machines);
    tablets = strike_add(&s, machines, count, count);
    if (p->storm->seed % 2)
        tablets->allow = not_clocks;
    count = storm_client_machines(p->storm, machines);
    strike_add(&s, machines, count, count);
    return strike_run(&s);
}

/* All disks lose what was not synced, and all memory is gone, while the clients
 * work. */
static void lose_power(struct changes_play *p)
{
    struct world *machines[SIM_CELL_CHUNKS_MAX + TABLES_TABLETS_MAX];
    size_t count = sim_cell_machines(p->cell, SIM_CHUNK_SERVER, machines);
    count += tables_cell_tablets(p->tables, machines + count);
    for (size_t i = 0; i < count; i++)
        sim_crash(machines[i], SIM_CRASH_POWER);
    for (size_t i = 0; i < count; i++) {
        sim_await_end(machines[i]);
        sim_boot_again(machines[i]);
    }
    sim_cell_supervise(p->cell);
    tables_cell_supervise(p->tables);
    storm_sleep_us(CALM_BEFORE_US);
}

/* --- the outcome --------------------------------------------------------- */

static void
catch_up(struct changes_play *p, struct told_reader *r, struct quarry_table *t)
{
    uint64_t until = storm_now_us() + CATCH_UP_US;
    int64_t now = (int64_t)storm_now_us();
    told_reader_unite(r);
    while (told_read(r, t, &p->storm->rand) != TOLD_NOTHING || !told_all(r) ||
           (p->storm->seed % 2 && told_watermark_us(r) &&
            told_watermark_us(r) < now))
        STORM_CHECK(storm_now_us() < until, told_all(r)
                                                ? "a watermark does not rise"
                                                : "a reader does not catch up");
    told_check(r, t);
}

/* Count the rows of the consumer's table, each of which must say once. Only a
 * transaction finds commits that a client has not written into all rows before
 * it died. */
static uint64_t count_rows(struct changes_play *p,
                           struct quarry_txn_scanner *scan)
{
    const struct quarry_row *row;
    struct err err = ERR_INIT;
    uint64_t rows = 0;
    for (;; rows++) {
        uint64_t id = 0;
        STORM_CHECK(quarry_txn_scanner_next(scan, &row, &err) == 0, "%s",
                    err.text);
        if (!row)
            return rows;
        STORM_CHECK(text_parse_u64(row->key, &id, NULL) == 0 &&
                        told_has(p->readers[0], id),
                    "the consumer counts what no reader was told: %.*s",
                    SLICE_ARG(row->key));
        STORM_CHECK(row->cell_count == 1 &&
                        slice_eq_str(row->cells[0].value, "1"),
                    "the consumer counts commit %" PRIu64 " %.*s times", id,
                    SLICE_ARG(row->cells[0].value));
    }
}

static uint64_t
count_seen(struct changes_play *p, struct quarry *q, struct quarry_table *seen)
{
    const struct quarry_txn_options o = {.read_only = true};
    struct quarry_txn_scanner *scan;
    struct quarry_txn *txn;
    struct err err = ERR_INIT;
    uint64_t rows;
    STORM_CHECK(quarry_txn_begin(q, &o, &txn, &err) == 0 &&
                    quarry_txn_scan(txn, seen, SLICE_EMPTY, SLICE_EMPTY, &scan,
                                    &err) == 0,
                "%s", err.text);
    rows = count_rows(p, scan);
    quarry_txn_scanner_close(scan);
    quarry_txn_close(txn);
    return rows;
}

static void complain_of_consumer(struct changes_play *p,
                                 struct quarry *q,
                                 struct quarry_table *seen)
{
    struct follower_info *i;
    struct err err = ERR_INIT;
    STORM_CHECK(follower_get(q, "counter", "c", &i, &err) == 0, "%s", err.text);
    storm_fail("the consumer has counted %" PRIu64 " of %" PRIu64
               " commits; it has failed %" PRIu64 " times: %s",
               count_seen(p, q, seen), told_count(p->readers[0]), i->failures,
               i->error);
}

static void check_consumer(struct changes_play *p, struct quarry *q)
{
    uint64_t until = storm_now_us() + CATCH_UP_US;
    struct follower_host *h = NULL;
    struct quarry_table *seen;
    struct err err = ERR_INIT;
    STORM_CHECK(
        follower_host_open(q, kinds, ARRAY_LEN(kinds), NULL, &h, &err) == 0 &&
            quarry_table_open(q, "seen", &seen, &err) == 0,
        "%s", err.text);
    while (count_seen(p, q, seen) < told_count(p->readers[0])) {
        if (storm_now_us() > until)
            complain_of_consumer(p, q, seen);
        storm_sleep_us(SECOND_US);
    }
    quarry_table_close(seen);
    follower_host_close(h);
}

static void changes_check(struct changes_play *p)
{
    struct err err = ERR_INIT;
    struct quarry *q = open_quiet(p);
    struct quarry_table *t;
    STORM_CHECK(quarry_table_open(q, "t", &t, &err) == 0, "%s", err.text);
    for (size_t i = 0; i < READERS; i++)
        catch_up(p, p->readers[i], t);
    STORM_CHECK(told_count(p->readers[0]) == told_count(p->readers[1]),
                "two readers were told %" PRIu64 " and %" PRIu64 " commits",
                told_count(p->readers[0]), told_count(p->readers[1]));
    check_consumer(p, q);
    quarry_table_close(t);
    quarry_close(q);
}

static void run_changes(struct storm *s, struct buf *figures)
{
    struct changes_play p = {.storm = s};
    uint64_t faults;
    changes_begin(&p);
    faults = changes_strike(&p);
    lose_power(&p);
    storm_end(s);
    (void)tables_await_true(p.tables, TRUE_US);
    changes_check(&p);
    buf_printf(figures,
               " faults=%" PRIu64 " calls=%" PRIu64 " writes=%" PRIu64
               " told=%" PRIu64,
               faults, s->call_count, told_acknowledged(p.told),
               told_count(p.readers[0]));
    tables_cell_stop(p.tables);
    sim_cell_stop(p.cell);
    told_changes_free(p.told);
    tables_cell_free(p.tables);
    sim_cell_free(p.cell);
}

const struct scenario scenario_changes = {
    "changes",
    "3 lock servers, 2 masters, 3 tablet servers, 3 writers, 2 readers of "
    "changes, 2 that run a consumer",
    run_changes};
