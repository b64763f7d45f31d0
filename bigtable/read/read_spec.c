/* Sets of rows: collected in any order, then sorted and merged into disjoint
 * spans, so that a scan moves forward only and returns a row once.
 */
#include <stdlib.h>

#include "base/core/panic.h"
#include "base/regex/regex.h"
#include "bigtable/read/scan.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/row/filter.h"

static void row_span_check(const struct row_span *s)
{
    INVARIANT(s->lower.len > 0 || !s->single); /* INV-1 of scan.h */
    INVARIANT(s->upper.len == 0 ||
              slice_cmp(buf_slice(&s->lower), buf_slice(&s->upper)) < 0);
}

static void drop_spans(struct read_spec *spec)
{
    PRE(spec->span_count == 0 || spec->spans);
    for (size_t i = 0; i < spec->span_count; i++) {
        buf_close(&spec->spans[i].lower);
        buf_close(&spec->spans[i].upper);
    }
    mem_free(spec->spans);
    spec->spans = NULL;
    spec->span_count = 0;
}

void read_spec_close(struct read_spec *spec)
{
    PRE(spec->spans || spec->span_count == 0);
    drop_spans(spec);
    mem_free(spec->families);
    mem_free(spec->valued);
    filter_unref(spec->filter);
    regex_free(spec->column_regex);
    *spec = (struct read_spec){.spans = NULL};
}

/* Room doubles: the count is a power of two when it is full. */
static struct row_span *add_span(struct read_spec *spec)
{
    size_t n = spec->span_count;
    PRE(spec->spans || n == 0);
    if ((n & (n - 1)) == 0)
        spec->spans =
            mem_realloc(spec->spans, (n ? n * 2 : 1) * sizeof(*spec->spans));
    spec->span_count++;
    spec->spans[n] = (struct row_span){BUF_INIT, BUF_INIT, false};
    return &spec->spans[n];
}

void read_spec_add_range(struct read_spec *spec,
                         struct slice start,
                         struct slice end)
{
    struct row_span *s;
    if (end.len && slice_cmp(start, end) >= 0)
        return;
    s = add_span(spec);
    if (start.len)
        cell_key_append_row(&s->lower, start);
    if (end.len)
        cell_key_append_row(&s->upper, end);
    POST(s->upper.len == 0 ||
         slice_cmp(buf_slice(&s->lower), buf_slice(&s->upper)) < 0);
}

void read_spec_add_row(struct read_spec *spec, struct slice row)
{
    struct row_span *s = add_span(spec);
    cell_key_append_row(&s->lower, row);
    buf_append_slice(&s->upper, buf_slice(&s->lower));
    if (!cell_key_prefix_successor(&s->upper, 0))
        PANIC("an encoded row has a successor");
    s->single = true;
    row_span_check(s);
}

void read_spec_set_row(struct read_spec *spec, struct slice row)
{
    drop_spans(spec);
    spec->none = false;
    read_spec_add_row(spec, row);
    POST(spec->span_count == 1);
}

static int compare_spans(const void *a, const void *b)
{
    return slice_cmp(buf_slice(&((const struct row_span *)a)->lower),
                     buf_slice(&((const struct row_span *)b)->lower));
}

static bool ends_before(const struct row_span *a, const struct row_span *b)
{
    return a->upper.len &&
           (b->upper.len == 0 ||
            slice_cmp(buf_slice(&a->upper), buf_slice(&b->upper)) < 0);
}

/* Does @b begin before @a ends? Neighbours stay apart, so that single rows stay
 * single. */
static bool row_span_meets(const struct row_span *a, const struct row_span *b)
{
    return a->upper.len == 0 ||
           slice_cmp(buf_slice(&b->lower), buf_slice(&a->upper)) < 0;
}

/* Let @a cover @b, too, and free @b. */
static void row_span_swallow(struct row_span *a, struct row_span *b)
{
    PRE(row_span_meets(a, b));
    PRE(compare_spans(a, b) <= 0);
    a->single = a->single && b->single;
    if (ends_before(a, b)) {
        buf_close(&a->upper);
        a->upper = b->upper;
        b->upper = BUF_INIT;
    }
    buf_close(&b->lower);
    buf_close(&b->upper);
}

void read_spec_finish(struct read_spec *spec)
{
    size_t n = 0;
    if (spec->span_count)
        qsort(spec->spans, spec->span_count, sizeof(*spec->spans),
              compare_spans);
    for (size_t i = 0; i < spec->span_count; i++) {
        if (n > 0 && row_span_meets(&spec->spans[n - 1], &spec->spans[i]))
            row_span_swallow(&spec->spans[n - 1], &spec->spans[i]);
        else
            spec->spans[n++] = spec->spans[i];
    }
    POST(n <= spec->span_count);
    POST(n > 0 || spec->span_count == 0);
    spec->span_count = n;
}

/* Cut @s to [lower, upper); false when nothing is left. */
static bool
clip_span(struct row_span *s, const struct buf *lower, const struct buf *upper)
{
    PRE(s->upper.len == 0 ||
        slice_cmp(buf_slice(&s->lower), buf_slice(&s->upper)) < 0);
    if (slice_cmp(buf_slice(&s->lower), buf_slice(lower)) < 0) {
        buf_clear(&s->lower);
        buf_append_slice(&s->lower, buf_slice(lower));
    }
    if (upper->len && (s->upper.len == 0 ||
                       slice_cmp(buf_slice(upper), buf_slice(&s->upper)) < 0)) {
        buf_clear(&s->upper);
        buf_append_slice(&s->upper, buf_slice(upper));
    }
    return s->upper.len == 0 ||
           slice_cmp(buf_slice(&s->lower), buf_slice(&s->upper)) < 0;
}

void read_spec_clip(struct read_spec *spec,
                    struct slice start,
                    struct slice end)
{
    struct buf lower = BUF_INIT;
    struct buf upper = BUF_INIT;
    size_t n = 0;
    if (spec->span_count == 0 && !spec->none)
        read_spec_add_range(spec, SLICE_EMPTY, SLICE_EMPTY);
    if (start.len)
        cell_key_append_row(&lower, start);
    if (end.len)
        cell_key_append_row(&upper, end);
    for (size_t i = 0; i < spec->span_count; i++) {
        if (clip_span(&spec->spans[i], &lower, &upper)) {
            spec->spans[n++] = spec->spans[i];
        } else {
            buf_close(&spec->spans[i].lower);
            buf_close(&spec->spans[i].upper);
        }
    }
    POST(n <= spec->span_count);
    spec->span_count = n;
    spec->none |= n == 0;
    buf_close(&lower);
    buf_close(&upper);
    POST(spec->span_count > 0 || spec->none);
}
