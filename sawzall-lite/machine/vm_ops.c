/* Operations of the machine on arrays, maps and tuples; see vm.h.
 *
 * An operand that is shared is copied before it is changed (INV-1 of
 * values/value.h). a = a + {x} appends in place when nothing else holds a, so
 * building an array takes linear time.
 */
#include "base/core/panic.h"
#include "sawzall-lite/machine/vm.h"

/* --- slices -------------------------------------------------------------- */

void saw_clamp(int64_t *begin, int64_t *end, size_t len)
{
    int64_t n = (int64_t)len;

    if (*begin < 0)
        *begin = 0;
    if (*end > n)
        *end = n;
    if (*begin > *end)
        *begin = *end > 0 ? *end : 0;
    if (*end < *begin)
        *end = *begin;
    POST(*begin >= 0 && *begin <= *end && *end <= n);
}

static enum saw_status slice_array(struct saw_ctx *ctx,
                                   const struct saw_type *t,
                                   const struct saw_array *a,
                                   int64_t begin,
                                   int64_t end,
                                   union saw_slot *to)
{
    struct saw_array *c = saw_array_new(ctx, (size_t)(end - begin));
    size_t i;

    if (!c)
        return SAW_FAIL;
    for (i = 0; i < c->len; i++) {
        c->items[i] = a->items[(size_t)begin + i];
        saw_share(t->elem, c->items[i]);
    }
    to->a = c;
    return SAW_OK;
}

enum saw_status saw_op_slice(struct saw_ctx *ctx,
                             const struct saw_type *t,
                             const struct saw_array *a,
                             int64_t begin,
                             int64_t end,
                             union saw_slot *to)
{
    saw_clamp(&begin, &end, a->len);
    return slice_array(ctx, t, a, begin, end, to);
}

/* --- making -------------------------------------------------------------- */

enum saw_status saw_op_array_add(struct saw_ctx *ctx,
                                 const struct saw_type *t,
                                 struct saw_array *a,
                                 struct saw_array *b,
                                 union saw_slot *to)
{
    struct saw_array *c = saw_array_new(ctx, a->len + b->len);
    size_t i;

    if (!c)
        return SAW_FAIL;
    if (a->len)
        memcpy(c->items, a->items, a->len * sizeof(*c->items));
    if (b->len)
        memcpy(c->items + a->len, b->items, b->len * sizeof(*c->items));
    if (t->elem->kind >= SAW_ARRAY) {
        for (i = 0; i < c->len; i++)
            saw_share(t->elem, c->items[i]);
    }
    to->a = c;
    return SAW_OK;
}

enum saw_status saw_op_append(struct saw_ctx *ctx,
                              const struct saw_type *t,
                              struct saw_array *b,
                              union saw_slot *to)
{
    struct saw_array *a = to->a;
    size_t len = a->len;
    size_t extra = b->len;
    union saw_slot *items;
    size_t cap;
    size_t i;

    if (a->shared || len + extra > a->cap) {
        cap = len + extra + (len + extra) / 2 + 4;
        items = saw_alloc(ctx, cap * sizeof(*items));
        if (!items)
            return SAW_FAIL;
        if (len)
            memcpy(items, a->items, len * sizeof(*items));
        if (a->shared) {
            for (i = 0; i < len && t->elem->kind >= SAW_ARRAY; i++)
                saw_share(t->elem, items[i]);
            a = saw_alloc(ctx, sizeof(*a));
            if (!a)
                return SAW_FAIL;
        }
        *a = (struct saw_array){items, len, cap, false};
    }
    INVARIANT(!a->shared && len + extra <= a->cap); /* INV-1, INV-4 */
    for (i = 0; i < extra; i++) {
        a->items[len + i] = b->items[i];
        saw_share(t->elem, b->items[i]);
    }
    a->len = len + extra;
    to->a = a;
    return SAW_OK;
}

enum saw_status saw_op_array(struct saw_ctx *ctx,
                             const union saw_slot *items,
                             size_t count,
                             union saw_slot *to)
{
    struct saw_array *a = saw_array_new(ctx, count);

    if (!a)
        return SAW_FAIL;
    if (count)
        memcpy(a->items, items, count * sizeof(*items));
    to->a = a;
    return SAW_OK;
}

enum saw_status saw_op_tuple(struct saw_ctx *ctx,
                             const struct saw_type *t,
                             const union saw_slot *fields,
                             union saw_slot *to)
{
    struct saw_tuple *v = saw_tuple_new(ctx, t);
    size_t i;

    if (!v)
        return SAW_FAIL;
    if (t->field_count)
        memcpy(v->fields, fields, t->field_count * sizeof(*fields));
    for (i = 0; v->present && i < t->field_count; i++)
        v->present[i / 64] |= UINT64_C(1) << (i % 64);
    to->t = v;
    return SAW_OK;
}

enum saw_status saw_op_map(struct saw_ctx *ctx,
                           const struct saw_type *t,
                           const union saw_slot *pairs,
                           size_t count,
                           union saw_slot *to)
{
    struct saw_map *m = saw_map_new(ctx, count);
    size_t i;

    for (i = 0; m && i < count; i++) {
        if (saw_op_map_set(ctx, t, m, pairs[2 * i], pairs[2 * i + 1]) != SAW_OK)
            return SAW_FAIL;
    }
    to->m = m;
    return m ? SAW_OK : SAW_FAIL;
}

enum saw_status saw_op_new_array(struct saw_ctx *ctx,
                                 const struct saw_type *t,
                                 int64_t len,
                                 union saw_slot init,
                                 union saw_slot *to)
{
    size_t i;

    if (len < 0)
        return saw_undef(ctx, "negative length in new()");
    to->a = saw_array_new(ctx, (size_t)len);
    if (!to->a)
        return SAW_FAIL;
    saw_share(t->elem, init);
    for (i = 0; i < to->a->len; i++)
        to->a->items[i] = init;
    return SAW_OK;
}

/* --- changing ------------------------------------------------------------ */

enum saw_status
saw_op_own(struct saw_ctx *ctx, const struct saw_type *t, union saw_slot *v)
{
    PRE(t->kind == SAW_ARRAY || t->kind == SAW_MAP || t->kind == SAW_TUPLE);
    if (t->kind == SAW_ARRAY)
        v->a = saw_array_own(ctx, t, v->a);
    else if (t->kind == SAW_MAP)
        v->m = saw_map_own(ctx, t, v->m);
    else if (t->kind == SAW_TUPLE)
        v->t = saw_tuple_own(ctx, t, v->t);
    return v->p ? SAW_OK : SAW_FAIL;
}

enum saw_status saw_op_map_set(struct saw_ctx *ctx,
                               const struct saw_type *t,
                               struct saw_map *m,
                               union saw_slot key,
                               union saw_slot value)
{
    bool made;
    struct saw_map_entry *e = saw_map_add(ctx, m, t, key, &made);

    if (!e)
        return SAW_FAIL;
    if (made)
        saw_share(t->key, key);
    e->value = value;
    return SAW_OK;
}

enum saw_status saw_op_array_slice_set(struct saw_ctx *ctx,
                                       const struct saw_type *t,
                                       union saw_slot *whole,
                                       const union saw_slot *bounds)
{
    int64_t begin = bounds[0].i;
    int64_t end = bounds[1].i;
    const struct saw_array *with = bounds[2].a;
    struct saw_array *a = whole->a;
    size_t tail;
    struct saw_array *c;
    size_t i;

    saw_clamp(&begin, &end, a->len);
    tail = a->len - (size_t)end;
    c = saw_array_new(ctx, (size_t)begin + with->len + tail);
    if (!c)
        return SAW_FAIL;
    for (i = 0; i < c->len; i++) {
        if (i < (size_t)begin)
            c->items[i] = a->items[i];
        else if (i < (size_t)begin + with->len)
            c->items[i] = with->items[i - (size_t)begin];
        else
            c->items[i] = a->items[i - (size_t)begin - with->len + (size_t)end];
        saw_share(t->elem, c->items[i]);
    }
    whole->a = c;
    return SAW_OK;
}

enum saw_status saw_op_clear_field(struct saw_ctx *ctx,
                                   const struct saw_type *t,
                                   size_t field,
                                   union saw_slot *tuple)
{
    struct saw_tuple *v = saw_tuple_own(ctx, t, tuple->t);

    PRE(field < t->field_count);
    if (!v)
        return SAW_FAIL;
    if (v->present)
        v->present[field / 64] &= ~(UINT64_C(1) << (field % 64));
    tuple->t = v;
    return SAW_OK;
}

enum saw_status saw_op_union_keys(struct saw_ctx *ctx,
                                  const struct saw_type *t,
                                  const struct saw_map *m,
                                  union saw_slot *keys)
{
    const struct saw_array *old = keys->a;
    struct saw_map *seen = saw_map_new(ctx, old->len + m->count);
    struct saw_array *a = saw_array_new(ctx, old->len + m->count);
    bool made;
    size_t i;

    if (!a || !seen || !saw_work(ctx, old->len + m->count))
        return SAW_FAIL;
    a->len = 0;
    for (i = 0; i < old->len + m->count; i++) {
        union saw_slot key =
            i < old->len ? old->items[i] : m->entries[i - old->len].key;
        if (!saw_map_add(ctx, seen, t, key, &made))
            return SAW_FAIL;
        if (made)
            a->items[a->len++] = key;
    }
    POST(a->len <= a->cap && a->len == seen->count);
    keys->a = a;
    return SAW_OK;
}
