/* The registry of a process: counters and histograms by metric and labels, and
 * the set of samples that one scrape gathers.
 *
 *     struct metric_counter *c = metrics_counter(m, METRIC_rpc_slow, NULL);
 *     metric_add(c, 1);                                    anywhere, any thread
 *
 *     struct metric_set *s = metric_set_new(m);
 *     metrics_gather(m, s);            the registry's own, and then what others
 *     metric_put(s, METRIC_log_bytes, NULL, 17);           keep as their state
 *     metric_set_print(s, METRIC_TEXT_OPENMETRICS, out);
 *
 * Labels are bounded: the first label of a metric has at most as many values as
 * its line of the table says. The registry remembers the first that came, for
 * its life; the samples of all others are added up under the value "other". The
 * other labels take values that the program itself names.
 *
 * Invariants
 *     INV-1. There is one instrument for each metric and labels; it never
 *            moves.
 *     INV-2. A metric has at most `bound` values of its first label, and
 *            "other".
 *
 * Threads: a registry: any. A set: one.
 */
#ifndef BASE_METRICS_METRICS_H
#define BASE_METRICS_METRICS_H

#include <stdbool.h>

#include "base/metrics/metric.h"

struct buf;
struct metric_set;
struct metrics;

/* The values of a metric's labels, in the table's order. */
#define METRIC_LABELS(...) ((const char *const[METRIC_LABELS_MAX]){__VA_ARGS__})
#define METRIC_OTHER       "other"

struct metrics *metrics_new(void);    /* Owned. */
void metrics_free(struct metrics *m); /* NULL is allowed. */

/* The instrument of @id with these values (copied; NULL: it has no labels),
 * made if there is none. Borrowed until metrics_free(). @m may be NULL: then
 * NULL is returned, which records nothing. */
struct metric_counter *metrics_counter(struct metrics *m,
                                       enum metric_id id,
                                       const char *const *labels);
struct metric_histogram *metrics_histogram(struct metrics *m,
                                           enum metric_id id,
                                           const char *const *labels);

/* --- one scrape ---------------------------------------------------------- */

/* An empty set, whose labels @m bounds (borrowed). Owned. */
struct metric_set *metric_set_new(struct metrics *m);
void metric_set_free(struct metric_set *s); /* NULL is allowed. */

/* Add all instruments of the registry. */
void metrics_gather(struct metrics *m, struct metric_set *s);
/* Add a value; what has the same labels is added up. @labels as above. */
void metric_put(struct metric_set *s,
                enum metric_id id,
                const char *const *labels,
                double value);
/* Add the value of @c. */
void metric_put_counter(struct metric_set *s,
                        enum metric_id id,
                        const char *const *labels,
                        const struct metric_counter *c);
/* Add what @h holds. */
void metric_put_histogram(struct metric_set *s,
                          enum metric_id id,
                          const char *const *labels,
                          const struct metric_histogram *h);

/* The sum of the samples of @id (of no histogram) whose first label is @label;
 * NULL: of all. False: there are none, and *@out is left alone. */
bool metric_set_value(const struct metric_set *s,
                      enum metric_id id,
                      const char *label,
                      double *out);
/* The same of a histogram: added to @out. */
bool metric_set_histogram(const struct metric_set *s,
                          enum metric_id id,
                          const char *label,
                          struct metric_histogram *out);

enum metric_text {
    METRIC_TEXT_OPENMETRICS, /* Of OpenMetrics 1.0, */
    METRIC_TEXT_PROMETHEUS,  /* Prometheus' text format 0.0.4, */
    METRIC_TEXT_PLAIN,       /* "name{labels} value" lines for people;
                                counts and sums of histograms. */
};

/* Append the samples, sorted by the table's order, then by labels. */
void metric_set_print(struct metric_set *s,
                      enum metric_text form,
                      struct buf *out);

#endif /* BASE_METRICS_METRICS_H */
