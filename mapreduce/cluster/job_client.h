/* Calls to the job master of a cell, on whichever process it is now.
 *
 * Threads: one loop, that of the fiber that opened it. Everything parks.
 */
#ifndef MAPREDUCE_CLUSTER_JOB_CLIENT_H
#define MAPREDUCE_CLUSTER_JOB_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "mapreduce/cluster/job_calls.h"

struct fs;
struct job_client;
struct rpc_security;
struct world;

struct job_client_options {
    const char *const *cell; /* Lock servers. Borrowed until open returns. */
    size_t cell_count;
    const struct rpc_security *security; /* Borrowed. */
    uint64_t timeout_us; /* Of a call, while masters come and go; default 30 s.
                          */
};

/* *@out is owned. The cell may have no job master yet. Errors: those of
 * chubby_connect(). */
MUST_CHECK int job_client_open(struct world *w,
                               const struct job_client_options *opts,
                               struct job_client **out,
                               struct err *err);
void job_client_close(struct job_client *c); /* NULL is allowed. */

/* Call the job master; a call may be executed more than once. @reply may be
 * NULL. @wait_us is how long the answer itself may take. Errors: the handler's;
 * ERR_UNAVAILABLE: there was no master all the time; ERR_CANCELLED. Parks. */
MUST_CHECK int job_client_call(struct job_client *c,
                               enum job_method method,
                               struct slice body,
                               uint64_t wait_us,
                               struct buf *reply,
                               struct err *err);

/* Submit @o as job @id, @name the name of one that is built in, or NULL; @share
 * has its share of the workers, while its id and options are ignored.
 * Submitting it again changes nothing. Errors: as job_client_call(). Parks. */
MUST_CHECK int job_client_submit(struct job_client *c,
                                 const struct mr_options *o,
                                 const char *id,
                                 const char *name,
                                 const struct job_submission *share,
                                 struct err *err);

/* The first file of this machine that the input @spec would name here; NULL:
 * none, or it names no files. *@path is the path searched. Both owned. */
char *job_client_local_file(struct world *w, const char *spec, char **path);

/* Copy the file @from of this machine to @to in the cell's file system @fs.
 * Parks. */
MUST_CHECK int job_client_upload(struct world *w,
                                 struct fs *fs,
                                 const char *from,
                                 const char *to,
                                 struct err *err);

#endif /* MAPREDUCE_CLUSTER_JOB_CLIENT_H */
