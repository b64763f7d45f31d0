/* Whole values: equality, order and hash, walked by type.
 *
 * The nesting of types is bounded, but a recursive type allows values of any
 * depth: at SAW_VALUE_DEPTH_MAX the walks stop and take the parts below as
 * equal. Two slots that hold the same object are equal without a walk.
 */
#include <math.h>

#include "base/core/hash.h"
#include "sawzall-lite/values/value.h"

static bool equal_at(const struct saw_type *t,
                     union saw_slot a,
                     union saw_slot b,
                     unsigned depth);
static int compare_at(const struct saw_type *t,
                      union saw_slot a,
                      union saw_slot b,
                      unsigned depth);

static int order_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* NaN first; -0 and 0 are the same. */
static int order_float(double a, double b)
{
    if (a < b)
        return -1;
    if (a > b)
        return 1;
    return !isnan(a) - !isnan(b);
}

static bool compare_present(const struct saw_tuple *t, size_t i)
{
    return !t->present || (t->present[i / 64] >> (i % 64) & 1);
}

/* --- equality ------------------------------------------------------------ */

static bool maps_equal(const struct saw_type *t,
                       const struct saw_map *a,
                       const struct saw_map *b,
                       unsigned depth)
{
    uint32_t i;

    if (a->count != b->count)
        return false;
    for (i = 0; i < a->count; i++) {
        struct saw_map_entry *e = saw_map_find(b, t, a->entries[i].key);
        if (!e || !equal_at(t->elem, a->entries[i].value, e->value, depth))
            return false;
    }
    return true;
}

static bool arrays_equal(const struct saw_type *t,
                         const struct saw_array *a,
                         const struct saw_array *b,
                         unsigned depth)
{
    size_t i;

    if (a->len != b->len)
        return false;
    for (i = 0; i < a->len; i++) {
        if (!equal_at(t->elem, a->items[i], b->items[i], depth))
            return false;
    }
    return true;
}

static bool tuples_equal(const struct saw_type *t,
                         const struct saw_tuple *a,
                         const struct saw_tuple *b,
                         unsigned depth)
{
    size_t i;

    for (i = 0; i < t->field_count; i++) {
        if (!equal_at(t->fields[i].type, a->fields[i], b->fields[i], depth))
            return false;
    }
    return true;
}

static bool equal_at(const struct saw_type *t,
                     union saw_slot a,
                     union saw_slot b,
                     unsigned depth)
{
    if (depth > SAW_VALUE_DEPTH_MAX)
        return true;
    switch (t->kind) {
    case SAW_FLOAT: /* As numbers: NaN differs from all. */
        return a.f <= b.f && a.f >= b.f;
    case SAW_STRING:
    case SAW_BYTES: return slice_eq(saw_str_slice(a.s), saw_str_slice(b.s));
    case SAW_ARRAY: return a.a == b.a || arrays_equal(t, a.a, b.a, depth + 1);
    case SAW_MAP: return a.m == b.m || maps_equal(t, a.m, b.m, depth + 1);
    case SAW_TUPLE: return a.t == b.t || tuples_equal(t, a.t, b.t, depth + 1);
    case SAW_FUNCTION:
        return a.c->code == b.c->code && a.c->env == b.c->env &&
               a.c->serial == b.c->serial;
    case SAW_BOOL:
    case SAW_FINGERPRINT:
    case SAW_INT:
    case SAW_TIME:
    case SAW_UINT:
    case SAW_TABLE:
    case SAW_VOID:
    case SAW_INCOMPLETE:
    case SAW_BAD: return a.u == b.u;
    }
    return false;
}

bool saw_value_equal(const struct saw_type *t,
                     union saw_slot a,
                     union saw_slot b)
{
    return equal_at(t, a, b, 0);
}

/* --- order --------------------------------------------------------------- */

static int compare_arrays(const struct saw_type *t,
                          const struct saw_array *a,
                          const struct saw_array *b,
                          unsigned depth)
{
    size_t n = MIN_OF(a->len, b->len);
    size_t i;

    for (i = 0; i < n; i++) {
        int c = compare_at(t->elem, a->items[i], b->items[i], depth);
        if (c)
            return c;
    }
    return order_u64(a->len, b->len);
}

static int compare_tuples(const struct saw_type *t,
                          const struct saw_tuple *a,
                          const struct saw_tuple *b,
                          unsigned depth)
{
    size_t i;

    for (i = 0; i < t->field_count; i++) {
        int c =
            compare_at(t->fields[i].type, a->fields[i], b->fields[i], depth);
        if (c)
            return c;
        if (compare_present(a, i) != compare_present(b, i))
            return compare_present(a, i) ? 1 : -1;
    }
    return 0;
}

/* The entry of the smallest key above *@after (NULL: of all). */
static const struct saw_map_entry *next_key(const struct saw_type *t,
                                            const struct saw_map *m,
                                            const union saw_slot *after,
                                            unsigned depth)
{
    const struct saw_map_entry *best = NULL;
    uint32_t i;

    for (i = 0; i < m->count; i++) {
        const struct saw_map_entry *e = &m->entries[i];
        if (after && compare_at(t->key, e->key, *after, depth) <= 0)
            continue;
        if (!best || compare_at(t->key, e->key, best->key, depth) < 0)
            best = e;
    }
    return best;
}

/* By keys ascending. Quadratic: maps are rarely sorted, and small where they
 * are. */
static int compare_maps(const struct saw_type *t,
                        const struct saw_map *a,
                        const struct saw_map *b,
                        unsigned depth)
{
    const struct saw_map_entry *x = NULL;
    const struct saw_map_entry *y = NULL;
    int c;

    do {
        x = next_key(t, a, x ? &x->key : NULL, depth);
        y = next_key(t, b, y ? &y->key : NULL, depth);
        if (!x || !y)
            return (x != NULL) - (y != NULL);
        c = compare_at(t->key, x->key, y->key, depth);
        if (c == 0)
            c = compare_at(t->elem, x->value, y->value, depth);
    } while (c == 0);
    return c;
}

static int compare_at(const struct saw_type *t,
                      union saw_slot a,
                      union saw_slot b,
                      unsigned depth)
{
    if (depth > SAW_VALUE_DEPTH_MAX)
        return 0;
    switch (t->kind) {
    case SAW_BOOL:
    case SAW_INT: return (a.i > b.i) - (a.i < b.i);
    case SAW_FLOAT: return order_float(a.f, b.f);
    case SAW_STRING:
    case SAW_BYTES: return slice_cmp(saw_str_slice(a.s), saw_str_slice(b.s));
    case SAW_ARRAY: return compare_arrays(t, a.a, b.a, depth + 1);
    case SAW_MAP: return compare_maps(t, a.m, b.m, depth + 1);
    case SAW_TUPLE: return compare_tuples(t, a.t, b.t, depth + 1);
    case SAW_FINGERPRINT:
    case SAW_TIME:
    case SAW_UINT:
    case SAW_FUNCTION:
    case SAW_TABLE:
    case SAW_VOID:
    case SAW_INCOMPLETE:
    case SAW_BAD: return order_u64(a.u, b.u);
    }
    return 0;
}

int saw_value_compare(const struct saw_type *t,
                      union saw_slot a,
                      union saw_slot b)
{
    return compare_at(t, a, b, 0);
}

/* --- hash ---------------------------------------------------------------- */

static uint64_t
hash_at(const struct saw_type *t, union saw_slot v, unsigned depth)
{
    uint64_t h = 0;
    size_t i;

    if (depth > SAW_VALUE_DEPTH_MAX)
        return 0;
    switch (t->kind) {
    case SAW_FLOAT:
        if (v.f <= 0 && v.f >= 0)
            v.u = 0; /* -0 equals 0. */
        return hash_mix(v.u + 1);
    case SAW_STRING:
    case SAW_BYTES: return hash64(v.s->data, v.s->len, 0);
    case SAW_ARRAY:
        for (i = 0; i < v.a->len; i++)
            h = hash_mix(h + hash_at(t->elem, v.a->items[i], depth + 1));
        return hash_mix(h + v.a->len);
    case SAW_MAP: /* The order does not matter: a sum. */
        for (i = 0; i < v.m->count; i++)
            h += hash_mix(hash_at(t->key, v.m->entries[i].key, depth + 1) * 3 +
                          hash_at(t->elem, v.m->entries[i].value, depth + 1));
        return hash_mix(h);
    case SAW_TUPLE:
        for (i = 0; i < t->field_count; i++)
            h = hash_mix(h +
                         hash_at(t->fields[i].type, v.t->fields[i], depth + 1));
        return h;
    case SAW_FUNCTION: return hash_mix((uint64_t)(uintptr_t)v.c->code);
    case SAW_BOOL:
    case SAW_FINGERPRINT:
    case SAW_INT:
    case SAW_TIME:
    case SAW_UINT:
    case SAW_TABLE:
    case SAW_VOID:
    case SAW_INCOMPLETE:
    case SAW_BAD: return hash_mix(v.u);
    }
    return h;
}

uint64_t saw_value_hash(const struct saw_type *t, union saw_slot v)
{
    return hash_at(t, v, 0);
}
