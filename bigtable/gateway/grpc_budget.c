/* Charging bytes to a budget and the one around it, before memory is taken, and
 * refunding them.
 */
#include "bigtable/gateway/grpc_budget.h"

#include "base/core/panic.h"

bool grpc_budget_charge(struct grpc_budget *b, size_t bytes)
{
    INVARIANT(b->used <= b->max); /* INV-1 */
    if (bytes > b->max - b->used)
        return false;
    if (b->within && !grpc_budget_charge(b->within, bytes))
        return false;
    b->used += bytes;
    return true;
}

void grpc_budget_refund(struct grpc_budget *b, size_t bytes)
{
    PRE(b->used >= bytes);
    b->used -= bytes;
    if (b->within)
        grpc_budget_refund(b->within, bytes); /* INV-2 */
}
