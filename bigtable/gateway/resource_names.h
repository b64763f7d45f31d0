/* Resource names of the public API, and the store's table behind them.
 *
 * The store has one space of table names, the API has instances of projects.
 * Table T of instance I is the store's table "I.T"; of the instance that holds
 * the store's own tables (option home, "quarry") it is "T". Projects are not
 * told apart. Pure.
 */
#ifndef BIGTABLE_GATEWAY_RESOURCE_NAMES_H
#define BIGTABLE_GATEWAY_RESOURCE_NAMES_H

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

/* Of ids. The real service allows 33 bytes and 50. */
#define INSTANCE_ID_BYTES_MAX 64
#define TABLE_ID_BYTES_MAX    64
#define STORE_NAME_BYTES      (INSTANCE_ID_BYTES_MAX + TABLE_ID_BYTES_MAX + 2)

/* "projects/P/instances/I" and what may follow. Borrowed from the text. */
struct resource_name {
    struct slice project;
    struct slice instance;
    struct slice kind; /* "tables", "clusters", "appProfiles", or empty. */
    struct slice id;
    struct slice sub_kind; /* "authorizedViews", "backups", "snapshots". */
    struct slice sub_id;
};

/* Errors: ERR_INVALID, not such a name. */
MUST_CHECK int resource_name_parse(struct slice text,
                                   struct resource_name *out,
                                   struct err *err);
/* The same, and it must be an instance, or a @kind of one ("tables"). */
MUST_CHECK int resource_name_parse_kind(struct slice text,
                                        const char *kind,
                                        struct resource_name *out,
                                        struct err *err);

/* May a table have this id: letters, digits, '_', '-' and '.', not first a '.'
 * or '-'? ERR_INVALID. */
MUST_CHECK int table_id_check(struct slice id, struct err *err);
/* Letters, digits, '_', '-'. ERR_INVALID. */
MUST_CHECK int instance_id_check(struct slice id, struct err *err);

/* The store's name for table @id of @instance. Errors: ERR_INVALID, an id that
 * cannot be. */
MUST_CHECK int store_name_make(const char *home,
                               struct slice instance,
                               struct slice id,
                               char out[STORE_NAME_BYTES],
                               struct err *err);
/* The id that the store's table @store_name has in @instance; false: it is not
 * a table of that instance. Borrowed from @store_name. */
bool store_name_id(const char *home,
                   struct slice instance,
                   const char *store_name,
                   struct slice *id);

#endif /* BIGTABLE_GATEWAY_RESOURCE_NAMES_H */
