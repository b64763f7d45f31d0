/* The programs of a cell's machines. */
#include "tests/sim/cell.h"

#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/rpc/remote.h"
#include "base/rpc/security.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "chubby-lite/server.h"
#include "gfs-lite/gfs.h"

#define PORT          "7000"
#define LISTEN        "0.0.0.0:" PORT
#define LOCK_LEASE_MS 3000
#define LOCK_GRACE_MS 20000

/* --- programs ------------------------------------------------------------ */

static int health(const struct sim_server *s, struct err *err)
{
    switch (s->kind) {
    case SIM_LOCK_SERVER: return chubby_server_health(s->lock, err);
    case SIM_NAMENODE: return namenode_health(s->namenode, err);
    case SIM_CHUNK_SERVER: return chunkserver_health(s->chunk, err);
    }
    return 0;
}

/* Until it is cancelled, or its disk fails: then it ends, as `quarry server`
 * does, and its supervisor restarts it. A full disk passes. */
static int serve(const struct sim_server *s, struct err *err)
{
    int rc = 0;
    while ((rc == 0 || rc == ERR_FULL) && fiber_check(NULL) == 0) {
        world_sleep_us(s->world, 100000);
        rc = health(s, err);
    }
    return rc == ERR_FULL ? 0 : rc;
}

/* A cell of replicas that all servers of @kind make up. */
static void fill_members(const struct sim_server *all,
                         size_t count,
                         struct replica_member *members,
                         struct replica_options *o)
{
    for (size_t i = 0; i < count; i++)
        members[i] = (struct replica_member){i + 1, all[i].address, true};
    o->members = members;
    o->member_count = count;
}

static int run_lock(struct sim_server *s, struct rpc_server *rpc, struct err *e)
{
    struct sim_cell *cell = s->cell;
    struct replica_member members[SIM_CELL_LOCKS_MAX];
    struct chubby_server_options o = {
        .replica = {.name = "lock",
                    .directory = "/lock",
                    .id = s->index + 1,
                    .security = cell->security,
                    .snapshot_log_bytes = cell->options.snapshot_log_bytes}};
    struct rpc_listen_options listen = {.security = cell->security};
    struct rpc_listener *listener = NULL;
    int rc;
    fill_members(cell->locks, cell->options.lock_servers, members, &o.replica);
    rc = chubby_server_open(s->world, rpc, &o, &s->lock, e);
    if (rc == 0)
        rc = rpc_listen(rpc, LISTEN, &listen, &listener, e);
    if (rc == 0)
        rc = serve(s, e);
    rpc_listener_close(listener);
    chubby_server_close(s->lock);
    s->lock = NULL;
    return rc;
}

static int
run_namenode(struct sim_server *s, struct rpc_server *rpc, struct err *e)
{
    struct sim_cell *cell = s->cell;
    struct replica_member members[SIM_CELL_NAMENODES_MAX];
    struct replica_options replica = {.name = "names",
                                      .directory = "/namenode",
                                      .id = s->index + 1,
                                      .security = cell->security,
                                      .snapshot_log_bytes =
                                          cell->options.snapshot_log_bytes};
    struct namenode_options o = cell->namenode_options;
    struct rpc_listen_options listen = {.security = cell->security};
    struct rpc_listener *listener = NULL;
    int rc;
    fill_members(cell->namenodes, cell->options.namenodes, members, &replica);
    o.replica = &replica;
    rc = namenode_open(s->world, rpc, &o, &s->namenode, e);
    if (rc == 0)
        rc = rpc_listen(rpc, LISTEN, &listen, &listener, e);
    if (rc == 0)
        rc = serve(s, e);
    rpc_listener_close(listener);
    namenode_close(s->namenode);
    s->namenode = NULL;
    return rc;
}

static int
run_chunkserver(struct sim_server *s, struct rpc_server *rpc, struct err *e)
{
    struct sim_cell *cell = s->cell;
    struct chunkserver_options o = cell->chunk_options;
    struct rpc_listen_options listen = {.security = cell->security};
    struct rpc_listener *listener = NULL;
    int rc;
    o.dir = SIM_CELL_CHUNK_DIR;
    o.namenodes = cell->fs_addresses;
    o.machine = s->name;
    o.rack = s->rack;
    o.security = cell->security;
    rc = chunkserver_open(s->world, rpc, &o, &s->chunk, e);
    if (rc == 0)
        rc = rpc_listen(rpc, LISTEN, &listen, &listener, e);
    if (rc == 0)
        rc = chunkserver_start(s->chunk, s->address, e);
    if (rc == 0)
        rc = serve(s, e);
    rpc_listener_close(listener);
    chunkserver_close(s->chunk);
    s->chunk = NULL;
    return rc;
}

static void run_server(void *arg)
{
    struct sim_server *s = arg;
    struct rpc_server *rpc = rpc_server_new(s->world);
    struct err err = ERR_INIT;
    int rc = 0;
    switch (s->kind) {
    case SIM_LOCK_SERVER: rc = run_lock(s, rpc, &err); break;
    case SIM_NAMENODE: rc = run_namenode(s, rpc, &err); break;
    case SIM_CHUNK_SERVER: rc = run_chunkserver(s, rpc, &err); break;
    }
    if (rc)
        sim_note(s->cell->sim, "%s ends: %s", s->name, err.text);
    /* A damaged or foreign directory would be our own doing. */
    if (rc == ERR_CORRUPT || rc == ERR_INVALID)
        PANIC("%s does not start: %s", s->name, err.text);
    rpc_server_free(rpc);
}

/* --- life ---------------------------------------------------------------- */

static void add_server(struct sim_cell *cell,
                       struct sim_server *s,
                       enum sim_server_kind kind,
                       unsigned index)
{
    static const char letters[] = {'l', 'n', 'c'};
    *s = (struct sim_server){.cell = cell, .kind = kind, .index = index};
    snprintf(s->name, sizeof(s->name), "%s%c%u",
             cell->options.prefix ? cell->options.prefix : "", letters[kind],
             index % 100);
    snprintf(s->address, sizeof(s->address), "%s:%s", s->name, PORT);
    snprintf(s->rack, sizeof(s->rack), "rack%u", index % 3);
    s->world = sim_machine_new(cell->sim, s->name, &cell->options.machine);
}

static void set_times(struct sim_cell *cell)
{
    cell->namenode_options =
        (struct namenode_options){.session_us = 8 * UINT64_C(1000000),
                                  .server_dead_us = 3 * UINT64_C(1000000),
                                  .trash_us = 5 * UINT64_C(1000000),
                                  .copy_timeout_us = 15 * UINT64_C(1000000),
                                  .scan_us = 1000000,
                                  .full_report_us = 20 * UINT64_C(1000000),
                                  .shared_idle_us = 10 * UINT64_C(1000000),
                                  /* A snapshot takes many commands. */
                                  .copy_step = 2};
    cell->chunk_options = (struct chunkserver_options){
        /* Bits rot much more often here than anywhere. */
        .scrub_round_us = 500000,
        .heartbeat_us = 500000,
        .sync_after_us = 2000000};
}

static void set_defaults(struct sim_cell_options *o)
{
    if (o->machine.network_us == 0)
        o->machine = (struct sim_options){.read_us = 50,
                                          .write_us = 50,
                                          .sync_us = 500,
                                          .name_us = 50,
                                          .network_us = 300};
    if (o->snapshot_log_bytes == 0)
        o->snapshot_log_bytes = 60000;
}

struct sim_cell *sim_cell_new(struct sim_cluster *sim,
                              const struct sim_cell_options *o)
{
    struct sim_cell *cell = mem_zalloc(1, sizeof(*cell));
    struct buf all = BUF_INIT;
    PRE(o->lock_servers <= SIM_CELL_LOCKS_MAX);
    PRE(o->namenodes <= SIM_CELL_NAMENODES_MAX);
    PRE(o->chunk_servers <= SIM_CELL_CHUNKS_MAX);
    cell->sim = sim;
    cell->options = *o;
    cell->security = rpc_security_none("cell", "sim");
    set_defaults(&cell->options);
    set_times(cell);
    for (unsigned i = 0; i < o->lock_servers; i++) {
        add_server(cell, &cell->locks[i], SIM_LOCK_SERVER, i);
        cell->lock_addresses[i] = cell->locks[i].address;
    }
    for (unsigned i = 0; i < o->namenodes; i++) {
        add_server(cell, &cell->namenodes[i], SIM_NAMENODE, i);
        buf_printf(&all, "%s%s", i ? "," : "", cell->namenodes[i].address);
    }
    for (unsigned i = 0; i < o->chunk_servers; i++)
        add_server(cell, &cell->chunks[i], SIM_CHUNK_SERVER, i);
    PRE(all.len < sizeof(cell->fs_addresses));
    memcpy(cell->fs_addresses, buf_cstr(&all), all.len + 1);
    buf_close(&all);
    return cell;
}

void sim_cell_free(struct sim_cell *cell)
{
    rpc_security_free(cell->security);
    mem_free(cell);
}

static void boot(struct sim_server *all, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        sim_boot(all[i].world, run_server, &all[i]);
}

void sim_cell_boot(struct sim_cell *cell)
{
    boot(cell->locks, cell->options.lock_servers);
    boot(cell->namenodes, cell->options.namenodes);
    boot(cell->chunks, cell->options.chunk_servers);
}

static void boot_ended(struct sim_server *all, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (!sim_is_up(all[i].world))
            sim_boot_again(all[i].world);
}

static void supervise(void *arg)
{
    struct sim_cell *cell = arg;
    while (!cell->stopping) {
        boot_ended(cell->locks, cell->options.lock_servers);
        boot_ended(cell->namenodes, cell->options.namenodes);
        boot_ended(cell->chunks, cell->options.chunk_servers);
        world_sleep_us(sim_director(cell->sim), 500000);
    }
}

void sim_cell_supervise(struct sim_cell *cell)
{
    cell->supervisor = fiber_start(loop_self(), "supervisor", supervise, cell);
}

static void stop(struct sim_server *all, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (sim_is_up(all[i].world))
            sim_stop(all[i].world);
}

void sim_cell_stop(struct sim_cell *cell)
{
    cell->stopping = true;
    if (cell->supervisor)
        fiber_join(cell->supervisor);
    stop(cell->chunks, cell->options.chunk_servers);
    stop(cell->namenodes, cell->options.namenodes);
    stop(cell->locks, cell->options.lock_servers);
}

size_t sim_cell_machines(const struct sim_cell *cell,
                         enum sim_server_kind kind,
                         struct world *out[SIM_CELL_CHUNKS_MAX])
{
    const struct sim_server *all = cell->chunks;
    size_t count = cell->options.chunk_servers;
    if (kind == SIM_LOCK_SERVER) {
        all = cell->locks;
        count = cell->options.lock_servers;
    } else if (kind == SIM_NAMENODE) {
        all = cell->namenodes;
        count = cell->options.namenodes;
    }
    for (size_t i = 0; i < count; i++)
        out[i] = all[i].world;
    return count;
}

/* --- clients ------------------------------------------------------------- */

enum gfs_write_way sim_cell_write_way(struct world *w)
{
    return world_random(w) % 2 ? GFS_WRITE_TO_EACH : GFS_WRITE_ALONG_CHAIN;
}

/* Most end chunks early: none of these files is as long as a whole one. */
static uint32_t draw_chunk_bytes(struct world *w)
{
    return world_random(w) % 4 == 0 ? 0 : 20000 + world_random(w) % 100000;
}

struct fs *sim_cell_fs(struct sim_cell *cell, struct world *w, const char *name)
{
    struct gfs_options o = {.namenodes = cell->fs_addresses,
                            .machine = sim_machine_name(w),
                            .name = name,
                            .security = cell->security,
                            .replication = MIN_OF(cell->options.chunk_servers,
                                                  SIM_CELL_REPLICATION),
                            .write_way = sim_cell_write_way(w),
                            .chunk_bytes = draw_chunk_bytes(w),
                            .renew_us = 1000000,
                            .timeout_us = 40 * UINT64_C(1000000)};
    struct fs *fs;
    struct err err = ERR_INIT;
    if (fs_gfs_open(w, &o, &fs, &err))
        PANIC("%s", err.text);
    return fs;
}

int sim_cell_chubby(struct sim_cell *cell,
                    struct world *w,
                    chubby_event_cb on_event,
                    void *ctx,
                    struct chubby **out,
                    struct err *err)
{
    struct chubby_options o = {.servers = cell->lock_addresses,
                               .server_count = cell->options.lock_servers,
                               .security = cell->security,
                               .lease_ms = LOCK_LEASE_MS,
                               .grace_ms = LOCK_GRACE_MS,
                               .on_event = on_event,
                               .ctx = ctx};
    return chubby_connect(w, &o, out, err);
}
