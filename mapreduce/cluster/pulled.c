/* The segments of a file of pieces, appended as they arrive and sorted once for
 * lookups by map and attempt. */
#include "mapreduce/cluster/pulled.h"

#include <stdlib.h>

#include "base/core/panic.h"

bool pull_room_take(struct pull_room *r, uint64_t bytes, size_t spills)
{
    if (bytes > r->bytes_max - MIN_OF(r->bytes, r->bytes_max) ||
        spills > PULL_SPILLS_MAX - r->spills)
        return false;
    r->bytes += bytes;
    r->spills += spills;
    POST(r->spills <= PULL_SPILLS_MAX); /* INV-1 */
    return true;
}

void pull_room_give(struct pull_room *r, uint64_t bytes, size_t spills)
{
    INVARIANT(r->bytes >= bytes && r->spills >= spills);
    r->bytes -= bytes;
    r->spills -= spills;
}

struct pulled *pulled_new(uint32_t partition, const char *path)
{
    struct pulled *p = mem_zalloc(1, sizeof(*p));
    PRE(path);
    p->partition = partition;
    p->path = mem_strdup(path);
    return p;
}

void pulled_free(struct pulled *p, struct pull_room *room)
{
    if (!p)
        return;
    pull_room_give(room, p->bytes, p->spill_count);
    mem_free(p->path);
    mem_free(p->spills);
    mem_free(p->segments);
    mem_free(p);
}

void pulled_add(struct pulled *p,
                const struct task_spill *spill,
                bool early,
                const struct task_segment *at,
                size_t count)
{
    if (p->spill_count == p->spill_cap) {
        p->spill_cap = MAX_OF(p->spill_cap * 2, (size_t)64);
        p->spills = mem_realloc(p->spills, p->spill_cap * sizeof(*p->spills));
    }
    if (p->segment_count + count > p->segment_cap) {
        p->segment_cap = MAX_OF(p->segment_cap * 2, p->segment_count + count);
        p->segments =
            mem_realloc(p->segments, p->segment_cap * sizeof(*p->segments));
    }
    INVARIANT(p->segment_count + count <= p->segment_cap);
    p->spills[p->spill_count++] =
        (struct pulled_spill){.task = spill->task,
                              .attempt = spill->attempt,
                              .early = early,
                              .first = (uint32_t)p->segment_count,
                              .count = (uint32_t)count};
    for (size_t i = 0; i < count; i++) {
        p->segments[p->segment_count++] = (struct task_segment){
            .offset = p->bytes, .bytes = at[i].bytes, .pairs = at[i].pairs};
        p->bytes += at[i].bytes;
    }
}

static int pulled_compare(const void *a, const void *b)
{
    const struct pulled_spill *x = a;
    const struct pulled_spill *y = b;
    if (x->task != y->task)
        return x->task < y->task ? -1 : 1;
    return (x->attempt > y->attempt) - (x->attempt < y->attempt);
}

void pulled_sort(struct pulled *p)
{
    if (p->spill_count > 0)
        qsort(p->spills, p->spill_count, sizeof(*p->spills), pulled_compare);
}

const struct pulled_spill *
pulled_find(const struct pulled *p, uint32_t task, uint32_t attempt)
{
    const struct pulled_spill key = {.task = task, .attempt = attempt};
    PRE(p->spill_count == 0 || p->spills);
    if (p->spill_count == 0)
        return NULL;
    return bsearch(&key, p->spills, p->spill_count, sizeof(key),
                   pulled_compare);
}
