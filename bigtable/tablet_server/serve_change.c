/* Transactions of one row: check and mutate; read, modify and write.
 *
 * Each is begun under its session and number, so that a try of a change that
 * was made before gets the answer that was given then (tablet/done_changes.h).
 * The answer is logged with the mutation: a check's before it is known which
 * branch is taken, so both answers are handed in. */
#include "base/core/arena.h"
#include "base/core/panic.h"
#include "bigtable/quarry.h"
#include "bigtable/row/filter.h"
#include "bigtable/row/mutation.h"
#include "bigtable/store/store.h"
#include "bigtable/tablet/done_changes.h"
#include "bigtable/tablet/table_part.h"
#include "bigtable/tablet/tablet.h"
#include "bigtable/tablet_server/rules.h"
#include "bigtable/tablet_server/serving.h"
#include "bigtable/tablet_server/tablet_server_state.h"
#include "bigtable/write/row_changes.h"

static enum write_durability durability_of(uint8_t d)
{
    return d == WRITE_LOGGED || d == WRITE_DEFERRED ? (enum write_durability)d
                                                    : WRITE_SYNCED;
}

int change_is_over(struct err *err)
{
    return err_set(err, ERR_ABORTED,
                   "the client was told already what became of the change");
}

/* Find the tablet, if it has @row. serving_end() in any case. */
static int serve_change_begin(struct tablet_server *s,
                              struct serving *out,
                              uint64_t tablet,
                              struct slice row,
                              struct err *err)
{
    int rc = serving_begin(s, out, tablet, 0, err);
    INVARIANT(rc || out->view->tablet_count == 1);
    if (rc == 0 && !tablet_contains(out->view->tablets[0], row))
        rc = not_here(tablet, err);
    return rc;
}

/* Begin the change, unless it was made before: then *@done, and @answer gets
 * the answer of then. */
static int begin_change(const struct serving *v,
                        const struct change_origin *o,
                        uint64_t sequence,
                        bool *done,
                        struct buf *answer,
                        struct err *err)
{
    struct done_changes *d = v->served->table->done;
    enum change_state state = CHANGE_BEGUN;
    int rc = 0;

    PRE(v->served);
    PRE(v->served->table);
    if (o->session)
        rc = done_changes_begin(d, o->session, o->floor, &sequence, 1, &state,
                                err);
    INVARIANT(rc || o->session || state == CHANGE_BEGUN);
    *done = state == CHANGE_DONE;
    if (rc == 0 && state == CHANGE_OVER)
        rc = change_is_over(err);
    if (rc == 0 && *done &&
        !done_changes_answer(d, o->session, sequence, answer))
        rc = err_set(err, ERR_ABORTED,
                     "the change was made before, and its answer was too "
                     "long to be kept");
    return rc;
}

static void end_change(const struct serving *v,
                       const struct change_origin *o,
                       uint64_t sequence)
{
    PRE(v->served);
    PRE(v->served->table);
    if (o->session)
        done_changes_end(v->served->table->done, o->session, &sequence, 1);
}

/* Map the outcome of a transaction on the tablet of @v to what clients expect.
 */
static int serve_change_settle(const struct serving *v,
                               uint64_t tablet,
                               int rc,
                               struct err *err)
{
    PRE(v->served);
    PRE(v->view);
    if (rc == 0)
        atomic_fetch_add(&v->served->writes, 1);
    if (rc == 0)
        metric_add(v->served->meters.written_rows, 1);
    if (rc == ERR_NOTFOUND) {
        struct table_part_view *now = table_part_get_view(v->served->table);
        if (!now)
            return not_here(tablet, err);
        table_part_view_unref(now);
    }
    return rc;
}

/* --- check and mutate ---------------------------------------------------- */

static int take_branch(struct slice *bytes,
                       const struct check_request *r,
                       struct quarry_mutation *out,
                       struct err *err)
{
    struct row_change c;
    bool more;
    int rc = row_change_next(bytes, &c, &more, err);
    if (rc == 0 && (!more || !slice_eq(c.row, r->row)))
        rc = err_set(err, ERR_CORRUPT, "malformed check of a row");
    if (rc == 0)
        rc = mutation_borrow(c.row, c.ops, c.count, out, err);
    if (rc == 0) {
        out->session = r->origin.session;
        out->sequence = r->sequence;
    }
    return rc;
}

/* May the caller read what the filter reads, and make these changes? */
static int may_check(struct tablet_server *s,
                     const struct serving *v,
                     struct slice principal,
                     const struct quarry_filter *filter,
                     const struct quarry_mutation *const branches[2],
                     struct err *err)
{
    const struct schema *schema = v->view->schema;
    int rc = rules_may_read(s, v->served, principal, schema, NULL, filter, err);

    PRE(v->view);
    if (rc == 0)
        rc = rules_may_go(s, v->served, principal, RATE_WRITES, err);
    for (int i = 0; i < 2 && rc == 0; i++) {
        if (!branches[i])
            continue;
        rc =
            rules_may_change(s, v->served, principal, schema, branches[i], err);
        if (rc == 0 && rules_is_growth(branches[i]))
            rc = rules_may_grow(s, v->served, schema, err);
    }
    return rc;
}

/* Make the change, and answer. PRE: it was begun. */
static int do_check(struct tablet_server *s,
                    struct rpc_call *call,
                    const struct check_request *r,
                    const struct serving *v,
                    const struct quarry_filter *filter,
                    const struct quarry_mutation *const branches[2],
                    struct err *err)
{
    struct check_reply reply = {.matched = false};
    int rc;
    PRE(v->served);
    PRE(v->view); /* begun */
    rules_pay(s, v->served, call->principal, RATE_WRITES, 1,
              call->attachment.len);
    rc = row_check_and_mutate(
        &s->store->env, v->served->table, r->row, filter, branches[0],
        branches[1], durability_of(r->durability), &reply.matched, err);
    rc = serve_change_settle(v, r->tablet, rc, err);
    end_change(v, &r->origin, r->sequence);
    if (rc == 0)
        check_reply_put(&reply, call->reply_body);
    return rc;
}

static int serve_change_check(struct tablet_server *s,
                              struct rpc_call *call,
                              const struct check_request *r,
                              struct err *err)
{
    struct quarry_mutation branches[2]; /* If true, if false. */
    struct slice bytes = call->attachment;
    struct quarry_filter *filter = NULL;
    const struct quarry_mutation *const both[2] = {
        r->has_true ? &branches[0] : NULL, r->has_false ? &branches[1] : NULL};
    struct buf answers[2] = {BUF_INIT, BUF_INIT}; /* Of the branches. */
    struct serving v;
    bool done = false;
    int rc = serve_change_begin(s, &v, r->tablet, r->row, err);
    if (rc == 0 && r->has_filter)
        rc = filter_decode(r->filter, &filter, err);
    if (rc == 0 && r->has_true)
        rc = take_branch(&bytes, r, &branches[0], err);
    if (rc == 0 && r->has_false)
        rc = take_branch(&bytes, r, &branches[1], err);
    for (int i = 0; i < 2; i++) {
        check_reply_put(&(struct check_reply){.matched = i == 0}, &answers[i]);
        branches[i].answer = buf_slice(&answers[i]);
    }
    if (rc == 0)
        rc = may_check(s, &v, call->principal, filter, both, err);
    if (rc == 0)
        rc = begin_change(&v, &r->origin, r->sequence, &done, call->reply_body,
                          err);
    if (rc == 0 && !done)
        rc = do_check(s, call, r, &v, filter, both, err);
    buf_close(&answers[0]);
    buf_close(&answers[1]);
    filter_unref(filter);
    serving_end(&v);
    return rc;
}

int handle_check(struct tablet_server *s,
                 struct rpc_call *call,
                 struct err *err)
{
    struct check_request r;
    int rc = check_request_get(call->body, &r, err);

    PRE(atomic_load(&s->ready)); /* The gate. */
    if (rc == 0)
        rc = serve_change_check(s, call, &r, err);
    return rc ? rc : check_answer(s, err);
}

/* --- read, modify, write ------------------------------------------------- */

/* The caller must be able to read what it changes: the result is returned. */
static int may_modify(struct tablet_server *s,
                      const struct serving *v,
                      struct slice principal,
                      const struct modify_request *r,
                      struct err *err)
{
    int rc = rules_may_go(s, v->served, principal, RATE_WRITES, err);

    PRE(v->view);
    for (size_t i = 0; i < r->rule_count && rc == 0; i++) {
        struct slice family = slice_str(r->rules[i].family);
        rc = rules_may(s, v->served, principal, family, ACCESS_READ, err);
        if (rc == 0)
            rc = rules_may(s, v->served, principal, family, ACCESS_WRITE, err);
    }
    return rc ? rc : rules_may_grow(s, v->served, v->view->schema, err);
}

static int serve_change_modify(struct tablet_server *s,
                               struct rpc_call *call,
                               const struct modify_request *r,
                               struct err *err)
{
    const struct row_change_id id = {r->origin.session, r->sequence, row_put};
    struct quarry_row *row = NULL;
    struct serving v;
    bool done = false;
    int rc = serve_change_begin(s, &v, r->tablet, r->row, err);
    if (rc == 0)
        rc = may_modify(s, &v, call->principal, r, err);
    if (rc == 0)
        rc = begin_change(&v, &r->origin, r->sequence, &done,
                          call->reply_attachment, err);
    if (rc == 0 && !done) {
        rules_pay(s, v.served, call->principal, RATE_WRITES, 1, call->body.len);
        rc = row_read_modify_write(
            &s->store->env, v.served->table, r->row, r->rules, r->rule_count,
            durability_of(r->durability), &id, &row, err);
        rc = serve_change_settle(&v, r->tablet, rc, err);
        end_change(&v, &r->origin, r->sequence);
        if (rc == 0)
            row_put(row, call->reply_attachment);
    }
    mem_free(row);
    serving_end(&v);
    return rc;
}

int handle_modify(struct tablet_server *s,
                  struct rpc_call *call,
                  struct err *err)
{
    struct modify_request r;
    struct arena a;
    int rc;

    PRE(atomic_load(&s->ready)); /* The gate. */
    arena_init(&a);
    rc = modify_request_get(call->body, &a, &r, err);
    if (rc == 0)
        rc = serve_change_modify(s, call, &r, err);
    if (rc == 0)
        rc = check_answer(s, err);
    arena_close(&a);
    return rc;
}
