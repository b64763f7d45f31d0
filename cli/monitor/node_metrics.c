/* Parsing of a scrape, and arithmetic with its histograms.
 *
 * Samples borrow from the copy of the text. They are sorted by name; equal
 * names keep the order of the text, in which a histogram's buckets ascend.
 */
#include "cli/monitor/node_metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"

#define NUMBER_BYTES_MAX 63

/* --- parsing ------------------------------------------------------------- */

static bool read_double(struct slice s, double *out)
{
    char text[NUMBER_BYTES_MAX + 1];
    char *end;
    if (s.len == 0 || s.len > NUMBER_BYTES_MAX)
        return false;
    memcpy(text, s.data, s.len);
    text[s.len] = '\0';
    *out = strtod(text, &end);
    return end == text + s.len;
}

/* The end of the labels that begin at @rest, at their '}'; rest.len: none. */
static size_t labels_end(struct slice rest)
{
    bool quoted = false;
    size_t i;
    for (i = 0; i < rest.len; i++) {
        if (quoted && rest.data[i] == '\\')
            i++;
        else if (rest.data[i] == '"')
            quoted = !quoted;
        else if (rest.data[i] == '}' && !quoted)
            return i;
    }
    return rest.len;
}

/* "name value" or "name{labels} value"; a time behind it is not read. */
static bool read_sample(struct slice line, struct node_sample *out)
{
    size_t end = 0;
    while (end < line.len && line.data[end] != '{' && line.data[end] != ' ')
        end++;
    out->name = slice_sub(line, 0, end);
    out->labels = SLICE_EMPTY;
    if (end == line.len || end == 0)
        return false;
    line = slice_sub(line, end, line.len);
    if (line.data[0] == '{') {
        line = slice_sub(line, 1, line.len);
        end = labels_end(line);
        if (end == line.len)
            return false;
        out->labels = slice_sub(line, 0, end);
        line = slice_sub(line, end + 1, line.len);
    }
    line = slice_trim(line);
    return read_double(slice_sub(line, 0, slice_find_byte(line, ' ')),
                       &out->value);
}

static int compare_samples(const void *a, const void *b)
{
    const struct node_sample *x = a;
    const struct node_sample *y = b;
    int c = slice_cmp(x->name, y->name);
    if (c)
        return c;
    return (x->name.data > y->name.data) - (x->name.data < y->name.data);
}

static size_t count_lines(struct slice text)
{
    size_t count = 1;
    for (size_t i = 0; i < text.len; i++)
        count += text.data[i] == '\n';
    return count;
}

int node_metrics_parse(struct slice text,
                       struct node_metrics *out,
                       struct err *err)
{
    struct slice rest;
    size_t number = 0;
    size_t lines = count_lines(text);
    *out = (struct node_metrics){.text = BUF_INIT};
    if (text.len > NODE_METRICS_BYTES_MAX || lines > NODE_METRICS_SAMPLES_MAX)
        return err_set(err, ERR_TOOBIG,
                       "metrics of %zu bytes in %zu lines are too many",
                       text.len, lines);
    buf_append_slice(&out->text, text);
    out->at = mem_zalloc(lines, sizeof(*out->at));
    rest = buf_slice(&out->text);
    while (rest.len) {
        size_t end = slice_find_byte(rest, '\n');
        struct slice line = slice_trim(slice_sub(rest, 0, end));
        rest = slice_sub(rest, end + 1, rest.len);
        number++;
        if (line.len == 0 || line.data[0] == '#')
            continue;
        if (!read_sample(line, &out->at[out->count]))
            return err_set(err, ERR_CORRUPT,
                           "line %zu of the metrics cannot be read", number);
        out->count++;
    }
    POST(out->count <= lines);
    if (out->count)
        qsort(out->at, out->count, sizeof(*out->at), compare_samples);
    return 0;
}

void node_metrics_close(struct node_metrics *m)
{
    mem_free(m->at);
    buf_close(&m->text);
    *m = (struct node_metrics){.text = BUF_INIT};
}

/* --- looking up ---------------------------------------------------------- */

size_t node_metrics_find(const struct node_metrics *m,
                         const char *name,
                         const struct node_sample **first)
{
    struct slice wanted = slice_str(name);
    size_t low = 0;
    size_t high = m->count;
    size_t end;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (slice_cmp(m->at[middle].name, wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (end = low; end < m->count && slice_eq(m->at[end].name, wanted); end++)
        ;
    *first = &m->at[low];
    return end - low;
}

bool node_label_next(struct slice *rest,
                     struct slice *name,
                     struct slice *value)
{
    size_t end = slice_find_byte(*rest, '=');
    size_t i;
    if (end + 1 >= rest->len || rest->data[end + 1] != '"')
        return false;
    *name = slice_trim(slice_sub(*rest, 0, end));
    *rest = slice_sub(*rest, end + 2, rest->len);
    for (i = 0; i < rest->len && rest->data[i] != '"'; i++)
        if (rest->data[i] == '\\')
            i++;
    if (i >= rest->len)
        return false;
    *value = slice_sub(*rest, 0, i);
    *rest = slice_sub(*rest, i + 1, rest->len);
    if (rest->len && rest->data[0] == ',')
        *rest = slice_sub(*rest, 1, rest->len);
    return true;
}

/* Is @name among the labels of @s with @value? */
static bool
has_label(const struct node_sample *s, struct slice name, struct slice value)
{
    struct slice rest = s->labels;
    struct slice other;
    struct slice its;
    while (node_label_next(&rest, &other, &its))
        if (slice_eq(other, name))
            return slice_eq(its, value);
    return false;
}

bool node_sample_has(const struct node_sample *s, const char *labels)
{
    struct slice rest = slice_str(labels ? labels : "");
    while (rest.len) {
        struct slice pair = slice_sub(rest, 0, slice_find_byte(rest, ','));
        size_t middle = slice_find_byte(pair, '=');
        if (!has_label(s, slice_sub(pair, 0, middle),
                       slice_sub(pair, middle + 1, pair.len)))
            return false;
        rest = slice_sub(rest, pair.len + 1, rest.len);
    }
    return true;
}

bool node_metrics_sum(const struct node_metrics *m,
                      const char *name,
                      const char *labels,
                      double *out)
{
    const struct node_sample *s;
    size_t count = node_metrics_find(m, name, &s);
    bool found = false;
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        if (node_sample_has(&s[i], labels)) {
            sum += s[i].value;
            found = true;
        }
    *out = sum;
    return found;
}

/* --- histograms ---------------------------------------------------------- */

/* The bucket of @h with this bound, made in its place if there is room. */
static double *bucket_of(struct metric_spread *h, double bound)
{
    size_t i = 0;
    PRE(h->size <= METRIC_SPREAD_BUCKETS);
    while (i < h->size && h->bounds[i] < bound)
        i++;
    if (i < h->size && !(h->bounds[i] > bound))
        return &h->counts[i];
    if (h->size == METRIC_SPREAD_BUCKETS)
        return NULL;
    memmove(&h->bounds[i + 1], &h->bounds[i],
            (h->size - i) * sizeof(h->bounds[0]));
    memmove(&h->counts[i + 1], &h->counts[i],
            (h->size - i) * sizeof(h->counts[0]));
    h->bounds[i] = bound;
    h->counts[i] = 0;
    h->size++;
    return &h->counts[i];
}

/* The bound of a bucket; false: it has none. */
static bool read_bound(const struct node_sample *s, double *out)
{
    struct slice rest = s->labels;
    struct slice name;
    struct slice value;
    while (node_label_next(&rest, &name, &value))
        if (slice_eq_str(name, "le"))
            return read_double(value, out) && !isnan(*out);
    return false;
}

void metric_spread_add(struct metric_spread *h,
                       const struct node_metrics *m,
                       const char *name,
                       const char *labels,
                       double sign)
{
    char buckets[128];
    const struct node_sample *s;
    size_t length = strlen(name);
    size_t count;
    double before = 0;
    double last = -INFINITY;
    PRE(length + sizeof("_bucket") <= sizeof(buckets));
    memcpy(buckets, name, length);
    memcpy(buckets + length, "_bucket", sizeof("_bucket"));
    count = node_metrics_find(m, buckets, &s);
    for (size_t i = 0; i < count; i++) {
        double bound;
        double *bucket;
        if (!node_sample_has(&s[i], labels) || !read_bound(&s[i], &bound))
            continue;
        /* Counts are cumulative; the next label begins with a lower bound. */
        if (bound <= last)
            before = 0;
        bucket = bucket_of(h, bound);
        if (bucket)
            *bucket += sign * (s[i].value - before);
        before = s[i].value;
        last = bound;
    }
}

double metric_spread_count(const struct metric_spread *h)
{
    double sum = 0;
    for (size_t i = 0; i < h->size; i++)
        sum += fmax(h->counts[i], 0);
    return sum;
}

bool metric_spread_quantile(const struct metric_spread *h,
                            double share,
                            double *out)
{
    double wanted = metric_spread_count(h) * share;
    double low = 0;
    PRE(share > 0);
    PRE(share < 1);
    if (!(wanted > 0))
        return false;
    for (size_t i = 0; i < h->size; i++) {
        double count = fmax(h->counts[i], 0);
        if (wanted <= count && count > 0) {
            *out = isinf(h->bounds[i])
                       ? low
                       : low + (h->bounds[i] - low) * wanted / count;
            return true;
        }
        wanted -= count;
        if (!isinf(h->bounds[i]))
            low = h->bounds[i];
    }
    *out = low;
    return true;
}
