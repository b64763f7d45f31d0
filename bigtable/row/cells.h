/* Rows and cells as readers see them. Part of the public C library: quarry.h
 * includes it. */
#ifndef BIGTABLE_ROW_CELLS_H
#define BIGTABLE_ROW_CELLS_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/slice.h"

struct quarry_cell {
    struct slice family;
    struct slice qualifier;
    int64_t timestamp_us;
    struct slice value;
    struct slice label; /* From filters; usually empty. */
};

struct quarry_row {
    struct slice key;
    const struct quarry_cell *cells; /* Families in the schema's order,
                                        qualifiers ascending, newest first. */
    size_t cell_count;
};

#endif /* BIGTABLE_ROW_CELLS_H */
