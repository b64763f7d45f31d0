/* Prefetch streams: see chain_prefetch.h. Each step asks the CPU for one node
 * and moves to the next stream, so that up to PREFETCH_STREAM_COUNT misses
 * overlap where a plain walk waits for each in turn.
 */
#include "bigtable/lsm/chain_prefetch.h"

#include <string.h>

#include "base/core/panic.h"
#include "bigtable/lsm/skip_list_parts.h"
#include "bigtable/row/cell_key.h" /* CELL_KEY_VERSION_BYTES */

/* Stretches are between nodes on this level. */
#define STRETCH_LEVEL 2
/* The CPU's own prefetcher fetches the rest of a large value. */
#define FETCH_BYTES_MAX ((size_t)1024)

/* True if @n is an older version of the cell of @newer. Most such are dropped,
 * because the newer one hides them: their values are not fetched. */
static bool is_older_version(const struct skip_node *newer,
                             const struct skip_node *n)
{
    struct slice key = skip_node_key(n);
    struct slice other = skip_node_key(newer);

    return key.len == other.len && key.len > CELL_KEY_VERSION_BYTES &&
           memcmp(key.data, other.data, key.len - CELL_KEY_VERSION_BYTES) == 0;
}

static void fetch_value(const struct skip_node *n)
{
    size_t bytes = MIN_OF((size_t)n->value_len, FETCH_BYTES_MAX);

    for (size_t at = 0; at < bytes; at += SKIP_LINE_BYTES)
        __builtin_prefetch(n->value + at);
}

/* The node that @c is at has been fetched: go to the next one. */
static void chain_prefetch_leave(struct prefetch_stream *c)
{
    PRE(c->at);
    if (!c->last || !is_older_version(c->last, c->at))
        fetch_value(c->at);
    c->last = c->at;
    c->at = next_at(c->at, 0);
}

/* @c begins the next stretch, at whose first node it stands. */
static void take_stretch(struct chain_prefetch *s, struct prefetch_stream *c)
{
    c->at = s->next;
    s->next = s->next ? next_at(s->next, STRETCH_LEVEL) : NULL;
    c->end = s->next;
    c->last = NULL;
    skip_node_ask_for(s->next);
}

void chain_prefetch_step(struct chain_prefetch *s)
{
    struct prefetch_stream *c = &s->streams[s->turn];

    PRE(s->turn < PREFETCH_STREAM_COUNT);
    s->turn = (s->turn + 1) % PREFETCH_STREAM_COUNT;
    if (c->at)
        chain_prefetch_leave(c);
    if (c->at && c->at != c->end)
        skip_node_ask_for(c->at);
    else
        take_stretch(s, c);
}

void chain_prefetch_start(struct chain_prefetch *s, const struct skip_list *l)
{
    PRE(l->head);
    *s = (struct chain_prefetch){.next = next_at(l->head, STRETCH_LEVEL)};
    s->streams[0] = (struct prefetch_stream){.at = l->head, .end = s->next};
    for (size_t i = 0; i < PREFETCH_STEPS_AHEAD; i++)
        chain_prefetch_step(s);
}
