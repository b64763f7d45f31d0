/* Single-row transactions that transactions consist of: each reads or changes
 * one row, on condition of what its hidden cells say.
 */
#include "base/core/panic.h"
#include "bigtable/row/hidden.h"
#include "bigtable/row/mutation.h"
#include "bigtable/txn/txn.h"
#include "bigtable/txn/txn_settle.h"

struct quarry_write_options txn_durability(const struct quarry *q, bool logged)
{
    return (struct quarry_write_options){
        logged && quarry_is_directory(q) ? QUARRY_LOGGED : QUARRY_SYNCED};
}

void txn_say_row(struct buf *out,
                 const struct quarry_table *t,
                 struct slice row)
{
    const size_t shown = 60;
    buf_printf(out, "row '%.*s%s' of %s",
               SLICE_ARG(slice_sub(row, 0, MIN_OF(row.len, shown))),
               row.len > shown ? "…" : "", quarry_table_name(t));
}

int txn_read_state(struct quarry_table *table,
                   struct slice row,
                   int64_t start,
                   struct quarry_row **owner,
                   struct txn_state *out,
                   struct err *err)
{
    struct quarry_filter *f = txn_filter_state(start);
    const struct quarry_read_options read = {.filter = f};
    int rc = quarry_read_row(table, row, &read, owner, err);
    quarry_filter_free(f);
    if (rc == 0)
        rc = txn_state_read(*owner, out, err);
    if (rc) {
        quarry_row_free(*owner);
        *owner = NULL;
    }
    return rc;
}

int txn_change_held(struct quarry *q,
                    struct quarry_table *table,
                    int64_t start,
                    int64_t min_commit,
                    struct quarry_mutation *m,
                    bool logged,
                    bool *held,
                    struct err *err)
{
    const struct quarry_write_options w = txn_durability(q, logged);
    struct quarry_filter *f = txn_filter_held(start, min_commit);
    int rc = quarry_check_and_mutate(table, buf_slice(&m->row), f, m, NULL, &w,
                                     held, err);
    quarry_filter_free(f);
    quarry_mutation_free(m);
    return rc;
}

/* Keep what the writes of @lock delete, for snapshots that may want it. It does
 * not change while the row is locked. */
static int keep_deleted(struct quarry_table *table,
                        struct slice row,
                        const struct txn_lock *lock,
                        int64_t commit,
                        struct quarry_mutation *m,
                        struct err *err)
{
    struct quarry_row *before;
    struct quarry_read_options read = {.filter = NULL};
    struct quarry_filter *f;
    int rc;
    if (!txn_writes_delete(lock))
        return 0;
    f = txn_filter_deleted(lock);
    read.filter = f;
    rc = txn_read_stored(table, row, &read, &before, err);
    quarry_filter_free(f);
    if (rc == 0)
        txn_put_deleted(m, lock, before, commit, commit - HIDDEN_KEEP_US);
    quarry_row_free(before);
    return rc;
}

int txn_commit_row(struct quarry *q,
                   struct quarry_table *table,
                   struct slice row,
                   const struct txn_lock *lock,
                   int64_t min_commit,
                   int64_t commit,
                   bool status,
                   bool logged,
                   bool *held,
                   struct err *err)
{
    struct quarry_mutation *m = quarry_mutation_new(row);
    int rc;
    PRE(commit > lock->start);
    PRE(commit >= min_commit); /* INV-2 */
    rc = txn_put_writes(m, table, lock, commit, err);
    if (rc == 0)
        rc = keep_deleted(table, row, lock, commit, m, err);
    if (rc) {
        quarry_mutation_free(m);
        return rc;
    }
    txn_put_free(m);
    txn_put_commit(m, commit);
    if (status)
        txn_put_status(m, lock->start, commit);
    return txn_change_held(q, table, lock->start, min_commit, m, logged, held,
                           err);
}

int txn_rollback_row(struct quarry *q,
                     struct quarry_table *table,
                     struct slice row,
                     int64_t start,
                     int64_t min_commit,
                     bool *held,
                     struct err *err)
{
    struct quarry_mutation *m = quarry_mutation_new(row);
    txn_put_free(m);
    return txn_change_held(q, table, start, min_commit, m, true, held, err);
}
