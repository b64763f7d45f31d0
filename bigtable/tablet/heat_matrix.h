/* A picture of a table's heat, made of records: how much each range of rows was
 * read or written in each step of time.
 *
 * Its maker first gathers the bounds of the ranges that were counted
 * (heat_bounds), of all servers; chooses from them the ranges to draw; and then
 * adds up the records in those (heat_matrix). A record's range that covers
 * several of the picture gives each an equal part, and one that reaches beyond
 * the picture keeps a part for the outside; minutes of a record that are in
 * several steps likewise.
 *
 * Threads: one at a time.
 */
#ifndef BIGTABLE_TABLET_HEAT_MATRIX_H
#define BIGTABLE_TABLET_HEAT_MATRIX_H

#include "bigtable/tablet/heat_log.h"

#define HEAT_BOUNDS_MAX 65536U /* Gathered. */
/* Ranges and times of a picture. */
#define HEAT_MATRIX_RANGES_MAX 256U
#define HEAT_MATRIX_TIMES_MAX  HEAT_DAY

struct heat_bounds;

/* For the rows [@start, @end) of @table; an empty @end is no bound. All are
 * borrowed until it is freed. Owned. */
struct heat_bounds *
heat_bounds_new(struct slice table, struct slice start, struct slice end);
void heat_bounds_free(struct heat_bounds *b); /* NULL is allowed. */
/* Take the bounds of @r; for heat_log_each(). @ctx: the heat_bounds. */
void heat_bounds_add(void *ctx, const struct heat_record *r);
/* Take one bound, as it is: copied. */
void heat_bounds_add_key(struct heat_bounds *b, struct slice key);
/* The bounds inside of the rows, ascending, without the outer ones; of more
 * than @max, some at equal distances. Borrowed from @b, until it changes. */
const struct slice *
heat_bounds_list(struct heat_bounds *b, size_t max, size_t *count);

struct heat_matrix {
    struct slice table;
    enum load_kind what;
    uint32_t from; /* First minute. */
    uint32_t step; /* Minutes, at least 1. */
    uint32_t times;
    const struct slice *bounds; /* ranges + 1, ascending; the first may be
                                   empty, and the last: no bound. */
    size_t ranges;
    double *values; /* Owned: times × ranges. */
};

/* Sizes and bounds are set; all else is made zero. @bounds stay borrowed. */
void heat_matrix_init(struct heat_matrix *m);
void heat_matrix_close(struct heat_matrix *m);
/* Add @r; for heat_log_each(). @ctx: the heat_matrix. */
void heat_matrix_add(void *ctx, const struct heat_record *r);

#endif /* BIGTABLE_TABLET_HEAT_MATRIX_H */
