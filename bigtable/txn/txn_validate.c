/* The second look of serialisable transactions: nothing that was read has
 * changed between the start and the commit timestamp, neither rows nor, in
 * ranges that were scanned, which rows there are.
 *
 * The timestamp was given before the look. So a writer that locks a row after
 * the look gets a later one, and comes after this transaction; one that has it
 * locked already is made to come after it, or is waited for by giving up. Of
 * two transactions that look at each other's locks the one that began later
 * gives up, so that one of them commits.
 */
#include "base/core/panic.h"
#include "bigtable/client/parallel_for.h"
#include "bigtable/txn/txn.h"

static int has_changed(struct quarry_table *table,
                       struct slice row,
                       const char *why,
                       struct err *err)
{
    struct buf text = BUF_INIT;
    txn_say_row(&text, table, row);
    err_set(err, ERR_CONFLICT, "%s, which the transaction has read, %s",
            buf_cstr(&text), why);
    buf_close(&text);
    return ERR_CONFLICT;
}

/* Judge the state of a row. *@again: a lock is gone, look again. */
static int judge_state(struct quarry_txn *t,
                       struct quarry_table *table,
                       struct slice row,
                       const struct txn_state *state,
                       int64_t commit,
                       bool *again,
                       struct err *err)
{
    bool older = t->start < state->lock.start;
    enum txn_fate fate;
    int rc;
    *again = false;
    if (state->last_commit >= t->start)
        return has_changed(table, row, "was committed to", err);
    if (!state->locked || state->lock.start == t->start)
        return 0;
    rc = txn_resolve(t->quarry, table, row, &state->lock, older ? commit : 0,
                     &fate, err);
    if (rc == 0 && fate == TXN_ALIVE)
        rc = has_changed(table, row, "is being committed to", err);
    *again = rc == 0 && fate == TXN_GONE;
    return rc;
}

static int validate_row(struct quarry_txn *t,
                        struct quarry_table *table,
                        struct slice row,
                        int64_t commit,
                        struct err *err)
{
    bool again = true;
    int rc = 0;
    while (rc == 0 && again) {
        struct quarry_row *owner = NULL;
        struct txn_state state;
        rc = txn_check(t, err);
        if (rc == 0)
            rc = txn_read_state(table, row, 0, &owner, &state, err);
        if (rc == 0)
            rc = judge_state(t, table, row, &state, commit, &again, err);
        quarry_row_free(owner);
    }
    return rc;
}

static int validate_range(struct quarry_txn *t,
                          const struct txn_range *range,
                          int64_t commit,
                          struct err *err)
{
    const struct quarry_range rows = {buf_slice(&range->start),
                                      buf_slice(&range->end)};
    struct quarry_filter *f = txn_filter_state(0);
    const struct quarry_read_options read = {
        .ranges = &rows, .range_count = 1, .filter = f};
    const struct quarry_row *row = NULL;
    struct quarry_scanner *s = NULL;
    struct txn_state state;
    bool again;
    int rc = quarry_scan(range->table, &read, &s, err);
    while (rc == 0) {
        rc = quarry_scanner_next(s, &row, err);
        if (rc || !row)
            break;
        rc = txn_state_read(row, &state, err);
        if (rc == 0)
            rc = judge_state(t, range->table, row->key, &state, commit, &again,
                             err);
        if (rc == 0 && again)
            rc = validate_row(t, range->table, row->key, commit, err);
        if (rc == 0)
            rc = txn_check(t, err);
    }
    quarry_scanner_close(s);
    quarry_filter_free(f);
    return rc;
}

struct validation {
    struct quarry_txn *txn;
    int64_t commit;
};

/* Rows that it has locked were looked at when they were. */
static int validate_one(void *ctx, size_t i, struct err *err)
{
    const struct validation *v = ctx;
    struct txn_row *row = &v->txn->rows[i];
    if (!row->read || row->locked)
        return 0;
    return validate_row(v->txn, row->table, buf_slice(&row->key), v->commit,
                        err);
}

int txn_validate(struct quarry_txn *t, int64_t commit, struct err *err)
{
    struct validation v = {t, commit};
    int rc = 0;
    PRE(commit > t->start);
    if (fault_hit("txn.skip_second_look")) /* A deliberate bug. */
        return 0;
    if (t->opts.serializable)
        rc =
            quarry_parallel_for(t->quarry, t->row_count, validate_one, &v, err);
    for (size_t i = 0; i < t->range_count && rc == 0; i++)
        rc = validate_range(t, &t->ranges[i], commit, err);
    return rc;
}
