/* The columns that an observer watches and writes, in its record: JSON of lists
 * of texts "columns" and "writes", and the number "tries".
 *
 * Threads: any.
 */
#ifndef BIGTABLE_OBSERVER_OBSERVER_SETTINGS_H
#define BIGTABLE_OBSERVER_OBSERVER_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "bigtable/quarry_observer.h"

#define OBSERVER_KIND "observer"
/* Rows that were put aside, "NAME/ROW". */
#define OBSERVER_LETTERS ".observers"
#define OBSERVER_LETTER  "letter"

/* A part of a table. */
struct observer_column {
    char *table; /* Owned, as all. */
    char *family;
    char *qualifier; /* NULL: any. */
};

struct observer_settings {
    struct observer_column *columns;
    size_t column_count;
    struct observer_column *writes;
    size_t write_count;
    unsigned tries;
};

/* Append @spec as settings. ERR_INVALID, ERR_TOOBIG. */
MUST_CHECK int observer_settings_put(const struct quarry_observer_spec *spec,
                                     struct buf *out,
                                     struct err *err);
/* Of an observer of @table. Close it after failure, too. */
MUST_CHECK int observer_settings_get(const char *table,
                                     struct slice settings,
                                     struct observer_settings *out,
                                     struct err *err);
void observer_settings_close(struct observer_settings *s);

/* Is family:qualifier of @table, of any qualifier when it is NULL, in the
 * list? */
bool observer_has_column(const struct observer_column *list,
                         size_t count,
                         const char *table,
                         struct slice family,
                         const struct slice *qualifier);

#endif /* BIGTABLE_OBSERVER_OBSERVER_SETTINGS_H */
