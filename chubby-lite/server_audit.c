/* The lock service's part of the audit log: each refusal, and each name that is
 * made, written, changed in its rights or removed by a principal that is not
 * the cluster itself; below /acl by any principal. A command's refusal is in
 * its answer: the call itself has succeeded.
 */
#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/rpc/rpc.h"
#include "base/runtime/audit.h"
#include "chubby-lite/server_state.h"

#define LISTS SLICE_LIT("/acl/")

void server__put_path(struct chubby_server *s,
                      const struct chubby_command *c,
                      struct buf *out)
{
    const struct handle *h = handle_find(cell_sessions(s->cell), c->handle);
    PRE(out->len == 0);
    if (c->path.len)
        buf_append_slice(out, c->path);
    else if (h && h->node && h->session->id == c->session)
        node_put_path(h->node, out);
}

static const char *name_of(const struct chubby_command *c,
                           const struct chubby_answer *a)
{
    switch (c->operation) {
    case CHUBBY_OP_OPEN: return a->created ? "lock.create" : "lock.open";
    case CHUBBY_OP_WRITE: return "lock.write";
    case CHUBBY_OP_SET_ACL: return "lock.set_acl";
    case CHUBBY_OP_DELETE: return "lock.delete";
    case CHUBBY_OP_ACQUIRE: return "lock.acquire";
    case CHUBBY_OP_SESSION_OPEN:
    case CHUBBY_OP_SESSION_CLOSE:
    case CHUBBY_OP_SESSION_EXPIRE:
    case CHUBBY_OP_CLOSE:
    case CHUBBY_OP_RELEASE: break;
    }
    return "lock.execute";
}

static bool changes_names(const struct chubby_command *c,
                          const struct chubby_answer *a)
{
    return (c->operation == CHUBBY_OP_OPEN && a->created) ||
           c->operation == CHUBBY_OP_WRITE ||
           c->operation == CHUBBY_OP_SET_ACL ||
           c->operation == CHUBBY_OP_DELETE;
}

static bool is_for_audit(const struct chubby_server *s,
                         const struct rpc_call *call,
                         const struct chubby_command *c,
                         const struct chubby_answer *a,
                         struct slice path)
{
    if (a->code)
        return a->code == ERR_DENIED;
    return changes_names(c, a) && (slice_starts_with(path, LISTS) ||
                                   c->operation == CHUBBY_OP_SET_ACL ||
                                   !rpc_server_trusts(s->rpc, call));
}

void server__audit(struct chubby_server *s,
                   const struct rpc_call *call,
                   const struct chubby_command *c,
                   struct slice path)
{
    struct audit_event e = {
        .who = call->principal, .from = call->peer, .on = path};
    struct chubby_answer a;
    if (!world_is_audited(s->world) ||
        chubby_answer_get(buf_slice(call->reply_body), &a, NULL) ||
        !is_for_audit(s, call, c, &a, path))
        return;
    if (!slice_eq(call->actor, call->principal))
        e.by = call->actor;
    e.what = slice_str(name_of(c, &a));
    e.code = a.code;
    e.why = a.text;
    audit_note(s->world, &e);
}
