/* set(n): the distinct values, if there are at most n; nothing otherwise.
 *
 * Once over n a set has overflowed for good: it drops its values and keeps the
 * fact, which travels in the state, so merging is exact.
 */
#include "base/core/panic.h"
#include "sawzall-lite/tables/items.h"

struct set {
    struct saw_items items;
    bool overflow;
};

static void set_close(struct saw_table *t, void *state)
{
    struct set *s = state;
    saw_items_close(t, &s->items);
}

static void set_overflow(struct saw_table *t, struct set *s)
{
    saw_items_close(t, &s->items);
    s->overflow = true;
}

static void set_put(struct saw_table *t, struct set *s, struct slice element)
{
    uint64_t hash = saw_items_hash(element);
    if (s->overflow || saw_items_find(&s->items, element, hash))
        return;
    if (s->items.count >= saw_table__param(t))
        set_overflow(t, s);
    else
        saw_items_add(t, &s->items, element, hash);
    POST(s->items.count <= saw_table__param(t));
}

static int set_add(struct saw_table *t,
                   void *state,
                   struct slice element,
                   struct slice weight,
                   saw_emit_origin origin,
                   struct err *err)
{
    (void)weight;
    (void)origin;
    (void)err;
    set_put(t, state, element);
    return 0;
}

static void set_encode(struct saw_table *t, void *state, struct buf *out)
{
    const struct set *s = state;
    struct saw_item **v = saw_items_list(&s->items, saw_item_by_datum);
    (void)t;
    buf_put_u8(out, s->overflow);
    for (size_t i = 0; i < s->items.count; i++)
        buf_append_slice(out, saw_item_slice(v[i]));
    mem_free(v);
}

static int
set_merge(struct saw_table *t, void *state, struct cursor *c, struct err *err)
{
    struct set *s = state;
    uint8_t overflow = cursor_u8(c);
    if (c->bad || overflow > 1)
        return saw_table__corrupt(t, err);
    if (overflow)
        set_overflow(t, s);
    while (c->p < c->end) {
        struct slice element = saw_datum_skip(c);
        if (c->bad)
            return saw_table__corrupt(t, err);
        set_put(t, s, element);
    }
    return 0;
}

static void set_results(struct saw_table *t, void *state, struct saw_lines *out)
{
    const struct set *s = state;
    struct saw_item **v = saw_items_list(&s->items, saw_item_by_datum);
    (void)t;
    for (size_t i = 0; i < s->items.count; i++) {
        struct slice datum = saw_item_slice(v[i]);
        out->line(out, &datum, 1);
    }
    mem_free(v);
}

const struct saw_kind_ops saw_ops_set = {
    .traits = {.name = "set",
               .number = 8,
               .param = SAW_TABLE_MUST,
               .param_max = SAW_TABLE_PARAM_MAX,
               .indexed = true},
    .state_bytes = sizeof(struct set),
    .close = set_close,
    .add = set_add,
    .encode = set_encode,
    .merge = set_merge,
    .results = set_results,
    .column_count = 1,
};
