/* The tablets that are here, and their phases.
 *
 * The table of moves below is the diagram of docs/protocols.md: every change of
 * a phase passes tablet_move(), which asserts it. The set also remembers, for
 * each tablet, the last epoch in which it left: an order to load it in that
 * epoch may be delayed on its way, and must not bring the tablet back after the
 * server has told the master that it is gone. */
#include <stdlib.h>

#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "bigtable/tablet/table_part.h"
#include "bigtable/tablet_server/tablet_server_state.h"

/* The phases that may follow each. */
static const unsigned phase_next[] = {
    [TABLET_LOADING] = 1U << TABLET_SERVING,
    [TABLET_SERVING] = 1U << TABLET_UNLOADING,
    [TABLET_UNLOADING] = 1U << TABLET_SERVING, /* A flush failed. */
};

static bool may_follow(enum tablet_phase from, enum tablet_phase to)
{
    return (size_t)from < ARRAY_LEN(phase_next) &&
           (phase_next[from] & (1U << to)) != 0;
}

void tablet_move(struct served *t, enum tablet_phase to)
{
    enum tablet_phase from = atomic_exchange(&t->phase, to);
    INVARIANT(may_follow(from, to)); /* INV-1 */
    INVARIANT(t->table);             /* INV-2 */
}

bool tablet_begin_unload(struct served *t, enum tablet_phase *now)
{
    bool won;
    *now = TABLET_SERVING;
    won = atomic_compare_exchange_strong(&t->phase, now, TABLET_UNLOADING);
    INVARIANT(!won || t->table); /* INV-2 */
    return won;
}

void served_set_init(struct served_set *s)
{
    mutex_init(&s->lock);
    cond_init(&s->changed);
    hash_map_init(&s->map, HASH_KEYS_BORROWED);
    hash_map_init(&s->left, HASH_KEYS_COPIED);
}

void served_set_close(struct served_set *s)
{
    size_t at = 0;
    struct hash_slot *slot;
    while ((slot = hash_map_next(&s->map, &at)) != NULL)
        served_unref(slot->value.pointer);
    hash_map_close(&s->map);
    hash_map_close(&s->left);
    cond_close(&s->changed);
    mutex_close(&s->lock);
}

static struct served *served_ref(struct served *t)
{
    unsigned before = atomic_fetch_add(&t->references, 1);
    INVARIANT(before > 0); /* INV-4 */
    return t;
}

struct served *served_find(struct served_set *s, uint64_t id)
{
    union hash_value *v;
    struct served *t;
    mutex_lock(&s->lock);
    v = hash_map_get(&s->map, hash_key_u64(&id));
    t = v ? served_ref(v->pointer) : NULL;
    INVARIANT(!t || t->id == id);
    mutex_unlock(&s->lock);
    return t;
}

void served_unref(struct served *t)
{
    unsigned before;

    if (!t)
        return;
    before = atomic_fetch_sub(&t->references, 1);
    INVARIANT(before > 0); /* INV-4 */
    if (before != 1)
        return;
    table_part_unref(t->table);
    mem_free(t);
}

static bool has_left(struct served_set *s, uint64_t id, uint64_t epoch)
{
    const union hash_value *v = hash_map_get(&s->left, hash_key_u64(&id));
    PRE(mutex_is_held(&s->lock));
    return v && v->number >= epoch;
}

static void note_left(struct served_set *s, uint64_t id, uint64_t epoch)
{
    bool added;
    union hash_value *v = hash_map_put(&s->left, hash_key_u64(&id), &added);
    PRE(mutex_is_held(&s->lock));
    v->number = added ? epoch : MAX_OF(v->number, epoch);
    POST(v->number >= epoch);
}

struct served *served_add(struct served_set *s, uint64_t id, uint64_t epoch)
{
    struct served *t = mem_zalloc(1, sizeof(*t));
    union hash_value *v;
    bool added = false;

    t->id = id;
    t->epoch = epoch;
    atomic_init(&t->references, 1);
    atomic_init(&t->phase, TABLET_LOADING);
    mutex_lock(&s->lock);
    if (!has_left(s, id, epoch)) {
        v = hash_map_put(&s->map, hash_key_u64(&t->id), &added);
        if (added)
            v->pointer = served_ref(t);
    }
    INVARIANT(!added || atomic_load(&t->references) == 2); /* INV-4 */
    mutex_unlock(&s->lock);
    if (added)
        return t;
    mem_free(t);
    return NULL;
}

static bool remove_it(struct served_set *s, const struct served *t)
{
    PRE(mutex_is_held(&s->lock));
    const union hash_value *v = hash_map_get(&s->map, hash_key_u64(&t->id));
    bool removed = v && v->pointer == t &&
                   hash_map_remove(&s->map, hash_key_u64(&t->id), NULL);

    cond_broadcast(&s->changed);
    return removed;
}

void served_remove(struct served_set *s, struct served *t)
{
    bool removed;
    mutex_lock(&s->lock);
    removed = remove_it(s, t);
    INVARIANT(!removed || atomic_load(&t->references) > 1); /* INV-4 */
    mutex_unlock(&s->lock);
    if (removed)
        served_unref(t);
}

void served_leave(struct served_set *s, struct served *t)
{
    bool removed;
    mutex_lock(&s->lock);
    removed = remove_it(s, t);
    INVARIANT(!removed || atomic_load(&t->references) > 1); /* INV-4 */
    note_left(s, t->id, t->epoch);
    POST(has_left(s, t->id, t->epoch));
    mutex_unlock(&s->lock);
    if (removed)
        served_unref(t);
}

bool served_refuse(struct served_set *s, uint64_t id, uint64_t epoch)
{
    const union hash_value *v;
    const struct served *t;
    bool here;
    mutex_lock(&s->lock);
    v = hash_map_get(&s->map, hash_key_u64(&id));
    t = v ? v->pointer : NULL;
    INVARIANT(!t || t->id == id); /* INV-3 */
    here = t && t->epoch == epoch;
    if (!here)
        note_left(s, id, epoch);
    POST(here || has_left(s, id, epoch));
    mutex_unlock(&s->lock);
    return !here;
}

bool served_has_left(struct served_set *s, uint64_t id, uint64_t epoch)
{
    bool left;
    mutex_lock(&s->lock);
    left = has_left(s, id, epoch);
    mutex_unlock(&s->lock);
    return left;
}

void served_start(struct served_set *s,
                  struct served *t,
                  struct table_part *table,
                  uint64_t now_us)
{
    PRE(table);
    mutex_lock(&s->lock);
    PRE(!t->table); /* INV-2 */
    PRE(table->id == t->table_id);
    PRE(atomic_load(&t->phase) == TABLET_LOADING); /* INV-1 */
    t->loaded_at_us = now_us;
    t->table = table_part_ref(table);
    tablet_move(t, TABLET_SERVING);
    cond_broadcast(&s->changed);
    mutex_unlock(&s->lock);
}

static int compare_ids(const void *a, const void *b)
{
    uint64_t x = (*(struct served *const *)a)->id;
    uint64_t y = (*(struct served *const *)b)->id;
    return (x > y) - (x < y);
}

struct served **served_list(struct served_set *s, size_t *count)
{
    struct served **list;
    struct hash_slot *slot;
    size_t at = 0;
    *count = 0;
    mutex_lock(&s->lock);
    list = mem_alloc((s->map.count + 1) * sizeof(struct served *));
    while ((slot = hash_map_next(&s->map, &at)) != NULL)
        list[(*count)++] = served_ref(slot->value.pointer);
    INVARIANT(*count == s->map.count);
    mutex_unlock(&s->lock);
    qsort(list, *count, sizeof(struct served *), compare_ids);
    return list;
}
