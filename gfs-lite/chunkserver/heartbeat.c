/* Heartbeats: reports of the chunks that changed, or of all, to the leading
 * namenode, and its orders, executed in turn. A report that is lost is sent
 * again in full, because deletions leave nothing to report individually.
 */
#include "base/core/arena.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/world.h"
#include "gfs-lite/chunkserver/chunkserver_state.h"

/* This part of the disk stays free: a full one fails in too many ways. */
#define RESERVE_FRACTION 100

int chunkserver_get_space(struct chunkserver *cs,
                          uint64_t *capacity_bytes,
                          uint64_t *free_bytes,
                          struct err *err)
{
    int rc =
        world_space(cs->world, cs->store->dir, capacity_bytes, free_bytes, err);
    if (rc)
        return rc;
    *free_bytes -= MIN_OF(*free_bytes, *capacity_bytes / RESERVE_FRACTION);
    return 0;
}

/* --- orders -------------------------------------------------------------- */

static void delete_chunk(struct chunkserver *cs, const struct gfs_order *o)
{
    struct stored_chunk *c = chunk_store_get(cs->store, o->handle);
    if (!c)
        return;
    if (c->version <= o->version) {
        /* Its writer may still send bytes: they must not make an empty chunk,
         * which readers would take for the whole. */
        cs->unmade[cs->unmade_count++ % UNMADE_MAX] = o->handle;
        chunk_store_delete(cs->store, c);
    }
    chunk_store_put(cs->store, c);
}

static void seal_chunk(struct chunkserver *cs, const struct gfs_order *o)
{
    struct stored_chunk *c = chunk_store_get(cs->store, o->handle);
    struct err err = ERR_INIT;
    if (!c)
        return;
    if (chunkserver_seal(cs, c, o->version, o->length, &err)) {
        log_warn(cs->world, "chunk", "cannot seal chunk %llu: %s",
                 (unsigned long long)c->handle, err.text);
        /* The bytes here are not those of the file. */
        c->failed = err.code;
        chunk_store_report(cs->store, c);
    }
    chunk_store_put(cs->store, c);
}

static void heartbeat_follow(struct chunkserver *cs,
                             const struct gfs_orders *orders)
{
    for (size_t i = 0; i < orders->count && !cs->stopping; i++) {
        const struct gfs_order *o = &orders->orders[i];
        switch (o->kind) {
        case GFS_ORDER_DELETE: delete_chunk(cs, o); break;
        case GFS_ORDER_COPY: chunkserver_add_copy(cs, o); break;
        case GFS_ORDER_SEAL: seal_chunk(cs, o); break;
        }
    }
}

/* --- reports ------------------------------------------------------------- */

/* The changes that one heartbeat reports, to be restored if it is lost. */
struct report {
    uint64_t *handles; /* Owned. */
    size_t count;
    bool full;
};

static void take_changes(struct chunkserver *cs, struct report *r)
{
    struct chunk_store *s = cs->store;
    PRE(s->changed_count <= s->changed_cap);
    *r = (struct report){s->changed, s->changed_count, cs->send_full};
    s->changed = NULL;
    s->changed_count = 0;
    s->changed_cap = 0;
    for (size_t i = 0; i < r->count; i++) {
        struct stored_chunk *c = id_map_get(&s->chunks, r->handles[i]);
        if (c)
            c->listed = false;
    }
    POST(s->changed_count == 0);
    cs->send_full = false;
}

static void give_back(struct chunkserver *cs, const struct report *r)
{
    PRE(r->handles || r->count == 0);
    /* Deleted chunks are in no table: only a full report shows them. */
    cs->send_full = true;
    for (size_t i = 0; i < r->count; i++) {
        struct stored_chunk *c = id_map_get(&cs->store->chunks, r->handles[i]);
        if (c)
            chunk_store_report(cs->store, c);
    }
}

static int heartbeat_exchange(struct chunkserver *cs,
                              const struct report *r,
                              struct arena *a,
                              struct gfs_orders *orders,
                              struct buf *reply,
                              struct err *err)
{
    struct gfs_heartbeat h = {.own_id = cs->store->own_id,
                              .address = slice_str(cs->address),
                              .machine = slice_str(cs->machine),
                              .rack = slice_str(cs->rack),
                              .chunk_count = cs->store->chunks.count,
                              .load = (uint32_t)(cs->copying + cs->copy_count),
                              .full = r->full,
                              .run = cs->run};
    struct buf body = BUF_INIT;
    struct buf report = BUF_INIT;
    int rc;
    PRE(cs->address);
    PRE(cs->machine);
    /* A disk that does not answer has no room. */
    (void)!chunkserver_get_space(cs, &h.capacity_bytes, &h.free_bytes, NULL);
    if (r->full)
        chunk_store_put_full_report(cs->store, &report);
    else
        chunk_store_put_report(cs->store, r->handles, r->count, &report);
    gfs_heartbeat_put(&h, &body);
    rc = leader_call(cs->leader, GFS_HEARTBEAT, 3 * cs->heartbeat_us + 1000000,
                     buf_slice(&body), buf_slice(&report), reply, NULL, err);
    if (rc == 0)
        rc = gfs_orders_get(buf_slice(reply), a, orders, err);
    buf_close(&body);
    buf_close(&report);
    return rc;
}

static void heartbeat_beat(struct chunkserver *cs)
{
    struct gfs_orders orders = {.count = 0};
    struct buf reply = BUF_INIT;
    struct err err = ERR_INIT;
    struct report r;
    struct arena a;
    int rc;
    arena_init(&a);
    take_changes(cs, &r);
    rc = heartbeat_exchange(cs, &r, &a, &orders, &reply, &err);
    if (rc)
        give_back(cs, &r);
    if (rc && cs->is_connected)
        log_warn(cs->world, "chunk", "no namenode takes the report: %s",
                 err.text);
    cs->is_connected = rc == 0;
    if (rc == 0) {
        if (r.full && cs->make_from == UINT64_MAX)
            cs->make_from = orders.next_handle;
        cs->send_full |= orders.send_full;
        chunkserver_take_keys(cs, &orders);
        heartbeat_follow(cs, &orders);
    }
    mem_free(r.handles);
    arena_close(&a);
    buf_close(&reply);
}

void chunkserver_run_heart(void *arg)
{
    struct chunkserver *cs = arg;
    cs->send_full = true;
    while (!cs->stopping && fiber_check(NULL) == 0) {
        heartbeat_beat(cs);
        /* A full report that the namenode waits for is sent at once. */
        if (!cs->stopping && !cs->send_full)
            world_sleep_us(cs->world,
                           cs->heartbeat_us / 2 +
                               world_random(cs->world) % cs->heartbeat_us);
        else if (!cs->is_connected)
            world_sleep_us(cs->world, cs->heartbeat_us / 4);
    }
}
