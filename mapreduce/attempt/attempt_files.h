/* The files of the cluster that an untrusted attempt may open through its
 * worker's proxy: its splits for reading; in each output, the files that bear
 * its name for writing.
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

/* From now on the proxy client of @s is the attempt @spec of @setup's job;
 * @store reaches the files of bulk outputs. Parks. Errors: those of opening
 * these; ERR_INVALID: an output without a usable name. */
MUST_CHECK int attempt_files_grant(const struct job_setup *setup,
                                   const struct task_spec *spec,
                                   struct relay_store *store,
                                   struct fs_proxy_session *s,
                                   struct err *err);

#endif /* MAPREDUCE_ATTEMPT_ATTEMPT_FILES_H */
