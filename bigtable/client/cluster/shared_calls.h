/* Shared calls of tablet servers: requests of many users to one server that
 * come while as many calls to it are in flight as may be
 * (shared_kind.calls_max) go together in the next call, because a call costs
 * client and server more than most requests do. A request that is alone never
 * waits.
 *
 * Threads: one loop.
 */
#ifndef BIGTABLE_CLIENT_CLUSTER_SHARED_CALLS_H
#define BIGTABLE_CLIENT_CLUSTER_SHARED_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"

struct cluster;
struct location;
struct shared_calls;

/* A method whose attachment is a sequence of items, each of which has an
 * outcome of its own: struct apply_reply. */
struct shared_kind {
    uint32_t method;
    unsigned calls_max; /* That are under way to one server at once. */
    uint32_t count_max; /* Items of a call. */
    size_t bytes_max;   /* Theirs. */
    size_t small_bytes; /* A parcel of more goes in a call of its own. */
    bool has_answers;   /* The answer's attachment has one for each item. */
    void (*put)(const struct cluster *c,
                uint8_t flavor,
                uint32_t count,
                struct buf *body);
};

/* @kind is borrowed. Owned. */
struct shared_calls *shared_calls_new(struct cluster *c,
                                      const struct shared_kind *kind);
void shared_calls_free(struct shared_calls *s); /* PRE: nobody calls. */

/* Items for one server, and what became of each. */
struct shared_parcel {
    struct cluster
        *cluster; /* The view that sends it: parcels of one view go together. */
    struct location *where;
    uint8_t flavor; /* Parcels of another one go in other calls. */
    uint32_t count;
    struct buf items;
    int32_t *codes;     /* Room for `count`: 0 or why not; ERR_UNAVAILABLE, too,
                           for what was not found where others failed
                           otherwise: the text may not be its own. */
    struct buf answers; /* An lslice for each item. */
    struct err first;   /* Failure among them. */
};

void shared_parcel_close(struct shared_parcel *p); /* Not its codes. */

/* Send @p. On error nothing is known of the items: those of tablet_call().
 * Parks; heeds the fiber's deadline. */
MUST_CHECK int shared_calls_send(struct shared_calls *s,
                                 struct shared_parcel *p,
                                 struct err *err);

/* Items that went along in a call of somebody else's. */
uint64_t shared_calls_count(const struct shared_calls *s);

#endif /* BIGTABLE_CLIENT_CLUSTER_SHARED_CALLS_H */
