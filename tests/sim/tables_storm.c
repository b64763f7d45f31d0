/* The operations of clients of tables. */
#include "tests/sim/tables_storm.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "bigtable/quarry.h"
#include "tests/clients/rows.h"
#include "tests/sim/tables_admin.h"
#include "tests/sim/tables_load.h"
#include "tests/sim/tables_spy.h"

enum {
    TABLES = 2,
    ROWS = 12, /* Of each. */
    VALUE_BYTES_MAX = 3000
};

/* A call takes at most so long, or is given up. */
#define CALL_US (10 * SECOND_US)
/* So long after the faults every call succeeds. */
#define SERVICE_US (120 * SECOND_US)

static const char *const table_names[TABLES] = {"left", "right"};

struct tables_storm {
    struct storm *storm;
    struct tables_cell *tables;
    struct history_rows *history;
    struct tables_admin *admin;
    struct tables_load *load;
    struct tables_spy *spy;
    uint32_t last_value;
    uint64_t client_count; /* Numbers for the history: one for each life. */
    uint64_t done[2];      /* Calls that failed, and that did not. */
};

/* --- users --------------------------------------------------------------- */

static uint64_t true_time(void *ctx)
{
    (void)ctx;
    return storm_now_us();
}

static struct row_client
client_of(struct tables_storm *t, struct quarry *q, struct rand_gen *rand)
{
    return (struct row_client){.quarry = q,
                               .table_name =
                                   table_names[rand_below(rand, TABLES)],
                               .history = t->history,
                               .rand = rand,
                               .number = ++t->client_count,
                               .row_count = ROWS,
                               .value_max = VALUE_BYTES_MAX,
                               .last_value = &t->last_value,
                               .clock = true_time};
}

static void
use_table(struct tables_storm *t, struct storm_client *c, struct quarry *q)
{
    struct row_client r = client_of(t, q, &c->rand);
    uint64_t steps = 10 + rand_below(&c->rand, 40);
    struct err err = ERR_INIT;
    int rc = row_client_open(&r, &err);
    STORM_CHECK(rc != ERR_NOTFOUND, "%s: %s", r.table_name, err.text);
    if (rc)
        return;
    while (steps-- && storm_goes_on(c)) {
        rc = row_client_step(&r, &err);
        STORM_CHECK(rc != ERR_NOTFOUND && rc != ERR_INVALID, "%s", err.text);
        t->done[rc == 0]++;
        t->storm->call_count++;
        storm_sleep_us(rand_below(&c->rand, SECOND_US / 10));
    }
    row_client_close(&r);
}

static void work(struct storm_client *c)
{
    struct tables_storm *t = c->ctx;
    while (storm_goes_on(c)) {
        struct quarry *q;
        if (tables_cell_open(t->tables, c->world, CALL_US, &q, NULL) == 0) {
            do
                use_table(t, c, q);
            while (storm_goes_on(c) && !rand_one_in(&c->rand, 4));
            quarry_close(q);
        }
        storm_sleep_us(rand_below(&c->rand, SECOND_US / 2));
    }
}

/* --- the whole ----------------------------------------------------------- */

static void make_tables(struct tables_storm *t)
{
    struct world *me = sim_director(t->storm->sim);
    struct quarry *q;
    struct err err = ERR_INIT;
    int rc = tables_cell_open(t->tables, me, SERVICE_US, &q, &err);
    STORM_CHECK(rc == 0, "%s", err.text);
    for (size_t i = 0; i < TABLES && rc == 0; i++)
        rc = row_table_create(q, table_names[i], &err);
    STORM_CHECK(rc == 0, "%s", err.text);
    tables_load_prepare(t->load, q);
    tables_spy_prepare(t->spy, q);
    quarry_close(q);
}

struct tables_storm *
tables_storm_new(struct storm *s, struct tables_cell *tables, unsigned users)
{
    struct tables_storm *t = mem_zalloc(1, sizeof(*t));
    t->storm = s;
    t->tables = tables;
    t->history = history_rows_new();
    t->load = tables_load_new(tables);
    t->spy = tables_spy_new(tables);
    t->admin = tables_admin_new(tables, table_names, TABLES);
    make_tables(t);
    for (unsigned i = 0; i < users; i++) {
        char name[16];
        snprintf(name, sizeof(name), "user%u", i % 100);
        storm_add_client(s, name, work, t);
    }
    storm_add_client(s, "loader", tables_load_work, t->load);
    storm_add_client(s, "spy", tables_spy_work, t->spy);
    storm_add_client(s, "admin", tables_admin_work, t->admin);
    return t;
}

static void
read_table(struct tables_storm *t, struct quarry *q, const char *name)
{
    struct rand_gen rand;
    struct row_client r;
    struct err err = ERR_INIT;
    int rc;
    rand_init(&rand, 1);
    r = client_of(t, q, &rand);
    r.table_name = name;
    rc = row_client_open(&r, &err);
    STORM_CHECK(rc == 0, "at the end: %s", err.text);
    rc = row_client_scan(&r, 0, ROWS, &err);
    for (uint32_t i = 0; i < ROWS && rc == 0; i++)
        rc = row_client_read(&r, i, &err);
    STORM_CHECK(rc == 0, "at the end: %s: %s", name, err.text);
    row_client_close(&r);
}

void tables_storm_finish(struct tables_storm *t)
{
    struct world *me = sim_director(t->storm->sim);
    struct quarry *q;
    struct err err = ERR_INIT;
    int rc = tables_cell_open(t->tables, me, SERVICE_US, &q, &err);
    STORM_CHECK(rc == 0, "%s", err.text);
    for (size_t i = 0; i < TABLES; i++)
        read_table(t, q, table_names[i]);
    tables_load_finish(t->load, q);
    tables_spy_finish(t->spy, q);
    tables_admin_finish(t->admin, q);
    quarry_close(q);
    STORM_CHECK(t->done[1] > 50, "only %" PRIu64 " calls succeeded",
                t->done[1]);
}

void tables_storm_check(const struct tables_storm *t)
{
    struct buf why = BUF_INIT;
    enum history_verdict v = history_rows_check(t->history, 0, &why);
    STORM_CHECK(v != HISTORY_WRONG, "%sthe answers about rows have no order",
                buf_cstr(&why));
    STORM_CHECK(v != HISTORY_TOO_HARD, "the history of rows is too hard");
    buf_close(&why);
}

uint64_t tables_storm_loaded(const struct tables_storm *t)
{
    return tables_load_count(t->load);
}

void tables_storm_free(struct tables_storm *t)
{
    tables_admin_free(t->admin);
    tables_load_free(t->load);
    tables_spy_free(t->spy);
    history_rows_free(t->history);
    mem_free(t);
}
