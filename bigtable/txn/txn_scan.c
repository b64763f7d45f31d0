/* Scans in a transaction: the rows of its snapshot in order, with what it wrote
 * itself merged in. Rows that it writes and that are not stored come between.
 */
#include <stdlib.h>

#include "base/core/panic.h"
#include "bigtable/row/mutation.h"
#include "bigtable/txn/txn.h"

struct quarry_txn_scanner {
    struct quarry_txn *txn; /* Borrowed, as the table. */
    struct quarry_table *table;
    struct buf start;
    struct buf end;
    struct quarry_filter *filter;
    struct quarry_scanner *stored;
    const struct quarry_row *next; /* Of `stored`; NULL: its end. */
    struct slice *own;             /* Rows it writes, sorted; owned. */
    size_t own_count;
    size_t own_at;
    struct quarry_row *row; /* Handed out; owned. */
    struct buf last;        /* Its key. */
    bool at_end;
};

static bool in_range(const struct quarry_txn_scanner *s, struct slice row)
{
    return slice_cmp(row, buf_slice(&s->start)) >= 0 &&
           (s->end.len == 0 || slice_cmp(row, buf_slice(&s->end)) < 0);
}

static int compare_rows(const void *a, const void *b)
{
    return slice_cmp(*(const struct slice *)a, *(const struct slice *)b);
}

static void list_own(struct quarry_txn_scanner *s)
{
    struct quarry_txn *t = s->txn;
    s->own = mem_alloc((t->row_count + 1) * sizeof(*s->own));
    for (size_t i = 0; i < t->row_count; i++) {
        const struct txn_row *r = &t->rows[i];
        if (r->writes && in_range(s, buf_slice(&r->key)) &&
            slice_eq_str(slice_str(quarry_table_name(r->table)),
                         quarry_table_name(s->table)))
            s->own[s->own_count++] = buf_slice(&r->key);
    }
    if (s->own_count)
        qsort(s->own, s->own_count, sizeof(*s->own), compare_rows);
}

int quarry_txn_scan(struct quarry_txn *t,
                    struct quarry_table *table,
                    struct slice start,
                    struct slice end,
                    struct quarry_txn_scanner **out,
                    struct err *err)
{
    struct quarry_txn_scanner *s;
    struct quarry_read_options read = {.range_count = 1};
    struct quarry_range range;
    int rc = txn_use(t, table, NULL, err);
    *out = NULL;
    if (rc)
        return rc;
    s = mem_zalloc(1, sizeof(*s));
    s->txn = t;
    s->table = table;
    buf_append_slice(&s->start, start);
    buf_append_slice(&s->end, end);
    list_own(s);
    s->filter = txn_filter_snapshot(t->start, NULL, SLICE_EMPTY);
    range = (struct quarry_range){buf_slice(&s->start), buf_slice(&s->end)};
    read.ranges = &range;
    read.filter = s->filter;
    rc = quarry_scan(table, &read, &s->stored, err);
    if (rc == 0)
        rc = quarry_scanner_next(s->stored, &s->next, err);
    if (rc)
        quarry_txn_scanner_close(s);
    else
        *out = s;
    return rc;
}

/* See a row that is stored; a lock is resolved, which reads it once more. */
static int see_stored(struct quarry_txn_scanner *s, struct err *err)
{
    struct quarry_txn *t = s->txn;
    struct slice key = buf_slice(&s->last);
    struct txn_lock lock;
    bool locked;
    int rc = txn_view_row(t, s->table, key, s->next, false, &lock, &locked,
                          &s->row, err);
    if (rc == 0 && locked)
        rc = txn_read_one(t, s->table, key, NULL, SLICE_EMPTY, &s->row, err);
    return rc ? rc : quarry_scanner_next(s->stored, &s->next, err);
}

/* The next row, of both; it may have nothing to show. */
static int see_next(struct quarry_txn_scanner *s, struct err *err)
{
    bool own = s->own_at < s->own_count;
    int order = own && s->next ? slice_cmp(s->own[s->own_at], s->next->key) : 0;
    struct txn_lock lock;
    bool locked;
    buf_clear(&s->last);
    if (own && (!s->next || order < 0)) {
        buf_append_slice(&s->last, s->own[s->own_at++]);
        return txn_view_row(s->txn, s->table, buf_slice(&s->last), NULL, true,
                            &lock, &locked, &s->row, err);
    }
    if (own && order == 0)
        s->own_at++;
    buf_append_slice(&s->last, s->next->key);
    return see_stored(s, err);
}

int quarry_txn_scanner_next(struct quarry_txn_scanner *s,
                            const struct quarry_row **row,
                            struct err *err)
{
    int rc = txn_check(s->txn, err);
    *row = NULL;
    quarry_row_free(s->row);
    s->row = NULL;
    while (rc == 0 && !s->row && (s->next || s->own_at < s->own_count))
        rc = see_next(s, err);
    if (rc == 0)
        rc = txn_check(s->txn, err);
    if (rc)
        return rc;
    s->at_end = s->row == NULL;
    *row = s->row;
    return 0;
}

void quarry_txn_scanner_close(struct quarry_txn_scanner *s)
{
    if (!s)
        return;
    if (!s->at_end && s->last.len)
        buf_append_byte(&s->last, '\0'); /* It has seen this row as well. */
    if (s->at_end || s->last.len)
        txn_note_range(s->txn, s->table, buf_slice(&s->start),
                       s->at_end ? buf_slice(&s->end) : buf_slice(&s->last));
    quarry_scanner_close(s->stored);
    quarry_filter_free(s->filter);
    quarry_row_free(s->row);
    buf_close(&s->start);
    buf_close(&s->end);
    buf_close(&s->last);
    mem_free(s->own);
    mem_free(s);
}
