/* From stored entries to rows: merges the groups of a tablet in key order and
 * assembles the visible cells of one row after the other.
 *
 * Where the entries come from is the caller's: an entry_source is an iterator
 * over the entries of one locality group (in the engine an lsm_iter, in tests a
 * sorted array).
 *
 * Threads: one at a time. Everything that moves a source parks.
 */
#ifndef BIGTABLE_ROW_READ_ROW_H
#define BIGTABLE_ROW_READ_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/row/cells.h"
#include "bigtable/row/filter_run.h"
#include "bigtable/row/schema.h"
#include "bigtable/row/visibility.h"

struct explain_tablet;
struct regex;

struct entry_source;

/* Both park, and set what follows the first two fields of @s. */
struct entry_source_ops {
    int (*seek)(struct entry_source *s, struct slice key, struct err *err);
    int (*next)(struct entry_source *s, struct err *err); /* PRE: valid. */
};

struct entry_source {
    void *it; /* Of the implementation. */
    const struct entry_source_ops *ops;
    bool valid;       /* It is at an entry. */
    bool stays;       /* next() leaves this value, and those before it that
                         stayed, where they are; seek() does not. */
    struct slice key; /* Borrowed until it moves. */
    struct slice value;
};

/* Everything is borrowed while the reader is used. */
struct row_reader_options {
    const struct schema *schema;
    int64_t now_us;          /* For GC rules about age. */
    const uint8_t *families; /* By ids of the schema's families, nonzero:
                                wanted. NULL: all. */
    uint32_t versions;       /* Newest N per column; 0: all. */
    int64_t time_min_us;     /* Timestamps in [min, max); equal: no bound. */
    int64_t time_max_us;
    bool keys_only;        /* Values are empty. */
    const uint8_t *valued; /* By family id, zero: its values are left empty.
                              NULL: all have them. */
    /* Of all of "family:qualifier"; NULL: none. */
    const struct regex *column_regex;
    uint32_t progress_rows; /* Rows with nothing to return after which one
                               without cells is handed out; 0: never. */
    uint32_t cell_limit;    /* Cells after which the rest of a row is left; 0:
                               none. */
    struct filter_run *filter;      /* NULL: none. */
    struct explain_tablet *explain; /* By row_reader_set_explain(): all that is
                                       read is counted in it; NULL: nothing. */
};

struct row_reader {
    struct row_reader_options opts;
    struct entry_source *sources; /* Borrowed. */
    size_t source_count;
    struct entry_source *current; /* At the smallest key; NULL: end. */
    struct visibility view;
    /* How an entry is judged, and a cell by the filter. In an explained scan
     * these count as well, so that no other pays for it at each cell. */
    enum fate (*feed)(struct visibility *v,
                      struct slice key,
                      struct slice value);
    enum filter_verdict (*filter_cell)(struct filter_run *filter,
                                       struct quarry_cell *cell);
    struct buf upper;    /* Encoded row key to stop before; empty: none. */
    struct buf target;   /* Key to skip to. */
    struct buf column;   /* "family:qualifier" for column_regex. */
    struct buf row_name; /* Plain name of the row in hand. */
    struct buf scratch;
    struct buf bytes;          /* Qualifiers and copied values of the row. */
    struct quarry_cell *cells; /* Owned. */
    size_t cell_count;
    size_t cell_cap;
    size_t copied;        /* Cells whose values are in `bytes`; those of the
                             rest lie where the sources have them. */
    size_t cells_bytes;   /* Of all qualifiers and values. */
    unsigned newer_steps; /* In a row over versions that are too new. */
    const struct family *named; /* Family of the last cell, and its name. */
    struct slice family_name;
    uint64_t shown;        /* Of the current column, within the time range. */
    struct buf folded_key; /* Of a cell of an aggregate: its newest operand's */
    struct buf folded;     /* key, and its state. */
    struct quarry_row row; /* The row that row_reader_next returns. */
};

void row_reader_init(struct row_reader *r,
                     const struct row_reader_options *opts);
void row_reader_close(struct row_reader *r);
/* Read from other sources from the next seek on; borrowed. */
void row_reader_set_sources(struct row_reader *r,
                            struct entry_source *sources,
                            size_t source_count);
/* Count in @explain (borrowed; NULL: nothing) from now on. */
void row_reader_set_explain(struct row_reader *r,
                            struct explain_tablet *explain);

/* Go to the first row at or after the encoded key @lower, and end before the
 * encoded key @upper (empty: no end); both copied. */
MUST_CHECK int row_reader_seek(struct row_reader *r,
                               struct slice lower,
                               struct slice upper,
                               struct err *err);

/* The next row that has a visible cell (or none, see progress_rows): borrowed
 * until the next call, and while the sources are not moved or closed; *@row is
 * NULL at the end. Errors: ERR_CORRUPT and
 * whatever the sources report. */
MUST_CHECK int row_reader_next(struct row_reader *r,
                               const struct quarry_row **row,
                               struct err *err);

/* Fold the operands of one cell. The entry at @s is its newest one, for which
 * @view said FATE_FOLDED; the state is appended to @out, and @s is left at the
 * first entry of another cell. @feed judges entries, with @view. Errors:
 * ERR_CORRUPT, and whatever @s reports. */
MUST_CHECK int fold_operands(struct entry_source *s,
                             struct visibility *view,
                             enum fate (*feed)(struct visibility *v,
                                               struct slice key,
                                               struct slice value),
                             struct buf *out,
                             struct err *err);

/* The newest visible value of one column: the shortest way there is through
 * @source. @row is the encoded row part. *@value is borrowed until @source
 * moves or @target is changed, and means nothing unless *@found. @view is
 * scratch, of the schema. */
MUST_CHECK int read_newest_cell(struct entry_source *source,
                                struct visibility *view,
                                struct buf *target,
                                struct slice row,
                                family_id family,
                                struct slice qualifier,
                                bool *found,
                                int64_t *timestamp_us,
                                struct slice *value,
                                struct err *err);

#endif /* BIGTABLE_ROW_READ_ROW_H */
