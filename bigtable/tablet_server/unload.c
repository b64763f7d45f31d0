/* Tablets that leave: by order of the master, by a split, or because their
 * record names another server.
 *
 * An unload flushes beside writers, then closes the tablet to them, flushes
 * what came meanwhile, holds off readers, and empties t:location with one
 * change. The order is answered after that, so that the next server finds all
 * of the tablet in files. */
#include "base/core/panic.h"
#include "base/rpc/channel_set.h"
#include "base/runtime/log.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/store/shared.h"
#include "bigtable/tablet/tablet.h"
#include "bigtable/tablet_server/tablet_server_state.h"

/* The parts of an unload that run on a thread. */
struct unload {
    struct tablet_server *server;
    struct served *served;
    struct err err;
    int rc;
};

static void run_flush(void *arg)
{
    struct unload *u = arg;

    PRE(u->served->table);
    u->rc = store_flush_table(u->server->store, u->served->table, &u->err);
}

static void run_close(void *arg)
{
    struct unload *u = arg;

    PRE(u->served->table);
    u->rc = store_close_table(u->server->store, u->served->table, &u->err);
}

static bool is_there(struct served *t)
{
    struct table_part_view *v;

    PRE(t->table);
    v = table_part_get_view(t->table);
    table_part_view_unref(v);
    return v != NULL;
}

static void unload_forget(struct tablet_server *s, struct served *t)
{
    PRE(t->table); /* INV-2 of struct served. */
    served_leave(&s->served, t);
    tablet_registry_remove(s->registry, t->id);
}

/* Writers are held off, and all is in files: record that nobody serves the
 * tablet, and forget it. */
static int hand_over(struct tablet_server *s, struct served *t, struct err *err)
{
    int rc;

    PRE(atomic_load(&t->phase) == TABLET_UNLOADING);
    PRE(mutex_is_held(&t->table->change_lock));
    /* The next server may serve it before the answer to our write arrives. */
    atomic_store(&t->reads_stopped, true);
    rc = tablet_registry_release(s->registry, t->id, err);
    store_give_up(s->store, t->table);
    unload_forget(s, t);
    return rc;
}

/* PRE: the table has its tablet. */
static int unload_served(struct tablet_server *s,
                         struct served *t,
                         uint64_t *closed_us,
                         struct err *err)
{
    struct unload u = {.server = s, .served = t};
    uint64_t begun_ns;
    int rc;

    PRE(atomic_load(&t->phase) == TABLET_UNLOADING);
    PRE(mutex_is_held(&t->table->change_lock));
    server_in_thread(s, run_flush, &u);
    begun_ns = world_mono_ns(s->world);
    if (u.rc == 0)
        server_in_thread(s, run_close, &u);
    if (u.rc == 0) {
        rc = hand_over(s, t, err);
        *closed_us = (world_mono_ns(s->world) - begun_ns) / 1000;
        log_info(s->world, "tablet", "unload tablet=%llu closed_us=%llu",
                 (unsigned long long)t->id, (unsigned long long)*closed_us);
        return rc;
    }
    if (u.rc == ERR_CANCELLED) { /* Its record names another server. */
        store_give_up(s->store, t->table);
        unload_forget(s, t);
        return not_here(t->id, err);
    }
    tablet_move(t, TABLET_SERVING);
    return err_copy(err, &u.err);
}

/* The tablet is not here. An order to load it may be delayed on its way. After
 * this answer the master gives the tablet to others, so that order must be
 * refused. */
static int unload_refuse(struct tablet_server *s,
                         const struct tablet_order *o,
                         struct err *err)
{
    if (!is_being_made(s, o->tablet) &&
        served_refuse(&s->served, o->tablet, o->epoch))
        return not_here(o->tablet, err);
    return err_set(err, ERR_UNAVAILABLE, "tablet %llu comes just now",
                   (unsigned long long)o->tablet);
}

int unload_tablet(struct tablet_server *s,
                  const struct tablet_order *o,
                  uint64_t *closed_us,
                  struct err *err)
{
    struct served *t = served_find(&s->served, o->tablet);
    enum tablet_phase now;
    int rc;
    if (!t || t->epoch != o->epoch) {
        served_unref(t);
        return unload_refuse(s, o, err);
    }
    if (!tablet_begin_unload(t, &now)) {
        served_unref(t);
        return err_set(err, ERR_UNAVAILABLE, "tablet %llu is %s",
                       (unsigned long long)o->tablet,
                       now == TABLET_LOADING ? "being loaded"
                                             : "being unloaded");
    }
    INVARIANT(t->table); /* INV-2 of struct served. */
    mutex_lock(&t->table->change_lock);
    rc = is_there(t) ? unload_served(s, t, closed_us, err)
                     : not_here(o->tablet, err);
    mutex_unlock(&t->table->change_lock);
    served_unref(t);
    return rc;
}

void give_up_tablet(struct tablet_server *s, uint64_t id)
{
    struct served *t = served_find(&s->served, id);
    if (!t)
        return;
    if (t->table) {
        atomic_fetch_add(&s->lost_count, 1);
        log_warn(s->world, "tablet", "tablet %llu is another server's now",
                 (unsigned long long)id);
        atomic_store(&t->reads_stopped, true);
        mutex_lock(&t->table->change_lock);
        store_give_up(s->store, t->table);
        mutex_unlock(&t->table->change_lock);
        unload_forget(s, t);
    }
    served_unref(t);
}

/* --- splits -------------------------------------------------------------- */

/* A hint to the master, which finds the halves by itself later. */
static void report_split(struct tablet_server *s, uint64_t parent)
{
    const struct tablet_order o = {.server = s->number, .tablet = parent};
    const struct rpc_call_options opts = {.timeout_us = 1000000};
    struct buf address = BUF_INIT;
    struct buf body = BUF_INIT;
    struct err err = ERR_INIT;
    int rc = session_find_master(s->session, &address, &err);
    PRE(s->number != 0); /* INV-1 */
    tablet_order_put(&o, &body);
    if (rc == 0)
        rc = channel_set_call(s->channels, buf_slice(&address),
                              MASTER_REPORT_SPLIT, &opts, buf_slice(&body),
                              SLICE_EMPTY, NULL, NULL, &err);
    if (rc)
        log_debug(s->world, "tablet", "split not reported: %s", err.text);
    buf_close(&address);
    buf_close(&body);
}

static uint64_t only_tablet(struct table_part *t)
{
    struct table_part_view *v = table_part_get_view(t);
    uint64_t id = v->tablets[0]->id;
    INVARIANT(v->tablet_count == 1);
    table_part_view_unref(v);
    return id;
}

void tablet_was_split(void *ctx,
                      struct table_part *old,
                      struct table_part *const *halves,
                      size_t count)
{
    struct tablet_server *s = ctx;
    uint64_t parent = only_tablet(old);
    struct served *from = served_find(&s->served, parent);
    PRE(from);
    for (size_t i = 0; i < count; i++) {
        struct served *t =
            served_add(&s->served, only_tablet(halves[i]), from->epoch);
        PRE(t);
        t->table_id = from->table_id;
        t->meters = from->meters;
        served_start(&s->served, t, halves[i], world_now_us(s->world));
        served_unref(t);
    }
    served_remove(&s->served, from);
    served_unref(from);
    server_spawn(s, report_split, parent);
}
