/* The metrics of one scrape of a node, parsed from the text format of
 * Prometheus: sums over labels, and histograms.
 *
 * The text comes from another process: it is bounded, and a line that is none
 * is an error.
 *
 * Threads: one at a time; immutable once parsed.
 */
#ifndef CLI_MONITOR_NODE_METRICS_H
#define CLI_MONITOR_NODE_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

/* Of one node's text. */
#define NODE_METRICS_BYTES_MAX   ((size_t)4 << 20)
#define NODE_METRICS_SAMPLES_MAX 50000

struct node_sample {
    struct slice name;   /* With suffix: "quarry_rpc_calls_total". */
    struct slice labels; /* The text between the braces; empty: none. */
    double value;
};

struct node_metrics {
    struct buf text;
    struct node_sample *at; /* Sorted by name, in it as in the text. Owned. */
    size_t count;
};

/* Parse @text, which is copied. *@out: node_metrics_close(), in any case.
 * Errors: ERR_TOOBIG, ERR_CORRUPT (names the line). */
MUST_CHECK int node_metrics_parse(struct slice text,
                                  struct node_metrics *out,
                                  struct err *err);
void node_metrics_close(struct node_metrics *m);

/* The samples of @name: *@first and their number. */
size_t node_metrics_find(const struct node_metrics *m,
                         const char *name,
                         const struct node_sample **first);
/* Cut the next label off *@rest. *@value is as in the text, with its escapes.
 * False at the end, and where they cannot be read. */
bool node_label_next(struct slice *rest,
                     struct slice *name,
                     struct slice *value);
/* Has @s all of @labels ("a=1,b=2"; NULL: any will do)? */
bool node_sample_has(const struct node_sample *s, const char *labels);
/* The sum of the samples of @name with @labels. False: there is none. */
bool node_metrics_sum(const struct node_metrics *m,
                      const char *name,
                      const char *labels,
                      double *out);

/* --- histograms ---------------------------------------------------------- */

#define METRIC_SPREAD_BUCKETS 64

/* How many observations were at most each bound. */
struct metric_spread {
    double bounds[METRIC_SPREAD_BUCKETS]; /* Ascending; the last one has no
                                             end. */
    double counts[METRIC_SPREAD_BUCKETS]; /* Of each bucket alone. */
    size_t size;
};

/* Add @sign times the buckets of histogram @name with @labels. */
void metric_spread_add(struct metric_spread *h,
                       const struct node_metrics *m,
                       const char *name,
                       const char *labels,
                       double sign);
double metric_spread_count(const struct metric_spread *h);
/* The bound that @share (0.99) of the observations did not exceed, with the
 * bucket's inner part estimated, in the histogram's unit. False: it is empty.
 */
bool metric_spread_quantile(const struct metric_spread *h,
                            double share,
                            double *out);

#endif /* CLI_MONITOR_NODE_METRICS_H */
