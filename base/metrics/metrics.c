/* Instruments in a map by metric and labels. An instrument never moves after it
 * was made, so that its users keep the address and record without the lock.
 * The map also has an entry for each value of a first label that was admitted.
 */
#include "base/metrics/metrics.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/hash_map.h"
#include "base/core/panic.h"
#include "base/metrics/metric_set.h"
#include "base/runtime/sync.h"

struct series {
    struct series *next; /* Of all, newest first. */
    enum metric_id id;
    char *labels[METRIC_LABELS_MAX]; /* Owned; NULL beyond the metric's. */
    struct metric_counter counter;
    struct metric_histogram *histogram; /* Owned; NULL: it is a counter. */
};

struct metrics {
    struct mutex mutex;       /* Guards all of it, not the values. */
    struct hash_map map;      /* metric_key() to struct series. */
    struct hash_map admitted; /* Metric and value of the first label. */
    unsigned admitted_of[METRIC_COUNT]; /* INV-2 */
    struct series *series;
};

struct metrics *metrics_new(void)
{
    struct metrics *m = mem_zalloc(1, sizeof(*m));
    mutex_init(&m->mutex);
    hash_map_init(&m->map, HASH_KEYS_COPIED);
    hash_map_init(&m->admitted, HASH_KEYS_COPIED);
    return m;
}

static void series_free(struct series *s)
{
    for (size_t i = 0; i < METRIC_LABELS_MAX; i++)
        mem_free(s->labels[i]);
    mem_free(s->histogram);
    mem_free(s);
}

void metrics_free(struct metrics *m)
{
    if (!m)
        return;
    while (m->series) {
        struct series *s = m->series;
        m->series = s->next;
        series_free(s);
    }
    hash_map_close(&m->map);
    hash_map_close(&m->admitted);
    mutex_close(&m->mutex);
    mem_free(m);
}

/* --- bounded labels ------------------------------------------------------ */

void metric_key(enum metric_id id, const char *const *labels, struct buf *out)
{
    size_t count = metric_label_count(id);
    PRE(count == 0 || labels);
    buf_append(out, &id, sizeof(id));
    for (size_t i = 0; i < count; i++)
        buf_append(out, labels[i], strlen(labels[i]) + 1);
}

/* Is @value, of the first label of @id, one of those that may be told apart?
 * PRE: the lock is held. */
static bool
metrics_admit(struct metrics *m, enum metric_id id, const char *value)
{
    struct buf key = BUF_INIT;
    bool known;
    buf_append(&key, &id, sizeof(id));
    buf_append_str(&key, value);
    known = hash_map_get(&m->admitted, buf_slice(&key)) != NULL;
    if (!known && m->admitted_of[id] < metric_info(id)->bound) {
        hash_map_put(&m->admitted, buf_slice(&key), NULL)->number = 1;
        m->admitted_of[id]++;
        known = true;
    }
    buf_close(&key);
    INVARIANT(m->admitted_of[id] <= metric_info(id)->bound); /* INV-2 */
    return known;
}

/* PRE: the lock is held. */
static void bound_labels(struct metrics *m,
                         enum metric_id id,
                         const char *const *labels,
                         const char *out[METRIC_LABELS_MAX])
{
    size_t count = metric_label_count(id);
    for (size_t i = 0; i < METRIC_LABELS_MAX; i++)
        out[i] = i < count ? labels[i] : NULL;
    if (count && strcmp(out[0], METRIC_OTHER) != 0 &&
        !metrics_admit(m, id, out[0]))
        out[0] = METRIC_OTHER;
}

void metrics_bound(struct metrics *m,
                   enum metric_id id,
                   const char *const *labels,
                   const char *out[METRIC_LABELS_MAX])
{
    mutex_lock(&m->mutex);
    bound_labels(m, id, labels, out);
    mutex_unlock(&m->mutex);
}

/* --- instruments --------------------------------------------------------- */

static struct series *series_new(enum metric_id id, const char *const *labels)
{
    enum metric_type type = metric_info(id)->type;
    struct series *s = mem_zalloc(1, sizeof(*s));
    PRE(type != METRIC_GAUGE);
    s->id = id;
    for (size_t i = 0; i < metric_label_count(id); i++)
        s->labels[i] = mem_strdup(labels[i]);
    if (type != METRIC_COUNTER)
        s->histogram = mem_zalloc(1, sizeof(*s->histogram));
    return s;
}

static struct series *
metrics_series(struct metrics *m, enum metric_id id, const char *const *labels)
{
    const char *bounded[METRIC_LABELS_MAX];
    struct buf key = BUF_INIT;
    union hash_value *value;
    struct series *s;
    bool added;
    mutex_lock(&m->mutex);
    bound_labels(m, id, labels, bounded);
    metric_key(id, bounded, &key);
    value = hash_map_put(&m->map, buf_slice(&key), &added);
    if (added) {
        s = value->pointer = series_new(id, bounded);
        s->next = m->series;
        m->series = s;
    }
    s = value->pointer;
    mutex_unlock(&m->mutex);
    buf_close(&key);
    return s;
}

struct metric_counter *
metrics_counter(struct metrics *m, enum metric_id id, const char *const *labels)
{
    PRE(metric_info(id)->type == METRIC_COUNTER);
    return m ? &metrics_series(m, id, labels)->counter : NULL;
}

struct metric_histogram *metrics_histogram(struct metrics *m,
                                           enum metric_id id,
                                           const char *const *labels)
{
    PRE(metric_info(id)->type != METRIC_COUNTER);
    return m ? metrics_series(m, id, labels)->histogram : NULL;
}

void metrics_gather(struct metrics *m, struct metric_set *set)
{
    const struct series *all;
    mutex_lock(&m->mutex);
    all = m->series; /* Those that come later are put before it. */
    mutex_unlock(&m->mutex);
    for (const struct series *s = all; s; s = s->next) {
        const char *const *labels = (const char *const *)s->labels;
        if (s->histogram)
            metric_put_histogram(set, s->id, labels, s->histogram);
        else
            metric_put_counter(set, s->id, labels, &s->counter);
    }
}
