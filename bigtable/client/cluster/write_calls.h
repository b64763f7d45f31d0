/* Calls that change rows, shared. What many users of a client send to one
 * server while two calls to it are under way goes together in the next one: a
 * call of its own for each would cost the server more than the changes do. Who
 * is alone waits for nobody.
 *
 * Threads: one loop.
 */
#ifndef BIGTABLE_CLIENT_CLUSTER_WRITE_CALLS_H
#define BIGTABLE_CLIENT_CLUSTER_WRITE_CALLS_H

#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"

struct cluster;
struct location;
struct write_calls;

struct write_calls *write_calls_new(struct cluster *c);
void write_calls_free(struct write_calls *s); /* PRE: nobody writes. */

/* Changes for one server, and what became of each. */
struct write_parcel {
    struct location *where;
    uint8_t durability;
    uint32_t count;
    struct buf changes; /* row_change_put() of each. */
    int32_t *codes;     /* Room for `count`: 0 or why not. */
    struct buf text;    /* Of the first failure among them. */
    struct buf hint;
};

/* Send @p. On error nothing is known of the changes: those of tablet_call().
 * Parks; heeds the fiber's deadline. */
MUST_CHECK int write_calls_send(struct write_calls *s,
                                struct write_parcel *p,
                                struct err *err);

/* Changes that went along in a call of somebody else's. */
uint64_t write_calls_shared(const struct write_calls *s);

#endif /* BIGTABLE_CLIENT_CLUSTER_WRITE_CALLS_H */
