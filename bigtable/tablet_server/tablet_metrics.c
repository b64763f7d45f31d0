/* Metrics of a tablet server: of its tables, and of the engine beneath them.
 *
 * Counters and times belong to the process: they do not go back when a tablet
 * leaves. The sizes of tables are added up over the tablets that are here, from
 * what the engine keeps in memory; nothing is read for them.
 */
#include "base/core/hash_map.h"
#include "base/core/panic.h"
#include "base/crypt/keyring.h"
#include "base/metrics/metrics.h"
#include "base/runtime/world.h"
#include "bigtable/log/write_log.h"
#include "bigtable/lsm/lsm.h"
#include "bigtable/read/family_use.h"
#include "bigtable/read/scan_cache.h"
#include "bigtable/sstable/block_cache.h"
#include "bigtable/sstable/table_meter.h"
#include "bigtable/store/store.h"
#include "bigtable/tablet/tablet.h"
#include "bigtable/tablet/tablet_changes.h"
#include "bigtable/tablet_server/rules.h"
#include "bigtable/tablet_server/tablet_server_state.h"
#include "gfs-lite/fs.h"

struct table_meters table_meters_find(struct metrics *m, const char *name)
{
    const char *const *labels = METRIC_LABELS(name);
    return (struct table_meters){
        .read_seconds =
            metrics_histogram(m, METRIC_tablet_read_seconds, labels),
        .scan_seconds =
            metrics_histogram(m, METRIC_tablet_scan_seconds, labels),
        .write_seconds =
            metrics_histogram(m, METRIC_tablet_write_seconds, labels),
        .read_rows = metrics_counter(m, METRIC_tablet_read_rows, labels),
        .written_rows = metrics_counter(m, METRIC_tablet_written_rows, labels),
        .row_bytes = metrics_counter(m, METRIC_tablet_row_bytes, labels),
    };
}

void server_count_fuel(struct tablet_server *s, bool as_filter, uint64_t fuel)
{
    const char *const *labels =
        METRIC_LABELS(as_filter ? "filter" : "aggregate");
    PRE(s->ready);
    metric_add(metrics_counter(s->options.metrics, METRIC_sawzall_runs, labels),
               1);
    metric_add(metrics_counter(s->options.metrics, METRIC_sawzall_fuel, labels),
               fuel);
}

static void
tablet_metrics_put(struct metric_set *out, enum metric_id id, double value)
{
    metric_put(out, id, NULL, value);
}

/* --- tables -------------------------------------------------------------- */

/* Sums over the tablets that are here. */
struct tablet_sums {
    struct hash_map hottest; /* Table to rows a second of its busiest tablet. */
    uint64_t table_count;    /* SSTables. */
    uint64_t run_count;      /* The most of one group. */
    uint64_t debt_bytes;
};

static void put_group(struct metric_set *out,
                      const struct tablet_group *g,
                      const char *table,
                      const char *group,
                      struct tablet_sums *sums)
{
    struct lsm_stats stats;
    lsm_stats(g->lsm, &stats);
    sums->table_count += stats.table_count;
    sums->run_count = MAX_OF(sums->run_count, stats.run_count);
    sums->debt_bytes += lsm_compaction_debt(g->lsm);
    metric_put(out, METRIC_tablet_stored_bytes, METRIC_LABELS(table, group),
               (double)stats.table_bytes);
    metric_put(out, METRIC_tablet_memtable_bytes, METRIC_LABELS(table),
               (double)stats.memtable_bytes);
}

static void put_families(struct metric_set *out,
                         const struct tablet *t,
                         const struct schema *schema,
                         const char *table)
{
    struct family_use *uses =
        mem_zalloc(schema->family_count + 1, sizeof(*uses));
    family_use_add(t, schema, false, uses);
    for (size_t i = 0; i < schema->family_count; i++)
        metric_put(out, METRIC_tablet_family_bytes,
                   METRIC_LABELS(table, schema->families[i].name),
                   (double)uses[i].stored_bytes);
    mem_free(uses);
}

static void
note_load(struct tablet_sums *sums, const struct tablet *t, const char *table)
{
    struct load_rates r =
        load_meter_rates(&t->load, world_mono_ns(t->env->world));
    union hash_value *most =
        hash_map_put(&sums->hottest, slice_str(table), NULL);
    PRE(r.reads >= 0);
    PRE(r.writes >= 0);
    most->number = MAX_OF(most->number, (uint64_t)(r.reads + r.writes));
}

static void put_hottest(struct metric_set *out, struct tablet_sums *sums)
{
    const struct hash_slot *slot;
    size_t at = 0;
    PRE(out);
    while ((slot = hash_map_next(&sums->hottest, &at)) != NULL) {
        char *table = mem_strndup(slot->key.data, slot->key.len);
        metric_put(out, METRIC_tablet_hottest_rows, METRIC_LABELS(table),
                   (double)slot->value.number);
        mem_free(table);
    }
    hash_map_close(&sums->hottest);
}

static void
put_changes(struct metric_set *out, struct tablet_changes *c, const char *table)
{
    uint64_t limit = tablet_changes_bytes_max(c);
    if (!atomic_load(&c->on))
        return;
    metric_put(out, METRIC_tablet_changes_bytes, METRIC_LABELS(table),
               (double)tablet_changes_bytes(c));
    if (limit)
        metric_put(out, METRIC_tablet_changes_limit_bytes, METRIC_LABELS(table),
                   (double)limit);
}

static void put_tablet(struct metric_set *out,
                       const struct table_part_view *v,
                       const char *table,
                       struct tablet_sums *sums)
{
    const struct tablet *t = v->tablets[0];
    size_t count = MIN_OF(atomic_load(&t->group_count), v->schema->group_count);
    PRE(v->tablet_count == 1);
    metric_put(out, METRIC_tablet_tablets, METRIC_LABELS(table), 1);
    note_load(sums, t, table);
    if (atomic_load(&t->unsplittable_bytes))
        metric_put(out, METRIC_tablet_unsplittable_bytes, METRIC_LABELS(table),
                   (double)atomic_load(&t->unsplittable_bytes));
    put_changes(out, t->changes, table);
    for (size_t i = 0; i < count; i++)
        put_group(out, t->groups[i], table, v->schema->groups[i].name, sums);
    put_families(out, t, v->schema, table);
}

static void put_tablets(struct tablet_server *s, struct metric_set *out)
{
    struct tablet_sums sums = {.run_count = 0};
    size_t count;
    struct served **list = served_list(&s->served, &count);
    hash_map_init(&sums.hottest, HASH_KEYS_COPIED);
    for (size_t i = 0; i < count; i++) {
        struct table_part *p = atomic_load(&list[i]->phase) == TABLET_SERVING
                                   ? list[i]->table
                                   : NULL;
        struct table_part_view *v = p ? table_part_get_view(p) : NULL;
        if (v) {
            put_tablet(out, v, p->name, &sums);
            rules_gather_use(list[i], out);
        }
        table_part_view_unref(v);
        served_unref(list[i]);
    }
    mem_free(list);
    put_hottest(out, &sums);
    tablet_metrics_put(out, METRIC_engine_sstables, (double)sums.table_count);
    tablet_metrics_put(out, METRIC_engine_runs, (double)sums.run_count);
    tablet_metrics_put(out, METRIC_engine_compaction_debt_bytes,
                       (double)sums.debt_bytes);
}

/* --- caches and files ---------------------------------------------------- */

static void put_cache(struct metric_set *out,
                      const char *cache,
                      uint64_t hits,
                      uint64_t misses,
                      uint64_t evicted,
                      uint64_t bytes)
{
    const char *const *labels = METRIC_LABELS(cache);
    metric_put(out, METRIC_cache_hits, labels, (double)hits);
    metric_put(out, METRIC_cache_misses, labels, (double)misses);
    metric_put(out, METRIC_cache_evictions, labels, (double)evicted);
    metric_put(out, METRIC_cache_bytes, labels, (double)bytes);
}

static void put_caches(struct store *s, struct metric_set *out)
{
    struct block_cache_stats blocks;
    struct scan_cache_stats rows = {.hits = 0};
    block_cache_stats(s->cache, &blocks);
    if (s->env.scan_cache)
        scan_cache_stats(s->env.scan_cache, &rows);
    put_cache(out, "block", blocks.hits, blocks.misses, blocks.evicted,
              blocks.bytes);
    put_cache(out, "scan", rows.hits, rows.misses, rows.evicted, rows.bytes);
    metric_put(out, METRIC_memory_bytes, METRIC_LABELS("block_cache"),
               (double)blocks.bytes);
    metric_put(out, METRIC_memory_bytes, METRIC_LABELS("pinned_filters"),
               (double)blocks.pinned_bytes);
    metric_put(out, METRIC_memory_bytes, METRIC_LABELS("scan_cache"),
               (double)rows.bytes);
}

/* Returns the bytes that were written to SSTables. */
static double put_written(const struct table_meter *m, struct metric_set *out)
{
    static const char *const reasons[TABLE_WRITE_REASONS] = {
        [TABLE_WRITE_FLUSH] = "flush",
        [TABLE_WRITE_MERGE] = "merge",
        [TABLE_WRITE_MAJOR] = "major"};
    static const char *const levels[TABLE_WRITE_LEVELS] = {
        [TABLE_LEVEL_TOP] = "top",
        [TABLE_LEVEL_MIDDLE] = "middle",
        [TABLE_LEVEL_BOTTOM] = "bottom"};
    double sum = 0;
    for (size_t r = 0; r < TABLE_WRITE_REASONS; r++)
        for (size_t l = 0; l < TABLE_WRITE_LEVELS; l++) {
            double bytes = (double)metric_read(&m->written_bytes[r][l]);
            sum += bytes;
            if (bytes > 0)
                metric_put(out, METRIC_engine_written_bytes,
                           METRIC_LABELS(reasons[r], levels[l]), bytes);
        }
    return sum;
}

static void put_files(struct store *s, struct metric_set *out)
{
    static const char *const reasons[TABLE_READ_REASONS] = {
        [TABLE_READ_POINT] = "read",
        [TABLE_READ_SCAN] = "scan",
        [TABLE_READ_COMPACTION] = "compaction"};
    const struct table_meter *m = block_cache_meter(s->cache);
    double ingested = (double)metric_read(&s->queue.ingested_bytes);
    double logged = (double)metric_read(&s->queue.logged_bytes);
    double written = put_written(m, out);
    metric_put_counter(out, METRIC_filter_checks, NULL, &m->filter_checks);
    metric_put_counter(out, METRIC_filter_negatives, NULL,
                       &m->filter_negatives);
    for (size_t i = 0; i < TABLE_READ_REASONS; i++)
        metric_put_counter(out, METRIC_engine_read_bytes,
                           METRIC_LABELS(reasons[i]), &m->read_bytes[i]);
    tablet_metrics_put(out, METRIC_engine_ingested_bytes, ingested);
    tablet_metrics_put(out, METRIC_engine_logged_bytes, logged);
    if (ingested > 0)
        tablet_metrics_put(out, METRIC_engine_write_amplification_ratio,
                           (written + logged) / ingested);
}

/* --- writers and background work ----------------------------------------- */

static void put_stall(struct metric_set *out,
                      const char *cause,
                      const atomic_ullong *count,
                      const atomic_ullong *us)
{
    const char *const *labels = METRIC_LABELS(cause);
    metric_put(out, METRIC_engine_stalls, labels, (double)atomic_load(count));
    metric_put(out, METRIC_engine_stalled_seconds, labels,
               (double)atomic_load(us) / 1e6);
}

static void put_writers(struct store *s, struct metric_set *out)
{
    const struct write_queue *q = &s->queue;
    double memory = (double)atomic_load(&s->env.memory_bytes);
    PRE(s->options.memtable_bytes > 0);
    put_stall(out, "memory", &q->stall_count, &q->stall_us);
    put_stall(out, "turn", &q->turn_count, &q->turn_us);
    metric_put_histogram(out, METRIC_engine_commit_sync_seconds, NULL,
                         &q->sync_seconds);
    tablet_metrics_put(out, METRIC_engine_write_groups,
                       (double)atomic_load(&q->group_count));
    tablet_metrics_put(out, METRIC_engine_write_batches,
                       (double)atomic_load(&q->write_count));
    tablet_metrics_put(out, METRIC_engine_memtable_bytes, memory);
    tablet_metrics_put(out, METRIC_engine_memtable_limit_bytes,
                       (double)s->options.memtable_bytes);
    metric_put(out, METRIC_memory_bytes, METRIC_LABELS("memtables"), memory);
}

static void put_background(struct store *s, struct metric_set *out)
{
    struct background *b = &s->background;
    metric_put_histogram(out, METRIC_engine_flush_seconds, NULL,
                         &b->flush_seconds);
    metric_put_histogram(out, METRIC_engine_compaction_seconds,
                         METRIC_LABELS("merge"), &b->compaction_seconds);
    metric_put_histogram(out, METRIC_engine_compaction_seconds,
                         METRIC_LABELS("major"), &b->major_seconds);
    mutex_lock(&b->lock);
    tablet_metrics_put(out, METRIC_engine_flush_failures,
                       (double)b->failure_count);
    tablet_metrics_put(out, METRIC_engine_splits, (double)b->split_count);
    mutex_unlock(&b->lock);
}

static void put_key(const struct tablet_server *s, struct metric_set *out)
{
    struct keyring *k = fs_keyring(s->fs);
    struct keyring_status status;
    if (!k)
        return;
    keyring_get_status(k, &status);
    INVARIANT(status.key_count > 0);
    metric_put(out, METRIC_encryption_key_made_seconds, METRIC_LABELS("tables"),
               (double)status.current_created_us / 1e6);
}

void tablet_server_gather(struct tablet_server *s, struct metric_set *out)
{
    bool is_ready = atomic_load(&s->ready);
    tablet_metrics_put(out, METRIC_tablet_ready, is_ready);
    tablet_metrics_put(out, METRIC_tablet_lost,
                       (double)atomic_load(&s->lost_count));
    tablet_metrics_put(out, METRIC_tablet_request_bytes,
                       (double)atomic_load(&s->request_bytes));
    metric_put_histogram(out, METRIC_tablet_load_seconds, NULL,
                         &s->load_seconds);
    metric_put_histogram(out, METRIC_tablet_recovery_seconds, NULL,
                         &s->recovery_seconds);
    if (!is_ready)
        return;
    INVARIANT(s->number != 0); /* INV-1 */
    INVARIANT(s->log);
    INVARIANT(s->store);
    put_tablets(s, out);
    rules_gather(s->rules, out);
    put_key(s, out);
    put_caches(s->store, out);
    put_files(s->store, out);
    put_writers(s->store, out);
    put_background(s->store, out);
    tablet_metrics_put(out, METRIC_engine_log_bytes,
                       (double)write_log_bytes(s->log));
    tablet_metrics_put(out, METRIC_engine_log_limit_bytes,
                       (double)server_log_bytes_max(s));
}
