/* Calls to the master: of clients that change tables, of tablet servers that
 * tell what happened, of operators. Answered by the active one alone. */
#include "base/core/panic.h"
#include "base/rpc/rpc.h"
#include "base/runtime/fiber.h"
#include "bigtable/master/master_term.h"
#include "bigtable/master/policies.h"
#include "bigtable/master/snapshots.h"
#include "bigtable/wire/policy.h"

/* The term to handle a call with, counted: master_service_leave() afterwards.
 */
static struct master_term *master_service_enter(struct master *m,
                                                struct err *err)
{
    struct master_term *r = m->term;
    if (!r || r->ending) {
        err_set(err, ERR_UNAVAILABLE, "this is not the master");
        return NULL;
    }
    if (!r->ready) {
        err_set(err, ERR_UNAVAILABLE,
                "the master is still learning where tablets are: it waits for "
                "%s",
                r->awaits);
        return NULL;
    }
    r->calls++;
    return r;
}

static void master_service_leave(struct master_term *r)
{
    r->calls--;
    master_term_changed(r);
}

/* --- tables -------------------------------------------------------------- */

static int change_table(struct master_term *r,
                        const struct rpc_call *call,
                        const struct table_order *o,
                        struct err *err)
{
    switch (call->method) {
    case MASTER_CREATE_TABLE: return tables_create(r, o, call->principal, err);
    case MASTER_DROP_TABLE: return tables_drop(r, o->name, err);
    case MASTER_ALTER_TABLE: return tables_alter(r, o, err);
    case MASTER_SPLIT: return tables_order(r, TABLET_SPLIT, o, err);
    case MASTER_COMPACT: return tables_order(r, TABLET_COMPACT, o, err);
    case MASTER_FLUSH: return tables_order(r, TABLET_FLUSH, o, err);
    case MASTER_DROP_ROWS: return tables_order(r, TABLET_DROP_ROWS, o, err);
    default: PANIC("no method of tables: %u", call->method);
    }
}

static int
on_table(struct master_term *r, struct rpc_call *call, struct err *err)
{
    struct table_order o;
    int code = table_order_get(call->body, &o, err);
    return code ? code : change_table(r, call, &o, err);
}

/* --- snapshots ----------------------------------------------------------- */

static int
on_snapshot(struct master_term *r, struct rpc_call *call, struct err *err)
{
    struct snapshot_order o;
    int code = snapshot_order_get(call->body, &o, err);
    if (code)
        return code;
    switch (call->method) {
    case MASTER_SNAPSHOT: return snapshots_take(r, &o, err);
    case MASTER_SNAPSHOT_LIST: return snapshots_list(r, call->reply_body, err);
    case MASTER_SNAPSHOT_SHOW:
        return snapshots_show(r, &o, call->reply_body, err);
    case MASTER_SNAPSHOT_DROP:
        return snapshots_drop(r, call->principal, &o, err);
    case MASTER_SNAPSHOT_RESTORE:
        return snapshots_restore(r, call->principal, &o, err);
    case MASTER_CLONE: return snapshots_clone(r, call->principal, &o, err);
    default: PANIC("no method of snapshots: %u", call->method);
    }
}

/* --- operators ----------------------------------------------------------- */

static const struct known_server *server_at(const struct master_term *r,
                                            struct slice address)
{
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
    int code = 0;
    *out = NULL;
    if (o->tablet)
        *out = cluster_view_tablet(&r->view, o->tablet);
    else if ((code = tables_find(r, o->table, &table, err)) == 0)
        *out = cluster_view_find(&r->view, table, o->row);
    if (code == 0 && !*out)
        code = err_set(err, ERR_NOTFOUND, "no such tablet");
    return code;
}

static int move_to(struct master_term *r,
                   const struct move_order *o,
                   struct move_reply *reply,
                   struct err *err)
{
    const struct known_server *s = server_at(r, o->server);
    struct known_tablet *t;
    int code = tablet_meant(r, o, &t, err);
    if (code)
        return code;
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
    t->busy = true;
    return move_tablet(r, t, s->number, &reply->unserved_us, err);
}

static int
on_move(struct master_term *r, struct rpc_call *call, struct err *err)
{
    struct move_order o;
    struct move_reply reply = {.from = 0};
    int code = move_order_get(call->body, &o, err);
    if (code == 0)
        code = move_to(r, &o, &reply, err);
    if (code == 0)
        move_reply_put(&reply, call->reply_body);
    return code;
}

/* --- tablet servers ------------------------------------------------------ */

static int
on_split_done(struct master_term *r, struct rpc_call *call, struct err *err)
{
    struct tablet_order o;
    int code = tablet_order_get(call->body, &o, err);
    if (code)
        return code;
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

/* --- all of them --------------------------------------------------------- */

static int on_status(struct master *m, struct err *err)
{
    struct master_status s;
    return master_get_status(m, &s)
               ? 0
               : err_set(err, ERR_UNAVAILABLE, "this is not the master");
}

static int master_service_handle(struct master_term *r,
                                 struct rpc_call *call,
                                 struct err *err)
{
    int code = policies_check(r, call, err);
    if (code)
        return code;
    switch (call->method) {
    case MASTER_POLICY: return policies_show(r, call, err);
    case MASTER_SET_POLICY: return policies_change(r, call, err);
    case MASTER_MOVE: return on_move(r, call, err);
    case MASTER_REPORT_SPLIT: return on_split_done(r, call, err);
    case MASTER_SNAPSHOT:
    case MASTER_SNAPSHOT_LIST:
    case MASTER_SNAPSHOT_SHOW:
    case MASTER_SNAPSHOT_DROP:
    case MASTER_SNAPSHOT_RESTORE:
    case MASTER_CLONE: return on_snapshot(r, call, err);
    default: return on_table(r, call, err);
    }
}

static int on_call(void *ctx, struct rpc_call *call, struct err *err)
{
    struct master_term *r;
    int code;
    if (call->method == MASTER_STATUS)
        return on_status(ctx, err);
    r = master_service_enter(ctx, err);
    if (!r)
        return ERR_UNAVAILABLE;
    code = master_service_handle(r, call, err);
    master_service_leave(r);
    return code;
}

void service_add(struct master *m)
{
    static const struct rpc_method methods[] = {
        {MASTER_CREATE_TABLE, "master.create_table", on_call},
        {MASTER_DROP_TABLE, "master.drop_table", on_call},
        {MASTER_ALTER_TABLE, "master.alter_table", on_call},
        {MASTER_SPLIT, "master.split", on_call},
        {MASTER_COMPACT, "master.compact", on_call},
        {MASTER_FLUSH, "master.flush", on_call},
        {MASTER_DROP_ROWS, "master.drop_rows", on_call},
        {MASTER_STATUS, "master.status", on_call},
        {MASTER_MOVE, "master.move", on_call},
        {MASTER_POLICY, "master.policy", on_call},
        {MASTER_SET_POLICY, "master.set_policy", on_call},
        {MASTER_SNAPSHOT, "master.snapshot", on_call},
        {MASTER_SNAPSHOT_LIST, "master.snapshot_list", on_call},
        {MASTER_SNAPSHOT_SHOW, "master.snapshot_show", on_call},
        {MASTER_SNAPSHOT_DROP, "master.snapshot_drop", on_call},
        {MASTER_SNAPSHOT_RESTORE, "master.snapshot_restore", on_call},
        {MASTER_CLONE, "master.clone", on_call},
        {MASTER_REPORT_SPLIT, "master.report_split", on_call},
    };
    rpc_server_add(m->rpc, methods, ARRAY_LEN(methods), m);
}
