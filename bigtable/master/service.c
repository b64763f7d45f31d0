/* Calls to the master: of clients that change tables, of tablet servers that
 * tell what happened, of operators. Answered by the reigning one alone. */
#include "base/core/arena.h"
#include "base/core/panic.h"
#include "base/rpc/rpc.h"
#include "base/runtime/fiber.h"
#include "bigtable/master/reign.h"

/* The reign to handle a call with, counted: leave() afterwards. */
static struct reign *enter(struct master *m, struct err *err)
{
    struct reign *r = m->reign;
    if (!r || r->ending || !r->ready) {
        err_set(err, ERR_UNAVAILABLE,
                r && !r->ending ? "the master is still learning where tablets "
                                  "are"
                                : "this is not the master");
        return NULL;
    }
    r->calls++;
    return r;
}

static void leave(struct reign *r)
{
    r->calls--;
    reign_changed(r);
}

/* --- tables ------------------------------------------------------------- */

typedef int (*table_fn)(struct reign *r,
                        const struct table_order *o,
                        struct err *err);

static int serve_table(struct master *m,
                       struct rpc_call *call,
                       table_fn fn,
                       struct err *err)
{
    struct table_order o;
    struct reign *r;
    int code = table_order_get(call->body, &o, err);
    if (code)
        return code;
    r = enter(m, err);
    if (!r)
        return ERR_UNAVAILABLE;
    code = fn(r, &o, err);
    leave(r);
    return code;
}

static int
drop_table(struct reign *r, const struct table_order *o, struct err *err)
{
    return tables_drop(r, o->name, err);
}

static int
split_table(struct reign *r, const struct table_order *o, struct err *err)
{
    return tables_order(r, TABLET_SPLIT, o, err);
}

static int
compact_table(struct reign *r, const struct table_order *o, struct err *err)
{
    return tables_order(r, TABLET_COMPACT, o, err);
}

static int
flush_table(struct reign *r, const struct table_order *o, struct err *err)
{
    return tables_order(r, TABLET_FLUSH, o, err);
}

static int
drop_rows(struct reign *r, const struct table_order *o, struct err *err)
{
    return tables_order(r, TABLET_DROP_ROWS, o, err);
}

static int on_create(void *m, struct rpc_call *call, struct err *err)
{
    return serve_table(m, call, tables_create, err);
}

static int on_drop(void *m, struct rpc_call *call, struct err *err)
{
    return serve_table(m, call, drop_table, err);
}

static int on_alter(void *m, struct rpc_call *call, struct err *err)
{
    return serve_table(m, call, tables_alter, err);
}

static int on_split(void *m, struct rpc_call *call, struct err *err)
{
    return serve_table(m, call, split_table, err);
}

static int on_compact(void *m, struct rpc_call *call, struct err *err)
{
    return serve_table(m, call, compact_table, err);
}

static int on_flush(void *m, struct rpc_call *call, struct err *err)
{
    return serve_table(m, call, flush_table, err);
}

static int on_drop_rows(void *m, struct rpc_call *call, struct err *err)
{
    return serve_table(m, call, drop_rows, err);
}

/* --- operators ---------------------------------------------------------- */

static int on_status(void *ctx, struct rpc_call *call, struct err *err)
{
    struct master_status s;
    struct arena a;
    bool is;
    arena_init(&a);
    is = master_get_status(ctx, &a, &s);
    if (is)
        master_status_put(&s, call->reply_body);
    arena_close(&a);
    return is ? 0 : err_set(err, ERR_UNAVAILABLE, "this is not the master");
}

static const struct known_server *server_at(const struct reign *r,
                                            struct slice address)
{
    for (size_t i = 0; i < r->picture.server_count; i++) {
        const struct known_server *s = r->picture.servers[i];
        if (s->alive && slice_eq_str(address, s->address))
            return s;
    }
    return NULL;
}

static int move_to(struct reign *r, const struct move_order *o, struct err *err)
{
    struct known_tablet *t = picture_tablet(&r->picture, o->tablet);
    const struct known_server *s = server_at(r, o->server);
    if (!t)
        return err_set(err, ERR_NOTFOUND, "no tablet %llu",
                       (unsigned long long)o->tablet);
    if (!s)
        return err_set(err, ERR_NOTFOUND, "no tablet server at %.*s",
                       SLICE_ARG(o->server));
    if (t->busy || t->stage != STAGE_SERVED)
        return err_set(err, ERR_BUSY, "tablet %llu is on its way",
                       (unsigned long long)o->tablet);
    if (t->server == s->number)
        return 0;
    t->busy = true;
    return move_tablet(r, t, s->number, err);
}

static int on_move(void *m, struct rpc_call *call, struct err *err)
{
    struct move_order o;
    struct reign *r;
    int code = move_order_get(call->body, &o, err);
    if (code)
        return code;
    r = enter(m, err);
    if (!r)
        return ERR_UNAVAILABLE;
    code = move_to(r, &o, err);
    leave(r);
    return code;
}

/* --- tablet servers ----------------------------------------------------- */

static int on_split_done(void *m, struct rpc_call *call, struct err *err)
{
    struct tablet_order o;
    struct reign *r;
    int code = tablet_order_get(call->body, &o, err);
    if (code)
        return code;
    r = enter(m, err);
    if (!r)
        return ERR_UNAVAILABLE;
    reign_reread_tablet(r, o.tablet);
    leave(r);
    return 0;
}

/* The server cannot serve it any more; it says so once it serves nothing of it.
 */
static int on_lost(void *m, struct rpc_call *call, struct err *err)
{
    struct tablet_order o;
    struct reign *r;
    struct known_tablet *t;
    int code = tablet_order_get(call->body, &o, err);
    if (code)
        return code;
    r = enter(m, err);
    if (!r)
        return ERR_UNAVAILABLE;
    t = picture_tablet(&r->picture, o.tablet);
    /* It is ordered to load it once more; if it says no, another gets it. */
    if (t && !t->busy && t->stage == STAGE_SERVED && t->server == o.server &&
        t->epoch == o.epoch)
        t->stage = STAGE_ORDERED;
    leave(r);
    return 0;
}

/* --- status ------------------------------------------------------------- */

static void
fill_servers(struct reign *r, struct arena *a, struct master_status *s)
{
    const struct picture *p = &r->picture;
    s->servers = arena_alloc(a, (p->server_count + 1) * sizeof(*s->servers));
    s->server_count = 0;
    for (size_t i = 0; i < p->server_count; i++) {
        const struct known_server *k = p->servers[i];
        if (!k->alive || s->server_count == STATUS_SERVERS_MAX)
            continue;
        s->servers[s->server_count++] = (struct server_load){
            .number = k->number,
            .address = arena_dup(a, slice_str(k->address)),
            .tablets = k->tablets,
            .bytes = k->use.bytes,
            .memory_bytes = k->memory_bytes,
            .requests_per_s = k->use.requests_per_s,
            .alive = k->alive && !k->suspect,
        };
    }
}

bool master_get_status(struct master *m,
                       struct arena *a,
                       struct master_status *out)
{
    struct reign *r = m->reign;
    if (!r || r->ending)
        return false;
    (void)picture_sum(&r->picture);
    *out = (struct master_status){
        .address = slice_str(m->options.address),
        .number = r->number,
        .ready = r->ready,
        .tables = tables_count(r),
        .tablets = r->picture.tablet_count,
        .unassigned = picture_count(&r->picture, STAGE_UNASSIGNED) +
                      picture_count(&r->picture, STAGE_ORDERED),
        .moving = r->moving,
        .recovering_logs = recover_count(r),
    };
    fill_servers(r, a, out);
    return true;
}

void service_add(struct master *m)
{
    static const struct rpc_method methods[] = {
        {MASTER_CREATE_TABLE, "master.create_table", on_create},
        {MASTER_DROP_TABLE, "master.drop_table", on_drop},
        {MASTER_ALTER_TABLE, "master.alter_table", on_alter},
        {MASTER_SPLIT, "master.split", on_split},
        {MASTER_COMPACT, "master.compact", on_compact},
        {MASTER_FLUSH, "master.flush", on_flush},
        {MASTER_DROP_ROWS, "master.drop_rows", on_drop_rows},
        {MASTER_STATUS, "master.status", on_status},
        {MASTER_MOVE, "master.move", on_move},
        {MASTER_REPORT_SPLIT, "master.report_split", on_split_done},
        {MASTER_REPORT_LOST, "master.report_lost", on_lost},
    };
    rpc_server_add(m->rpc, methods, ARRAY_LEN(methods), m);
}
