/* Tablets: opening, retiring, snapshots, and the hooks their lsm calls back. A
 * hook turns a change of a group's files into an edit of the registry, and
 * counts references to files that tablets share.
 */
#include "bigtable/store/tablet.h"

#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/log/write_log.h"
#include "bigtable/read/gc_filter.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/store/manifest.h"
#include "bigtable/store/store.h"
#include "bigtable/write/done_changes.h"

/* --- hooks --------------------------------------------------------------- */

static uint64_t hook_new_number(void *ctx)
{
    struct tablet_group *g = ctx;
    return file_numbers_take(&g->tablet->store->numbers);
}

static void hook_decided(void *ctx, uint64_t number)
{
    struct tablet_group *g = ctx;
    file_numbers_decide(&g->tablet->store->numbers, number);
}

static void forget_file(struct tablet_group *g, uint64_t number)
{
    for (size_t i = 0; i < g->file_count; i++) {
        if (g->files[i].number != number)
            continue;
        if (g->files[i].crossing)
            atomic_fetch_sub(&g->crossing_count, 1);
        g->files[i] = g->files[--g->file_count];
        return;
    }
}

static bool is_crossing(const struct tablet *t, const struct lsm_table *f)
{
    return slice_cmp(f->first_key, buf_slice(&t->start_key)) < 0 ||
           (t->end_key.len &&
            slice_cmp(f->last_key, buf_slice(&t->end_key)) >= 0);
}

static void remember_file(struct tablet_group *g, const struct lsm_table *f)
{
    bool crossing = is_crossing(g->tablet, f);
    g->files = mem_realloc(g->files, (g->file_count + 1) * sizeof(*g->files));
    g->files[g->file_count++] = (struct tablet_file){f->number, crossing};
    atomic_fetch_add(&g->crossing_count, crossing);
    file_refs_add(&g->tablet->store->files, f->number);
}

/* A row may have been written to several groups. When one of them becomes
 * durable, so must the others: by the log. */
static int
secure_other_groups(struct tablet_group *g, uint64_t sequence, struct err *err)
{
    struct store *s = g->tablet->store;
    if (atomic_load(&g->tablet->group_count) == 1 ||
        write_log_synced_sequence(s->log) >= sequence)
        return 0;
    return write_log_sync(s->log, err);
}

/* The done changes and the newest stamp, which the log will not keep for
 * entries that are in SSTables. */
static void put_memory(const struct tablet *t, struct buf *edit)
{
    struct buf done = BUF_INIT;
    edit_put_stamp(edit, t->id, (int64_t)atomic_load(&t->table->stamped_us));
    if (t->table->done) {
        done_changes_encode(t->table->done, &done);
        edit_put_done(edit, t->id, buf_slice(&done), false);
    }
    buf_close(&done);
}

static int commit_edit(struct tablet_group *g,
                       const struct lsm_edit *edit,
                       struct err *err)
{
    struct store *s = g->tablet->store;
    struct buf bytes = BUF_INIT;
    int rc = 0;
    if (atomic_load(&g->retired))
        return err_set(err, ERR_CANCELLED, "the tablet is in use no more");
    if (edit->flushed_sequence)
        rc = secure_other_groups(g, edit->flushed_sequence, err);
    if (rc)
        return rc;
    edit_change_group(&bytes, g->tablet->id, g->id, edit);
    if (edit->flushed_sequence)
        put_memory(g->tablet, &bytes);
    rc = store_commit(s, g->tablet->id, &bytes, err);
    buf_close(&bytes);
    if (rc == ERR_CANCELLED || rc == ERR_CLOSED)
        atomic_store(&g->tablet->lost, true);
    if (rc)
        return rc;
    for (size_t i = 0; i < edit->added_count; i++)
        remember_file(g, &edit->added[i]);
    for (size_t i = 0; i < edit->removed_count; i++)
        forget_file(g, edit->removed[i]);
    return 0;
}

static int hook_commit(void *ctx,
                       struct lsm *lsm,
                       const struct lsm_edit *edit,
                       struct err *err)
{
    struct tablet_group *g = ctx;
    int rc;
    (void)lsm;
    mutex_lock(&g->edit_lock);
    rc = commit_edit(g, edit, err);
    mutex_unlock(&g->edit_lock);
    return rc;
}

/* Not already when the edit is committed: those who wait for a flush look at
 * the group's tables next, and a compaction on demand merges them. */
static void hook_flushed(void *ctx, uint64_t sequence)
{
    struct tablet_group *g = ctx;
    if (sequence > atomic_load(&g->flushed_sequence))
        atomic_store(&g->flushed_sequence, sequence);
}

static void hook_unlink(void *ctx, uint64_t number)
{
    struct tablet_group *g = ctx;
    store_drop_file(g->tablet->store, number);
}

static struct lsm_filter *hook_new_filter(void *ctx, struct lsm *lsm)
{
    struct tablet_group *g = ctx;
    (void)lsm;
    return gc_filter_new(g->tablet->table, store_drop_age_us(g->tablet->store));
}

static void hook_free_filter(void *ctx, struct lsm_filter *f)
{
    (void)ctx;
    gc_filter_free(f);
}

/* --- groups -------------------------------------------------------------- */

static int open_group(struct tablet *t,
                      const struct locality_group *group,
                      const struct manifest_group *from,
                      struct err *err)
{
    struct tablet_group *g = mem_zalloc(1, sizeof(*g));
    size_t index = atomic_load(&t->group_count);
    struct lsm_options opts = {
        .fs = t->store->fs,
        .dir = STORE_TABLES_DIR,
        .cache = t->store->cache,
        .group = group->options,
        .hooks = {g, hook_new_number, hook_decided, hook_commit, hook_flushed,
                  hook_unlink, hook_new_filter, hook_free_filter},
        .lower = buf_slice(&t->start_key),
        .upper = buf_slice(&t->end_key),
        .commits_are_shared = t->store->sharing != NULL,
    };
    int rc;
    g->tablet = t;
    g->id = group->id;
    g->memtable_bytes = group->options.memtable_bytes;
    rc = lsm_open(&opts, from ? from->files : NULL, from ? from->file_count : 0,
                  &g->lsm, err);
    if (rc) {
        mem_free(g);
        err_wrap(err, "table %s: group %s", t->table->name, group->name);
        return rc;
    }
    mutex_init(&g->edit_lock);
    if (from) {
        atomic_store(&g->flushed_sequence, from->flushed_sequence);
        for (size_t i = 0; i < from->file_count; i++)
            remember_file(g, &from->files[i]);
    }
    t->groups[index] = g;
    atomic_store(&t->group_count, index + 1);
    return 0;
}

static void close_group(struct store *s, struct tablet_group *g)
{
    lsm_close(g->lsm);
    for (size_t i = 0; i < g->file_count; i++)
        store_drop_file(s, g->files[i].number);
    mem_free(g->files);
    mutex_close(&g->edit_lock);
    mem_free(g);
}

static const struct manifest_group *
find_group(const struct manifest_group *list, size_t count, uint32_t id)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].id == id)
            return &list[i];
    return NULL;
}

static void set_bounds(struct tablet *t, struct slice start, struct slice end)
{
    buf_append_slice(&t->start, start);
    buf_append_slice(&t->end, end);
    if (start.len)
        cell_key_append_row(&t->start_key, start);
    if (end.len)
        cell_key_append_row(&t->end_key, end);
}

int tablet_open(struct store *store,
                struct table_part *table,
                uint64_t id,
                struct slice start,
                struct slice end,
                const struct schema *schema,
                const struct manifest_group *groups,
                size_t group_count,
                struct tablet **out,
                struct err *err)
{
    struct tablet *t = mem_zalloc(1, sizeof(*t));
    int rc = 0;
    atomic_init(&t->references, 1);
    t->store = store;
    t->table = table_part_ref(table);
    t->id = id;
    t->life = atomic_fetch_add(&store->next_life, 1) + 1;
    set_bounds(t, start, end);
    load_meter_init(&t->load, world_mono_ns(store->world));
    for (size_t i = 0; i < schema->group_count && rc == 0; i++)
        rc = open_group(t, &schema->groups[i],
                        find_group(groups, group_count, schema->groups[i].id),
                        err);
    if (rc) {
        tablet_unref(t);
        t = NULL;
    }
    *out = t;
    return rc;
}

int tablet_add_groups(struct tablet *t,
                      const struct schema *schema,
                      struct err *err)
{
    int rc = 0;
    for (size_t i = atomic_load(&t->group_count);
         i < schema->group_count && rc == 0; i++)
        rc = open_group(t, &schema->groups[i], NULL, err);
    return rc;
}

void tablet_set_options(struct tablet *t, const struct schema *schema)
{
    for (size_t i = 0; i < schema->group_count; i++) {
        const struct group_options *o = &schema->groups[i].options;
        t->groups[i]->memtable_bytes = o->memtable_bytes;
        lsm_set_options(t->groups[i]->lsm, o);
    }
}

struct tablet *tablet_ref(struct tablet *t)
{
    unsigned before = atomic_fetch_add(&t->references, 1);
    PRE(before > 0);
    return t;
}

void tablet_unref(struct tablet *t)
{
    unsigned before = t ? atomic_fetch_sub(&t->references, 1) : 0;
    if (!t || before > 1)
        return;
    INVARIANT(before == 1);
    for (size_t i = 0; i < atomic_load(&t->group_count); i++)
        close_group(t->store, t->groups[i]);
    table_part_unref(t->table);
    buf_close(&t->start);
    buf_close(&t->end);
    buf_close(&t->start_key);
    buf_close(&t->end_key);
    mem_free(t);
}

void tablet_retire(struct tablet *t)
{
    for (size_t i = 0; i < atomic_load(&t->group_count); i++) {
        struct tablet_group *g = t->groups[i];
        lsm_cancel(g->lsm);
        mutex_lock(&g->edit_lock);
        atomic_store(&g->retired, true);
        mutex_unlock(&g->edit_lock);
    }
}

void tablet_hold_edits(struct tablet *t)
{
    for (size_t i = 0; i < atomic_load(&t->group_count); i++)
        mutex_lock(&t->groups[i]->edit_lock);
}

void tablet_release_edits(struct tablet *t, bool retired)
{
    for (size_t i = atomic_load(&t->group_count); i-- > 0;) {
        if (retired)
            atomic_store(&t->groups[i]->retired, true);
        mutex_unlock(&t->groups[i]->edit_lock);
    }
}

bool tablet_contains(const struct tablet *t, struct slice row)
{
    return slice_cmp(buf_slice(&t->start), row) <= 0 &&
           (t->end.len == 0 || slice_cmp(row, buf_slice(&t->end)) < 0);
}

uint64_t tablet_table_bytes(const struct tablet *t)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < atomic_load(&t->group_count); i++) {
        struct lsm_stats stats;
        lsm_stats(t->groups[i]->lsm, &stats);
        bytes += atomic_load(&t->groups[i]->crossing_count)
                     ? stats.table_bytes / 2
                     : stats.table_bytes;
    }
    return bytes;
}

bool tablet_has_crossing_files(const struct tablet *t)
{
    for (size_t i = 0; i < atomic_load(&t->group_count); i++)
        if (atomic_load(&t->groups[i]->crossing_count) > 0)
            return true;
    return false;
}

/* --- memtables ----------------------------------------------------------- */

void tablet_group_insert(struct tablet_group *g,
                         struct skip_batch *batch,
                         struct slice key,
                         struct slice value,
                         uint64_t sequence)
{
    if (UNLIKELY(tablet_group_is_clean(g)))
        atomic_store(&g->low_sequence, sequence);
    if (batch)
        lsm_insert_with(g->lsm, batch, key, value);
    else
        lsm_insert(g->lsm, key, value);
    atomic_store_explicit(&g->last_sequence, sequence, memory_order_release);
}

void tablet_group_freeze(struct tablet_group *g, uint64_t sequence)
{
    struct store *s = g->tablet->store;
    atomic_fetch_add(&s->freeze_epoch, 1);
    lsm_freeze(g->lsm, sequence);
    atomic_fetch_add(&s->freeze_epoch, 1);
}

/* The order matters. A snapshot pins what is stored; entries written later than
 * the sequence number read afterwards are hidden by it, so that all groups show
 * the same moment, unless a memtable was frozen in between: its successor would
 * be missing. Then it is all done again. */
void tablet_snapshot_take(struct tablet *t, struct tablet_snapshot *s)
{
    struct store *store = t->store;
    uint64_t epoch;
    s->tablet = tablet_ref(t);
    for (;;) {
        epoch = atomic_load(&store->freeze_epoch);
        s->group_count = atomic_load(&t->group_count);
        for (size_t i = 0; i < s->group_count; i++)
            s->groups[i] = lsm_snapshot_new(t->groups[i]->lsm);
        s->sequence = atomic_load(&store->visible);
        if (LIKELY(epoch % 2 == 0 &&
                   epoch == atomic_load(&store->freeze_epoch)))
            return;
        for (size_t i = 0; i < s->group_count; i++)
            lsm_snapshot_free(s->groups[i]);
    }
}

void tablet_snapshot_drop(struct tablet_snapshot *s)
{
    for (size_t i = 0; i < s->group_count; i++)
        lsm_snapshot_free(s->groups[i]);
    tablet_unref(s->tablet);
}
