/* Entries are gathered from one source after the other, and put in the order of
 * their numbers; then they are told as readers of changes are told them.
 */
#include "bigtable/changes/change_history.h"

#include <stdlib.h>

#include "base/core/hash.h"
#include "base/core/panic.h"
#include "bigtable/changes/change_emit.h"
#include "bigtable/changes/change_read.h"
#include "bigtable/changes/change_sources.h"
#include "bigtable/lsm/change_order.h"
#include "bigtable/lsm/memtable.h"
#include "bigtable/lsm/source.h"
#include "bigtable/lsm/version.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/sstable/sstable_reader.h"

struct history_entry {
    struct change_source_entry entry; /* Its slices are set at the end. */
    size_t at;                        /* In history.bytes: key, then value. */
    size_t key_bytes;
    size_t value_bytes;
};

struct history {
    struct change_sources *from;
    int64_t since_us;
    struct buf row; /* Encoded. */
    struct buf entries;
    struct buf bytes;
};

static size_t history_count(const struct history *h)
{
    return h->entries.len / sizeof(struct history_entry);
}

static void hold_entry(struct history *h,
                       struct slice key,
                       struct slice value,
                       const struct change_mark *mark)
{
    struct history_entry e = {
        .at = h->bytes.len, .key_bytes = key.len, .value_bytes = value.len};
    e.entry.sequence = cell_key_sequence(key);
    e.entry.mark = mark->sequence;
    e.entry.us = mark->us;
    buf_append_slice(&h->bytes, key);
    buf_append_slice(&h->bytes, value);
    buf_append(&h->entries, &e, sizeof(e));
}

/* --- sources ------------------------------------------------------------- */

static void look_in_memtable(struct history *h, const struct memtable *m)
{
    const struct skip_node *n;
    if (!m->order || memtable_count(m) == 0)
        return;
    n = skip_list_seek(&m->list, buf_slice(&h->row));
    for (; n && slice_starts_with(skip_node_key(n), buf_slice(&h->row));
         n = skip_node_next(n)) {
        uint64_t sequence = cell_key_sequence(skip_node_key(n));
        struct change_mark mark;
        if (sequence > h->from->snapshot.sequence ||
            !change_order_find_mark(m->order, sequence, &mark) ||
            mark.us < h->since_us)
            continue;
        hold_entry(h, skip_node_key(n), skip_node_value(n), &mark);
    }
}

/* Drop those from @first on that are too old, and set the marks of the others.
 */
static void
mark_entries(struct history *h, size_t first, const struct change_marks *marks)
{
    struct history_entry *list = (void *)h->entries.data;
    size_t count = history_count(h);
    size_t kept = first;
    for (size_t i = first; i < count; i++) {
        const struct change_mark *mark =
            change_marks_find(marks, list[i].entry.sequence);
        if (!mark || mark->us < h->since_us)
            continue;
        list[kept] = list[i];
        list[kept].entry.mark = mark->sequence;
        list[kept++].entry.us = mark->us;
    }
    buf_truncate(&h->entries, kept * sizeof(*list));
}

static int
gather_of_file(struct history *h, struct change_source_file *f, struct err *err)
{
    const struct source_bounds bounds = {.sequence_max =
                                             h->from->snapshot.sequence};
    const struct change_mark none = {0, 0};
    struct run_source run;
    int rc;
    run_source_init(&run, &f->table, 1, &bounds, SSTABLE_READ_POINT);
    rc = run.base.seek(&run.base, buf_slice(&h->row), err);
    while (rc == 0 && run.base.valid &&
           slice_starts_with(run.base.key, buf_slice(&h->row))) {
        hold_entry(h, run.base.key, run.base.value, &none);
        rc = run.base.next(&run.base, err);
    }
    run_source_close(&run);
    return rc;
}

static bool may_have_row(const struct history *h,
                         const struct change_source_file *f)
{
    struct slice row = buf_slice(&h->row);
    return f->extent.last_us >= h->since_us &&
           slice_cmp(f->last_key, row) >= 0 &&
           (slice_cmp(f->first_key, row) <= 0 ||
            slice_starts_with(f->first_key, row));
}

static int
look_in_file(struct history *h, struct change_source_file *f, struct err *err)
{
    uint64_t hash = hash64_slice(buf_slice(&h->row));
    const struct sstable_probe probe = {
        .prefix = buf_slice(&h->row), .row_hash = hash, .hash = hash};
    struct change_marks marks = {0};
    size_t first = history_count(h);
    bool maybe = may_have_row(h, f);
    int rc = maybe ? change_source_open(h->from, f, err) : 0;
    if (rc == 0 && maybe)
        rc = sstable_reader_probe(f->table->reader, &probe, &maybe, err);
    if (rc == 0 && maybe)
        rc = gather_of_file(h, f, err);
    if (rc || history_count(h) == first)
        return rc;
    rc = change_source_marks(h->from, f, &marks, err);
    if (rc == 0)
        mark_entries(h, first, &marks);
    change_marks_close(&marks);
    return rc;
}

/* --- commits ------------------------------------------------------------- */

static int by_sequence(const void *a, const void *b)
{
    uint64_t x = ((const struct history_entry *)a)->entry.sequence;
    uint64_t y = ((const struct history_entry *)b)->entry.sequence;
    return (x > y) - (x < y);
}

/* In order, each once: a deletion of the row is in several groups. */
static size_t settle_entries(struct history *h, struct change_source_entry *out)
{
    struct history_entry *list = (void *)h->entries.data;
    size_t count = history_count(h);
    size_t n = 0;
    qsort(list, count, sizeof(*list), by_sequence);
    for (size_t i = 0; i < count; i++) {
        const char *at = h->bytes.data + list[i].at;
        if (n > 0 && out[n - 1].sequence == list[i].entry.sequence)
            continue;
        out[n] = list[i].entry;
        out[n].key = slice_make(at, list[i].key_bytes);
        out[n++].value =
            slice_make(at + list[i].key_bytes, list[i].value_bytes);
    }
    return n;
}

static int tell_commits(struct history *h,
                        const struct schema *schema,
                        struct buf *batch,
                        struct err *err)
{
    struct change_source_entry *list =
        mem_alloc(history_count(h) * sizeof(*list));
    const struct change_request request = {.schema = schema};
    struct change_result result = {.batch = *batch};
    struct change_emitter e = {.request = &request, .out = &result};
    size_t count = settle_entries(h, list);
    size_t from = 0;
    int rc = 0;
    while (rc == 0 && from < count) {
        size_t end = from + 1;
        while (end < count && change_continues(&list[end - 1], &list[end]))
            end++;
        rc = change_emit(&e, list + from, end - from, err);
        from = end;
    }
    change_emitter_close(&e);
    mem_free(list);
    *batch = result.batch;
    return rc;
}

int change_history_read(struct change_sources *s,
                        const struct schema *schema,
                        struct slice row,
                        int64_t since_us,
                        struct buf *batch,
                        struct err *err)
{
    struct history h = {.from = s, .since_us = since_us};
    const struct tablet_snapshot *now = &s->snapshot;
    int rc = 0;
    PRE(row.len > 0);
    cell_key_append_row(&h.row, row);
    for (size_t i = 0; i < now->group_count; i++)
        for (size_t k = 0; k < now->groups[i]->mem_count; k++)
            look_in_memtable(&h, now->groups[i]->mems[k]);
    for (size_t i = 0; i < s->file_count && rc == 0; i++)
        rc = look_in_file(&h, &s->files[i], err);
    if (rc == 0 && history_count(&h))
        rc = tell_commits(&h, schema, batch, err);
    buf_close(&h.row);
    buf_close(&h.entries);
    buf_close(&h.bytes);
    return rc;
}
