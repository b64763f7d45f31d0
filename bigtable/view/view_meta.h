/* The figures of a view, and how far it is built: one row of its own table,
 * written in each transaction that changes the view. So two processes that
 * maintain one view never both commit from the same state of it.
 */
#ifndef BIGTABLE_VIEW_VIEW_META_H
#define BIGTABLE_VIEW_VIEW_META_H

#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

enum view_phase {
    /* The rows of the table are gone through, from the cursor on. */
    VIEW_PHASE_ROWS = 0,
    /* And, in a view that had been built, those that it has records of, for
     * rows that went without being told. */
    VIEW_PHASE_RECORDS = 1,
    VIEW_PHASE_READY = 2,
};

struct view_meta {
    enum view_phase phase;
    uint64_t next_group; /* The number of the next new group. */
    uint64_t rows;       /* Rows with a record; */
    uint64_t failed;     /* the number of these that the program failed on. */
    uint64_t groups;     /* Keys of all tables of the program. */
    uint64_t builds;     /* Times that it was built. */
    struct buf cursor;   /* Owned: the next row of the phase. */
    struct buf rules;    /* Owned: the table's GC rules that expiries are by. */
    struct buf error;    /* Owned: why the last row that failed did. */
};

void view_meta_encode(const struct view_meta *m, struct buf *out);
/* An empty @value is that of a new view. *@out is owned: view_meta_close(),
 * also after a failure. ERR_CORRUPT. */
MUST_CHECK int
view_meta_parse(struct slice value, struct view_meta *out, struct err *err);
void view_meta_close(struct view_meta *m);

#endif /* BIGTABLE_VIEW_VIEW_META_H */
