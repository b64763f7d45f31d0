/* Committing: prewrite, get a timestamp, commit the primary, which decides, and
 * then the other rows.
 *
 * When the answer about the primary is lost, the primary is asked: its status
 * says that it was committed, and removing its lock makes sure that it will not
 * be. Only if neither can be had in time is the outcome unknown.
 */
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/client/parallel_for.h"
#include "bigtable/row/mutation.h"
#include "bigtable/txn/txn.h"

#define ASK_AGAIN_US ((uint64_t)100 * 1000)

struct committing {
    struct quarry_txn *txn;
    struct txn_row **written; /* Owned; the primary first. */
    size_t count;
    int64_t commit;
    bool crashed; /* By a fault point: clean nothing up. */
};

static bool crash_here(struct committing *c, struct err *err)
{
    if (!fault_hit(TXN_CRASH))
        return false;
    err_set(err, ERR_UNAVAILABLE, "injected");
    c->crashed = true;
    return true;
}

static void list_written(struct committing *c)
{
    struct quarry_txn *t = c->txn;
    c->written = mem_alloc((t->row_count + 1) * sizeof(struct txn_row *));
    for (size_t i = 0; i < t->row_count; i++)
        if (t->rows[i].writes && t->rows[i].writes->count)
            c->written[c->count++] = &t->rows[i];
    POST(c->count <= t->row_count);
}

/* --- the primary --------------------------------------------------------- */

/* The min_commit of the primary's lock as it is now; 0: the lock is gone. */
static int
read_min_commit(struct committing *c, int64_t *min_commit, struct err *err)
{
    struct txn_row *primary = c->written[0];
    struct quarry_row *owner = NULL;
    struct txn_state state;
    int rc = txn_read_state(primary->table, buf_slice(&primary->key), 0, &owner,
                            &state, err);
    *min_commit = 0;
    if (rc == 0 && state.locked && state.lock.start == c->txn->start)
        *min_commit = state.lock.min_commit;
    quarry_row_free(owner);
    return rc;
}

/* One try. *@held: the lock was as it is in @min_commit. */
static int try_primary(struct committing *c,
                       int64_t min_commit,
                       bool *held,
                       struct err *err)
{
    struct quarry_txn *t = c->txn;
    struct txn_row *primary = c->written[0];
    struct txn_lock lock = txn_lock_of(t, primary, primary);
    return txn_commit_row(t->quarry, primary->table, buf_slice(&primary->key),
                          &lock, min_commit, c->commit, c->count > 1, false,
                          held, err);
}

/* The answer to a try is lost. 0: it was made; ERR_CONFLICT: it was not, and
 * will not be. */
static int find_outcome(struct committing *c, struct err *err)
{
    struct quarry_txn *t = c->txn;
    struct txn_row *primary = c->written[0];
    struct slice row = buf_slice(&primary->key);
    struct err last = ERR_INIT;
    bool held = false;
    int rc;
    do {
        struct quarry_row *owner = NULL;
        struct txn_state state;
        rc = txn_rollback_row(t->quarry, primary->table, row, t->start, 0,
                              &held, &last);
        if (rc == 0 && held)
            return err_set(err, ERR_CONFLICT,
                           "the commit was given up: it was not answered");
        if (rc == 0)
            rc = txn_read_state(primary->table, row, t->start, &owner, &state,
                                &last);
        if (rc == 0) {
            bool made = state.committed == c->commit ||
                        txn_state_has_commit(owner, c->commit);
            quarry_row_free(owner);
            return made ? 0
                        : err_set(err, ERR_CONFLICT,
                                  "its lease was over, and another has rolled "
                                  "it back");
        }
        if (quarry_is_directory(t->quarry))
            break; /* Its store takes no more writes. */
        world_sleep_us(t->world, ASK_AGAIN_US);
    } while (txn_check(t, NULL) == 0);
    err_set(err, ERR_UNKNOWN_OUTCOME,
            "it is not known whether the transaction was committed: %s",
            last.text);
    return ERR_UNKNOWN_OUTCOME;
}

static bool is_lost_answer(int rc)
{
    return rc == ERR_UNKNOWN_OUTCOME || rc == ERR_UNAVAILABLE ||
           rc == ERR_DEADLINE || rc == ERR_CANCELLED || rc == ERR_IO;
}

/* A timestamp, the second look, the commit; again when a reader came between.
 */
static int commit_primary(struct committing *c, struct err *err)
{
    struct quarry_txn *t = c->txn;
    int64_t min_commit = t->start + 1;
    bool held = false;
    int rc = 0;
    while (rc == 0 && !held) {
        rc = txn_check(t, err);
        if (rc == 0)
            rc = quarry_timestamps(t->quarry, 1, &c->commit, err);
        if (rc == 0)
            rc = txn_validate(t, c->commit, err);
        if (rc || crash_here(c, err))
            return rc ? rc : ERR_UNAVAILABLE;
        rc = try_primary(c, min_commit, &held, err);
        if (is_lost_answer(rc))
            return find_outcome(c, err);
        if (rc == 0 && !held)
            rc = read_min_commit(c, &min_commit, err);
        if (rc == 0 && !held && !min_commit)
            rc = err_set(err, ERR_CONFLICT,
                         "its lease was over, and another has rolled it back");
    }
    return rc;
}

/* --- the other rows ------------------------------------------------------ */

/* A client that meets a row that is left does the same. */
static int commit_other(void *ctx, size_t i, struct err *err)
{
    struct committing *c = ctx;
    struct txn_row *row = c->written[1 + i];
    struct txn_lock lock = txn_lock_of(c->txn, c->written[0], row);
    bool held;
    if (crash_here(c, err))
        return ERR_UNAVAILABLE;
    return txn_commit_row(c->txn->quarry, row->table, buf_slice(&row->key),
                          &lock, 0, c->commit, false, true, &held, err);
}

static void forget_status(struct committing *c)
{
    struct txn_row *primary = c->written[0];
    /* A status that is forgotten and comes back harms nobody. */
    const struct quarry_write_options w = {QUARRY_LOGGED};
    struct quarry_mutation *m = quarry_mutation_new(buf_slice(&primary->key));
    txn_forget_status(m, c->txn->start);
    (void)!quarry_apply(primary->table, m, &w, NULL);
    quarry_mutation_free(m);
}

static void commit_others(struct committing *c)
{
    struct err err = ERR_INIT;
    PRE(c->count > 0);
    if (c->count == 1)
        return;
    if (quarry_parallel_for(c->txn->quarry, c->count - 1, commit_other, c,
                            &err) == 0 &&
        !crash_here(c, NULL))
        forget_status(c); /* INV-3 */
}

int quarry_txn_commit(struct quarry_txn *t, int64_t *committed, struct err *err)
{
    struct committing c = {.txn = t, .commit = t->start};
    int rc = txn_check(t, err);
    if (rc)
        return rc;
    list_written(&c);
    if (c.count) {
        rc = txn_prewrite(t, c.written, c.count, err);
        c.crashed = t->ended;
        if (rc == ERR_UNKNOWN_OUTCOME) /* Of a lock: nothing is committed. */
            rc = ERR_IO;
        if (rc == 0)
            rc = commit_primary(&c, err);
        if (rc == 0)
            commit_others(&c);
        else if (rc != ERR_UNKNOWN_OUTCOME && !c.crashed)
            txn_release(t, c.written, c.count);
        if (rc && err) {
            err->code = rc;
            err_wrap(err, "commit");
        }
    }
    t->ended = true;
    mem_free(c.written);
    if (rc == 0 && committed)
        *committed = c.commit;
    return rc;
}
