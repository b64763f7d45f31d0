/* Secondary indexes from the inside.
 *
 * The entries of an index are rows of a table of its own. Of a row with the key
 * R and the values V of the indexed columns the entry is
 *
 *     row V R, column e:      of a unique index, if all columns are there:
 *     row V,   column e:R
 *
 * with V in a form that sorts as the values do (index_key.c). The time of its
 * cell is a number of R's mark (row/index_set.h).
 *
 * A change of an indexed column of R, by whichever call:
 *
 *     1. R's mark and indexed columns are read: number n, values V.
 *     2. The entries of the values that R will have are written, with the time
 *        n' = max(n + 1, now).
 *     3. R is changed, on condition that its mark is still n, and gets the mark
 *        n' with it. If it is not: again from 1.
 *     4. Entries of values that R has no more are removed, up to the time n'.
 *
 * Invariants, at every moment and after every crash
 *     INV-1  A row has the entry of its present values, in each index that is
 *            ready.
 *     INV-2  An entry whose time is at or below R's number, and whose values R
 *            has not, is not needed: who still wants it read an older mark, and
 *            its step 3 fails. So removing the cells up to the number at which
 *            R was seen without the values is always right.
 *     INV-3  Of a unique index, an entry is written only to a row without
 *            another's, and another's is removed only when its row was seen
 *            without the values at a number at or above its time.
 *
 * There may be more entries than rows (step 4 was not reached): readers look at
 * each row again.
 */
#ifndef BIGTABLE_INDEX_INDEX_H
#define BIGTABLE_INDEX_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/quarry_index.h"
#include "bigtable/row/index_set.h"

struct quarry;
struct quarry_filter;
struct quarry_mutation;
struct quarry_row;
struct quarry_table;

#define INDEX_ENTRY_FAMILY "e"
/* The fault point "index.crash": the client is gone at this step. */
#define INDEX_CRASH "index.crash"
/* Time of entries of rows that have no mark: below all numbers. */
#define INDEX_FIRST_NUMBER INT64_C(1)

/* --- keys: index_key.c --------------------------------------------------- */

/* The value of a column; absent: @present is false. */
struct index_value {
    bool present;
    struct slice value;
};

/* Where the entry of a row is. */
struct index_place {
    struct buf row;
    struct buf qualifier;
};

void index_place_close(struct index_place *p);
bool index_place_eq(const struct index_place *a, const struct index_place *b);
/* Append one value. */
void index_key_put(struct buf *out, struct index_value v);
/* Append the bytes that every value that begins with @prefix has. */
void index_key_put_prefix(struct buf *out, struct slice prefix);
/* Skip one value. False: malformed. */
bool index_key_skip(struct slice *key);
/* The entry of @row with @values, d->column_count of them. False: it has none,
 * for it has not the first. @out is empty before. */
bool index_place_of(const struct index_def *d,
                    const struct index_value *values,
                    struct slice row,
                    struct index_place *out);
/* The key of the row that an entry is of: borrowed. False: malformed. */
bool index_place_row(const struct index_def *d,
                     struct slice entry_row,
                     struct slice qualifier,
                     struct slice *row);
/* Is the entry to be kept alone in its row? */
bool index_place_is_claim(const struct index_place *p);

/* --- a row's state: index_row.c ------------------------------------------ */

struct index_row {
    struct quarry_row *owner; /* Owned; NULL: nothing is there. */
    struct slice mark;        /* Borrowed from it; empty: none. */
    int64_t number;           /* Of the mark; 0: none. */
};

/* Read the mark and the columns of all indexes of @set, and @more (NULL: no
 * others); of each the newest cell, or all with @versions. */
MUST_CHECK int index_row_read(struct quarry_table *t,
                              const struct index_set *set,
                              const struct index_column *more,
                              size_t more_count,
                              struct slice row,
                              bool versions,
                              struct index_row *out,
                              struct err *err);
void index_row_close(struct index_row *r);
/* The newest cell of @c; NULL: none. Borrowed. */
const struct quarry_cell *index_cell(const struct quarry_row *row,
                                     const struct index_column *c);
void index_values(const struct quarry_row *row,
                  const struct index_def *d,
                  struct index_value *out);
/* The values after @m, which is applied when the table's clock is @now_us.
 * Borrowed from @row and @m. */
void index_values_after(const struct quarry_row *row,
                        const struct index_def *d,
                        const struct quarry_mutation *m,
                        int64_t now_us,
                        struct index_value *out);
/* Append the times (int64_t) that the clock may have when @m is applied, such
 * that every other gives the values of one of them. @sure_us: it is above
 * that. */
void index_guesses(const struct quarry_row *row,
                   const struct index_def *d,
                   const struct quarry_mutation *m,
                   int64_t sure_us,
                   struct buf *out);
/* Does it delete single versions of a column, so that older ones come forth? */
bool index_needs_versions(const struct index_set *set,
                          const struct quarry_mutation *m);
/* Add to @out, which is empty, what makes cells that rules hide stay hidden
 * when @m deletes those above them. */
void index_put_covers(const struct quarry_row *row,
                      const struct index_set *set,
                      const struct quarry_mutation *m,
                      struct quarry_mutation *out);

/* --- conditions: index_filter.c ------------------------------------------ */

/* A column as a change expects it to be. */
struct index_expected {
    const char *family;
    struct slice qualifier;
    bool present;
    bool timed; /* With the time @us, too. */
    struct slice value;
    int64_t us;
};

/* @inner where all of @list holds; nothing elsewhere. @inner moves in. Owned.
 */
struct quarry_filter *index_filter_if(const struct index_expected *list,
                                      size_t count,
                                      struct quarry_filter *inner);
/* Of @list, all are expected to be absent: @inner where they are; everything
 * elsewhere. */
struct quarry_filter *index_filter_unless(const struct index_expected *list,
                                          size_t count,
                                          struct quarry_filter *inner);
/* @f (NULL: all), as it is when hidden families are not read. Owned. */
struct quarry_filter *index_filter_of_user(const struct quarry_filter *f);
struct quarry_filter *index_filter_not(struct quarry_filter *f);

/* --- tables of entries: index_tables.c ----------------------------------- */

/* The table of @d; borrowed, open as long as @q is. */
MUST_CHECK int index_table(struct quarry *q,
                           const struct index_def *d,
                           struct quarry_table **out,
                           struct err *err);
/* Of entries: synced, or, of a directory, logged before the row is. */
struct quarry_write_options index_durability(const struct quarry *q);

/* --- claims of unique indexes: index_claim.c ----------------------------- */

/* Write the entry @p of @row at @number, if its row of the index has no
 * other's. ERR_EXISTS. @seen_ns: 0 at first. */
MUST_CHECK int index_claim(struct quarry_table *base,
                           const struct index_set *set,
                           const struct index_def *d,
                           struct quarry_table *entries,
                           const struct index_place *p,
                           struct slice row,
                           int64_t number,
                           struct err *err);
/* Raise the mark of @row to @number or above if it is below, if @r is what it
 * still is. *@done: it was. */
MUST_CHECK int index_fence(struct quarry_table *base,
                           const struct index_set *set,
                           struct slice row,
                           const struct index_row *r,
                           int64_t number,
                           bool *done,
                           struct err *err);
/* The cell of the mark. */
void index_put_mark(struct quarry_mutation *m,
                    const struct index_set *set,
                    int64_t number);
struct index_expected index_expect_mark(const struct index_row *r);

/* --- changes of rows: index_write.c -------------------------------------- */

/* Write the entries of a row again, as if its columns were changed. */
MUST_CHECK int
index_touch(struct quarry_table *t, struct slice row, struct err *err);

/* "row 'ann' of people", for messages. */
void index_say_row(struct buf *out, const char *table, struct slice row);

#endif /* BIGTABLE_INDEX_INDEX_H */
