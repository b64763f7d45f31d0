/* A table of the store as the API's message Table. */
#ifndef BIGTABLE_GATEWAY_TABLE_MESSAGE_H
#define BIGTABLE_GATEWAY_TABLE_MESSAGE_H

#include "bigtable/gateway/admin.h"
#include "bigtable/gateway/message_fields.h"

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

/* Fields of Table. */
enum table_field {
    TABLE_NAME = 1,
    TABLE_FAMILIES = 3,
    TABLE_GRANULARITY = 4,
    TABLE_RESTORE_INFO = 6,
    TABLE_DELETION_PROTECTION = 9,
    TABLE_ROW_KEY_SCHEMA = 15,
};

/* Extras: what the store itself has no place for, as fields of the message
 * Table. Its families have nothing there but their value_type.
 *
 * Append them; nothing when there are none. *@found (may be NULL): there is an
 * entry. Parks. */
MUST_CHECK int table_extras_get(struct gateway *g,
                                const struct resource_name *name,
                                struct buf *out,
                                bool *found,
                                struct err *err);
/* Let them be @extras, whatever they were. Parks. */
MUST_CHECK int table_extras_put(struct gateway *g,
                                const struct resource_name *name,
                                struct slice extras,
                                struct err *err);
/* Let them be @extras if they are still @old (@had: there was an entry). Parks.
 * ERR_ABORTED: they are not. */
MUST_CHECK int table_extras_replace(struct gateway *g,
                                    const struct resource_name *name,
                                    struct slice old,
                                    bool had,
                                    struct slice extras,
                                    struct err *err);
/* Append those that are the schema's: what a copy of the table has, too. Parks.
 */
MUST_CHECK int table_schema_extras(struct gateway *g,
                                   const struct resource_name *name,
                                   struct buf *out,
                                   struct err *err);
/* May the table, its families and its instance not be deleted? Parks. */
MUST_CHECK int table_is_protected(struct gateway *g,
                                  const struct resource_name *name,
                                  bool *is_protected,
                                  struct err *err);
/* Refuse with FAILED_PRECONDITION what would delete @what of a table that is
 * protected. Parks. */
MUST_CHECK int table_check_unprotected(struct gateway *g,
                                       struct grpc_call *call,
                                       const struct resource_name *name,
                                       const char *what,
                                       struct err *err);

/* The value_type of family @name in @extras; empty: it has none. */
struct slice table_extras_type(struct slice extras, struct slice name);
/* Append @extras with another one (empty: none). */
void table_extras_set_type(struct slice extras,
                           struct slice name,
                           struct slice type,
                           struct buf *out);

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
/* The message ColumnFamily {gc_rule 1, stats 2, value_type 3}. */
extern const struct message_type table_family_type;
/* Options of the store for @family, which is checked. Owned text. Errors:
 * ERR_INVALID, ERR_UNSUPPORTED (names the field). */
MUST_CHECK int family_options(struct slice family, char **out, struct err *err);

#endif /* BIGTABLE_GATEWAY_TABLE_MESSAGE_H */
