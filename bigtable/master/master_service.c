/* Calls to the master: of clients that change tables, of operators, and of
 * tablet servers that report a split. The process that holds the lock answers
 * them, and only when it knows where every tablet is.
 *
 * The tables of wire/methods.h name a gate with every method; policies_check()
 * runs it before the handler. A call is counted in its term, which ends only
 * when all calls have returned (master_drain()).
 */
#include "base/core/panic.h"
#include "base/rpc/rpc.h"
#include "base/runtime/fiber.h"
#include "bigtable/master/master_term.h"
#include "bigtable/master/policies.h"
#include "bigtable/master/table_import.h"
#include "bigtable/master/table_snapshots.h"
#include "bigtable/quarry.h" /* QUARRY_TIMESTAMPS_MAX */
#include "bigtable/wire/methods.h"

/* The term to handle a call with, counted: master_service_leave() afterwards.
 * @early: also while the master still reads where everything is. */
static struct master_term *
master_service_enter(struct master *m, bool early, struct err *err)
{
    struct master_term *r = m->term;
    if (!r || r->ending) {
        err_set(err, ERR_UNAVAILABLE, "this is not the master");
        return NULL;
    }
    if (!r->ready && !early) {
        err_set(err, ERR_UNAVAILABLE,
                "the master is still learning where tablets are: it waits for "
                "%s",
                r->awaits);
        return NULL;
    }
    INVARIANT(!r->ready || r->known); /* INV-2 */
    r->calls++;
    return r;
}

static void master_service_leave(struct master_term *r)
{
    PRE(r->calls > 0);
    r->calls--;
    master_term_changed(r);
}

/* --- tables -------------------------------------------------------------- */

int service_create(struct master_term *r,
                   struct rpc_call *call,
                   struct err *err)
{
    struct table_order o;
    int rc = table_order_get(call->body, &o, err);

    PRE(r->ready);
    return rc ? rc : tables_create(r, &o, call->principal, err);
}

int service_drop(struct master_term *r, struct rpc_call *call, struct err *err)
{
    struct table_order o;
    int rc = table_order_get(call->body, &o, err);

    PRE(r->ready);
    return rc ? rc : tables_drop(r, o.name, err);
}

int service_alter(struct master_term *r, struct rpc_call *call, struct err *err)
{
    struct table_order o;
    int rc = table_order_get(call->body, &o, err);

    PRE(r->ready);
    return rc ? rc : tables_alter(r, &o, err);
}

/* Give the order @method to the servers of the tablets that it is about. */
static int service_forward(struct master_term *r,
                           const struct rpc_call *call,
                           uint32_t method,
                           struct err *err)
{
    struct table_order o;
    int rc = table_order_get(call->body, &o, err);

    PRE(r->ready);
    PRE(method != 0);
    return rc ? rc : tables_order(r, method, &o, err);
}

int service_split(struct master_term *r, struct rpc_call *call, struct err *err)
{
    return service_forward(r, call, TABLET_SPLIT, err);
}

int service_compact(struct master_term *r,
                    struct rpc_call *call,
                    struct err *err)
{
    return service_forward(r, call, TABLET_COMPACT, err);
}

int service_flush(struct master_term *r, struct rpc_call *call, struct err *err)
{
    return service_forward(r, call, TABLET_FLUSH, err);
}

int service_drop_rows(struct master_term *r,
                      struct rpc_call *call,
                      struct err *err)
{
    return service_forward(r, call, TABLET_DROP_ROWS, err);
}

/* --- snapshots ----------------------------------------------------------- */

int service_snapshot(struct master_term *r,
                     struct rpc_call *call,
                     struct err *err)
{
    struct snapshot_order o;
    int rc = snapshot_order_get(call->body, &o, err);

    PRE(r->ready);
    return rc ? rc : snapshots_take(r, &o, err);
}

int service_list(struct master_term *r, struct rpc_call *call, struct err *err)
{
    PRE(r->ready);
    return snapshots_list(r, call->reply_body, err);
}

int service_show(struct master_term *r, struct rpc_call *call, struct err *err)
{
    struct snapshot_order o;
    int rc = snapshot_order_get(call->body, &o, err);

    PRE(r->ready);
    return rc ? rc : snapshots_show(r, &o, call->reply_body, err);
}

int service_forget(struct master_term *r,
                   struct rpc_call *call,
                   struct err *err)
{
    struct snapshot_order o;
    int rc = snapshot_order_get(call->body, &o, err);

    PRE(r->ready);
    return rc ? rc : snapshots_drop(r, call->principal, &o, err);
}

int service_restore(struct master_term *r,
                    struct rpc_call *call,
                    struct err *err)
{
    struct snapshot_order o;
    int rc = snapshot_order_get(call->body, &o, err);

    PRE(r->ready);
    return rc ? rc : snapshots_restore(r, call->principal, &o, err);
}

int service_clone(struct master_term *r, struct rpc_call *call, struct err *err)
{
    struct snapshot_order o;
    int rc = snapshot_order_get(call->body, &o, err);

    PRE(r->ready);
    return rc ? rc : snapshots_clone(r, call->principal, &o, err);
}

int service_record(struct master_term *r,
                   struct rpc_call *call,
                   struct err *err)
{
    struct snapshot_order o;
    int rc = snapshot_order_get(call->body, &o, err);

    PRE(r->ready);
    return rc ? rc : snapshots_record(r, &o, call->reply_body, err);
}

int service_import_lend(struct master_term *r,
                        struct rpc_call *call,
                        struct err *err)
{
    struct lend_reply reply = {.loan = {.key_id = 0}};
    struct import_order o;
    int rc = import_order_get(call->body, &o, err);

    PRE(r->ready);
    if (rc == 0)
        rc = import_lend(r, call->principal, &o, &reply.loan, err);
    if (rc == 0)
        lend_reply_put(&reply, call->reply_body);
    key_loan_close(&reply.loan);
    return rc;
}

int service_import(struct master_term *r,
                   struct rpc_call *call,
                   struct err *err)
{
    struct import_order o;
    int rc = import_order_get(call->body, &o, err);

    PRE(r->ready);
    return rc ? rc : import_take(r, call->principal, &o, err);
}

/* --- timestamps ---------------------------------------------------------- */

int service_timestamps(struct master_term *r,
                       struct rpc_call *call,
                       struct err *err)
{
    struct timestamps_order o;
    struct timestamps_reply reply;
    int64_t first = 0;
    int rc = timestamps_order_get(call->body, &o, err);

    PRE(r->lock); /* There is a term: this is the master. */
    if (rc == 0 && (o.count == 0 || o.count > QUARRY_TIMESTAMPS_MAX))
        rc = err_set(err, ERR_INVALID,
                     "%u timestamps: 1 to %d are given at "
                     "once",
                     o.count, QUARRY_TIMESTAMPS_MAX);
    if (rc == 0)
        rc = oracle_take(r, o.count, &first, err);
    if (rc)
        return rc;
    reply.first = (uint64_t)first;
    timestamps_reply_put(&reply, call->reply_body);
    return 0;
}

/* --- operators ----------------------------------------------------------- */

static const struct known_server *server_at(const struct master_term *r,
                                            struct slice address)
{
    PRE(r->ready);
    for (size_t i = 0; i < r->view.server_count; i++) {
        const struct known_server *s = r->view.servers[i];
        if (s->alive && slice_eq_str(address, s->address))
            return s;
    }
    return NULL;
}

static int tablet_meant(struct master_term *r,
                        const struct move_order *o,
                        struct known_tablet **out,
                        struct err *err)
{
    uint64_t table;
    int rc = 0;
    *out = NULL;
    if (o->tablet)
        *out = cluster_view_tablet(&r->view, o->tablet);
    else if ((rc = tables_find(r, o->table, &table, err)) == 0)
        *out = cluster_view_find(&r->view, table, o->row);
    if (rc == 0 && !*out)
        rc = err_set(err, ERR_NOTFOUND, "no such tablet");
    POST(rc || *out);
    return rc;
}

static int move_to(struct master_term *r,
                   const struct move_order *o,
                   struct move_reply *reply,
                   struct err *err)
{
    const struct known_server *s = server_at(r, o->server);
    struct known_tablet *t;
    int rc = tablet_meant(r, o, &t, err);

    PRE(r->ready);
    if (rc)
        return rc;
    if (!s)
        return err_set(err, ERR_NOTFOUND, "no tablet server at %.*s",
                       SLICE_ARG(o->server));
    if (t->busy || t->stage != STAGE_SERVED)
        return err_set(err, ERR_BUSY, "tablet %llu is on its way",
                       (unsigned long long)t->id);
    *reply = (struct move_reply){
        .tablet = t->id, .from = t->server, .to = s->number};
    if (t->server == s->number)
        return 0;
    known_tablet_hold(t);
    return move_tablet(r, t, s->number, &reply->unserved_us, err);
}

int service_move(struct master_term *r, struct rpc_call *call, struct err *err)
{
    struct move_order o;
    struct move_reply reply = {.from = 0};
    int rc = move_order_get(call->body, &o, err);

    PRE(r->ready);
    if (rc == 0)
        rc = move_to(r, &o, &reply, err);
    if (rc == 0)
        move_reply_put(&reply, call->reply_body);
    return rc;
}

/* --- tablet servers ------------------------------------------------------ */

int service_note_split(struct master_term *r,
                       struct rpc_call *call,
                       struct err *err)
{
    struct tablet_order o;
    int rc = tablet_order_get(call->body, &o, err);

    PRE(r->ready);
    if (rc)
        return rc;
    master_note(r, EVENT_SPLIT, "tablet=%llu server=%llu",
                (unsigned long long)o.tablet, (unsigned long long)o.server);
    master_term_reread_tablet(r, o.tablet);
    return 0;
}

/* --- status -------------------------------------------------------------- */

static uint64_t count_servers(const struct cluster_view *p)
{
    uint64_t count = 0;
    for (size_t i = 0; i < p->server_count; i++)
        count += p->servers[i]->alive;
    return count;
}

bool master_get_status(struct master *m, struct master_status *out)
{
    struct master_term *r = m->term;
    if (!r || r->ending)
        return false;
    (void)cluster_view_sum(&r->view);
    *out = (struct master_status){
        .ready = r->ready,
        .servers = count_servers(&r->view),
        .tables = tables_count(r),
        .tablets = r->view.tablet_count,
        .unassigned = cluster_view_count(&r->view, STAGE_UNASSIGNED) +
                      cluster_view_count(&r->view, STAGE_ORDERED),
        .moving = r->moving,
        .recovering_logs = recover_count(r),
    };
    return true;
}

uint64_t master_count_metadata(const struct master *m)
{
    const struct cluster_view *p = m->term ? &m->term->view : NULL;
    uint64_t count = 0;
    for (size_t i = 0; p && i < p->tablet_count; i++)
        count += p->tablets[i]->table == METADATA_TABLE_ID;
    return count;
}

int service_status(struct master_term *r,
                   struct rpc_call *call,
                   struct err *err)
{
    (void)r; /* There is a term: this is the master. */
    (void)call;
    (void)err;
    return 0;
}

/* --- dispatching --------------------------------------------------------- */

struct service_method {
    enum master_gate gate; /* 0: no method has the number. */
    int (*handler)(struct master_term *r,
                   struct rpc_call *call,
                   struct err *err);
};

/* By number, from that of the first on. */
#define METHOD_ROW(NAME, number, name, handler, gate)                          \
    [NAME - MASTER_CREATE_TABLE] = {MASTER_GATE_##gate, handler},

static const struct service_method methods[] = {MASTER_METHODS(METHOD_ROW)};

static int on_call(void *ctx, struct rpc_call *call, struct err *err)
{
    const struct service_method *m;
    struct master_term *r;
    int rc;

    PRE(call->method >= MASTER_CREATE_TABLE);
    PRE(call->method - MASTER_CREATE_TABLE < ARRAY_LEN(methods));
    m = &methods[call->method - MASTER_CREATE_TABLE];
    PRE(m->gate != 0);
    r = master_service_enter(ctx, m->gate == MASTER_GATE_STATUS, err);
    if (!r)
        return ERR_UNAVAILABLE;
    rc = policies_check(r, m->gate, call, err);
    if (rc == 0)
        rc = m->handler(r, call, err);
    master_service_leave(r);
    return rc;
}

#define RPC_METHOD(NAME, number, name, handler, gate) {NAME, name, on_call, 0},

void service_add(struct master *m)
{
    static const struct rpc_method all[] = {MASTER_METHODS(RPC_METHOD)};
    rpc_server_add(m->rpc, all, ARRAY_LEN(all), m);
}
