/* Memtables and runs as sources of a merge. Both skip the entries that their
 * reader may not see: those with higher sequence numbers, and in shared tables
 * the rows outside of the group's bounds.
 */
#include "bigtable/lsm/source.h"

#include "base/core/panic.h"
#include "bigtable/lsm/chain_prefetch.h"
#include "bigtable/lsm/memtable.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/row/explain.h"
#include "bigtable/sstable/properties.h"

/* --- memtables ----------------------------------------------------------- */

static struct mem_source *as_mem(struct merge_source *s)
{
    return CONTAINER_OF(s, struct mem_source, base);
}

/* Move to @n or the first entry after it that the reader may see. */
static void mem_show(struct mem_source *s, const struct skip_node *n)
{
    ASSERT_SLOW(!n || n->key_len > 0);
    while (n && cell_key_sequence(skip_node_key(n)) > s->sequence_max)
        n = skip_node_next(n);
    s->node = n;
    s->base.valid = n != NULL;
    if (n) {
        s->base.key = skip_node_key(n);
        s->base.value = skip_node_value(n);
        s->base.stays = true; /* As long as the memtable. */
    }
}

static int
mem_seek(struct merge_source *base, struct slice target, struct err *err)
{
    struct mem_source *s = as_mem(base);
    PRE(s->mem);

    (void)err;
    if (s->prefetch)
        chain_prefetch_start(s->prefetch, &s->mem->list);
    mem_show(s, skip_list_seek(&s->mem->list, target));
    return 0;
}

static int mem_next(struct merge_source *base, struct err *err)
{
    struct mem_source *s = as_mem(base);
    ASSERT_SLOW(s->node && base->valid);

    (void)err;
    mem_show(s, skip_node_next(s->node));
    if (s->prefetch && s->node) {
        skip_node_ask_for(skip_node_next(s->node)); /* Evicted, perhaps. */
        chain_prefetch_step(s->prefetch);
    }
    return 0;
}

void mem_source_init(struct mem_source *s,
                     const struct memtable *mem,
                     uint64_t sequence_max)
{
    PRE(mem);
    *s = (struct mem_source){.mem = mem, .sequence_max = sequence_max};
    s->base.seek = mem_seek;
    s->base.next = mem_next;
}

static int mem_seek_explained(struct merge_source *base,
                              struct slice target,
                              struct err *err)
{
    int rc = mem_seek(base, target, err);
    PRE(as_mem(base)->explain);
    as_mem(base)->explain->counts.entries_from_memtables += base->valid;
    return rc;
}

static int mem_next_explained(struct merge_source *base, struct err *err)
{
    int rc = mem_next(base, err);
    PRE(as_mem(base)->explain);
    as_mem(base)->explain->counts.entries_from_memtables += base->valid;
    return rc;
}

void mem_source_explain(struct mem_source *s, struct explain_tablet *explain)
{
    PRE(explain);
    PRE(!s->base.valid);
    s->explain = explain;
    s->base.seek = mem_seek_explained;
    s->base.next = mem_next_explained;
}

void mem_source_read_whole(struct mem_source *s,
                           struct chain_prefetch *prefetch)
{
    PRE(s->mem->sequence > 0); /* It is frozen. */
    s->prefetch = prefetch;
}

/* --- runs ---------------------------------------------------------------- */

static struct run_source *as_run(struct merge_source *s)
{
    return CONTAINER_OF(s, struct run_source, base);
}

static bool run_table_skip(const struct run_source *s,
                           const struct sstable_file *f,
                           enum explain_fate fate)
{
    PRE(f->info.number > 0);
    if (UNLIKELY(s->explain))
        explain_file_met(s->explain, f->info.number, fate);
    return false;
}

/* True if table @f may hold entries that are wanted. Deletions count for all
 * times. */
static bool table_is_wanted(const struct run_source *s,
                            const struct sstable_file *f)
{
    const struct source_bounds *b = s->bounds;
    const struct sstable_properties *p = sstable_reader_properties(f->reader);
    PRE(b && f->reader);

    if (f->info.sequence_min > b->sequence_max)
        return run_table_skip(s, f, EXPLAIN_FILE_SEQUENCE);
    if (b->time_min_us == b->time_max_us || p->tombstone_count > 0)
        return true;
    return (p->time_max_us >= b->time_min_us &&
            p->time_min_us < b->time_max_us) ||
           run_table_skip(s, f, EXPLAIN_FILE_TIME);
}

/* Key of the iterator's entry, with the number that the table's owner gave. */
static struct slice given_key(struct run_source *s)
{
    struct slice key = sstable_iter_key(&s->iter);
    ASSERT_SLOW(sstable_iter_valid(&s->iter));
    if (LIKELY(!s->given))
        return key;
    buf_clear(&s->key);
    cell_key_append_numbered(&s->key, key, s->given);
    return buf_slice(&s->key);
}

/* Is the next entry in the same block, and next to be shown? */
static bool run_stays(const struct run_source *s)
{
    return !s->check_sequence && !block_iter_is_last(&s->iter.data);
}

/* Move to the iterator's entry or the first one after it in this table that the
 * reader may see. *@ended is set when there can be no later one. */
static int run_show(struct run_source *s, bool *ended, struct err *err)
{
    while (sstable_iter_valid(&s->iter)) {
        struct slice key = given_key(s);
        int rc;
        if (UNLIKELY(s->check_upper) && slice_cmp(key, s->bounds->upper) >= 0) {
            *ended = true;
            return 0;
        }
        if (LIKELY(!s->check_sequence) ||
            cell_key_sequence(key) <= s->bounds->sequence_max) {
            s->base.key = key;
            s->base.value = sstable_iter_value(&s->iter);
            s->base.stays = run_stays(s);
            s->base.valid = true;
            return 0;
        }
        rc = sstable_iter_next(&s->iter, err);
        if (rc)
            return rc;
    }
    return 0;
}

/* Move to the first visible entry >= @target of table s->at or a later one. */
static int
run_open_from(struct run_source *s, struct slice target, struct err *err)
{
    const struct source_bounds *b = s->bounds;
    bool ended = false;
    int rc = 0;

    PRE(s->at <= s->table_count);
    PRE(!s->base.valid);
    for (; s->at < s->table_count && !rc && !s->base.valid && !ended; s->at++) {
        struct sstable_file *f = s->tables[s->at];
        if (!table_is_wanted(s, f))
            continue;
        s->check_upper =
            b->upper.len > 0 && slice_cmp(f->info.last_key, b->upper) >= 0;
        if (s->check_upper && slice_cmp(f->info.first_key, b->upper) >= 0)
            break;
        s->check_sequence = f->info.sequence_max > b->sequence_max;
        s->given = f->given_sequence;
        s->is_plain = !s->check_upper && !s->check_sequence && !s->given;
        sstable_iter_open(&s->iter, f->reader, s->mode);
        if (UNLIKELY(s->explain))
            s->iter.explain = explain_file_met(s->explain, f->info.number,
                                               EXPLAIN_FILE_OPENED);
        rc = sstable_iter_seek(&s->iter, target, err);
        /* Under its given number an entry may lie before the target. */
        if (!rc && s->given && sstable_iter_valid(&s->iter) &&
            slice_cmp(given_key(s), target) < 0)
            rc = sstable_iter_next(&s->iter, err);
        if (!rc)
            rc = run_show(s, &ended, err);
        if (s->base.valid)
            break; /* Stay at this table. */
    }
    return rc;
}

static int
run_seek(struct merge_source *base, struct slice target, struct err *err)
{
    struct run_source *s = as_run(base);
    struct slice lower = s->bounds->lower;
    uint32_t low = 0;
    uint32_t high = s->table_count;
    PRE(s->table_count > 0);
    PRE(s->bounds);

    if (slice_cmp(target, lower) < 0)
        target = lower;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (slice_cmp(s->tables[middle]->info.last_key, target) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    s->at = low;
    s->base.valid = false;
    return run_open_from(s, target, err);
}

static int run_next(struct merge_source *base, struct err *err)
{
    struct run_source *s = as_run(base);
    bool ended = false;
    int rc = sstable_iter_next(&s->iter, err);

    if (LIKELY(!rc && s->is_plain && sstable_iter_valid(&s->iter))) {
        s->base.key = sstable_iter_key(&s->iter);
        s->base.value = sstable_iter_value(&s->iter);
        s->base.stays = !block_iter_is_last(&s->iter.data);
        return 0;
    }
    s->base.valid = false;
    if (!rc)
        rc = run_show(s, &ended, err);
    if (rc || s->base.valid || ended)
        return rc;
    INVARIANT(s->at < s->table_count);
    s->at++;
    return run_open_from(s, SLICE_EMPTY, err);
}

void run_source_init(struct run_source *s,
                     struct sstable_file *const *tables,
                     uint32_t table_count,
                     const struct source_bounds *bounds,
                     enum sstable_read_mode mode)
{
    PRE(table_count > 0);
    PRE(bounds);
    s->base = (struct merge_source){.seek = run_seek, .next = run_next};
    s->tables = tables;
    s->table_count = table_count;
    s->at = table_count;
    s->bounds = bounds;
    s->mode = mode;
    s->check_upper = false;
    s->check_sequence = false;
    s->is_plain = true;
    s->given = 0;
    s->explain = NULL;
    s->key = BUF_INIT;
    sstable_iter_init(&s->iter);
}

static int run_seek_explained(struct merge_source *base,
                              struct slice target,
                              struct err *err)
{
    int rc = run_seek(base, target, err);
    PRE(as_run(base)->explain);
    as_run(base)->explain->counts.entries_from_files += base->valid;
    return rc;
}

static int run_next_explained(struct merge_source *base, struct err *err)
{
    int rc = run_next(base, err);
    PRE(as_run(base)->explain);
    as_run(base)->explain->counts.entries_from_files += base->valid;
    return rc;
}

void run_source_explain(struct run_source *s, struct explain_tablet *explain)
{
    PRE(explain);
    PRE(!s->base.valid);
    s->explain = explain;
    s->base.seek = run_seek_explained;
    s->base.next = run_next_explained;
}

void run_source_close(struct run_source *s)
{
    sstable_iter_close(&s->iter);
    buf_close(&s->key);
}
