/* The programs of machines with tables. */
#include "tests/sim/tables_cell.h"

#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/rpc/remote.h"
#include "base/rpc/roles.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "bigtable/master/master.h"
#include "bigtable/quarry.h"
#include "bigtable/tablet_server/tablet_server.h"
#include "bigtable/wire/metadata.h"
#include "gfs-lite/gfs.h"

#define PORT     "7000"
#define LISTEN   "0.0.0.0:" PORT
#define SECOND   UINT64_C(1000000)
#define LEASE_MS 3000
#define GRACE_MS 20000
/* Of METADATA: what takes longer is tried again. */
#define METADATA_US (20 * SECOND)
/* To say goodbye to the cluster, which may be gone already. */
#define LEAVE_US (3 * SECOND)

/* --- what servers open --------------------------------------------------- */

static int open_files(void *ctx, struct fs **out, struct err *err)
{
    struct tables_server *s = ctx;
    const struct sim_cell *cell = s->tables->cell;
    const struct gfs_options o = {.namenodes = cell->fs_addresses,
                                  .path = BIGTABLE_FS_ROOT,
                                  .machine = s->name,
                                  .name = s->address,
                                  .security = cell->security,
                                  .write_way = sim_cell_write_way(s->world),
                                  .renew_us = SECOND,
                                  .timeout_us = 40 * SECOND};
    return fs_gfs_open(s->world, &o, out, err);
}

static int open_client(void *ctx, struct quarry **out, struct err *err)
{
    struct tables_server *s = ctx;
    return tables_cell_open(s->tables, s->world, METADATA_US, out, err);
}

/* --- programs ------------------------------------------------------------ */

/* Until it is cancelled, or may not serve any more: as `quarry server` does. */
static int serve(const struct tables_server *s, struct err *err)
{
    int rc = 0;
    while (rc == 0 && fiber_check(NULL) == 0) {
        world_sleep_us(s->world, 100000);
        if (s->tablet)
            rc = tablet_server_health(s->tablet, err);
    }
    return rc;
}

static int listen_and_serve(struct tables_server *s,
                            struct rpc_server *rpc,
                            struct rpc_listener **listener,
                            struct err *err)
{
    const struct rpc_listen_options o = {.security = s->tables->cell->security};
    int rc = rpc_listen(rpc, LISTEN, &o, listener, err);
    if (rc)
        return rc;
    if (s->master)
        master_start(s->master);
    else
        tablet_server_start(s->tablet, s->address);
    return serve(s, err);
}

static uint64_t leave_soon(const struct tables_server *s)
{
    return fiber_set_deadline(world_mono_ns(s->world) + LEAVE_US * 1000);
}

static int
run_tablet(struct tables_server *s, struct rpc_server *rpc, struct err *err)
{
    const struct sim_cell *cell = s->tables->cell;
    const struct tablet_server_options o = {.cell = cell->lock_addresses,
                                            .cell_count =
                                                cell->options.lock_servers,
                                            .security = cell->security,
                                            .roles = s->tables->roles,
                                            .open_fs = open_files,
                                            .open_client = open_client,
                                            .ctx = s,
                                            .lease_ms = LEASE_MS,
                                            .grace_ms = GRACE_MS,
                                            .cache_bytes = 1 << 20,
                                            .memtable_bytes = 192 << 10,
                                            .split_bytes = TABLES_SPLIT_BYTES,
                                            .log_segment_bytes = 128 << 10,
                                            .log_bytes = 512 << 10,
                                            .background_tasks = 2,
                                            .request_bytes = 8 << 20};
    struct rpc_listener *listener = NULL;
    uint64_t before;
    int rc = tablet_server_open(s->world, rpc, &o, &s->tablet, err);
    if (rc)
        return rc;
    rc = listen_and_serve(s, rpc, &listener, err);
    before = leave_soon(s);
    tablet_server_stop(s->tablet);
    rpc_listener_close(listener);
    tablet_server_close(s->tablet);
    (void)fiber_set_deadline(before);
    s->tablet = NULL;
    return rc;
}

static struct master_options master_options(struct tables_server *s,
                                            struct fs *fs)
{
    const struct sim_cell *cell = s->tables->cell;
    return (struct master_options){.address = s->address,
                                   .cell = cell->lock_addresses,
                                   .cell_count = cell->options.lock_servers,
                                   .security = cell->security,
                                   .roles = s->tables->roles,
                                   .fs = fs,
                                   .open_client = open_client,
                                   .ctx = s,
                                   .lease_ms = LEASE_MS,
                                   .status_us = SECOND / 2,
                                   .silent_us = 2 * SECOND,
                                   .order_us = 20 * SECOND,
                                   .balance_us = 3 * SECOND,
                                   .still_us = 10 * SECOND,
                                   .reread_us = 10 * SECOND,
                                   .garbage_us = 10 * SECOND,
                                   .garbage_age_us = 20 * SECOND,
                                   .merge_us = 5 * SECOND,
                                   .merge_age_us = 10 * SECOND,
                                   .merge_bytes = TABLES_SPLIT_BYTES / 4};
}

static int
run_master(struct tables_server *s, struct rpc_server *rpc, struct err *err)
{
    struct rpc_listener *listener = NULL;
    struct master_options o;
    struct fs *fs;
    int rc = open_files(s, &fs, err);
    if (rc)
        return rc;
    o = master_options(s, fs);
    rc = master_open(s->world, rpc, &o, &s->master, err);
    if (rc == 0) {
        rc = listen_and_serve(s, rpc, &listener, err);
        master_stop(s->master);
        rpc_listener_close(listener);
        master_close(s->master);
        s->master = NULL;
    }
    fs_close(fs);
    return rc;
}

static void run_server(void *arg)
{
    struct tables_server *s = arg;
    struct rpc_server *rpc = rpc_server_new(s->world);
    struct err err = ERR_INIT;
    int rc;
    rpc_server_let_act(rpc, cluster_roles_may_act, s->tables->roles);
    rc = s->is_master ? run_master(s, rpc, &err) : run_tablet(s, rpc, &err);
    if (rc)
        sim_note(s->tables->cell->sim, "%s ends: %s", s->name, err.text);
    if (rc == ERR_CORRUPT || rc == ERR_INVALID)
        PANIC("%s: %s", s->name, err.text);
    rpc_server_free(rpc);
}

/* --- life ---------------------------------------------------------------- */

static void add_server(struct tables_cell *t,
                       struct tables_server *s,
                       char letter,
                       unsigned index)
{
    *s = (struct tables_server){.tables = t, .is_master = letter == 'm'};
    snprintf(s->name, sizeof(s->name), "%s%c%u",
             t->cell->options.prefix ? t->cell->options.prefix : "", letter,
             index % 100);
    snprintf(s->address, sizeof(s->address), "%s:%s", s->name, PORT);
    s->world =
        sim_machine_new(t->cell->sim, s->name, &t->cell->options.machine);
}

struct tables_cell *
tables_cell_new(struct sim_cell *cell, unsigned masters, unsigned tablets)
{
    struct tables_cell *t = mem_zalloc(1, sizeof(*t));
    struct buf all = BUF_INIT;
    PRE(masters <= TABLES_MASTERS_MAX && tablets <= TABLES_TABLETS_MAX);
    t->cell = cell;
    t->roles = cluster_roles_new(cell->security, NULL);
    t->master_count = masters;
    t->tablet_count = tablets;
    for (unsigned i = 0; i < cell->options.lock_servers; i++)
        buf_printf(&all, "%s%s", i ? "," : "", cell->lock_addresses[i]);
    PRE(all.len < sizeof(t->targets));
    memcpy(t->targets, buf_cstr(&all), all.len + 1);
    buf_close(&all);
    for (unsigned i = 0; i < masters; i++)
        add_server(t, &t->masters[i], 'm', i);
    for (unsigned i = 0; i < tablets; i++)
        add_server(t, &t->tablets[i], 't', i);
    return t;
}

void tables_cell_free(struct tables_cell *t)
{
    cluster_roles_free(t->roles);
    mem_free(t);
}

void tables_cell_boot(struct tables_cell *t)
{
    for (unsigned i = 0; i < t->master_count; i++)
        sim_boot(t->masters[i].world, run_server, &t->masters[i]);
    for (unsigned i = 0; i < t->tablet_count; i++)
        sim_boot(t->tablets[i].world, run_server, &t->tablets[i]);
}

static void boot_ended(struct tables_server *all, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (!sim_is_up(all[i].world))
            sim_boot_again(all[i].world);
}

static void supervise(void *arg)
{
    struct tables_cell *t = arg;
    while (!t->stopping) {
        boot_ended(t->masters, t->master_count);
        boot_ended(t->tablets, t->tablet_count);
        world_sleep_us(sim_director(t->cell->sim), SECOND / 2);
    }
}

void tables_cell_supervise(struct tables_cell *t)
{
    t->stopping = false;
    t->supervisor = fiber_start(loop_self(), "tables supervisor", supervise, t);
}

void tables_cell_leave(struct tables_cell *t)
{
    t->stopping = true;
    if (t->supervisor)
        fiber_join(t->supervisor);
    t->supervisor = NULL;
}

static void stop(struct tables_server *all, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (sim_is_up(all[i].world))
            sim_stop(all[i].world);
}

void tables_cell_stop(struct tables_cell *t)
{
    tables_cell_leave(t);
    stop(t->masters, t->master_count);
    stop(t->tablets, t->tablet_count);
}

static size_t
machines(const struct tables_server *all, unsigned count, struct world **out)
{
    for (unsigned i = 0; i < count; i++)
        out[i] = all[i].world;
    return count;
}

size_t tables_cell_masters(const struct tables_cell *t,
                           struct world *out[TABLES_MASTERS_MAX])
{
    return machines(t->masters, t->master_count, out);
}

size_t tables_cell_tablets(const struct tables_cell *t,
                           struct world *out[TABLES_TABLETS_MAX])
{
    return machines(t->tablets, t->tablet_count, out);
}

/* --- clients ------------------------------------------------------------- */

int tables_cell_open(struct tables_cell *t,
                     struct world *w,
                     uint64_t timeout_us,
                     struct quarry **out,
                     struct err *err)
{
    const struct quarry_options o = {
        .world = w, .security = t->cell->security, .timeout_us = timeout_us};
    return quarry_open(t->targets, &o, out, err);
}
