/* Entries of the tablets of this server, and the writes of their records. An
 * entry is locked over a change, which may wait for METADATA for long; the
 * registry's own lock is held for the map and for reference counts alone. Lock
 * order: an entry's, then the registry's. */
#include "bigtable/tablet_server/tablet_registry.h"

#include <string.h>

#include "base/core/fault.h"
#include "base/core/hash_map.h"
#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/store/manifest_state.h"
#include "bigtable/tablet_server/tablet_record_writer.h"
#include "bigtable/wire/metadata.h"

STATIC_ASSERT(STATE_LOADS_MAX == TABLET_LOADS_MAX, "a state has all its loads");

struct registered {
    uint64_t id;         /* First: its key in the map. */
    unsigned references; /* Under the registry's lock. */
    struct mutex lock;   /* Of all below; over a change. */
    struct record_place place;
    struct manifest_state state; /* Its table, and the tablet. */
    uint64_t epoch; /* In which it was loaded; 0: it is a half of a split. */
    uint64_t *logs; /* Of others, with entries that are in no file. Owned. */
    size_t log_count;
    bool loading;
    bool gone; /* Removed, or split. */
};

struct tablet_registry {
    struct registry base;
    struct tablet_registry_options options;
    struct record_writer writer;
    struct mutex lock;       /* Of the map. */
    struct hash_map tablets; /* By id. */
};

/* --- entries ------------------------------------------------------------- */

static struct tablet_registry *of_base(struct registry *r)
{
    return (struct tablet_registry *)r;
}

static struct registered *registered_new(uint64_t id)
{
    struct registered *t = mem_zalloc(1, sizeof(*t));
    t->id = id;
    t->references = 1;
    mutex_init(&t->lock);
    manifest_state_init(&t->state);
    return t;
}

static void registered_free(struct registered *t)
{
    record_place_close(&t->place);
    manifest_state_close(&t->state);
    mem_free(t->logs);
    mutex_close(&t->lock);
    mem_free(t);
}

static void tablet_registry_unref(struct tablet_registry *r,
                                  struct registered *t)
{
    bool last;
    mutex_lock(&r->lock);
    INVARIANT(t->references > 0);
    last = --t->references == 0;
    INVARIANT(!last || t->gone); /* INV-3 */
    mutex_unlock(&r->lock);
    if (last)
        registered_free(t);
}

/* PRE: @t is locked. */
static void registered_check(const struct registered *t)
{
    INVARIANT(t->state.tablet_count == 1); /* INV-1 */
    INVARIANT(t->state.tablets[0].id == t->id);
    INVARIANT(t->log_count < TABLET_LOGS_MAX); /* INV-4 */
    INVARIANT(t->place.location.len > 0);
}

/* Referenced and locked; NULL when it is not here. Parks. */
static struct registered *tablet_registry_take(struct tablet_registry *r,
                                               uint64_t id)
{
    struct registered *t = NULL;
    union hash_value *v;
    mutex_lock(&r->lock);
    v = hash_map_get(&r->tablets, hash_key_u64(&id));
    if (v) {
        t = v->pointer;
        t->references++;
    }
    mutex_unlock(&r->lock);
    if (!t)
        return NULL;
    mutex_lock(&t->lock);
    INVARIANT(t->id == id);
    if (!t->gone) {
        registered_check(t);
        return t;
    }
    mutex_unlock(&t->lock);
    tablet_registry_unref(r, t);
    return NULL;
}

static void tablet_registry_give(struct tablet_registry *r,
                                 struct registered *t)
{
    PRE(mutex_is_held(&t->lock));
    registered_check(t);
    mutex_unlock(&t->lock);
    tablet_registry_unref(r, t);
}

/* Put @t into the map, which takes its first reference. False: its id is there.
 */
static bool tablet_registry_put(struct tablet_registry *r, struct registered *t)
{
    union hash_value *v;
    bool added;
    PRE(!t->gone); /* INV-3 */
    mutex_lock(&r->lock);
    v = hash_map_put(&r->tablets, hash_key_u64(&t->id), &added);
    if (added)
        v->pointer = t;
    mutex_unlock(&r->lock);
    return added;
}

/* Put the new entry @t, and take and lock it. */
static void put_locked(struct tablet_registry *r, struct registered *t)
{
    PRE(t->references == 1);
    t->references++;
    mutex_lock(&t->lock);
    if (!tablet_registry_put(r, t))
        PANIC("the id of a tablet was given twice");
}

static void tablet_registry_drop(struct tablet_registry *r,
                                 struct registered *t)
{
    bool removed;
    PRE(mutex_is_held(&t->lock));
    PRE(!t->gone); /* INV-3 */
    t->gone = true;
    mutex_lock(&r->lock);
    removed = hash_map_remove(&r->tablets, hash_key_u64(&t->id), NULL);
    mutex_unlock(&r->lock);
    INVARIANT(removed);
    tablet_registry_unref(r, t);
}

/* --- states -------------------------------------------------------------- */

static void put_tablet(const struct manifest_tablet *t, struct buf *out)
{
    edit_put_tablet(out, t->id, t->table, buf_slice(&t->start),
                    buf_slice(&t->end), t->groups, t->group_count);
    edit_put_loads(out, t->id, t->loads, t->load_count);
    edit_put_stamp(out, t->id, t->stamped_us);
    edit_put_done(out, t->id, buf_slice(&t->done), true);
    edit_put_changes_of(out, t->id, &t->changes, SLICE_EMPTY, SLICE_EMPTY);
}

static uint64_t file_bytes(const struct manifest_tablet *t)
{
    uint64_t bytes = 0;
    for (size_t g = 0; g < t->group_count; g++)
        for (size_t f = 0; f < t->groups[g].file_count; f++)
            bytes += t->groups[g].files[f].bytes;
    return bytes;
}

/* The logs to be replayed for @t: ours, and those it came with. */
static void put_logs(const struct tablet_registry *r,
                     const struct registered *t,
                     struct tablet_state *s)
{
    PRE(s->log_count == 0);
    PRE(t->log_count < TABLET_LOGS_MAX);
    s->logs[s->log_count++] = r->options.server;
    for (size_t i = 0; i < t->log_count; i++)
        s->logs[s->log_count++] = t->logs[i];
}

/* Encode t:state of @of with @state; @is_logged: with the logs to be replayed.
 */
static void put_state(const struct tablet_registry *r,
                      const struct registered *of,
                      const struct manifest_state *state,
                      bool is_logged,
                      struct buf *out)
{
    const struct manifest_tablet *t = &state->tablets[0];
    struct tablet_state *s;

    PRE(state->tablet_count == 1);
    PRE(t->load_count <= STATE_LOADS_MAX);
    s = mem_zalloc(1, sizeof(*s));
    struct buf groups = BUF_INIT;
    struct buf changes = BUF_INIT;
    edit_put_groups(&groups, t->groups, t->group_count);
    edit_put_changes_part(&changes, &t->changes);
    s->changes = buf_slice(&changes);
    s->groups = buf_slice(&groups);
    s->sequence = state->sequence;
    s->bytes = file_bytes(t);
    if (is_logged)
        put_logs(r, of, s);
    s->stamped_us = t->stamped_us;
    s->done = buf_slice(&t->done);
    s->load_count = t->load_count;
    memcpy(s->loads, t->loads, t->load_count * sizeof(*s->loads));
    tablet_state_put(s, out);
    buf_close(&groups);
    buf_close(&changes);
    mem_free(s);
}

static void put_bounds(const struct manifest_tablet *t, struct buf *out)
{
    const struct tablet_bounds b = {t->id, t->table, buf_slice(&t->start),
                                    buf_slice(&t->end)};
    tablet_bounds_put(&b, out);
}

/* A copy of @from with @edit applied. PANICs on an edit that does not fit. */
static void apply_to_copy(const struct manifest_state *from,
                          struct slice edit,
                          struct manifest_state *out)
{
    struct buf whole = BUF_INIT;
    struct err err = ERR_INIT;
    manifest_state_init(out);
    manifest_state_encode(from, &whole);
    if (manifest_state_apply(out, buf_slice(&whole), &err) != 0 ||
        manifest_state_apply(out, edit, &err) != 0)
        PANIC("an edit of our own does not fit the tablet: %s", err.text);
    buf_close(&whole);
}

static void swap_state(struct registered *t, struct manifest_state *next)
{
    struct manifest_state old = t->state;
    PRE(next->tablet_count == 1);
    PRE(next->tablets[0].id == t->id); /* INV-1 */
    t->state = *next;
    manifest_state_close(&old);
}

/* --- changes ------------------------------------------------------------- */

static int is_lost(struct tablet_registry *r,
                   struct registered *t,
                   int rc,
                   struct err *err)
{
    PRE(mutex_is_held(&t->lock));
    if (rc != ERR_CANCELLED)
        return rc;
    err_wrap(err, "tablet %llu", (unsigned long long)t->id);
    if (r->options.lost)
        r->options.lost(r->options.ctx, t->id);
    return rc;
}

/* Record @next as the state of @t, and keep it; on error it is closed. */
static int write_state(struct tablet_registry *r,
                       struct registered *t,
                       struct manifest_state *next,
                       const char *event,
                       struct err *err)
{
    struct buf state = BUF_INIT;
    struct tablet_row_change c = {.event = event};
    int rc;

    PRE(!t->gone);
    PRE(mutex_is_held(&t->lock));
    put_state(r, t, next, true, &state);
    c.state = buf_slice(&state);
    rc = record_write(&r->writer, &t->place, &c, err);
    buf_close(&state);
    if (rc == 0)
        swap_state(t, next);
    else
        manifest_state_close(next);
    return is_lost(r, t, rc, err);
}

/* A new entry for @tablet, a half of @t. Everything in memory was flushed
 * before the split, so it needs none of the logs that @t came with. */
static struct registered *
tablet_registry_half(const struct registered *t,
                     const struct manifest_state *all,
                     const struct manifest_tablet *tablet)
{
    struct registered *h = registered_new(tablet->id);
    struct buf edit = BUF_INIT;

    PRE(tablet->id != t->id);
    edit_put_counters(&edit, 0, 0, 0, all->sequence);
    edit_put_table(&edit, all->tables[0].id, all->tables[0].name,
                   all->tables[0].schema);
    put_tablet(tablet, &edit);
    if (manifest_state_apply(&h->state, buf_slice(&edit), NULL) != 0)
        PANIC("a half does not fit its table");
    buf_close(&edit);
    metadata_key(tablet->table, buf_slice(&tablet->end), &h->place.key);
    buf_append_slice(&h->place.location, buf_slice(&t->place.location));
    return h;
}

/* Encode the record of the lower half, with its state, for t:split. */
static void
put_half(const struct registered *lower, struct slice state, struct buf *out)
{
    const struct manifest_tablet *t = &lower->state.tablets[0];
    struct tablet_record *record = mem_zalloc(1, sizeof(*record));
    record->bounds = (struct tablet_bounds){
        t->id, t->table, buf_slice(&t->start), buf_slice(&t->end)};
    if (tablet_location_get(buf_slice(&lower->place.location),
                            &record->location, NULL) != 0 ||
        tablet_state_get(state, &record->state, NULL) != 0)
        PANIC("a record of our own cannot be read");
    tablet_record_put(record, out);
    mem_free(record);
}

/* Turn the row of @t into that of @upper, with @lower in t:split. */
static int write_split(struct tablet_registry *r,
                       struct registered *t,
                       struct registered *upper,
                       struct registered *lower,
                       struct err *err)
{
    struct buf upper_state = BUF_INIT;
    struct buf lower_state = BUF_INIT;
    struct buf bounds = BUF_INIT;
    struct buf split = BUF_INIT;
    struct tablet_row_change c = {.event = "split"};
    int rc;
    PRE(!t->gone);
    PRE(tablet_registry_has(r, upper->id)); /* INV-5 */
    PRE(tablet_registry_has(r, lower->id)); /* INV-5 */
    put_state(r, upper, &upper->state, true, &upper_state);
    put_state(r, lower, &lower->state, true, &lower_state);
    put_bounds(&upper->state.tablets[0], &bounds);
    put_half(lower, buf_slice(&lower_state), &split);
    c.state = buf_slice(&upper_state);
    c.bounds = buf_slice(&bounds);
    c.split = buf_slice(&split);
    rc = record_write(&r->writer, &t->place, &c, err);
    if (rc == 0) {
        upper->place.version = t->place.version;
        buf_append_slice(&upper->place.state, buf_slice(&upper_state));
        rc = record_put_half(&r->writer, &upper->place, buf_slice(&split),
                             &lower->place, err);
    }
    buf_close(&upper_state);
    buf_close(&lower_state);
    buf_close(&bounds);
    buf_close(&split);
    return is_lost(r, t, rc, err);
}

static int tablet_registry_split(struct tablet_registry *r,
                                 struct registered *t,
                                 struct manifest_state *next,
                                 struct err *err)
{
    const struct manifest_tablet *a = &next->tablets[0];
    const struct manifest_tablet *b = &next->tablets[1];
    bool first_is_lower =
        slice_cmp(buf_slice(&a->start), buf_slice(&b->start)) < 0;
    struct registered *lower =
        tablet_registry_half(t, next, first_is_lower ? a : b);
    struct registered *upper =
        tablet_registry_half(t, next, first_is_lower ? b : a);
    int rc;

    INVARIANT(slice_eq(buf_slice(&lower->state.tablets[0].end),
                       buf_slice(&upper->state.tablets[0].start)));
    /* INV-5: the master orders to load any tablet that METADATA names, and a
     * half must not be loaded beside the one in memory. */
    put_locked(r, lower);
    put_locked(r, upper);
    rc = fault_hit("tablet.hide_split") ? 0
                                        : write_split(r, t, upper, lower, err);
    manifest_state_close(next);
    if (rc) {
        tablet_registry_drop(r, lower);
        tablet_registry_drop(r, upper);
    } else {
        tablet_registry_drop(r, t);
    }
    tablet_registry_give(r, lower);
    tablet_registry_give(r, upper);
    return rc;
}

static int commit_to(struct tablet_registry *r,
                     struct registered *t,
                     struct slice edit,
                     struct err *err)
{
    struct manifest_state next;
    PRE(mutex_is_held(&t->lock));
    PRE(!t->gone); /* INV-3 */
    apply_to_copy(&t->state, edit, &next);
    if (next.tablet_count == 2) {
        INVARIANT(!t->loading);
        return tablet_registry_split(r, t, &next, err);
    }
    INVARIANT(next.tablet_count == 1);
    INVARIANT(next.tablets[0].id == t->id);
    if (!t->loading)
        return write_state(r, t, &next, NULL, err);
    swap_state(t, &next);
    return 0;
}

static int tablet_registry_commit(struct registry *base,
                                  uint64_t tablet,
                                  struct slice edit,
                                  struct err *err)
{
    struct tablet_registry *r = of_base(base);
    struct registered *t;
    int rc;
    if (tablet == 0)
        return 0; /* A schema: the master has recorded it. */
    t = tablet_registry_take(r, tablet);
    if (!t)
        return err_set(err, ERR_CANCELLED, "tablet %llu is not here any more",
                       (unsigned long long)tablet);
    rc = commit_to(r, t, edit, err);
    tablet_registry_give(r, t);
    return rc;
}

static void tablet_registry_look(struct registry *base,
                                 uint64_t tablet,
                                 registry_look_fn fn,
                                 void *ctx)
{
    struct tablet_registry *r = of_base(base);
    struct registered *t = tablet_registry_take(r, tablet);
    struct manifest_state none;
    manifest_state_init(&none);
    fn(ctx, t ? &t->state : &none);
    if (t)
        tablet_registry_give(r, t);
}

/* --- coming and going ---------------------------------------------------- */

void tablet_origin_close(struct tablet_origin *o)
{
    mem_free(o->logs);
}

/* Build the state of @t from its table and its record. */
static int take_state(struct registered *t,
                      const struct tablet_bounds *b,
                      const struct tablet_state *s,
                      const char *table,
                      const struct schema *schema,
                      struct err *err)
{
    struct buf edit = BUF_INIT;
    int rc;
    edit_put_counters(&edit, 0, 0, 0, s->sequence);
    edit_put_table(&edit, b->table, table, schema);
    edit_put_tablet_of(&edit, b->id, b->table, b->start, b->end, s->groups);
    edit_put_loads(&edit, b->id, s->loads, s->load_count);
    edit_put_stamp(&edit, b->id, s->stamped_us);
    edit_put_done(&edit, b->id, s->done, true);
    edit_put_changes_from(&edit, b->id, s->changes);
    rc = manifest_state_apply(&t->state, buf_slice(&edit), err);
    buf_close(&edit);
    if (rc == 0 &&
        (t->state.tablet_count != 1 || t->state.tablets[0].id != b->id ||
         t->state.tablets[0].table != b->table))
        rc = err_set(err, ERR_CORRUPT, "its state is of another tablet");
    return rc;
}

/* Keep the logs of other servers in @s; ours may be among them, if the tablet
 * was here before. */
static void take_logs(const struct tablet_registry *r,
                      struct registered *t,
                      const struct tablet_state *s)
{
    t->logs = mem_alloc((s->log_count + 1) * sizeof(*t->logs));
    for (size_t i = 0; i < s->log_count; i++)
        if (s->logs[i] != r->options.server)
            t->logs[t->log_count++] = s->logs[i];
}

static void fill_origin(struct tablet_origin *out,
                        const struct tablet_bounds *b,
                        const struct tablet_location *l,
                        const struct tablet_state *s)
{
    *out = (struct tablet_origin){.id = b->id,
                                  .table = b->table,
                                  .epoch = l->epoch,
                                  .sequence = s->sequence,
                                  .log_count = s->log_count};
    out->logs = mem_alloc((s->log_count + 1) * sizeof(*out->logs));
    memcpy(out->logs, s->logs, s->log_count * sizeof(*out->logs));
}

static int tablet_registry_add_row(struct tablet_registry *r,
                                   struct slice key,
                                   const struct tablet_row *row,
                                   struct tablet_state *s,
                                   const char *table,
                                   const struct schema *schema,
                                   struct tablet_origin *out,
                                   struct err *err)
{
    struct tablet_bounds b;
    struct tablet_location l;
    struct registered *t;
    int rc = tablet_bounds_get(buf_slice(&row->bounds), &b, err);
    if (rc == 0)
        rc = tablet_location_get(buf_slice(&row->location), &l, err);
    if (rc == 0 && row->state.len)
        rc = tablet_state_get(buf_slice(&row->state), s, err);
    if (rc)
        return rc;
    if (l.server != r->options.server)
        return err_set(err, ERR_ABORTED, "its server is %llu",
                       (unsigned long long)l.server);
    t = registered_new(b.id);
    t->loading = true;
    t->epoch = l.epoch;
    record_place_init(&t->place, key, row);
    take_logs(r, t, s);
    rc = take_state(t, &b, s, table, schema, err);
    if (rc == 0 && t->log_count == TABLET_LOGS_MAX)
        rc = err_set(err, ERR_TOOBIG, "it needs too many logs");
    INVARIANT(rc || t->state.tablet_count == 1);     /* INV-1 */
    INVARIANT(rc || t->log_count < TABLET_LOGS_MAX); /* INV-4 */
    if (rc == 0 && !tablet_registry_put(r, t))
        rc = err_set(err, ERR_EXISTS, "it is here already");
    if (rc == 0)
        fill_origin(out, &b, &l, s);
    else
        registered_free(t);
    return rc;
}

int tablet_registry_add(struct tablet_registry *r,
                        struct slice key,
                        const struct tablet_row *row,
                        const char *table,
                        const struct schema *schema,
                        struct tablet_origin *out,
                        struct err *err)
{
    struct tablet_state *s = mem_zalloc(1, sizeof(*s));
    int rc = tablet_registry_add_row(r, key, row, s, table, schema, out, err);
    mem_free(s);
    return rc;
}

static struct registered *tablet_registry_need(struct tablet_registry *r,
                                               uint64_t tablet,
                                               struct err *err)
{
    struct registered *t = tablet_registry_take(r, tablet);
    if (!t)
        err_set(err, ERR_CANCELLED, "tablet %llu is not here any more",
                (unsigned long long)tablet);
    POST(!t || mutex_is_held(&t->lock));
    POST(!t || !t->gone); /* INV-3 */
    return t;
}

int tablet_registry_publish(struct tablet_registry *r,
                            uint64_t tablet,
                            bool is_replayed,
                            struct err *err)
{
    struct registered *t = tablet_registry_need(r, tablet, err);
    struct manifest_state next;
    int rc;
    if (!t)
        return ERR_CANCELLED;
    PRE(t->loading);
    if (!is_replayed)
        t->log_count = 0;
    apply_to_copy(&t->state, SLICE_EMPTY, &next);
    rc = write_state(r, t, &next, "loaded", err);
    if (rc == 0)
        t->loading = false;
    tablet_registry_give(r, t);
    return rc;
}

int tablet_registry_settle(struct tablet_registry *r,
                           uint64_t tablet,
                           uint64_t epoch,
                           struct err *err)
{
    struct registered *t = tablet_registry_need(r, tablet, err);
    struct manifest_state next;
    size_t count;
    int rc;
    if (!t)
        return ERR_CANCELLED;
    if (t->epoch != epoch) {
        tablet_registry_give(r, t);
        return err_set(err, ERR_CANCELLED, "tablet %llu came again",
                       (unsigned long long)tablet);
    }
    INVARIANT(!t->loading);
    count = t->log_count;
    t->log_count = 0;
    apply_to_copy(&t->state, SLICE_EMPTY, &next);
    rc = write_state(r, t, &next, NULL, err);
    if (rc)
        t->log_count = count; /* They are replayed again then. */
    tablet_registry_give(r, t);
    return rc;
}

int tablet_registry_release(struct tablet_registry *r,
                            uint64_t tablet,
                            struct err *err)
{
    struct registered *t = tablet_registry_need(r, tablet, err);
    struct tablet_row_change c = {.event = "unloaded"};
    struct tablet_location l;
    struct buf state = BUF_INIT;
    struct buf location = BUF_INIT;
    int rc;
    if (!t)
        return ERR_CANCELLED;
    PRE(!t->loading);
    rc = tablet_location_get(buf_slice(&t->place.location), &l, err);
    INVARIANT(rc == 0);
    INVARIANT(l.server == r->options.server);
    l.server = 0;
    l.address = SLICE_EMPTY;
    tablet_location_put(&l, &location);
    put_state(r, t, &t->state, false, &state);
    c.location = buf_slice(&location);
    c.state = buf_slice(&state);
    rc = record_write(&r->writer, &t->place, &c, err);
    buf_close(&state);
    buf_close(&location);
    rc = is_lost(r, t, rc, err);
    tablet_registry_drop(r, t); /* This was its last change. */
    tablet_registry_give(r, t);
    return rc;
}

void tablet_registry_remove(struct tablet_registry *r, uint64_t tablet)
{
    struct registered *t = tablet_registry_take(r, tablet);
    if (!t)
        return;
    tablet_registry_drop(r, t);
    tablet_registry_give(r, t);
}

bool tablet_registry_has(struct tablet_registry *r, uint64_t tablet)
{
    bool has;
    mutex_lock(&r->lock);
    has = hash_map_get(&r->tablets, hash_key_u64(&tablet)) != NULL;
    mutex_unlock(&r->lock);
    return has;
}

int tablet_registry_finish_split(struct tablet_registry *r,
                                 struct slice key,
                                 const struct tablet_row *row,
                                 struct err *err)
{
    struct record_place place = {.version = 0};
    struct record_place lower = {.version = 0};
    struct tablet_record *record;
    int rc = 0;
    if (row->split.len == 0)
        return 0;
    record = mem_alloc(sizeof(*record));
    record_place_init(&place, key, row);
    rc = tablet_record_get(buf_slice(&row->split), record, err);
    if (rc == 0) {
        metadata_key(record->bounds.table, record->bounds.end, &lower.key);
        rc = record_put_half(&r->writer, &place, buf_slice(&row->split), &lower,
                             err);
    }
    record_place_close(&place);
    record_place_close(&lower);
    mem_free(record);
    return rc;
}

static void free_registry(struct registry *base)
{
    struct tablet_registry *r = of_base(base);
    size_t at = 0;
    struct hash_slot *slot;
    while ((slot = hash_map_next(&r->tablets, &at)) != NULL)
        registered_free(slot->value.pointer);
    hash_map_close(&r->tablets);
    mutex_close(&r->lock);
    mem_free(r);
}

struct tablet_registry *
tablet_registry_new(const struct tablet_registry_options *opts)
{
    static const struct registry_ops ops = {
        tablet_registry_commit, tablet_registry_look, free_registry};
    struct tablet_registry *r = mem_zalloc(1, sizeof(*r));
    PRE(opts->rows);
    r->base.ops = &ops;
    r->options = *opts;
    r->writer = (struct record_writer){.world = opts->world,
                                       .rows = opts->rows,
                                       .is_over = opts->is_over,
                                       .ctx = opts->ctx};
    mutex_init(&r->lock);
    hash_map_init(&r->tablets, HASH_KEYS_BORROWED);
    return r;
}

struct registry *tablet_registry_base(struct tablet_registry *r)
{
    return &r->base;
}
