/* The numbers of a client's changes of rows (struct change_origin of
 * data_calls.h): a session, a number for each change, and the floor below which
 * nothing is tried again.
 *
 * A client and all its views have one, so that no two changes of a session have
 * the same number.
 *
 * Threads: one loop.
 *
 * Invariants
 *     INV-1  The floor is at or below the numbers of all open blocks.
 */
#ifndef BIGTABLE_CLIENT_CLUSTER_CHANGE_IDS_H
#define BIGTABLE_CLIENT_CLUSTER_CHANGE_IDS_H

#include <stddef.h>
#include <stdint.h>

#include "bigtable/wire/data_calls.h"

struct world;

/* Numbers that follow each other, open until their outcomes are told. */
struct change_block {
    struct change_block *before;
    struct change_block *behind;
    uint64_t first;
};

struct change_ids {
    uint64_t session;
    uint64_t next;
    struct change_block *oldest; /* Of those that are open, by number. */
    struct change_block *newest;
};

void change_ids_init(struct change_ids *ids, struct world *world);
/* Open @b with @count numbers from b->first on. */
void change_ids_open(struct change_ids *ids,
                     struct change_block *b,
                     size_t count);
/* No try of one of them is made any more, and none is under way that the caller
 * waits for. */
void change_ids_close(struct change_ids *ids, struct change_block *b);
/* The part of a change's identity that travels with each try. */
struct change_origin change_ids_origin(const struct change_ids *ids);

#endif /* BIGTABLE_CLIENT_CLUSTER_CHANGE_IDS_H */
