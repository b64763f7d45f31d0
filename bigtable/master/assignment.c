/* Giving unassigned tablets to servers: tablets in the order of level and
 * weight, servers in a heap by load. Ties are broken by number, so that the
 * same view gives the same orders. */
#include "bigtable/master/assignment.h"

#include <stdlib.h>

#include "base/core/heap.h"
#include "base/core/panic.h"

/* Servers that may be given an order, the least loaded on top. */
struct server_heap {
    struct assignment_server *servers; /* Borrowed. */
    uint32_t *at;                      /* Indices, in the order of a heap. */
    size_t count;
};

/* The smaller number wins a tie. */
static bool
server_before(const struct server_heap *h, const uint32_t *a, const uint32_t *b)
{
    const struct assignment_server *x = &h->servers[*a];
    const struct assignment_server *y = &h->servers[*b];
    if (x->load < y->load || y->load < x->load)
        return x->load < y->load;
    return x->number < y->number;
}

HEAP_DEFINE(server_heap, uint32_t, const struct server_heap *, server_before);

static bool is_tight(const struct assignment_server *s)
{
    return s->memory_max != 0 &&
           s->memory_bytes / ASSIGNMENT_MEMORY_PERCENT >= s->memory_max / 100;
}

/* All servers with room whose memory is not tight; if there are none, the tight
 * ones. */
static void server_heap_fill(struct server_heap *h, size_t server_count)
{
    PRE(h->count == 0);
    for (int tight = 0; tight < 2 && h->count == 0; tight++)
        for (uint32_t i = 0; i < server_count; i++)
            if (h->servers[i].room > 0 && is_tight(&h->servers[i]) == tight)
                h->at[h->count++] = i;
    server_heap_make(h, h->at, h->count);
}

/* The place in the heap of the server for @t; h->count: there is none. If the
 * server to avoid is on top, the better of the two below it. */
static size_t server_heap_find(const struct server_heap *h,
                               const struct assignment_tablet *t)
{
    PRE(h->count > 0);
    if (t->only != 0) {
        for (size_t i = 0; i < h->count; i++)
            if (h->servers[h->at[i]].number == t->only)
                return i;
        return h->count;
    }
    if (h->count < 2 || h->servers[h->at[0]].number != t->avoid)
        return 0;
    return h->count > 2 && server_before(h, &h->at[2], &h->at[1]) ? 2 : 1;
}

static void server_heap_give(struct server_heap *h, size_t i, double weight)
{
    struct assignment_server *s = &h->servers[h->at[i]];
    PRE(i < h->count);
    PRE(s->room > 0);
    s->load += weight;
    if (--s->room == 0)
        server_heap_take_out(h, h->at, &h->count, i);
    else
        server_heap_sift_down(h, h->at, h->count, i);
}

struct queued {
    const struct assignment_tablet *tablet;
    uint32_t index;
};

static int compare_queued(const void *a, const void *b)
{
    const struct queued *x = a;
    const struct queued *y = b;
    if (x->tablet->level != y->tablet->level)
        return x->tablet->level < y->tablet->level ? -1 : 1;
    if (x->tablet->weight < y->tablet->weight)
        return 1;
    if (x->tablet->weight > y->tablet->weight)
        return -1;
    return (x->index > y->index) - (x->index < y->index);
}

size_t assignment_choose(struct assignment_server *servers,
                         size_t server_count,
                         const struct assignment_tablet *tablets,
                         size_t tablet_count,
                         enum tablet_level up_to,
                         struct assignment *out)
{
    struct queued *queue = mem_alloc((tablet_count + 1) * sizeof(*queue));
    struct server_heap heap = {
        servers, mem_alloc((server_count + 1) * sizeof(uint32_t)), 0};
    size_t given = 0;

    PRE(up_to <= LEVEL_USER);
    for (uint32_t i = 0; i < tablet_count; i++)
        queue[i] = (struct queued){&tablets[i], i};
    qsort(queue, tablet_count, sizeof(*queue), compare_queued);
    server_heap_fill(&heap, server_count);
    for (size_t i = 0; i < tablet_count && heap.count > 0; i++) {
        size_t at;
        if (queue[i].tablet->level > up_to)
            break;
        at = server_heap_find(&heap, queue[i].tablet);
        if (at == heap.count)
            continue;
        out[given++] = (struct assignment){queue[i].index, heap.at[at]};
        server_heap_give(&heap, at, queue[i].tablet->weight);
    }
    POST(given <= tablet_count);
    mem_free(heap.at);
    mem_free(queue);
    return given;
}
