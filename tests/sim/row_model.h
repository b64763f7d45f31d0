/* An obvious model of a table: commits are applied one after the other to rows,
 * which are few, and of which no garbage is collected.
 *
 * Threads: one.
 */
#ifndef TESTS_SIM_ROW_MODEL_H
#define TESTS_SIM_ROW_MODEL_H

#include <stdbool.h>

#include "bigtable/quarry.h"

struct buf;
struct row_model;

struct row_model *row_model_new(void); /* Owned, without rows. */
void row_model_free(struct row_model *m);
/* Apply a commit behind all before. */
void row_model_apply(struct row_model *m, const struct quarry_change *c);
/* Are the rows of @t, read in all versions, those of @m? False, too, when they
 * cannot be read. Parks. */
bool row_model_is(const struct row_model *m, struct quarry_table *t);
/* Fail the storm, on behalf of @who, unless the rows of @t, read in all
 * versions, are those of @m. Parks. */
void row_model_check(const struct row_model *m,
                     struct quarry_table *t,
                     const char *who);

#endif /* TESTS_SIM_ROW_MODEL_H */
