/* The state that DeleteTable leaves, of which UndeleteTable makes a table; the
 * handler is among those of admin.h.
 *
 * Threads: any. Everything parks.
 */
#ifndef BIGTABLE_GATEWAY_ADMIN_UNDELETE_H
#define BIGTABLE_GATEWAY_ADMIN_UNDELETE_H

#include <stdint.h>

#include "bigtable/gateway/admin.h"
#include "bigtable/gateway/api_service.h"

/* How long a dropped table can come back, in µs. */
#define UNDELETE_US (UINT64_C(24) * 3600 * 1000000)

/* Keep the table @name, in the store @store_name, which is dropped next. If
 * that cannot be done, it is dropped for good: who deletes, perhaps for want of
 * space, is not refused. */
void admin_undelete_keep(struct gateway *g,
                         const struct resource_name *name,
                         const char *store_name);

#endif /* BIGTABLE_GATEWAY_ADMIN_UNDELETE_H */
