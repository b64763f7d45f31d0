/* A file system on simulated machines, for tests: namenodes, chunk servers, and
 * clients on the director or on machines of their own.
 *
 *     struct cell *c = cell_new(seed, 1, 3);
 *     cell_run(c, scenario);          // scenario(c) on the director
 *     cell_free(c);
 */
#ifndef TESTS_UNIT_GFS_LITE_CELL_H
#define TESTS_UNIT_GFS_LITE_CELL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/replica/replica.h"
#include "base/rpc/remote.h"
#include "base/runtime/fiber.h"
#include "base/sim/sim_cluster.h"
#include "gfs-lite/chunkserver/chunkserver.h"
#include "gfs-lite/gfs.h"
#include "gfs-lite/namenode/namenode.h"

#define CELL_NAMENODES_MAX 5
#define CELL_CHUNKS_MAX    12
#define CELL_PORT          "7000"
#define CELL_TRACE_LINES   4000

struct cell;

struct cell_node {
    struct cell *cell;
    struct world *world;
    char name[16];
    char address[32];
    char rack[16];
    unsigned index;
    struct namenode *namenode;       /* While it runs. */
    struct chunkserver *chunkserver; /* Likewise. */
    struct rpc_server *server;       /* A chunk server's, likewise. */
    unsigned disks_lost; /* A chunk server's: each has a directory. */
    bool failed;         /* Its program could not open what it serves. */
};

struct cell {
    struct sim_cluster *sim;
    struct cell_node namenodes[CELL_NAMENODES_MAX];
    struct cell_node chunks[CELL_CHUNKS_MAX];
    unsigned namenode_count;
    unsigned chunk_count;
    struct replica_member members[CELL_NAMENODES_MAX];
    char addresses[256]; /* Of all namenodes. */
    struct namenode_options namenode_options;
    struct chunkserver_options chunk_options;
    struct sim_options machine_options;
    const struct rpc_security *security; /* Of namenodes; NULL: none. */
    enum gfs_write_way write_way;        /* Of clients, */
    uint32_t chunk_bytes;                /* as well. */
    void (*scenario)(struct cell *c);
};

/* The one that runs: for messages. */
static struct cell *cell_running;

/* Print the last events on standard error: for a test that fails. */
static inline void cell_print_trace(void)
{
    struct buf b = BUF_INIT;
    if (!cell_running)
        return;
    sim_cluster_trace_print(cell_running->sim, CELL_TRACE_LINES, &b);
    fprintf(stderr, "%s", buf_cstr(&b));
    buf_close(&b);
}

static inline void cell_serve_until_cancelled(struct world *w)
{
    while (fiber_check(NULL) == 0)
        world_sleep_us(w, 100000);
}

static inline void cell_run_namenode(void *arg)
{
    struct cell_node *n = arg;
    struct cell *c = n->cell;
    struct rpc_server *server = rpc_server_new(n->world);
    struct replica_options replica = {.name = "cell",
                                      .directory = "/namenode",
                                      .id = n->index + 1,
                                      .members = c->members,
                                      .member_count = c->namenode_count,
                                      .security = c->security,
                                      .snapshot_log_bytes = 16 << 10};
    struct namenode_options opts = c->namenode_options;
    struct rpc_listener *listener = NULL;
    struct err err = ERR_INIT;
    opts.replica = &replica;
    n->failed = namenode_open(n->world, server, &opts, &n->namenode, &err) != 0;
    if (!n->failed &&
        rpc_listen(server, "0.0.0.0:" CELL_PORT, NULL, &listener, &err) == 0)
        cell_serve_until_cancelled(n->world);
    if (n->failed)
        sim_note(c->sim, "namenode %u: %s", n->index, err.text);
    rpc_listener_close(listener);
    namenode_close(n->namenode);
    n->namenode = NULL;
    rpc_server_free(server);
}

static inline void cell_run_chunkserver(void *arg)
{
    struct cell_node *n = arg;
    struct cell *c = n->cell;
    struct rpc_server *server = rpc_server_new(n->world);
    struct chunkserver_options opts = c->chunk_options;
    struct rpc_listener *listener = NULL;
    struct err err = ERR_INIT;
    char dir[32];
    snprintf(dir, sizeof(dir),
             n->disks_lost ? "/chunkserver%u" : "/chunkserver", n->disks_lost);
    opts.dir = dir;
    opts.namenodes = c->addresses;
    opts.machine = n->name;
    opts.rack = n->rack;
    n->server = server;
    n->failed =
        chunkserver_open(n->world, server, &opts, &n->chunkserver, &err) != 0;
    if (!n->failed &&
        rpc_listen(server, "0.0.0.0:" CELL_PORT, NULL, &listener, &err) == 0 &&
        chunkserver_start(n->chunkserver, n->address, &err) == 0)
        cell_serve_until_cancelled(n->world);
    if (n->failed)
        sim_note(c->sim, "chunk server %u: %s", n->index, err.text);
    rpc_listener_close(listener);
    chunkserver_close(n->chunkserver);
    n->chunkserver = NULL;
    n->server = NULL;
    rpc_server_free(server);
}

static inline void cell_add_node(struct cell *c,
                                 struct cell_node *n,
                                 const char *kind,
                                 unsigned index)
{
    n->cell = c;
    n->index = index;
    snprintf(n->name, sizeof(n->name), "%s%u", kind, index % 100);
    snprintf(n->address, sizeof(n->address), "%s%u:%s", kind, index % 100,
             CELL_PORT);
    snprintf(n->rack, sizeof(n->rack), "rack%u", index % 2);
    n->world = sim_machine_new(c->sim, n->name, &c->machine_options);
}

static inline struct cell *
cell_new(uint64_t seed, unsigned namenodes, unsigned chunks)
{
    struct cell *c = mem_zalloc(1, sizeof(*c));
    struct buf all = BUF_INIT;
    c->sim = sim_cluster_new(seed);
    c->machine_options = (struct sim_options){.read_us = 50,
                                              .write_us = 50,
                                              .sync_us = 500,
                                              .name_us = 50,
                                              .network_us = 100};
    c->namenode_count = namenodes;
    c->chunk_count = chunks;
    for (unsigned i = 0; i < namenodes; i++) {
        cell_add_node(c, &c->namenodes[i], "n", i);
        c->members[i] =
            (struct replica_member){i + 1, c->namenodes[i].address, true};
        buf_printf(&all, "%s%s", i ? "," : "", c->namenodes[i].address);
    }
    PRE(all.len < sizeof(c->addresses));
    memcpy(c->addresses, all.data, all.len);
    buf_close(&all);
    for (unsigned i = 0; i < chunks; i++)
        cell_add_node(c, &c->chunks[i], "c", i);
    c->namenode_options = (struct namenode_options){.session_us = 8000000,
                                                    .server_dead_us = 3000000,
                                                    .copy_timeout_us = 15000000,
                                                    .scan_us = 1000000,
                                                    .full_report_us = 20000000,
                                                    .shared_idle_us = 10000000};
    c->chunk_options = (struct chunkserver_options){.heartbeat_us = 500000,
                                                    .sync_after_us = 2000000};
    return c;
}

static inline void cell_boot(struct cell *c)
{
    for (unsigned i = 0; i < c->namenode_count; i++)
        sim_boot(c->namenodes[i].world, cell_run_namenode, &c->namenodes[i]);
    for (unsigned i = 0; i < c->chunk_count; i++)
        sim_boot(c->chunks[i].world, cell_run_chunkserver, &c->chunks[i]);
}

static inline void cell_direct(void *arg)
{
    struct cell *c = arg;
    cell_boot(c);
    c->scenario(c);
}

static inline void cell_run(struct cell *c, void (*scenario)(struct cell *c))
{
    c->scenario = scenario;
    cell_running = c;
    sim_cluster_run(c->sim, cell_direct, c);
    cell_running = NULL;
}

static inline void cell_free(struct cell *c)
{
    sim_cluster_free(c->sim);
    mem_free(c);
}

/* A client on the machine of the running fiber. */
static inline struct fs *
cell_client(struct cell *c, struct world *w, const char *name)
{
    struct gfs_options o = {.namenodes = c->addresses,
                            .name = name,
                            .replication =
                                c->chunk_count < 3 ? c->chunk_count : 3,
                            .write_way = c->write_way,
                            .chunk_bytes = c->chunk_bytes,
                            .renew_us = 1000000,
                            .timeout_us = 40000000};
    struct fs *fs;
    struct err err = ERR_INIT;
    if (fs_gfs_open(w, &o, &fs, &err))
        PANIC("%s", err.text);
    return fs;
}

#endif /* TESTS_UNIT_GFS_LITE_CELL_H */
