/* Open addressing by the mixed number, at most three quarters full. A full
 * table moves to a greater one little by little, with each item that is put: to
 * move a million at once would take a tenth of a second. Only id_map_reserve()
 * moves all at once.
 */
#include "gfs-lite/id_map.h"

#include <string.h>

#include "base/core/hash.h"
#include "base/core/hash_slots.h"
#include "base/core/panic.h"

#define CAP_MIN 16
/* Longer than any run of taken slots may be expected to be. */
#define RUN_MAX 4096

/* Slots of the old table that go with one that is put. */
#define MOVE_STEP 32

/* In the old table: what was here is in the new one, or was removed. */
static id_map_item gone;

static size_t id_map_home(const struct id_map *m, uint64_t id)
{
    return (size_t)hash_mix(id) & (m->cap - 1);
}

void id_map_close(struct id_map *m)
{
    mem_free(m->slots);
    mem_free(m->old);
    *m = (struct id_map){.slots = NULL};
}

static bool slot_is_free(id_map_item *const *slot)
{
    return !*slot;
}

static uint64_t slot_hash(id_map_item *const *slot)
{
    return hash_mix(**slot);
}

HASH_SLOTS_DEFINE(id_slots, id_map_item *, slot_is_free, slot_hash);

/* The slot of @id, or the empty one where it would go. PRE: cap > 0. */
static size_t id_map_find(const struct id_map *m, uint64_t id)
{
    size_t at;
    HASH_SLOTS_SEEK(at, m->cap, hash_mix(id),
                    !m->slots[at] || *m->slots[at] == id);
    return at;
}

/* The same in the old table. PRE: there is one. */
static size_t find_old(const struct id_map *m, uint64_t id)
{
    size_t at;
    HASH_SLOTS_SEEK(at, m->old_cap, hash_mix(id),
                    !m->old[at] || (m->old[at] != &gone && *m->old[at] == id));
    return at;
}

void *id_map_get(const struct id_map *m, uint64_t id)
{
    void *item = m->cap ? m->slots[id_map_find(m, id)] : NULL;
    return item || !m->old ? item : m->old[find_old(m, id)];
}

/* Have the item of the old slot @i + 2 * AHEAD, and the place of that of @i +
 * AHEAD, on their way to the cache: both are anywhere in memory, and each would
 * be waited for in turn. */
static void fetch_ahead(const struct id_map *m, size_t i)
{
    enum {
        AHEAD = 12
    };

    if (i + 2 * AHEAD >= m->old_cap)
        return;
    if (m->old[i + 2 * AHEAD])
        __builtin_prefetch(m->old[i + 2 * AHEAD]);
    if (m->old[i + AHEAD])
        __builtin_prefetch(&m->slots[id_map_home(m, *m->old[i + AHEAD])]);
}

/* Empty at most @most slots more of the old table, if there is one. */
static void move_some(struct id_map *m, size_t most)
{
    if (!m->old)
        return;
    for (; most > 0 && m->moved < m->old_cap; most--, m->moved++) {
        id_map_item *item = m->old[m->moved];
        fetch_ahead(m, m->moved);
        if (!item || item == &gone)
            continue;
        m->slots[id_map_find(m, *item)] = item;
        m->old[m->moved] = &gone;
    }
    if (m->moved < m->old_cap)
        return;
    mem_free(m->old);
    m->old = NULL;
    m->old_cap = 0;
}

/* Begin to move to a table of @cap slots. */
static void grow_to(struct id_map *m, size_t cap)
{
    move_some(m, SIZE_MAX);
    m->old = m->slots;
    m->old_cap = m->cap;
    m->moved = 0;
    m->slots = mem_zalloc(cap, sizeof(*m->slots));
    m->cap = cap;
}

void id_map_reserve(struct id_map *m, size_t count)
{
    size_t cap = m->cap ? m->cap : CAP_MIN;
    while ((m->count + count) * 4 > cap * 3)
        cap *= 2;
    if (cap > m->cap)
        grow_to(m, cap);
    move_some(m, SIZE_MAX);
}

void id_map_put(struct id_map *m, void *item)
{
    id_map_item *entry = item;
    size_t at;
    if ((m->count + 1) * 4 > m->cap * 3)
        grow_to(m, m->cap ? m->cap * 2 : CAP_MIN);
    move_some(m, MOVE_STEP);
    at = id_map_find(m, *entry);
    PRE(!m->slots[at] && !(m->old && m->old[find_old(m, *entry)]));
    m->slots[at] = entry;
    m->count++;
}

void id_map_remove(struct id_map *m, uint64_t id)
{
    size_t hole = id_map_find(m, id);
    m->count--;
    if (!m->slots[hole]) {
        hole = m->old ? find_old(m, id) : 0;
        PRE(m->old && m->old[hole]);
        m->old[hole] = &gone;
        return;
    }
    id_slots_take_out(m->slots, m->cap, hole);
}

void *id_map_next(const struct id_map *m, size_t *at)
{
    while (*at < m->cap) {
        id_map_item *entry = m->slots[(*at)++];
        if (entry)
            return entry;
    }
    while (*at - m->cap < m->old_cap) {
        id_map_item *entry = m->old[(*at)++ - m->cap];
        if (entry && entry != &gone)
            return entry;
    }
    return NULL;
}

/* Downwards: a removal moves items towards lower slots, where they are still to
 * come, but for those of a run around the end, which may go from the lowest
 * slots to the highest. These are returned once more. Items of the
 * old table come first, because they move to the new one. */
void *id_map_walk(const struct id_map *m, struct id_map_walk *w)
{
    if (w->cap != m->cap)
        *w = (struct id_map_walk){
            .cap = m->cap, .at = m->cap, .old_at = m->old_cap};
    while (m->old && w->old_at > 0) {
        id_map_item *entry = m->old[--w->old_at];
        if (entry && entry != &gone)
            return entry;
    }
    for (;;) {
        size_t end = w->again && m->cap > RUN_MAX ? m->cap - RUN_MAX : 0;
        while (w->at > end) {
            id_map_item *entry = m->slots[--w->at];
            if (entry)
                return entry;
        }
        if (w->again)
            return NULL;
        w->again = true;
        w->at = m->cap;
    }
}

void id_map_close_all(struct id_map *m)
{
    size_t at = 0;
    void *item;
    while ((item = id_map_next(m, &at)))
        mem_free(item);
    id_map_close(m);
}
