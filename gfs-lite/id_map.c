/* Open addressing by the mixed number, at most three quarters full. */
#include "gfs-lite/id_map.h"

#include <string.h>

#include "base/core/hash.h"
#include "base/core/panic.h"

#define CAP_MIN 16
/* Longer than any run of taken slots may be expected to be. */
#define RUN_MAX 4096

static size_t home(const struct id_map *m, uint64_t id)
{
    return (size_t)hash_mix(id) & (m->cap - 1);
}

void id_map_close(struct id_map *m)
{
    mem_free(m->slots);
    *m = (struct id_map){.slots = NULL};
}

/* The slot of @id, or the empty one where it would go. PRE: cap > 0. */
static size_t find(const struct id_map *m, uint64_t id)
{
    size_t at = home(m, id);
    while (m->slots[at] && *m->slots[at] != id)
        at = (at + 1) & (m->cap - 1);
    return at;
}

void *id_map_get(const struct id_map *m, uint64_t id)
{
    return m->cap ? m->slots[find(m, id)] : NULL;
}

/* Have the item of @old's slot @i + 2 * AHEAD, and the place of that of @i +
 * AHEAD, on their way to the cache: both are anywhere in memory, and to wait
 * for each in turn would take a tenth of a second for a million. */
static void
fetch_ahead(const struct id_map *m, const struct id_map *old, size_t i)
{
    enum {
        AHEAD = 12
    };

    if (i + 2 * AHEAD >= old->cap)
        return;
    if (old->slots[i + 2 * AHEAD])
        __builtin_prefetch(old->slots[i + 2 * AHEAD]);
    if (old->slots[i + AHEAD])
        __builtin_prefetch(&m->slots[home(m, *old->slots[i + AHEAD])]);
}

static void grow_to(struct id_map *m, size_t cap)
{
    struct id_map old = *m;
    m->cap = cap;
    m->slots = mem_zalloc(m->cap, sizeof(*m->slots));
    for (size_t i = 0; i < old.cap; i++) {
        fetch_ahead(m, &old, i);
        if (old.slots[i])
            m->slots[find(m, *old.slots[i])] = old.slots[i];
    }
    mem_free(old.slots);
}

void id_map_reserve(struct id_map *m, size_t count)
{
    size_t cap = m->cap ? m->cap : CAP_MIN;
    while ((m->count + count) * 4 > cap * 3)
        cap *= 2;
    if (cap > m->cap)
        grow_to(m, cap);
}

void id_map_put(struct id_map *m, void *item)
{
    id_map_item *entry = item;
    size_t at;
    if ((m->count + 1) * 4 > m->cap * 3)
        grow_to(m, m->cap ? m->cap * 2 : CAP_MIN);
    at = find(m, *entry);
    PRE(!m->slots[at]);
    m->slots[at] = entry;
    m->count++;
}

void id_map_remove(struct id_map *m, uint64_t id)
{
    size_t mask = m->cap - 1;
    size_t hole = find(m, id);
    PRE(m->slots[hole]);
    m->count--;
    /* Move up what a search would not find behind the hole. */
    for (size_t at = (hole + 1) & mask; m->slots[at]; at = (at + 1) & mask) {
        size_t want = home(m, *m->slots[at]);
        if (((at - want) & mask) >= ((at - hole) & mask)) {
            m->slots[hole] = m->slots[at];
            hole = at;
        }
    }
    m->slots[hole] = NULL;
}

void *id_map_next(const struct id_map *m, size_t *at)
{
    while (*at < m->cap) {
        id_map_item *entry = m->slots[(*at)++];
        if (entry)
            return entry;
    }
    return NULL;
}

/* Downwards: a removal moves items towards lower slots, where they are still to
 * come, but for those of a run around the end, which may go from the lowest
 * slots to the highest. These are looked at once more. */
void *id_map_walk(const struct id_map *m, struct id_map_walk *w)
{
    if (w->cap != m->cap)
        *w = (struct id_map_walk){.cap = m->cap, .at = m->cap};
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
