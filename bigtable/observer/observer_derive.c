/* Rows that stand for cells: an observer that derives answers with all cells
 * that a row stands for, and the difference to its answer before is written.
 *
 * That answer is kept with the observer, in the row "NAME:ROW" of
 * OBSERVER_LETTERS, in the same transaction: the cells ascending, each as
 * table, row, family and qualifier (slices with their lengths) and 8 bytes of a
 * hash of its value. So a cell whose value has not changed is not written.
 *
 * INV-1. The cells that were written by it and are there still are those of the
 *        kept answers. Of two rows that stand for one cell, the last one wins;
 *        it goes with either.
 */
#include <stdlib.h>

#include "base/core/coding.h"
#include "base/core/hash.h"
#include "base/core/panic.h"
#include "bigtable/observer/observer_run.h"
#include "bigtable/row/mutation.h"

struct made_cell {
    struct slice table; /* Borrowed, as all. */
    struct slice row;
    struct slice family;
    struct slice qualifier;
    uint64_t hash;
    struct slice value;     /* Of a new answer. */
    struct quarry_table *t; /* Of a new answer. */
};

static int compare_cells(const struct made_cell *a, const struct made_cell *b)
{
    int c = slice_cmp(a->table, b->table);
    c = c ? c : slice_cmp(a->row, b->row);
    c = c ? c : slice_cmp(a->family, b->family);
    return c ? c : slice_cmp(a->qualifier, b->qualifier);
}

static int compare_made(const void *a, const void *b)
{
    return compare_cells(a, b);
}

/* --- the two answers ----------------------------------------------------- */

static int
take_write(const struct observer_write *w, struct buf *out, struct err *err)
{
    struct cursor c = cursor_make(buf_slice(&w->m->ops));
    struct mutation_op op;
    while (mutation_next(&c, &op)) {
        const struct made_cell cell = {
            .table = slice_str(quarry_table_name(w->table)),
            .row = buf_slice(&w->m->row),
            .family = op.family,
            .qualifier = op.qualifier,
            .hash = hash64_slice(op.value),
            .value = op.value,
            .t = w->table};
        if (op.kind != MUTATION_SET)
            return err_set(err, ERR_INVALID,
                           "an observer that derives sets cells: those that it "
                           "no longer sets are deleted for it");
        buf_append(out, &cell, sizeof(cell));
    }
    return 0;
}

/* Of cells that are set twice, the last one. */
static size_t sort_cells(struct made_cell *cells, size_t count)
{
    size_t kept = 0;
    if (count == 0)
        return 0;
    qsort(cells, count, sizeof(*cells), compare_made);
    for (size_t i = 0; i < count; i++)
        if (i + 1 == count || compare_cells(&cells[i], &cells[i + 1]) != 0)
            cells[kept++] = cells[i];
    return kept;
}

static int decode_made(struct slice from, struct buf *out, struct err *err)
{
    struct cursor c = cursor_make(from);
    while (cursor_left(&c) > 0) {
        struct made_cell cell = {.table = cursor_lslice(&c)};
        cell.row = cursor_lslice(&c);
        cell.family = cursor_lslice(&c);
        cell.qualifier = cursor_lslice(&c);
        cell.hash = cursor_le64(&c);
        if (c.bad)
            return err_set(err, ERR_CORRUPT,
                           "what the observer wrote for the row before cannot "
                           "be read");
        buf_append(out, &cell, sizeof(cell));
    }
    return 0;
}

static void
encode_made(const struct made_cell *cells, size_t count, struct buf *out)
{
    for (size_t i = 0; i < count; i++) {
        buf_put_lslice(out, cells[i].table);
        buf_put_lslice(out, cells[i].row);
        buf_put_lslice(out, cells[i].family);
        buf_put_lslice(out, cells[i].qualifier);
        buf_put_le64(out, cells[i].hash);
    }
}

/* --- the difference ------------------------------------------------------ */

static int
put_cell(struct quarry_txn *txn, const struct made_cell *c, struct err *err)
{
    char *family = mem_strndup(c->family.data, c->family.len);
    int rc =
        quarry_txn_put(txn, c->t, c->row, family, c->qualifier, c->value, err);
    mem_free(family);
    return rc;
}

static int delete_cell(struct observer_run *r,
                       struct quarry_txn *txn,
                       const struct made_cell *c,
                       struct err *err)
{
    char *table = mem_strndup(c->table.data, c->table.len);
    char *family = mem_strndup(c->family.data, c->family.len);
    struct quarry_table *t;
    int rc = observer_find_output(r, table, &t, err);
    if (rc == 0)
        rc = quarry_txn_delete(txn, t, c->row, family, c->qualifier, err);
    mem_free(table);
    mem_free(family);
    return rc;
}

static int write_difference(struct observer_run *r,
                            struct quarry_txn *txn,
                            const struct buf *before,
                            const struct buf *after,
                            struct err *err)
{
    const struct made_cell *a = (const void *)before->data;
    const struct made_cell *b = (const void *)after->data;
    const struct made_cell *a_end = a + before->len / sizeof(*a);
    const struct made_cell *b_end = b + after->len / sizeof(*b);
    int rc = 0;
    while (rc == 0 && (a < a_end || b < b_end)) {
        int c = a == a_end ? 1 : b == b_end ? -1 : compare_cells(a, b);
        if (c < 0)
            rc = delete_cell(r, txn, a, err);
        else if (c > 0 || a->hash != b->hash)
            rc = put_cell(txn, b, err);
        a += c <= 0;
        b += c >= 0;
    }
    return rc;
}

static int keep_made(struct observer_run *r,
                     struct quarry_txn *txn,
                     struct slice key,
                     const struct buf *before,
                     const struct buf *after,
                     struct err *err)
{
    struct buf bytes = BUF_INIT;
    int rc = 0;
    encode_made((const void *)after->data,
                after->len / sizeof(struct made_cell), &bytes);
    if (slice_eq(buf_slice(&bytes), buf_slice(before)))
        rc = 0;
    else if (bytes.len)
        rc = quarry_txn_put(txn, r->letters, key, OBSERVER_MADE, SLICE_EMPTY,
                            buf_slice(&bytes), err);
    else
        rc = quarry_txn_delete(txn, r->letters, key, OBSERVER_MADE, SLICE_EMPTY,
                               err);
    buf_close(&bytes);
    return rc;
}

int observer_derive(struct observer_run *r,
                    struct quarry_txn *txn,
                    const struct observed_row *row,
                    struct err *err)
{
    const struct observer_write *w = (const void *)row->writes.data;
    struct buf key = BUF_INIT;
    struct buf kept = BUF_INIT;
    struct buf before = BUF_INIT;
    struct buf after = BUF_INIT;
    bool found;
    int rc;
    PRE(r->settings.derives);
    buf_printf(&key, "%s:", r->name);
    buf_append_slice(&key, row->key);
    rc = quarry_txn_get(txn, r->letters, buf_slice(&key), OBSERVER_MADE,
                        SLICE_EMPTY, &kept, &found, err);
    if (rc == 0)
        rc = decode_made(buf_slice(&kept), &before, err);
    for (size_t i = 0; i < row->writes.len / sizeof(*w) && rc == 0; i++)
        rc = take_write(&w[i], &after, err);
    if (rc == 0) {
        size_t n = sort_cells((void *)after.data,
                              after.len / sizeof(struct made_cell));
        buf_truncate(&after, n * sizeof(struct made_cell));
        rc = write_difference(r, txn, &before, &after, err);
    }
    if (rc == 0)
        rc = keep_made(r, txn, buf_slice(&key), &kept, &after, err);
    buf_close(&key);
    buf_close(&kept);
    buf_close(&before);
    buf_close(&after);
    return rc;
}
