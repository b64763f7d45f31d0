/* A hash set of data with payloads; see items.h. */
#include "sawzall-lite/tables/items.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"
#include "base/core/panic.h"

#define SLOT_COUNT_MIN 8

uint64_t saw_items_hash(struct slice datum)
{
    return hash64(datum.data, datum.len, 0);
}

struct saw_item *
saw_items_find(const struct saw_items *s, struct slice datum, uint64_t hash)
{
    size_t mask = s->slot_count - 1;
    size_t at = hash & mask;
    if (s->slot_count == 0)
        return NULL;
    for (;;) {
        struct saw_item *i = s->slots[at];
        if (!i || (i->hash == hash && slice_eq(saw_item_slice(i), datum)))
            return i;
        at = (at + 1) & mask;
    }
}

static void place(struct saw_items *s, struct saw_item *i)
{
    size_t mask = s->slot_count - 1;
    size_t at = i->hash & mask;
    while (s->slots[at])
        at = (at + 1) & mask;
    s->slots[at] = i;
}

/* Make @n slots of those that are there. */
static void rebuild(struct saw_table *t, struct saw_items *s, size_t n)
{
    struct saw_item **old = s->slots;
    size_t old_count = s->slot_count;
    s->slots = saw_table__resize(t, NULL, 0, n * sizeof(struct saw_item *));
    memset(s->slots, 0, n * sizeof(struct saw_item *));
    s->slot_count = n;
    for (size_t i = 0; i < old_count; i++) {
        if (old[i])
            place(s, old[i]);
    }
    saw_table__resize(t, old, old_count * sizeof(struct saw_item *), 0);
}

struct saw_item *saw_items_add(struct saw_table *t,
                               struct saw_items *s,
                               struct slice datum,
                               uint64_t hash)
{
    struct saw_item *i;
    if ((s->count + 1) * 4 > s->slot_count * 3)
        rebuild(t, s, s->slot_count ? s->slot_count * 2 : SLOT_COUNT_MIN);
    i = saw_table__resize(t, NULL, 0, sizeof(*i) + datum.len);
    i->hash = hash;
    i->v.u = 0;
    i->len = datum.len;
    memcpy(i->bytes, datum.data, datum.len);
    place(s, i);
    s->count++;
    return i;
}

static void free_item(struct saw_table *t, struct saw_item *i)
{
    saw_table__resize(t, i, sizeof(*i) + i->len, 0);
}

void saw_items_filter(struct saw_table *t,
                      struct saw_items *s,
                      bool (*keep)(void *ctx, struct saw_item *i),
                      void *ctx)
{
    for (size_t at = 0; at < s->slot_count; at++) {
        struct saw_item *i = s->slots[at];
        if (!i || keep(ctx, i))
            continue;
        free_item(t, i);
        s->slots[at] = NULL;
        s->count--;
    }
    if (s->slot_count)
        rebuild(t, s, s->slot_count);
}

void saw_items_close(struct saw_table *t, struct saw_items *s)
{
    for (size_t at = 0; at < s->slot_count; at++) {
        if (s->slots[at])
            free_item(t, s->slots[at]);
    }
    saw_table__resize(t, s->slots, s->slot_count * sizeof(struct saw_item *),
                      0);
    *s = (struct saw_items){0};
}

int saw_item_by_datum(const void *a, const void *b)
{
    const struct saw_item *const *x = a;
    const struct saw_item *const *y = b;
    return slice_cmp(saw_item_slice(*x), saw_item_slice(*y));
}

struct saw_item **saw_items_list(const struct saw_items *s,
                                 int (*compare)(const void *, const void *))
{
    struct saw_item **v = mem_alloc((s->count + 1) * sizeof(*v));
    size_t n = 0;
    for (size_t at = 0; at < s->slot_count; at++) {
        if (s->slots[at])
            v[n++] = s->slots[at];
    }
    INVARIANT(n == s->count);
    if (compare)
        qsort(v, n, sizeof(struct saw_item *), compare);
    return v;
}
