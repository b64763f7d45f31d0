/* Views and schema bundles as the rest of the gateway needs them; their
 * handlers are among those of admin.h.
 *
 * Threads: any. Everything parks.
 */
#ifndef BIGTABLE_GATEWAY_ADMIN_VIEW_H
#define BIGTABLE_GATEWAY_ADMIN_VIEW_H

#include "base/core/err.h"
#include "base/core/macros.h"
#include "bigtable/gateway/resource_names.h"

struct buf;
struct gateway;

/* Append the kept message, without its name, of the authorized view @name:
 * "tables", "authorizedViews". ERR_NOTFOUND. */
MUST_CHECK int admin_authorized_view_get(struct gateway *g,
                                         const struct resource_name *name,
                                         struct buf *kept,
                                         struct err *err);
/* Append the query of the logical or materialized view @id of @instance.
 * ERR_NOTFOUND. */
MUST_CHECK int admin_view_query(struct gateway *g,
                                struct slice instance,
                                struct slice id,
                                struct buf *query,
                                struct err *err);
/* The same of a materialized view alone. */
MUST_CHECK int admin_materialized_view_query(struct gateway *g,
                                             struct slice instance,
                                             struct slice id,
                                             struct buf *query,
                                             struct err *err);
/* Forget all views and bundles of @table, or of @instance as a whole (@table
 * empty), which is gone. */
MUST_CHECK int admin_views_forget(struct gateway *g,
                                  struct slice instance,
                                  struct slice table,
                                  struct err *err);

#endif /* BIGTABLE_GATEWAY_ADMIN_VIEW_H */
