/* The samples of one scrape, and their text in three forms. Samples of the same
 * labels are added up as they come; the text is sorted, so that two scrapes
 * differ in their values only.
 *
 * The two formats of Prometheus are almost one. In 0.0.4 the name of a counter
 * ends in _total already where it is declared, and there are neither units nor
 * a mark at the end.
 */
#include "base/metrics/metric_set.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/hash_map.h"
#include "base/core/panic.h"

struct sample {
    enum metric_id id;
    char *labels[METRIC_LABELS_MAX]; /* Owned; NULL beyond the metric's. */
    double value;
    struct metric_histogram *histogram; /* Owned; NULL: value is meant. */
};

struct metric_set {
    struct metrics *metrics; /* Borrowed. */
    struct sample **samples; /* Owned. */
    size_t count;
    size_t cap;
    struct hash_map map; /* metric_key() to struct sample. */
};

struct metric_set *metric_set_new(struct metrics *m)
{
    struct metric_set *s = mem_zalloc(1, sizeof(*s));
    s->metrics = m;
    hash_map_init(&s->map, HASH_KEYS_COPIED);
    return s;
}

static void sample_free(struct sample *x)
{
    for (size_t i = 0; i < METRIC_LABELS_MAX; i++)
        mem_free(x->labels[i]);
    mem_free(x->histogram);
    mem_free(x);
}

void metric_set_free(struct metric_set *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++)
        sample_free(s->samples[i]);
    mem_free(s->samples);
    hash_map_close(&s->map);
    mem_free(s);
}

/* --- gathering ----------------------------------------------------------- */

static struct sample *sample_new(enum metric_id id, const char *const *labels)
{
    struct sample *x = mem_zalloc(1, sizeof(*x));
    x->id = id;
    for (size_t i = 0; i < metric_label_count(id); i++)
        x->labels[i] = mem_strdup(labels[i]);
    if (metric_info(id)->type >= METRIC_HISTOGRAM)
        x->histogram = mem_zalloc(1, sizeof(*x->histogram));
    return x;
}

static struct sample *
set_sample(struct metric_set *s, enum metric_id id, const char *const *labels)
{
    const char *bounded[METRIC_LABELS_MAX];
    struct buf key = BUF_INIT;
    union hash_value *value;
    bool added;
    metrics_bound(s->metrics, id, labels, bounded);
    metric_key(id, bounded, &key);
    value = hash_map_put(&s->map, buf_slice(&key), &added);
    buf_close(&key);
    if (!added)
        return value->pointer;
    if (s->count == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 256;
        s->samples = mem_realloc(s->samples, s->cap * sizeof(struct sample *));
    }
    return value->pointer = s->samples[s->count++] = sample_new(id, bounded);
}

void metric_put(struct metric_set *s,
                enum metric_id id,
                const char *const *labels,
                double value)
{
    PRE(metric_info(id)->type < METRIC_HISTOGRAM);
    set_sample(s, id, labels)->value += value;
}

void metric_put_counter(struct metric_set *s,
                        enum metric_id id,
                        const char *const *labels,
                        const struct metric_counter *c)
{
    metric_put(s, id, labels, (double)metric_read(c));
}

void metric_put_histogram(struct metric_set *s,
                          enum metric_id id,
                          const char *const *labels,
                          const struct metric_histogram *h)
{
    PRE(metric_info(id)->type >= METRIC_HISTOGRAM);
    metric_histogram_merge(set_sample(s, id, labels)->histogram, h);
}

/* --- looking up ---------------------------------------------------------- */

static bool
is_sample_of(const struct sample *x, enum metric_id id, const char *label)
{
    return x->id == id && (!label || strcmp(x->labels[0], label) == 0);
}

bool metric_set_value(const struct metric_set *s,
                      enum metric_id id,
                      const char *label,
                      double *out)
{
    double sum = 0;
    bool found = false;
    PRE(metric_info(id)->type < METRIC_HISTOGRAM);
    PRE(!label || metric_label_count(id) > 0);
    for (size_t i = 0; i < s->count; i++)
        if (is_sample_of(s->samples[i], id, label)) {
            sum += s->samples[i]->value;
            found = true;
        }
    if (found)
        *out = sum;
    return found;
}

bool metric_set_histogram(const struct metric_set *s,
                          enum metric_id id,
                          const char *label,
                          struct metric_histogram *out)
{
    bool found = false;
    PRE(metric_info(id)->type >= METRIC_HISTOGRAM);
    PRE(!label || metric_label_count(id) > 0);
    for (size_t i = 0; i < s->count; i++)
        if (is_sample_of(s->samples[i], id, label)) {
            metric_histogram_merge(out, s->samples[i]->histogram);
            found = true;
        }
    return found;
}

/* --- text ---------------------------------------------------------------- */

static int compare_samples(const void *a, const void *b)
{
    const struct sample *x = *(struct sample *const *)a;
    const struct sample *y = *(struct sample *const *)b;
    int order = (x->id > y->id) - (x->id < y->id);
    for (size_t i = 0; order == 0 && i < metric_label_count(x->id); i++)
        order = strcmp(x->labels[i], y->labels[i]);
    return order;
}

/* Whole numbers without an exponent. */
static void put_number(struct buf *out, double value)
{
    if (!(floor(value) < value) && fabs(value) < 1e15)
        buf_printf(out, "%.0f", value);
    else
        buf_printf(out, "%.10g", value);
}

/* Values come from everywhere: names of tables, addresses. */
static void put_value(struct buf *out, const char *text)
{
    for (const char *p = text; *p; p++)
        if (*p == '"' || *p == '\\')
            buf_printf(out, "\\%c", *p);
        else
            buf_append_byte(out, *p < ' ' || *p > '~' ? '?' : *p);
}

/* "{a="1",b="2",le="…"}", or nothing. @le: NULL for none. */
static void put_labels(struct buf *out, const struct sample *x, const char *le)
{
    const char *name = metric_info(x->id)->labels;
    char before = '{';
    for (size_t i = 0; *name; i++) {
        size_t length = strcspn(name, ",");
        buf_printf(out, "%c%.*s=\"", before, (int)length, name);
        put_value(out, x->labels[i]);
        buf_append_byte(out, '"');
        name += length + (name[length] == ',');
        before = ',';
    }
    if (le) {
        buf_printf(out, "%cle=\"%s\"", before, le);
        before = ',';
    }
    if (before == ',')
        buf_append_byte(out, '}');
}

static void put_line(struct buf *out,
                     const struct sample *x,
                     const char *suffix,
                     const char *le,
                     double value)
{
    buf_append_str(out, metric_info(x->id)->name);
    buf_append_str(out, suffix);
    put_labels(out, x, le);
    buf_append_byte(out, ' ');
    put_number(out, value);
    buf_append_byte(out, '\n');
}

static void put_buckets(struct buf *out, const struct sample *x)
{
    double unit = metric_info(x->id)->type == METRIC_DURATION ? 1e-3 : 1e-6;
    double bound = METRIC_FIRST * unit;
    uint64_t count = 0;
    char le[32];
    for (size_t i = 0; i < METRIC_BUCKETS - 1; i++, bound *= 2) {
        count += atomic_load(&x->histogram->counts[i]);
        snprintf(le, sizeof(le), "%.10g", bound);
        put_line(out, x, "_bucket", le, (double)count);
    }
    count += atomic_load(&x->histogram->counts[METRIC_BUCKETS - 1]);
    put_line(out, x, "_bucket", "+Inf", (double)count);
}

static void
put_sample(struct buf *out, const struct sample *x, enum metric_text form)
{
    if (!x->histogram) {
        put_line(out, x,
                 metric_info(x->id)->type == METRIC_COUNTER ? "_total" : "",
                 NULL, x->value);
        return;
    }
    if (form != METRIC_TEXT_PLAIN)
        put_buckets(out, x);
    put_line(out, x, "_count", NULL,
             (double)metric_histogram_count(x->histogram));
    put_line(out, x, "_sum", NULL,
             (double)atomic_load(&x->histogram->sum_ns) / 1e9);
}

static void
put_family(struct buf *out, enum metric_id id, enum metric_text form)
{
    static const char *const types[] = {"counter", "gauge", "histogram",
                                        "histogram"};
    static const char *const units[] = {"", "seconds", "bytes", "ratio"};
    const struct metric_info *m = metric_info(id);
    const char *suffix = "";
    if (form == METRIC_TEXT_PLAIN)
        return;
    if (form == METRIC_TEXT_PROMETHEUS && m->type == METRIC_COUNTER)
        suffix = "_total";
    buf_printf(out, "# HELP %s%s %s\n", m->name, suffix, m->help);
    buf_printf(out, "# TYPE %s%s %s\n", m->name, suffix, types[m->type]);
    if (form == METRIC_TEXT_OPENMETRICS && m->unit != METRIC_PLAIN)
        buf_printf(out, "# UNIT %s %s\n", m->name, units[m->unit]);
}

void metric_set_print(struct metric_set *s,
                      enum metric_text form,
                      struct buf *out)
{
    if (s->count)
        qsort(s->samples, s->count, sizeof(struct sample *), compare_samples);
    for (size_t i = 0; i < s->count; i++) {
        const struct sample *x = s->samples[i];
        if (i == 0 || s->samples[i - 1]->id != x->id)
            put_family(out, x->id, form);
        put_sample(out, x, form);
    }
    if (form == METRIC_TEXT_OPENMETRICS)
        buf_append_str(out, "# EOF\n");
}
