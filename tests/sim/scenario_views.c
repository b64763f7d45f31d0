/* A view on a cell with tables: clients write and delete rows, two machines
 * maintain a view of them, and all crash, hang and are cut off. When all is
 * healed and the view has caught up, it is what its program gives of the rows.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/quarry_view.h"
#include "bigtable/view/view_follow.h"
#include "tests/sim/cell.h"
#include "tests/sim/scenario.h"
#include "tests/sim/storm.h"
#include "tests/sim/strike.h"
#include "tests/sim/tables_cell.h"
#include "tests/sim/tables_health.h"

#define CALM_BEFORE_US (3 * SECOND_US)
#define STORM_US       (20 * SECOND_US)
#define TRUE_US        (120 * SECOND_US)
#define CALL_US        (10 * SECOND_US)
#define FINISH_US      (60 * SECOND_US)
#define CATCH_UP_US    (120 * SECOND_US)
#define PAUSE_US       (SECOND_US / 10)

enum {
    MASTERS = 2,
    TABLET_SERVERS = 3,
    WRITERS = 3,
    MAINTAINERS = 2,
    ROWS = 40
};

static const char program[] = "r: Row = input;\n"
                              "total: table sum of int;\n"
                              "by: table sum[g: int] of int;\n"
                              "best: table maximum(3) of string weight int;\n"
                              "keys: table collection of string;\n"
                              "n: int = int(string(cell(r, \"f:n\")), 10);\n"
                              "emit total <- n;\n"
                              "emit by[n % 3] <- n;\n"
                              "emit best <- string(r.key) weight n;\n"
                              "emit keys <- string(r.key);\n";

struct views_play {
    struct storm *storm;
    struct sim_cell *cell;
    struct tables_cell *tables;
    uint64_t writes;
};

static const struct follower_kind *const kinds[] = {&view_kind};

/* --- writers and maintainers --------------------------------------------- */

static void
write_row(struct views_play *p, struct quarry_table *t, struct rand_gen *rand)
{
    char name[16];
    char number[16];
    struct quarry_mutation *m;
    snprintf(name, sizeof(name), "r%02u", (unsigned)rand_below(rand, ROWS));
    snprintf(number, sizeof(number), "%u", (unsigned)rand_below(rand, 1000));
    m = quarry_mutation_new(slice_str(name));
    if (rand_one_in(rand, 5))
        quarry_mutation_delete_row(m);
    else
        quarry_mutation_set(m, "f", SLICE_LIT("n"), QUARRY_NOW,
                            slice_str(number));
    p->writes += quarry_apply(t, m, NULL, NULL) == 0;
    quarry_mutation_free(m);
}

static void write_rows(struct storm_client *c)
{
    struct views_play *p = c->ctx;
    struct quarry_table *t = NULL;
    struct quarry *q;
    if (tables_cell_open(p->tables, c->world, CALL_US, &q, NULL))
        return;
    if (quarry_table_open(q, "t", &t, NULL) == 0) {
        while (storm_goes_on(c)) {
            write_row(p, t, &c->rand);
            c->storm->call_count++;
            storm_sleep_us(rand_below(&c->rand, PAUSE_US));
        }
        quarry_table_close(t);
    }
    quarry_close(q);
}

static void maintain(struct storm_client *c)
{
    struct views_play *p = c->ctx;
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

/* --- the cell ------------------------------------------------------------ */

static struct quarry *open_quiet(struct views_play *p)
{
    struct err err = ERR_INIT;
    struct quarry *q;
    STORM_CHECK(tables_cell_open(p->tables, sim_director(p->storm->sim),
                                 FINISH_US, &q, &err) == 0,
                "%s", err.text);
    return q;
}

static void make_view(struct views_play *p)
{
    const struct quarry_family_spec f = {"f", "versions=1"};
    const struct quarry_view_spec spec = {
        .name = "v", .table = "t", .program = slice_str(program)};
    struct err err = ERR_INIT;
    struct quarry *q = open_quiet(p);
    STORM_CHECK(quarry_table_create_with_changes(q, "t", &f, 1, NULL, 0, "1d",
                                                 &err) == 0,
                "%s", err.text);
    STORM_CHECK(quarry_view_create(q, &spec, &err) == 0, "%s", err.text);
    quarry_close(q);
}

static void views_begin(struct views_play *p)
{
    static const char *const names[] = {"u0", "u1", "u2", "v0", "v1"};
    const struct sim_cell_options o = {
        .lock_servers = 3, .namenodes = 1, .chunk_servers = 3};
    p->cell = sim_cell_new(p->storm->sim, &o);
    p->tables = tables_cell_new(p->cell, MASTERS, TABLET_SERVERS);
    sim_cell_boot(p->cell);
    storm_sleep_us(CALM_BEFORE_US);
    tables_cell_boot(p->tables);
    (void)tables_await_true(p->tables, TRUE_US);
    make_view(p);
    for (size_t i = 0; i < WRITERS + MAINTAINERS; i++)
        storm_add_client(p->storm, names[i],
                         i < WRITERS ? write_rows : maintain, p);
}

static uint64_t views_strike(struct views_play *p)
{
    struct strike s = {.storm = p->storm, .duration_us = STORM_US};
    struct world *machines[STORM_CLIENTS_MAX];
    struct world *servers[SIM_CELL_CHUNKS_MAX];
    size_t count = sim_cell_machines(p->cell, SIM_LOCK_SERVER, servers);
    strike_add(&s, servers, count, (count - 1) / 2);
    count = tables_cell_masters(p->tables, machines);
    strike_add(&s, machines, count, count);
    count = tables_cell_tablets(p->tables, machines);
    strike_add(&s, machines, count, count);
    count = storm_client_machines(p->storm, machines);
    strike_add(&s, machines, count, count);
    return strike_run(&s);
}

/* --- the outcome --------------------------------------------------------- */

/* The view as one more maintainer leaves it, which nothing befalls. */
static void views_check(struct views_play *p)
{
    struct quarry_view_check c = {.wrong_rows = 1};
    struct follower_host *h = NULL;
    struct err err = ERR_INIT;
    struct quarry *q = open_quiet(p);
    int rc = -1;
    STORM_CHECK(
        follower_host_open(q, kinds, ARRAY_LEN(kinds), NULL, &h, &err) == 0,
        "%s", err.text);
    /* Servers come back; it may still be built. */
    for (uint64_t us = 0; rc && us < CATCH_UP_US; us += SECOND_US) {
        rc = quarry_view_check(q, "v", CATCH_UP_US, &c, &err);
        if (rc)
            storm_sleep_us(SECOND_US);
    }
    STORM_CHECK(rc == 0, "%s", err.text);
    STORM_CHECK(c.wrong_rows == 0 && c.wrong_groups == 0,
                "the view is wrong: %s", c.example);
    follower_host_close(h);
    quarry_close(q);
}

static void run_views(struct storm *s, struct buf *figures)
{
    struct views_play p = {.storm = s};
    uint64_t faults;
    views_begin(&p);
    faults = views_strike(&p);
    sim_cell_supervise(p.cell);
    tables_cell_supervise(p.tables);
    storm_end(s);
    views_check(&p);
    buf_printf(figures, " faults=%" PRIu64 " calls=%" PRIu64 " writes=%" PRIu64,
               faults, s->call_count, p.writes);
    tables_cell_stop(p.tables);
    sim_cell_stop(p.cell);
    tables_cell_free(p.tables);
    sim_cell_free(p.cell);
}

const struct scenario scenario_views = {
    "views",
    "3 lock servers, 2 masters, 3 tablet servers, 3 writers, 2 that maintain a "
    "view",
    run_views};
