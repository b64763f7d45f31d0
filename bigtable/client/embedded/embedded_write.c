/* Writing to the store: single mutations, batches, and row transactions, on the
 * caller's thread. Callers on several threads share a sync of the log
 * (write/write_queue.h).
 */
#include "base/runtime/world.h"
#include "bigtable/changes/change_apply.h"
#include "bigtable/client/embedded/embedded.h"
#include "bigtable/store/store.h"
#include "bigtable/write/row_changes.h"

int embedded_apply_batch(struct quarry_table *t,
                         struct quarry_mutation *const *mutations,
                         size_t count,
                         const struct quarry_write_options *opts,
                         size_t *failed_index,
                         struct err *err)
{
    return change_apply_any(&t->quarry->store->env, t->table,
                            (const struct quarry_mutation *const *)mutations,
                            count, durability_of(opts),
                            (int64_t)world_now_us(t->quarry->world),
                            failed_index, err);
}

int embedded_apply(struct quarry_table *t,
                   const struct quarry_mutation *m,
                   const struct quarry_write_options *opts,
                   struct err *err)
{
    return change_apply_any(&t->quarry->store->env, t->table, &m, 1,
                            durability_of(opts),
                            (int64_t)world_now_us(t->quarry->world), NULL, err);
}

/* The store stops at the first failure: continue after it. */
int embedded_apply_each(struct quarry_table *t,
                        struct quarry_mutation *const *mutations,
                        size_t count,
                        const struct quarry_write_options *opts,
                        int *codes,
                        struct err *err)
{
    size_t done = 0;
    int first = 0;
    while (done < count) {
        struct err why = ERR_INIT;
        size_t failed = 0;
        int rc = embedded_apply_batch(t, mutations + done, count - done, opts,
                                      &failed, &why);
        size_t good = rc ? failed : count - done;
        for (size_t i = 0; i < good; i++)
            codes[done + i] = 0;
        done += good;
        if (rc == 0)
            break;
        codes[done++] = rc;
        if (first == 0)
            first = err_copy(err, &why);
    }
    return first;
}

int embedded_check_and_mutate(struct quarry_table *t,
                              struct slice row,
                              const struct quarry_filter *predicate,
                              const struct quarry_mutation *if_true,
                              const struct quarry_mutation *if_false,
                              const struct quarry_write_options *opts,
                              bool *matched,
                              struct err *err)
{
    return row_check_and_mutate(&t->quarry->store->env, t->table, row,
                                predicate, if_true, if_false,
                                durability_of(opts), matched, err);
}

int embedded_read_modify_write(struct quarry_table *t,
                               struct slice row,
                               const struct quarry_rmw_rule *rules,
                               size_t rule_count,
                               const struct quarry_write_options *opts,
                               struct quarry_row **out,
                               struct err *err)
{
    return row_read_modify_write(&t->quarry->store->env, t->table, row, rules,
                                 rule_count, durability_of(opts), NULL, out,
                                 err);
}
