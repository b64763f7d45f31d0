/* The facts of a cluster, gathered for findings, and what the monitor remembers
 * between two times: since when, which nodes answered when, and whether jobs
 * get on.
 *
 * Threads: one loop; any number of fibers.
 */
#ifndef CLI_MONITOR_FINDING_WATCH_H
#define CLI_MONITOR_FINDING_WATCH_H

#include <jansson.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct finding_watch;
struct monitor;

struct finding_watch *finding_watch_new(void);    /* Owned. */
void finding_watch_free(struct finding_watch *w); /* NULL is allowed. */

/* Put `state` ("well", "warning", "failing"), `sentence` and `findings`, at
 * most @limit, into @doc, and which nodes are not up into its warnings. Parks.
 * Errors: ERR_CANCELLED, ERR_DEADLINE; what cannot be asked is a finding. */
MUST_CHECK int monitor_put_findings(struct monitor *m,
                                    size_t limit,
                                    json_t *doc,
                                    struct err *err);

#endif /* CLI_MONITOR_FINDING_WATCH_H */
