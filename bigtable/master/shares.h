/* How a table's rates are shared by its tablet servers: a pure decision.
 *
 * Most of a rate goes where it is used: to each server by its part of the rows
 * that were requested lately. A small part is shared by all tablets alike, so
 * that a server whose tablets were idle can grant something at once; that use
 * then brings it more at the next decision. */
#ifndef BIGTABLE_MASTER_SHARES_H
#define BIGTABLE_MASTER_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/slice.h"

struct buf;

/* A server with tablets of the table. */
struct share_server {
    uint64_t number;
    uint64_t tablets;
    uint64_t requests_per_s;
};

/* Append the shares of all of @servers, in their order and in the form of
 * wire/policy.h. Their sum is at most the whole. */
void shares_choose(const struct share_server *servers,
                   size_t count,
                   struct buf *out);
/* Do two such lists differ enough for servers to be told? */
bool shares_differ(struct slice a, struct slice b);

#endif /* BIGTABLE_MASTER_SHARES_H */
