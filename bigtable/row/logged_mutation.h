/* Mutations as records of the commit log hold them.
 *
 *     payload  = mutation…
 *     mutation = table:varint now:le64 count row:lslice
 *                family:le16 × count, ops:lslice
 *     count    = count:varint, or with LOGGED_WITH_CHANGE in it:
 *                count:varint session:le64 sequence:varint answer:lslice
 *
 * `now` is the stamp of the cells that the table stamps; 0: it stamps none.
 *
 * Family ids are logged beside the operations, which carry names: a name may
 * mean another family by the time the log is read.
 *
 * Writers lay the form out by hand (write/tablet_writer.c), because they fill
 * in stamps later and leave large operations where they are; recovery reads it
 * here.
 */
#ifndef BIGTABLE_ROW_LOGGED_MUTATION_H
#define BIGTABLE_ROW_LOGGED_MUTATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/coding.h"
#include "base/core/slice.h"

struct buf;

/* Set in the count of a mutation when the client's change that it belongs to
 * follows (tablet/done_changes.h). Counts are smaller. */
#define LOGGED_WITH_CHANGE (UINT64_C(1) << 17)

/* One mutation; slices are borrowed from the log's bytes. */
struct logged_mutation {
    uint64_t table;
    int64_t now_us;
    size_t count;
    struct slice row;
    const char *families; /* le16 × count. */
    struct slice ops;
    uint64_t session; /* 0: no client will repeat the change. */
    uint64_t sequence;
    struct slice answer;
};

/* Read `count` of the grammar: returns the number of operations and sets the
 * change in @m. Sets c->bad, and returns 0, when it is malformed. */
size_t logged_count_read(struct cursor *c, struct logged_mutation *m);
/* Append `count` of the grammar. PRE: m->count is not 0. */
void logged_count_put(struct buf *out, const struct logged_mutation *m);

/* Read the next mutation into @m; false at the end or when c->bad is set. A
 * mutation that is read has a row and at least one operation. */
bool logged_mutation_read(struct cursor *c, struct logged_mutation *m);

#endif /* BIGTABLE_ROW_LOGGED_MUTATION_H */
