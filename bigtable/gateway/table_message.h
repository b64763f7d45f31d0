/* A table of the store as the API's message Table.
 *
 * The store knows names, families, rules of garbage collection, and for how
 * long changes are kept (change_config.h). The rest of the message, its
 * "extras", is kept in the registry: restore_info, deletion_protection,
 * row_key_schema and the families' value_type.
 */
#ifndef BIGTABLE_GATEWAY_TABLE_MESSAGE_H
#define BIGTABLE_GATEWAY_TABLE_MESSAGE_H

#include "bigtable/gateway/admin.h"
#include "bigtable/gateway/message_fields.h"

/* Append the message for table @name ("…/tables/T", parsed), which the store
 * calls @store_name, as far as @view (Table.View) shows it. Parks. Errors:
 * ERR_NOTFOUND. */
MUST_CHECK int table_message_put(struct gateway *g,
                                 const struct resource_name *name,
                                 const char *store_name,
                                 uint64_t view,
                                 struct buf *out,
                                 struct err *err);

/* Append the extras of the table, a message Table whose families have nothing
 * but their value_type; nothing when it has none. *@found (may be NULL): there
 * is an entry. Parks. */
MUST_CHECK int table_extras_get(struct gateway *g,
                                const struct resource_name *name,
                                struct buf *out,
                                bool *found,
                                struct err *err);
/* Replace the extras by @extras. Parks. */
MUST_CHECK int table_extras_put(struct gateway *g,
                                const struct resource_name *name,
                                struct slice extras,
                                struct err *err);
/* Replace the extras by @extras if they are still @old (@had: there was an
 * entry). Parks. ERR_ABORTED: they are not. */
MUST_CHECK int table_extras_replace(struct gateway *g,
                                    const struct resource_name *name,
                                    struct slice old,
                                    bool had,
                                    struct slice extras,
                                    struct err *err);
/* Append the extras that belong to the schema, which a copy of the table
 * shares. Parks. */
MUST_CHECK int table_schema_extras(struct gateway *g,
                                   const struct resource_name *name,
                                   struct buf *out,
                                   struct err *err);
/* Set *@is_protected: are the table, its families and its instance protected
 * from deletion? Parks. */
MUST_CHECK int table_is_protected(struct gateway *g,
                                  const struct resource_name *name,
                                  bool *is_protected,
                                  struct err *err);
/* Refuse with FAILED_PRECONDITION if the table is protected; @what describes
 * the deletion. Parks. */
MUST_CHECK int table_check_unprotected(struct gateway *g,
                                       struct grpc_call *call,
                                       const struct resource_name *name,
                                       const char *what,
                                       struct err *err);

/* The value_type of family @name in @extras, borrowed; empty: it has none. */
struct slice table_extras_type(struct slice extras, struct slice name);
/* Append @extras with the value_type of family @name replaced by @type (empty:
 * removed). */
void table_extras_set_type(struct slice extras,
                           struct slice name,
                           struct slice type,
                           struct buf *out);

/* The families of a message Table, as specs for the store. */
struct table_families {
    struct quarry_family_spec *specs; /* Owned, and so are their texts. */
    size_t count;
};

/* Take the families from @table, a client's message. Close @out in any case.
 * Errors: ERR_INVALID, ERR_UNSUPPORTED. */
MUST_CHECK int table_families_parse(struct slice table,
                                    struct table_families *out,
                                    struct err *err);
void table_families_close(struct table_families *f);
/* Check @family, a message ColumnFamily, and set *@out to the store's options
 * for it, an owned text. Errors: ERR_INVALID, ERR_UNSUPPORTED (names the
 * field). */
MUST_CHECK int family_options(struct slice family, char **out, struct err *err);

#endif /* BIGTABLE_GATEWAY_TABLE_MESSAGE_H */
