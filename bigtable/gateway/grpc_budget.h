/* A budget of bytes: charged before memory is taken for what a peer sent or is
 * to be sent, and within a larger one where there is one (that of a connection
 * within that of its server).
 *
 * Invariants
 *     INV-1. used <= max.
 *     INV-2. All that is used here is also used of `within`.
 *
 * Threads: one loop.
 */
#ifndef BIGTABLE_GATEWAY_GRPC_BUDGET_H
#define BIGTABLE_GATEWAY_GRPC_BUDGET_H

#include <stdbool.h>
#include <stddef.h>

struct grpc_budget {
    size_t used;
    size_t max;
    struct grpc_budget *within; /* Borrowed; NULL: none. */
};

/* Charge @bytes. False: there is no room for them; nothing was charged. */
bool grpc_budget_charge(struct grpc_budget *b, size_t bytes);
/* PRE: they were charged. */
void grpc_budget_refund(struct grpc_budget *b, size_t bytes);

#endif /* BIGTABLE_GATEWAY_GRPC_BUDGET_H */
