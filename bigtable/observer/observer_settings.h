/* The settings of an observer in its record: JSON of lists of texts "columns"
 * and "writes", the numbers "tries" and "retry_us", the text "output" and, of
 * one that keeps its program, the object "program": texts "kind", "text" and
 * "function", booleans "derives" and "stays", numbers "timeout_us" and
 * "memory_bytes".
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
/* Rows that were put aside, "NAME/ROW", and what rows stand for, "NAME:ROW"
 * (observer_derive.c). */
#define OBSERVER_LETTERS ".observers"
#define OBSERVER_LETTER  "letter"
#define OBSERVER_MADE    "made"

#define OBSERVER_TIMEOUT_US   ((uint64_t)30000000)
#define OBSERVER_MEMORY_BYTES ((uint64_t)512 << 20)

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
    uint64_t retry_us; /* 0: rows that were put aside wait for somebody. */
    char *output;      /* NULL: none. */
    char *kind;        /* Of its program; NULL: none, as are the next two. */
    struct slice text; /* Owned. */
    char *function;
    bool derives;
    bool stays;
    uint64_t timeout_us; /* Not 0, as the next. */
    uint64_t memory_bytes;
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
/* Do @settings, as they are in a record, have a program? */
bool observer_settings_have_program(struct slice settings);

/* Is family:qualifier of @table, of any qualifier when it is NULL, in the
 * list? */
bool observer_has_column(const struct observer_column *list,
                         size_t count,
                         const char *table,
                         struct slice family,
                         const struct slice *qualifier);

#endif /* BIGTABLE_OBSERVER_OBSERVER_SETTINGS_H */
