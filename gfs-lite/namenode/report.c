/* Heartbeats: the replicas that chunk servers report, and the orders they get
 * in return. The server is the authority on what it holds (GFS 2.6.2); the
 * namenode decides whether a replica is current, stale, damaged or garbage (GFS
 * 4.4, 4.5).
 */
#include "base/core/arena.h"
#include "base/core/panic.h"
#include "base/replica/replica.h"
#include "base/runtime/world.h"
#include "gfs-lite/namenode/namenode_state.h"

/* --- one replica --------------------------------------------------------- */

/* Delete the replica if the chunk is safe without it. */
static void delete_bad(struct namenode *nn,
                       const struct chunk *c,
                       uint16_t server,
                       const struct gfs_replica *r)
{
    bool others = c->replica_count > chunk_has_replica(c, server);
    PRE(r->handle == c->handle);
    if (others && !namenode_in_safe_mode(nn))
        chunk_server_add_delete(&nn->servers, server, r->handle, r->version);
}

static void
take_open(struct chunk *c, uint16_t server, const struct gfs_replica *r)
{
    PRE(!c->sealed);
    if (r->version >= c->version && r->version <= c->pending)
        chunk_add_replica(c, server);
}

static void take_sealed(struct namenode *nn,
                        struct chunk *c,
                        uint16_t server,
                        const struct gfs_replica *r)
{
    PRE(c->sealed);
    bool good =
        r->version == c->version && (!r->sealed || r->length == c->length);
    if (!good) {
        chunk_remove_replica(c, server);
        delete_bad(nn, c, server, r);
        return;
    }
    INVARIANT(r->version == c->version); /* Stale ones do not count. */
    chunk_add_replica(c, server);
    if (r->sealed)
        namenode_end_copy(nn, c->handle, server);
    else /* Its writer closed the file: the server does not know it yet. */
        chunk_server_add_order(&nn->servers, server, GFS_ORDER_SEAL, c->handle);
}

static void
take_replica(struct namenode *nn, uint16_t server, const struct gfs_replica *r)
{
    struct chunk *c = chunk_map_get(&nn->catalog.names.chunks, r->handle);
    if (!c) {
        if (!r->gone && r->handle < nn->catalog.names.chunks.next_handle)
            chunk_server_add_delete(&nn->servers, server, r->handle,
                                    r->version);
        return;
    }
    if (r->gone || r->damaged) {
        chunk_remove_replica(c, server);
        namenode_end_copy(nn, c->handle, server); /* It has failed. */
        nn->scan_due_ns = MIN_OF(nn->scan_due_ns, world_mono_ns(nn->world));
        if (r->damaged)
            delete_bad(nn, c, server, r);
        return;
    }
    if (c->sealed)
        take_sealed(nn, c, server, r);
    else
        take_open(c, server, r);
}

static int report_malformed(struct err *err)
{
    return err_set(err, ERR_CORRUPT, "malformed report of chunks");
}

static int take_report(struct namenode *nn,
                       uint16_t server,
                       struct slice report,
                       struct err *err)
{
    struct gfs_replica r;
    bool bad;
    PRE(server < nn->servers.count);
    while (gfs_replica_get(&report, &r, &bad))
        take_replica(nn, server, &r);
    return bad ? report_malformed(err) : 0;
}

/* Apply a full report in place of what was known of the server. Other fibers
 * run in between; a later full report ends this one. Parks. */
static int take_all_of(struct namenode *nn,
                       uint16_t server,
                       struct slice report,
                       struct err *err)
{
    PRE(server < nn->servers.count);
    uint64_t mine = ++nn->servers.servers[server].full_number;
    bool leads = namenode_forget_server(nn, server);
    size_t steps = 0;
    struct gfs_replica r;
    bool bad = false;
    while (leads && gfs_replica_get(&report, &r, &bad)) {
        if (nn->servers.servers[server].full_number != mine)
            return err_set(err, ERR_ABORTED, "a later report came");
        take_replica(nn, server, &r);
        leads = namenode_pause(nn, &steps);
    }
    if (!leads)
        return replica_not_leader(nn->replica, err);
    return bad ? report_malformed(err) : 0;
}

static int take_full_report(struct namenode *nn,
                            uint16_t server,
                            struct slice report,
                            struct err *err)
{
    int rc;
    nn->reports++;
    namenode_forget_copies(nn, server);
    rc = take_all_of(nn, server, report, err);
    INVARIANT(nn->reports > 0);
    nn->reports--;
    if (rc)
        return rc;
    nn->servers.servers[server].reported = true;
    nn->servers.servers[server].full_ns = world_mono_ns(nn->world);
    return 0;
}

/* --- the server ---------------------------------------------------------- */

static bool is_known_as(const struct catalog_server *s,
                        const struct gfs_heartbeat *h)
{
    return s->state != GFS_SERVER_GONE &&
           slice_eq_str(h->address, s->address) &&
           slice_eq_str(h->machine, s->machine) &&
           slice_eq_str(h->rack, s->rack);
}

static int find_server(struct namenode *nn,
                       const struct gfs_heartbeat *h,
                       uint16_t *number,
                       struct err *err)
{
    int known = catalog_server_number(&nn->catalog, h->own_id);
    struct gfs_command c = {.op = GFS_OP_SERVER_REGISTER,
                            .chunk = h->own_id,
                            .text = h->address,
                            .path = h->machine,
                            .to = h->rack};
    struct gfs_result r;
    struct buf reply = BUF_INIT;
    int rc = 0;
    if (known < 0 || !is_known_as(&nn->catalog.servers[known], h)) {
        rc = namenode_propose(nn, &c, &r, &reply, err);
        known = rc ? -1 : r.servers.numbers[0];
        buf_close(&reply);
    }
    if (rc)
        return rc;
    chunk_servers_follow(&nn->servers, &nn->catalog);
    POST(known >= 0);
    POST((size_t)known < nn->servers.count);
    *number = (uint16_t)known;
    return 0;
}

/* Record the heartbeat itself. */
static void
note_server(struct namenode *nn, uint16_t number, const struct gfs_heartbeat *h)
{
    struct live_server *l;
    PRE(number < nn->servers.count);
    uint64_t now = world_mono_ns(nn->world);
    l = &nn->servers.servers[number];
    if (l->run != h->run || !l->alive) {
        /* The known replicas are those of an earlier run. */
        l->reported = false;
        l->run = h->run;
    }
    l->alive = true;
    l->heard_ns = now;
    l->capacity_bytes = h->capacity_bytes;
    l->free_bytes = h->free_bytes;
    l->chunk_count = h->chunk_count;
    l->load = h->load;
}

static bool must_report(const struct namenode *nn, uint16_t number)
{
    const struct live_server *l = &nn->servers.servers[number];
    return !l->reported || world_mono_ns(nn->world) - l->full_ns >
                               nn->options.full_report_us * 1000;
}

/* --- orders -------------------------------------------------------------- */

static bool put_pending(struct namenode *nn,
                        uint16_t server,
                        const struct pending_order *p,
                        struct gfs_order *o)
{
    const struct chunk *c = chunk_map_get(&nn->catalog.names.chunks, p->handle);
    if (!c || !c->sealed)
        return false;
    *o = (struct gfs_order){.kind = p->kind,
                            .handle = c->handle,
                            .version = c->version,
                            .length = c->length};
    if (p->kind != GFS_ORDER_COPY)
        return true;
    for (unsigned i = 0; i < c->replica_count; i++) {
        uint16_t from = c->replicas[i];
        INVARIANT(o->source_count < ARRAY_LEN(o->sources));
        if (from != server && chunk_server_is_alive(&nn->servers, from))
            o->sources[o->source_count++] =
                slice_str(nn->catalog.servers[from].address);
    }
    return o->source_count > 0;
}

/* Is it still right to delete it? A repair may need the replica by now. */
static bool put_delete(struct namenode *nn,
                       uint16_t server,
                       const struct pending_delete *d,
                       struct gfs_order *o)
{
    const struct chunk *c = chunk_map_get(&nn->catalog.names.chunks, d->handle);
    PRE(server < nn->servers.count);
    if (c && chunk_has_replica(c, server))
        return false;
    if (c && c->replica_count == 0)
        return false;
    *o = (struct gfs_order){
        .kind = GFS_ORDER_DELETE, .handle = d->handle, .version = d->version};
    return true;
}

/* Move the orders that wait for @server to @out. */
static void
take_orders(struct namenode *nn, uint16_t server, struct gfs_orders *out)
{
    struct live_server *l = &nn->servers.servers[server];
    INVARIANT(l->order_count <= l->order_cap);   /* INV-1 of */
    INVARIANT(l->delete_count <= l->delete_cap); /* chunk_servers.h */
    size_t orders = MIN_OF(l->order_count, GFS_ORDERS_MAX / 2);
    size_t deletes = MIN_OF(l->delete_count, GFS_ORDERS_MAX / 2);
    for (size_t i = 0; i < orders; i++)
        out->count +=
            put_pending(nn, server, &l->orders[i], &out->orders[out->count]);
    for (size_t i = 0; i < deletes; i++)
        out->count +=
            put_delete(nn, server, &l->deletes[i], &out->orders[out->count]);
    POST(out->count <= GFS_ORDERS_MAX);
    l->order_count -= orders;
    l->delete_count -= deletes;
    if (l->order_count)
        memmove(l->orders, l->orders + orders,
                l->order_count * sizeof(*l->orders));
    if (l->delete_count)
        memmove(l->deletes, l->deletes + deletes,
                l->delete_count * sizeof(*l->deletes));
}

static bool has_deletes(const struct gfs_orders *o)
{
    for (size_t i = 0; i < o->count; i++)
        if (o->orders[i].kind == GFS_ORDER_DELETE)
            return true;
    return false;
}

int namenode_handle_heartbeat(void *ctx, struct rpc_call *call, struct err *err)
{
    struct namenode *nn = ctx;
    struct gfs_heartbeat h;
    struct gfs_orders orders = {.count = 0};
    struct arena a;
    uint64_t term = nn->term;
    int rc = gfs_heartbeat_get(call->body, &h, err);
    if (rc == 0)
        rc = rights_check_order(&nn->options.rights, call->principal,
                                "be a chunk server", err);
    if (rc == 0)
        rc = namenode_lead(nn, err);
    if (rc == 0)
        rc = find_server(nn, &h, &orders.number, err);
    if (rc)
        return rc;
    note_server(nn, orders.number, &h);
    rc = h.full ? take_full_report(nn, orders.number, call->attachment, err)
                : take_report(nn, orders.number, call->attachment, err);
    if (rc)
        return rc;
    orders.send_full = must_report(nn, orders.number);
    orders.next_handle = nn->catalog.names.chunks.next_handle;
    arena_init(&a);
    orders.orders = arena_zalloc(&a, GFS_ORDERS_MAX * sizeof(*orders.orders));
    take_orders(nn, orders.number, &orders);
    /* A deposed leader that does not know it yet may take chunks that its
     * successor made for garbage: nothing is deleted before leadership is
     * confirmed, and a starting server does not learn from it which chunks
     * exist. */
    if (has_deletes(&orders) || h.full)
        rc = namenode_lead_now(nn, err);
    if (rc == 0 && nn->term != term)
        rc = err_set(err, ERR_UNAVAILABLE, "leadership changed");
    if (rc == 0)
        orders.key_count = namenode_put_keys(nn, orders.keys);
    if (rc == 0)
        gfs_orders_put(&orders, call->reply_body);
    arena_close(&a);
    return rc;
}
