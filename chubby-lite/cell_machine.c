/* The state machine of the lock service: decodes a command, answers it from the
 * kept answers or executes it, and keeps its answer. Operations on nodes and
 * locks are in cell_node.c and cell_lock.c.
 */
#include "chubby-lite/cell_machine.h"

#include <inttypes.h>

#include "base/core/panic.h"
#include "chubby-lite/cell_state.h"

/* --- life ---------------------------------------------------------------- */

struct cell *cell_new(cell_event_cb on_event, void *ctx)
{
    struct cell *c = mem_zalloc(1, sizeof(*c));
    int rc;

    c->on_event = on_event;
    c->ctx = ctx;
    c->root = node_root_new();
    session_table_init(&c->table);
    rc = cell_load(c, SLICE_EMPTY, NULL);
    INVARIANT(rc == 0);
    return c;
}

void cell_free(struct cell *c)
{
    size_t count;
    struct session **all;

    if (!c)
        return;
    all = session_sorted(&c->table, &count);
    while (count > 0) {
        struct handle *h;
        count--;
        LIST_FOREACH(h, &all[count]->handles, of_session) {
            INVARIANT(h->session == all[count]); /* INV-1 of lock_session.h */
            if (h->node)
                handle_orphan(h);
        }
    }
    mem_free(all);
    session_table_close(&c->table);
    node_free_tree(c->root);
    mem_free(c);
}

uint64_t cell_now_us(const struct cell *c)
{
    return c->now_us;
}

const struct session_table *cell_sessions(const struct cell *c)
{
    return &c->table;
}

struct node *cell_root(const struct cell *c)
{
    return c->root;
}

int cell_handle(const struct cell *c,
                uint64_t session,
                uint64_t id,
                unsigned flags,
                struct handle **out,
                struct err *err)
{
    struct handle *h = handle_find(&c->table, id);

    if (!session_find(&c->table, session))
        return err_set(err, ERR_CLOSED, "session %" PRIx64 " is not known",
                       session);
    if (!h || h->session->id != session)
        return err_set(err, ERR_INVALID, "no such handle");
    if (!h->node)
        return err_set(err, ERR_NOTFOUND, "the node was deleted");
    if ((h->flags & flags) != flags)
        return err_set(err, ERR_DENIED, "the handle was not opened for this");
    *out = h;
    POST(h->session->id == session);
    POST(h->node);
    return 0;
}

/* --- sessions ------------------------------------------------------------ */

static int open_session(struct execution *x)
{
    const struct chubby_command *c = x->command;
    struct session_table *t = &x->cell->table;
    struct session *s = session_find(t, c->session);

    if (s && slice_eq_str(c->principal, s->principal))
        return 0;
    if (s || c->session == 0)
        return err_set(x->err, ERR_EXISTS, "session %" PRIx64 " is another's",
                       c->session);
    if (t->sessions.count >= CELL_SESSIONS_MAX)
        return err_set(x->err, ERR_EXHAUSTED, "the cell has %zu sessions",
                       t->sessions.count);
    if (c->contents.len > SESSION_ADDRESS_BYTES_MAX)
        return err_set(x->err, ERR_TOOBIG, "an address of %zu bytes",
                       c->contents.len);
    PRE(c->session != 0);
    session_add(t, c->session, c->principal, c->contents, c->lock_delay_ms);
    return 0;
}

/* @failed: not by its client, so that lock-delays begin. */
static int end_session(struct execution *x, bool failed)
{
    struct handle **all = handle_sorted(x->session);
    size_t count = x->session->handle_count;
    size_t i;

    for (i = 0; i < count; i++)
        cell__close_handle(x->cell, all[i], failed);
    mem_free(all);
    INVARIANT(x->session->handle_count == 0);
    session_remove(&x->cell->table, x->session);
    x->session = NULL;
    return 0;
}

/* --- commands ------------------------------------------------------------ */

static int cell_execute(struct execution *x)
{
    PRE(x->session || x->command->operation == CHUBBY_OP_SESSION_OPEN);
    switch (x->command->operation) {
    case CHUBBY_OP_SESSION_OPEN: return open_session(x);
    case CHUBBY_OP_SESSION_CLOSE: return end_session(x, false);
    case CHUBBY_OP_SESSION_EXPIRE: return end_session(x, true);
    case CHUBBY_OP_OPEN: return cell__open(x);
    case CHUBBY_OP_CLOSE: return cell__close(x);
    case CHUBBY_OP_WRITE: return cell__write(x);
    case CHUBBY_OP_SET_ACL: return cell__set_acl(x);
    case CHUBBY_OP_DELETE: return cell__delete(x);
    case CHUBBY_OP_ACQUIRE: return cell__acquire(x);
    case CHUBBY_OP_RELEASE: return cell__release(x);
    }
    PANIC("operation %d", (int)x->command->operation);
}

/* Append the answer of @x, whose outcome is @code, to @out. */
static void put_answer(struct execution *x, int code, struct buf *out)
{
    PRE(code <= 0);
    x->answer->code = code;
    if (code)
        x->answer->text = slice_str(x->err->text);
    chubby_answer_put(x->answer, out);
}

/* Is the command answered without execution: because it was executed before
 * (then its answer is in @out), or because of the error *@code? */
static bool is_settled(struct execution *x, struct buf *out, int *code)
{
    const struct chubby_command *c = x->command;
    struct slice kept = SLICE_EMPTY;
    PRE(!x->session);

    *code = 0;
    if (c->operation == CHUBBY_OP_SESSION_OPEN)
        return false;
    x->session = session_find(&x->cell->table, c->session);
    if (!x->session) {
        *code = err_set(x->err, ERR_CLOSED,
                        "session %" PRIx64 " is not known: it was closed, or "
                        "its lease ran out",
                        c->session);
        return true;
    }
    if (c->sequence == 0)
        return false;
    switch (session_answers_check(&x->session->answers, c->sequence,
                                  MIN_OF(c->acknowledged, c->sequence),
                                  &kept)) {
    case SESSION_EXECUTE: return false;
    case SESSION_ANSWERED: buf_append_slice(out, kept); return true;
    case SESSION_STALE:
        *code =
            err_set(x->err, ERR_INVALID,
                    "command %" PRIu64 " was answered, and that acknowledged",
                    c->sequence);
        return true;
    case SESSION_FULL:
        *code = err_set(x->err, ERR_EXHAUSTED,
                        "the session has %d answers it did not acknowledge",
                        SESSION_ANSWERS_MAX);
        return true;
    }
    PANIC("a verdict that is none");
}

void cell_apply(struct cell *c, struct slice bytes, struct buf *answer)
{
    struct chubby_command command;
    struct chubby_answer a = {.code = 0};
    struct err err = ERR_INIT;
    struct execution x = {c, &command, NULL, &a, &err};
    size_t begin = answer->len;
    int rc;

    rc = chubby_command_get(bytes, &command, &err);
    if (rc) {
        put_answer(&x, rc, answer);
        return;
    }
    c->now_us = MAX_OF(c->now_us, command.now_us);
    if (is_settled(&x, answer, &rc)) {
        if (rc)
            put_answer(&x, rc, answer);
        return;
    }
    rc = cell_execute(&x);
    put_answer(&x, rc, answer);
    INVARIANT(answer->len > begin); /* INV-3 */
    if (x.session && command.sequence)
        session_answers_keep(&x.session->answers, command.sequence,
                             slice_sub(buf_slice(answer), begin, answer->len));
}
