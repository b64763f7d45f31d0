/* Writes to a table that keeps its changes, and what readers are told of them:
 * the checkers' memory, which outlives all machines.
 *
 * Each commit sets the column "id" of family "f", and of "g" too, to a number
 * that no other has, beside whatever else it does. So readers are asked to be
 * told
 *   - of every write that was acknowledged, once; of one whose outcome is not
 *     known, once at most; of nothing else;
 *   - whole commits;
 *   - of each row in the order of commit_us and sequence, and of two writes to
 *     it of which one began after the other was acknowledged, in that order;
 *   - nothing at or before a watermark that they were given before;
 *   - in sum what the table contains.
 *
 * Threads: one.
 */
#ifndef TESTS_SIM_TOLD_CHANGES_H
#define TESTS_SIM_TOLD_CHANGES_H

#include "tests/sim/storm.h"

struct quarry;
struct quarry_change;
struct quarry_table;
struct told_changes;
struct told_reader;

/* @rows of names "r00" to "r99" are written to. Owned. */
struct told_changes *told_changes_new(unsigned rows);
void told_changes_free(struct told_changes *t);
/* Make the table, which is named "t". Fails the storm. Parks. */
void told_table_create(struct quarry *q);
/* Commit something to a row. Parks. */
void told_write(struct told_changes *t,
                struct quarry_table *table,
                struct rand_gen *rand);
/* Writes that were acknowledged. */
uint64_t told_acknowledged(const struct told_changes *t);

/* A reader, for people @name: it reads all rows by one token, or, if it
 * @divides them, by several, which it cuts where tablets were cut and sometimes
 * joins. With @watermarks it believes these. Owned by @t. */
struct told_reader *told_reader_new(struct told_changes *t,
                                    const char *name,
                                    bool divides,
                                    bool watermarks);
/* Let it see nothing of commits that came from elsewhere, and let @each see
 * those that it takes. Its sum is not the table's then. */
void told_reader_local(struct told_reader *r,
                       void (*each)(void *ctx, const struct quarry_change *c),
                       void *ctx);

enum told_outcome {
    TOLD_SOME,
    TOLD_NOTHING, /* Of one of its tokens; there is no more now. */
    TOLD_ERROR    /* Of the store; the next call tries again. */
};

/* Read on a few times. Parks. */
enum told_outcome told_read(struct told_reader *r,
                            struct quarry_table *table,
                            struct rand_gen *rand);
/* It has one token from now on. */
void told_reader_unite(struct told_reader *r);
/* Has it been told all that was acknowledged? */
bool told_all(const struct told_reader *r);
/* Its watermark, which is of all rows; 0: none yet, or it does not look. */
int64_t told_watermark_us(const struct told_reader *r);
/* Check that it was told all that was acknowledged, and in which order. */
void told_check_orders(const struct told_reader *r);
/* The same, and that the sum is what @table has. Parks. */
void told_check(struct told_reader *r, struct quarry_table *table);
/* Fail the storm unless @id was written; true if @r was told it. */
bool told_has(const struct told_reader *r, uint64_t id);
uint64_t told_count(const struct told_reader *r);

/* The number in the commit, which is whole; fails the storm without. */
uint64_t told_id(const struct quarry_change *c);

#endif /* TESTS_SIM_TOLD_CHANGES_H */
