/* A worker of a cell, the role of a node: it runs attempts (attempt/) for the
 * job master and serves their spills to the other workers.
 *
 * It joins the cell (a session of the lock service, a number, a file with its
 * lock), gets each job's package once, and starts a process for the job's code
 * from which attempts are forked (attempt/process_host.h). Orders come from the
 * current job master alone. A job's files are removed when it ends, or when no
 * master has asked about it for a while.
 *
 * Threads: one loop; each job has a thread (or, simulated, a fiber) of its own
 * that starts attempts and waits for their ends.
 */
#ifndef MAPREDUCE_CLUSTER_WORKER_H
#define MAPREDUCE_CLUSTER_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "mapreduce/task/caps.h"

struct attempt_host;
struct fs;
struct job_setup;
struct mr_job;
struct rpc_security;
struct rpc_server;
struct worker;
struct world;

/* Zeros give the defaults. All pointers are borrowed while the worker is open.
 */
struct worker_options {
    const char *const *cell; /* Lock servers. */
    size_t cell_count;
    const struct rpc_security *security;
    const char *name; /* Of the node. */
    const char
        *machine; /* Where it runs: attempts whose input is on the machine
                     of this name are local; NULL: its address's host. */
    const char *rack;
    const char *directory; /* For packages and spills; made if it does not
                              exist, emptied. */
    uint32_t slots;        /* Attempts at a time; 0: one a CPU. */
    uint64_t memory_bytes; /* For all attempts; 0: slots * 512 MiB. */
    uint64_t idle_us;      /* A job that no master asked about for this long is
                              removed; default 1 hour. */
    bool no_short_circuit; /* It counts as a machine of its own: spills of other
                              workers of this machine are fetched, as if their
                              files could not be opened. */
    bool no_early;         /* Pull nothing while maps still run, */
    uint64_t early_bytes;  /* or no more than this at a time; 0: 8 GiB. Also, a
                              tenth of the disk stays free. */
    struct job_caps caps;  /* Bounds on what a job may ask for here. */
    uint32_t lease_ms;     /* Lease of its session; 0: chubby.h's. */
    const char *memo;      /* See chubby.h; borrowed. NULL: none. */
    /* Open the cell's file system with the rights of @principal (NULL: of this
     * process); *@out is owned. NULL: there is none, and paths of packages are
     * files here. */
    int (*open_fs)(void *ctx,
                   const char *principal,
                   struct fs **out,
                   struct err *err);
    bool files_have_owners; /* Jobs use files with the rights of their
                               submitters. */
    /* Where the attempts of a job run; @setup outlives *@out. NULL:
     * process_host_exec() with @command. */
    int (*open_host)(void *ctx,
                     const struct job_setup *setup,
                     unsigned slots,
                     struct attempt_host **out,
                     struct err *err);
    void *ctx;
    /* Of this program, for a process that calls attempts_main(); ends with
     * NULL. */
    const char *const *command;
    /* Find the job of a name built into this program, for one's own open_host.
     */
    const struct mr_job *(*find)(const char *name);
};

/* Add the worker's methods to @server. It joins with worker_start(). *@out is
 * owned. Parks. Errors: those of its directory. */
MUST_CHECK int worker_open(struct world *w,
                           struct rpc_server *server,
                           const struct worker_options *opts,
                           struct worker **out,
                           struct err *err);
/* The port is open at @address: join the cell, in the background. */
void worker_start(struct worker *k, const char *address);
/* 0; ERR_CLOSED: the session is lost, restart. Does not park. */
int worker_health(const struct worker *k, struct err *err);
/* Take no more orders, end attempts, leave the cell. Parks. */
void worker_stop(struct worker *k);
void worker_close(struct worker *k); /* Parks. NULL is allowed. */

struct worker_stats {
    uint64_t number; /* 0: not joined yet. */
    uint32_t slots;
    uint32_t busy;
    uint32_t jobs;
    uint64_t started;       /* Attempts so far. */
    uint64_t fetched_bytes; /* Of spills, from others, */
    uint64_t early_bytes;   /* of these while maps ran, */
    uint64_t served_bytes;  /* and to others. */
};

void worker_get_stats(const struct worker *k, struct worker_stats *out);

#endif /* MAPREDUCE_CLUSTER_WORKER_H */
