/* Scans in descending order, window by window (reverse_scan.h). They are
 * scanners of a target of their own, which has no other operation: it stands on
 * the public calls of whichever target the table is on, so that directories and
 * clusters give rows in the same way.
 */
#include "bigtable/client/reverse_scan.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/client/client.h"
#include "bigtable/client/options_copy.h"

/* Windows a table is cut into before anything is read. */
#define FIRST_WINDOWS 1024
/* A window with more than this is cut where it reached it: at first, and after
 * doubling with each window that was read. */
#define WINDOW_BYTES_MIN ((size_t)128 << 10)
#define WINDOW_BYTES_MAX ((size_t)8 << 20)

/* Rows [start, end); an empty end has no bound. */
struct window {
    struct slice start;
    struct slice end;
};

struct window_list {
    struct window *items; /* Owned. */
    size_t count;
    size_t cap;
};

struct reverse_scanner {
    struct quarry_scanner base;
    struct quarry_table *table;     /* Borrowed. */
    struct options_copy copy;       /* Of the read, without its rows. */
    struct arena keys;              /* Bounds of windows. */
    struct window_list windows;     /* To be read; the last one next. INV-1 */
    size_t window_bytes;            /* Of the next one, at most. */
    struct arena bytes;             /* Of the rows of the window in hand, */
    const struct quarry_row **rows; /* ascending; owned array. INV-2 */
    size_t row_count;               /* Those not yet handed out. */
    size_t row_cap;
    uint64_t handed_out;
    uint64_t silent_rows; /* Those with nothing to return since one was handed
                             out. */
    struct quarry_row progress;
};

static struct reverse_scanner *reverse_of(struct quarry_scanner *s)
{
    return (struct reverse_scanner *)s;
}

/* --- windows ------------------------------------------------------------- */

static void
window_list_push(struct window_list *l, struct slice start, struct slice end)
{
    if (l->count == l->cap) {
        l->cap = MAX_OF(l->cap * 2, 16);
        l->items = mem_realloc(l->items, l->cap * sizeof(*l->items));
    }
    l->items[l->count++] = (struct window){start, end};
}

static int by_start(const void *a, const void *b)
{
    const struct window *x = a;
    const struct window *y = b;
    return slice_cmp(x->start, y->start);
}

/* Is @end the bound of at least as many rows as @other? */
static bool reverse_reaches(struct slice end, struct slice other)
{
    return end.len == 0 || (other.len && slice_cmp(end, other) >= 0);
}

/* Sort, and make overlapping ones one. */
static void window_list_tidy(struct window_list *l)
{
    size_t kept = 0;
    qsort(l->items, l->count, sizeof(*l->items), by_start);
    for (size_t i = 1; i < l->count; i++) {
        struct window *last = &l->items[kept];
        const struct window *next = &l->items[i];
        if (last->end.len && slice_cmp(next->start, last->end) > 0)
            l->items[++kept] = *next;
        else if (!reverse_reaches(last->end, next->end))
            last->end = next->end;
    }
    l->count = kept + 1;
}

/* The selected rows, ascending and disjoint; bounds in the scan's arena. */
static void wanted_windows(struct reverse_scanner *s,
                           const struct quarry_read_options *o,
                           struct window_list *out)
{
    for (size_t i = 0; i < o->range_count; i++) {
        const struct quarry_range *r = &o->ranges[i];
        if (r->end.len == 0 || slice_cmp(r->start, r->end) < 0)
            window_list_push(out, arena_dup(&s->keys, r->start),
                             arena_dup(&s->keys, r->end));
    }
    for (size_t i = 0; i < o->key_count; i++) {
        size_t len = o->keys[i].len;
        char *end = arena_alloc(&s->keys, len + 1);
        memcpy(end, o->keys[i].data, len);
        end[len] = '\0';
        window_list_push(out, slice_make(end, len), slice_make(end, len + 1));
    }
    if (o->range_count + o->key_count == 0)
        window_list_push(out, SLICE_EMPTY, SLICE_EMPTY);
    if (out->count)
        window_list_tidy(out);
}

/* Cut @whole at those of @points (ascending) that are inside of it. */
static void reverse_cut(struct reverse_scanner *s,
                        const struct window *whole,
                        const struct slice *points,
                        size_t point_count)
{
    struct slice start = whole->start;
    for (size_t i = 0; i < point_count; i++) {
        if (slice_cmp(points[i], start) <= 0)
            continue;
        if (whole->end.len && slice_cmp(points[i], whole->end) >= 0)
            break;
        window_list_push(&s->windows, start, arena_dup(&s->keys, points[i]));
        start = s->windows.items[s->windows.count - 1].end;
    }
    window_list_push(&s->windows, start, whole->end);
}

static int cut_wanted_rows(struct reverse_scanner *s,
                           const struct quarry_read_options *opts,
                           struct err *err)
{
    struct window_list wanted = {NULL, 0, 0};
    struct slice *points;
    size_t count;
    int rc = quarry_table_split_points(s->table, FIRST_WINDOWS, &points, &count,
                                       err);
    if (rc)
        return rc;
    wanted_windows(s, opts, &wanted);
    for (size_t i = 0; i < wanted.count; i++)
        reverse_cut(s, &wanted.items[i], points, count);
    mem_free(wanted.items);
    mem_free(points);
    return 0;
}

/* The eight bytes of @key from @at on, as a number; @fill for those behind it.
 */
static uint64_t key_number(struct slice key, size_t at, int fill)
{
    uint64_t n = 0;
    for (size_t i = at; i < at + 8; i++)
        n = n << 8 | (uint8_t)(i < key.len ? key.data[i] : fill);
    return n;
}

bool reverse_scan_middle(struct slice low, struct slice high, struct buf *out)
{
    size_t common = 0;
    uint64_t a, b, middle;
    char bytes[8];
    while (common < low.len && common < high.len &&
           low.data[common] == high.data[common])
        common++;
    a = key_number(low, common, 0);
    b = key_number(high, common, high.len ? 0 : 0xff);
    buf_clear(out);
    if (b <= a || b - a < 2)
        return false;
    middle = a + (b - a) / 2;
    put_be64(bytes, middle);
    buf_append(out, low.data, common);
    buf_append(out, bytes, sizeof(bytes));
    POST(slice_cmp(buf_slice(out), low) > 0);
    POST(!high.len || slice_cmp(buf_slice(out), high) < 0);
    return true;
}

/* @w has too many rows before @at: it is put back in pieces. */
static void
put_back_cut(struct reverse_scanner *s, const struct window *w, struct slice at)
{
    struct buf middle = BUF_INIT;
    struct slice cut = arena_dup(&s->keys, at);
    PRE(slice_cmp(cut, w->start) > 0);
    PRE(reverse_reaches(w->end, cut));
    window_list_push(&s->windows, w->start, cut);
    if (reverse_scan_middle(cut, w->end, &middle)) {
        struct slice half = arena_dup(&s->keys, buf_slice(&middle));
        window_list_push(&s->windows, cut, half);
        cut = half;
    }
    window_list_push(&s->windows, cut, w->end);
    buf_close(&middle);
}

/* --- rows of a window ---------------------------------------------------- */

static void keep_row(struct reverse_scanner *s, const struct quarry_row *row)
{
    struct quarry_row *copy = arena_alloc(&s->bytes, sizeof(*copy));
    struct quarry_cell *cells =
        arena_alloc(&s->bytes, row->cell_count * sizeof(*cells));
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct quarry_cell *from = &row->cells[i];
        cells[i].family = arena_dup(&s->bytes, from->family);
        cells[i].qualifier = arena_dup(&s->bytes, from->qualifier);
        cells[i].timestamp_us = from->timestamp_us;
        cells[i].value = arena_dup(&s->bytes, from->value);
        cells[i].label = arena_dup(&s->bytes, from->label);
    }
    *copy = (struct quarry_row){.key = arena_dup(&s->bytes, row->key),
                                .cells = cells,
                                .cell_count = row->cell_count};
    if (s->row_count == s->row_cap) {
        s->row_cap = MAX_OF(s->row_cap * 2, 64);
        s->rows =
            mem_realloc(s->rows, s->row_cap * sizeof(struct quarry_row *));
    }
    PRE(s->row_count == 0 ||
        slice_cmp(s->rows[s->row_count - 1]->key, copy->key) < 0); /* INV-2 */
    s->rows[s->row_count++] = copy;
}

/* Rows of @scanner, up to what a window may have. *@was_cut: there are more;
 * @w is put back in pieces, and nothing is kept. */
static int keep_rows(struct reverse_scanner *s,
                     const struct window *w,
                     struct quarry_scanner *scanner,
                     bool *was_cut,
                     struct err *err)
{
    const struct quarry_row *row;
    int rc;
    while ((rc = quarry_scanner_next(scanner, &row, err)) == 0 && row) {
        if (row->cell_count == 0) {
            s->silent_rows++;
            continue;
        }
        if (s->bytes.bytes > s->window_bytes && s->row_count) {
            put_back_cut(s, w, row->key);
            s->row_count = 0;
            *was_cut = true;
            return 0;
        }
        keep_row(s, row);
    }
    return rc;
}

/* Read the last window into memory. */
static int
reverse_fill(struct reverse_scanner *s, bool *was_cut, struct err *err)
{
    const struct window w = s->windows.items[--s->windows.count];
    const struct quarry_range range = {w.start, w.end};
    struct quarry_read_options o = s->copy.options;
    struct quarry_scanner *scanner;
    int rc;
    PRE(s->row_count == 0);
    arena_reset(&s->bytes);
    o.ranges = &range;
    o.range_count = 1;
    o.reversed = false;
    o.row_limit = 0;
    o.progress_rows = o.progress_rows ? 1 : 0; /* To count them. */
    *was_cut = false;
    rc = quarry_scan(s->table, &o, &scanner, err);
    if (rc)
        return rc;
    rc = keep_rows(s, &w, scanner, was_cut, err);
    quarry_scanner_close(scanner);
    if (rc == 0 && !*was_cut)
        s->window_bytes = MIN_OF(s->window_bytes * 2, WINDOW_BYTES_MAX);
    s->progress.key = w.start;
    return rc;
}

static bool is_progress_due(const struct reverse_scanner *s)
{
    uint32_t every = s->copy.options.progress_rows;
    return every && s->silent_rows >= every && s->progress.key.len;
}

static int reverse_scanner_next(struct quarry_scanner *base,
                                const struct quarry_row **row,
                                struct err *err)
{
    struct reverse_scanner *s = reverse_of(base);
    uint64_t limit = s->copy.options.row_limit;
    *row = NULL;
    if (limit && s->handed_out >= limit)
        return 0;
    while (s->row_count == 0 && s->windows.count) {
        bool was_cut;
        int rc = reverse_fill(s, &was_cut, err);
        if (rc)
            return rc;
        /* All rows handed out so far are behind the window's end. */
        if (s->row_count == 0 && !was_cut && is_progress_due(s)) {
            s->silent_rows = 0;
            *row = &s->progress;
            return 0;
        }
    }
    if (s->row_count) {
        s->silent_rows = 0;
        *row = s->rows[--s->row_count];
        s->handed_out++;
    }
    return 0;
}

/* --- a scanner ----------------------------------------------------------- */

static void reverse_scanner_close(struct quarry_scanner *base)
{
    struct reverse_scanner *s = reverse_of(base);
    options_copy_close(&s->copy);
    arena_close(&s->keys);
    arena_close(&s->bytes);
    mem_free(s->windows.items);
    mem_free(s->rows);
    mem_free(s);
}

static const struct target_ops reverse_ops = {
    .scanner_next = reverse_scanner_next,
    .scanner_close = reverse_scanner_close,
};

int reverse_scan(struct quarry_table *t,
                 const struct quarry_read_options *opts,
                 struct quarry_scanner **out,
                 struct err *err)
{
    struct reverse_scanner *s = mem_zalloc(1, sizeof(*s));
    bool was_cut;
    int rc = options_copy_init(&s->copy, opts, err);
    PRE(opts->reversed);
    *out = NULL;
    if (rc) {
        mem_free(s);
        return rc;
    }
    s->base.ops = &reverse_ops;
    s->table = t;
    s->window_bytes = WINDOW_BYTES_MIN;
    s->copy.options.read_ahead_off = false;
    arena_init(&s->keys);
    arena_init(&s->bytes);
    rc = cut_wanted_rows(s, opts, err);
    /* Errors of the read are told now, as by other scans. */
    if (rc == 0 && s->windows.count)
        rc = reverse_fill(s, &was_cut, err);
    if (rc)
        reverse_scanner_close(&s->base);
    else
        *out = &s->base;
    return rc;
}
