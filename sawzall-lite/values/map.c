/* Maps: entries in the order of insertion, which is the order a program sees,
 * and from the ninth on a hash index over them. Small maps are searched entry
 * by entry: most maps of programs have a few keys, and an index would cost
 * more memory than its entries.
 */
#include "base/core/hash.h"
#include "base/core/hash_slots.h"
#include "base/core/panic.h"
#include "sawzall-lite/values/value.h"

/* Maps up to this size are searched one by one. */
#define MAP_LINEAR_MAX 8
#define MAP_COUNT_MAX  (UINT32_C(1) << 30)

static uint64_t key_hash(const struct saw_type *t, union saw_slot key)
{
    if (t->kind == SAW_STRING || t->kind == SAW_BYTES)
        return hash64(key.s->data, key.s->len, 0);
    if (t->kind == SAW_INT || t->kind == SAW_UINT || t->kind == SAW_TIME)
        return hash_mix(key.u);
    return saw_value_hash(t, key);
}

static bool
key_equal(const struct saw_type *t, union saw_slot a, union saw_slot b)
{
    if (t->kind == SAW_STRING || t->kind == SAW_BYTES)
        return a.s->len == b.s->len &&
               memcmp(a.s->data, b.s->data, a.s->len) == 0;
    if (t->kind == SAW_INT || t->kind == SAW_UINT || t->kind == SAW_TIME)
        return a.u == b.u;
    return saw_value_equal(t, a, b);
}

static bool map_allocate(struct saw_ctx *ctx, struct saw_map *m, uint32_t cap)
{
    uint32_t size = 0;
    struct saw_map_entry *e;

    e = saw_alloc(ctx, cap * sizeof(*e));
    if (!e)
        return false;
    if (m->count)
        memcpy(e, m->entries, m->count * sizeof(*e));
    m->entries = e;
    m->cap = cap;
    m->index = NULL;
    if (cap <= MAP_LINEAR_MAX)
        return true;
    for (size = 32; size < cap * 2;)
        size *= 2;
    m->index = saw_alloc(ctx, size * sizeof(*m->index));
    if (!m->index)
        return false;
    memset(m->index, 0, size * sizeof(*m->index));
    m->index_mask = size - 1;
    INVARIANT(cap <= size / 2); /* INV-4 of value.h: searches end. */
    return true;
}

struct saw_map *saw_map_new(struct saw_ctx *ctx, size_t expect)
{
    struct saw_map *m = saw_alloc(ctx, sizeof(*m));

    if (!m)
        return NULL;
    *m = (struct saw_map){0};
    if (expect > MAP_COUNT_MAX)
        expect = MAP_COUNT_MAX;
    /* A size given by the program is only a hint, so memory is not taken on
     * its word; the map grows as entries come. */
    if (expect > 1024)
        expect = 1024;
    if (expect > 0 && !map_allocate(ctx, m, (uint32_t)expect))
        return NULL;
    return m;
}

static inline bool entry_is(const struct saw_map_entry *e,
                            const struct saw_type *key_type,
                            union saw_slot key,
                            uint64_t hash)
{
    return e->hash == hash && key_equal(key_type, e->key, key);
}

static struct saw_map_entry *map_find(const struct saw_map *m,
                                      const struct saw_type *key_type,
                                      union saw_slot key,
                                      uint64_t hash)
{
    size_t i;

    if (!m->index) {
        for (i = 0; i < m->count; i++) {
            if (entry_is(&m->entries[i], key_type, key, hash))
                return &m->entries[i];
        }
        return NULL;
    }
    HASH_SLOTS_SEEK(i, (size_t)m->index_mask + 1, hash,
                    !m->index[i] || entry_is(&m->entries[m->index[i] - 1],
                                             key_type, key, hash));
    return m->index[i] ? &m->entries[m->index[i] - 1] : NULL;
}

struct saw_map_entry *saw_map_find(const struct saw_map *m,
                                   const struct saw_type *t,
                                   union saw_slot key)
{
    return m->count ? map_find(m, t->key, key, key_hash(t->key, key)) : NULL;
}

static void index_add(struct saw_map *m, uint32_t position)
{
    size_t i;

    HASH_SLOTS_SEEK(i, (size_t)m->index_mask + 1, m->entries[position].hash,
                    !m->index[i]);
    m->index[i] = position + 1;
}

static bool map_grow(struct saw_ctx *ctx, struct saw_map *m)
{
    uint32_t i;

    if (m->cap >= MAP_COUNT_MAX) {
        saw_fail(ctx, ERR_EXHAUSTED, "a map has too many entries");
        return false;
    }
    if (!map_allocate(ctx, m, m->cap ? m->cap * 2 : 4))
        return false;
    for (i = 0; m->index && i < m->count; i++)
        index_add(m, i);
    return true;
}

struct saw_map_entry *saw_map_add(struct saw_ctx *ctx,
                                  struct saw_map *m,
                                  const struct saw_type *t,
                                  union saw_slot key,
                                  bool *made)
{
    uint64_t hash = key_hash(t->key, key);
    struct saw_map_entry *e = map_find(m, t->key, key, hash);

    PRE(!m->shared); /* INV-1 of value.h */
    INVARIANT(m->count <= m->cap);
    *made = !e;
    if (e)
        return e;
    if (m->count == m->cap && !map_grow(ctx, m))
        return NULL;
    e = &m->entries[m->count++];
    e->key = key;
    e->hash = hash;
    if (m->index)
        index_add(m, m->count - 1);
    return e;
}

struct saw_map *
saw_map_own(struct saw_ctx *ctx, const struct saw_type *t, struct saw_map *v)
{
    struct saw_map *m;
    uint32_t i;

    PRE(t->kind == SAW_MAP);
    if (!v->shared)
        return v;
    m = saw_alloc(ctx, sizeof(*m));
    if (!m)
        return NULL;
    *m = (struct saw_map){0};
    if (v->count && !map_allocate(ctx, m, v->count))
        return NULL;
    if (v->count)
        memcpy(m->entries, v->entries, v->count * sizeof(*m->entries));
    m->count = v->count;
    for (i = 0; i < m->count; i++) {
        if (m->index)
            index_add(m, i);
        saw_share(t->key, m->entries[i].key);
        saw_share(t->elem, m->entries[i].value);
    }
    return m;
}
