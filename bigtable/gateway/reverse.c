/* Descending scans, window by window: a window is read in ascending order into
 * memory and handed out from its end.
 */
#include "bigtable/gateway/reverse.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/panic.h"

/* Windows a table is cut into at first. */
#define FIRST_WINDOWS 1024
/* A window with more than this is cut where it reached it. */
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

struct reverse_scan {
    struct quarry_table *table;
    struct quarry_read_options options;
    struct arena keys;              /* Ends of windows. */
    struct window_list windows;     /* Still to be read; the last one next. */
    struct arena bytes;             /* Of the rows of the window in hand, */
    const struct quarry_row **rows; /* ascending; owned array. */
    size_t row_count;               /* Those not yet handed out. */
    size_t row_cap;
    uint64_t handed_out;
    uint64_t silent_rows; /* Those with nothing to return since one was handed
                             out. */
    struct quarry_row progress;
};

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

/* The selected rows, ascending and disjoint. */
static void wanted_rows(struct reverse_scan *s, struct window_list *out)
{
    const struct quarry_read_options *o = &s->options;
    for (size_t i = 0; i < o->range_count; i++)
        window_list_push(out, o->ranges[i].start, o->ranges[i].end);
    for (size_t i = 0; i < o->key_count; i++) {
        char *p = arena_alloc(&s->keys, o->keys[i].len + 1);
        memcpy(p, o->keys[i].data, o->keys[i].len);
        p[o->keys[i].len] = '\0';
        window_list_push(out, o->keys[i], slice_make(p, o->keys[i].len + 1));
    }
    if (out->count == 0)
        window_list_push(out, SLICE_EMPTY, SLICE_EMPTY);
    window_list_tidy(out);
}

/* Cut @whole at those of @points (ascending) that are inside of it. */
static void reverse_cut(struct reverse_scan *s,
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

int reverse_scan_open(struct quarry_table *t,
                      const struct quarry_read_options *opts,
                      struct reverse_scan **out,
                      struct err *err)
{
    struct reverse_scan *s;
    struct window_list wanted = {NULL, 0, 0};
    struct slice *points;
    size_t count;
    int rc = quarry_table_split_points(t, FIRST_WINDOWS, &points, &count, err);
    *out = NULL;
    if (rc)
        return rc;
    s = mem_zalloc(1, sizeof(*s));
    s->table = t;
    s->options = *opts;
    s->options.read_ahead_off = false;
    arena_init(&s->keys);
    arena_init(&s->bytes);
    wanted_rows(s, &wanted);
    for (size_t i = 0; i < wanted.count; i++)
        reverse_cut(s, &wanted.items[i], points, count);
    mem_free(wanted.items);
    mem_free(points);
    *out = s;
    return 0;
}

void reverse_scan_close(struct reverse_scan *s)
{
    if (!s)
        return;
    arena_close(&s->keys);
    arena_close(&s->bytes);
    mem_free(s->windows.items);
    mem_free(s->rows);
    mem_free(s);
}

/* --- rows of a window ---------------------------------------------------- */

static void keep_row(struct reverse_scan *s, const struct quarry_row *row)
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
    s->rows[s->row_count++] = copy;
}

/* Read @w into memory. When that is too much, @w is put back as two windows,
 * *@was_cut is true and nothing is kept. */
static int reverse_fill(struct reverse_scan *s,
                        const struct window *w,
                        bool *was_cut,
                        struct err *err)
{
    const struct quarry_range range = {w->start, w->end};
    struct quarry_read_options o = s->options;
    struct quarry_scanner *scanner;
    const struct quarry_row *row;
    int rc;
    o.ranges = &range;
    o.range_count = 1;
    o.key_count = 0;
    o.row_limit = 0;
    o.progress_rows = o.progress_rows ? 1 : 0; /* To count them. */
    *was_cut = false;
    rc = quarry_scan(s->table, &o, &scanner, err);
    if (rc)
        return rc;
    while ((rc = quarry_scanner_next(scanner, &row, err)) == 0 && row) {
        if (row->cell_count == 0) {
            s->silent_rows++;
            continue;
        }
        if (s->bytes.bytes > WINDOW_BYTES_MAX && s->row_count) {
            struct slice at = arena_dup(&s->keys, row->key);
            window_list_push(&s->windows, w->start, at);
            window_list_push(&s->windows, at, w->end);
            s->row_count = 0;
            *was_cut = true;
            break;
        }
        keep_row(s, row);
    }
    quarry_scanner_close(scanner);
    return rc;
}

static bool is_progress_due(const struct reverse_scan *s)
{
    return s->options.progress_rows &&
           s->silent_rows >= s->options.progress_rows;
}

int reverse_scan_next(struct reverse_scan *s,
                      const struct quarry_row **row,
                      struct err *err)
{
    *row = NULL;
    if (s->options.row_limit && s->handed_out >= s->options.row_limit)
        return 0;
    while (s->row_count == 0 && s->windows.count) {
        struct window w = s->windows.items[--s->windows.count];
        bool was_cut;
        int rc;
        arena_reset(&s->bytes);
        rc = reverse_fill(s, &w, &was_cut, err);
        if (rc)
            return rc;
        /* All rows handed out so far are behind the window's end. */
        if (s->row_count == 0 && !was_cut && w.start.len &&
            is_progress_due(s)) {
            s->silent_rows = 0;
            s->progress = (struct quarry_row){.key = w.start};
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
