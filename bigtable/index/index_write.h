/* Changes of rows of tables with indexes: quarry.c takes these ways when the
 * target answers ERR_CONFLICT to the plain one, so that tables without indexes
 * cost nothing. Parameters and errors are those of the functions of quarry.h;
 * beside them ERR_EXISTS, of unique indexes.
 */
#ifndef BIGTABLE_INDEX_INDEX_WRITE_H
#define BIGTABLE_INDEX_INDEX_WRITE_H

#include "bigtable/quarry.h"

struct index_set;

MUST_CHECK int index_apply(struct quarry_table *t,
                           const struct quarry_mutation *m,
                           const struct quarry_write_options *opts,
                           struct err *err);
/* The rows from @begin on, the first of which was refused; the others have not
 * been tried. */
MUST_CHECK int index_apply_batch(struct quarry_table *t,
                                 struct quarry_mutation *const *mutations,
                                 size_t begin,
                                 size_t count,
                                 const struct quarry_write_options *opts,
                                 size_t *failed_index,
                                 struct err *err);
/* Those whose code is ERR_CONFLICT. Returns the first failure. */
MUST_CHECK int index_apply_each(struct quarry_table *t,
                                struct quarry_mutation *const *mutations,
                                size_t count,
                                const struct quarry_write_options *opts,
                                int *codes,
                                struct err *err);
MUST_CHECK int index_check_and_mutate(struct quarry_table *t,
                                      struct slice row,
                                      const struct quarry_filter *predicate,
                                      const struct quarry_mutation *if_true,
                                      const struct quarry_mutation *if_false,
                                      const struct quarry_write_options *opts,
                                      bool *matched,
                                      struct err *err);
MUST_CHECK int index_read_modify_write(struct quarry_table *t,
                                       struct slice row,
                                       const struct quarry_rmw_rule *rules,
                                       size_t rule_count,
                                       const struct quarry_write_options *opts,
                                       struct quarry_row **out,
                                       struct err *err);
/* Row by row. */
MUST_CHECK int index_drop_rows(struct quarry *q,
                               const char *table,
                               struct slice start,
                               struct slice end,
                               struct err *err);
/* ERR_UNSUPPORTED if @table has indexes: @what would not keep them. */
MUST_CHECK int index_refuse(struct quarry *q,
                            const char *table,
                            const char *what,
                            struct err *err);
/* The indexes of @table; none if that cannot be told. Returns 0. */
int index_take_set(struct quarry *q, const char *table, struct index_set **out);
/* The tables of its entries, when @table is dropped. */
void index_drop_tables(struct quarry *q, const struct index_set *set);
/* Before @q is closed. */
void index_tables_close(struct quarry *q);

#endif /* BIGTABLE_INDEX_INDEX_WRITE_H */
