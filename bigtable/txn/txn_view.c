/* The view of a row that a transaction has: of each column the newest cell up
 * to its start, from the row or from what later deletions kept of it, and over
 * it what the transaction itself has written.
 */
#include <stdlib.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/row/hidden.h"
#include "bigtable/row/mutation.h"
#include "bigtable/row/row_copy.h"
#include "bigtable/txn/txn.h"

/* Cells without order, at most one of a column. Slices are borrowed. */
struct view {
    struct quarry_cell *cells; /* Owned. */
    size_t count;
    size_t cap;
};

static struct quarry_cell *
view_find(const struct view *v, struct slice family, struct slice qualifier)
{
    for (size_t i = 0; i < v->count; i++)
        if (slice_eq(v->cells[i].qualifier, qualifier) &&
            slice_eq(v->cells[i].family, family))
            return &v->cells[i];
    return NULL;
}

static void view_add(struct view *v, const struct quarry_cell *cell)
{
    if (v->count == v->cap) {
        v->cap = v->cap ? v->cap * 2 : 16;
        v->cells = mem_realloc(v->cells, v->cap * sizeof(*v->cells));
    }
    INVARIANT(v->count < v->cap);
    v->cells[v->count] = *cell;
    v->cells[v->count++].label = SLICE_EMPTY;
}

/* --- what is stored ------------------------------------------------------ */

/* The newest of the deleted cells @value that @at sees replaces an older one.
 */
static int view_add_deleted(struct view *v,
                            const struct quarry_cell *record,
                            int64_t at,
                            struct err *err)
{
    size_t colon = slice_find_byte(record->qualifier, ':');
    struct cursor c = cursor_make(record->value);
    struct quarry_cell cell = {.label = SLICE_EMPTY};
    struct quarry_cell *known;
    if (slice_eq_str(record->qualifier, TXN_DELETED_CUT))
        return err_set(err, ERR_TOO_OLD,
                       "too much of the row was deleted since the "
                       "transaction began");
    cell.family = slice_sub(record->qualifier, 0, colon);
    cell.qualifier =
        slice_sub(record->qualifier, MIN_OF(colon + 1, record->qualifier.len),
                  record->qualifier.len);
    while (cursor_left(&c) && !c.bad) {
        cell.timestamp_us = (int64_t)cursor_be64(&c);
        cell.value = cursor_lslice(&c);
        if (!c.bad && cell.timestamp_us <= at)
            break;
    }
    if (c.bad)
        return err_set(err, ERR_CORRUPT, "malformed record of deleted cells");
    if (!cell.value.data || cell.timestamp_us > at)
        return 0;
    known = view_find(v, cell.family, cell.qualifier);
    if (!known)
        view_add(v, &cell);
    else if (known->timestamp_us < cell.timestamp_us)
        *known = cell;
    return 0;
}

/* Take the cells of @found apart: users', and the lock. */
static int view_take(struct view *v,
                     const struct quarry_row *found,
                     int64_t at,
                     struct txn_state *state,
                     struct err *err)
{
    int rc = txn_state_read(found, state, err);
    for (size_t i = 0; found && i < found->cell_count && rc == 0; i++) {
        const struct quarry_cell *cell = &found->cells[i];
        if (!hidden_is_name(cell->family))
            view_add(v, cell);
    }
    for (size_t i = 0; found && i < found->cell_count && rc == 0; i++) {
        const struct quarry_cell *cell = &found->cells[i];
        if (slice_eq_str(cell->family, HIDDEN_DELETED) &&
            cell->timestamp_us > at)
            rc = view_add_deleted(v, cell, at, err);
    }
    return rc;
}

/* --- what was written ---------------------------------------------------- */

static void view_remove(struct view *v, const struct mutation_op *op)
{
    size_t n = 0;
    for (size_t i = 0; i < v->count; i++) {
        const struct quarry_cell *c = &v->cells[i];
        bool gone = op->kind == MUTATION_DELETE_ROW ||
                    (slice_eq(c->family, op->family) &&
                     (op->kind == MUTATION_DELETE_FAMILY ||
                      slice_eq(c->qualifier, op->qualifier)));
        if (!gone)
            v->cells[n++] = *c;
    }
    v->count = n;
}

static void
view_write(struct view *v, const struct quarry_mutation *writes, int64_t start)
{
    struct cursor c = cursor_make(buf_slice(&writes->ops));
    struct mutation_op op;
    while (mutation_next(&c, &op)) {
        struct quarry_cell cell = {op.family, op.qualifier, start, op.value,
                                   SLICE_EMPTY};
        struct quarry_cell *known;
        if (op.kind != MUTATION_SET) {
            view_remove(v, &op);
            continue;
        }
        known = view_find(v, op.family, op.qualifier);
        if (known)
            *known = cell;
        else
            view_add(v, &cell);
    }
}

/* --- together ------------------------------------------------------------ */

static int compare_cells(const void *a, const void *b)
{
    const struct quarry_cell *x = a;
    const struct quarry_cell *y = b;
    int c = slice_cmp(x->family, y->family);
    return c ? c : slice_cmp(x->qualifier, y->qualifier);
}

int txn_view_row(struct quarry_txn *t,
                 struct quarry_table *table,
                 struct slice row,
                 const struct quarry_row *found,
                 bool past,
                 struct txn_lock *lock,
                 bool *locked,
                 struct quarry_row **out,
                 struct err *err)
{
    const struct txn_row *own = txn_find_row(t, table, row);
    struct view v = {.count = 0};
    struct txn_state state;
    int rc = view_take(&v, found, t->start, &state, err);
    *out = NULL;
    *locked = rc == 0 && !past && state.locked && state.lock.start <= t->start;
    if (*locked)
        *lock = state.lock;
    if (rc == 0 && !*locked) {
        if (own && own->writes)
            view_write(&v, own->writes, t->start);
        if (v.count) {
            qsort(v.cells, v.count, sizeof(*v.cells), compare_cells);
            *out = row_copy(&(struct quarry_row){row, v.cells, v.count});
        }
    }
    mem_free(v.cells);
    return rc;
}

int txn_read_one(struct quarry_txn *t,
                 struct quarry_table *table,
                 struct slice row,
                 const char *family,
                 struct slice qualifier,
                 struct quarry_row **out,
                 struct err *err)
{
    struct quarry_filter *f = txn_filter_snapshot(t->start, family, qualifier);
    const struct quarry_read_options read = {.filter = f};
    bool again = true;
    int rc = 0;
    *out = NULL;
    while (rc == 0 && again) {
        struct quarry_row *found = NULL;
        enum txn_fate fate = TXN_GONE;
        struct txn_lock lock;
        rc = txn_check(t, err);
        if (rc == 0)
            rc = quarry_read_row(table, row, &read, &found, err);
        if (rc == 0)
            rc = txn_view_row(t, table, row, found, false, &lock, &again, out,
                              err);
        if (rc == 0 && again)
            rc =
                txn_resolve(t->quarry, table, row, &lock, t->start, &fate, err);
        if (rc == 0 && fate == TXN_LATER)
            rc = txn_view_row(t, table, row, found, true, &lock, &again, out,
                              err);
        quarry_row_free(found);
    }
    quarry_filter_free(f);
    return rc ? rc : txn_check(t, err);
}
