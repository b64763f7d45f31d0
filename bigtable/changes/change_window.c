/* Sources are merged by key, and each row's entries put in the order of their
 * numbers. A row with more entries than there is memory for is read in several
 * passes: each takes the lowest numbers, as many as there is room for.
 */
#include "bigtable/changes/change_window.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/fault.h"
#include "base/core/panic.h"
#include "bigtable/changes/change_emit.h"
#include "bigtable/changes/change_position.h"
#include "bigtable/changes/change_read.h"
#include "bigtable/changes/change_sources.h"
#include "bigtable/lsm/change_order.h"
#include "bigtable/lsm/memtable.h"
#include "bigtable/lsm/source.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/tablet/tablet_changes.h"

/* Entries of a row that are held at once, unless a single commit has more. */
#define ROW_BYTES_MAX ((size_t)8 << 20)

void change_window_choose(const struct change_sources *s,
                          uint64_t limit,
                          struct change_position *at)
{
    uint64_t high = limit;
    if (at->high)
        return;
    for (size_t i = 0; i < s->file_count; i++) {
        uint64_t end = s->files[i].extent.end_sequence;
        if (end > at->low)
            high = MIN_OF(high, end);
    }
    at->high = high;
    at->row_sequence = 0;
    buf_clear(&at->row);
}

/* --- sources ------------------------------------------------------------- */

struct window {
    struct change_sources *from;
    struct change_emitter *emitter;
    struct change_position *at;
    struct buf lower; /* Encoded rows; an empty upper is no bound. */
    struct buf upper;
    struct source_bounds bounds;
    struct run_source *runs;
    size_t run_count;
    struct mem_source *mems;
    size_t mem_count;
    struct change_marks *marks; /* Of all: runs, then memtables. */
    struct merge_source **pointers;
    struct merge merge;
    /* The row: */
    struct buf row;     /* Encoded. */
    struct buf entries; /* struct held_entry. */
    struct buf bytes;   /* Their keys and values. */
    uint64_t cut;       /* Entries above it did not fit; UINT64_MAX: all did. */
    size_t room;
};

struct held_entry {
    struct change_source_entry entry; /* Its slices are set at the end. */
    size_t at;                        /* In window.bytes: key, then value. */
    size_t key_bytes;
    size_t value_bytes;
};

static bool is_in_window(const struct window *w,
                         const struct change_source_file *f)
{
    return f->extent.end_sequence > w->at->low &&
           slice_cmp(f->last_key, buf_slice(&w->lower)) >= 0 &&
           (w->upper.len == 0 ||
            slice_cmp(f->first_key, buf_slice(&w->upper)) < 0);
}

static int add_files(struct window *w, struct err *err)
{
    struct change_sources *s = w->from;
    int rc = 0;
    for (size_t i = 0; i < s->file_count && rc == 0; i++) {
        struct change_source_file *f = &s->files[i];
        if (!is_in_window(w, f))
            continue;
        rc = change_source_marks(s, f, &w->marks[w->run_count], err);
        if (rc == 0)
            run_source_init(&w->runs[w->run_count++], &f->table, 1, &w->bounds,
                            SSTABLE_READ_SCAN);
    }
    return rc;
}

static void add_memtables(struct window *w)
{
    const struct tablet_snapshot *s = &w->from->snapshot;
    for (size_t i = 0; i < s->group_count; i++)
        for (size_t k = 0; k < s->groups[i]->mem_count; k++) {
            const struct memtable *m = s->groups[i]->mems[k];
            if (!m->order || change_order_first(m->order) > w->at->high)
                continue;
            change_order_copy_marks(m->order, w->at->high,
                                    &w->marks[w->run_count + w->mem_count]);
            mem_source_init(&w->mems[w->mem_count++], m, w->at->high);
        }
}

static void window_bounds(struct window *w)
{
    const struct change_request *r = w->emitter->request;
    if (r->start.len)
        cell_key_append_row(&w->lower, r->start);
    if (r->end.len)
        cell_key_append_row(&w->upper, r->end);
    w->bounds = (struct source_bounds){.lower = buf_slice(&w->lower),
                                       .upper = buf_slice(&w->upper),
                                       .sequence_max = w->at->high};
}

static int window_open(struct window *w, struct err *err)
{
    const struct tablet_snapshot *s = &w->from->snapshot;
    size_t mems = 0;
    size_t n = 0;
    int rc;
    for (size_t i = 0; i < s->group_count; i++)
        mems += s->groups[i]->mem_count;
    w->runs = mem_zalloc(w->from->file_count + 1, sizeof(*w->runs));
    w->mems = mem_zalloc(mems + 1, sizeof(*w->mems));
    w->marks = mem_zalloc(w->from->file_count + mems + 1, sizeof(*w->marks));
    w->pointers = mem_zalloc(2 * (w->from->file_count + mems) + 1,
                             sizeof(struct merge_source *));
    window_bounds(w);
    rc = add_files(w, err);
    if (rc)
        return rc;
    add_memtables(w);
    for (size_t i = 0; i < w->run_count; i++)
        w->pointers[n++] = &w->runs[i].base;
    for (size_t i = 0; i < w->mem_count; i++)
        w->pointers[n++] = &w->mems[i].base;
    merge_init(&w->merge, w->pointers, w->pointers + n, n);
    return 0;
}

static void window_close(struct window *w)
{
    for (size_t i = 0; i < w->run_count; i++)
        run_source_close(&w->runs[i]);
    for (size_t i = 0; w->marks && i < w->run_count + w->mem_count; i++)
        change_marks_close(&w->marks[i]);
    if (w->marks && w->mem_count == 0) /* An open that failed. */
        change_marks_close(&w->marks[w->run_count]);
    mem_free(w->runs);
    mem_free(w->mems);
    mem_free(w->marks);
    mem_free(w->pointers);
    buf_close(&w->lower);
    buf_close(&w->upper);
    buf_close(&w->row);
    buf_close(&w->entries);
    buf_close(&w->bytes);
}

/* --- a row --------------------------------------------------------------- */

static size_t held_count(const struct window *w)
{
    return w->entries.len / sizeof(struct held_entry);
}

static int by_sequence(const void *a, const void *b)
{
    uint64_t x = ((const struct held_entry *)a)->entry.sequence;
    uint64_t y = ((const struct held_entry *)b)->entry.sequence;
    return (x > y) - (x < y);
}

static void sort_row(struct window *w)
{
    struct held_entry *list = (void *)w->entries.data;
    size_t count = held_count(w);
    if (count)
        qsort(list, count, sizeof(*list), by_sequence);
}

/* Keep the lower half of what is held. */
static void shrink_row(struct window *w)
{
    struct held_entry *list = (void *)w->entries.data;
    size_t keep = MAX_OF(held_count(w) / 2, (size_t)1);
    struct buf bytes = BUF_INIT;
    sort_row(w);
    while (keep < held_count(w) && /* Equal numbers go together. */
           list[keep].entry.sequence == list[keep - 1].entry.sequence)
        keep++;
    w->cut = list[keep - 1].entry.sequence;
    for (size_t i = 0; i < keep; i++) {
        size_t at = bytes.len;
        buf_append(&bytes, w->bytes.data + list[i].at,
                   list[i].key_bytes + list[i].value_bytes);
        list[i].at = at;
    }
    buf_truncate(&w->entries, keep * sizeof(*list));
    buf_close(&w->bytes);
    w->bytes = bytes;
}

static void hold_entry(struct window *w, const struct merge_source *top)
{
    const struct change_mark *mark;
    struct held_entry h = {.at = w->bytes.len,
                           .key_bytes = top->key.len,
                           .value_bytes = top->value.len};
    h.entry.sequence = cell_key_sequence(top->key);
    if (h.entry.sequence > w->cut)
        return;
    INVARIANT(top->age < w->run_count + w->mem_count);
    mark = change_marks_find(&w->marks[top->age], h.entry.sequence);
    h.entry.mark = mark ? mark->sequence : 0;
    h.entry.us = mark ? mark->us : 0;
    buf_append_slice(&w->bytes, top->key);
    buf_append_slice(&w->bytes, top->value);
    buf_append(&w->entries, &h, sizeof(h));
    if (w->bytes.len + w->entries.len > w->room && held_count(w) > 1)
        shrink_row(w);
}

/* Set the slices, drop entries that came of several groups, and return how many
 * there are. */
static size_t settle_row(struct window *w, struct change_source_entry *out)
{
    const struct held_entry *list = (const void *)w->entries.data;
    size_t count = held_count(w);
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        const char *at = w->bytes.data + list[i].at;
        if (n > 0 && out[n - 1].sequence == list[i].entry.sequence)
            continue;
        out[n] = list[i].entry;
        out[n].key = slice_make(at, list[i].key_bytes);
        out[n++].value =
            slice_make(at + list[i].key_bytes, list[i].value_bytes);
    }
    return n;
}

/* The end of the commit that begins at @from. */
static size_t
commit_end(const struct change_source_entry *list, size_t count, size_t from)
{
    size_t end = from + 1;
    while (end < count && change_continues(&list[end - 1], &list[end]))
        end++;
    return end;
}

/* Emit the commits of the row that are held whole. *@whole: that is all of it;
 * *@last: the number of the last entry emitted, 0: none was. */
static int
emit_row(struct window *w, bool *whole, uint64_t *last, struct err *err)
{
    struct change_source_entry *list =
        mem_alloc((held_count(w) + 1) * sizeof(*list));
    size_t count;
    size_t from = 0;
    int rc = 0;
    sort_row(w);
    count = settle_row(w, list);
    *last = 0;
    while (rc == 0 && from < count) {
        size_t end = commit_end(list, count, from);
        if (end == count && w->cut != UINT64_MAX)
            break; /* Its rest may be behind the cut. */
        if (*last && change_batch_is_full(w->emitter))
            break;
        rc = change_emit(w->emitter, list + from, end - from, err);
        *last = list[end - 1].sequence;
        from = end;
    }
    *whole = from == count && w->cut == UINT64_MAX;
    mem_free(list);
    return rc;
}

static void row_begin(struct window *w, struct slice row)
{
    buf_clear(&w->row);
    buf_append_slice(&w->row, row);
    buf_clear(&w->entries);
    buf_clear(&w->bytes);
    w->cut = UINT64_MAX;
}

/* Gather the rest of the row under the merge, of entries above @low. */
static int gather_row(struct window *w, uint64_t low, struct err *err)
{
    struct merge_source *top = merge_top(&w->merge);
    int rc = 0;
    row_begin(w, slice_sub(top->key, 0, cell_key_row_length(top->key)));
    while (rc == 0 && (top = merge_top(&w->merge)) &&
           slice_starts_with(top->key, buf_slice(&w->row))) {
        if (cell_key_sequence(top->key) > low)
            hold_entry(w, top);
        rc = merge_next(&w->merge, err);
    }
    return rc;
}

static bool is_behind(const struct window *w, struct slice key)
{
    return w->upper.len && slice_cmp(key, buf_slice(&w->upper)) >= 0;
}

/* The number up to which the row under the merge was read already. */
static uint64_t read_before(const struct window *w)
{
    struct slice key = merge_top(&w->merge)->key;
    struct buf row = BUF_INIT;
    bool same = false;
    if (w->at->row.len) {
        cell_key_append_row(&row, buf_slice(&w->at->row));
        same = slice_starts_with(key, buf_slice(&row));
    }
    buf_close(&row);
    if (fault_hit("changes.forget_row")) /* A deliberate bug. */
        same = false;
    return same ? MAX_OF(w->at->low, w->at->row_sequence) : w->at->low;
}

static void note_row(struct window *w, uint64_t sequence)
{
    struct buf scratch = BUF_INIT;
    struct slice plain = cell_key_plain_row(buf_slice(&w->row), &scratch);
    buf_clear(&w->at->row);
    buf_append_slice(&w->at->row, plain);
    w->at->row_sequence = sequence;
    buf_close(&scratch);
}

/* Read one row. *@more: the merge is at the next one, else the batch is full
 * within the row. */
static int read_row(struct window *w, bool *more, struct err *err)
{
    uint64_t low = read_before(w);
    bool whole = false;
    uint64_t last = 0;
    int rc = gather_row(w, low, err);
    while (rc == 0 && !whole) {
        rc = emit_row(w, &whole, &last, err);
        if (rc || whole)
            break;
        if (last) { /* The next call continues behind it. */
            note_row(w, last);
            *more = false;
            return 0;
        }
        w->room *= 2; /* One commit alone is larger. */
        rc = merge_seek(&w->merge, buf_slice(&w->row), err);
        if (rc == 0)
            rc = gather_row(w, low, err);
    }
    if (rc == 0)
        note_row(w, w->at->high);
    w->room = ROW_BYTES_MAX;
    return rc;
}

static int read_rows(struct window *w, bool *done, struct err *err)
{
    struct buf from = BUF_INIT;
    const struct merge_source *top;
    bool more = true;
    int rc;
    if (w->at->row.len)
        cell_key_append_row(&from, buf_slice(&w->at->row));
    else
        buf_append_slice(&from, buf_slice(&w->lower));
    rc = merge_seek(&w->merge, buf_slice(&from), err);
    buf_close(&from);
    while (rc == 0 && more && !change_batch_is_full(w->emitter)) {
        top = merge_top(&w->merge);
        *done = !top || is_behind(w, top->key);
        if (*done)
            break;
        rc = read_row(w, &more, err);
    }
    return rc;
}

int change_window_read(struct change_sources *s,
                       struct change_emitter *e,
                       struct change_position *at,
                       bool *done,
                       struct err *err)
{
    struct window w = {
        .from = s, .emitter = e, .at = at, .room = ROW_BYTES_MAX};
    int rc = window_open(&w, err);
    PRE(at->high > at->low);
    *done = false;
    if (rc == 0)
        rc = read_rows(&w, done, err);
    if (rc == 0 && *done) {
        at->low = at->high;
        at->high = 0;
        at->row_sequence = 0;
        buf_clear(&at->row);
    }
    window_close(&w);
    return rc;
}
