/* Revisits filled from their originals, once all captures of the import are in
 * the table. A revisit may refer to one that is filled itself: they are taken
 * in the order of time, and gathered rows are applied before an original counts
 * as missing. Those that memory has no room for wait in a file. */
#include <stdlib.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/panic.h"
#include "mapreduce/ingest/revisit_runs.h"
#include "mapreduce/ingest/webtable.h"
#include "mapreduce/warc/digest.h"

struct revisits {
    struct run *run;
    struct mutex lock;
    struct arena arena; /* Of the bytes in the list. */
    struct revisit *list;
    size_t count;
    size_t cap;
    uint64_t bytes; /* In memory. */
    struct revisit_runs runs;
};

struct revisits *revisits_new(struct run *run)
{
    struct revisits *r = mem_zalloc(1, sizeof(*r));
    r->run = run;
    mutex_init(&r->lock);
    arena_init(&r->arena);
    revisit_runs_init(&r->runs, run->world, run->opts.temp_dir);
    return r;
}

void revisits_free(struct revisits *r)
{
    if (!r)
        return;
    mutex_close(&r->lock);
    arena_close(&r->arena);
    revisit_runs_close(&r->runs);
    mem_free(r->list);
    mem_free(r);
}

/* Write the revisits in memory to the disk. PRE: the lock is held. */
static int set_aside(struct revisits *r, struct err *err)
{
    PRE(r->count <= r->cap);
    int rc;
    if (r->count == 0)
        return 0;
    qsort(r->list, r->count, sizeof(*r->list), revisit_cmp);
    rc = revisit_runs_add(&r->runs, r->list, r->count, err);
    arena_reset(&r->arena);
    r->count = 0;
    r->bytes = 0;
    return rc;
}

static void revisits_put(struct revisits *r, const struct revisit *v)
{
    struct revisit *to;
    if (r->count == r->cap) {
        r->cap = r->cap ? r->cap * 2 : 64;
        r->list = mem_realloc(r->list, r->cap * sizeof(*r->list));
    }
    to = &r->list[r->count++];
    *to = *v;
    to->row = arena_dup(&r->arena, v->row);
    to->original_row = slice_eq(v->row, v->original_row)
                           ? to->row
                           : arena_dup(&r->arena, v->original_row);
    to->digest = arena_dup(&r->arena, v->digest);
    r->bytes += sizeof(*v) + v->row.len + v->original_row.len + v->digest.len;
}

int revisits_add(struct revisits *r, const struct revisit *v, struct err *err)
{
    int rc = 0;
    mutex_lock(&r->lock);
    revisits_put(r, v);
    if (r->bytes >= r->run->opts.revisit_bytes_max)
        rc = set_aside(r, err);
    mutex_unlock(&r->lock);
    return rc;
}

/* --- finding the original ------------------------------------------------ */

/* Is the capture whose digest is @label the one that @v refers to? */
static bool same_digest(const struct revisit *v, struct slice label)
{
    struct digest a;
    struct digest b;
    return digest_parse(v->digest, &a) && digest_parse(label, &b) &&
           digest_eq(&a, &b);
}

/* The end of the second of @us. */
static int64_t second_end(int64_t us)
{
    int64_t second = INT64_C(1000000);
    int64_t in_second = (us % second + second) % second;
    return us - in_second + second;
}

/* Times of the row's captures that may be the original, into [min, max). A
 * capture later than the second of the revisit is none: otherwise the result
 * would depend on when the import runs. */
static void revisits_bounds(const struct revisit *v, int64_t *min, int64_t *max)
{
    *min = INT64_MIN + 1;
    *max = v->time_us;
    if (v->original_us != INT64_MIN) {
        *min = v->original_us;
        *max = MIN_OF(v->original_us + v->original_span_us,
                      second_end(v->time_us));
    }
}

/* A limit of 0 means none to a read: its cells are checked again. */
static bool is_within(const int64_t range[2], int64_t us)
{
    return us >= range[0] && us < range[1];
}

static bool has_time(const struct quarry_row *row, int64_t us)
{
    for (size_t i = 0; i < row->cell_count; i++)
        if (row->cells[i].timestamp_us == us)
            return true;
    return false;
}

/* The time of the original: that of the newest of @pages with the right digest
 * or, when its time is known, of the newest. INT64_MIN: none. */
static int64_t revisits_choose(const struct revisit *v,
                               const int64_t range[2],
                               const struct quarry_row *pages,
                               const struct quarry_row *digests)
{
    for (size_t i = 0; digests && i < digests->cell_count; i++) {
        const struct quarry_cell *c = &digests->cells[i];
        if (v->digest.len && is_within(range, c->timestamp_us) &&
            same_digest(v, c->value) && has_time(pages, c->timestamp_us))
            return c->timestamp_us;
    }
    /* A page that was not modified has no digest to compare. */
    if (v->original_us == INT64_MIN && v->digest.len)
        return INT64_MIN;
    for (size_t i = 0; i < pages->cell_count; i++)
        if (is_within(range, pages->cells[i].timestamp_us))
            return pages->cells[i].timestamp_us;
    return INT64_MIN;
}

static int read_cells(struct revisits *r,
                      const struct revisit *v,
                      const char *column,
                      bool keys_only,
                      const int64_t range[2],
                      struct quarry_row **out,
                      struct err *err)
{
    struct quarry_read_options opts = {
        .column_regex = column,
        .keys_only = keys_only,
        .time_min_us = range[0],
        .time_max_us = range[1],
    };
    return quarry_read_row(r->run->table, v->original_row, &opts, out, err);
}

/* The contents that @v shares, as the last cell of *@page; NULL: they are
 * missing. */
static int find_original(struct revisits *r,
                         const struct revisit *v,
                         struct quarry_row **page,
                         struct err *err)
{
    struct quarry_row *pages = NULL;
    struct quarry_row *digests = NULL;
    int64_t range[2];
    int64_t at;
    int rc;
    *page = NULL;
    revisits_bounds(v, &range[0], &range[1]);
    if (range[0] >= range[1])
        return 0;
    rc = read_cells(r, v, "contents:", true, range, &pages, err);
    if (rc || !pages)
        return rc;
    rc = read_cells(r, v, "meta:digest", false, range, &digests, err);
    if (rc == 0) {
        at = revisits_choose(v, range, pages, digests);
        range[0] = at;
        range[1] = at + 1;
        if (at != INT64_MIN)
            rc = read_cells(r, v, "contents:", false, range, page, err);
    }
    quarry_row_free(pages);
    quarry_row_free(digests);
    return rc;
}

/* --- filling ------------------------------------------------------------- */

static int fill_one(struct revisits *r,
                    const struct revisit *v,
                    struct run_batch *batch,
                    struct err *err)
{
    struct quarry_row *page;
    struct quarry_mutation *m;
    int rc = find_original(r, v, &page, err);
    if (rc == 0 && !page && batch->count) {
        rc = run_batch_flush(batch, err);
        if (rc == 0)
            rc = find_original(r, v, &page, err);
    }
    if (rc || !page)
        return rc;
    rc = run_batch_row(batch, v->row,
                       page->cells[page->cell_count - 1].value.len, &m, err);
    if (rc == 0) {
        run_batch_set(batch, m, "contents", SLICE_EMPTY, v->time_us,
                      page->cells[page->cell_count - 1].value);
        r->run->report->revisit_filled++;
    }
    quarry_row_free(page);
    return rc;
}

static int
fill_list(struct revisits *r, struct run_batch *batch, struct err *err)
{
    int rc = 0;
    if (r->count > 1)
        qsort(r->list, r->count, sizeof(*r->list), revisit_cmp);
    for (size_t i = 0; i < r->count && rc == 0; i++)
        rc = fill_one(r, &r->list[i], batch, err);
    return rc;
}

static int
fill_runs(struct revisits *r, struct run_batch *batch, struct err *err)
{
    struct revisit_merge *m = NULL;
    const struct revisit *v = NULL;
    int rc = set_aside(r, err);
    if (rc == 0)
        rc = revisit_merge_open(&r->runs, &m, err);
    while (rc == 0) {
        rc = revisit_merge_next(m, &v, err);
        if (rc || !v)
            break;
        rc = fill_one(r, v, batch, err);
    }
    revisit_merge_close(m);
    return rc;
}

int revisits_fill(struct revisits *r, struct err *err)
{
    struct run_batch batch;
    int rc;
    run_batch_init(&batch, r->run);
    rc = r->runs.count ? fill_runs(r, &batch, err) : fill_list(r, &batch, err);
    if (rc == 0)
        rc = run_batch_flush(&batch, err);
    run_batch_close(&batch);
    return rc;
}
