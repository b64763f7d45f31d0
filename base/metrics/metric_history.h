/* The chosen figures of a process over the last day: a ring for each series of
 * metric_history.def.
 *
 * Every HISTORY_STEP_US of the wall clock the process samples its metrics. The
 * samples are kept for an hour; folded to minutes, for a day. Time is cut into
 * slots by the wall clock, so that the rings of all nodes line up: a point of
 * slot N is what was sampled in it, gauges as of then, rates and quantiles of
 * the interval since the sample before. A slot without a sample (the process
 * was not there, or held up) is a gap.
 *
 * A minute has the mean of its samples; a quantile is that of all times
 * recorded in the minute. When the clock was set back, what lies ahead of it is
 * forgotten; when it was set forward, there is a gap.
 *
 * It is in memory only: a process that starts remembers nothing.
 *
 * Memory: a series takes 8,640 bytes from its first value on (2,160 points of
 * four bytes), so 510 KiB of all 60 series, and 1.5 MiB are never exceeded. A
 * node without some roles has fewer: its figure is quarry_memory_bytes.
 *
 * Invariants
 *     INV-1. No slot after the newest sample's holds a value.
 *     INV-2. A ring holds no value of a slot that is a full turn older than the
 *            newest.
 *
 * Threads: one.
 */
#ifndef BASE_METRICS_METRIC_HISTORY_H
#define BASE_METRICS_METRIC_HISTORY_H

#include <stdbool.h>

#include "base/core/slice.h"
#include "base/metrics/metric.h"

struct metric_history;
struct metric_set;

#define HISTORY_STEP_US      UINT64_C(5000000)
#define HISTORY_STEP_COUNT   720 /* An hour, */
#define HISTORY_MINUTE_US    UINT64_C(60000000)
#define HISTORY_MINUTE_COUNT 1440 /* and a day. */

enum history_kind {
    HISTORY_GAUGE,
    HISTORY_RATE,
    HISTORY_P50,
    HISTORY_P99,
};

/* How nodes make one figure. */
enum history_across {
    HISTORY_SUM,
    HISTORY_WORST, /* The value of the greatest magnitude. */
};

enum history_id {
#define SERIES(name, kind, unit, across, metric, label, scale) HISTORY_##name,
#include "base/metrics/metric_history.def"
#undef SERIES
    HISTORY_COUNT
};

/* A line of the table. */
struct history_info {
    const char *name;
    enum history_kind kind;
    const char *unit; /* "us", "bytes", "per_s" …; "": a number of things. */
    enum history_across across;
    enum metric_id metric;
    const char *label; /* Value of its first label; "": all. */
    double scale;
};

/* The line of @id. Borrowed for ever. */
const struct history_info *history_info(enum history_id id);
/* The series @name. False: there is none. */
bool history_find(struct slice name, enum history_id *out);

/* Without a sample. Owned. */
struct metric_history *metric_history_new(void);
void metric_history_free(struct metric_history *h); /* NULL is allowed. */

/* Is there no sample in the slot of @wall_us yet? */
bool metric_history_is_due(const struct metric_history *h, uint64_t wall_us);
/* Take a sample: @set as of now, @mono_ns of a clock that is never set. */
void metric_history_sample(struct metric_history *h,
                           const struct metric_set *set,
                           uint64_t wall_us,
                           uint64_t mono_ns);

/* Points at from_us, from_us + step_us, …: multiples of step_us. */
struct history_span {
    uint64_t from_us;
    uint64_t step_us;
    size_t count;
};

/* The span that answers a question for [@from_us, @to_us] by @step_us (0: the
 * finest there is for @from_us), asked at @now_us. The step becomes a multiple
 * of HISTORY_STEP_US within the last hour, else of HISTORY_MINUTE_US; it grows
 * until there are at most @count_max points. PRE: @count_max >= 2. */
struct history_span history_span_make(uint64_t from_us,
                                      uint64_t to_us,
                                      uint64_t step_us,
                                      uint64_t now_us,
                                      size_t count_max);
/* Fill @out with the span's points of @id; NAN where there is a gap. A step of
 * several slots has the mean of those that hold something; of quantiles the
 * greatest. PRE: @span is of history_span_make(). */
void metric_history_read(const struct metric_history *h,
                         enum history_id id,
                         const struct history_span *span,
                         float *out);
/* Bytes that it takes. */
size_t metric_history_bytes(const struct metric_history *h);

#endif /* BASE_METRICS_METRIC_HISTORY_H */
