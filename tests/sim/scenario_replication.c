/* Two cells with a table each, connected by streams both ways, on which clients
 * write to both at once, while everything crashes, hangs and is cut off, clocks
 * jump, and the cells lose sight of each other. When all is healed both tables
 * become what the commits of both make of them in the order of their origins.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "bigtable/changes/change_conflict.h"
#include "bigtable/follow/follow.h"
#include "bigtable/quarry_changes.h"
#include "bigtable/quarry_replication.h"
#include "bigtable/replication/replication_follower.h"
#include "bigtable/replication/replication_settings.h"
#include "tests/sim/cell.h"
#include "tests/sim/row_model.h"
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
#define CATCH_UP_US    (240 * SECOND_US)
#define PAUSE_US       (SECOND_US / 10)
/* A commit that is an hour ahead is refused until the clock is there. */
#define CLOCK_US ((int64_t)600 * 1000000)

enum {
    SITES = 2,
    MASTERS = 2,
    TABLET_SERVERS = 3,
    ROWS = 12,
    WRITERS = 2,  /* At each site, */
    CARRIERS = 2, /* as these, which run its stream. */
    SITE_CLIENTS = WRITERS + CARRIERS + 1
};

struct replication_play;

struct site {
    struct replication_play *play;
    const char *name;
    struct sim_cell *cell;
    struct tables_cell *tables;
    struct told_changes *told;
    struct told_reader *reader; /* Of its own commits, at the end. */
    uint64_t number;
};

struct replication_play {
    struct storm *storm;
    struct site sites[SITES];
    struct quarry_change *commits; /* Of both; owned, with their bytes. */
    size_t commit_count;
};

static const struct follower_kind *const kinds[] = {&replication_follower};

/* --- clients ------------------------------------------------------------- */

static bool
open_table(struct storm_client *c, struct quarry **q, struct quarry_table **t)
{
    struct site *s = c->ctx;
    if (tables_cell_open(s->tables, c->world, CALL_US, q, NULL))
        return false;
    if (quarry_table_open(*q, "t", t, NULL) == 0)
        return true;
    quarry_close(*q);
    return false;
}

static void write_rows(struct storm_client *c)
{
    struct site *s = c->ctx;
    struct quarry_table *t;
    struct quarry *q;
    if (!open_table(c, &q, &t))
        return;
    while (storm_goes_on(c)) {
        told_write(s->told, t, &c->rand);
        c->storm->call_count++;
        storm_sleep_us(rand_below(&c->rand, PAUSE_US));
    }
    quarry_table_close(t);
    quarry_close(q);
}

static void carry_stream(struct storm_client *c)
{
    struct site *s = c->ctx;
    struct follower_host *h = NULL;
    struct quarry *q;
    if (tables_cell_open(s->tables, c->world, CALL_US, &q, NULL))
        return;
    if (follower_host_open(q, kinds, ARRAY_LEN(kinds), NULL, &h, NULL) == 0) {
        while (storm_goes_on(c))
            storm_sleep_us(SECOND_US / 5);
        follower_host_close(h);
    }
    quarry_close(q);
}

/* Split, flush and compact the table. */
static void shape_table(struct storm_client *c)
{
    struct quarry_table *t;
    struct quarry *q;
    if (!open_table(c, &q, &t))
        return;
    while (storm_goes_on(c)) {
        char row[8];
        snprintf(row, sizeof(row), "r%02u",
                 (unsigned)rand_below(&c->rand, ROWS) % 100);
        switch (rand_below(&c->rand, 3)) {
        case 0: (void)!quarry_table_split(q, "t", slice_str(row), NULL); break;
        case 1: (void)!quarry_table_compact(q, "t", NULL); break;
        default: (void)!quarry_flush(q, NULL);
        }
        c->storm->call_count++;
        storm_sleep_us(rand_below(&c->rand, 4 * SECOND_US));
    }
    quarry_table_close(t);
    quarry_close(q);
}

/* --- the sites ----------------------------------------------------------- */

static struct quarry *open_quiet(struct site *s)
{
    struct err err = ERR_INIT;
    struct quarry *q;
    STORM_CHECK(tables_cell_open(s->tables, sim_director(s->play->storm->sim),
                                 FINISH_US, &q, &err) == 0,
                "%s", err.text);
    return q;
}

static void boot_site(struct site *s)
{
    const struct sim_cell_options o = {.prefix = s->name,
                                       .lock_servers = 3,
                                       .namenodes = 1,
                                       .chunk_servers = 3};
    s->cell = sim_cell_new(s->play->storm->sim, &o);
    s->tables = tables_cell_new(s->cell, MASTERS, TABLET_SERVERS);
    s->told = told_changes_new(ROWS);
    sim_cell_boot(s->cell);
    storm_sleep_us(CALM_BEFORE_US);
    tables_cell_boot(s->tables);
}

static void make_table(struct site *s)
{
    struct err err = ERR_INIT;
    struct quarry *q;
    (void)tables_await_true(s->tables, TRUE_US);
    q = open_quiet(s);
    told_table_create(q);
    STORM_CHECK(quarry_replication_site(q, "t", &s->number, &err) == 0, "%s",
                err.text);
    quarry_close(q);
}

static void make_stream(struct site *from, const struct site *to)
{
    const struct quarry_replication_spec spec = {.table = "t",
                                                 .cluster = "cell",
                                                 .principal = "sim",
                                                 .target = to->tables->targets};
    struct follower_record r = {
        .kind = REPLICATION_KIND, .name = to->name, .table = "t"};
    struct quarry *q = open_quiet(from);
    struct err err = ERR_INIT;
    struct buf settings = BUF_INIT;
    replication_settings_put(&spec, false, &settings);
    r.settings = buf_slice(&settings);
    STORM_CHECK(follower_create(q, &r, &err) == 0, "%s", err.text);
    buf_close(&settings);
    quarry_close(q);
}

static void add_clients(struct site *s)
{
    for (unsigned i = 0; i < SITE_CLIENTS; i++) {
        char name[8];
        snprintf(name, sizeof(name), "%su%u", s->name, i % 10);
        storm_add_client(s->play->storm, name,
                         i < WRITERS              ? write_rows
                         : i < WRITERS + CARRIERS ? carry_stream
                                                  : shape_table,
                         s);
    }
}

static void replication_begin(struct replication_play *p)
{
    static const char *const names[SITES] = {"a", "b"};
    for (size_t i = 0; i < SITES; i++) {
        p->sites[i] = (struct site){.play = p, .name = names[i]};
        boot_site(&p->sites[i]);
    }
    for (size_t i = 0; i < SITES; i++)
        make_table(&p->sites[i]);
    for (size_t i = 0; i < SITES; i++)
        make_stream(&p->sites[i], &p->sites[1 - i]);
    for (size_t i = 0; i < SITES; i++)
        add_clients(&p->sites[i]);
}

/* --- the storm ----------------------------------------------------------- */

/* The machines of a site, its clients among them. */
static size_t
site_machines(const struct replication_play *p, size_t site, struct world **out)
{
    const struct site *s = &p->sites[site];
    struct world *clients[STORM_CLIENTS_MAX];
    size_t n = sim_cell_machines(s->cell, SIM_LOCK_SERVER, out);
    n += sim_cell_machines(s->cell, SIM_NAMENODE, out + n);
    n += sim_cell_machines(s->cell, SIM_CHUNK_SERVER, out + n);
    n += tables_cell_masters(s->tables, out + n);
    n += tables_cell_tablets(s->tables, out + n);
    (void)storm_client_machines(p->storm, clients);
    memcpy(out + n, clients + site * SITE_CLIENTS,
           SITE_CLIENTS * sizeof(struct world *));
    return n + SITE_CLIENTS;
}

static void cut_sites(const struct replication_play *p, bool cut)
{
    struct world *a[STRIKE_MACHINES_MAX];
    struct world *b[STRIKE_MACHINES_MAX];
    size_t a_count = site_machines(p, 0, a);
    size_t b_count = site_machines(p, 1, b);
    for (size_t i = 0; i < a_count; i++)
        for (size_t k = 0; k < b_count; k++) {
            sim_cut(a[i], b[k], cut);
            sim_cut(b[k], a[i], cut);
        }
}

/* The sites lose sight of each other for a while, again and again. */
static void cut_now_and_then(void *arg)
{
    struct replication_play *p = arg;
    uint64_t until = storm_now_us() + STORM_US;
    struct rand_gen rand;
    rand_init(&rand, p->storm->seed ^ 0x637574);
    while (storm_now_us() < until) {
        storm_sleep_us(rand_below(&rand, 8 * SECOND_US));
        cut_sites(p, true);
        storm_sleep_us(rand_below(&rand, 6 * SECOND_US));
        cut_sites(p, false);
    }
}

static struct strike_group *add_group(struct strike *s,
                                      struct world *const *machines,
                                      size_t count,
                                      size_t down_max)
{
    struct strike_group *g = strike_add(s, machines, count, down_max);
    g->clock_us_max = CLOCK_US;
    return g;
}

static uint64_t replication_strike(struct replication_play *p)
{
    struct strike s = {.storm = p->storm, .duration_us = STORM_US};
    struct world *machines[STORM_CLIENTS_MAX];
    struct world *servers[SIM_CELL_CHUNKS_MAX];
    struct fiber *cutter;
    uint64_t faults;
    size_t count;
    for (size_t i = 0; i < SITES; i++) {
        count = sim_cell_machines(p->sites[i].cell, SIM_LOCK_SERVER, servers);
        add_group(&s, servers, count, (count - 1) / 2);
        count = tables_cell_masters(p->sites[i].tables, machines);
        add_group(&s, machines, count, count);
        count = tables_cell_tablets(p->sites[i].tables, machines);
        add_group(&s, machines, count, count);
    }
    count = storm_client_machines(p->storm, machines);
    add_group(&s, machines, count, count);
    cutter = fiber_start(loop_self(), "cutter", cut_now_and_then, p);
    faults = strike_run(&s);
    fiber_join(cutter);
    sim_heal(p->storm->sim);
    return faults;
}

/* --- the commits --------------------------------------------------------- */

static struct slice put_bytes(char **at, struct slice s)
{
    struct slice copy = slice_make(*at, s.len);
    if (s.len)
        memcpy(*at, s.data, s.len);
    *at += s.len;
    return copy;
}

/* One owned piece: the entries, then their bytes and the row. */
static void copy_change(const struct quarry_change *from,
                        struct quarry_change *to)
{
    size_t bytes = from->entry_count * sizeof(struct quarry_change_entry);
    struct quarry_change_entry *list;
    char *at;
    bytes += from->row.len;
    for (size_t i = 0; i < from->entry_count; i++)
        bytes += from->entries[i].family.len + from->entries[i].qualifier.len +
                 from->entries[i].value.len;
    list = mem_alloc(bytes + 1);
    at = (char *)(list + from->entry_count);
    *to = *from;
    to->entries = list;
    to->row = put_bytes(&at, from->row);
    for (size_t i = 0; i < from->entry_count; i++) {
        list[i] = from->entries[i];
        list[i].family = put_bytes(&at, list[i].family);
        list[i].qualifier = put_bytes(&at, list[i].qualifier);
        list[i].value = put_bytes(&at, list[i].value);
    }
}

/* Of a reader of a site's own commits. */
static void keep_commit(void *ctx, const struct quarry_change *c)
{
    struct site *s = ctx;
    struct replication_play *p = s->play;
    struct quarry_change *to;
    p->commits =
        mem_realloc(p->commits, (p->commit_count + 1) * sizeof(*p->commits));
    to = &p->commits[p->commit_count++];
    copy_change(c, to);
    to->origin = (struct quarry_origin){s->number, c->commit_us, c->sequence};
}

static int by_origin(const void *a, const void *b)
{
    return change_origin_cmp(&((const struct quarry_change *)a)->origin,
                             &((const struct quarry_change *)b)->origin);
}

/* Read all commits of the site, once nobody writes. */
static void gather_commits(struct site *s, struct quarry_table *t)
{
    uint64_t until = storm_now_us() + CATCH_UP_US;
    s->reader = told_reader_new(s->told, s->name, false, false);
    told_reader_local(s->reader, keep_commit, s);
    while (told_read(s->reader, t, &s->play->storm->rand) != TOLD_NOTHING ||
           !told_all(s->reader))
        STORM_CHECK(storm_now_us() < until, "site %s: its changes end early",
                    s->name);
    told_check_orders(s->reader);
}

/* --- the outcome --------------------------------------------------------- */

static void print_streams(struct replication_play *p)
{
    for (size_t i = 0; i < SITES; i++) {
        struct quarry *q = open_quiet(&p->sites[i]);
        struct follower_info *info;
        size_t count;
        struct err err = ERR_INIT;
        STORM_CHECK(follower_list(q, NULL, &info, &count, &err) == 0, "%s",
                    err.text);
        for (size_t k = 0; k < count; k++)
            sim_note(p->storm->sim,
                     "stream to %s: %" PRIu64 " changes, %" PRIu64
                     " us behind, failed %" PRIu64 " times: %s",
                     info[k].record.name, info[k].changes, info[k].lag_us,
                     info[k].failures, info[k].error);
        follower_infos_free(info, count);
        quarry_close(q);
    }
}

static void await_model(struct site *s,
                        const struct row_model *m,
                        struct quarry_table *t,
                        uint64_t until)
{
    while (!row_model_is(m, t)) {
        if (storm_now_us() > until) {
            print_streams(s->play);
            row_model_check(m, t, s->name);
        }
        storm_sleep_us(SECOND_US);
    }
}

static void replication_check(struct replication_play *p)
{
    struct row_model *model = row_model_new();
    struct follower_host *hosts[SITES];
    struct quarry *q[SITES];
    struct quarry_table *t[SITES];
    struct err err = ERR_INIT;
    uint64_t until;
    for (size_t i = 0; i < SITES; i++) {
        q[i] = open_quiet(&p->sites[i]);
        STORM_CHECK(quarry_table_open(q[i], "t", &t[i], &err) == 0 &&
                        follower_host_open(q[i], kinds, ARRAY_LEN(kinds), NULL,
                                           &hosts[i], &err) == 0,
                    "%s", err.text);
        gather_commits(&p->sites[i], t[i]);
    }
    qsort(p->commits, p->commit_count, sizeof(*p->commits), by_origin);
    for (size_t i = 0; i < p->commit_count; i++)
        row_model_apply(model, &p->commits[i]);
    until = storm_now_us() + CATCH_UP_US;
    for (size_t i = 0; i < SITES; i++)
        await_model(&p->sites[i], model, t[i], until);
    for (size_t i = 0; i < SITES; i++) {
        follower_host_close(hosts[i]);
        quarry_table_close(t[i]);
        quarry_close(q[i]);
    }
    row_model_free(model);
}

static void replication_end(struct replication_play *p)
{
    for (size_t i = 0; i < SITES; i++) {
        tables_cell_stop(p->sites[i].tables);
        sim_cell_stop(p->sites[i].cell);
    }
    for (size_t i = 0; i < SITES; i++) {
        told_changes_free(p->sites[i].told);
        tables_cell_free(p->sites[i].tables);
        sim_cell_free(p->sites[i].cell);
    }
    for (size_t i = 0; i < p->commit_count; i++)
        mem_free((void *)(uintptr_t)p->commits[i].entries);
    mem_free(p->commits);
}

static void run_replication(struct storm *s, struct buf *figures)
{
    struct replication_play p = {.storm = s};
    uint64_t faults;
    replication_begin(&p);
    faults = replication_strike(&p);
    for (size_t i = 0; i < SITES; i++) {
        sim_cell_supervise(p.sites[i].cell);
        tables_cell_supervise(p.sites[i].tables);
    }
    storm_end(s);
    for (size_t i = 0; i < SITES; i++)
        (void)tables_await_true(p.sites[i].tables, TRUE_US);
    replication_check(&p);
    buf_printf(figures,
               " faults=%" PRIu64 " calls=%" PRIu64 " commits=%zu+%" PRIu64,
               faults, s->call_count,
               p.commit_count - (size_t)told_count(p.sites[1].reader),
               told_count(p.sites[1].reader));
    replication_end(&p);
}

const struct scenario scenario_replication = {
    "replication",
    "two cells with 3 lock servers, 2 masters, 3 tablet servers, 2 writers and "
    "2 carriers of a stream each",
    run_replication};
