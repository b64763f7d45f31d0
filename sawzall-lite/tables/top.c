/* top(n): the n values of the largest total weight.
 *
 * Exact as long as a key has met at most CAPACITY = max(65,536, 100 n) distinct
 * values: each has its counter in a hash set. When there are twice as many, the
 * median magnitude is taken off every counter and those that reach zero are
 * dropped (Misra and Gries in batches). A counter is then too low by at most
 * the sum E of what was taken off, and E <= W / CAPACITY where W is the sum of
 * all |weights|: each unit of E was paid by taking one from CAPACITY counters
 * at least. E is printed as the deviation, 0 while exact. So any value whose
 * share of the weight is over 1/CAPACITY (0.0015 %) is found. Negative weights
 * are moved towards zero in the same way and obey the same bound.
 *
 * Weights that are tuples of numbers add field by field and are ordered by
 * their fields in turn. The first one takes the part of the counter above; what
 * a dropped value had in the others is lost, so that their deviation is NaN
 * unless nothing was dropped.
 *
 * Merging adds counters and the parts' E, then shrinks if need be; the bound
 * holds for the whole (Agarwal et al., "Mergeable summaries"). Ties between
 * equal weights go to the smaller value, so exact results do not depend on the
 * split.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "sawzall-lite/tables/items.h"

#define CAPACITY_MIN 65536

enum number {
    NUMBER_UNKNOWN,
    NUMBER_INT,
    NUMBER_FLOAT,
    NUMBER_TUPLE
};

struct top {
    struct saw_items items; /* v.i, v.f or v.blob: the total of each. */
    uint8_t number;         /* enum number: of the weights. */
    double error;           /* E. */
};

static void close_total(struct saw_table *t, struct saw_item *i)
{
    saw_blob_close(t, i->v.blob);
    saw_table__resize(t, i->v.blob, sizeof(struct saw_blob), 0);
}

static void top_close(struct saw_table *t, void *state)
{
    struct top *s = state;
    for (size_t i = 0; i < s->items.slot_count; i++) {
        if (s->items.slots[i] && s->number == NUMBER_TUPLE)
            close_total(t, s->items.slots[i]);
    }
    saw_items_close(t, &s->items);
}

/* The first number of a tuple, where its tag stands; empty if there is none. */
static struct slice first_number(struct slice d)
{
    while (saw_datum_tag(d) == SAW_DATUM_TUPLE)
        d = slice_sub(d, 1, d.len);
    if (saw_datum_tag(d) != SAW_DATUM_INT &&
        saw_datum_tag(d) != SAW_DATUM_FLOAT)
        return SLICE_EMPTY;
    return slice_sub(d, 0, SAW_DATUM_WORD_BYTES);
}

static size_t top_capacity(const struct saw_table *t)
{
    size_t n = 100 * saw_table__param(t);
    return n > CAPACITY_MIN ? n : CAPACITY_MIN;
}

/* Magnitude of an int that may be the smallest one. */
static double top_magnitude(const struct top *s, const struct saw_item *i)
{
    if (s->number == NUMBER_TUPLE)
        return fabs(saw_datum_number(first_number(saw_blob_slice(i->v.blob))));
    return s->number == NUMBER_FLOAT ? fabs(i->v.f) : fabs((double)i->v.i);
}

static int by_number(const void *a, const void *b)
{
    const double *x = a;
    const double *y = b;
    return (*x > *y) - (*x < *y);
}

/* The CAPACITY-th largest magnitude, or 0 when there are fewer items. */
static double cut_at(struct saw_table *t, const struct top *s)
{
    size_t keep = top_capacity(t);
    size_t n = 0;
    double *v;
    double cut;
    if (s->items.count <= keep)
        return 0;
    v = mem_alloc(s->items.count * sizeof(*v));
    for (size_t at = 0; at < s->items.slot_count; at++) {
        if (s->items.slots[at])
            v[n++] = top_magnitude(s, s->items.slots[at]);
    }
    qsort(v, n, sizeof(*v), by_number);
    cut = v[n - 1 - keep];
    mem_free(v);
    return cut;
}

struct shrink {
    struct saw_table *table;
    const struct top *s;
    double cut;
};

/* Move the first number of the total towards zero, where it stands. */
static void shrink_tuple(struct saw_table *t, struct saw_item *i, double cut)
{
    struct slice total = saw_blob_slice(i->v.blob);
    struct slice first = first_number(total);
    struct buf *b = saw_table__scratch(t);
    size_t at;

    if (first.len == 0)
        return;
    at = (size_t)(first.data - total.data);
    if (saw_datum_tag(first) == SAW_DATUM_FLOAT) {
        double v = saw_datum_float(first);
        saw_datum_put_float(b, v - copysign(cut, v));
    } else {
        int64_t v = saw_datum_int(first);
        saw_datum_put_int(b, v > 0 ? v - (int64_t)cut : v + (int64_t)cut);
    }
    memcpy(i->v.blob->data + at, b->data, b->len);
}

static bool shrink_item(void *ctx, struct saw_item *i)
{
    const struct shrink *k = ctx;
    if (!(top_magnitude(k->s, i) > k->cut)) {
        if (k->s->number == NUMBER_TUPLE)
            close_total(k->table, i);
        return false;
    }
    if (k->s->number == NUMBER_TUPLE)
        shrink_tuple(k->table, i, k->cut);
    else if (k->s->number == NUMBER_FLOAT)
        i->v.f -= copysign(k->cut, i->v.f);
    else
        i->v.i -= i->v.i > 0 ? (int64_t)k->cut : -(int64_t)k->cut;
    return true;
}

static void top_shrink(struct saw_table *t, struct top *s)
{
    struct shrink k = {t, s, cut_at(t, s)};
    if (s->items.count <= top_capacity(t))
        return;
    /* Whole, so that int counters move by exactly what E says. */
    if (s->number != NUMBER_FLOAT)
        k.cut = ceil(k.cut);
    if (k.cut >= 0x1p62)
        k.cut = 0x1p62; /* Wrapped counters: drop what can be dropped. */
    saw_items_filter(t, &s->items, shrink_item, &k);
    s->error += k.cut;
}

static int wrong_weight(struct saw_table *t, struct err *err)
{
    return err_set(err, ERR_INVALID, "table %s: weights of several types",
                   saw_table_decl(t)->name);
}

static enum number number_of(struct slice weight)
{
    uint8_t tag = saw_datum_tag(weight);

    return tag == SAW_DATUM_TUPLE   ? NUMBER_TUPLE
           : tag == SAW_DATUM_FLOAT ? NUMBER_FLOAT
                                    : NUMBER_INT;
}

static int add_tuple(struct saw_table *t,
                     struct saw_item *i,
                     struct slice weight,
                     struct err *err)
{
    struct buf *b = saw_table__scratch(t);

    if (!i->v.blob) {
        i->v.blob = saw_table__resize(t, NULL, 0, sizeof(struct saw_blob));
        *i->v.blob = (struct saw_blob){0};
        saw_blob_set(t, i->v.blob, weight);
        return 0;
    }
    if (!saw_datum_add(saw_blob_slice(i->v.blob), weight, b))
        return wrong_weight(t, err);
    saw_blob_set(t, i->v.blob, buf_slice(b));
    return 0;
}

/* The counter of @element, made when absent; NULL: weights so far were no
 * @number. */
static struct saw_item *top_item(struct saw_table *t,
                                 struct top *s,
                                 struct slice element,
                                 uint64_t hash,
                                 enum number number)
{
    struct saw_item *i = saw_items_find(&s->items, element, hash);

    if (UNLIKELY(s->number != number)) {
        if (s->number != NUMBER_UNKNOWN)
            return NULL;
        s->number = (uint8_t)number;
    }
    if (LIKELY(i != NULL))
        return i;
    if (s->items.count >= 2 * top_capacity(t))
        top_shrink(t, s);
    return saw_items_add(t, &s->items, element, hash);
}

static int top_put(struct saw_table *t,
                   struct top *s,
                   struct slice element,
                   struct slice weight,
                   struct err *err)
{
    enum number number = number_of(weight);
    struct saw_item *i =
        top_item(t, s, element, saw_items_hash(element), number);

    if (UNLIKELY(!i))
        return wrong_weight(t, err);
    if (number == NUMBER_TUPLE)
        return add_tuple(t, i, weight, err);
    if (number == NUMBER_FLOAT)
        i->v.f += saw_datum_float(weight);
    else
        i->v.u += (uint64_t)saw_datum_int(weight);
    return 0;
}

static int top_add(struct saw_table *t,
                   void *state,
                   struct slice element,
                   struct slice weight,
                   saw_emit_origin origin,
                   struct err *err)
{
    (void)origin;
    return top_put(t, state, element, weight, err);
}

static int top_add_weight(struct saw_table *t,
                          void *state,
                          struct slice element,
                          int64_t weight,
                          struct err *err)
{
    struct saw_item *i =
        top_item(t, state, element, saw_items_hash(element), NUMBER_INT);

    if (UNLIKELY(!i))
        return wrong_weight(t, err);
    i->v.u += (uint64_t)weight;
    return 0;
}

/* The total as a datum, appended to @out. */
static void
put_total(const struct top *s, const struct saw_item *i, struct buf *out)
{
    if (s->number == NUMBER_TUPLE)
        buf_append_slice(out, saw_blob_slice(i->v.blob));
    else if (s->number == NUMBER_FLOAT)
        saw_datum_put_float(out, i->v.f);
    else
        saw_datum_put_int(out, i->v.i);
}

static void top_encode(struct saw_table *t, void *state, struct buf *out)
{
    struct top *s = state;
    struct saw_item **v;

    top_shrink(t, s);
    v = saw_items_list(&s->items, saw_item_by_datum);
    buf_put_double(out, s->error);
    buf_put_varint(out, s->items.count);
    for (size_t i = 0; i < s->items.count; i++) {
        buf_append_slice(out, saw_item_slice(v[i]));
        put_total(s, v[i], out);
    }
    mem_free(v);
}

static int
top_merge(struct saw_table *t, void *state, struct cursor *c, struct err *err)
{
    struct top *s = state;
    double error = cursor_double(c);
    size_t n = cursor_count(c, 3);
    if (c->bad || !(error >= 0) || n > top_capacity(t))
        return saw_table__corrupt(t, err);
    for (size_t i = 0; i < n; i++) {
        struct slice element = saw_datum_skip(c);
        struct slice weight = saw_datum_skip(c);
        int rc;
        if (c->bad || first_number(weight).len == 0)
            return saw_table__corrupt(t, err);
        rc = top_put(t, s, element, weight, err);
        if (rc)
            return rc;
    }
    s->error += error;
    return 0;
}

/* Nothing is shrunk that encode() would have to. */
static int top_absorb(struct saw_table *t,
                      void *state,
                      struct saw_table *from,
                      void *other,
                      struct err *err)
{
    struct top *s = state;
    const struct top *o = other;
    (void)from;

    for (size_t at = 0; at < o->items.slot_count; at++) {
        const struct saw_item *x = o->items.slots[at];
        struct saw_item *i;
        if (!x)
            continue;
        i = top_item(t, s, saw_item_slice(x), x->hash, (enum number)o->number);
        if (!i)
            return wrong_weight(t, err);
        if (o->number == NUMBER_TUPLE) {
            int rc = add_tuple(t, i, saw_blob_slice(x->v.blob), err);
            if (rc)
                return rc;
        } else if (o->number == NUMBER_FLOAT) {
            i->v.f += x->v.f;
        } else {
            i->v.u += x->v.u;
        }
    }
    s->error += o->error;
    return 0;
}

/* Total descending, then datum ascending. NaN, which compares with nothing,
 * counts as smallest. */
static int by_total_int(const void *a, const void *b)
{
    const struct saw_item *const *x = a;
    const struct saw_item *const *y = b;
    if ((*x)->v.i != (*y)->v.i)
        return (*x)->v.i > (*y)->v.i ? -1 : 1;
    return saw_item_by_datum(a, b);
}

static int by_total_float(const void *a, const void *b)
{
    const struct saw_item *const *x = a;
    const struct saw_item *const *y = b;
    if ((*x)->v.f > (*y)->v.f || (!isnan((*x)->v.f) && isnan((*y)->v.f)))
        return -1;
    if ((*x)->v.f < (*y)->v.f || (isnan((*x)->v.f) && !isnan((*y)->v.f)))
        return 1;
    return saw_item_by_datum(a, b);
}

/* Tuples compare by their bytes. */
static int by_total_tuple(const void *a, const void *b)
{
    const struct saw_item *const *x = a;
    const struct saw_item *const *y = b;
    int c =
        slice_cmp(saw_blob_slice((*y)->v.blob), saw_blob_slice((*x)->v.blob));
    return c ? c : saw_item_by_datum(a, b);
}

/* How far off the total at @c may be, in its shape: E is known of the first
 * number; what dropped values had in the others is not, unless none was. */
static void put_error(struct cursor *c, double error, struct buf *out)
{
    const char *begin = c->p;
    uint8_t tag = cursor_u8(c);

    if (tag == SAW_DATUM_END) {
        saw_datum_put_end(out);
    } else if (tag == SAW_DATUM_TUPLE) {
        saw_datum_put_open(out, SAW_DATUM_TUPLE);
    } else {
        c->p = begin;
        saw_datum_skip(c);
        saw_datum_put_float(out, error);
    }
}

static void put_errors(const struct top *s, struct slice total, struct buf *out)
{
    struct cursor c = cursor_make(total);
    double error = s->error;
    bool numbers_begun = false;

    while (c.p < c.end) {
        size_t before = out->len;
        put_error(&c, numbers_begun && error > 0 ? (double)NAN : error, out);
        numbers_begun |= out->len > before + 1;
    }
}

static void top_results(struct saw_table *t, void *state, struct saw_lines *out)
{
    const struct top *s = state;
    size_t n = saw_table__param(t);
    struct buf total = BUF_INIT;
    struct saw_item **v =
        saw_items_list(&s->items, s->number == NUMBER_TUPLE   ? by_total_tuple
                                  : s->number == NUMBER_FLOAT ? by_total_float
                                                              : by_total_int);
    for (size_t i = 0; i < s->items.count && i < n; i++) {
        struct buf *b = saw_table__scratch(t);
        struct slice line[3];
        size_t mid;

        buf_clear(&total);
        put_total(s, v[i], &total);
        buf_append_slice(b, buf_slice(&total));
        mid = b->len;
        put_errors(s, buf_slice(&total), b);
        line[0] = saw_item_slice(v[i]);
        line[1] = slice_sub(buf_slice(b), 0, mid);
        line[2] = slice_sub(buf_slice(b), mid, b->len);
        out->line(out, line, 3);
    }
    buf_close(&total);
    mem_free(v);
}

static const char *const top_columns[] = {NULL, NULL, "deviation"};

const struct saw_kind_ops saw_ops_top = {
    .traits = {.name = "top",
               .number = 5,
               .param = SAW_TABLE_MUST,
               .weight = SAW_TABLE_MUST,
               .param_max = 1000,
               .estimates = true,
               .indexed = true,
               .weight_number = true},
    .state_bytes = sizeof(struct top),
    .close = top_close,
    .add = top_add,
    .add_weight = top_add_weight,
    .encode = top_encode,
    .merge = top_merge,
    .absorb = top_absorb,
    .results = top_results,
    .column_count = 3,
    .columns = top_columns,
};
