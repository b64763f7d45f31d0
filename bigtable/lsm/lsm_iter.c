/* Iterators over a snapshot: memtables and runs, merged. For one row or column,
 * Bloom filters rule out runs before the iterator is built, so that a point
 * read by iterator opens few tables.
 */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/hash.h"
#include "base/core/panic.h"
#include "bigtable/lsm/group.h"
#include "bigtable/lsm/merge.h"
#include "bigtable/lsm/probe.h"
#include "bigtable/lsm/source.h"
#include "bigtable/row/explain.h"

struct lsm_iter {
    struct lsm_snapshot *snapshot; /* Pinned. */
    struct source_bounds bounds;
    struct merge merge;
    struct mem_source *mems;
    struct run_source *runs;
    size_t run_count; /* Of those the filters let pass. */
    struct merge_source **pointers;
};

/* One allocation: the iterator, its sources, and two arrays of pointers. */
static struct lsm_iter *new_iter(size_t mem_count, size_t run_count)
{
    size_t sources = mem_count + run_count;
    size_t mems_at = sizeof(struct lsm_iter);
    size_t runs_at = mems_at + mem_count * sizeof(struct mem_source);
    size_t pointers_at = runs_at + run_count * sizeof(struct run_source);
    char *p =
        mem_alloc(pointers_at + 2 * sources * sizeof(struct merge_source *));
    struct lsm_iter *it = (void *)p;

    *it = (struct lsm_iter){.run_count = 0};
    it->mems = (void *)(p + mems_at);
    it->runs = (void *)(p + runs_at);
    it->pointers = (void *)(p + pointers_at);
    POST((uintptr_t)it->pointers % _Alignof(struct merge_source *) == 0);
    return it;
}

/* Prepare a source for @r unless the filters rule it out. */
static int add_run(struct lsm_iter *it,
                   const struct run *r,
                   const struct run_probe *probe,
                   const struct lsm_read_options *opts,
                   struct err *err)
{
    bool maybe = true;
    int rc = 0;

    PRE(it->run_count < it->snapshot->version->run_count);
    if (probe->row.len > 0)
        rc = run_probe_test(probe, r, &maybe, err);
    if (rc || !maybe)
        return rc;
    run_source_init(&it->runs[it->run_count++], r->tables, r->table_count,
                    &it->bounds,
                    opts->scan ? SSTABLE_READ_SCAN : SSTABLE_READ_POINT);
    if (UNLIKELY(opts->explain))
        run_source_explain(&it->runs[it->run_count - 1], opts->explain);
    return 0;
}

int lsm_iter_new(struct lsm_snapshot *s,
                 const struct lsm_read_options *opts,
                 struct lsm_iter **out,
                 struct err *err)
{
    const struct version *v = s->version;
    struct lsm_iter *it = new_iter(s->mem_count, v->run_count);
    struct run_probe probe;
    size_t sources = 0;
    int rc = 0;

    PRE(opts->probe_column.len == 0 || opts->probe_row.len > 0);
    *out = NULL;
    it->snapshot = state_ref(s);
    it->bounds = (struct source_bounds){
        .lower = s->lsm->options.lower,
        .upper = s->lsm->options.upper,
        .sequence_max = opts->sequence_max,
        .time_min_us = opts->time_min_us,
        .time_max_us = opts->time_max_us,
    };
    run_probe_init(&probe, opts->probe_row, opts->probe_column,
                   hash64_slice(opts->probe_column));
    for (size_t i = 0; i < s->mem_count; i++) {
        mem_source_init(&it->mems[i], s->mems[i], opts->sequence_max);
        if (UNLIKELY(opts->explain))
            mem_source_explain(&it->mems[i], opts->explain);
        it->pointers[sources++] = &it->mems[i].base;
    }
    probe.explain = opts->explain;
    for (size_t i = 0; i < v->run_count && !rc; i++)
        rc = add_run(it, &v->runs[i], &probe, opts, err);
    for (size_t i = 0; i < it->run_count; i++)
        it->pointers[sources++] = &it->runs[i].base;
    merge_init(&it->merge, it->pointers, it->pointers + sources, sources);
    if (rc)
        lsm_iter_free(it);
    else
        *out = it;
    return rc;
}

void lsm_iter_free(struct lsm_iter *it)
{
    if (!it)
        return;
    for (size_t i = 0; i < it->run_count; i++)
        run_source_close(&it->runs[i]);
    state_unpin(it->snapshot);
    mem_free(it);
}

int lsm_iter_seek(struct lsm_iter *it, struct slice key, struct err *err)
{
    PRE(it->snapshot);
    return merge_seek(&it->merge, key, err);
}

int lsm_iter_next(struct lsm_iter *it, struct err *err)
{
    PRE(merge_top(&it->merge));
    return merge_next(&it->merge, err);
}

bool lsm_iter_valid(const struct lsm_iter *it)
{
    return merge_top(&it->merge) != NULL;
}

bool lsm_iter_entry(const struct lsm_iter *it,
                    struct slice *key,
                    struct slice *value,
                    bool *stays)
{
    const struct merge_source *top = merge_top(&it->merge);
    PRE(it->snapshot);

    if (!top)
        return false;
    *key = top->key;
    *value = top->value;
    *stays = top->stays;
    return true;
}

struct slice lsm_iter_key(const struct lsm_iter *it)
{
    PRE(merge_top(&it->merge));
    return merge_top(&it->merge)->key;
}

struct slice lsm_iter_value(const struct lsm_iter *it)
{
    PRE(merge_top(&it->merge));
    return merge_top(&it->merge)->value;
}

void lsm_explain_files(const struct lsm_snapshot *s,
                       struct explain_tablet *explain,
                       uint32_t group,
                       bool group_is_wanted,
                       lsm_wanted_fn wanted,
                       void *ctx)
{
    const struct version *v = s->version;

    PRE(explain);
    PRE(wanted);
    for (size_t i = 0; i < v->table_count; i++) {
        const struct lsm_table *t = &v->tables[i]->info;
        enum explain_fate fate = EXPLAIN_FILE_FAMILY;
        if (group_is_wanted)
            fate = wanted(ctx, t->first_key, t->last_key)
                       ? EXPLAIN_FILE_NOT_NEEDED
                       : EXPLAIN_FILE_KEY_RANGE;
        explain_file(explain, t->number, group, t->bytes, fate);
    }
    if (group_is_wanted)
        explain->counts.memtables_read += s->mem_count;
}
