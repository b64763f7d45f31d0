/* Levels of repair, and their queue: one linked list a level, so that adding
 * and taking cost the same however many chunks wait.
 */
#include "gfs-lite/namenode/repair.h"

#include "base/core/macros.h"
#include "base/core/panic.h"

/* There cannot be more copies than servers. */
static unsigned repair_reachable(const struct repair_view *v)
{
    return MIN_OF(v->wanted, v->usable_servers);
}

enum repair_level repair_level_of(const struct repair_view *v)
{
    PRE(v->wanted > 0);
    PRE(v->racks <= v->staying);
    unsigned copies = v->staying + v->leaving;
    if (copies == 0)
        return REPAIR_LOST;
    if (v->staying > v->wanted)
        return REPAIR_EXCESS;
    if (v->staying < repair_reachable(v)) {
        if (v->leaving > 0 && copies >= repair_reachable(v))
            return REPAIR_LEAVING;
        if (copies == 1)
            return REPAIR_LAST_COPY;
        return copies * 3 <= v->wanted ? REPAIR_FEW : REPAIR_SOME;
    }
    if (v->racks == 1 && v->usable_racks > 1 && v->wanted > 1 &&
        v->staying <= v->wanted)
        return REPAIR_RACK;
    return REPAIR_NOTHING;
}

void repair_queue_init(struct repair_queue *q)
{
    *q = (struct repair_queue){.counts = {0}};
    for (unsigned i = 0; i < REPAIR_LEVELS; i++)
        q->last[i] = &q->first[i];
}

void repair_queue_close(struct repair_queue *q)
{
    uint64_t chunk;
    while (repair_queue_take(q, &chunk))
        ;
    for (unsigned i = 0; i < REPAIR_LEVELS; i++)
        POST(q->counts[i] == 0); /* INV-1 */
}

void repair_queue_add(struct repair_queue *q,
                      uint64_t chunk,
                      enum repair_level level)
{
    struct repair_item *i = mem_alloc(sizeof(*i));
    PRE(level < REPAIR_LEVELS);
    i->chunk = chunk;
    i->next = NULL;
    *q->last[level] = i;
    q->last[level] = &i->next;
    q->counts[level]++;
}

bool repair_queue_take(struct repair_queue *q, uint64_t *chunk)
{
    for (unsigned level = 0; level < REPAIR_LEVELS; level++) {
        struct repair_item *i = q->first[level];
        INVARIANT((i == NULL) == (q->counts[level] == 0)); /* INV-1 */
        if (!i)
            continue;
        q->first[level] = i->next;
        if (!i->next)
            q->last[level] = &q->first[level];
        INVARIANT(q->counts[level] > 0);
        q->counts[level]--;
        *chunk = i->chunk;
        mem_free(i);
        return true;
    }
    return false;
}
