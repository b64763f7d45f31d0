/* sum: the total of what was emitted.
 *
 * Integers and times wrap at 64 bits like the language's arithmetic, so their
 * sums are exact under any split. Floats are summed in double-double (about 106
 * bits), so the order of records does not show in the 15 digits printed unless
 * cancellation takes more than 90 bits. Tuples and maps add field by field, in
 * plain doubles. mrcounter is the same thing for ints.
 */
#include <math.h>

#include "base/core/panic.h"
#include "sawzall-lite/tables/sum_map.h"

enum sum_mode {
    SUM_EMPTY,
    SUM_INT,
    SUM_WORD,
    SUM_FLOAT,
    SUM_MAP,
    SUM_COMPOSITE, /* Tuples and arrays. */
};

struct sum {
    uint8_t mode; /* enum sum_mode. */
    uint8_t tag;  /* Of SUM_WORD: uint or time. */

    union {
        int64_t i;
        uint64_t u;

        struct {
            double hi;
            double lo;
        } f;
        struct saw_items map;
        struct saw_blob datum; /* Of a composite. */
    } v;
};

static void sum_close(struct saw_table *t, void *state)
{
    struct sum *s = state;
    if (s->mode == SUM_COMPOSITE)
        saw_blob_close(t, &s->v.datum);
    if (s->mode == SUM_MAP)
        saw_sum_map_close(t, &s->v.map);
}

/* Knuth's two-sum: x + y = *hi + *lo exactly. */
static void two_sum(double x, double y, double *hi, double *lo)
{
    double s = x + y;
    double v = s - x;
    *hi = s;
    *lo = (x - (s - v)) + (y - v);
}

/* Once infinite or NaN the sum stays so; the low part means nothing then. */
static void add_float(struct sum *s, double hi, double lo)
{
    double sum;
    double rest;
    two_sum(s->v.f.hi, hi, &sum, &rest);
    if (isfinite(sum)) {
        rest += s->v.f.lo + lo;
        two_sum(sum, rest, &sum, &rest);
    }
    s->v.f.hi = sum;
    s->v.f.lo = isfinite(sum) ? rest : 0;
}

static int sum_mismatch(struct saw_table *t, struct err *err)
{
    return err_set(err, ERR_INVALID,
                   "table %s: values that cannot be added to each other",
                   saw_table_decl(t)->name);
}

static int add_composite(struct saw_table *t,
                         struct sum *s,
                         struct slice element,
                         struct err *err)
{
    struct buf *b = saw_table__scratch(t);
    if (saw_table__full(t)) /* Maps inside grow with every new key. */
        return saw_table__refuse(t, err);
    if (s->mode == SUM_EMPTY) {
        s->mode = SUM_COMPOSITE;
        s->v.datum = (struct saw_blob){0};
        saw_blob_set(t, &s->v.datum, element);
        return 0;
    }
    if (s->mode != SUM_COMPOSITE ||
        !saw_datum_add(saw_blob_slice(&s->v.datum), element, b))
        return sum_mismatch(t, err);
    saw_blob_set(t, &s->v.datum, buf_slice(b));
    return 0;
}

/* Set or check what kind of number this key sums. */
static bool take_mode(struct sum *s, enum sum_mode mode, uint8_t tag)
{
    if (s->mode == SUM_EMPTY) {
        s->mode = (uint8_t)mode;
        s->tag = tag;
    }
    return s->mode == mode && s->tag == tag;
}

static int add_map(struct saw_table *t,
                   struct sum *s,
                   struct slice element,
                   struct err *err)
{
    if (saw_table__full(t))
        return saw_table__refuse(t, err);
    if (s->mode == SUM_EMPTY) {
        s->mode = SUM_MAP;
        s->v.map = (struct saw_items){0};
    }
    if (s->mode != SUM_MAP || !saw_sum_map_add(t, &s->v.map, element))
        return sum_mismatch(t, err);
    return 0;
}

static int sum_datum(struct saw_table *t,
                     struct sum *s,
                     struct slice element,
                     struct err *err)
{
    uint8_t tag = saw_datum_tag(element);

    INVARIANT(s->mode <= SUM_COMPOSITE);
    switch (tag) {
    case SAW_DATUM_INT:
        if (!take_mode(s, SUM_INT, tag))
            return sum_mismatch(t, err);
        s->v.u += (uint64_t)saw_datum_int(element);
        return 0;
    case SAW_DATUM_UINT:
    case SAW_DATUM_TIME:
        if (!take_mode(s, SUM_WORD, tag))
            return sum_mismatch(t, err);
        s->v.u += saw_datum_word(element);
        return 0;
    case SAW_DATUM_FLOAT:
        if (!take_mode(s, SUM_FLOAT, tag))
            return sum_mismatch(t, err);
        add_float(s, saw_datum_float(element), 0);
        return 0;
    case SAW_DATUM_MAP: return add_map(t, s, element, err);
    default: return add_composite(t, s, element, err);
    }
}

static int sum_add(struct saw_table *t,
                   void *state,
                   struct slice element,
                   struct slice weight,
                   saw_emit_origin origin,
                   struct err *err)
{
    (void)weight;
    (void)origin;
    return sum_datum(t, state, element, err);
}

static int
sum_add_int(struct saw_table *t, void *state, int64_t element, struct err *err)
{
    struct sum *s = state;
    if (UNLIKELY(!take_mode(s, SUM_INT, SAW_DATUM_INT)))
        return sum_mismatch(t, err);
    s->v.u += (uint64_t)element;
    return 0;
}

/* The total as one datum; borrowed until the next use of the scratch. */
static struct slice sum_total(struct saw_table *t, const struct sum *s)
{
    struct buf *b = saw_table__scratch(t);
    switch ((enum sum_mode)s->mode) {
    case SUM_EMPTY: break;
    case SUM_INT: saw_datum_put_int(b, s->v.i); break;
    case SUM_WORD:
        saw_datum_put_word(b, (enum saw_datum_tag)s->tag, s->v.u);
        break;
    case SUM_FLOAT: saw_datum_put_float(b, s->v.f.hi); break;
    case SUM_MAP: saw_sum_map_total(&s->v.map, b); break;
    case SUM_COMPOSITE: return saw_blob_slice(&s->v.datum);
    }
    return buf_slice(b);
}

/* The total; of a float, its low part follows. */
static void sum_encode(struct saw_table *t, void *state, struct buf *out)
{
    const struct sum *s = state;
    buf_append_slice(out, sum_total(t, s));
    if (s->mode == SUM_FLOAT)
        buf_put_double(out, s->v.f.lo);
}

static int
sum_merge(struct saw_table *t, void *state, struct cursor *c, struct err *err)
{
    struct sum *s = state;
    struct slice datum;
    if (c->p == c->end) /* A key that was made and never added to. */
        return 0;
    datum = saw_datum_skip(c);
    if (c->bad)
        return saw_table__corrupt(t, err);
    if (saw_datum_tag(datum) == SAW_DATUM_FLOAT) {
        double lo = cursor_double(c);
        if (c->bad)
            return saw_table__corrupt(t, err);
        if (!take_mode(s, SUM_FLOAT, SAW_DATUM_FLOAT))
            return sum_mismatch(t, err);
        add_float(s, saw_datum_float(datum), lo);
        return 0;
    }
    return sum_datum(t, s, datum, err);
}

static int sum_absorb(struct saw_table *t,
                      void *state,
                      struct saw_table *from,
                      void *other,
                      struct err *err)
{
    struct sum *s = state;
    const struct sum *o = other;

    if (o->mode == SUM_EMPTY)
        return 0;
    if (o->mode == SUM_FLOAT) {
        if (!take_mode(s, SUM_FLOAT, SAW_DATUM_FLOAT))
            return sum_mismatch(t, err);
        add_float(s, o->v.f.hi, o->v.f.lo);
        return 0;
    }
    if (o->mode == SUM_INT || o->mode == SUM_WORD) {
        if (!take_mode(s, (enum sum_mode)o->mode, o->tag))
            return sum_mismatch(t, err);
        s->v.u += o->v.u;
        return 0;
    }
    return sum_datum(t, s, sum_total(from, o), err);
}

/* Of what wraps at 64 bits; floats would leave a rest. Maps keep keys whose
 * total is 0, so theirs cannot be taken back either. */
static bool sum_negate(struct slice state, struct buf *out)
{
    size_t start = out->len;
    bool ok = saw_datum_negate(state, out);
    if (!ok)
        buf_truncate(out, start);
    return ok;
}

static struct slice sum_first(struct slice state)
{
    struct cursor c = cursor_make(state);
    struct slice total = saw_datum_skip(&c);
    return c.bad ? SLICE_EMPTY : total;
}

static void sum_results(struct saw_table *t, void *state, struct saw_lines *out)
{
    const struct sum *s = state;
    struct slice total = sum_total(t, s);
    if (s->mode != SUM_EMPTY)
        out->line(out, &total, 1);
}

const struct saw_kind_ops saw_ops_sum = {
    .traits = {.name = "sum",
               .number = 2,
               .indexed = true,
               .element_addable = true},
    .state_bytes = sizeof(struct sum),
    .fixed_size = true,
    .close = sum_close,
    .add = sum_add,
    .add_int = sum_add_int,
    .encode = sum_encode,
    .merge = sum_merge,
    .absorb = sum_absorb,
    .negate = sum_negate,
    .first = sum_first,
    .results = sum_results,
    .column_count = 1,
};

/* A counter of the job: a sum without keys. */
const struct saw_kind_ops saw_ops_mrcounter = {
    .traits = {.name = "mrcounter",
               .number = 14,
               .element_int = true,
               .in_order = true},
    .state_bytes = sizeof(struct sum),
    .fixed_size = true,
    .close = sum_close,
    .add = sum_add,
    .add_int = sum_add_int,
    .encode = sum_encode,
    .merge = sum_merge,
    .absorb = sum_absorb,
    .negate = sum_negate,
    .first = sum_first,
    .results = sum_results,
    .column_count = 1,
};
