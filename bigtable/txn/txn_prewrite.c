/* Prewriting: each row is locked, with what is to be written to it in the lock,
 * so that users' families hold committed cells alone. The primary comes first
 * (INV-1 of txn.h), the others after it, on a cluster several at a time. A row
 * that is locked by another or was committed to since the start is a conflict;
 * a lock that was left behind is resolved.
 */
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/client/parallel_for.h"
#include "bigtable/row/mutation.h"
#include "bigtable/txn/txn.h"

struct txn_lock txn_lock_of(const struct quarry_txn *t,
                            const struct txn_row *primary,
                            const struct txn_row *row)
{
    /* Timestamps are about µs: the lease begins now. It counts from the answer
     * of the oracle, which may have taken long to come: a lease that began
     * before would be longer than was asked for by as much. */
    uint64_t since_us = (world_mono_ns(t->world) - t->stamped_ns) / 1000;
    int64_t now = t->start + (int64_t)since_us;
    PRE(row->writes);
    return (struct txn_lock){
        .start = t->start,
        .min_commit = t->start + 1,
        .expiry = now + (int64_t)t->opts.lease_us,
        .table = slice_str(quarry_table_name(primary->table)),
        .row = buf_slice(&primary->key),
        .op_count = row->writes->count,
        .ops = buf_slice(&row->writes->ops),
    };
}

static int
txn_conflict(const struct txn_row *row, const char *why, struct err *err)
{
    struct buf text = BUF_INIT;
    txn_say_row(&text, row->table, buf_slice(&row->key));
    err_set(err, ERR_CONFLICT, "%s %s", buf_cstr(&text), why);
    buf_close(&text);
    return ERR_CONFLICT;
}

/* The row could not be locked: a conflict, or a lock to be resolved first. */
static int look_why(struct quarry_txn *t, struct txn_row *row, struct err *err)
{
    struct quarry_row *owner = NULL;
    enum txn_fate fate;
    struct txn_state state;
    int rc = txn_read_state(row->table, buf_slice(&row->key), 0, &owner, &state,
                            err);
    if (rc)
        return rc;
    if (state.last_commit >= t->start && !fault_hit("txn.skip_newer_commits")) {
        rc = txn_conflict(row, "was committed to since the transaction began",
                          err);
    } else if (state.locked && state.lock.start == t->start) {
        row->locked = true;
    } else if (state.locked) {
        rc = txn_resolve(t->quarry, row->table, buf_slice(&row->key),
                         &state.lock, 0, &fate, err);
        if (rc == 0 && fate == TXN_ALIVE)
            rc = txn_conflict(row, "is being committed to by another", err);
    }
    quarry_row_free(owner);
    return rc;
}

static int lock_row(struct quarry_txn *t,
                    const struct txn_row *primary,
                    struct txn_row *row,
                    struct err *err)
{
    /* A lost lock of the primary makes the commit fail, which is synced to the
     * same log; the others must be there when the primary is committed. */
    const struct quarry_write_options logged = {QUARRY_LOGGED};
    const struct quarry_write_options w =
        row == primary ? logged : txn_durability(t->quarry, true);
    /* A deliberate bug, for tests that find it: nothing is newer. */
    bool bug = fault_hit("txn.skip_newer_commits");
    struct quarry_filter *f = txn_filter_conflict(bug ? INT64_MAX : t->start);
    struct quarry_mutation *m = quarry_mutation_new(buf_slice(&row->key));
    bool refused = true;
    int rc = txn_check(t, err);
    while (rc == 0 && !row->locked && refused) {
        struct txn_lock lock = txn_lock_of(t, primary, row);
        quarry_mutation_reset(m, buf_slice(&row->key));
        txn_put_lock(m, &lock);
        rc = quarry_check_and_mutate(row->table, buf_slice(&row->key), f, NULL,
                                     m, &w, &refused, err);
        if (rc == 0 && refused)
            rc = look_why(t, row, err);
        if (rc == 0)
            rc = txn_check(t, err);
    }
    row->locked |= !refused;
    quarry_mutation_free(m);
    quarry_filter_free(f);
    return rc;
}

/* The rows behind the primary, which are locked side by side. */
struct prewriting {
    struct quarry_txn *txn;
    struct txn_row **written;
    uint64_t renewed_us; /* Age of the transaction when the lease began. */
    bool renewing;       /* One of the rows is at it. */
};

/* Put the lease of the primary's lock off. *@held: nobody changed the lock
 * meanwhile. */
static int renew_once(struct prewriting *p, bool *held, struct err *err)
{
    struct quarry_txn *t = p->txn;
    const struct txn_row *primary = p->written[0];
    struct txn_lock lock = txn_lock_of(t, primary, primary);
    struct quarry_row *owner = NULL;
    struct quarry_mutation *m;
    struct txn_state state;
    int rc = txn_read_state(primary->table, buf_slice(&primary->key), 0, &owner,
                            &state, err);
    if (rc == 0 && (!state.locked || state.lock.start != t->start))
        rc = txn_conflict(primary, "was unlocked: the lease was over", err);
    if (rc == 0) {
        lock.min_commit = state.lock.min_commit;
        m = quarry_mutation_new(buf_slice(&primary->key));
        txn_put_lock(m, &lock);
        rc = txn_change_held(t->quarry, primary->table, t->start,
                             lock.min_commit, m, true, held, err);
    }
    quarry_row_free(owner);
    return rc;
}

/* Let the primary's lock live on, where many rows take long. */
static int renew_lease(struct prewriting *p, struct err *err)
{
    struct quarry_txn *t = p->txn;
    bool held = false;
    int rc = 0;
    if (p->renewing || txn_age_us(t) - p->renewed_us < t->opts.lease_us / 2)
        return 0;
    p->renewing = true;
    while (rc == 0 && !held)
        rc = renew_once(p, &held, err);
    p->renewed_us = txn_age_us(t);
    p->renewing = false;
    return rc;
}

static int
prewrite_row(struct prewriting *p, struct txn_row *row, struct err *err)
{
    struct quarry_txn *t = p->txn;
    if (fault_hit(TXN_CRASH)) {
        t->ended = true;
        return err_set(err, ERR_UNAVAILABLE, "injected");
    }
    row->tried = true;
    return lock_row(t, p->written[0], row, err);
}

static int prewrite_other(void *ctx, size_t i, struct err *err)
{
    struct prewriting *p = ctx;
    int rc;
    INVARIANT(p->written[0]->locked); /* INV-1 */
    rc = prewrite_row(p, p->written[1 + i], err);
    return rc ? rc : renew_lease(p, err);
}

int txn_prewrite(struct quarry_txn *t,
                 struct txn_row **written,
                 size_t count,
                 struct err *err)
{
    struct prewriting p = {
        .txn = t, .written = written, .renewed_us = txn_age_us(t)};
    int rc;
    PRE(count > 0);
    rc = prewrite_row(&p, written[0], err);
    return rc ? rc
              : quarry_parallel_for(t->quarry, count - 1, prewrite_other, &p,
                                    err);
}

struct releasing {
    struct quarry_txn *txn;
    struct txn_row **written;
};

/* A row whose answer was lost may be locked as well. */
static int release_row(struct quarry_txn *t, struct txn_row *row)
{
    bool held;
    int rc;
    if (!row->tried)
        return 0;
    rc = txn_rollback_row(t->quarry, row->table, buf_slice(&row->key), t->start,
                          0, &held, NULL);
    row->locked = false;
    return rc;
}

static int release_other(void *ctx, size_t i, struct err *err)
{
    struct releasing *r = ctx;
    (void)err;
    (void)!release_row(r->txn, r->written[1 + i]);
    return 0;
}

void txn_release(struct quarry_txn *t, struct txn_row **written, size_t count)
{
    struct releasing r = {t, written};
    PRE(count > 0);
    /* Without an answer about the primary, the others are left to the client
     * that meets them. */
    if (release_row(t, written[0]) == 0)
        (void)!quarry_parallel_for(t->quarry, count - 1, release_other, &r,
                                   NULL);
}
