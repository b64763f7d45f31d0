/* quantile(n): n values that cut the distribution in n - 1 equal parts, the
 * smallest and the largest included.
 *
 * Values are kept in levels of at most K = max(4,096, 16 n). Level 0 takes what
 * is emitted, a value at level h stands for 2^h. A full level is sorted and
 * every other value goes one level up, alternately the odd and the even ones.
 * Exact up to K values. Beyond, one such step at level h moves the rank of any
 * value by at most 2^h, and at most N / (K 2^h) steps happen there, so with N
 * values in all the rank is off by at most N log2(2N / K) / K, however the
 * records were split: 0.5 % for a billion. Typically it is far less, as the
 * steps alternate. Smallest and largest are exact. Merging appends level by
 * level, which adds no error but that of the steps it leads to; the bound is
 * for the whole.
 */
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "sawzall-lite/tables/impl.h"

#define LEVEL_COUNT_MAX 50
#define CAPACITY_MIN    4096

struct level {
    struct saw_blob data; /* One datum after the other. */
    size_t count;
    bool odd; /* Which half goes up next. */
};

struct quantile {
    struct level *levels; /* LEVEL_COUNT_MAX of them once there is a value. */
    size_t level_count;   /* Levels in use. */
    struct saw_blob min;
    struct saw_blob max;
};

static size_t quantile_capacity(const struct saw_table *t)
{
    size_t n = 16 * saw_table__param(t);
    return n > CAPACITY_MIN ? n : CAPACITY_MIN;
}

static void quantile_close(struct saw_table *t, void *state)
{
    struct quantile *s = state;
    if (!s->levels)
        return;
    for (size_t h = 0; h < LEVEL_COUNT_MAX; h++)
        saw_blob_close(t, &s->levels[h].data);
    saw_table__resize(t, s->levels, LEVEL_COUNT_MAX * sizeof(*s->levels), 0);
    saw_blob_close(t, &s->min);
    saw_blob_close(t, &s->max);
}

static void
take_extremes(struct saw_table *t, struct quantile *s, struct slice datum)
{
    if (s->min.len == 0 || slice_cmp(datum, saw_blob_slice(&s->min)) < 0)
        saw_blob_set(t, &s->min, datum);
    if (s->max.len == 0 || slice_cmp(datum, saw_blob_slice(&s->max)) > 0)
        saw_blob_set(t, &s->max, datum);
    POST(s->min.len > 0 && s->max.len > 0);
}

static void make_levels(struct saw_table *t, struct quantile *s)
{
    size_t bytes = LEVEL_COUNT_MAX * sizeof(*s->levels);
    if (s->levels)
        return;
    s->levels = saw_table__resize(t, NULL, 0, bytes);
    memset(s->levels, 0, bytes);
    s->level_count = 1;
}

static int by_slice(const void *a, const void *b)
{
    const struct slice *x = a;
    const struct slice *y = b;
    return slice_cmp(*x, *y);
}

/* The data of a level in an array of @room slices. */
static size_t split_level(const struct level *l, struct slice *out)
{
    struct cursor c = cursor_make(saw_blob_slice(&l->data));
    size_t n = 0;
    while (c.p < c.end)
        out[n++] = saw_datum_skip(&c);
    INVARIANT(n == l->count);
    return n;
}

static void
quantile_append(struct saw_table *t, struct level *l, struct slice datum)
{
    saw_blob_append(t, &l->data, datum);
    l->count++;
}

/* Halve level @h into the one above. An odd one out stays. */
static void quantile_compact(struct saw_table *t, struct quantile *s, size_t h)
{
    struct level *l = &s->levels[h];
    struct slice *v = mem_alloc((l->count + 1) * sizeof(*v));
    struct saw_blob old = l->data;
    size_t n = split_level(l, v);
    size_t pairs = n / 2;

    PRE(h + 1 < LEVEL_COUNT_MAX);
    qsort(v, n, sizeof(*v), by_slice);
    for (size_t i = 0; i < pairs; i++)
        quantile_append(t, &s->levels[h + 1], v[2 * i + l->odd]);
    l->odd = !l->odd;
    l->data = (struct saw_blob){0};
    l->count = 0;
    if (n & 1)
        quantile_append(t, l, v[n - 1]);
    saw_blob_close(t, &old);
    mem_free(v);
    if (h + 2 > s->level_count)
        s->level_count = h + 2;
    POST(l->count == (n & 1) && s->level_count <= LEVEL_COUNT_MAX);
}

/* Levels hold fewer than capacity again. The topmost grows instead: it is
 * reached after 2^50 values. */
static void quantile_settle(struct saw_table *t, struct quantile *s)
{
    for (size_t h = 0; h + 1 < LEVEL_COUNT_MAX && h < s->level_count; h++) {
        if (s->levels[h].count > quantile_capacity(t))
            quantile_compact(t, s, h);
    }
}

static int quantile_add(struct saw_table *t,
                        void *state,
                        struct slice element,
                        struct slice weight,
                        saw_emit_origin origin,
                        struct err *err)
{
    struct quantile *s = state;
    (void)weight;
    (void)origin;
    (void)err;
    make_levels(t, s);
    take_extremes(t, s, element);
    quantile_append(t, &s->levels[0], element);
    if (s->levels[0].count > quantile_capacity(t))
        quantile_settle(t, s);
    return 0;
}

/* Levels from the lowest, each with its count; then smallest and largest. */
static void quantile_encode(struct saw_table *t, void *state, struct buf *out)
{
    const struct quantile *s = state;
    (void)t;
    buf_put_varint(out, s->level_count);
    for (size_t h = 0; h < s->level_count; h++) {
        buf_put_varint(out, s->levels[h].count);
        buf_append_slice(out, saw_blob_slice(&s->levels[h].data));
    }
    buf_append_slice(out, saw_blob_slice(&s->min));
    buf_append_slice(out, saw_blob_slice(&s->max));
}

static int merge_level(struct saw_table *t,
                       struct level *l,
                       struct cursor *c,
                       struct err *err)
{
    size_t n = cursor_count(c, 2);
    if (c->bad || n > 2 * quantile_capacity(t))
        return saw_table__corrupt(t, err);
    for (size_t i = 0; i < n; i++) {
        struct slice datum = saw_datum_skip(c);
        if (c->bad)
            return saw_table__corrupt(t, err);
        quantile_append(t, l, datum);
    }
    return 0;
}

static int quantile_merge(struct saw_table *t,
                          void *state,
                          struct cursor *c,
                          struct err *err)
{
    struct quantile *s = state;
    uint64_t levels = cursor_varint(c);
    if (c->bad || levels > LEVEL_COUNT_MAX)
        return saw_table__corrupt(t, err);
    if (levels == 0)
        return 0;
    make_levels(t, s);
    for (size_t h = 0; h < levels; h++) {
        int rc = merge_level(t, &s->levels[h], c, err);
        if (rc)
            return rc;
    }
    if (levels > s->level_count)
        s->level_count = levels;
    for (int i = 0; i < 2; i++) {
        struct slice datum = saw_datum_skip(c);
        if (c->bad)
            return saw_table__corrupt(t, err);
        take_extremes(t, s, datum);
    }
    quantile_settle(t, s);
    return 0;
}

struct weighted {
    struct slice datum;
    uint64_t weight;
};

/* All values kept, ascending; the caller frees the array. */
static struct weighted *
quantile_gather(const struct quantile *s, size_t *count, uint64_t *total)
{
    size_t n = 0;
    struct weighted *v;
    for (size_t h = 0; h < s->level_count; h++)
        n += s->levels[h].count;
    v = mem_alloc((n + 1) * sizeof(*v));
    n = 0;
    *total = 0;
    for (size_t h = 0; h < s->level_count; h++) {
        struct cursor c = cursor_make(saw_blob_slice(&s->levels[h].data));
        while (c.p < c.end) {
            v[n++] = (struct weighted){saw_datum_skip(&c), UINT64_C(1) << h};
            *total += UINT64_C(1) << h;
        }
    }
    /* The datum is the first member. */
    qsort(v, n, sizeof(*v), by_slice);
    *count = n;
    return v;
}

/* ceil(i * total / parts) without overflow. */
static uint64_t target_rank(uint64_t i, uint64_t total, uint64_t parts)
{
    uint64_t whole = total / parts * i;
    uint64_t rest = total % parts * i;
    return whole + rest / parts + (rest % parts != 0);
}

static void
quantile_results(struct saw_table *t, void *state, struct saw_lines *out)
{
    const struct quantile *s = state;
    size_t parts = saw_table__param(t) > 1 ? saw_table__param(t) - 1 : 1;
    struct slice min = saw_blob_slice(&s->min);
    struct slice max = saw_blob_slice(&s->max);
    struct weighted *v;
    uint64_t total;
    uint64_t below = 0; /* Rank before v[at]. */
    size_t count;
    size_t at = 0;

    if (min.len == 0)
        return;
    v = quantile_gather(s, &count, &total);
    out->line(out, &min, 1);
    for (size_t i = 1; i < parts && !out->stopped; i++) {
        uint64_t rank = target_rank(i, total, parts);
        while (at + 1 < count && below + v[at].weight < rank)
            below += v[at++].weight;
        out->line(out, &v[at].datum, 1);
    }
    out->line(out, &max, 1);
    mem_free(v);
}

const struct saw_kind_ops saw_ops_quantile = {
    .traits = {.name = "quantile",
               .number = 7,
               .param = SAW_TABLE_MUST,
               .param_max = SAW_TABLE_PARAM_MAX,
               .estimates = true,
               .indexed = true,
               .element_ordered = true},
    .state_bytes = sizeof(struct quantile),
    .close = quantile_close,
    .add = quantile_add,
    .encode = quantile_encode,
    .merge = quantile_merge,
    .results = quantile_results,
    .column_count = 1,
};
