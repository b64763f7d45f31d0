/* Copies of rows. Threads: any. */
#ifndef BIGTABLE_ROW_ROW_COPY_H
#define BIGTABLE_ROW_ROW_COPY_H

#include "bigtable/row/cells.h"

/* An owned copy of @row, in one allocation: mem_free(). */
struct quarry_row *row_copy(const struct quarry_row *row);

#endif /* BIGTABLE_ROW_ROW_COPY_H */
