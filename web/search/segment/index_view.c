/* Which rows are hidden is worked out at the open, from the rows of the
 * segments, which are in memory then: no file has to say so, and none can be
 * wrong about it.
 */
#include "web/search/segment/index_view.h"

#include "base/core/panic.h"

/* --- what is hidden ------------------------------------------------------ */

static void hide_row(struct index_part *p, uint32_t row)
{
    const struct segment *s = p->segment;
    if (!p->hidden)
        p->hidden = mem_zalloc((size_t)s->row_count / 64 + 1, 8);
    if (part_hides(p, row))
        return;
    p->hidden[row / 64] |= UINT64_C(1) << (row % 64);
    p->live_documents -= s->row_documents[row + 1] - s->row_documents[row];
}

/* Hide what @newer has, by a search for each of its rows. */
static void hide_by_search(struct index_part *old, const struct segment *newer)
{
    struct segment_rows rows;
    struct slice key;
    struct buf found = BUF_INIT;
    segment_rows_begin(&rows, newer, 0);
    while (segment_rows_next(&rows, &key)) {
        uint32_t row = segment_row_find(old->segment, key);
        if (row == old->segment->row_count)
            break;
        segment_row_key(old->segment, row, &found);
        if (slice_eq(buf_slice(&found), key))
            hide_row(old, row);
    }
    segment_rows_close(&rows);
    buf_close(&found);
}

/* The same by walking both, for a segment of about the size. */
static void hide_by_walk(struct index_part *old, const struct segment *newer)
{
    struct segment_rows a;
    struct segment_rows b;
    struct slice x = SLICE_EMPTY;
    struct slice y = SLICE_EMPTY;
    bool has_x;
    bool has_y;
    segment_rows_begin(&a, old->segment, 0);
    segment_rows_begin(&b, newer, 0);
    has_x = segment_rows_next(&a, &x);
    has_y = segment_rows_next(&b, &y);
    while (has_x && has_y) {
        int order = slice_cmp(x, y);
        if (order == 0)
            hide_row(old, a.next - 1);
        if (order <= 0)
            has_x = segment_rows_next(&a, &x);
        if (order >= 0)
            has_y = segment_rows_next(&b, &y);
    }
    segment_rows_close(&a);
    segment_rows_close(&b);
}

static void hide_rows(struct index_part *old, const struct segment *newer)
{
    if ((uint64_t)newer->row_count * 32 < old->segment->row_count)
        hide_by_search(old, newer);
    else
        hide_by_walk(old, newer);
}

/* --- the view ------------------------------------------------------------ */

static int open_parts(struct index_view *v,
                      struct fs *fs,
                      const char *directory,
                      struct page_cache *cache,
                      struct err *err)
{
    struct buf path = BUF_INIT;
    int rc = 0;
    v->parts = mem_zalloc(v->manifest.segment_count + 1, sizeof(*v->parts));
    for (size_t i = 0; i < v->manifest.segment_count && !rc; i++) {
        struct index_part *p = &v->parts[i];
        index_segment_path(directory, v->manifest.segments[i].number, &path);
        rc = segment_open(fs, buf_cstr(&path), cache, &p->segment, err);
        if (rc)
            break;
        v->part_count++;
        p->live_documents = p->segment->document_count;
        v->bytes += p->segment->bytes;
    }
    buf_close(&path);
    return rc;
}

int index_view_open(struct fs *fs,
                    const char *directory,
                    struct page_cache *cache,
                    struct index_view **out,
                    struct err *err)
{
    struct index_manifest m;
    int rc = index_manifest_read(fs, directory, &m, err);
    *out = NULL;
    if (!rc)
        rc = index_view_of(fs, directory, &m, cache, out, err);
    index_manifest_close(&m);
    return rc;
}

int index_view_of(struct fs *fs,
                  const char *directory,
                  const struct index_manifest *m,
                  struct page_cache *cache,
                  struct index_view **out,
                  struct err *err)
{
    struct index_view *v = mem_zalloc(1, sizeof(*v));
    int rc;
    index_manifest_copy(m, &v->manifest);
    rc = open_parts(v, fs, directory, cache, err);
    for (size_t i = 0; i < v->part_count && !rc; i++)
        for (size_t k = i + 1; k < v->part_count; k++)
            hide_rows(&v->parts[i], v->parts[k].segment);
    for (size_t i = 0; i < v->part_count; i++)
        v->live_documents += v->parts[i].live_documents;
    if (rc) {
        index_view_close(v);
        v = NULL;
    }
    *out = v;
    return rc;
}

void index_view_close(struct index_view *v)
{
    if (!v)
        return;
    for (size_t i = 0; i < v->part_count; i++) {
        segment_close(v->parts[i].segment);
        mem_free(v->parts[i].hidden);
    }
    mem_free(v->parts);
    index_manifest_close(&v->manifest);
    mem_free(v);
}

const struct index_part *
index_view_row(const struct index_view *v, struct slice key, uint32_t *row)
{
    const struct index_part *found = NULL;
    struct buf at = BUF_INIT;
    for (size_t i = v->part_count; i-- > 0 && !found;) {
        const struct segment *s = v->parts[i].segment;
        *row = segment_row_find(s, key);
        if (*row == s->row_count)
            continue;
        segment_row_key(s, *row, &at);
        if (slice_eq(buf_slice(&at), key))
            found = &v->parts[i];
    }
    buf_close(&at);
    return found;
}

/* --- rows ---------------------------------------------------------------- */

/* Step part @i to its next row that is not hidden. */
static void rows_step(struct index_rows *r, size_t i)
{
    do {
        r->has[i] = segment_rows_next(&r->rows[i], &r->keys[i]);
    } while (r->has[i] && part_hides(&r->view->parts[i], r->rows[i].next - 1));
}

void index_rows_begin(struct index_rows *r, const struct index_view *v)
{
    *r = (struct index_rows){.view = v};
    r->rows = mem_zalloc(v->part_count + 1, sizeof(*r->rows));
    r->keys = mem_zalloc(v->part_count + 1, sizeof(*r->keys));
    r->has = mem_zalloc(v->part_count + 1, sizeof(*r->has));
    for (size_t i = 0; i < v->part_count; i++) {
        segment_rows_begin(&r->rows[i], v->parts[i].segment, 0);
        rows_step(r, i);
    }
    r->last = v->part_count;
}

bool index_rows_next(struct index_rows *r,
                     struct slice *key,
                     uint64_t *signature,
                     uint32_t *documents)
{
    size_t count = r->view->part_count;
    size_t least = count;
    const struct segment *s;
    uint32_t row;
    if (r->last < count)
        rows_step(r, r->last);
    for (size_t i = 0; i < count; i++)
        if (r->has[i] &&
            (least == count || slice_cmp(r->keys[i], r->keys[least]) < 0))
            least = i;
    r->last = least;
    if (least == count)
        return false;
    s = r->view->parts[least].segment;
    row = r->rows[least].next - 1;
    *key = r->keys[least];
    *signature = s->row_signatures[row];
    *documents = s->row_documents[row + 1] - s->row_documents[row];
    return true;
}

void index_rows_close(struct index_rows *r)
{
    for (size_t i = 0; i < r->view->part_count; i++)
        segment_rows_close(&r->rows[i]);
    mem_free(r->rows);
    mem_free(r->keys);
    mem_free(r->has);
}
