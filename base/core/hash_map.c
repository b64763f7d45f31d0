/* Open addressing with linear probing; a removal moves later entries of the run
 * back, so that no search ever walks over graves. */
#include "base/core/hash_map.h"

#include "base/core/hash.h"
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

/* The slot of @key, or the empty one where it belongs. PRE: one is empty. */
static struct hash_slot *
find(const struct hash_map *m, struct slice key, uint64_t hash)
{
    size_t at = (size_t)hash & (m->cap - 1);
    while (m->slots[at].hash &&
           (m->slots[at].hash != hash || !slice_eq(m->slots[at].key, key)))
        at = (at + 1) & (m->cap - 1);
    return &m->slots[at];
}

/* Keep at least a quarter of the slots empty. */
static void grow(struct hash_map *m)
{
    struct hash_slot *old = m->slots;
    size_t old_cap = m->cap;
    if (m->count + 1 <= m->cap / 4 * 3)
        return;
    m->cap = old_cap ? old_cap * 2 : CAP_MIN;
    m->slots = mem_zalloc(m->cap, sizeof(*m->slots));
    for (size_t i = 0; i < old_cap; i++)
        if (old[i].hash)
            *find(m, old[i].key, old[i].hash) = old[i];
    mem_free(old);
}

union hash_value *hash_map_get(const struct hash_map *m, struct slice key)
{
    struct hash_slot *s;
    if (m->count == 0)
        return NULL;
    s = find(m, key, hash_of(key));
    return s->hash ? &s->value : NULL;
}

union hash_value *
hash_map_put(struct hash_map *m, struct slice key, bool *added)
{
    uint64_t hash = hash_of(key);
    struct hash_slot *s;
    grow(m);
    s = find(m, key, hash);
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

/* Fill the hole at @hole from the run behind it. */
static void close_gap(struct hash_map *m, size_t hole)
{
    size_t mask = m->cap - 1;
    for (size_t at = (hole + 1) & mask; m->slots[at].hash;
         at = (at + 1) & mask) {
        size_t home = (size_t)m->slots[at].hash & mask;
        /* It may move to the hole if its home is not between them. */
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            m->slots[hole] = m->slots[at];
            hole = at;
        }
    }
    m->slots[hole].hash = 0;
}

bool hash_map_remove(struct hash_map *m,
                     struct slice key,
                     union hash_value *old)
{
    struct hash_slot *s;
    if (m->count == 0)
        return false;
    s = find(m, key, hash_of(key));
    if (!s->hash)
        return false;
    if (old)
        *old = s->value;
    free_key(m, s);
    m->count--;
    close_gap(m, (size_t)(s - m->slots));
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
