/* Locks of other transactions: a client that meets one looks at its primary,
 * which decides (txn.h), and finishes or removes it. So the rows that a dead
 * client has left are put in order by those that need them, and by nobody else.
 *
 * Rolling back is safe at any time, since a commit is on condition of the
 * primary's lock; the lease only keeps clients from ending each other's
 * transactions for no reason. It is compared with timestamps, not with clocks.
 */
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/txn/txn.h"

struct resolving {
    struct quarry *quarry;
    struct quarry_table *table; /* The row that was met, */
    struct slice row;
    const struct txn_lock *lock;  /* and its lock. */
    struct quarry_table *primary; /* Borrowed, or `opened`. */
    struct quarry_table *opened;  /* Owned; NULL: the primary is in `table`. */
    int64_t at;                   /* Of a reader; 0: a writer. */
};

/* The next step. */
enum step {
    STEP_DONE,
    STEP_AGAIN, /* The primary has changed. */
    STEP_COMMIT,
    STEP_ROLL_BACK,
};

static bool is_primary(const struct resolving *r)
{
    return !r->opened && slice_eq(r->row, r->lock->row);
}

/* ERR_NOTFOUND: the table of the primary was dropped. */
static int open_primary(struct resolving *r, struct err *err)
{
    struct buf name = BUF_INIT;
    int rc = 0;
    r->primary = r->table;
    if (slice_eq_str(r->lock->table, quarry_table_name(r->table)))
        return 0;
    buf_append_slice(&name, r->lock->table);
    rc = quarry_table_open(r->quarry, buf_cstr(&name), &r->opened, err);
    buf_close(&name);
    r->primary = r->opened;
    return rc;
}

/* Raise the min_commit of the primary's lock above the reader's snapshot. */
static int push_primary(struct resolving *r,
                        const struct txn_lock *primary,
                        bool *held,
                        struct err *err)
{
    struct quarry_mutation *m = quarry_mutation_new(r->lock->row);
    struct txn_lock pushed = *primary;
    PRE(r->at >= primary->min_commit);
    pushed.min_commit = r->at + 1;
    txn_put_lock(m, &pushed);
    return txn_change_held(r->quarry, r->primary, primary->start,
                           primary->min_commit, m, true, held, err);
}

/* The primary is locked still. */
static int resolve_locked(struct resolving *r,
                          const struct txn_lock *primary,
                          enum step *step,
                          enum txn_fate *fate,
                          struct err *err)
{
    bool held = false;
    int64_t now;
    int rc;
    *step = STEP_DONE;
    if (r->at && primary->min_commit > r->at) {
        *fate = TXN_LATER;
        return 0;
    }
    rc = quarry_timestamps(r->quarry, 1, &now, err);
    if (rc)
        return rc;
    if (now > primary->expiry) {
        rc = txn_rollback_row(r->quarry, r->primary, r->lock->row,
                              primary->start, primary->min_commit, &held, err);
        *step = held ? STEP_ROLL_BACK : STEP_AGAIN;
        return rc;
    }
    if (!r->at) {
        *fate = TXN_ALIVE;
        return 0;
    }
    rc = push_primary(r, primary, &held, err);
    *fate = TXN_LATER;
    *step = held ? STEP_DONE : STEP_AGAIN;
    return rc;
}

/* Finish the row that was met: the primary has decided. */
static int resolve_met(struct resolving *r,
                       enum step step,
                       int64_t commit,
                       struct err *err)
{
    bool held;
    if (step == STEP_COMMIT)
        return txn_commit_row(r->quarry, r->table, r->row, r->lock, 0, commit,
                              false, true, &held, err);
    if (is_primary(r))
        return 0; /* Its lock was the one that was removed. */
    return txn_rollback_row(r->quarry, r->table, r->row, r->lock->start, 0,
                            &held, err);
}

static int resolve_once(struct resolving *r,
                        enum step *step,
                        enum txn_fate *fate,
                        struct err *err)
{
    struct quarry_row *owner = NULL;
    struct txn_state state;
    int rc = txn_read_state(r->primary, r->lock->row, r->lock->start, &owner,
                            &state, err);
    *fate = TXN_GONE;
    *step = STEP_DONE;
    if (rc)
        return rc;
    if (state.committed && !fault_hit("txn.roll_back_committed"))
        *step = STEP_COMMIT;
    else if (state.locked && state.lock.start == r->lock->start)
        rc = resolve_locked(r, &state.lock, step, fate, err);
    else
        *step = STEP_ROLL_BACK; /* INV-1 */
    if (rc == 0 && (*step == STEP_COMMIT || *step == STEP_ROLL_BACK))
        rc = resolve_met(r, *step, state.committed, err);
    quarry_row_free(owner);
    return rc;
}

int txn_finish_committed(struct quarry *q,
                         struct quarry_table *table,
                         struct slice row,
                         const struct txn_lock *lock,
                         struct err *err)
{
    struct resolving r = {
        .quarry = q, .table = table, .row = row, .lock = lock};
    struct quarry_row *owner = NULL;
    struct txn_state state;
    int rc = open_primary(&r, err);
    /* A primary that is locked is not committed. */
    if (rc == 0 && !is_primary(&r)) {
        rc = txn_read_state(r.primary, lock->row, lock->start, &owner, &state,
                            err);
        if (rc == 0 && state.committed)
            rc = resolve_met(&r, STEP_COMMIT, state.committed, err);
    }
    quarry_row_free(owner);
    quarry_table_close(r.opened);
    return rc;
}

int txn_resolve(struct quarry *q,
                struct quarry_table *table,
                struct slice row,
                const struct txn_lock *lock,
                int64_t at,
                enum txn_fate *fate,
                struct err *err)
{
    struct resolving r = {
        .quarry = q, .table = table, .row = row, .lock = lock, .at = at};
    enum step step;
    int rc = open_primary(&r, err);
    PRE(at >= 0);
    if (rc == ERR_NOTFOUND) {
        /* Nobody can commit it any more. */
        *fate = TXN_GONE;
        rc = resolve_met(&r, STEP_ROLL_BACK, 0, err);
    } else {
        do
            rc = rc ? rc : resolve_once(&r, &step, fate, err);
        while (rc == 0 && step == STEP_AGAIN);
    }
    quarry_table_close(r.opened);
    if (rc)
        err_wrap(err, "lock of another transaction");
    POST(rc || (*fate != TXN_ALIVE || !at));
    return rc;
}
