/* Reading the changes of a tablet, from a place on.
 *
 * Entries of memtables are read in the order in which they were committed,
 * which memtables keep. Those of flushed tables are read in windows of sequence
 * numbers that end where a flush ended, each row by row: the change files, the
 * tables that flushes wrote and the memtables are merged by row, and the
 * entries of a row are put back in their order. So changes of one row come in
 * order, whole commits, each once. A batch is of one window, or of memtables
 * alone, so that there is a place behind each of its changes
 * (change_position_behind). Memory is bounded by what a batch may hold and by
 * the largest commit.
 *
 * Nothing is handed out that a crash may take back: the log is synced first.
 *
 * Threads: any; a call keeps nothing.
 */
#ifndef BIGTABLE_CHANGES_CHANGE_READ_H
#define BIGTABLE_CHANGES_CHANGE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct change_position;
struct change_sources;
struct family;
struct schema;
struct tablet;

struct change_request {
    struct slice
        start;        /* Rows [start, end) of the tablet; an empty end is no */
    struct slice end; /* bound. */
    const struct schema *schema; /* Names of families. */
    size_t batch_bytes;          /* A batch ends with the change by which it
                                    gets larger. */
    /* May the reader see entries of @f? NULL: of all. */
    bool (*may_see)(void *ctx, const struct family *f);
    void *ctx;
};

struct change_result {
    struct buf batch; /* As change_batch.h says; empty: there are none now. */
    size_t change_count;
    int64_t watermark_us; /* All commits up to this time were read; 0: it is
                             not known. */
    bool caught_up;       /* There was nothing behind the batch. */
};

/* Read what follows @at in @t, and move @at behind it. @out is empty, and the
 * caller closes its batch. Parks.
 * Errors: ERR_UNSUPPORTED: the table keeps no changes; ERR_EXHAUSTED: those
 * that follow are not kept any more; ERR_INVALID: @at is ahead of them; those
 * of files and of the log. */
MUST_CHECK int change_read(struct tablet *t,
                           const struct change_request *request,
                           struct change_position *at,
                           struct change_result *out,
                           struct err *err);

/* Learn up to which time all commits are visible; 0: unknown. PRE: what is
 * visible is looked at afterwards. */
int64_t change_settled_us(const struct tablet *t);

/* Lower *@sequence to that of the first commit at or after @us. Parks. */
MUST_CHECK int change_find_time(struct change_sources *s,
                                int64_t us,
                                uint64_t *sequence,
                                struct err *err);

/* As QUARRY_CHANGES_OLDEST of quarry.h. */
#define CHANGE_OLDEST INT64_MIN

/* The place behind everything that @t has; from which all commits at and after
 * @us follow, if @us is not 0; or all that are kept, if it is CHANGE_OLDEST.
 * Parks. Errors: as above; ERR_EXHAUSTED: changes of that time are not kept any
 * more. */
MUST_CHECK int change_place(struct tablet *t,
                            int64_t us,
                            struct change_position *at,
                            struct err *err);

#endif /* BIGTABLE_CHANGES_CHANGE_READ_H */
