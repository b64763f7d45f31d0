/* Attempts in the job master's own thread: for debugging, and for simulated
 * machines, which have no processes. No limits and no sandbox.
 */
#ifndef MAPREDUCE_ATTEMPT_INLINE_HOST_H
#define MAPREDUCE_ATTEMPT_INLINE_HOST_H

#include "base/core/err.h"
#include "base/core/macros.h"

struct attempt_host;
struct job_setup;
struct quarry;

/* A host whose start() runs the attempt to its end. *@out is owned:
 * host->close(). @setup outlives it. Errors: those of loading the job's code.
 */
MUST_CHECK int inline_host_open(const struct job_setup *setup,
                                struct attempt_host **out,
                                struct err *err);
/* Set the store that the attempts of an inline host read tables from. Borrowed.
 */
void inline_host_set_store(struct attempt_host *h, struct quarry *store);

#endif /* MAPREDUCE_ATTEMPT_INLINE_HOST_H */
