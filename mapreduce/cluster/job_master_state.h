/* The job master as its files see it. Private to job_master.c and
 * job_answers.c.
 *
 * Invariant INV-1: term is set only while the lock is held and the submissions
 * were read, and stays valid while calls > 0 (job_master.c keeps it).
 *
 * One loop.
 */
#ifndef MAPREDUCE_CLUSTER_JOB_MASTER_STATE_H
#define MAPREDUCE_CLUSTER_JOB_MASTER_STATE_H

#include "mapreduce/cluster/job_master.h"
#include "mapreduce/cluster/managed_job.h"

struct buf;
struct chubby;
struct chubby_handle;
struct fiber;
struct rpc_call;

struct job_master {
    struct world *world;
    struct job_master_options options;
    struct fiber *fiber;
    bool stopping;
    struct chubby *chubby;
    struct chubby_handle *lock;
    struct job_master_term *term; /* While it takes calls; else NULL. */
    uint32_t calls;               /* Being answered. */
    struct job_master_term present;
};

/* ROOT/ID, or a file there, unless @name is "". Clears @out. */
void job_file_path(struct buf *out,
                   const char *root,
                   const char *id,
                   const char *name);
/* The job that @id means, if @who may look into it: *@kept if it is in memory,
 * and else NULL. *@name is its id, owned: NULL after failure. Parks. Errors:
 * ERR_NOTFOUND, ERR_INVALID (several), ERR_DENIED. */
MUST_CHECK int job_answers_find(struct job_master_term *r,
                                struct slice id,
                                struct slice who,
                                struct managed_job **kept,
                                char **name,
                                struct err *err);
/* JOB_ATTEMPTS and JOB_LOG. Park. */
MUST_CHECK int job_answers_attempts(struct job_master_term *r,
                                    struct rpc_call *call,
                                    struct err *err);
MUST_CHECK int job_answers_log(struct job_master_term *r,
                               struct rpc_call *call,
                               struct err *err);
/* Add the methods that clients call. */
void job_answers_add(struct job_master *m, struct rpc_server *server);

#endif /* MAPREDUCE_CLUSTER_JOB_MASTER_STATE_H */
