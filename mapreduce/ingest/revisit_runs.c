/* Runs of revisits on the disk. Revisits are few bytes each and runs are long,
 * so a merge is narrow: a linear search finds the least. */
#include "mapreduce/ingest/revisit_runs.h"

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"

#define WRITE_BYTES ((size_t)1 << 20)
/* Read of each run at a time; a revisit holds two row keys at most. */
#define READ_BYTES ((size_t)256 << 10)

void revisit_runs_init(struct revisit_runs *r,
                       struct world *world,
                       const char *dir)
{
    PRE(world && dir);
    *r = (struct revisit_runs){.world = world, .dir = dir};
}

void revisit_runs_close(struct revisit_runs *r)
{
    file_close(r->file);
    mem_free(r->ends);
}

int revisit_cmp(const void *a, const void *b)
{
    const struct revisit *x = a;
    const struct revisit *y = b;
    if (x->time_us != y->time_us)
        return x->time_us < y->time_us ? -1 : 1;
    return slice_cmp(x->row, y->row);
}

/* --- writing ------------------------------------------------------------- */

static int open_file(struct revisit_runs *r, struct err *err)
{
    struct buf path = BUF_INIT;
    int rc;
    PRE(!r->file);
    buf_printf(&path, "%s/quarry-revisits-%016llx", r->dir,
               (unsigned long long)world_random(r->world));
    rc = file_open(r->world, buf_cstr(&path),
                   FILE_READ | FILE_WRITE | FILE_CREATE | FILE_EXCLUSIVE,
                   &r->file, err);
    if (rc == 0)
        rc = world_remove(r->world, buf_cstr(&path), err);
    buf_close(&path);
    return rc;
}

static void revisit_runs_encode(const struct revisit *v, struct buf *out)
{
    size_t from = out->len;
    buf_put_le32(out, 0);
    buf_put_zigzag(out, v->time_us);
    buf_put_zigzag(out, v->original_us);
    buf_put_zigzag(out, v->original_span_us);
    buf_put_lslice(out, v->row);
    buf_put_lslice(out, v->original_row);
    buf_put_lslice(out, v->digest);
    put_le32(out->data + from, (uint32_t)(out->len - from - 4));
}

static int write_out(struct revisit_runs *r, struct buf *b, struct err *err)
{
    struct slice s = buf_slice(b);
    int rc = file_write_at(r->file, r->bytes, &s, 1, err);
    PRE(s.len == 0 || s.data);
    r->bytes += s.len;
    buf_clear(b);
    return rc;
}

int revisit_runs_add(struct revisit_runs *r,
                     const struct revisit *list,
                     size_t count,
                     struct err *err)
{
    PRE(count > 0);
    struct buf b = BUF_INIT;
    int rc = r->file ? 0 : open_file(r, err);
    for (size_t i = 0; i < count && rc == 0; i++) {
        revisit_runs_encode(&list[i], &b);
        if (b.len >= WRITE_BYTES)
            rc = write_out(r, &b, err);
    }
    if (rc == 0)
        rc = write_out(r, &b, err);
    buf_close(&b);
    if (rc) {
        err_wrap(err, "keep revisits aside");
        return rc;
    }
    r->ends = mem_realloc(r->ends, (r->count + 1) * sizeof(*r->ends));
    r->ends[r->count++] = r->bytes;
    return 0;
}

/* --- merging ------------------------------------------------------------- */

struct aside {
    uint64_t offset; /* Of the next byte to read. */
    uint64_t end;
    struct buf bytes;
    size_t used; /* Of bytes. */
    struct revisit first;
    bool ended;
};

struct revisit_merge {
    const struct revisit_runs *runs;
    struct aside *at;
    struct aside *last; /* Its first revisit was given out. */
};

/* Read until there are @count unused bytes. */
static int revisit_runs_fill(struct revisit_merge *m,
                             struct aside *run,
                             size_t count,
                             struct err *err)
{
    PRE(run->used <= run->bytes.len);
    size_t got = 0;
    size_t want;
    int rc;
    if (run->bytes.len - run->used >= count)
        return 0;
    buf_consume(&run->bytes, run->used);
    run->used = 0;
    want = (size_t)MIN_OF((uint64_t)MAX_OF(READ_BYTES, count),
                          run->end - run->offset);
    rc = file_read_at(m->runs->file, run->offset,
                      buf_reserve(&run->bytes, want), want, &got, err);
    run->bytes.len += got;
    run->offset += got;
    if (rc == 0 && run->bytes.len < count)
        rc = err_set(err, ERR_CORRUPT, "revisits kept aside are cut");
    return rc;
}

static int revisit_runs_advance(struct revisit_merge *m,
                                struct aside *run,
                                struct err *err)
{
    struct cursor c;
    size_t n;
    int rc;
    run->ended = run->offset == run->end && run->used == run->bytes.len;
    if (run->ended)
        return 0;
    rc = revisit_runs_fill(m, run, 4, err);
    if (rc)
        return rc;
    n = get_le32(run->bytes.data + run->used);
    rc = revisit_runs_fill(m, run, 4 + n, err);
    if (rc)
        return rc;
    c = cursor_make(slice_make(run->bytes.data + run->used + 4, n));
    run->used += 4 + n;
    run->first.time_us = cursor_zigzag(&c);
    run->first.original_us = cursor_zigzag(&c);
    run->first.original_span_us = cursor_zigzag(&c);
    run->first.row = cursor_lslice(&c);
    run->first.original_row = cursor_lslice(&c);
    run->first.digest = cursor_lslice(&c);
    if (c.bad)
        return err_set(err, ERR_CORRUPT, "revisits kept aside are damaged");
    return 0;
}

int revisit_merge_open(const struct revisit_runs *r,
                       struct revisit_merge **out,
                       struct err *err)
{
    struct revisit_merge *m = mem_zalloc(1, sizeof(*m));
    int rc = 0;
    m->runs = r;
    m->at = mem_zalloc(r->count + 1, sizeof(*m->at));
    for (size_t i = 0; i < r->count && rc == 0; i++) {
        m->at[i].offset = i ? r->ends[i - 1] : 0;
        m->at[i].end = r->ends[i];
        rc = revisit_runs_advance(m, &m->at[i], err);
    }
    *out = m;
    if (rc) {
        revisit_merge_close(m);
        *out = NULL;
    }
    return rc;
}

void revisit_merge_close(struct revisit_merge *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->runs->count; i++)
        buf_close(&m->at[i].bytes);
    mem_free(m->at);
    mem_free(m);
}

int revisit_merge_next(struct revisit_merge *m,
                       const struct revisit **v,
                       struct err *err)
{
    struct aside *least = NULL;
    int rc = m->last ? revisit_runs_advance(m, m->last, err) : 0;
    *v = NULL;
    for (size_t i = 0; i < m->runs->count && rc == 0; i++) {
        struct aside *run = &m->at[i];
        if (!run->ended &&
            (!least || revisit_cmp(&run->first, &least->first) < 0))
            least = run;
    }
    m->last = least;
    if (rc == 0 && least)
        *v = &least->first;
    return rc;
}
