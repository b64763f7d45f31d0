/* Reading: rows of a table in order, over all its tablets. Every tablet is
 * pinned when the scan begins, one after the other: each is read as of one
 * moment, and each row whole, but two tablets may show different moments.
 *
 * Invariants
 *     INV-1. The spans of a finished specification ascend and do not overlap;
 *            none is empty, and a single row's is that of one encoded key.
 *     INV-2. A scan that is positioned stands in a span of its specification
 *            and in a tablet that it has pinned.
 *     INV-3. It has at most one source for each group of that tablet.
 *     INV-4. It hands out no more rows than the specification's limit.
 *     INV-5. An explained scan counts all that it reads of a tablet in that
 *            tablet's part of the record (row/explain.h), and another scan
 *            counts nothing.
 *
 * Threads: one at a time. Scans park, and so does read_cell(); the functions of
 * a read_spec do not.
 */
#ifndef BIGTABLE_READ_SCAN_H
#define BIGTABLE_READ_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/row/cells.h"

struct explain_tablet;
struct quarry_explain;
struct quarry_filter;
struct regex;
struct scan;
struct table_part;
struct table_part_view;

/* Rows to read, as encoded keys: [lower, upper); an empty upper is no bound. */
struct row_span {
    struct buf lower;
    struct buf upper;
    bool single; /* Exactly the row `lower`. */
};

/* A specification of a read: built by its user, then not changed. */
struct read_spec {
    struct row_span *spans; /* Owned; ascending, disjoint once finished. */
    size_t span_count;
    struct quarry_filter *filter; /* Owned reference; NULL: none. */
    struct regex *column_regex;   /* Owned; NULL: none. */
    uint8_t *families; /* Owned; by ids of the schema's families, nonzero:
                          wanted. NULL: all. */
    uint8_t *valued;   /* Owned; zero: values are left empty. NULL: none are. */
    uint32_t versions;
    int64_t time_min_us; /* Equal bounds: none. */
    int64_t time_max_us;
    int64_t as_of_us;    /* Not 0: as the table was then, from its changes. */
    uint64_t row_limit;  /* 0: none. */
    uint32_t cell_limit; /* Cells after which the rest of a row is left; 0:
                            none. Not with a filter, which may judge all. */
    bool keys_only;
    bool none;              /* No row at all: empty ranges were asked for. */
    bool read_ahead;        /* The scan is expected to continue. */
    uint32_t progress_rows; /* Rows without cells to hand out one; 0: none. */
    /* Record of what the scan does, begun by explain_begin() with this filter;
     * borrowed; NULL: none. */
    struct quarry_explain *explain;
};

void read_spec_close(struct read_spec *spec);
/* Add the rows [start, end), or one row. */
void read_spec_add_range(struct read_spec *spec,
                         struct slice start,
                         struct slice end);
void read_spec_add_row(struct read_spec *spec, struct slice row);
/* Leave out what is not in the rows [start, end). PRE: finished. */
void read_spec_clip(struct read_spec *spec,
                    struct slice start,
                    struct slice end);
/* Read exactly @row, whatever was added before. */
void read_spec_set_row(struct read_spec *spec, struct slice row);
/* Bring the spans into order; overlapping ones become one. With none added, all
 * rows are meant. */
void read_spec_finish(struct read_spec *spec);

/* Begin a scan of @view (referenced) as @spec (borrowed until close) says. */
MUST_CHECK int scan_new(struct table_part_view *view,
                        const struct read_spec *spec,
                        int64_t now_us,
                        struct scan **out,
                        struct err *err);
/* The next row, borrowed until the next call; NULL at the end. */
MUST_CHECK int
scan_next(struct scan *s, const struct quarry_row **row, struct err *err);
/* The part of the record about the tablet of the last row; NULL if no tablet
 * was opened, or the scan is not explained. Borrowed from the record. */
struct explain_tablet *scan_explained(const struct scan *s);
/* The highest sequence number the scan sees. */
uint64_t scan_sequence(const struct scan *s);
void scan_free(struct scan *s); /* NULL is allowed. */

/* The newest cell of one column of one row: the cheapest read. The value is
 * appended to @value. Errors: ERR_NOTFOUND (family). */
MUST_CHECK int read_cell(struct table_part *t,
                         struct slice row,
                         struct slice family,
                         struct slice qualifier,
                         struct buf *value,
                         int64_t *timestamp_us,
                         bool *found,
                         struct err *err);

#endif /* BIGTABLE_READ_SCAN_H */
