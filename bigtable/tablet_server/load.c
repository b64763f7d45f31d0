/* Loading a tablet, by order of the master: read its record, check that it
 * names this server with the epoch of the order, open its files, and replay the
 * rows that are only in logs of dead servers.
 *
 * The tablet is served once t:state names this server's log beside those logs.
 * Replayed rows are then in memtables; a fiber writes them to files and takes
 * the other logs out of t:state ("settling"). A server that dies before the
 * record is written has changed nothing. */
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/log.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/lsm/lsm.h"
#include "bigtable/row/logged_mutation.h"
#include "bigtable/store/background.h"
#include "bigtable/store/manifest_state.h"
#include "bigtable/store/open_tablet.h"
#include "bigtable/store/shared.h"
#include "bigtable/tablet/done_changes.h"
#include "bigtable/tablet/tablet.h"
#include "bigtable/tablet/tablet_changes.h"
#include "bigtable/tablet_server/log_replay.h"
#include "bigtable/tablet_server/tablet_server_state.h"
#include "bigtable/wire/metadata.h"

/* Replayed rows are written to SSTables when they exceed this. */
#define REPLAY_BYTES_MAX ((uint64_t)64 << 20)
/* Loads of users' tablets at once: each may hold that much memory. */
#define LOADS_MAX 8

/* A load; its files are opened, and logs replayed, on a thread. */
struct load {
    struct tablet_server *server;
    const struct tablet_order *order;
    struct tablet_origin origin;
    struct table_part *table;
    struct table_part_view *view; /* Its schema, without tablets. */
    struct tablet *tablet;
    uint64_t sequence;   /* Highest that was replayed. */
    uint64_t bytes;      /* In memtables, and served from there. */
    bool begins_changes; /* It keeps its changes from now on, */
    bool ends_changes;   /* or no more. */
    struct buf scratch;
    struct err err;
    int rc;
};

/* --- the thread ---------------------------------------------------------- */

static void open_files(void *ctx, const struct manifest_state *state)
{
    struct load *l = ctx;
    const struct changes_record fresh = {.on = true};
    const struct manifest_tablet *t =
        manifest_state_tablet(state, l->origin.id);

    PRE(!l->tablet);
    if (!t) {
        l->rc = err_set(&l->err, ERR_CANCELLED, "it was given up");
        return;
    }
    table_part_note_stamp(l->table, t->stamped_us);
    l->rc = done_changes_decode(l->table->done, buf_slice(&t->done), &l->err);
    if (l->rc)
        return;
    l->begins_changes = l->view->schema->changes_us && !t->changes.on;
    l->ends_changes = !l->view->schema->changes_us && t->changes.on;
    l->rc = tablet_open(l->server->store, l->table, t->id, buf_slice(&t->start),
                        buf_slice(&t->end), l->view->schema, t->groups,
                        t->group_count,
                        l->begins_changes ? &fresh
                        : l->ends_changes ? NULL
                                          : &t->changes,
                        &l->tablet, &l->err);
}

/* Entries are in the order of rows; changes are in the order of their numbers.
 */
static void begin_changes(const struct load *l)
{
    if (atomic_load(&l->tablet->changes->on))
        tablet_changes_begin_loose(l->tablet->changes);
}

static void end_changes(const struct load *l)
{
    if (atomic_load(&l->tablet->changes->on))
        tablet_changes_end_loose(l->tablet);
}

/* The table began, or ceased, to keep changes when the tablet was nowhere: it
 * is recorded with what else is published. */
static int switch_changes(struct load *l, struct err *err)
{
    int64_t stamped_us = (int64_t)atomic_load(&l->table->stamped_us);
    int64_t now_us = (int64_t)world_now_us(l->server->store->world);
    bool is_empty = tablet_table_bytes(l->tablet) == 0 &&
                    tablet_last_sequence(l->tablet) == 0;
    PRE(!(l->begins_changes && l->ends_changes));
    const struct changes_edit begin = {
        .floor = MAX_OF(l->origin.sequence, l->sequence),
        .floor_us = is_empty ? stamped_us : MAX_OF(stamped_us, now_us)};
    struct buf edit = BUF_INIT;
    int rc;
    if (!l->begins_changes && !l->ends_changes)
        return 0;
    if (l->begins_changes) {
        tablet_changes_reset(l->tablet->changes, true, begin.floor,
                             begin.floor_us);
        edit_put_changes(&edit, l->origin.id, &begin);
    } else {
        edit_drop_changes(&edit, l->origin.id);
    }
    rc = registry_commit(l->server->store->registry, l->origin.id,
                         buf_slice(&edit), err);
    buf_close(&edit);
    return rc;
}

/* Entries were not inserted in the order of their sequence numbers: set the
 * highest of each memtable. */
static void note_highest(const struct load *l)
{
    PRE(l->tablet);
    for (size_t i = 0; i < atomic_load(&l->tablet->group_count); i++) {
        struct tablet_group *g = l->tablet->groups[i];
        if (!tablet_group_is_clean(g))
            atomic_store(&g->last_sequence, l->sequence);
    }
}

/* Write the memtables to files. They arrive by rows, so no sequence number is
 * known up to which all entries are there: 0. */
static int tablet_load_flush(struct load *l, struct err *err)
{
    int rc = 0;

    PRE(l->tablet);
    for (size_t i = 0; i < atomic_load(&l->tablet->group_count) && rc == 0;
         i++) {
        struct tablet_group *g = l->tablet->groups[i];
        tablet_group_freeze(g, 0);
        rc = lsm_flush(g->lsm, err);
    }
    l->bytes = 0;
    return rc;
}

static int tablet_load_replay(void *ctx,
                              const struct logged_mutation *m,
                              uint64_t sequence,
                              struct err *err)
{
    struct load *l = ctx;
    PRE(l->view);
    l->bytes += write_replay_mutation(l->view, l->tablet, m, sequence, NULL,
                                      &l->scratch);
    l->sequence = MAX_OF(l->sequence, sequence + m->count - 1);
    /* A file of changes has all of them up to a number. */
    if (l->bytes < REPLAY_BYTES_MAX || atomic_load(&l->tablet->changes->on))
        return 0;
    return tablet_load_flush(l, err);
}

static int replay_all(struct load *l, struct err *err)
{
    const struct tablet_order *o = l->order;
    int rc;
    PRE(l->table);
    PRE(l->tablet);
    begin_changes(l);
    rc = replay_logs(l->server, &l->origin, buf_slice(&l->tablet->start),
                     buf_slice(&l->tablet->end), o->sequencer, o->holders,
                     tablet_load_replay, l, err);
    if (rc == 0)
        note_highest(l);
    end_changes(l);
    return rc;
}

static void run_load(void *arg)
{
    struct load *l = arg;

    PRE(l->table);
    PRE(l->view);
    registry_look(l->server->store->registry, l->origin.id, open_files, l);
    if (l->rc == 0)
        l->rc = replay_all(l, &l->err);
    if (l->rc == 0)
        l->rc = switch_changes(l, &l->err);
}

/* --- the order ----------------------------------------------------------- */

static int check_row(const struct tablet_server *s,
                     const struct tablet_order *o,
                     const struct tablet_row *row,
                     struct tablet_bounds *b,
                     struct err *err)
{
    struct tablet_location l;
    int rc = tablet_location_get(buf_slice(&row->location), &l, err);
    if (rc == 0)
        rc = tablet_bounds_get(buf_slice(&row->bounds), b, err);
    if (rc)
        return rc;
    if (l.server != s->number || l.epoch != o->epoch || b->id != o->tablet)
        return err_set(err, ERR_ABORTED,
                       "the record says tablet %llu, server %llu, epoch %llu",
                       (unsigned long long)b->id, (unsigned long long)l.server,
                       (unsigned long long)l.epoch);
    return 0;
}

static void close_load(struct load *l)
{
    tablet_unref(l->tablet);
    if (l->table)
        table_part_set_view(l->table, NULL);
    table_part_view_unref(l->view);
    table_part_unref(l->table);
    tablet_origin_close(&l->origin);
    buf_close(&l->scratch);
}

/* Raise the sequence numbers above all that the tablet has had, then record it.
 */
static int open_tablet(struct load *l, struct err *err)
{
    struct tablet_server *s = l->server;
    server_in_thread(s, run_load, l);
    if (l->rc)
        return err_copy(err, &l->err);
    POST(l->tablet);
    POST(l->tablet->id == l->origin.id);
    write_queue_raise(&s->store->env, MAX_OF(l->origin.sequence, l->sequence));
    return tablet_registry_publish(s->registry, l->origin.id, l->bytes > 0,
                                   err);
}

static void begin_load(struct tablet_server *s)
{
    mutex_lock(&s->load_lock);
    while (s->loads == LOADS_MAX)
        cond_wait(&s->load_done, &s->load_lock);
    s->loads++;
    INVARIANT(s->loads <= LOADS_MAX);
    mutex_unlock(&s->load_lock);
}

static void end_load(struct tablet_server *s)
{
    mutex_lock(&s->load_lock);
    INVARIANT(s->loads > 0);
    s->loads--;
    cond_broadcast(&s->load_done);
    mutex_unlock(&s->load_lock);
}

/* Settling waits for all loads. */
static void begin_settling(struct tablet_server *s)
{
    mutex_lock(&s->load_lock);
    while (s->loads > 0)
        cond_wait(&s->load_done, &s->load_lock);
    s->loads++;
    mutex_unlock(&s->load_lock);
}

/* Writing replayed rows to files, on a thread. */
struct settling {
    struct tablet_server *server;
    struct served *served;
    struct err err;
    int rc;
};

static void run_settling(void *arg)
{
    struct settling *z = arg;

    PRE(z->served);
    PRE(z->served->table); /* INV-2 of struct served. */
    z->rc = store_flush_table(z->server->store, z->served->table, &z->err);
}

/* Write the replayed rows to files, so that the other logs are not needed any
 * more. If that fails, t:state still names them, for the next load. */
static void tablet_load_settle(struct tablet_server *s, uint64_t id)
{
    struct settling z = {.server = s};
    begin_settling(s);
    z.served = served_find(&s->served, id);
    if (z.served && z.served->table) {
        server_in_thread(s, run_settling, &z);
        if (z.rc == 0)
            z.rc = tablet_registry_settle(s->registry, id, z.served->epoch,
                                          &z.err);
        if (z.rc && z.rc != ERR_CANCELLED)
            log_warn(s->world, "tablet", "settle tablet %llu: %s",
                     (unsigned long long)id, z.err.text);
    }
    served_unref(z.served);
    end_load(s);
}

/* The record names this server: serve the tablet from now on. */
static void tablet_load_serve(struct load *l, struct served *t)
{
    struct tablet_server *s = l->server;
    uint64_t id = l->tablet->id;

    PRE(id == t->id);
    PRE(l->origin.epoch == t->epoch);
    table_part_set_view(l->table, table_part_view_new(l->view->schema,
                                                      l->view->generation,
                                                      &l->tablet, 1));
    if (t->is_root)
        l->tablet->split_failed = true; /* It is never split. */
    l->tablet = NULL;
    store_add_table(s->store, l->table);
    t->recovered = l->bytes > 0;
    t->meters = table_meters_find(s->options.metrics, l->table->name);
    served_start(&s->served, t, l->table, world_now_us(s->world));
    table_part_unref(l->table);
    l->table = NULL;
    if (l->bytes == 0)
        return;
    background_count_memory(s->store);
    server_spawn(s, tablet_load_settle, id);
}

static int load_row(struct tablet_server *s,
                    const struct tablet_order *o,
                    const struct tablet_row *row,
                    struct served *t,
                    struct err *err)
{
    struct load l = {.server = s, .order = o};
    struct table_schema schema = {.id = 0};
    struct tablet_bounds b;
    int rc = check_row(s, o, row, &b, err);
    if (rc == 0)
        rc = tablet_registry_finish_split(s->registry, o->key, row, err);
    if (rc == 0)
        rc = schemas_find(s, b.table, &schema, err);
    if (rc)
        return rc;
    l.table = table_part_new(b.table, schema.name, done_changes_new(s->world));
    l.table->is_system = b.table == METADATA_TABLE_ID;
    l.view = table_part_view_new(schema.schema, schema.generation, NULL, 0);
    rc = tablet_registry_add(s->registry, o->key, row, schema.name,
                             schema.schema, &l.origin, err);
    table_schema_close(&schema);
    if (rc == 0) {
        INVARIANT(l.origin.id == t->id);
        INVARIANT(l.origin.table == b.table);
        t->table_id = b.table;
        table_part_set_view(
            l.table,
            table_part_view_new(l.view->schema, l.view->generation, NULL, 0));
        rc = open_tablet(&l, err);
        if (rc == 0)
            tablet_load_serve(&l, t);
        else
            tablet_registry_remove(s->registry, l.origin.id);
    }
    close_load(&l);
    return rc;
}

/* The schema may have changed before the tablet was served, when no order about
 * it could reach the tablet. */
static void refresh_schema(struct tablet_server *s, struct served *t)
{
    struct table_schema schema;
    struct err err = ERR_INIT;
    int rc = schemas_find(s, t->table_id, &schema, &err);

    PRE(t->table); /* It is served. */
    PRE(t->table->id == t->table_id);
    if (rc == 0)
        rc = schemas_apply(s, t->table, schema.schema, schema.generation, &err);
    table_schema_close(&schema);
    if (rc)
        log_warn(s->world, "tablet", "schema of table %llu: %s",
                 (unsigned long long)t->table_id, err.text);
}

static int load_new(struct tablet_server *s,
                    const struct tablet_order *o,
                    struct served *t,
                    struct err *err)
{
    struct tablet_row row = {.version = 0};
    struct tablet_rows *rows;
    int rc;

    PRE(!t->table);
    t->is_root = o->key.len == 0;
    rc = server_rows(s, o->key, &rows, err);
    if (rc == 0)
        rc = tablet_rows_read(rows, o->key, &row, err);
    if (rc == 0)
        rc = load_row(s, o, &row, t, err);
    tablet_row_close(&row);
    if (rc == 0)
        refresh_schema(s, t);
    return rc;
}

/* The tablet is here already: loading, serving or unloading; or it has left. */
static int tablet_load_await(struct tablet_server *s,
                             const struct tablet_order *o,
                             struct err *err)
{
    struct served *t = served_find(&s->served, o->tablet);
    enum tablet_phase phase;
    if (!t && served_has_left(&s->served, o->tablet, o->epoch))
        return err_set(err, ERR_ABORTED, "it has left in epoch %llu",
                       (unsigned long long)o->epoch);
    if (!t)
        return err_set(err, ERR_UNAVAILABLE, "it was here until just now");
    mutex_lock(&s->served.lock);
    while (atomic_load(&t->phase) == TABLET_LOADING &&
           hash_map_get(&s->served.map, hash_key_u64(&o->tablet)))
        cond_wait(&s->served.changed, &s->served.lock);
    phase = atomic_load(&t->phase);
    INVARIANT(phase == TABLET_LOADING || t->table); /* INV-2 */
    mutex_unlock(&s->served.lock);
    served_unref(t);
    if (phase == TABLET_SERVING)
        return err_set(err, ERR_EXISTS, "it is served already");
    return err_set(err, ERR_UNAVAILABLE, "it could not be loaded");
}

/* Is it a tablet of METADATA? Other loads may wait for it, so it must not wait
 * for them. */
static bool is_system(const struct tablet_order *o)
{
    struct slice end;
    uint64_t table;
    return o->key.len == 0 ||
           (metadata_key_read(o->key, &table, &end, NULL) == 0 &&
            table == METADATA_TABLE_ID);
}

bool is_being_made(struct tablet_server *s, uint64_t tablet)
{
    struct served *t = served_find(&s->served, tablet);
    served_unref(t);
    return !t && tablet_registry_has(s->registry, tablet);
}

int load_tablet(struct tablet_server *s,
                const struct tablet_order *o,
                struct err *err)
{
    struct served *t;
    uint64_t start_ns = world_mono_ns(s->world);
    int rc;
    PRE(atomic_load(&s->ready)); /* INV-1 */
    if (is_being_made(s, o->tablet))
        return err_set(err, ERR_UNAVAILABLE, "it comes of a split just now");
    t = served_add(&s->served, o->tablet, o->epoch);
    if (!t)
        return tablet_load_await(s, o, err);
    if (!is_system(o))
        begin_load(s);
    rc = load_new(s, o, t, err);
    if (!is_system(o))
        end_load(s);
    if (rc) {
        served_remove(&s->served, t);
        err_wrap(err, "load tablet %llu", (unsigned long long)o->tablet);
        log_warn(s->world, "tablet", "%s", err ? err->text : "");
    } else {
        metric_observe_long(t->recovered ? &s->recovery_seconds
                                         : &s->load_seconds,
                            world_mono_ns(s->world) - start_ns);
        log_debug(s->world, "tablet",
                  "loaded tablet=%llu epoch=%llu recovered=%d us=%llu",
                  (unsigned long long)o->tablet, (unsigned long long)o->epoch,
                  t->recovered,
                  (unsigned long long)(world_mono_ns(s->world) - start_ns) /
                      1000);
    }
    POST(rc || t->table); /* INV-2 of struct served. */
    served_unref(t);
    return rc;
}
