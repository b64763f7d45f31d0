/* Attempts as processes of this machine: an attempt_host (task/host.h) whose
 * slots are children of a zygote, a small process with the job's code loaded.
 *
 * Forking a process with threads or a large heap is slow and unsafe, and
 * loading the job for each attempt would cost more than a small task: hence the
 * zygote.
 *
 * attempt/ puts shuffle, input, output and engines together; master/ and
 * cluster/ may include it, and of the command line the process that attempts
 * are (exec.h).
 */
#ifndef MAPREDUCE_ATTEMPT_PROCESS_HOST_H
#define MAPREDUCE_ATTEMPT_PROCESS_HOST_H

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct attempt_host;
struct job_setup;

/* A host whose zygote is forked here, before the caller makes threads or opens
 * much. @setup must not change meanwhile. *@out is owned: host->close().
 * Errors: ERR_NOTFOUND, ERR_INVALID: the job's code cannot be loaded. */
MUST_CHECK int process_host_open(const struct job_setup *setup,
                                 unsigned slots,
                                 struct attempt_host **out,
                                 struct err *err);

/* The same where this process has threads: the zygote is this program, run
 * again by @command (ends with NULL), which is to call attempts_main()
 * (attempt/exec.h). host->wake() may be called on any thread. */
MUST_CHECK int process_host_exec(const struct job_setup *setup,
                                 const char *const *command,
                                 unsigned slots,
                                 struct attempt_host **out,
                                 struct err *err);

/* The two halves of that, since loading the program takes longer than a small
 * task: a spare host waits for its job, in no more memory than a program at
 * rest; it is closed as any host. Then, once, its job: the host is to be closed
 * after failure too. It ends with the thread that made it. */
MUST_CHECK int process_host_spare(const char *const *command,
                                  unsigned slots,
                                  struct attempt_host **out,
                                  struct err *err);
MUST_CHECK int process_host_begin(struct attempt_host *h,
                                  const struct job_setup *setup,
                                  struct err *err);
/* Does the program of a spare host still run? */
bool process_host_is_alive(struct attempt_host *h);

#endif /* MAPREDUCE_ATTEMPT_PROCESS_HOST_H */
