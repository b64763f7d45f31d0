/* Open addressing with linear probing; a removal moves later entries of the run
 * back instead of leaving a tombstone, so that searches stay short however
 * many entries came and went. Keeps at least a quarter of the slots free. */
#include "base/core/hash_map.h"

#include "base/core/hash.h"
#include "base/core/hash_slots.h"
#include "base/core/panic.h"

#define CAP_MIN 16

void hash_map_init(struct hash_map *m, enum hash_keys keys)
{
    *m = (struct hash_map){.keys = keys};
}

static void free_key(const struct hash_map *m, struct hash_slot *s)
{
    if (m->keys == HASH_KEYS_COPIED)
        mem_free((void *)(uintptr_t)s->key.data);
}

void hash_map_clear(struct hash_map *m)
{
    for (size_t i = 0; i < m->cap; i++) {
        if (m->slots[i].hash)
            free_key(m, &m->slots[i]);
        m->slots[i].hash = 0;
    }
    m->count = 0;
}

void hash_map_close(struct hash_map *m)
{
    hash_map_clear(m);
    mem_free(m->slots);
    hash_map_init(m, m->keys);
}

static uint64_t hash_of(struct slice key)
{
    uint64_t h = hash64_slice(key);
    return h ? h : 1;
}

static bool slot_is_free(const struct hash_slot *s)
{
    return s->hash == 0;
}

static uint64_t slot_hash(const struct hash_slot *s)
{
    return s->hash;
}

HASH_SLOTS_DEFINE(map_slots, struct hash_slot, slot_is_free, slot_hash);

/* The slot of @key, or the empty one where it belongs. PRE: one is empty. */
static struct hash_slot *
hash_map_find_slot(const struct hash_map *m, struct slice key, uint64_t hash)
{
    const struct hash_slot *slots = m->slots;
    size_t at;
    HASH_SLOTS_SEEK(at, m->cap, hash,
                    !slots[at].hash || (slots[at].hash == hash &&
                                        slice_eq(slots[at].key, key)));
    return &m->slots[at];
}

/* Keep at least a quarter of the slots empty. */
static void hash_map_grow(struct hash_map *m)
{
    struct hash_slot *old = m->slots;
    size_t old_cap = m->cap;
    if (m->count + 1 <= m->cap / 4 * 3)
        return;
    m->cap = old_cap ? old_cap * 2 : CAP_MIN;
    m->slots = mem_zalloc(m->cap, sizeof(*m->slots));
    map_slots_move(old, old_cap, m->slots, m->cap);
    mem_free(old);
    POST(m->count + 1 <= m->cap / 4 * 3); /* INV-1: a search ends. */
}

union hash_value *hash_map_get(const struct hash_map *m, struct slice key)
{
    struct hash_slot *s;
    if (m->count == 0)
        return NULL;
    s = hash_map_find_slot(m, key, hash_of(key));
    return s->hash ? &s->value : NULL;
}

union hash_value *
hash_map_put(struct hash_map *m, struct slice key, bool *added)
{
    uint64_t hash = hash_of(key);
    struct hash_slot *s;
    hash_map_grow(m);
    s = hash_map_find_slot(m, key, hash);
    if (added)
        *added = !s->hash;
    if (!s->hash) {
        if (m->keys == HASH_KEYS_COPIED)
            key.data = mem_strndup(key.data, key.len);
        *s = (struct hash_slot){.hash = hash, .key = key};
        m->count++;
    }
    return &s->value;
}

bool hash_map_remove(struct hash_map *m,
                     struct slice key,
                     union hash_value *old)
{
    struct hash_slot *s;
    if (m->count == 0)
        return false;
    s = hash_map_find_slot(m, key, hash_of(key));
    if (!s->hash)
        return false;
    if (old)
        *old = s->value;
    free_key(m, s);
    INVARIANT(m->count > 0); /* INV-2 */
    m->count--;
    map_slots_take_out(m->slots, m->cap, (size_t)(s - m->slots));
    return true;
}

struct hash_slot *hash_map_next(const struct hash_map *m, size_t *at)
{
    while (*at < m->cap) {
        struct hash_slot *s = &m->slots[(*at)++];
        if (s->hash)
            return s;
    }
    return NULL;
}
