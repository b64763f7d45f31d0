/* Rings of points by slots of the wall clock. Both rings of a series share the
 * numbers of the newest slots, which the history keeps once: before a sample is
 * stored, the slots between it and the one before are emptied in all rings, so
 * that an old turn of a ring never shines through.
 *
 * Counters are compared with those of the sample before; a minute's quantile
 * comes from the sum of the histograms' growth since the minute began.
 */
#include "base/metrics/metric_history.h"

#include <math.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/metrics/metrics.h"

#define HISTORY_BYTES_MAX ((size_t)3 << 19) /* 1.5 MiB. */
#define SERIES_POINTS     (HISTORY_STEP_COUNT + HISTORY_MINUTE_COUNT)

/* Growth of the buckets of a histogram. */
struct history_buckets {
    uint64_t before[METRIC_BUCKETS]; /* At the sample before. */
    uint64_t minute[METRIC_BUCKETS]; /* Of this minute. */
};

struct history_series {
    float *points;     /* Owned; NULL: there was never a value. First those of
                          the hour, then those of the day. */
    double before;     /* Of a counter, at the sample before. */
    double minute_sum; /* Of the samples of this minute. */
    unsigned minute_count;
    struct history_buckets *buckets; /* Owned; of quantiles only. */
};

struct metric_history {
    struct history_series series[HISTORY_COUNT];
    bool has_sample;
    uint64_t slot;    /* Newest, of HISTORY_STEP_US since the epoch. */
    uint64_t minute;  /* The same, of HISTORY_MINUTE_US. */
    uint64_t mono_ns; /* Of the sample before. */
};

STATIC_ASSERT(HISTORY_COUNT *(SERIES_POINTS * sizeof(float) +
                              sizeof(struct history_buckets)) +
                      sizeof(struct metric_history) <=
                  HISTORY_BYTES_MAX,
              "the bound that the header states");
STATIC_ASSERT(HISTORY_MINUTE_US % HISTORY_STEP_US == 0, "minutes are of steps");

static const struct history_info infos[HISTORY_COUNT] = {
#define SERIES(name, kind, unit, across, metric, label, scale)                 \
    [HISTORY_##                                                                \
        name] = {#name,           HISTORY_##kind, unit, HISTORY_##across,      \
                 METRIC_##metric, label,          scale},
#include "base/metrics/metric_history.def"
#undef SERIES
};

const struct history_info *history_info(enum history_id id)
{
    PRE(id < HISTORY_COUNT);
    return &infos[id];
}

bool history_find(struct slice name, enum history_id *out)
{
    for (int i = 0; i < HISTORY_COUNT; i++)
        if (slice_eq(name, slice_str(infos[i].name))) {
            *out = (enum history_id)i;
            return true;
        }
    return false;
}

static bool is_quantile(enum history_kind kind)
{
    return kind == HISTORY_P50 || kind == HISTORY_P99;
}

struct metric_history *metric_history_new(void)
{
    struct metric_history *h = mem_zalloc(1, sizeof(*h));
    for (int i = 0; i < HISTORY_COUNT; i++)
        if (is_quantile(infos[i].kind))
            h->series[i].buckets =
                mem_zalloc(1, sizeof(struct history_buckets));
    return h;
}

void metric_history_free(struct metric_history *h)
{
    if (!h)
        return;
    for (int i = 0; i < HISTORY_COUNT; i++) {
        mem_free(h->series[i].points);
        mem_free(h->series[i].buckets);
    }
    mem_free(h);
}

size_t metric_history_bytes(const struct metric_history *h)
{
    size_t bytes = sizeof(*h);
    for (int i = 0; i < HISTORY_COUNT; i++) {
        bytes += h->series[i].points ? SERIES_POINTS * sizeof(float) : 0;
        bytes += h->series[i].buckets ? sizeof(struct history_buckets) : 0;
    }
    POST(bytes <= HISTORY_BYTES_MAX);
    return bytes;
}

/* --- rings --------------------------------------------------------------- */

static float *step_point(const struct history_series *s, uint64_t slot)
{
    return &s->points[slot % HISTORY_STEP_COUNT];
}

static float *minute_point(const struct history_series *s, uint64_t minute)
{
    return &s->points[HISTORY_STEP_COUNT + minute % HISTORY_MINUTE_COUNT];
}

static void history_make_points(struct history_series *s)
{
    s->points = mem_alloc(SERIES_POINTS * sizeof(float));
    for (size_t i = 0; i < SERIES_POINTS; i++)
        s->points[i] = NAN;
}

/* Empty the slots in (@from, @to]. */
static void clear_steps(struct metric_history *h, uint64_t from, uint64_t to)
{
    uint64_t count = MIN_OF(to - from, HISTORY_STEP_COUNT);
    PRE(from <= to);
    for (int i = 0; i < HISTORY_COUNT; i++)
        for (uint64_t k = 0; k < count && h->series[i].points; k++)
            *step_point(&h->series[i], to - k) = NAN;
}

static void clear_minutes(struct metric_history *h, uint64_t from, uint64_t to)
{
    uint64_t count = MIN_OF(to - from, HISTORY_MINUTE_COUNT);
    PRE(from <= to);
    for (int i = 0; i < HISTORY_COUNT; i++)
        for (uint64_t k = 0; k < count && h->series[i].points; k++)
            *minute_point(&h->series[i], to - k) = NAN;
}

static void begin_minute(struct metric_history *h, uint64_t minute)
{
    uint64_t low = MIN_OF(minute, h->minute);
    clear_minutes(h, low, MAX_OF(minute, h->minute)); /* INV-1, INV-2 */
    h->minute = minute;
    for (int i = 0; i < HISTORY_COUNT; i++) {
        struct history_series *s = &h->series[i];
        s->minute_sum = 0;
        s->minute_count = 0;
        if (s->buckets)
            memset(s->buckets->minute, 0, sizeof(s->buckets->minute));
    }
}

/* Go to the slots of @wall_us, forward or back. */
static void history_move(struct metric_history *h, uint64_t wall_us)
{
    uint64_t slot = wall_us / HISTORY_STEP_US;
    uint64_t minute = wall_us / HISTORY_MINUTE_US;
    if (h->has_sample)
        clear_steps(h, MIN_OF(slot, h->slot), MAX_OF(slot, h->slot));
    else
        h->minute = minute;
    h->slot = slot;
    if (h->minute != minute)
        begin_minute(h, minute);
}

/* --- values -------------------------------------------------------------- */

/* The bounds of a bucket, in microseconds. */
static double bucket_low(size_t bucket)
{
    return bucket ? (double)((uint64_t)METRIC_FIRST << (bucket - 1)) : 0;
}

/* The quantile @q of the times counted in @counts, in microseconds; within a
 * bucket they are taken to be spread evenly. NAN: there are none. */
static double history_quantile(const uint64_t *counts, double q)
{
    uint64_t total = 0;
    double rank, seen = 0;
    for (size_t i = 0; i < METRIC_BUCKETS; i++)
        total += counts[i];
    rank = q * (double)total;
    for (size_t i = 0; i < METRIC_BUCKETS && total; i++) {
        double count = (double)counts[i];
        if (count > 0 && seen + count >= rank) {
            double low = bucket_low(i);
            double width = i + 1 < METRIC_BUCKETS ? bucket_low(i + 1) - low : 0;
            return low + width * (rank - seen) / count;
        }
        seen += count;
    }
    return NAN;
}

static double quantile_of(enum history_kind kind, const uint64_t *counts)
{
    return history_quantile(counts, kind == HISTORY_P50 ? 0.5 : 0.99);
}

/* The label to look for; NULL: all. */
static const char *history_label(const struct history_info *info)
{
    return *info->label ? info->label : NULL;
}

/* The quantile since the sample before; NAN: nothing was recorded. */
static double sample_quantile(struct metric_history *h,
                              struct history_series *s,
                              const struct history_info *info,
                              const struct metric_set *set)
{
    struct metric_histogram now = {.sum_ns = 0};
    uint64_t grown[METRIC_BUCKETS];
    (void)metric_set_histogram(set, info->metric, history_label(info), &now);
    for (size_t i = 0; i < METRIC_BUCKETS; i++) {
        uint64_t count = atomic_load(&now.counts[i]);
        uint64_t before = s->buckets->before[i];
        grown[i] = h->has_sample && count > before ? count - before : 0;
        s->buckets->before[i] = count;
        s->buckets->minute[i] += grown[i];
    }
    return quantile_of(info->kind, grown);
}

/* The value of a counter, or the count of a histogram. False, and 0: it is not
 * there. */
static bool history_counter(const struct history_info *info,
                            const struct metric_set *set,
                            double *value)
{
    struct metric_histogram now = {.sum_ns = 0};
    bool found;
    *value = 0;
    if (metric_info(info->metric)->type < METRIC_HISTOGRAM)
        return metric_set_value(set, info->metric, history_label(info), value);
    found = metric_set_histogram(set, info->metric, history_label(info), &now);
    *value = (double)metric_histogram_count(&now);
    return found;
}

/* Instruments begin at 0 when they are made, so what was not there before has
 * grown from 0. A role that lost its place may count less than before: then
 * the rate is not known. */
static double sample_rate(const struct metric_history *h,
                          struct history_series *s,
                          const struct history_info *info,
                          const struct metric_set *set,
                          uint64_t mono_ns)
{
    double value;
    bool found = history_counter(info, set, &value);
    double grown = value - s->before;
    double seconds = (double)(mono_ns - h->mono_ns) / 1e9;
    s->before = value;
    if (!found || !h->has_sample || grown < 0 || seconds < 0.1)
        return NAN;
    return grown / seconds;
}

/* NAN: the process does not have it, or it is not known. */
static double sample_value(struct metric_history *h,
                           struct history_series *s,
                           const struct history_info *info,
                           const struct metric_set *set,
                           uint64_t mono_ns)
{
    double value = NAN;
    if (is_quantile(info->kind))
        return sample_quantile(h, s, info, set);
    if (info->kind == HISTORY_RATE)
        return sample_rate(h, s, info, set, mono_ns);
    (void)metric_set_value(set, info->metric, history_label(info), &value);
    return value;
}

static void history_fold(struct metric_history *h,
                         struct history_series *s,
                         enum history_kind kind,
                         double value)
{
    if (is_quantile(kind)) {
        value = quantile_of(kind, s->buckets->minute);
    } else {
        s->minute_sum += value;
        s->minute_count++;
        value = s->minute_sum / s->minute_count;
    }
    *minute_point(s, h->minute) = (float)value;
}

static void history_store(struct metric_history *h,
                          struct history_series *s,
                          enum history_kind kind,
                          double value)
{
    if (isnan(value))
        return;
    if (!s->points)
        history_make_points(s);
    *step_point(s, h->slot) = (float)value;
    history_fold(h, s, kind, value);
}

bool metric_history_is_due(const struct metric_history *h, uint64_t wall_us)
{
    return !h->has_sample || wall_us / HISTORY_STEP_US != h->slot;
}

void metric_history_sample(struct metric_history *h,
                           const struct metric_set *set,
                           uint64_t wall_us,
                           uint64_t mono_ns)
{
    PRE(!h->has_sample || mono_ns >= h->mono_ns);
    history_move(h, wall_us);
    for (int i = 0; i < HISTORY_COUNT; i++) {
        const struct history_info *info = &infos[i];
        struct history_series *s = &h->series[i];
        history_store(h, s, info->kind,
                      sample_value(h, s, info, set, mono_ns) * info->scale);
    }
    h->mono_ns = mono_ns;
    h->has_sample = true;
}

/* --- reading ------------------------------------------------------------- */

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

struct history_span history_span_make(uint64_t from_us,
                                      uint64_t to_us,
                                      uint64_t step_us,
                                      uint64_t now_us,
                                      size_t count_max)
{
    const uint64_t hour = HISTORY_STEP_US * HISTORY_STEP_COUNT;
    const uint64_t day = HISTORY_MINUTE_US * HISTORY_MINUTE_COUNT;
    struct history_span out;
    uint64_t unit, length;
    PRE(count_max >= 2);
    to_us = MIN_OF(to_us, now_us);
    from_us = MIN_OF(MAX_OF(from_us, now_us > day ? now_us - day : 0), to_us);
    unit = now_us - from_us <= hour ? HISTORY_STEP_US : HISTORY_MINUTE_US;
    step_us = MAX_OF(MIN_OF(step_us, day), unit);
    length = to_us - from_us;
    /* Both ends are rounded down: one point more than there are steps. */
    step_us = MAX_OF(step_us, (length + count_max - 2) / (count_max - 1));
    out.step_us = round_up(step_us, step_us % HISTORY_MINUTE_US == 0 ||
                                            unit == HISTORY_MINUTE_US
                                        ? HISTORY_MINUTE_US
                                        : HISTORY_STEP_US);
    out.from_us = from_us / out.step_us * out.step_us;
    out.count = (size_t)((to_us / out.step_us * out.step_us - out.from_us) /
                         out.step_us) +
                1;
    POST(out.count <= count_max);
    return out;
}

/* A ring as it is read. */
struct history_ring {
    const float *points;
    uint64_t count;
    uint64_t newest;
    uint64_t unit_us; /* Of a slot. */
};

static struct history_ring history_ring_of(const struct metric_history *h,
                                           const struct history_series *s,
                                           uint64_t step_us)
{
    if (step_us % HISTORY_MINUTE_US == 0)
        return (struct history_ring){s->points + HISTORY_STEP_COUNT,
                                     HISTORY_MINUTE_COUNT, h->minute,
                                     HISTORY_MINUTE_US};
    return (struct history_ring){s->points, HISTORY_STEP_COUNT, h->slot,
                                 HISTORY_STEP_US};
}

/* The slots [@first, @end) as one value. */
static float fold_slots(const struct history_ring *r,
                        uint64_t first,
                        uint64_t end,
                        bool greatest)
{
    double sum = 0, top = 0;
    unsigned seen = 0;
    if (r->newest >= r->count)
        first = MAX_OF(first, r->newest - r->count + 1); /* INV-2 */
    end = MIN_OF(end, r->newest + 1);
    for (uint64_t slot = first; slot < end; slot++) {
        double v = (double)r->points[slot % r->count];
        if (isnan(v))
            continue;
        top = seen ? fmax(top, v) : v;
        sum += v;
        seen++;
    }
    if (seen == 0)
        return NAN;
    return (float)(greatest ? top : sum / seen);
}

void metric_history_read(const struct metric_history *h,
                         enum history_id id,
                         const struct history_span *span,
                         float *out)
{
    const struct history_series *s = &h->series[id];
    bool greatest = is_quantile(history_info(id)->kind);
    struct history_ring r;
    PRE(span->step_us > 0 && span->step_us % HISTORY_STEP_US == 0);
    for (size_t i = 0; i < span->count && !s->points; i++)
        out[i] = NAN;
    if (!s->points)
        return;
    r = history_ring_of(h, s, span->step_us);
    for (size_t i = 0; i < span->count; i++) {
        uint64_t from_us = span->from_us + i * span->step_us;
        out[i] = fold_slots(&r, from_us / r.unit_us,
                            (from_us + span->step_us) / r.unit_us, greatest);
    }
}
