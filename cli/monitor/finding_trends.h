/* Series of nodes' histories that rules look at: asked for once a minute, from
 * all nodes at once.
 *
 * Threads: one loop; any number of fibers.
 */
#ifndef CLI_MONITOR_FINDING_TRENDS_H
#define CLI_MONITOR_FINDING_TRENDS_H

#include "cli/monitor/finding_facts.h"
#include "cli/monitor/subject.h"

struct finding_trends;

struct finding_trends *finding_trends_new(void);    /* Owned. */
void finding_trends_free(struct finding_trends *t); /* NULL is allowed. */

/* Ask the nodes of @n, if that is due. A node that does not tell has no series.
 * Parks. */
void finding_trends_ask(struct finding_trends *t,
                        struct monitor *m,
                        const struct monitor_nodes *n);
/* The series of the node at @address: *@count of them. Borrowed until the next
 * finding_trends_ask(), which another fiber may call whenever this one parks.
 */
const struct fact_series *finding_trends_of(const struct finding_trends *t,
                                            const char *address,
                                            size_t *count);

#endif /* CLI_MONITOR_FINDING_TRENDS_H */
