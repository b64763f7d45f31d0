/* Deletion protection, which clients of the API set on tables, for who drops
 * tables in another way. It is kept under the API's names of tables
 * (resource_registry.h); a table of the store is protected if it is under any
 * of these.
 *
 * Threads: any. Everything parks.
 */
#ifndef BIGTABLE_GATEWAY_PROTECTION_H
#define BIGTABLE_GATEWAY_PROTECTION_H

#include "base/core/err.h"
#include "base/core/macros.h"

struct quarry;

/* Errors: ERR_DENIED (a hint says what to do): the store's table @name is
 * protected, or it is not this caller's to know whether it is. */
MUST_CHECK int
protection_check(struct quarry *q, const char *name, struct err *err);
/* Let it be dropped. No error where it was not protected. ERR_DENIED: only who
 * may write GATEWAY_TABLE may; ERR_ABORTED: it was changed meanwhile. */
MUST_CHECK int
protection_lift(struct quarry *q, const char *name, struct err *err);

#endif /* BIGTABLE_GATEWAY_PROTECTION_H */
