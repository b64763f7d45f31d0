/* Files of the lock service, as a client of tables reads them: contents are
 * valid while its cache holds them, which ends before a writer of the file gets
 * its answer; a session that is lost is started again.
 *
 * The names of the master and of the root tablet's server, and the records of
 * tables that a job made for itself, are kept until an event says that they
 * changed, which may be a moment later.
 *
 * Threads: one loop. Opening, closing, freeing, reading and listing park;
 * reading and listing heed the fiber's deadline.
 */
#ifndef BIGTABLE_CLIENT_CLUSTER_LOCK_FILES_H
#define BIGTABLE_CLIENT_CLUSTER_LOCK_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct lock_file;
struct lock_files;
struct rpc_security;
struct world;

struct lock_files_options {
    const char *servers;                 /* "host:port,…" */
    const struct rpc_security *security; /* Borrowed. */
    const char *memo;                    /* See chubby.h; copied. */
    const char *address;                 /* See chubby.h; copied. */
};

/* Begin a session with the cell. *@out is owned. Errors: ERR_INVALID (the
 * addresses), those of chubby_connect(). */
MUST_CHECK int lock_files_open(struct world *w,
                               const struct lock_files_options *opts,
                               struct lock_files **out,
                               struct err *err);
/* PRE: all files are closed. NULL is allowed. */
void lock_files_close(struct lock_files *l);

/* The file @path, which need not be there. Nothing is asked yet. Owned. */
struct lock_file *lock_file_new(struct lock_files *l, const char *path);
void lock_file_free(struct lock_file *f); /* NULL is allowed. */
/* Its contents, borrowed until the caller parks. *@version (may be NULL)
 * changes whenever they do. Errors: ERR_NOTFOUND, ERR_DENIED, ERR_UNAVAILABLE
 * (the cell does not answer), ERR_DEADLINE, ERR_CANCELLED. */
MUST_CHECK int lock_file_read(struct lock_file *f,
                              struct slice *contents,
                              uint64_t *version,
                              struct err *err);
/* The master or the root tablet's server was not where @f says: read it again
 * next time. NULL is allowed. */
void lock_file_forget(struct lock_file *f);

/* Names in the directory @path; chubby_names_free(). */
MUST_CHECK int lock_files_list(struct lock_files *l,
                               const char *path,
                               char ***names,
                               size_t *count,
                               struct err *err);
/* Calls of the cell so far that were not answered from what is kept. */
uint64_t lock_files_calls(const struct lock_files *l);

#endif /* BIGTABLE_CLIENT_CLUSTER_LOCK_FILES_H */
