/* The parts that metrics.c and metric_set.c share. Private to base/metrics.
 */
#ifndef BASE_METRICS_METRIC_SET_H
#define BASE_METRICS_METRIC_SET_H

#include "base/metrics/metrics.h"

/* Append what tells apart the metric @id with these labels: a key of maps. */
void metric_key(enum metric_id id, const char *const *labels, struct buf *out);
/* The values under which a sample of @id with @labels is counted: these, or
 * with "other" in the place of the first. Borrowed from @labels. */
void metrics_bound(struct metrics *m,
                   enum metric_id id,
                   const char *const *labels,
                   const char *out[METRIC_LABELS_MAX]);

#endif /* BASE_METRICS_METRIC_SET_H */
