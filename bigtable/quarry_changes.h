/* Change streams: what a server of the changes of a table needs beside
 * quarry_changes_open() and its like (quarry.h). Consumers divide the rows
 * among themselves by partitions, keep a token with each single change, and go
 * on with tokens of their own when a partition is cut.
 *
 *     quarry_changes_partitions(t, &ranges, &count, &err)
 *     … a reader for each: quarry_changes_open() with its start and end
 *     quarry_changes_next(c, wait, &list, &n, &err)
 *     for each i < n: quarry_changes_token_behind(c, i, &token, &err)
 *     if quarry_changes_part_count(c) has grown: the range was cut meanwhile
 *
 * Threads: as quarry.h says of readers; the functions of tokens are pure.
 */
#ifndef BIGTABLE_QUARRY_CHANGES_H
#define BIGTABLE_QUARRY_CHANGES_H

#include "bigtable/quarry.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The ranges of rows in which the changes of @t are kept now, in order and
 * without gaps: its tablets. *@list and its bytes are one owned allocation,
 * free with mem_free or free(). Parks: a call for each tablet. Errors: as of
 * quarry_changes_open(). */
QUARRY_EXPORT MUST_CHECK int
quarry_changes_partitions(struct quarry_table *t,
                          struct quarry_range **list,
                          size_t *count,
                          struct err *err);

/* The parts in which @c reads its range, in order. They only become more. */
QUARRY_EXPORT size_t quarry_changes_part_count(const struct quarry_changes *c);
/* The rows of part @i, borrowed until the next call; append a token of it alone
 * to @token, unless that is NULL. PRE: it exists. */
QUARRY_EXPORT struct quarry_range
quarry_changes_part(const struct quarry_changes *c,
                    size_t i,
                    struct buf *token);

/* Append the place behind change @i of those that quarry_changes_next() has
 * returned last: a reader from there on is told what follows it, and nothing of
 * what came up to it. PRE: there is such a change. ERR_CORRUPT: its server
 * tells changes in another order than it should. */
QUARRY_EXPORT MUST_CHECK int
quarry_changes_token_behind(struct quarry_changes *c,
                            size_t i,
                            struct buf *token,
                            struct err *err);
/* The watermark behind each of those changes, into @us, which has room. They
 * never fall. */
QUARRY_EXPORT void quarry_changes_watermarks(const struct quarry_changes *c,
                                             int64_t *us);

/* Append the ends of the rows that @token is for. ERR_INVALID: it is none, or
 * one with gaps. */
QUARRY_EXPORT MUST_CHECK int quarry_changes_token_range(struct slice token,
                                                        struct buf *start,
                                                        struct buf *end,
                                                        struct err *err);
/* Make of @token (empty at first) one that is also for the rows of @next, which
 * follow those it has. ERR_INVALID: @next is no token. */
QUARRY_EXPORT MUST_CHECK int quarry_changes_token_join(struct buf *token,
                                                       struct slice next,
                                                       struct err *err);

/* A number that no other table of the directory or cluster has or had: a token
 * is of one table. */
QUARRY_EXPORT uint64_t quarry_table_number(const struct quarry_table *t);

#ifdef __cplusplus
}
#endif

#endif /* BIGTABLE_QUARRY_CHANGES_H */
