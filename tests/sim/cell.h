/* A cell on simulated machines: lock servers, namenodes and chunk servers, one
 * of each kind a machine, with options that make time pass quickly.
 *
 *     struct sim_cell *cell = sim_cell_new(
 *         sim, &(struct sim_cell_options){.lock_servers = 5, .namenodes = 3,
 *                                         .chunk_servers = 9});
 *     sim_cluster_run(sim, scenario, cell);
 *     sim_cell_free(cell);                      // before sim_cluster_free()
 *
 *     static void scenario(void *arg)           // on the director
 *     {
 *         sim_cell_boot(cell);
 *         struct fs *fs = sim_cell_fs(cell, sim_director(sim), "me");
 *         …
 *         sim_crash(cell->chunks[2].world, SIM_CRASH_POWER);
 *         sim_await_end(cell->chunks[2].world);
 *         sim_boot_again(cell->chunks[2].world);
 *     }
 *
 * Servers of other kinds (tablet servers, masters) are machines of the same
 * cluster that reach the cell by its addresses: lock_addresses for
 * chubby_options.servers, fs_addresses for gfs_options.namenodes; the nemesis
 * (base/sim/sim_nemesis.h) takes machines of any kind,
 * sim_cell_machines() those of the cell.
 *
 * Threads: one.
 */
#ifndef TESTS_SIM_CELL_H
#define TESTS_SIM_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/replica/replica.h"
#include "base/sim/sim_cluster.h"
#include "chubby-lite/chubby.h"
#include "gfs-lite/chunkserver/chunkserver.h"
#include "gfs-lite/gfs.h"
#include "gfs-lite/namenode/namenode.h"

struct chubby_server;
struct fiber;
struct fs;
struct rpc_security;

#define SIM_CELL_LOCKS_MAX     5
#define SIM_CELL_NAMENODES_MAX 5
#define SIM_CELL_CHUNKS_MAX    12
#define SIM_CELL_REPLICATION   3

/* A chunk server's directory on its machine. */
#define SIM_CELL_CHUNK_DIR "/chunkserver"

enum sim_server_kind {
    SIM_LOCK_SERVER,
    SIM_NAMENODE,
    SIM_CHUNK_SERVER
};

struct sim_cell;

struct sim_server {
    struct sim_cell *cell;
    enum sim_server_kind kind;
    struct world *world;
    unsigned index; /* Among its kind, from 0. */
    char name[16];  /* "l0", "n0", "c0", behind the cell's prefix. */
    char address[32];
    char rack[16];
    /* While it runs: */
    struct chubby_server *lock;
    struct namenode *namenode;
    struct chunkserver *chunk;
};

/* Zeros give the defaults. */
struct sim_cell_options {
    const char *prefix;    /* Of its machines' names; NULL: none. */
    unsigned lock_servers; /* Default 0, as the others. */
    unsigned namenodes;
    unsigned chunk_servers;
    struct sim_options machine;  /* Default: a fast disk, 300 us of network. */
    uint64_t snapshot_log_bytes; /* Of lock servers and namenodes; default
                                    60,000. */
};

struct sim_cell {
    struct sim_cluster *sim; /* Borrowed. */
    struct sim_cell_options options;
    struct rpc_security *security; /* None, with a name. */
    struct sim_server locks[SIM_CELL_LOCKS_MAX];
    struct sim_server namenodes[SIM_CELL_NAMENODES_MAX];
    struct sim_server chunks[SIM_CELL_CHUNKS_MAX];
    const char *lock_addresses[SIM_CELL_LOCKS_MAX];
    char fs_addresses[256]; /* Of all namenodes, with commas. */
    /* To be changed before sim_cell_boot(). */
    struct namenode_options namenode_options;
    struct chunkserver_options chunk_options;
    struct fiber *supervisor; /* See sim_cell_supervise(). */
    bool stopping;
};

/* Machines that run nothing yet. Owned. */
struct sim_cell *sim_cell_new(struct sim_cluster *sim,
                              const struct sim_cell_options *o);
void sim_cell_free(struct sim_cell *cell); /* PRE: none of its machines runs. */
/* Start all servers. On the director. */
void sim_cell_boot(struct sim_cell *cell);
/* From now on boot what ends by itself: servers whose disks fail do. A nemesis
 * does so for its machines while it runs. On the director. */
void sim_cell_supervise(struct sim_cell *cell);
/* Stop all that run, in order. On the director. Parks. */
void sim_cell_stop(struct sim_cell *cell);

/* The machines of one kind; returns how many. */
size_t sim_cell_machines(const struct sim_cell *cell,
                         enum sim_server_kind kind,
                         struct world *out[SIM_CELL_CHUNKS_MAX]);

/* How a client on @w writes: one or the other, by chance. */
enum gfs_write_way sim_cell_write_way(struct world *w);
/* A client of the file system on @w, the machine of the running fiber. Owned:
 * fs_close(). */
struct fs *
sim_cell_fs(struct sim_cell *cell, struct world *w, const char *name);
/* Begin a session of the lock service on @w, the machine of the running fiber,
 * with a lease of 3 s. @on_event may be NULL. As chubby_connect(). */
MUST_CHECK int sim_cell_chubby(struct sim_cell *cell,
                               struct world *w,
                               chubby_event_cb on_event,
                               void *ctx,
                               struct chubby **out,
                               struct err *err);

#endif /* TESTS_SIM_CELL_H */
