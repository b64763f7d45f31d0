/* The job master of a cell: of all processes with the role, the one that holds
 * the lock takes jobs, runs them on the cell's workers, and answers for them.
 *
 * Everything about a job is in the cell's file system (job_calls.h): a master
 * that takes over resumes every job that had not ended, from its journal. One
 * that was cut off can do no harm: workers check the lock with each order, a
 * journal is taken from its writer before it is read, and before outputs are
 * published the lock is checked again.
 *
 *     job_master_open(w, server, &opts, &m, &err)    adds its methods
 *     job_master_start(m)                            once the port is open
 *     job_master_stop(m), job_master_close(m)
 *
 * cluster/ is the top room of mapreduce/: only roles and commands of cli/
 * include it.
 *
 * Threads: one loop; each job runs on a task of its own.
 */
#ifndef MAPREDUCE_CLUSTER_JOB_MASTER_H
#define MAPREDUCE_CLUSTER_JOB_MASTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "mapreduce/job.h"
#include "mapreduce/task/caps.h"

struct buf;
struct cluster_roles;
struct fs;
struct job_master;
struct metrics;
struct rpc_security;
struct rpc_server;
struct world;

/* Zeros give the defaults. All pointers are borrowed while the master is open.
 */
struct job_master_options {
    const char *address;     /* Of this process. */
    const char *const *cell; /* Lock servers. */
    size_t cell_count;
    const struct rpc_security *security;
    struct fs *fs;      /* The cell's, from its root. */
    const char *target; /* Of the cell's tables; NULL: there are none. */
    const struct quarry_options *store_options;
    /* Find the job of a name that is built into this program, or NULL. */
    const struct mr_job *(*find)(const char *name);
    /* Is @name a driver that runs several jobs; and run it. */
    bool (*is_driver)(const char *name);
    int (*drive)(const char *name,
                 const struct mr_options *opts,
                 struct mr_report **report,
                 struct err *err);
    /* May @who administer the cluster: end the jobs of others, and see all of
     * them? Parks. NULL: everybody may. */
    bool (*is_administrator)(void *ctx, struct slice who);
    /* Open the cell's files with the rights of @principal; *@out is owned.
     * NULL: jobs use files as the job master. */
    int (*open_fs)(void *ctx,
                   const char *principal,
                   struct fs **out,
                   struct err *err);
    void *ctx;
    const struct cluster_roles
        *roles; /* Principals with these roles may name all files in jobs; NULL:
                   everybody may. */
    bool encrypts; /* Spills. */
    /* With a master key, jobs' options, summaries and their pending writes to
     * tables are encrypted: with the data keys in the file @keys_path of `fs`,
     * which the holder of the lock in @keys_dir makes if there are none.
     * Borrowed; NULL: they are not. */
    struct master_keys *master_keys;
    const char *keys_path;
    const char *keys_dir;
    struct job_caps caps;    /* Bounds on what a job may ask for. */
    uint32_t lease_ms;       /* Lease of its session; 0: chubby.h's. */
    const char *memo;        /* See chubby.h; NULL: none. */
    uint32_t running_max;    /* Jobs at a time; default 64. */
    uint32_t history_max;    /* Ended jobs that are kept; default 1000. */
    struct metrics *metrics; /* Borrowed; NULL: counts nothing. */
};

MUST_CHECK int job_master_open(struct world *w,
                               struct rpc_server *server,
                               const struct job_master_options *opts,
                               struct job_master **out,
                               struct err *err);
/* The port is open: become a candidate for the lock, in the background. */
void job_master_start(struct job_master *m);
/* Leave running jobs to the next master. Parks. */
void job_master_stop(struct job_master *m);
void job_master_close(struct job_master *m); /* Parks. NULL is allowed. */

struct job_master_status {
    bool is_master;
    uint32_t waiting; /* Jobs. */
    uint32_t running;
    uint32_t stalled; /* Of the running: their tasks wait, and none runs. */
    uint64_t ended;   /* Since it became master. */
    uint32_t workers;
    uint32_t slots;
    uint32_t busy;
};

void job_master_get_status(const struct job_master *m,
                           struct job_master_status *out);
/* Append ' job="…"' for each of the oldest jobs that run or wait. */
void job_master_put_jobs(const struct job_master *m, struct buf *out);

#endif /* MAPREDUCE_CLUSTER_JOB_MASTER_H */
