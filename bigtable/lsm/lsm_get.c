/* The point read: the newest cell of one column, without an iterator.
 *
 * Each source that may hold the column gives its first entry at or after the
 * column's prefix; the smallest of them is the newest cell, because time
 * descends in the key. As soon as a deletion is found in any source, the answer
 * is LSM_COMPLEX and the caller uses an iterator.
 */
#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/lsm/group.h"
#include "bigtable/lsm/memtable.h"
#include "bigtable/lsm/probe.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/sstable/sstable_reader.h"

struct newest {
    struct slice column;
    uint64_t column_hash;
    struct slice row;
    uint64_t sequence_max;
    struct buf *key;   /* Of the best so far; empty for none. */
    struct buf *value; /* The caller's; the best value from value_at on. */
    size_t value_at;
    bool complex;
};

/* Compare the candidate with the best so far, and take it. */
static void
lsm_get_offer(struct newest *n, struct slice key, struct slice value)
{
    PRE(n->value_at <= n->value->len);
    if (cell_key_kind(key) != ENTRY_PUT) {
        n->complex = true;
        return;
    }
    if (n->key->len > 0 && slice_cmp(buf_slice(n->key), key) <= 0)
        return;
    buf_clear(n->key);
    buf_append_slice(n->key, key);
    buf_truncate(n->value, n->value_at);
    buf_append_slice(n->value, value);
}

/* True if @m may delete the row or the column's family as a whole. */
static bool has_scope_deletion(const struct newest *n, const struct memtable *m)
{
    /* Deletions of the row and of its families lie before the columns; few
     * rows have many of them. */
    const struct skip_node *e = skip_list_seek(&m->list, n->row);
    PRE(n->row.len > 0);

    return e && slice_starts_with(skip_node_key(e), n->row) &&
           (cell_key_kind(skip_node_key(e)) == ENTRY_DELETE_ROW ||
            cell_key_kind(skip_node_key(e)) == ENTRY_DELETE_FAMILY ||
            !slice_starts_with(skip_node_key(e), n->column));
}

static void look_in_memtable(struct newest *n, const struct memtable *m)
{
    const struct skip_node *e;
    PRE(n->column.len >= n->row.len);

    if (memtable_count(m) == 0)
        return;
    if (atomic_load_explicit(&m->has_scope_deletions, memory_order_relaxed) &&
        has_scope_deletion(n, m)) {
        n->complex = true;
        return;
    }
    e = skip_list_seek(&m->list, n->column);
    while (e && slice_starts_with(skip_node_key(e), n->column)) {
        if (cell_key_sequence(skip_node_key(e)) <= n->sequence_max) {
            lsm_get_offer(n, skip_node_key(e), skip_node_value(e));
            return;
        }
        e = skip_node_next(e);
    }
}

/* The same for an entry of a table whose entries have a given number. */
static void offer_given(struct newest *n,
                        struct slice key,
                        struct slice value,
                        uint64_t given)
{
    struct buf numbered = BUF_INIT;
    PRE(given > 0);
    PRE(given <= n->sequence_max);

    cell_key_append_numbered(&numbered, key, given);
    lsm_get_offer(n, buf_slice(&numbered), value);
    buf_close(&numbered);
}

static int look_in_table(struct newest *n,
                         const struct sstable_file *f,
                         bool *ended,
                         struct err *err)
{
    struct sstable_iter it;
    int rc;
    PRE(f->reader);

    if (f->given_sequence > n->sequence_max)
        return 0;
    sstable_iter_init(&it);
    sstable_iter_open(&it, f->reader, SSTABLE_READ_POINT);
    rc = sstable_iter_seek(&it, n->column, err);
    while (!rc && sstable_iter_valid(&it)) {
        struct slice key = sstable_iter_key(&it);
        if (!slice_starts_with(key, n->column)) {
            *ended = true;
            break;
        }
        if (cell_key_sequence(key) <= n->sequence_max) {
            if (UNLIKELY(f->given_sequence))
                offer_given(n, key, sstable_iter_value(&it), f->given_sequence);
            else
                lsm_get_offer(n, key, sstable_iter_value(&it));
            *ended = true;
            break;
        }
        rc = sstable_iter_next(&it, err);
    }
    sstable_iter_close(&it);
    return rc;
}

static int look_in_run(struct newest *n, const struct run *r, struct err *err)
{
    bool ended = false;
    int rc = 0;
    PRE(r->table_count > 0);

    for (uint32_t i = run_find(r, n->column);
         i < r->table_count && !ended && !rc; i++)
        rc = look_in_table(n, r->tables[i], &ended, err);
    return rc;
}

/* True if all entries of @r are older than the best so far. Where cells are
 * overwritten at the time of the day, this leaves one table of many to read. */
static bool is_outdated(const struct newest *n, const struct run *r)
{
    PRE(n->key->len == 0 || n->key->len > CELL_KEY_VERSION_BYTES);
    return n->key->len > 0 &&
           r->time_max_us < cell_key_timestamp(buf_slice(n->key));
}

static int
look_in_runs(struct newest *n, const struct version *v, struct err *err)
{
    struct run_probe probe;
    int rc = 0;
    PRE(n->row.len > 0);

    run_probe_init(&probe, n->row, n->column, n->column_hash);
    for (size_t i = 0; i < v->run_count && !rc && !n->complex; i++) {
        bool maybe;
        if (is_outdated(n, &v->runs[i]))
            continue;
        rc = run_probe_test(&probe, &v->runs[i], &maybe, err);
        if (rc || !maybe)
            continue;
        if (v->runs[i].has_scope_deletions)
            n->complex = true;
        else
            rc = look_in_run(n, &v->runs[i], err);
    }
    return rc;
}

static bool is_outside(const struct lsm *l, struct slice row)
{
    PRE(row.len > 0);
    return slice_cmp(row, l->options.lower) < 0 ||
           (l->options.upper.len > 0 && slice_cmp(row, l->options.upper) >= 0);
}

int lsm_get_newest(struct lsm_snapshot *s,
                   struct slice row,
                   struct slice column,
                   uint64_t column_hash,
                   uint64_t sequence_max,
                   enum lsm_found *found,
                   struct buf *value,
                   int64_t *timestamp_us,
                   struct err *err)
{
    struct buf key = BUF_INIT;
    struct newest n = {.column = column,
                       .column_hash = column_hash,
                       .row = row,
                       .sequence_max = sequence_max,
                       .key = &key,
                       .value = value,
                       .value_at = value->len};
    int rc = 0;

    PRE(row.len > 0);
    PRE(column.len > row.len);
    *found = LSM_ABSENT;
    for (size_t i = 0; i < s->mem_count && !n.complex; i++)
        look_in_memtable(&n, s->mems[i]);
    if (!n.complex && !is_outside(s->lsm, row))
        rc = look_in_runs(&n, s->version, err);
    if (rc || n.complex) {
        buf_truncate(value, n.value_at);
        *found = LSM_COMPLEX;
    } else if (key.len > 0) {
        *found = LSM_FOUND;
        *timestamp_us = cell_key_timestamp(buf_slice(&key));
    }
    buf_close(&key);
    return rc;
}
