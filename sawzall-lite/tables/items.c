/* A hash set of data with payloads; see items.h. Dropping items rebuilds the
 * slots once for all of them, which is what the thinning of top and the
 * samples needs. */
#include "sawzall-lite/tables/items.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"
#include "base/core/hash_slots.h"
#include "base/core/panic.h"

#define SLOT_COUNT_MIN 8

uint64_t saw_items_hash(struct slice datum)
{
    return hash64(datum.data, datum.len, 0);
}

struct saw_item *
saw_items_find(const struct saw_items *s, struct slice datum, uint64_t hash)
{
    size_t at;
    if (s->slot_count == 0)
        return NULL;
    HASH_SLOTS_SEEK(at, s->slot_count, hash,
                    !s->slots[at] ||
                        (s->slots[at]->hash == hash &&
                         slice_eq(saw_item_slice(s->slots[at]), datum)));
    return s->slots[at];
}

static bool slot_is_free(struct saw_item *const *slot)
{
    return !*slot;
}

static uint64_t slot_hash(struct saw_item *const *slot)
{
    return (*slot)->hash;
}

HASH_SLOTS_DEFINE(item_slots, struct saw_item *, slot_is_free, slot_hash);

/* Move the items into @n slots. */
static void items_rebuild(struct saw_table *t, struct saw_items *s, size_t n)
{
    struct saw_item **old = s->slots;
    size_t old_count = s->slot_count;

    PRE((n & (n - 1)) == 0 && s->count < n); /* INV-1 */
    s->slots = saw_table__resize(t, NULL, 0, n * sizeof(struct saw_item *));
    memset(s->slots, 0, n * sizeof(struct saw_item *));
    s->slot_count = n;
    item_slots_move(old, old_count, s->slots, n);
    saw_table__resize(t, old, old_count * sizeof(struct saw_item *), 0);
}

struct saw_item *saw_items_add(struct saw_table *t,
                               struct saw_items *s,
                               struct slice datum,
                               uint64_t hash)
{
    struct saw_item *i;
    size_t at;

    ASSERT_SLOW(!saw_items_find(s, datum, hash));
    if ((s->count + 1) * 4 > s->slot_count * 3)
        items_rebuild(t, s, s->slot_count ? s->slot_count * 2 : SLOT_COUNT_MIN);
    i = saw_table__resize(t, NULL, 0, sizeof(*i) + datum.len);
    i->hash = hash;
    i->v.u = 0;
    i->len = datum.len;
    memcpy(i->bytes, datum.data, datum.len);
    HASH_SLOTS_SEEK(at, s->slot_count, hash, !s->slots[at]);
    s->slots[at] = i;
    s->count++;
    INVARIANT(s->count * 4 <= s->slot_count * 3); /* INV-1 */
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
        INVARIANT(s->count > 0);
        s->count--;
    }
    if (s->slot_count)
        items_rebuild(t, s, s->slot_count);
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
