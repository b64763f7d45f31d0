/* distinctsample(n) and inversehistogram(n): the n values with the smallest
 * hashes, each with the sum of its weights.
 *
 * Which values are sampled depends on the values alone, so every part of the
 * input agrees on it and merging is exact: a value among the n smallest of the
 * whole is among the n smallest of each part where it occurs.
 *
 * inversehistogram prints how often each sum of weights occurs among the
 * distinct values: a line `0, number of distinct values` (a 0 for each number
 * of a weight), then `weight,
 * fraction` ascending. Exact up to n distinct values, else estimated from the
 * sample.
 */
#include <stdlib.h>

#include "base/core/panic.h"
#include "sawzall-lite/tables/items.h"

struct distinct {
    struct saw_items items; /* v.blob: the sum of the weights, a datum. */
    uint64_t threshold;     /* Larger hashes do not matter; 0: none yet. */
    uint64_t total;         /* Values emitted. */
    bool inexact;           /* Values were dropped, here or in a part. */
};

static void close_sum(struct saw_table *t, struct saw_item *i)
{
    saw_blob_close(t, i->v.blob);
    saw_table__resize(t, i->v.blob, sizeof(struct saw_blob), 0);
}

static void distinct_close(struct saw_table *t, void *state)
{
    struct distinct *s = state;
    for (size_t i = 0; i < s->items.slot_count; i++) {
        if (s->items.slots[i])
            close_sum(t, s->items.slots[i]);
    }
    saw_items_close(t, &s->items);
}

static int by_hash(const void *a, const void *b)
{
    const struct saw_item *const *x = a;
    const struct saw_item *const *y = b;
    if ((*x)->hash != (*y)->hash)
        return (*x)->hash < (*y)->hash ? -1 : 1;
    return saw_item_by_datum(a, b);
}

struct thinning {
    struct saw_table *table;
    uint64_t threshold;
};

static bool keep_small(void *ctx, struct saw_item *i)
{
    const struct thinning *k = ctx;
    if (i->hash <= k->threshold)
        return true;
    close_sum(k->table, i);
    return false;
}

static void distinct_thin(struct saw_table *t, struct distinct *s)
{
    size_t n = saw_table__param(t);
    struct thinning k = {t, 0};
    struct saw_item **v;
    if (s->items.count <= n)
        return;
    v = saw_items_list(&s->items, by_hash);
    k.threshold = n ? v[n - 1]->hash : 0;
    mem_free(v);
    saw_items_filter(t, &s->items, keep_small, &k);
    s->threshold = k.threshold;
    s->inexact = true;
}

static int distinct_put(struct saw_table *t,
                        struct distinct *s,
                        struct slice element,
                        struct slice weight,
                        struct err *err)
{
    uint64_t hash = saw_items_hash(element);
    struct saw_item *i;
    struct buf *sum;

    if ((s->threshold && hash > s->threshold) || saw_table__param(t) == 0)
        return 0;
    i = saw_items_find(&s->items, element, hash);
    if (!i) {
        if (s->items.count >= 2 * saw_table__param(t))
            distinct_thin(t, s);
        i = saw_items_add(t, &s->items, element, hash);
        i->v.blob = saw_table__resize(t, NULL, 0, sizeof(struct saw_blob));
        *i->v.blob = (struct saw_blob){0};
        saw_blob_set(t, i->v.blob, weight);
        return 0;
    }
    INVARIANT(i->v.blob && i->v.blob->len > 0);
    sum = saw_table__scratch(t);
    if (!saw_datum_add(saw_blob_slice(i->v.blob), weight, sum))
        return err_set(err, ERR_INVALID, "table %s: weights do not add up",
                       saw_table_decl(t)->name);
    saw_blob_set(t, i->v.blob, buf_slice(sum));
    return 0;
}

static int distinct_add(struct saw_table *t,
                        void *state,
                        struct slice element,
                        struct slice weight,
                        saw_emit_origin origin,
                        struct err *err)
{
    struct distinct *s = state;
    (void)origin;
    s->total++;
    return distinct_put(t, s, element, weight, err);
}

static void distinct_encode(struct saw_table *t, void *state, struct buf *out)
{
    struct distinct *s = state;
    struct saw_item **v;
    distinct_thin(t, s);
    v = saw_items_list(&s->items, by_hash);
    buf_put_u8(out, s->inexact);
    buf_put_varint(out, s->total);
    buf_put_varint(out, s->items.count);
    for (size_t i = 0; i < s->items.count; i++) {
        buf_append_slice(out, saw_item_slice(v[i]));
        buf_append_slice(out, saw_blob_slice(v[i]->v.blob));
    }
    mem_free(v);
}

static int distinct_merge(struct saw_table *t,
                          void *state,
                          struct cursor *c,
                          struct err *err)
{
    struct distinct *s = state;
    uint8_t inexact = cursor_u8(c);
    uint64_t total = cursor_varint(c);
    size_t n = cursor_count(c, 2);
    if (c->bad || inexact > 1 || n > saw_table__param(t))
        return saw_table__corrupt(t, err);
    for (size_t i = 0; i < n; i++) {
        struct slice element = saw_datum_skip(c);
        struct slice weight = saw_datum_skip(c);
        int rc;
        if (c->bad)
            return saw_table__corrupt(t, err);
        rc = distinct_put(t, s, element, weight, err);
        if (rc)
            return rc;
    }
    s->total += total;
    s->inexact |= inexact != 0;
    return 0;
}

static void
distinct_results(struct saw_table *t, void *state, struct saw_lines *out)
{
    struct distinct *s = state;
    struct saw_item **v;
    distinct_thin(t, s);
    v = saw_items_list(&s->items, by_hash);
    for (size_t i = 0; i < s->items.count; i++) {
        struct slice line[2] = {saw_item_slice(v[i]),
                                saw_blob_slice(v[i]->v.blob)};
        out->line(out, line, 2);
    }
    mem_free(v);
}

static int by_sum(const void *a, const void *b)
{
    const struct saw_item *const *x = a;
    const struct saw_item *const *y = b;
    return slice_cmp(saw_blob_slice((*x)->v.blob),
                     saw_blob_slice((*y)->v.blob));
}

/* As in unique.c, from the same kind of sample. */
static uint64_t distinct_estimate(struct saw_table *t, const struct distinct *s)
{
    size_t n = saw_table__param(t);
    uint64_t largest = 1;
    double count;
    if (!s->inexact || s->items.count < n || n == 0)
        return s->items.count;
    for (size_t i = 0; i < s->items.slot_count; i++) {
        if (s->items.slots[i] && s->items.slots[i]->hash > largest)
            largest = s->items.slots[i]->hash;
    }
    count = (double)(n - 1) * 0x1p64 / (double)largest;
    if (count < (double)n)
        return n;
    return count < (double)s->total ? (uint64_t)(count + 0.5) : s->total;
}

static void
line_of_two(struct saw_lines *out, struct slice first, struct slice second)
{
    struct slice line[2] = {first, second};
    out->line(out, line, 2);
}

/* @any: an item, which shows what weights look like; NULL: there is none. */
static void histogram_head(struct saw_table *t,
                           const struct distinct *s,
                           const struct saw_item *any,
                           struct saw_lines *out)
{
    struct buf *b = saw_table__scratch(t);
    struct slice both;
    size_t mid;
    if (any)
        saw_datum_zero(saw_blob_slice(any->v.blob), b);
    else
        saw_datum_put_int(b, 0);
    mid = b->len;
    saw_datum_put_int(b, (int64_t)distinct_estimate(t, s));
    both = buf_slice(b);
    line_of_two(out, slice_sub(both, 0, mid), slice_sub(both, mid, both.len));
}

static void inversehistogram_results(struct saw_table *t,
                                     void *state,
                                     struct saw_lines *out)
{
    struct distinct *s = state;
    struct saw_item **v;
    size_t n;

    distinct_thin(t, s);
    n = s->items.count;
    v = saw_items_list(&s->items, by_sum);
    histogram_head(t, s, n ? v[0] : NULL, out);
    for (size_t i = 0; i < n;) {
        struct buf *b = saw_table__scratch(t);
        size_t same = i + 1;
        while (same < n && by_sum(&v[i], &v[same]) == 0)
            same++;
        saw_datum_put_float(b, (double)(same - i) / (double)n);
        line_of_two(out, saw_blob_slice(v[i]->v.blob), buf_slice(b));
        i = same;
    }
    mem_free(v);
}

const struct saw_kind_ops saw_ops_distinctsample = {
    .traits = {.name = "distinctsample",
               .number = 11,
               .param = SAW_TABLE_MUST,
               .weight = SAW_TABLE_MUST,
               .param_max = SAW_TABLE_PARAM_MAX,
               .indexed = true,
               .weight_ordered = true,
               .weight_addable = true},
    .keys_alone = true,
    .state_bytes = sizeof(struct distinct),
    .close = distinct_close,
    .add = distinct_add,
    .encode = distinct_encode,
    .merge = distinct_merge,
    .results = distinct_results,
    .column_count = 2,
};

static const char *const histogram_columns[] = {"weight", "fraction"};

const struct saw_kind_ops saw_ops_inversehistogram = {
    .traits = {.name = "inversehistogram",
               .number = 12,
               .param = SAW_TABLE_MUST,
               .weight = SAW_TABLE_MUST,
               .param_max = SAW_TABLE_PARAM_MAX,
               .indexed = true,
               .weight_ordered = true,
               .weight_addable = true},
    .state_bytes = sizeof(struct distinct),
    .close = distinct_close,
    .add = distinct_add,
    .encode = distinct_encode,
    .merge = distinct_merge,
    .results = inversehistogram_results,
    .column_count = 2,
    .columns = histogram_columns,
};
