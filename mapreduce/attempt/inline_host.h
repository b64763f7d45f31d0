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

/* Attempts run inside start(), one after the other. */
MUST_CHECK int inline_host_open(const struct job_setup *setup,
                                struct attempt_host **out,
                                struct err *err);
/* The store that attempts of an inline host read tables from. Borrowed. */
void inline_host_set_store(struct attempt_host *h, struct quarry *store);

#endif /* MAPREDUCE_ATTEMPT_INLINE_HOST_H */
