/* Opening and closing a store, and the functions that its parts share. A store
 * in a tablet server is opened by shared.c and shares all but the files of a
 * directory.
 */
#include "bigtable/store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/ignore_result.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/log/commit_log.h"
#include "bigtable/lsm/lsm.h"
#include "bigtable/read/scan_cache.h"
#include "bigtable/sstable/block_cache.h"
#include "bigtable/store/manifest.h"
#include "bigtable/store/open_tablet.h"
#include "bigtable/store/read_beside.h"
#include "bigtable/store/registry.h"
#include "bigtable/store/replay.h"
#include "bigtable/store/shared.h"
#include "bigtable/store/stale_loads.h"
#include "bigtable/tablet/tablet.h"
#include "gfs-lite/fs.h"

#define LOCK_NAME "LOCK"
/* Closing writes memtables to tables when that saves the next open from reading
 * more than this from the log. */
#define CLOSE_FLUSH_BYTES ((uint64_t)4 << 20)
/* Every open begins a segment: many short-lived writers must not pile them up.
 */
#define CLOSE_FLUSH_SEGMENTS 16

int64_t store_drop_age_us(struct store *s)
{
    int64_t now_us = tablet_env_age_us(&s->env);
    return s->sharing &&
                   !age_clock_is_proven(&s->env.ages, world_mono_ns(s->world))
               ? 0
               : now_us;
}

int store_commit(struct store *s,
                 uint64_t tablet,
                 struct buf *edit,
                 struct err *err)
{
    PRE(s->registry);
    edit_put_counters(edit, file_numbers_next(&s->numbers), 0, 0,
                      atomic_load(&s->env.visible));
    return registry_commit(s->registry, tablet, buf_slice(edit), err);
}

void store_drop_file(struct store *s, uint64_t number)
{
    char path[64];
    PRE(number > 0);
    if (!file_refs_drop(&s->files, number) || s->options.read_only ||
        s->closing || s->sharing)
        return;
    snprintf(path, sizeof(path), STORE_TABLES_DIR "/%06llu.sst",
             (unsigned long long)number);
    /* An orphan: the next open removes it. */
    IGNORE_RESULT(fs_remove(s->fs, path, NULL));
}

struct table_part_view **store_views(struct store *s, size_t *count)
{
    struct table_part_view **views;
    size_t n = 0;
    mutex_lock(&s->lock);
    views = mem_alloc((s->table_count + 1) * sizeof(struct table_part_view *));
    for (size_t i = 0; i < s->table_count; i++) {
        views[n] = table_part_get_view(s->tables[i]);
        n += views[n] != NULL;
    }
    POST(n <= s->table_count);
    mutex_unlock(&s->lock);
    *count = n;
    return views;
}

void store_views_free(struct table_part_view **views, size_t count)
{
    PRE(count == 0 || views);
    for (size_t i = 0; i < count; i++)
        table_part_view_unref(views[i]);
    mem_free(views);
}

void store_freeze(struct store *s)
{
    size_t count;
    struct table_part_view **views = store_views(s, &count);
    PRE(!s->options.read_only);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < views[i]->tablet_count; k++)
            write_turn_freeze(&s->env, views[i]->tablets[k]);
    store_views_free(views, count);
    background_wake(s);
}

/* The lowest sequence number that only the log has, and the group that has it
 * (@oldest, which may be NULL; borrowed from @views). */
static uint64_t lowest_needed(struct table_part_view **views,
                              size_t count,
                              struct tablet_group **oldest)
{
    uint64_t low = UINT64_MAX;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < views[i]->tablet_count; j++) {
            struct tablet *t = views[i]->tablets[j];
            for (size_t g = 0; g < atomic_load(&t->group_count); g++) {
                struct tablet_group *group = t->groups[g];
                uint64_t flushed = atomic_load(&group->flushed_sequence);
                uint64_t needed =
                    MAX_OF(flushed + 1, atomic_load(&group->low_sequence));
                if (tablet_group_is_clean(group) || needed >= low)
                    continue;
                low = needed;
                if (oldest)
                    *oldest = group;
            }
        }
    POST(!oldest || !*oldest == (low == UINT64_MAX));
    return low;
}

/* A visible entry was inserted, and a group with inserted entries is not clean:
 * so nothing up to the number read first is missed. */
void store_release_log(struct store *s)
{
    uint64_t visible = atomic_load(&s->env.visible);
    size_t count;
    struct table_part_view **views = store_views(s, &count);
    uint64_t low = lowest_needed(views, count, NULL);
    INVARIANT(low > 0);
    store_views_free(views, count);
    if (s->env.log && !atomic_load(&s->log_kept))
        write_log_release(s->env.log, MIN_OF(visible, low - 1));
}

/* The flush releases a segment sooner or later; then the next one is searched
 * for. */
void store_limit_log(struct store *s)
{
    struct tablet_group *oldest = NULL;
    struct table_part_view **views;
    struct writer *turn;
    size_t count;
    if (!s->sharing || atomic_load(&s->log_kept) ||
        write_log_bytes(s->env.log) <= s->sharing->log_bytes_max)
        return;
    views = store_views(s, &count);
    lowest_needed(views, count, &oldest);
    if (oldest) {
        write_turn_take(&s->env, &turn);
        tablet_group_freeze(oldest, tablet_last_sequence(oldest->tablet));
        write_turn_give(&s->env, turn);
    }
    store_views_free(views, count);
    background_wake(s);
}

/* --- opening ------------------------------------------------------------- */

static int open_tablet(struct store *s,
                       struct table_part *t,
                       const struct schema *schema,
                       const struct manifest_tablet *from,
                       struct tablet **out,
                       struct err *err)
{
    PRE(from->id > 0);
    table_part_note_stamp(t, from->stamped_us);
    return tablet_open(s, t, from->id, buf_slice(&from->start),
                       buf_slice(&from->end), schema, from->groups,
                       from->group_count, &from->changes, out, err);
}

/* Insert @t into the array sorted by start. */
static void sort_in(struct tablet **tablets, size_t count, struct tablet *t)
{
    PRE(count == 0 || tablets[count - 1]);
    while (count > 0 && slice_cmp(buf_slice(&tablets[count - 1]->start),
                                  buf_slice(&t->start)) > 0) {
        tablets[count] = tablets[count - 1];
        count--;
    }
    tablets[count] = t;
}

/* Do the tablets cover all rows, without gap or overlap? */
static int check_cover(struct tablet *const *tablets,
                       size_t count,
                       const char *table,
                       struct err *err)
{
    bool good = count > 0 && tablets[0]->start.len == 0 &&
                tablets[count - 1]->end.len == 0;
    PRE(tablets || count == 0);
    for (size_t i = 1; i < count && good; i++)
        good =
            tablets[i - 1]->end.len && slice_eq(buf_slice(&tablets[i - 1]->end),
                                                buf_slice(&tablets[i]->start));
    return good ? 0
                : err_set(err, ERR_CORRUPT,
                          "manifest: the tablets of table %s do not cover it",
                          table);
}

static int open_table(struct store *s,
                      const struct manifest_state *state,
                      const struct manifest_table *from,
                      struct err *err)
{
    struct table_part *t = table_part_new(from->id, from->name, NULL);
    struct tablet **tablets =
        mem_alloc((state->tablet_count + 1) * sizeof(struct tablet *));
    size_t count = 0;
    int rc = 0;
    PRE(s->table_count < state->table_count);
    for (size_t i = 0; i < state->tablet_count && rc == 0; i++) {
        struct tablet *tablet;
        if (state->tablets[i].table != from->id)
            continue;
        rc = open_tablet(s, t, from->schema, &state->tablets[i], &tablet, err);
        if (rc == 0)
            sort_in(tablets, count++, tablet);
    }
    if (rc == 0)
        rc = check_cover(tablets, count, from->name, err);
    if (rc == 0)
        table_part_set_view(
            t, table_part_view_new(from->schema, 1, tablets, count));
    /* They make no view: some are missing, or they do not fit together. */
    s->closing |= rc != 0;
    for (size_t i = 0; rc && i < count; i++)
        tablet_unref(tablets[i]);
    mem_free(tablets);
    s->tables[s->table_count++] = t; /* Also on error: closed with the rest. */
    return rc;
}

static int compare_tables(const void *a, const void *b)
{
    return strcmp((*(struct table_part *const *)a)->name,
                  (*(struct table_part *const *)b)->name);
}

static int open_tables(struct store *s, struct err *err)
{
    const struct manifest_state *state = manifest_state(s->manifest);
    int rc = 0;
    PRE(s->table_count == 0);
    s->tables =
        mem_alloc((state->table_count + 1) * sizeof(struct table_part *));
    for (size_t i = 0; i < state->table_count && rc == 0; i++)
        rc = open_table(s, state, &state->tables[i], err);
    qsort(s->tables, s->table_count, sizeof(struct table_part *),
          compare_tables);
    return rc;
}

static int store_replay_mutation(void *ctx,
                                 uint64_t sequence,
                                 uint32_t count,
                                 struct slice payload,
                                 struct err *err)
{
    return store_replay(ctx, sequence, count, payload, err);
}

/* Segments much larger than memtables would keep what is flushed already. */
static uint64_t segment_bytes(const struct store *s)
{
    uint64_t bytes = s->options.memtable_bytes / 4;
    POST(bytes > 0);
    return MIN_OF(MAX_OF(bytes, LOG_SEGMENT_BYTES_MIN), LOG_SEGMENT_BYTES);
}

/* Record in the manifest what the log consists of. */
static int name_log(void *ctx, const struct log_extent *e, struct err *err)
{
    struct store *s = ctx;
    struct buf edit = BUF_INIT;
    int rc;
    PRE(e->count == 0 || e->segments);
    edit_put_log(&edit, e->segments, e->count, e->position);
    rc = manifest_commit(s->manifest, buf_slice(&edit), err);
    buf_close(&edit);
    /* Either list is true: what is to be written is not there. */
    if (rc == ERR_UNKNOWN_OUTCOME && err)
        err->code = ERR_IO;
    return rc == ERR_UNKNOWN_OUTCOME ? ERR_IO : rc;
}

/* Read the log into memtables, and, to write, continue behind its end. */
static int open_log(struct store *s, struct err *err)
{
    struct buf dir = BUF_INIT;
    const struct manifest_state *state = manifest_state(s->manifest);
    struct commit_log_options opts = {.world = s->world,
                                      .keyring = fs_keyring(s->fs),
                                      .segment_bytes = segment_bytes(s),
                                      .named = {state->log_segments,
                                                state->log_segment_count,
                                                state->log_position},
                                      .name = name_log,
                                      .name_ctx = s};
    struct commit_log *log;
    struct log_end end;
    int rc;
    PRE(!s->env.log);
    buf_printf(&dir, "%s/log", s->dir);
    opts.dir = buf_cstr(&dir);
    rc =
        log_read(&opts, s->options.repair, store_replay_mutation, s, &end, err);
    store_replay_end(s);
    if (rc == 0 && !s->options.read_only) {
        rc = commit_log_open(&opts, &end, &log, err);
        if (rc == 0)
            s->env.log = commit_log_writer(log);
    }
    buf_close(&dir);
    if (rc == 0)
        store_release_log(s);
    return rc;
}

static void take_counters(struct store *s)
{
    const struct manifest_state *state = manifest_state(s->manifest);
    PRE(s->manifest);
    file_numbers_begin_at(&s->numbers, state->next_number);
    atomic_store(&s->env.visible, state->sequence);
    s->next_table = state->next_table;
    atomic_store(&s->next_tablet, state->next_tablet);
    write_queue_init(&s->queue, state->sequence);
}

/* Lock the directory, unless it is only to be read. */
static int take_directory(struct store *s, struct err *err)
{
    struct file_info info;
    int rc;
    PRE(!s->fs);
    PRE(!s->file_lock);
    if (s->options.read_only || s->options.must_exist) {
        rc = world_stat(s->world, s->dir, &info, err);
        if (rc == ERR_NOTFOUND)
            err_set(err, rc, "there is no store in %s", s->dir);
        if (rc)
            return rc;
    }
    rc = fs_local_open(s->world, s->dir, &s->fs, err);
    if (rc == 0 && !s->options.read_only)
        rc = world_make_private(s->world, s->dir, err);
    if (rc == 0 && !s->options.read_only)
        rc = fs_lock(s->fs, LOCK_NAME, &s->file_lock, err);
    if (rc == 0)
        rc = fs_open_keyring(s->fs, STORE_KEYS_NAME, s->options.master_keys,
                             !s->options.read_only, err);
    return rc;
}

static int remove_orphans(struct store *s, struct err *err)
{
    size_t count;
    uint64_t *kept = snapshots_files(s, &count);
    int rc = manifest_remove_orphans(s->manifest, kept, count, err);
    PRE(!s->options.read_only);
    mem_free(kept);
    return rc;
}

static int open_parts(struct store *s, struct err *err)
{
    bool fresh = false;
    int rc;
    PRE(!s->manifest);
    PRE(s->fs);
    rc = manifest_open(s->fs, s->options.pinned, s->options.repair,
                       &s->manifest, &fresh, err);
    if (rc)
        return rc;
    s->registry = registry_of_manifest(s->manifest);
    if (fresh && (s->options.must_exist || s->options.read_only))
        return err_set(err, ERR_NOTFOUND, "there is no store in %s", s->dir);
    store__make_caches(s);
    take_counters(s);
    rc = snapshots_open(s, err);
    if (rc == 0 && !s->options.read_only)
        rc = remove_orphans(s, err);
    if (rc == 0)
        rc = open_tables(s, err);
    if (rc == 0 && !s->options.pinned)
        rc = open_log(s, err);
    return rc;
}

static int open_directory(struct store *s, struct err *err)
{
    struct read_beside beside = {.log = NULL};
    int read;
    int rc = take_directory(s, err);
    PRE(!s->manifest);
    if (rc == 0)
        rc = read_beside_begin(s, &beside, err);
    if (rc == 0)
        rc = open_parts(s, err);
    read = read_beside_end(s, &beside, rc, err);
    return rc == ERR_UNSUPPORTED ? rc : read;
}

static unsigned task_count(const struct store *s)
{
    unsigned n = s->options.background_tasks;
    return n ? n : MAX_OF(world_cpu_count(s->world), 2);
}

static void apply_defaults(struct store_options *o)
{
    if (o->cache_bytes == 0)
        o->cache_bytes = STORE_CACHE_BYTES;
    if (o->scan_cache_bytes == 0)
        o->scan_cache_bytes = MIN_OF(o->cache_bytes / STORE_SCAN_CACHE_SHARE,
                                     STORE_SCAN_CACHE_BYTES_MAX);
    o->scan_cache_bytes = MIN_OF(o->scan_cache_bytes, o->cache_bytes);
    if (o->scan_cache_off)
        o->scan_cache_bytes = 0;
    if (o->memtable_bytes == 0)
        o->memtable_bytes = STORE_MEMTABLE_BYTES;
    if (o->split_bytes == 0)
        o->split_bytes = STORE_SPLIT_BYTES;
    POST(o->scan_cache_bytes <= o->cache_bytes);
    POST(o->memtable_bytes > 0);
    POST(o->split_bytes > 0);
}

static int store_wait_for_room(struct tablet_env *env, struct err *err)
{
    return background_wait_for_room(store_of_env(env), err);
}

static void store_has_frozen(struct tablet_env *env)
{
    background_wake(store_of_env(env));
}

static void store_hold_file(struct tablet_env *env, uint64_t number)
{
    PRE(number > 0);
    file_refs_add(&store_of_env(env)->files, number);
}

static void store_release_file(struct tablet_env *env, uint64_t number)
{
    PRE(number > 0);
    store_drop_file(store_of_env(env), number);
}

static const struct tablet_env_ops store_ops = {
    store_wait_for_room, store_has_frozen, store_hold_file, store_release_file,
    tablet_close_group};

struct store *store__new(struct world *world, const struct store_options *opts)
{
    struct store *s = mem_zalloc(1, sizeof(*s));
    s->world = world;
    s->options = *opts;
    apply_defaults(&s->options);
    tablet_env_init(&s->env, world, &store_ops);
    s->env.read_only = opts->read_only;
    s->env.queue = &s->queue;
    mutex_init(&s->catalog_lock);
    mutex_init(&s->lock);
    file_refs_init(&s->files);
    file_numbers_init(&s->numbers, 0);
    background_init(&s->background, task_count(s));
    POST(s->env.queue == &s->queue);
    return s;
}

void store__make_caches(struct store *s)
{
    PRE(!s->cache);
    PRE(!s->env.scan_cache);
    PRE(s->options.scan_cache_bytes <= s->options.cache_bytes);
    s->cache =
        block_cache_new(s->options.cache_bytes - s->options.scan_cache_bytes);
    if (!s->options.scan_cache_off)
        s->env.scan_cache = scan_cache_new(s->options.scan_cache_bytes);
}

static int try_to_open(struct world *world,
                       const char *dir,
                       const struct store_options *opts,
                       struct store **out,
                       struct err *err)
{
    struct store *s = store__new(world, opts);
    int rc;
    PRE(!*out);
    s->env.dir = s->dir = mem_strdup(dir);
    rc = open_directory(s, err);
    if (rc) {
        s->closing = true;
        store_close(s);
        return rc;
    }
    *out = s;
    return 0;
}

/* Background work writes: a reader has none. */
static void start_work(struct store *s)
{
    PRE(!s->closing);
    if (s->options.read_only)
        return;
    background_start(s);
    background_wake(s);
    snapshots_expire(s);
    remove_stale_loads(s->fs, world_now_us(s->world));
}

int store_open(struct world *world,
               const char *dir,
               const struct store_options *opts,
               struct store **out,
               struct err *err)
{
    uint64_t begin_ns = world_mono_ns(world);
    unsigned tries = 0;
    struct err why;
    int rc;
    *out = NULL;
    do {
        why = ERR_INIT;
        rc = try_to_open(world, dir, opts, out, &why);
    } while (rc && opts->read_only && !opts->pinned &&
             read_beside_again(world, rc, begin_ns, &tries));
    if (rc) {
        (void)err_copy(err, &why);
        err_wrap(err, "open %s", dir);
        return rc;
    }
    start_work(*out);
    POST(*out);
    return 0;
}

/* --- durability ---------------------------------------------------------- */

/* A group that must get into tables, up to a sequence number. */
struct awaited {
    struct tablet *tablet; /* Referenced. */
    struct tablet_group *group;
    uint64_t sequence;
};

/* Freeze every memtable, and list the groups that have something to flush.
 * Under the write turn, what a group got last is in a frozen memtable. */
static void freeze_all(struct store *s, struct buf *list)
{
    size_t count;
    struct table_part_view **views = store_views(s, &count);
    PRE(list->len == 0);
    store_freeze(s);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < views[i]->tablet_count; j++) {
            struct tablet *t = views[i]->tablets[j];
            for (size_t g = 0; g < atomic_load(&t->group_count); g++) {
                struct awaited a = {t, t->groups[g],
                                    atomic_load(&t->groups[g]->last_sequence)};
                if (tablet_group_is_clean(a.group))
                    continue;
                tablet_ref(t);
                buf_append(list, &a, sizeof(a));
            }
        }
    store_views_free(views, count);
}

int store_flush(struct store *s, struct err *err)
{
    struct buf list = BUF_INIT;
    const struct awaited *awaited;
    struct writer *turn;
    int rc = tablet_env_check_writable(&s->env, err);
    if (rc)
        return rc;
    write_turn_take(&s->env, &turn);
    atomic_store(&s->env.deferred, false);
    freeze_all(s, &list);
    write_turn_give(&s->env, turn);
    INVARIANT(list.len % sizeof(*awaited) == 0);
    awaited = (const struct awaited *)(const void *)list.data;
    for (size_t i = 0; i < list.len / sizeof(*awaited); i++) {
        if (rc == 0)
            rc = background_wait_flushed(s, awaited[i].group,
                                         awaited[i].sequence, err);
        tablet_unref(awaited[i].tablet);
    }
    buf_close(&list);
    if (rc) {
        atomic_store(&s->env.deferred, true);
        err_wrap(err, "flush");
    }
    return rc;
}

/* --- closing ------------------------------------------------------------- */

static void free_tables(struct store *s)
{
    PRE(s->closing);
    for (size_t i = 0; i < s->table_count; i++) {
        table_part_set_view(s->tables[i], NULL);
        table_part_unref(s->tables[i]);
    }
    mem_free(s->tables);
}

void store_close(struct store *s)
{
    if (!s)
        return;
    if (s->env.log && !s->sharing &&
        (atomic_load(&s->env.deferred) ||
         atomic_load(&s->env.memory_bytes) > CLOSE_FLUSH_BYTES ||
         write_log_segment_count(s->env.log) > CLOSE_FLUSH_SEGMENTS)) {
        /* Logged writes are safe; deferred ones promised nothing. */
        IGNORE_RESULT(store_flush(s, NULL));
    }
    background_stop(s);
    INVARIANT(s->background.task_count == 0);
    s->closing = true;
    free_tables(s);
    write_log_close(s->env.log);
    if (s->pin_count)
        manifest_remove_pin(s->manifest);
    snapshots_close(s);
    mem_free(s->pinned);
    if (s->queue.batch)
        write_queue_close(&s->queue);
    scan_cache_free(s->env.scan_cache);
    block_cache_free(s->cache);
    registry_free(s->registry);
    manifest_close(s->manifest);
    fs_unlock(s->file_lock);
    if (!s->sharing)
        fs_close(s->fs);
    background_close(&s->background);
    file_refs_close(&s->files);
    tablet_env_close(&s->env);
    mutex_close(&s->lock);
    mutex_close(&s->catalog_lock);
    file_numbers_close(&s->numbers);
    mem_free(s->sharing);
    mem_free(s->dir);
    mem_free(s);
}
