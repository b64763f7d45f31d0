/* Bringing a table back to a time: row by row, those alone that differ. */
#ifndef CLI_TABLE_RESTORE_H
#define CLI_TABLE_RESTORE_H

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct quarry;

struct table_restored {
    uint64_t rows_back; /* Rows that were given their cells of then, */
    uint64_t rows_gone; /* and rows that were not there. */
};

/* Make each row of table @to what the same row of table @from was at @us; they
 * may be the same. Each row changes at once, and the whole may be done again
 * after any error. @out counts also after an error.
 * Errors: ERR_UNSUPPORTED: @from keeps no changes, or @to takes part in
 * transactions; ERR_EXHAUSTED: those of @us are not kept; those of scans
 * and writes. */
MUST_CHECK int table_restore(struct quarry *q,
                             const char *from,
                             const char *to,
                             int64_t us,
                             struct table_restored *out,
                             struct err *err);

#endif /* CLI_TABLE_RESTORE_H */
