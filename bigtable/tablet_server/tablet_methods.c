/* The calls that a tablet server takes: its methods, and the gate of each.
 *
 * The tables of wire/methods.h name a gate with every method, and the gate's
 * check runs here, before the handler: a handler cannot forget it, and a new
 * method says what it needs in the line that registers it.
 *
 *     ORDER    an order of the present master for this incarnation: the body
 *              begins with the sequencer of the master's lock and the number of
 *              the server meant (struct order_head)
 *     CLUSTER  any principal that is a role of the cluster
 *     READY    anybody; the handler checks the rights to the tablet's table
 */
#include "base/core/panic.h"
#include "base/rpc/roles.h"
#include "base/rpc/rpc.h"
#include "bigtable/tablet_server/tablet_server_state.h"

enum tablet_gate {
    GATE_ORDER = 1,
    GATE_CLUSTER,
    GATE_READY
};

struct tablet_method {
    enum tablet_gate gate; /* 0: no method has the number. */
    int (*handler)(struct tablet_server *s,
                   struct rpc_call *call,
                   struct err *err);
};

/* By number, from that of the first on. */
#define METHOD_ROW(NAME, number, name, handler, gate)                          \
    [NAME - TABLET_LOAD] = {GATE_##gate, handler},

static const struct tablet_method methods[] = {TABLET_METHODS(METHOD_ROW)};

int check_ready(const struct tablet_server *s, struct err *err)
{
    if (atomic_load(&s->over))
        return err_set(err, ERR_CLOSED, "this tablet server is ending");
    if (!atomic_load(&s->ready))
        return err_set(err, ERR_UNAVAILABLE,
                       "this tablet server has not joined the cluster yet");
    return 0;
}

int check_number(const struct tablet_server *s,
                 uint64_t number,
                 struct err *err)
{
    PRE(s->number != 0);
    if (number == s->number)
        return 0;
    return err_set(err, ERR_CLOSED, "this is tablet server %llu, not %llu",
                   (unsigned long long)s->number, (unsigned long long)number);
}

static int check_cluster(const struct tablet_server *s,
                         const struct rpc_call *call,
                         struct err *err)
{
    if (cluster_roles_may_order(s->options.roles, call->principal))
        return 0;
    return err_set(err, ERR_DENIED,
                   "\"%.*s\" is no role of this cluster, and gives its "
                   "tablet servers no orders",
                   SLICE_ARG(call->principal));
}

static int check_order(struct tablet_server *s,
                       const struct rpc_call *call,
                       struct err *err)
{
    struct order_head h;
    int rc = order_head_get(call->body, &h, err);
    PRE(s->number != 0); /* INV-1 */
    if (rc == 0)
        rc = check_number(s, h.server, err);
    if (rc)
        return rc;
    if (s->stopping)
        return err_set(err, ERR_UNAVAILABLE, "this tablet server is ending");
    return session_check_master(s->session, h.sequencer, err);
}

static int check_gate(struct tablet_server *s,
                      enum tablet_gate gate,
                      const struct rpc_call *call,
                      struct err *err)
{
    int rc = gate == GATE_READY ? 0 : check_cluster(s, call, err);
    if (rc == 0)
        rc = check_ready(s, err);
    if (rc == 0 && gate == GATE_ORDER)
        rc = check_order(s, call, err);
    POST(rc || atomic_load(&s->ready)); /* INV-1 */
    return rc;
}

static int serve_call(void *ctx, struct rpc_call *call, struct err *err)
{
    struct tablet_server *s = ctx;
    const struct tablet_method *m;
    int rc;

    PRE(call->method >= TABLET_LOAD);
    PRE(call->method - TABLET_LOAD < ARRAY_LEN(methods));
    m = &methods[call->method - TABLET_LOAD];
    PRE(m->gate != 0);
    rc = check_gate(s, m->gate, call, err);
    return rc ? rc : m->handler(s, call, err);
}

#define RPC_METHOD(NAME, number, name, handler, gate)                          \
    {NAME, name, serve_call, 0},

void methods_add(struct tablet_server *s)
{
    static const struct rpc_method all[] = {TABLET_METHODS(RPC_METHOD)};
    rpc_server_add(s->rpc, all, ARRAY_LEN(all), s);
}
