/* Opening tablets, and the hooks their lsm calls back. A hook turns a change of
 * a group's files into an edit of the registry, and counts references to files
 * that tablets share.
 */
#include "bigtable/store/open_tablet.h"

#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/log/write_log.h"
#include "bigtable/read/gc_filter.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/row/hidden.h"
#include "bigtable/store/manifest.h"
#include "bigtable/store/store.h"
#include "bigtable/tablet/done_changes.h"
#include "bigtable/tablet/tablet_changes.h"

/* --- hooks --------------------------------------------------------------- */

static uint64_t hook_new_number(void *ctx)
{
    struct tablet_group *g = ctx;
    PRE(g->tablet);
    return file_numbers_take(&store_of(g->tablet)->numbers);
}

static void hook_decided(void *ctx, uint64_t number)
{
    struct tablet_group *g = ctx;
    PRE(number > 0);
    file_numbers_decide(&store_of(g->tablet)->numbers, number);
}

static void forget_file(struct tablet_group *g, uint64_t number)
{
    size_t crossing = 0;
    for (size_t i = 0; i < g->file_count; i++) {
        if (g->files[i].number != number)
            continue;
        if (g->files[i].crossing)
            crossing = atomic_fetch_sub(&g->crossing_count, 1);
        INVARIANT(!g->files[i].crossing || crossing > 0); /* INV-3 */
        g->files[i] = g->files[--g->file_count];
        return;
    }
}

static bool is_crossing(const struct tablet *t, const struct lsm_table *f)
{
    PRE(slice_cmp(f->first_key, f->last_key) <= 0);
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
    file_refs_add(&store_of(g->tablet)->files, f->number);
    INVARIANT(atomic_load(&g->crossing_count) <= g->file_count);
}

/* A row may have been written to several groups. When one of them becomes
 * durable, so must the others: by the log. */
static int
secure_other_groups(struct tablet_group *g, uint64_t sequence, struct err *err)
{
    struct store *s = store_of(g->tablet);
    PRE(s->env.log);
    if (atomic_load(&g->tablet->group_count) == 1 ||
        write_log_synced_sequence(s->env.log) >= sequence)
        return 0;
    return write_log_sync(s->env.log, err);
}

/* The done changes and the newest stamp, which the log will not keep for
 * entries that are in SSTables. */
static void put_memory(const struct tablet *t, struct buf *edit)
{
    struct buf done = BUF_INIT;
    PRE(t->id > 0);
    edit_put_stamp(edit, t->id, (int64_t)atomic_load(&t->table->stamped_us));
    if (t->table->done) {
        done_changes_encode(t->table->done, &done);
        edit_put_done(edit, t->id, buf_slice(&done), false);
    }
    buf_close(&done);
}

/* The files that a compaction leaves beside the group's tables. Owned array, of
 * borrowed files. */
static struct lsm_change_file *files_left(const struct lsm_edit *edit,
                                          size_t *count)
{
    struct lsm_change_file *list =
        mem_zalloc(edit->retired_count + edit->past_count + 1, sizeof(*list));
    *count = 0;
    for (size_t i = 0; i < edit->retired_count; i++)
        list[(*count)++] = edit->retired[i];
    for (size_t i = 0; i < edit->past_count; i++)
        list[(*count)++] = edit->past[i];
    POST(*count == edit->retired_count + edit->past_count);
    return list;
}

static int commit_edit(struct tablet_group *g,
                       const struct lsm_edit *edit,
                       struct err *err)
{
    struct store *s = store_of(g->tablet);
    struct buf bytes = BUF_INIT;
    struct lsm_change_file *left;
    struct changes_edit changes;
    size_t left_count;
    bool changed;
    int rc = 0;
    PRE(mutex_is_held(&g->edit_lock));
    PRE(edit->added_count == 0 || edit->added);
    if (atomic_load(&g->retired))
        return err_set(err, ERR_CANCELLED, "the tablet is in use no more");
    if (edit->flushed_sequence)
        rc = secure_other_groups(g, edit->flushed_sequence, err);
    if (rc)
        return rc;
    edit_change_group(&bytes, g->tablet->id, g->id, edit);
    left = files_left(edit, &left_count);
    mutex_lock(&g->tablet->changes->edit_lock);
    changed = tablet_changes_plan(g->tablet->changes, g->id, left, left_count,
                                  (int64_t)world_now_us(s->world), &changes);
    if (changed)
        edit_put_changes(&bytes, g->tablet->id, &changes);
    if (edit->flushed_sequence)
        put_memory(g->tablet, &bytes);
    rc = store_commit(s, g->tablet->id, &bytes, err);
    buf_close(&bytes);
    if (rc == ERR_CANCELLED || rc == ERR_CLOSED)
        atomic_store(&g->tablet->lost, true);
    if (rc == 0 && changed)
        tablet_changes_apply(g->tablet->changes, &changes);
    mutex_unlock(&g->tablet->changes->edit_lock);
    changes_edit_close(&changes);
    mem_free(left);
    if (rc)
        return rc;
    for (size_t i = 0; i < edit->past_count; i++) /* Until they are closed. */
        file_refs_add(&s->files, edit->past[i].table.number);
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
    POST(atomic_load(&g->flushed_sequence) >= sequence);
}

static void hook_unlink(void *ctx, uint64_t number)
{
    struct tablet_group *g = ctx;
    PRE(number > 0);
    store_drop_file(store_of(g->tablet), number);
}

static struct lsm_filter *hook_new_filter(void *ctx, struct lsm *lsm)
{
    struct tablet_group *g = ctx;
    struct store *s = store_of(g->tablet);
    struct changes_past past;
    int64_t stamped_us = (int64_t)atomic_load(&g->tablet->table->stamped_us);
    int64_t begun_us = MAX_OF(stamped_us, (int64_t)world_now_us(s->world));
    (void)lsm;
    tablet_changes_past(g->tablet->changes, g->id, &past);
    INVARIANT(begun_us >= stamped_us);
    return gc_filter_new(g->tablet->table, store_drop_age_us(s),
                         past.on ? &past : NULL, begun_us);
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
        .fs = store_of(t)->fs,
        .dir = STORE_TABLES_DIR,
        .cache = store_of(t)->cache,
        .group = group->options,
        .hooks = {g, hook_new_number, hook_decided, hook_commit, hook_flushed,
                  hook_unlink, hook_new_filter, hook_free_filter},
        .lower = buf_slice(&t->start_key),
        .upper = buf_slice(&t->end_key),
        .keeps_changes = atomic_load(&t->changes->on),
        .commits_are_shared = store_of(t)->sharing != NULL,
    };
    int rc;
    PRE(index < GROUP_COUNT_MAX);
    g->tablet = t;
    g->id = group->id;
    g->hidden = hidden_is_group(slice_str(group->name));
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

void tablet_close_group(struct tablet_group *g)
{
    struct store *s = store_of(g->tablet);
    PRE(!g->flushing);
    PRE(!g->compacting);
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
    PRE(list || count == 0);
    for (size_t i = 0; i < count; i++)
        if (list[i].id == id)
            return &list[i];
    return NULL;
}

static void set_bounds(struct tablet *t, struct slice start, struct slice end)
{
    PRE(t->start.len == 0);
    PRE(t->end.len == 0);
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
                const struct changes_record *changes,
                struct tablet **out,
                struct err *err)
{
    struct tablet *t = mem_zalloc(1, sizeof(*t));
    int rc = 0;
    PRE(schema->group_count > 0);
    atomic_init(&t->references, 1);
    t->env = &store->env;
    t->table = table_part_ref(table);
    t->id = id;
    t->life = atomic_fetch_add(&store->env.next_life, 1) + 1;
    t->changes = tablet_changes_new(&store->env, changes);
    tablet_changes_configure(t->changes, schema);
    set_bounds(t, start, end);
    load_meter_init(&t->load, world_mono_ns(store->world));
    tablet_heat_init(&t->heat);
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
    POST(rc || atomic_load(&t->group_count) >= schema->group_count);
    return rc;
}
