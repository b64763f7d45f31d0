/* maximum, minimum, sample, weightedsample: the n best by an ordering key.
 *
 * A key is bytes compared by memcmp: the weight's datum for maximum and
 * minimum, a random tag for the samples. Equal keys are ordered by the
 * element's bytes, so that which of several ties stays does not depend on the
 * order of arrival: any split of the records gives the same result, exactly.
 *
 * The samples' tags come from the origin of the value, not from a generator, so
 * they too are the same however the records were split. sample keeps the n
 * smallest uniform tags. weightedsample keeps the n largest of log(u)/w
 * (Efraimidis and Spirakis, "Weighted random sampling with a reservoir");
 * values of a weight that is not positive are never taken.
 *
 * The state is a binary heap whose root is the worst kept; the common emit, one
 * that is not among the best, costs one comparison and touches no memory.
 */
#include <math.h>
#include <stdlib.h>

#include "base/core/hash.h"
#include "base/core/heap.h"
#include "base/core/panic.h"
#include "sawzall-lite/tables/impl.h"

struct item {
    struct saw_blob bytes; /* Ordering key, then element. */
    size_t key_len;
};

struct best {
    struct item *items; /* Heap: items[0] is the worst. */
    size_t count;
    size_t cap;
};

static struct slice item_key(const struct item *i)
{
    return slice_make(i->bytes.data, i->key_len);
}

static struct slice item_element(const struct item *i)
{
    return slice_make(i->bytes.data + i->key_len, i->bytes.len - i->key_len);
}

static bool largest_wins(const struct saw_table *t)
{
    return saw_table__ops(t)->greatest_best;
}

/* <0 when a is better than b. Ties: the smaller element is better. */
static int best_order(bool largest,
                      struct slice ka,
                      struct slice ea,
                      struct slice kb,
                      struct slice eb)
{
    int c = slice_cmp(ka, kb);
    if (c)
        return largest ? -c : c;
    return slice_cmp(ea, eb);
}

static int order_items(bool largest, const struct item *a, const struct item *b)
{
    return best_order(largest, item_key(a), item_element(a), item_key(b),
                      item_element(b));
}

static bool
worse_before(const bool *largest, const struct item *a, const struct item *b)
{
    return order_items(*largest, a, b) > 0;
}

HEAP_DEFINE(best_heap, struct item, const bool *, worse_before);

static void best_close(struct saw_table *t, void *state)
{
    struct best *s = state;
    for (size_t i = 0; i < s->count; i++)
        saw_blob_close(t, &s->items[i].bytes);
    saw_table__resize(t, s->items, s->cap * sizeof(*s->items), 0);
}

static void set_item(struct saw_table *t,
                     struct item *i,
                     struct slice key,
                     struct slice element)
{
    saw_blob_set(t, &i->bytes, key);
    saw_blob_append(t, &i->bytes, element);
    i->key_len = key.len;
    POST(i->key_len <= i->bytes.len && i->bytes.len <= i->bytes.cap);
}

static struct item *new_item(struct saw_table *t, struct best *s)
{
    PRE(s->count < saw_table__param(t));
    if (s->count == s->cap) {
        size_t cap = s->cap ? s->cap * 2 : 4;
        s->items = saw_table__resize(t, s->items, s->cap * sizeof(*s->items),
                                     cap * sizeof(*s->items));
        s->cap = cap;
    }
    s->items[s->count] = (struct item){.bytes = {0}};
    return &s->items[s->count++];
}

static void best_offer(struct saw_table *t,
                       struct best *s,
                       struct slice key,
                       struct slice element)
{
    bool largest = largest_wins(t);
    struct item *worst = s->items;
    if (s->count < saw_table__param(t)) {
        set_item(t, new_item(t, s), key, element);
        best_heap_sift_up(&largest, s->items, s->count - 1);
        return;
    }
    if (s->count == 0 || best_order(largest, key, element, item_key(worst),
                                    item_element(worst)) >= 0)
        return;
    set_item(t, worst, key, element);
    best_heap_sift_down(&largest, s->items, s->count, 0);
}

static int best_add(struct saw_table *t,
                    void *state,
                    struct slice element,
                    struct slice weight,
                    saw_emit_origin origin,
                    struct err *err)
{
    (void)origin;
    (void)err;
    best_offer(t, state, weight, element);
    return 0;
}

static int sample_add(struct saw_table *t,
                      void *state,
                      struct slice element,
                      struct slice weight,
                      saw_emit_origin origin,
                      struct err *err)
{
    char tag[SAW_DATUM_WORD_BYTES];
    (void)weight;
    (void)err;
    tag[0] = SAW_DATUM_UINT;
    put_be64(tag + 1, hash_mix(origin));
    best_offer(t, state, slice_make(tag, sizeof(tag)), element);
    return 0;
}

static int weightedsample_add(struct saw_table *t,
                              void *state,
                              struct slice element,
                              struct slice weight,
                              saw_emit_origin origin,
                              struct err *err)
{
    double w = saw_datum_number(weight);
    /* Uniform in (0, 1): 53 bits and a half. */
    double u = ((double)(hash_mix(origin) >> 11) + 0.5) * 0x1p-53;
    struct buf *tag = saw_table__scratch(t);
    (void)err;
    if (!(w > 0))
        return 0;
    saw_datum_put_float(tag, log(u) / w + 0.0); /* No -0 for infinite w. */
    best_offer(t, state, buf_slice(tag), element);
    return 0;
}

static int best_first(const void *a, const void *b)
{
    return order_items(false, a, b);
}

static int best_first_largest(const void *a, const void *b)
{
    return order_items(true, a, b);
}

/* Best first. Items sorted worst first are a heap; so put them back reversed.
 */
static void sort_items(struct saw_table *t, struct best *s)
{
    if (s->count)
        qsort(s->items, s->count, sizeof(*s->items),
              largest_wins(t) ? best_first_largest : best_first);
}

static void restore_heap(struct best *s)
{
    for (size_t i = 0; i < s->count / 2; i++) {
        struct item swap = s->items[i];
        s->items[i] = s->items[s->count - 1 - i];
        s->items[s->count - 1 - i] = swap;
    }
}

static void best_encode(struct saw_table *t, void *state, struct buf *out)
{
    struct best *s = state;
    sort_items(t, s);
    buf_put_varint(out, s->count);
    for (size_t i = 0; i < s->count; i++)
        buf_append_slice(out, saw_blob_slice(&s->items[i].bytes));
    restore_heap(s);
}

static int
best_merge(struct saw_table *t, void *state, struct cursor *c, struct err *err)
{
    size_t n = cursor_count(c, 2);
    if (n > saw_table__param(t))
        return saw_table__corrupt(t, err);
    for (size_t i = 0; i < n; i++) {
        struct slice key = saw_datum_skip(c);
        struct slice element = saw_datum_skip(c);
        if (c->bad)
            return saw_table__corrupt(t, err);
        best_offer(t, state, key, element);
    }
    return 0;
}

/* The best comes first: behind their number, a key and an element. */
static struct slice best_first_element(struct slice state)
{
    struct cursor c = cursor_make(state);
    struct slice element = SLICE_EMPTY;
    if (cursor_count(&c, 2) > 0) {
        (void)saw_datum_skip(&c);
        element = saw_datum_skip(&c);
    }
    return c.bad ? SLICE_EMPTY : element;
}

static void best_put_results(struct saw_table *t,
                             struct best *s,
                             size_t columns,
                             struct saw_lines *out)
{
    sort_items(t, s);
    for (size_t i = 0; i < s->count; i++) {
        struct slice line[2] = {item_element(&s->items[i]),
                                item_key(&s->items[i])};
        out->line(out, line, columns);
    }
    restore_heap(s);
}

static void
best_results(struct saw_table *t, void *state, struct saw_lines *out)
{
    best_put_results(t, state, 2, out);
}

static void
sample_results(struct saw_table *t, void *state, struct saw_lines *out)
{
    best_put_results(t, state, 1, out);
}

const struct saw_kind_ops saw_ops_maximum = {
    .traits = {.name = "maximum",
               .number = 3,
               .param = SAW_TABLE_MUST,
               .weight = SAW_TABLE_MUST,
               .param_max = SAW_TABLE_PARAM_MAX,
               .indexed = true,
               .weight_ordered = true},
    .keys_alone = true,
    .greatest_best = true,
    .state_bytes = sizeof(struct best),
    .close = best_close,
    .add = best_add,
    .encode = best_encode,
    .merge = best_merge,
    .first = best_first_element,
    .results = best_results,
    .column_count = 2,
};

const struct saw_kind_ops saw_ops_minimum = {
    .traits = {.name = "minimum",
               .number = 4,
               .param = SAW_TABLE_MUST,
               .weight = SAW_TABLE_MUST,
               .param_max = SAW_TABLE_PARAM_MAX,
               .indexed = true,
               .weight_ordered = true},
    .keys_alone = true,
    .state_bytes = sizeof(struct best),
    .close = best_close,
    .add = best_add,
    .encode = best_encode,
    .merge = best_merge,
    .first = best_first_element,
    .results = best_results,
    .column_count = 2,
};

const struct saw_kind_ops saw_ops_sample = {
    .traits = {.name = "sample",
               .number = 9,
               .param = SAW_TABLE_MUST,
               .param_max = SAW_TABLE_PARAM_MAX,
               .indexed = true},
    .keys_alone = true,
    .state_bytes = sizeof(struct best),
    .wants_origin = true,
    .close = best_close,
    .add = sample_add,
    .encode = best_encode,
    .merge = best_merge,
    .results = sample_results,
    .column_count = 1,
};

static const char *const weightedsample_columns[] = {NULL, "tag"};

const struct saw_kind_ops saw_ops_weightedsample = {
    .traits = {.name = "weightedsample",
               .number = 10,
               .param = SAW_TABLE_MUST,
               .weight = SAW_TABLE_MUST,
               .param_min = 1,
               .param_max = SAW_TABLE_PARAM_MAX,
               .indexed = true,
               .weight_scalar = true},
    .greatest_best = true,
    .state_bytes = sizeof(struct best),
    .wants_origin = true,
    .close = best_close,
    .add = weightedsample_add,
    .encode = best_encode,
    .merge = best_merge,
    .results = best_results,
    .column_count = 2,
    .columns = weightedsample_columns,
};
