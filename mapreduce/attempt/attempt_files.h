/* Which files of the cluster an attempt may open: what its worker proxies to
 * one that is not trusted. Its splits, to be read; of each output the files
 * that bear its name, to be written.
 *
 * Any thread.
 */
#ifndef MAPREDUCE_ATTEMPT_ATTEMPT_FILES_H
#define MAPREDUCE_ATTEMPT_ATTEMPT_FILES_H

#include "base/core/err.h"
#include "base/core/macros.h"

struct job_setup;
struct fs_proxy_session;
struct relay_store;
struct task_spec;

/* The proxy client of @s is now the attempt @spec of @setup's job; @store
 * reaches the files of bulk outputs. Parks. Errors: those of opening these;
 * ERR_INVALID: a job whose names are none. */
MUST_CHECK int attempt_files_grant(const struct job_setup *setup,
                                   const struct task_spec *spec,
                                   struct relay_store *store,
                                   struct fs_proxy_session *s,
                                   struct err *err);

#endif /* MAPREDUCE_ATTEMPT_ATTEMPT_FILES_H */
