/* Counters of a store: caches, waits of writers, background work, each with a
 * few words on its meaning.
 */
#include "base/core/panic.h"
#include "bigtable/client/embedded/embedded.h"
#include "bigtable/log/write_log.h"
#include "bigtable/lsm/lsm.h"
#include "bigtable/read/scan_cache.h"
#include "bigtable/sstable/block_cache.h"
#include "bigtable/store/store.h"
#include "bigtable/tablet/tablet.h"

struct list {
    struct quarry_counter *at;
    size_t count;
};

static void embedded_counters_add(struct list *l,
                                  const char *name,
                                  uint64_t value,
                                  const char *about)
{
    PRE(l->count < QUARRY_COUNTERS_MAX);
    l->at[l->count++] = (struct quarry_counter){name, value, about};
}

static void add_caches(struct list *l, struct store *s)
{
    struct scan_cache_stats rows = {.hits = 0};
    struct block_cache_stats blocks;
    block_cache_stats(s->cache, &blocks);
    if (s->env.scan_cache)
        scan_cache_stats(s->env.scan_cache, &rows);
    embedded_counters_add(l, "scan_cache_hits", rows.hits,
                          "rows and cells found in memory");
    embedded_counters_add(l, "scan_cache_misses", rows.misses,
                          "and those that were not");
    embedded_counters_add(l, "scan_cache_outdated", rows.outdated,
                          "of them, written since they were kept");
    embedded_counters_add(l, "scan_cache_evicted", rows.evicted,
                          "dropped for want of room");
    embedded_counters_add(l, "scan_cache_entries", rows.entries, "kept now");
    embedded_counters_add(l, "scan_cache_bytes", rows.bytes, "their bytes");
    embedded_counters_add(l, "scan_cache_capacity", rows.capacity,
                          "and how many may be");
    embedded_counters_add(l, "block_cache_hits", blocks.hits,
                          "blocks found in memory");
    embedded_counters_add(l, "block_cache_misses", blocks.misses,
                          "and those that were not");
    embedded_counters_add(l, "block_cache_bytes", blocks.bytes, "kept now");
    embedded_counters_add(l, "block_cache_pinned", blocks.pinned_bytes,
                          "bytes of indexes and filters beside them");
}

static void add_writes(struct list *l, struct store *s)
{
    const struct write_queue *q = &s->queue;
    embedded_counters_add(l, "write_batches", atomic_load(&q->write_count),
                          "applied");
    embedded_counters_add(l, "write_groups", atomic_load(&q->group_count),
                          "commits that wrote them together");
    embedded_counters_add(l, "wait_memory_count", atomic_load(&q->stall_count),
                          "commits that waited until memory was flushed");
    embedded_counters_add(l, "wait_memory_us", atomic_load(&q->stall_us),
                          "how long");
    embedded_counters_add(l, "wait_sync_count", atomic_load(&q->sync_count),
                          "commits that waited for the disk to be safe");
    embedded_counters_add(l, "wait_sync_us", atomic_load(&q->sync_us),
                          "how long");
    embedded_counters_add(
        l, "wait_turn_count", atomic_load(&q->turn_count),
        "splits, schema changes and flushes that kept writers out");
    embedded_counters_add(l, "wait_turn_us", atomic_load(&q->turn_us),
                          "how long");
    embedded_counters_add(l, "log_bytes",
                          s->env.log ? write_log_bytes(s->env.log) : 0,
                          "in the commit log, not yet released");
}

/* Work of the locality groups of all tables, and their memory. */
static void add_files(struct list *l, struct store *s)
{
    uint64_t flushed = 0;
    uint64_t compacted = 0;
    uint64_t memory = 0;
    size_t count;
    struct table_part_view **views = store_views(s, &count);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < views[i]->tablet_count; k++) {
            struct tablet *t = views[i]->tablets[k];
            for (size_t g = 0; g < atomic_load(&t->group_count); g++) {
                struct lsm_stats stats;
                lsm_stats(t->groups[g]->lsm, &stats);
                flushed += stats.flushed_bytes;
                compacted += stats.compacted_bytes;
                memory += stats.memtable_bytes;
            }
        }
    store_views_free(views, count);
    embedded_counters_add(l, "memtable_bytes", memory,
                          "in memory, not yet in tables");
    embedded_counters_add(l, "flushed_bytes", flushed,
                          "written by minor compactions");
    embedded_counters_add(l, "compacted_bytes", compacted,
                          "written by merging and major ones");
}

static void add_background(struct list *l, struct store *s)
{
    struct background *b = &s->background;
    mutex_lock(&b->lock);
    embedded_counters_add(l, "flushes", b->flush_count, "minor compactions");
    embedded_counters_add(l, "compactions", b->compaction_count,
                          "merging compactions");
    embedded_counters_add(l, "splits", b->split_count,
                          "of tablets that grew too large");
    embedded_counters_add(l, "flush_failures", b->failure_count,
                          "flushes that failed");
    mutex_unlock(&b->lock);
}

size_t embedded_counters(struct quarry *q,
                         struct quarry_counter out[QUARRY_COUNTERS_MAX])
{
    struct list l = {out, 0};
    add_caches(&l, q->store);
    add_writes(&l, q->store);
    add_files(&l, q->store);
    add_background(&l, q->store);
    return l.count;
}
