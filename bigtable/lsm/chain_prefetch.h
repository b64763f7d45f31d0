/* Prefetching for a reader that walks a frozen skip list from end to end.
 *
 * The nodes lie in no order, and the address of the next one is known only when
 * this one has come from memory, so a plain reader waits at each. Prefetch
 * streams run ahead of it. Each walks a stretch of the chain, from a node on an
 * upper level to the next one there. They take steps in turn, so that many
 * nodes, and the values that will be copied, are fetched at the same time.
 *
 * Threads: one.
 */
#ifndef BIGTABLE_LSM_CHAIN_PREFETCH_H
#define BIGTABLE_LSM_CHAIN_PREFETCH_H

#include <stddef.h>

struct skip_list;
struct skip_node;

/* A CPU core has about this many cache misses in flight. */
#define PREFETCH_STREAM_COUNT 8

/* Steps they are sent ahead. Stretches are 16 nodes long in the mean, and one
 * in e^4 is four times as long: that stream is not overtaken either. */
#define PREFETCH_STEPS_AHEAD ((size_t)PREFETCH_STREAM_COUNT * 64)

struct prefetch_stream {
    const struct skip_node *at; /* NULL: it has no stretch. */
    const struct skip_node *end;
    const struct skip_node *last; /* Was at before; NULL: at none. */
};

struct chain_prefetch {
    struct prefetch_stream streams[PREFETCH_STREAM_COUNT];
    const struct skip_node *next; /* Stretch that nobody walks yet; or NULL. */
    size_t turn;
};

/* Start the streams, ahead of a reader that calls chain_prefetch_step() at each
 * node and then mostly finds it in the cache. PRE: nothing is inserted into @l
 * any more. */
void chain_prefetch_start(struct chain_prefetch *s, const struct skip_list *l);
void chain_prefetch_step(struct chain_prefetch *s);

#endif /* BIGTABLE_LSM_CHAIN_PREFETCH_H */
