/* The table of metrics as data, and what is computed from histograms. Names
 * are those of metric_list.def after "quarry_", but for those that scrapers
 * know of every process.
 */
#include "base/metrics/metric.h"

#include <string.h>

#include "base/core/panic.h"

#define LINE(name, type, unit, labels, bound, help, alert)                     \
    {                                                                          \
        name, METRIC_##type, METRIC_##unit, labels, bound, help, alert         \
    }

static const struct metric_info infos[METRIC_COUNT] = {
#define METRIC(name, type, unit, labels, bound, help, alert)                   \
    [METRIC_##name] =                                                          \
        LINE("quarry_" #name, type, unit, labels, bound, help, alert),
#define METRIC_STANDARD(name, type, unit, labels, bound, help, alert)          \
    [METRIC_##name] = LINE(#name, type, unit, labels, bound, help, alert),
#include "base/metrics/metric_list.def"
#undef METRIC
};

STATIC_ASSERT(METRIC_FIRST == 4, "metric_bucket() counts on it");

const struct metric_info *metric_info(enum metric_id id)
{
    PRE(id < METRIC_COUNT);
    return &infos[id];
}

size_t metric_label_count(enum metric_id id)
{
    const char *p = metric_info(id)->labels;
    size_t count = *p != '\0';
    for (; *p; p++)
        count += *p == ',';
    POST(count <= METRIC_LABELS_MAX);
    return count;
}

uint64_t metric_histogram_count(const struct metric_histogram *h)
{
    uint64_t count = 0;
    for (size_t i = 0; i < METRIC_BUCKETS; i++)
        count += atomic_load_explicit(&h->counts[i], memory_order_relaxed);
    return count;
}

void metric_histogram_merge(struct metric_histogram *h,
                            const struct metric_histogram *from)
{
    for (size_t i = 0; i < METRIC_BUCKETS; i++)
        atomic_fetch_add(&h->counts[i], atomic_load(&from->counts[i]));
    atomic_fetch_add(&h->sum_ns, atomic_load(&from->sum_ns));
}
