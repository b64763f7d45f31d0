/* A group: opening it, writing to its memtable, and changing its state.
 *
 * A change is committed by the owner first and published afterwards, so that no
 * reader sees tables that a restart would not. Between the two only edit_mutex
 * is held, never publish_mutex: a commit waits for a disk, and a freeze must
 * not.
 */
#include "bigtable/lsm/lsm.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "bigtable/lsm/change_order.h"
#include "bigtable/lsm/group.h"
#include "bigtable/lsm/memtable.h"
#include "bigtable/sstable/block_cache.h"
#include "bigtable/sstable/properties.h"
#include "bigtable/sstable/sstable_reader.h"

void lsm__table_path(const struct lsm *l, uint64_t number, struct buf *out)
{
    PRE(number > 0);
    buf_printf(out, "%s/%06" PRIu64 ".sst", l->dir, number);
}

/* Check that the file is the one that its owner recorded under this number. */
static int check_identity(const struct lsm_table *info,
                          const struct sstable_reader *r,
                          struct err *err)
{
    const struct sstable_properties *p = sstable_reader_properties(r);

    if (info->entry_count == p->entry_count &&
        slice_eq(info->first_key, buf_slice(&p->first_key)) &&
        slice_eq(info->last_key, buf_slice(&p->last_key)))
        return 0;
    return err_set(err, ERR_CORRUPT,
                   "table %s: another file than the manifest names: %" PRIu64
                   " entries, not %" PRIu64 ", or other keys",
                   sstable_reader_path(r), p->entry_count, info->entry_count);
}

int lsm__open_table(struct lsm *l,
                    const struct lsm_table *info,
                    struct sstable_file **out,
                    struct err *err)
{
    struct sstable_reader_options opts = {.cache = l->options.cache,
                                          .in_memory =
                                              lsm__group_options(l).in_memory};
    struct sstable_reader *reader;
    struct buf path = BUF_INIT;
    int rc;
    PRE(info->number > 0);

    lsm__table_path(l, info->number, &path);
    rc = sstable_reader_open(l->options.fs, buf_cstr(&path), &opts, &reader,
                             err);
    buf_close(&path);
    if (rc)
        return rc;
    rc = check_identity(info, reader, err);
    if (rc)
        sstable_reader_unref(reader);
    else
        *out = sstable_file_new(info, reader, &l->options.hooks);
    POST(rc || (*out)->info.number == info->number);
    return rc;
}

/* --- life ---------------------------------------------------------------- */

static void lsm_push_memtable(struct lsm *l);

static struct lsm *new_lsm(const struct lsm_options *opts)
{
    struct lsm *l = mem_zalloc(1, sizeof(*l));

    PRE(opts->fs && opts->dir);
    PRE(opts->upper.len == 0 || slice_cmp(opts->lower, opts->upper) < 0);
    l->options = *opts;
    l->dir = mem_strdup(opts->dir);
    l->options.dir = l->dir;
    buf_append_slice(&l->lower, opts->lower);
    buf_append_slice(&l->upper, opts->upper);
    l->options.lower = buf_slice(&l->lower);
    l->options.upper = buf_slice(&l->upper);
    mutex_init(&l->publish_mutex);
    mutex_init(&l->edit_mutex);
    mutex_init(&l->flush_mutex);
    mutex_init(&l->compaction_mutex);
    l->busy_run_min = 1;
    return l;
}

static void free_lsm(struct lsm *l)
{
    INVARIANT(l->busy_run_min > l->busy_run_max); /* INV-5 */
    mutex_close(&l->publish_mutex);
    mutex_close(&l->edit_mutex);
    mutex_close(&l->flush_mutex);
    mutex_close(&l->compaction_mutex);
    buf_close(&l->lower);
    buf_close(&l->upper);
    mem_free(l->dir);
    mem_free(l);
}

static int compare_tables(const void *a, const void *b)
{
    const struct lsm_table *x = &(*(struct sstable_file *const *)a)->info;
    const struct lsm_table *y = &(*(struct sstable_file *const *)b)->info;

    if (x->run != y->run)
        return x->run < y->run ? -1 : 1;
    return slice_cmp(x->first_key, y->first_key);
}

/* The owner's list comes from a disk: tables of a run must not overlap. */
static int
check_runs(struct sstable_file **files, size_t count, struct err *err)
{
    PRE(files || count == 0);
    if (count == 0)
        return 0;
    qsort(files, count, sizeof(struct sstable_file *), compare_tables);
    for (size_t i = 1; i < count; i++) {
        const struct lsm_table *a = &files[i - 1]->info;
        const struct lsm_table *b = &files[i]->info;
        if (a->run == b->run && slice_cmp(a->last_key, b->first_key) >= 0)
            return err_set(err, ERR_CORRUPT,
                           "tables %" PRIu64 " and %" PRIu64 " of run %" PRIu32
                           " overlap",
                           a->number, b->number, a->run);
    }
    return 0;
}

int lsm_open(const struct lsm_options *opts,
             const struct lsm_table *tables,
             size_t table_count,
             struct lsm **out,
             struct err *err)
{
    struct lsm *l = new_lsm(opts);
    struct sstable_file **files =
        mem_zalloc(table_count + 1, sizeof(struct sstable_file *));
    size_t opened = 0;
    int rc = 0;
    PRE(tables || table_count == 0);

    *out = NULL;
    while (opened < table_count && !rc) {
        rc = lsm__open_table(l, &tables[opened], &files[opened], err);
        if (!rc)
            opened++;
    }
    if (!rc)
        rc = check_runs(files, table_count, err);
    if (!rc) {
        struct version *v = version_new(files, table_count);
        l->active =
            memtable_new(block_cache_chunks(opts->cache), opts->keeps_changes);
        state_slot_init(&l->slot, state_new(l, v, &l->active, 1));
        memtable_unref(l->active); /* The state holds it. */
        version_unref(v);
        *out = l;
    }
    while (opened > 0)
        sstable_file_unref(files[--opened]);
    mem_free(files);
    if (rc)
        free_lsm(l);
    POST(rc || (*out)->active);
    return rc;
}

void lsm_close(struct lsm *l)
{
    state_slot_close(&l->slot);
    free_lsm(l);
}

void lsm_set_options(struct lsm *l, const struct group_options *options)
{
    mutex_lock(&l->publish_mutex);
    l->options.group = *options;
    atomic_fetch_add(&l->table_changes, 1);
    mutex_unlock(&l->publish_mutex);
    POST(l->table_changes > 0);
}

struct group_options lsm__group_options(const struct lsm *l)
{
    struct mutex *m = &((struct lsm *)(uintptr_t)l)->publish_mutex;
    struct group_options options;

    mutex_lock(m);
    options = l->options.group;
    mutex_unlock(m);
    return options;
}

void lsm_keep_changes(struct lsm *l, bool keep)
{
    PRE(memtable_count(l->active) == 0);
    mutex_lock(&l->publish_mutex);
    l->options.keeps_changes = keep;
    mutex_unlock(&l->publish_mutex);
    lsm_push_memtable(l);
}

int lsm_open_change_file(struct lsm *l,
                         const struct lsm_table *table,
                         struct sstable_file **out,
                         struct err *err)
{
    return lsm__open_table(l, table, out, err);
}

/* --- writing ------------------------------------------------------------- */

void lsm_note_commit(struct lsm *l, uint64_t sequence, int64_t us, bool again)
{
    PRE(l->active->order);
    PRE(sequence > 0);
    change_order_note(l->active->order, sequence, us, again);
}

void lsm_note_loose_commit(struct lsm *l, uint64_t sequence, int64_t us)
{
    PRE(l->active->order);
    change_order_note_loose(l->active->order, sequence, us);
}

void lsm_sort_changes(struct lsm *l)
{
    PRE(l->active->order);
    change_order_sort(l->active->order);
}

static void note_active_bytes(struct lsm *l)
{
    atomic_store_explicit(&l->active_bytes, memtable_bytes(l->active),
                          memory_order_relaxed);
    atomic_store_explicit(&l->active_memory, memtable_memory(l->active),
                          memory_order_relaxed);
}

void lsm_insert(struct lsm *l, struct slice key, struct slice value)
{
    PRE(key.len > 0);
    memtable_insert(l->active, key, value);
    note_active_bytes(l);
}

void lsm_insert_with(struct lsm *l,
                     struct skip_batch *b,
                     struct slice key,
                     struct slice value)
{
    PRE(key.len > 0);
    memtable_insert_with(l->active, b, key, value);
    note_active_bytes(l);
}

size_t lsm_active_bytes(const struct lsm *l)
{
    return atomic_load_explicit(&l->active_bytes, memory_order_relaxed);
}

size_t lsm_active_memory(const struct lsm *l)
{
    return atomic_load_explicit(&l->active_memory, memory_order_relaxed);
}

size_t lsm_frozen_memory(const struct lsm *l)
{
    return atomic_load(&l->frozen_memory);
}

/* A new active memtable above those there are. An empty one makes way. */
static void lsm_push_memtable(struct lsm *l)
{
    struct memtable *old = l->active;
    size_t skipped = memtable_count(old) == 0;
    struct memtable **mems;
    struct lsm_snapshot *s;
    struct memtable *fresh;

    fresh = memtable_new(block_cache_chunks(l->options.cache),
                         l->options.keeps_changes);
    mutex_lock(&l->publish_mutex);
    s = state_pin(&l->slot);
    INVARIANT(s->mems[0] == old);
    INVARIANT(s->mem_count == 1 || skipped ||
              s->mems[1]->sequence <= old->sequence);
    mems = mem_alloc((s->mem_count + 1) * sizeof(struct memtable *));
    mems[0] = fresh;
    for (size_t i = skipped; i < s->mem_count; i++)
        mems[i + 1 - skipped] = s->mems[i];
    l->active = fresh;
    atomic_store(&l->active_bytes, 0);
    atomic_store(&l->active_memory, 0);
    if (!skipped)
        atomic_fetch_add(&l->frozen_memory, memtable_memory(old));
    state_publish(&l->slot,
                  state_new(l, s->version, mems, s->mem_count + 1 - skipped));
    mutex_unlock(&l->publish_mutex);
    memtable_unref(fresh);
    state_unpin(s);
    mem_free(mems);
}

void lsm_freeze(struct lsm *l, uint64_t sequence)
{
    INVARIANT(l->active);
    if (memtable_count(l->active) == 0)
        return;
    PRE(l->active->sequence == 0); /* INV-3: it is frozen once. */
    l->active->sequence = sequence;
    lsm_push_memtable(l);
}

/* --- changing the set of tables ------------------------------------------ */

static int
commit_change(struct lsm *l, const struct lsm_change *c, struct err *err)
{
    struct lsm_table *added = mem_zalloc(c->added_count + 1, sizeof(*added));
    uint64_t *removed = mem_zalloc(c->removed_count + 1, sizeof(*removed));
    struct lsm_change_file *retired =
        mem_zalloc(c->removed_count + 1, sizeof(*retired));
    struct lsm_change_file *past = mem_zalloc(c->past_count + 1, sizeof(*past));
    struct lsm_edit edit = {.added = added,
                            .added_count = c->added_count,
                            .removed = removed,
                            .removed_count = c->removed_count,
                            .retired = retired,
                            .past = past,
                            .past_count = c->past_count,
                            .flushed_sequence = c->flushed_sequence};
    int rc;
    PRE(mutex_is_held(&l->edit_mutex));

    PRE(c->added_count > 0 || c->removed_count > 0 || c->flushed_mems > 0);
    PRE(c->added_count == 0 || c->added);
    PRE(c->removed_count == 0 || c->removed);
    for (size_t i = 0; i < c->added_count; i++)
        added[i] = c->added[i]->info;
    for (size_t i = 0; i < c->removed_count; i++)
        removed[i] = c->removed[i]->info.number;
    for (size_t i = 0; i < c->removed_count; i++) {
        const struct sstable_properties *p =
            sstable_reader_properties(c->removed[i]->reader);
        if (p->changes.end_sequence)
            retired[edit.retired_count++] =
                (struct lsm_change_file){c->removed[i]->info, p->changes};
    }
    for (size_t i = 0; i < c->past_count; i++)
        past[i] = (struct lsm_change_file){c->past[i]->info, c->past_extent};
    rc = l->options.hooks.commit(l->options.hooks.ctx, l, &edit, err);
    mem_free(past);
    mem_free(added);
    mem_free(removed);
    mem_free(retired);
    return rc;
}

static bool lsm_contains_file(struct sstable_file *const *files,
                              size_t count,
                              const struct sstable_file *f)
{
    PRE(files || count == 0);
    for (size_t i = 0; i < count; i++)
        if (files[i] == f)
            return true;
    return false;
}

/* The tables of @old without the removed and with the added ones. */
static struct version *changed_version(const struct version *old,
                                       const struct lsm_change *c)
{
    struct sstable_file **files = mem_alloc(
        (old->table_count + c->added_count) * sizeof(struct sstable_file *));
    struct version *v;
    size_t count = 0;

    for (size_t i = 0; i < old->table_count; i++)
        if (!lsm_contains_file(c->removed, c->removed_count, old->tables[i]))
            files[count++] = old->tables[i];
    INVARIANT(count + c->removed_count == old->table_count);
    for (size_t i = 0; i < c->added_count; i++)
        files[count++] = c->added[i];
    v = version_new(files, count);
    POST(v->table_count ==
         old->table_count + c->added_count - c->removed_count);
    mem_free(files);
    return v;
}

int lsm__apply(struct lsm *l, const struct lsm_change *c, struct err *err)
{
    struct lsm_snapshot *s;
    struct version *v;
    size_t left;
    int rc = commit_change(l, c, err);

    if (rc)
        return rc;
    mutex_lock(&l->publish_mutex);
    s = state_pin(&l->slot);
    v = changed_version(s->version, c);
    for (size_t i = 0; i < c->removed_count; i++)
        atomic_store(&c->removed[i]->removed, true);
    for (size_t i = 0; i < c->past_count; i++)
        atomic_store(&c->past[i]->removed, true);
    INVARIANT(s->mem_count > c->flushed_mems);
    left = s->mem_count - c->flushed_mems;
    INVARIANT(c->flushed_mems == 0 ||
              s->mems[left]->sequence == c->flushed_sequence);
    for (size_t i = left; i < s->mem_count; i++) {
        size_t bytes = memtable_memory(s->mems[i]);
        size_t before = atomic_fetch_sub(&l->frozen_memory, bytes);
        INVARIANT(before >= bytes);
    }
    state_publish(&l->slot, state_new(l, v, s->mems, left));
    atomic_fetch_add(&l->table_changes, 1);
    mutex_unlock(&l->publish_mutex);
    version_unref(v);
    state_unpin(s);
    if (c->flushed_sequence && l->options.hooks.flushed)
        l->options.hooks.flushed(l->options.hooks.ctx, c->flushed_sequence);
    return 0;
}

/* --- the rest ------------------------------------------------------------ */

struct lsm_snapshot *lsm_snapshot_new(struct lsm *l)
{
    return state_pin(&l->slot);
}

void lsm_snapshot_free(struct lsm_snapshot *s)
{
    state_unpin(s);
}

void lsm_cancel(struct lsm *l)
{
    atomic_store(&l->cancelled, true);
}

void lsm_stats(const struct lsm *l, struct lsm_stats *out)
{
    struct lsm_snapshot *s = lsm_snapshot_new((struct lsm *)(uintptr_t)l);
    INVARIANT(s->mem_count > 0);

    *out = (struct lsm_stats){
        .table_count = s->version->table_count,
        .run_count = s->version->run_count,
        .flushed_bytes = atomic_load(&l->flushed_bytes),
        .compacted_bytes = atomic_load(&l->compacted_bytes),
    };
    for (size_t i = 0; i < s->version->table_count; i++) {
        out->table_bytes += s->version->tables[i]->info.bytes;
        out->entry_count += s->version->tables[i]->info.entry_count;
    }
    for (size_t i = 0; i < s->mem_count; i++)
        out->memtable_bytes += memtable_memory(s->mems[i]);
    lsm_snapshot_free(s);
}
