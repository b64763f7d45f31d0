/* The cost of walking a value, which the machine charges as fuel before an
 * operation that walks all of one: comparing, hashing, printing, emitting.
 * Without it a program could do unbounded work within few instructions. */
#include "sawzall-lite/values/value.h"

/* Bytes of text that cost as much as one instruction. */
#define BYTES_PER_STEP 16
/* Only values of recursive types are deeper, and walks cut those. */
#define DEPTH_MAX 150

static uint64_t cost_at(const struct saw_type *t,
                        union saw_slot v,
                        uint64_t limit,
                        unsigned depth);

static bool is_text(const struct saw_type *t)
{
    return t->kind == SAW_STRING || t->kind == SAW_BYTES;
}

static bool is_word(const struct saw_type *t)
{
    return saw_kind_is_basic(t->kind) && !is_text(t);
}

static uint64_t array_cost(const struct saw_type *t,
                           const struct saw_array *a,
                           uint64_t limit,
                           unsigned depth)
{
    uint64_t n = 1;
    size_t i;

    if (is_word(t->elem))
        return n + a->len;
    for (i = 0; i < a->len && n <= limit; i++)
        n += cost_at(t->elem, a->items[i], limit - n, depth);
    return n;
}

static uint64_t map_cost(const struct saw_type *t,
                         const struct saw_map *m,
                         uint64_t limit,
                         unsigned depth)
{
    uint64_t n = 1;
    uint32_t i;

    for (i = 0; i < m->count && n <= limit; i++) {
        n += cost_at(t->key, m->entries[i].key, limit - n, depth);
        if (n <= limit)
            n += cost_at(t->elem, m->entries[i].value, limit - n, depth);
    }
    return n;
}

static uint64_t tuple_cost(const struct saw_type *t,
                           const struct saw_tuple *v,
                           uint64_t limit,
                           unsigned depth)
{
    uint64_t n = 1;
    size_t i;

    for (i = 0; i < t->field_count && n <= limit; i++)
        n += cost_at(t->fields[i].type, v->fields[i], limit - n, depth);
    return n;
}

static uint64_t cost_at(const struct saw_type *t,
                        union saw_slot v,
                        uint64_t limit,
                        unsigned depth)
{
    if (is_text(t))
        return 1 + v.s->len / BYTES_PER_STEP;
    if (depth == DEPTH_MAX)
        return 1;
    if (t->kind == SAW_ARRAY)
        return array_cost(t, v.a, limit, depth + 1);
    if (t->kind == SAW_MAP)
        return map_cost(t, v.m, limit, depth + 1);
    if (t->kind == SAW_TUPLE)
        return tuple_cost(t, v.t, limit, depth + 1);
    return 1;
}

uint64_t
saw_value_cost(const struct saw_type *t, union saw_slot v, uint64_t limit)
{
    return cost_at(t, v, limit, 0);
}
