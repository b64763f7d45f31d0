/* The instruments that measure, and the table of all metrics there are.
 *
 * metric_list.def has one line for each metric: its name, type, unit, labels,
 * bound and help. The table in docs/metrics.md is made from it.
 *
 * A counter or a histogram is a few atomic numbers that belong to the code
 * that counts: embedded in its struct, or made by a registry (metrics.h),
 * which also names it. Recording takes no lock and allocates nothing: one
 * addition for a counter, two for a histogram. Gauges have no instrument: they
 * are read from the state of their owner when somebody asks.
 *
 * Threads: any.
 */
#ifndef BASE_METRICS_METRIC_H
#define BASE_METRICS_METRIC_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/macros.h"

enum metric_type {
    METRIC_COUNTER, /* Grows; its sample's name ends in _total. */
    METRIC_GAUGE,
    METRIC_HISTOGRAM, /* Of times from 4 us to 34 s. */
    METRIC_DURATION,  /* A histogram of times from 4 ms to 9 hours. */
};

enum metric_unit {
    METRIC_PLAIN, /* A number of things. */
    METRIC_SECONDS,
    METRIC_BYTES,
    METRIC_RATIO,
};

enum metric_id {
#define METRIC(name, type, unit, labels, bound, help, alert) METRIC_##name,
#include "base/metrics/metric_list.def"
#undef METRIC
    METRIC_COUNT
};

/* Labels of one metric, at most. */
#define METRIC_LABELS_MAX 3

/* A line of the table. */
struct metric_info {
    const char *name; /* In full, without the _total of a counter. */
    enum metric_type type;
    enum metric_unit unit;
    const char *labels; /* Their names with commas; "": none. */
    unsigned bound;     /* Values of the first label; those that come when
                           there are as many are counted as "other". */
    const char *help;   /* A sentence. */
    const char *alert;  /* When to worry; "": by itself never. */
};

/* The line of @id. Borrowed for ever. */
const struct metric_info *metric_info(enum metric_id id);
/* The number of its labels. */
size_t metric_label_count(enum metric_id id);

/* --- instruments --------------------------------------------------------- */

struct metric_counter {
    atomic_uint_least64_t value;
};

/* NULL is allowed: not counted. */
static inline void metric_add(struct metric_counter *c, uint64_t by)
{
    if (c)
        atomic_fetch_add_explicit(&c->value, by, memory_order_relaxed);
}

static inline uint64_t metric_read(const struct metric_counter *c)
{
    return atomic_load_explicit(&c->value, memory_order_relaxed);
}

/* Buckets of a histogram: the first holds what takes up to METRIC_FIRST units
 * (microseconds, or milliseconds of a METRIC_DURATION), each further one up to
 * twice as much, and the last the rest. */
#define METRIC_BUCKETS 25
#define METRIC_FIRST   4

struct metric_histogram {
    atomic_uint_least64_t counts[METRIC_BUCKETS];
    atomic_uint_least64_t sum_ns;
};

/* The bucket of a time of @units. */
static inline size_t metric_bucket(uint64_t units)
{
    size_t i;
    if (units <= METRIC_FIRST)
        return 0;
    i = 62U - (unsigned)__builtin_clzll(units - 1);
    return MIN_OF(i, (size_t)METRIC_BUCKETS - 1);
}

/* Record a time of a METRIC_HISTOGRAM. NULL is allowed. */
static inline void metric_observe(struct metric_histogram *h, uint64_t ns)
{
    if (!h)
        return;
    atomic_fetch_add_explicit(&h->counts[metric_bucket((ns + 999) / 1000)], 1,
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&h->sum_ns, ns, memory_order_relaxed);
}

/* Record a time of a METRIC_DURATION. NULL is allowed. */
static inline void metric_observe_long(struct metric_histogram *h, uint64_t ns)
{
    if (!h)
        return;
    atomic_fetch_add_explicit(
        &h->counts[metric_bucket((ns + 999999) / 1000000)], 1,
        memory_order_relaxed);
    atomic_fetch_add_explicit(&h->sum_ns, ns, memory_order_relaxed);
}

/* How many times were recorded. */
uint64_t metric_histogram_count(const struct metric_histogram *h);
/* Add what @from has. */
void metric_histogram_merge(struct metric_histogram *h,
                            const struct metric_histogram *from);

#endif /* BASE_METRICS_METRIC_H */
