/* Transactions on a cell with tables: clients read and append to lists in two
 * tables while masters, tablet servers, lock servers and they themselves crash,
 * hang and are cut off; then the history of all of them is searched for cycles
 * of dependencies (tests/lib/append_history.h). By the seed all transactions
 * are serialisable, or none is.
 */
#include <inttypes.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/quarry_txn.h"
#include "tests/clients/txns.h"
#include "tests/lib/append_history.h"
#include "tests/sim/cell.h"
#include "tests/sim/scenario.h"
#include "tests/sim/storm.h"
#include "tests/sim/strike.h"
#include "tests/sim/tables_cell.h"
#include "tests/sim/tables_health.h"

#define CALM_BEFORE_US (3 * SECOND_US)
#define STORM_US       (15 * SECOND_US)
/* So soon after the last fault all tablets are served. */
#define TRUE_US   (120 * SECOND_US)
#define CALL_US   (10 * SECOND_US)
#define LEASE_US  (2 * SECOND_US)
#define PAUSE_US  (SECOND_US / 20)
#define FINISH_US (60 * SECOND_US)

enum {
    MASTERS = 2,
    TABLET_SERVERS = 3,
    CLIENTS = 5,
    LISTS = 8
};

struct play {
    struct storm *storm;
    struct sim_cell *cell;
    struct tables_cell *tables;
    struct append_history *history;
    uint64_t appends;
    int64_t now; /* Events so far: one thread, so their order is the time's. */
    uint64_t commits;
    uint64_t conflicts;
};

static void no_lock(void *ctx)
{
    (void)ctx;
}

static int64_t count_event(void *ctx)
{
    return ++((struct play *)ctx)->now;
}

static struct txn_client
client_of(struct play *p, struct quarry *q, struct rand_gen *rand)
{
    return (struct txn_client){.quarry = q,
                               .history = p->history,
                               .rand = rand,
                               .lists = LISTS,
                               .fixed_lists = true,
                               .appends = &p->appends,
                               .serializable = p->storm->seed % 2,
                               .lease_us = LEASE_US,
                               .timeout_us = CALL_US,
                               .lock = no_lock,
                               .unlock = no_lock,
                               .clock = count_event,
                               .ctx = p};
}

static void work(struct storm_client *c)
{
    struct play *p = c->ctx;
    struct txn_client t;
    struct quarry *q;
    if (tables_cell_open(p->tables, c->world, CALL_US, &q, NULL))
        return;
    t = client_of(p, q, &c->rand);
    if (txn_client_open(&t, NULL) == 0) {
        while (storm_goes_on(c)) {
            (void)!txn_client_step(&t, NULL);
            c->storm->call_count++;
            storm_sleep_us(rand_below(&c->rand, PAUSE_US));
        }
    }
    p->commits += t.commits;
    p->conflicts += t.conflicts;
    txn_client_close(&t);
    quarry_close(q);
}

static void make_tables(struct play *p)
{
    struct err err = ERR_INIT;
    struct quarry *q;
    STORM_CHECK(tables_cell_open(p->tables, sim_director(p->storm->sim),
                                 FINISH_US, &q, &err) == 0,
                "%s", err.text);
    STORM_CHECK(txn_tables_create(q, &err) == 0, "%s", err.text);
    quarry_close(q);
}

static void begin(struct play *p)
{
    static const char *const names[CLIENTS] = {"u0", "u1", "u2", "u3", "u4"};
    const struct sim_cell_options o = {
        .lock_servers = 3, .namenodes = 1, .chunk_servers = 3};
    p->cell = sim_cell_new(p->storm->sim, &o);
    p->tables = tables_cell_new(p->cell, MASTERS, TABLET_SERVERS);
    p->history = append_history_new();
    sim_cell_boot(p->cell);
    storm_sleep_us(CALM_BEFORE_US);
    tables_cell_boot(p->tables);
    (void)tables_await_true(p->tables, TRUE_US);
    make_tables(p);
    for (size_t i = 0; i < CLIENTS; i++)
        storm_add_client(p->storm, names[i], work, p);
}

static uint64_t strike(struct play *p)
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

/* Every list is read, by a client that nothing befalls. */
static void read_all(struct play *p)
{
    struct err err = ERR_INIT;
    struct txn_client t;
    struct quarry *q;
    STORM_CHECK(tables_cell_open(p->tables, sim_director(p->storm->sim),
                                 FINISH_US, &q, &err) == 0,
                "%s", err.text);
    t = client_of(p, q, &p->storm->rand);
    t.timeout_us = FINISH_US;
    STORM_CHECK(txn_client_open(&t, &err) == 0, "%s", err.text);
    STORM_CHECK(txn_client_read_all(&t, &err) == 0, "%s", err.text);
    txn_client_close(&t);
    quarry_close(q);
}

static void check(struct play *p)
{
    enum append_level level =
        p->storm->seed % 2 ? APPEND_SERIALIZABLE : APPEND_SNAPSHOT;
    struct buf why = BUF_INIT;
    STORM_CHECK(append_check(p->history, level, &why), "transactions: %s",
                buf_cstr(&why));
    STORM_CHECK(p->commits > 0, "no transaction was committed");
    buf_close(&why);
}

static void run_transactions(struct storm *s, struct buf *figures)
{
    struct play p = {.storm = s};
    uint64_t faults;
    begin(&p);
    faults = strike(&p);
    sim_cell_supervise(p.cell);
    tables_cell_supervise(p.tables);
    storm_end(s);
    (void)tables_await_true(p.tables, TRUE_US);
    read_all(&p);
    buf_printf(figures,
               " faults=%" PRIu64 " calls=%" PRIu64 " commits=%" PRIu64
               " conflicts=%" PRIu64,
               faults, s->call_count, p.commits, p.conflicts);
    tables_cell_stop(p.tables);
    sim_cell_stop(p.cell);
    check(&p);
    append_history_free(p.history);
    tables_cell_free(p.tables);
    sim_cell_free(p.cell);
}

const struct scenario scenario_transactions = {
    "transactions",
    "3 lock servers, 2 masters, 3 tablet servers, 5 clients with transactions",
    run_transactions};
