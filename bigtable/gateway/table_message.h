/* A table of the store as the API's message Table. */
#ifndef BIGTABLE_GATEWAY_TABLE_MESSAGE_H
#define BIGTABLE_GATEWAY_TABLE_MESSAGE_H

#include "bigtable/gateway/admin.h"

/* What of a table is shown. The values are the API's. */
enum table_view_kind {
    TABLE_VIEW_UNSPECIFIED = 0,
    TABLE_VIEW_NAME_ONLY = 1,
    TABLE_VIEW_SCHEMA = 2,
    TABLE_VIEW_REPLICATION = 3,
    TABLE_VIEW_FULL = 4,
    TABLE_VIEW_ENCRYPTION = 5,
    TABLE_VIEW_STATS = 6,
};

/* Append the message for table @name ("…/tables/T", parsed) of the store's
 * @store_name. Parks. Errors: ERR_NOTFOUND. */
MUST_CHECK int table_message_put(struct gateway *g,
                                 const struct resource_name *name,
                                 const char *store_name,
                                 uint64_t view,
                                 struct buf *out,
                                 struct err *err);

/* Append what the store itself has no place for, fields of the message as they
 * were sent; nothing when there is none. Parks. */
MUST_CHECK int table_extras_get(struct gateway *g,
                                const struct resource_name *name,
                                struct buf *out,
                                struct err *err);

/* The families of a message Table, as specs for the store. */
struct table_families {
    struct quarry_family_spec *specs; /* Owned, with their texts. */
    size_t count;
};

/* Errors: ERR_INVALID, ERR_UNSUPPORTED. Close in any case. */
MUST_CHECK int table_families_parse(struct slice table,
                                    struct table_families *out,
                                    struct err *err);
void table_families_close(struct table_families *f);
/* Options of the store for the message ColumnFamily. Owned text. */
MUST_CHECK int family_options(struct slice family, char **out, struct err *err);

#endif /* BIGTABLE_GATEWAY_TABLE_MESSAGE_H */
