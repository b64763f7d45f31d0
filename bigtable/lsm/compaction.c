/* Minor, merging and major compactions: sorted sources in, tables out, one
 * edit.
 *
 * The long part runs without any lock on a pinned state. Only choosing the
 * inputs, and committing what came of them, hold edit_mutex.
 */
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/lsm/chain_prefetch.h"
#include "bigtable/lsm/change_order.h"
#include "bigtable/lsm/compaction_choice.h"
#include "bigtable/lsm/group.h"
#include "bigtable/lsm/memtable.h"
#include "bigtable/lsm/merge.h"
#include "bigtable/lsm/merge_output.h"
#include "bigtable/lsm/source.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/sstable/block_cache.h"
#include "bigtable/sstable/table_meter.h"
#include "gfs-lite/fs.h"

/* Entries between two checks of the cancel flag and the rate. */
#define CHECK_EVERY 16
/* Longest sleep of the rate limit, so that a cancel is seen soon. */
#define SLEEP_US_MAX 5000
/* A flush makes a table of at least this part of a memtable, uncompressed or
 * compressed; smaller runs count as that large. */
#define BASE_SHARE_RAW  2
#define BASE_SHARE_ZSTD 4
/* After a merge has kept this much it estimates the rest: early enough that no
 * dictionary has been trained. */
#define JUDGED_BYTES ((uint64_t)1 << 20)

/* --- the work ------------------------------------------------------------ */

struct job {
    struct lsm *lsm;
    struct merge merge;
    struct output output;
    struct output past; /* Entries taken out that the past needs. */
    struct change_extent past_extent;
    struct lsm_filter *filter; /* NULL keeps everything. */
    struct buf last_key;       /* To drop entries that came twice. */
    uint64_t bytes_in;
    uint64_t bytes_kept;
    uint64_t to_judge_bytes; /* Of a merge's tables; 0: judged, or a flush. */
    uint64_t started_ns;
    uint64_t bytes_per_s; /* Rate limit; 0 for none. */
    int put_code;         /* Of what the filter puts, */
    struct err put_err;   /* if that failed. */
};

static int check_cancelled(const struct lsm *l, struct err *err)
{
    if (LIKELY(!atomic_load_explicit(&l->cancelled, memory_order_relaxed)))
        return 0;
    return err_set(err, ERR_CANCELLED, "compaction of %s: cancelled", l->dir);
}

/* Sleep while the job is ahead of its rate. */
static int keep_rate(struct job *j, struct err *err)
{
    struct world *w = fs_world(j->lsm->options.fs);
    int rc = check_cancelled(j->lsm, err);

    if (!rc && j->put_code)
        rc = err_copy(err, &j->put_err);
    while (!rc && j->bytes_per_s > 0) {
        uint64_t due_ns =
            (uint64_t)((double)j->bytes_in * 1e9 / (double)j->bytes_per_s);
        uint64_t spent_ns = world_mono_ns(w) - j->started_ns;
        if (spent_ns >= due_ns)
            break;
        world_sleep_us(
            w, MIN_OF((due_ns - spent_ns) / 1000 + 1, (uint64_t)SLEEP_US_MAX));
        rc = check_cancelled(j->lsm, err);
    }
    return rc;
}

static bool is_repeated(struct job *j, struct slice key)
{
    if (slice_eq(buf_slice(&j->last_key), key))
        return true;
    buf_clear(&j->last_key);
    buf_append_slice(&j->last_key, key);
    POST(j->last_key.len == key.len);
    return false;
}

/* Where rows are overwritten again and again, a merge keeps little, and its
 * output is as small as that of a flush: it will soon be merged again, and is
 * written as fast as a flush. The estimate is for the first table alone: if the
 * output grows beyond it, the tables that follow are written to last. */
static void compaction_judge(struct job *j)
{
    const struct group_options g = lsm__group_options(j->lsm);
    double kept = (double)j->bytes_kept / (double)j->bytes_in;

    PRE(j->bytes_in >= j->bytes_kept);
    if (kept <= 0.5 &&
        (double)j->to_judge_bytes * kept <= (double)g.memtable_bytes)
        output_hurry(&j->output);
    j->to_judge_bytes = 0;
}

static int
keep_entry(struct job *j, const struct merge_source *top, struct err *err)
{
    PRE(j->bytes_kept <= j->bytes_in);
    j->bytes_kept += top->key.len + top->value.len;
    if (j->bytes_kept >= JUDGED_BYTES && j->to_judge_bytes > 0)
        compaction_judge(j);
    return output_add(&j->output, top->key, top->value, err);
}

/* The filter's own entries. */
static void put_entry(void *ctx, struct slice key, struct slice value)
{
    struct job *j = ctx;
    /* A state may be longer than its operands. */
    j->bytes_kept = MIN_OF(j->bytes_kept + key.len + value.len, j->bytes_in);
    if (j->put_code == 0)
        j->put_code = output_add(&j->output, key, value, &j->put_err);
    POST(j->bytes_kept <= j->bytes_in);
}

/* No more entries come: the filter puts what it holds. */
static int finish_filter(struct job *j, struct err *err)
{
    if (j->filter && j->filter->finish)
        j->filter->finish(j->filter->ctx);
    return j->put_code ? err_copy(err, &j->put_err) : 0;
}

static int
judge_entry(struct job *j, const struct merge_source *top, struct err *err)
{
    struct lsm_filter *f = j->filter;
    bool kept = !f || f->keep(f->ctx, top->key, top->value);
    int rc = 0;
    PRE(top->valid);

    if (f && f->past && j->past.lsm &&
        f->past(f->ctx, top->key, top->value, kept))
        rc = output_add(&j->past, top->key, top->value, err);
    return !rc && kept ? keep_entry(j, top, err) : rc;
}

static int merge_all(struct job *j, struct err *err)
{
    const struct merge_source *top;
    uint64_t count = 0;
    int rc = merge_seek(&j->merge, SLICE_EMPTY, err);
    PRE(j->bytes_in == 0);

    while (!rc && (top = merge_top(&j->merge))) {
        j->bytes_in += top->key.len + top->value.len;
        if (++count % CHECK_EVERY == 0)
            rc = keep_rate(j, err);
        if (!rc && !is_repeated(j, top->key))
            rc = judge_entry(j, top, err);
        if (!rc)
            rc = merge_next(&j->merge, err);
    }
    if (!rc)
        rc = finish_filter(j, err);
    if (!rc)
        rc = output_finish(&j->past, err);
    INVARIANT(rc || !merge_top(&j->merge));
    return rc ? rc : output_finish(&j->output, err);
}

/* Merge @sources (@heap is as large) into j->output. */
static int run_job(struct job *j,
                   struct merge_source **sources,
                   struct merge_source **heap,
                   size_t count,
                   bool to_bottom,
                   struct err *err)
{
    const struct lsm_hooks *hooks = &j->lsm->options.hooks;
    int rc;
    PRE(j->output.lsm == j->lsm);

    PRE(count > 0);
    PRE(!j->filter);
    merge_init(&j->merge, sources, heap, count);
    if (hooks->new_filter && !j->output.changes)
        j->filter = hooks->new_filter(hooks->ctx, j->lsm);
    if (j->filter) {
        j->filter->put = put_entry;
        j->filter->job = j;
    }
    if (j->filter && j->filter->begin)
        j->filter->begin(j->filter->ctx, to_bottom);
    j->started_ns = world_mono_ns(fs_world(j->lsm->options.fs));
    rc = merge_all(j, err);
    if (j->filter && j->filter->end)
        j->filter->end(j->filter->ctx);
    if (j->filter)
        j->past_extent = j->filter->past_extent;
    if (j->filter && hooks->free_filter)
        hooks->free_filter(hooks->ctx, j->filter);
    buf_close(&j->last_key);
    return rc;
}

/* --- meters -------------------------------------------------------------- */

static void compaction_meter(const struct lsm *l,
                             enum table_write_reason reason,
                             enum table_write_level level,
                             uint64_t bytes)
{
    struct table_meter *m = block_cache_meter(l->options.cache);
    PRE(reason < TABLE_WRITE_REASONS);
    metric_add(&m->written_bytes[reason][level], bytes);
}

/* The place of the run that takes the place of those chosen. */
static enum table_write_level
compaction_level(const struct version *v, const struct compaction_choice *c)
{
    PRE(c->first + c->count <= v->run_count);
    if (c->first + c->count == v->run_count)
        return TABLE_LEVEL_BOTTOM;
    return c->first == 0 ? TABLE_LEVEL_TOP : TABLE_LEVEL_MIDDLE;
}

/* --- the runs as the choice sees them ------------------------------------ */

struct runs_view {
    struct choice_run *runs;
    struct choice_table *tables;
    size_t count;
};

static struct slice row_of(struct slice key)
{
    return slice_sub(key, 0, cell_key_row_length(key));
}

static void runs_view_open(struct runs_view *view, const struct version *v)
{
    size_t at = 0;

    view->runs = mem_zalloc(v->run_count + 1, sizeof(*view->runs));
    view->tables = mem_zalloc(v->table_count + 1, sizeof(*view->tables));
    view->count = v->run_count;
    for (size_t i = 0; i < v->run_count; i++) {
        const struct run *r = &v->runs[i];
        INVARIANT(i == 0 || r->number < v->runs[i - 1].number);
        view->runs[i] = (struct choice_run){.number = r->number,
                                            .tables = view->tables + at,
                                            .table_count = r->table_count};
        for (uint32_t k = 0; k < r->table_count; k++) {
            const struct lsm_table *t = &r->tables[k]->info;
            view->tables[at++] = (struct choice_table){
                t->bytes, row_of(t->first_key), row_of(t->last_key)};
            view->runs[i].bytes += t->bytes;
        }
    }
    INVARIANT(at == v->table_count);
}

static void runs_view_close(struct runs_view *view)
{
    mem_free(view->runs);
    mem_free(view->tables);
}

/* --- minor compaction ---------------------------------------------------- */

/* Choose the run of the new tables. PRE: edit_mutex is held. */
static void place_flushed(struct lsm *l, struct output *o)
{
    struct lsm_snapshot *s;
    struct runs_view view;
    uint32_t number;

    if (o->file_count == 0)
        return;
    s = state_pin(&l->slot);
    runs_view_open(&view, s->version);
    number = choose_flush_run(
        view.runs, view.count, row_of(o->files[0]->info.first_key),
        row_of(o->files[o->file_count - 1]->info.last_key), l->busy_run_min,
        l->busy_run_max);
    /* INV-5: a run that is being compacted takes no tables. */
    POST(l->busy_run_min > l->busy_run_max || number > l->busy_run_max);
    for (size_t i = 0; i < o->file_count; i++)
        o->files[i]->info.run = number;
    runs_view_close(&view);
    state_unpin(s);
}

/* True if the newest run has rows in the range of those of @m. */
static bool is_above(const struct memtable *m, const struct runs_view *view)
{
    const struct skip_node *first = skip_list_seek(&m->list, SLICE_EMPTY);
    const struct skip_node *last = skip_list_last(&m->list);
    PRE(view->count > 0);

    return first &&
           choice_run_overlaps(&view->runs[0], row_of(skip_node_key(first)),
                               row_of(skip_node_key(last)));
}

/* True if the entries of @m came in no order, or overwrote each other: the
 * entries of the next memtable will then lie above them. */
static bool came_in_disorder(const struct memtable *m)
{
    return stem_index_saw_disorder(&m->list.stems, memtable_count(m));
}

/* True if the flushed table will overlap the newest run, or the next flush will
 * overlap it, so that they are soon merged. Rows that come in order are written
 * once and for all. */
static bool is_to_be_merged(const struct lsm_snapshot *s)
{
    struct runs_view view;
    bool above = false;
    PRE(s->mem_count > 0);

    runs_view_open(&view, s->version);
    for (size_t i = 1; i < s->mem_count && !above; i++)
        above = came_in_disorder(s->mems[i]) ||
                (view.count > 0 && is_above(s->mems[i], &view));
    runs_view_close(&view);
    return above;
}

/* The marks of the memtables of @s that keep the order of changes, oldest
 * first. Of a group that began to keep changes there may be others below. */
static void gather_changes(const struct lsm_snapshot *s,
                           struct change_extent *extent,
                           struct change_marks *marks)
{
    PRE(s->mem_count > 1);
    for (size_t i = s->mem_count; i-- > 1;)
        if (s->mems[i]->order)
            change_order_copy_marks(s->mems[i]->order, UINT64_MAX, marks);
    if (marks->count == 0)
        return;
    *extent = (struct change_extent){s->mems[1]->sequence, marks->list[0].us,
                                     marks->list[marks->count - 1].us};
    POST(extent->first_us <= extent->last_us);
}

static int flush_mems(struct lsm *l,
                      const struct lsm_snapshot *s,
                      struct output *o,
                      struct err *err)
{
    size_t count = s->mem_count - 1;
    struct mem_source *mems = mem_zalloc(count, sizeof(*mems));
    struct chain_prefetch *prefetch = mem_zalloc(count, sizeof(*prefetch));
    struct merge_source **pointers =
        mem_zalloc(2 * count, sizeof(struct merge_source *));
    struct job j = {.lsm = l};
    struct change_extent changes = {0};
    struct change_marks marks = {0};
    struct buf encoded = BUF_INIT;
    uint64_t bytes = 0;
    int rc;
    PRE(mutex_is_held(&l->flush_mutex));

    PRE(s->mem_count > 1);
    gather_changes(s, &changes, &marks);
    change_marks_encode(&marks, &encoded);
    for (size_t i = 0; i < count; i++) {
        mem_source_init(&mems[i], s->mems[i + 1], UINT64_MAX);
        mem_source_read_whole(&mems[i], &prefetch[i]);
        pointers[i] = &mems[i].base;
        bytes += memtable_bytes(s->mems[i + 1]);
    }
    output_init(&j.output, l, bytes);
    j.output.hurried = is_to_be_merged(s);
    if (changes.end_sequence) {
        j.output.changes = &changes;
        j.output.marks = buf_slice(&encoded);
    }
    rc = run_job(&j, pointers, pointers + count, count,
                 s->version->table_count == 0, err);
    *o = j.output;
    o->changes = NULL;
    change_marks_close(&marks);
    buf_close(&encoded);
    mem_free(mems);
    mem_free(prefetch);
    mem_free(pointers);
    return rc;
}

/* PRE: flush_mutex is held. */
static int
flush_once(struct lsm *l, const struct lsm_snapshot *s, struct err *err)
{
    struct output o;
    int rc = flush_mems(l, s, &o, err);
    bool keep = !rc && l->options.commits_are_shared;
    PRE(mutex_is_held(&l->flush_mutex));

    PRE(s->mems[1]->sequence >= s->mems[s->mem_count - 1]->sequence);
    if (!rc) {
        struct lsm_change c = {.added = o.files,
                               .added_count = o.file_count,
                               .flushed_mems = s->mem_count - 1,
                               .flushed_sequence = s->mems[1]->sequence};
        mutex_lock(&l->edit_mutex);
        place_flushed(l, &o);
        rc = lsm__apply(l, &c, err);
        mutex_unlock(&l->edit_mutex);
    }
    if (!rc) {
        atomic_fetch_add(&l->flushed_bytes, o.bytes);
        compaction_meter(l, TABLE_WRITE_FLUSH, TABLE_LEVEL_TOP, o.bytes);
    }
    output_close(&o, rc == 0 || keep);
    return rc;
}

int lsm_flush(struct lsm *l, struct err *err)
{
    struct lsm_snapshot *s;
    int rc = check_cancelled(l, err);

    if (rc)
        return rc;
    mutex_lock(&l->flush_mutex);
    s = state_pin(&l->slot);
    if (s->mem_count > 1)
        rc = flush_once(l, s, err);
    state_unpin(s);
    mutex_unlock(&l->flush_mutex);
    return rc;
}

/* --- merging and major compaction ---------------------------------------- */

static uint64_t base_bytes(const struct lsm *l)
{
    const struct group_options g = lsm__group_options(l);
    uint64_t share =
        g.compression == COMPRESSION_NONE ? BASE_SHARE_RAW : BASE_SHARE_ZSTD;
    INVARIANT(share > 0);
    return MAX_OF(g.memtable_bytes / share, UINT64_C(1));
}

/* True if no run below the chosen ones has rows in the range of theirs. */
static bool reaches_bottom(const struct runs_view *view,
                           const struct compaction_choice *c)
{
    PRE(c->first + c->count <= view->count);
    for (size_t i = c->first; i < c->first + c->count; i++) {
        const struct choice_run *r = &view->runs[i];
        for (size_t k = 0; k < r->table_count; k++)
            for (size_t below = c->first + c->count; below < view->count;
                 below++)
                if (choice_run_overlaps(&view->runs[below],
                                        r->tables[k].first_row,
                                        r->tables[k].last_row))
                    return false;
    }
    return true;
}

static int merge_runs(struct lsm *l,
                      const struct version *v,
                      const struct compaction_choice *c,
                      bool to_bottom,
                      bool all,
                      struct job *j,
                      struct err *err)
{
    struct source_bounds bounds = {.lower = l->options.lower,
                                   .upper = l->options.upper,
                                   .sequence_max = UINT64_MAX};
    struct run_source *runs = mem_alloc(c->count * sizeof(*runs));
    struct merge_source **pointers =
        mem_zalloc(2 * c->count, sizeof(struct merge_source *));
    int rc;

    *j = (struct job){.lsm = l,
                      .to_judge_bytes = all ? 0 : c->bytes,
                      .bytes_per_s = l->options.compaction_bytes_per_s};
    PRE(c->count > 0);
    PRE(c->first + c->count <= v->run_count);
    for (size_t i = 0; i < c->count; i++) {
        const struct run *r = &v->runs[c->first + i];
        run_source_init(&runs[i], r->tables, r->table_count, &bounds,
                        SSTABLE_READ_ONCE);
        pointers[i] = &runs[i].base;
    }
    output_init(&j->output, l, c->bytes);
    j->output.lasts = to_bottom;
    output_init(&j->past, l, c->bytes);
    rc = run_job(j, pointers, pointers + c->count, c->count, to_bottom, err);
    for (size_t i = 0; i < c->count; i++)
        run_source_close(&runs[i]);
    mem_free(runs);
    mem_free(pointers);
    return rc;
}

/* Commit what @j wrote in the place of the chosen runs of @v. PRE: edit_mutex
 * is held. */
static int replace_runs(struct lsm *l,
                        const struct version *v,
                        const struct compaction_choice *c,
                        struct job *j,
                        struct err *err)
{
    struct output *o = &j->output;
    const struct run *first = &v->runs[c->first];
    const struct run *last = &v->runs[c->first + c->count - 1];
    struct lsm_change change = {
        .added = o->files,
        .added_count = o->file_count,
        .removed = first->tables, /* Neighbours in version.tables. */
        .removed_count =
            (size_t)(last->tables + last->table_count - first->tables),
        .past = j->past.files,
        .past_count = j->past.file_count,
        .past_extent = j->past_extent,
    };

    PRE(first->number >= last->number);
    PRE(change.removed_count >= c->count);
    PRE(change.removed_count <= v->table_count);
    for (size_t i = 0; i < o->file_count; i++)
        o->files[i]->info.run = last->number;
    return lsm__apply(l, &change, err);
}

static void set_busy(struct lsm *l, uint32_t min, uint32_t max)
{
    PRE(mutex_is_held(&l->compaction_mutex)); /* INV-5 */
    mutex_lock(&l->edit_mutex);
    l->busy_run_min = min;
    l->busy_run_max = max;
    mutex_unlock(&l->edit_mutex);
}

/* Compact the runs @c of @v, which are marked busy. */
static int compact_runs(struct lsm *l,
                        const struct version *v,
                        const struct compaction_choice *c,
                        bool to_bottom,
                        bool all,
                        struct err *err)
{
    struct job j;
    int rc = merge_runs(l, v, c, to_bottom, all, &j, err);
    bool keep = !rc && l->options.commits_are_shared;
    PRE(mutex_is_held(&l->compaction_mutex));

    PRE(v->runs[c->first].number == l->busy_run_max);
    PRE(l->busy_run_min <= l->busy_run_max);
    if (!rc) {
        mutex_lock(&l->edit_mutex);
        rc = replace_runs(l, v, c, &j, err);
        l->busy_run_min = 1;
        l->busy_run_max = 0;
        mutex_unlock(&l->edit_mutex);
    } else {
        set_busy(l, 1, 0);
    }
    if (!rc) {
        uint64_t bytes = j.output.bytes + j.past.bytes;
        atomic_fetch_add(&l->compacted_bytes, bytes);
        compaction_meter(l, all ? TABLE_WRITE_MAJOR : TABLE_WRITE_MERGE,
                         compaction_level(v, c), bytes);
    }
    output_close(&j.output, rc == 0 || keep);
    output_close(&j.past, rc == 0 || keep);
    return rc;
}

static struct compaction_choice
compaction_choose(const struct lsm *l, const struct runs_view *view, bool all)
{
    struct compaction_choice c = {.count = view->count};
    PRE(view->runs || view->count == 0);

    if (!all)
        return choose_compaction(view->runs, view->count, base_bytes(l));
    for (size_t i = 0; i < view->count; i++)
        c.bytes += view->runs[i].bytes;
    return c;
}

/* The present tables, referenced, without the memtables: a compaction that
 * pinned a whole state would keep flushed memtables, for whose memory writers
 * wait. */
static struct version *pin_version(struct lsm *l)
{
    struct lsm_snapshot *s = state_pin(&l->slot);
    struct version *v = version_ref(s->version);
    state_unpin(s);
    POST(v);
    return v;
}

/* PRE: compaction_mutex is held. */
static int compact_once(struct lsm *l, bool all, bool *did, struct err *err)
{
    struct compaction_choice c;
    struct runs_view view;
    struct version *v;
    bool to_bottom;
    int rc = check_cancelled(l, err);
    PRE(mutex_is_held(&l->compaction_mutex));

    if (rc)
        return rc;
    mutex_lock(&l->edit_mutex);
    INVARIANT(l->busy_run_min > l->busy_run_max); /* INV-5 */
    v = pin_version(l);
    runs_view_open(&view, v);
    c = compaction_choose(l, &view, all);
    INVARIANT(c.first + c.count <= view.count);
    to_bottom = reaches_bottom(&view, &c);
    if (c.count > 0) {
        l->busy_run_max = view.runs[c.first].number;
        l->busy_run_min = view.runs[c.first + c.count - 1].number;
    }
    runs_view_close(&view);
    mutex_unlock(&l->edit_mutex);
    if (c.count > 0) {
        rc = compact_runs(l, v, &c, to_bottom, all, err);
        *did = rc == 0;
    }
    version_unref(v);
    return rc;
}

static int compaction_run(struct lsm *l, bool all, bool *did, struct err *err)
{
    int rc;

    *did = false;
    mutex_lock(&l->compaction_mutex);
    rc = compact_once(l, all, did, err);
    mutex_unlock(&l->compaction_mutex);
    return rc;
}

int lsm_compact(struct lsm *l, bool *did, struct err *err)
{
    return compaction_run(l, false, did, err);
}

int lsm_compact_major(struct lsm *l, struct err *err)
{
    bool did;

    return compaction_run(l, true, &did, err);
}

/* Low bits of the word have the debt, the others the change that it is of. */
#define DEBT_BITS 48
#define DEBT_MAX  ((UINT64_C(1) << DEBT_BITS) - 1)

static uint64_t count_debt(const struct lsm *l)
{
    struct lsm_snapshot *s = lsm_snapshot_new((struct lsm *)(uintptr_t)l);
    struct compaction_choice c;
    struct runs_view view;

    runs_view_open(&view, s->version);
    c = choose_compaction(view.runs, view.count, base_bytes(l));
    runs_view_close(&view);
    lsm_snapshot_free(s);
    return c.count ? MAX_OF(c.bytes, UINT64_C(1)) : 0;
}

/* Asked of all groups at each choice of a job, while few of them change. */
uint64_t lsm_compaction_debt(const struct lsm *l)
{
    uint64_t change = (uint64_t)atomic_load(&l->table_changes) + 1;
    uint64_t word = atomic_load(&l->debt);
    uint64_t debt;

    change <<= DEBT_BITS;
    if ((word & ~DEBT_MAX) == change)
        return word & DEBT_MAX;
    debt = MIN_OF(count_debt(l), DEBT_MAX);
    atomic_store(&((struct lsm *)(uintptr_t)l)->debt, change | debt);
    POST(debt <= DEBT_MAX);
    return debt;
}
