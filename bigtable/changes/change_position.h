/* A place in the changes of a range of rows, and tokens that readers keep.
 *
 *     token    = version:varint partition… (binary) partition = start:lslice
 * end:lslice low:varint high:varint row:lslice row sequence:varint
 *
 * Everything up to sequence number `low` was read. If `high` is not 0, changes
 * from there up to `high` are being read row by row: those of rows before `row`
 * were, and those of `row` up to `row_sequence`. So any reader continues at any
 * place, whatever files the tablet consists of by then. Sequence numbers are a
 * tablet's, and those that come of it by splits; partitions that have been cut
 * by others keep their places.
 *
 * Threads: the owner's.
 */
#ifndef BIGTABLE_CHANGES_CHANGE_POSITION_H
#define BIGTABLE_CHANGES_CHANGE_POSITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "bigtable/row/change.h"

/* A partition of a token takes at most the names of three rows; a table of
 * 100,000 tablets is the largest. */
#define CHANGE_PARTITIONS_MAX ((size_t)1 << 17)

struct change_position {
    uint64_t low;
    uint64_t high; /* 0: between windows. */
    struct buf row;
    uint64_t row_sequence;
};

struct change_partition {
    struct buf start; /* Plain row names: [start, end); an empty end is none. */
    struct buf end;
    struct change_position at;
    int64_t watermark_us; /* All commits up to this time were read. Not kept. */
};

void change_partition_close(struct change_partition *p);
/* @to is all zero. */
void change_partition_copy(const struct change_partition *from,
                           struct change_partition *to);
/* Cut @p at @row, which is inside: it keeps the rows before; @rest, all zero,
 * becomes the others. */
void change_partition_cut(struct change_partition *p,
                          struct slice row,
                          struct change_partition *rest);
/* @to keeps its memory. */
void change_position_copy(const struct change_position *from,
                          struct change_position *to);
/* The place behind change @i of the batch @list that was read from @from on to
 * @to, into @out, which is initialized. False: these are not the places of such
 * a batch, which is of one window or of memtables alone (change_read.h).
 * PRE: i < count. */
MUST_CHECK bool change_position_behind(const struct change_position *from,
                                       const struct change_position *to,
                                       const struct quarry_change *list,
                                       size_t count,
                                       size_t i,
                                       struct change_position *out);
void change_position_put(struct buf *out, const struct change_position *p);
/* Into @p, all zero. Sets c->bad. */
void change_position_get(struct cursor *c, struct change_position *p);
void change_token_put(struct buf *out,
                      const struct change_partition *list,
                      size_t count);
/* The bytes of the partitions of @token alone; empty: there are none. Those of
 * several tokens make one, behind the first's version. Borrowed. */
struct slice change_token_partitions(struct slice token);
/* *@list is owned, and so are those in it. ERR_INVALID: no token. */
MUST_CHECK int change_token_get(struct slice token,
                                struct change_partition **list,
                                size_t *count,
                                struct err *err);

#endif /* BIGTABLE_CHANGES_CHANGE_POSITION_H */
