/* The hidden cells of a row: encoding, conditions, changes. Numbers that
 * conditions compare are big-endian and come first in their cells, so that a
 * range of values is a range of numbers.
 */
#include "bigtable/txn/txn_record.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/quarry.h"
#include "bigtable/row/hidden.h"
#include "bigtable/row/mutation.h"
#include "bigtable/row/schema.h"

#define COMMIT_QUALIFIER SLICE_LIT("c")
#define STATUS_LETTER    'p'
#define STATUS_BYTES     9
#define LOCK_FORM        2
#define HELD_BYTES       17 /* Form, start and min_commit. */
#define NUMBER_BYTES     8

/* --- the lock ------------------------------------------------------------ */

void txn_lock_encode(const struct txn_lock *l, struct buf *out)
{
    buf_put_u8(out, LOCK_FORM);
    buf_put_be64(out, (uint64_t)l->start);
    buf_put_be64(out, (uint64_t)l->min_commit);
    buf_put_be64(out, (uint64_t)l->expiry);
    buf_put_lslice(out, l->table);
    buf_put_lslice(out, l->row);
    buf_put_varint(out, l->op_count);
    buf_put_lslice(out, l->ops);
}

int txn_lock_decode(struct slice value, struct txn_lock *out, struct err *err)
{
    struct cursor c = cursor_make(value);
    uint8_t form = cursor_u8(&c);
    PRE(value.len > 0);
    if (form != LOCK_FORM) {
        err_set(err, ERR_UNSUPPORTED, "a lock has the form %u", form);
        err_hint(err, "use a newer quarry");
        return ERR_UNSUPPORTED;
    }
    out->start = (int64_t)cursor_be64(&c);
    out->min_commit = (int64_t)cursor_be64(&c);
    out->expiry = (int64_t)cursor_be64(&c);
    out->table = cursor_lslice(&c);
    out->row = cursor_lslice(&c);
    out->op_count = (size_t)cursor_varint(&c);
    out->ops = cursor_lslice(&c);
    if (c.bad || c.p != c.end || out->start <= 0 || out->table.len == 0 ||
        out->row.len == 0)
        return err_set(err, ERR_CORRUPT, "malformed lock of a transaction");
    return 0;
}

/* --- the state of a row -------------------------------------------------- */

static int read_number(struct slice value, int64_t *out, struct err *err)
{
    if (value.len != NUMBER_BYTES)
        return err_set(err, ERR_CORRUPT, "malformed record of a commit");
    *out = (int64_t)get_be64(value.data);
    return 0;
}

static int txn_state_take(const struct quarry_cell *cell,
                          struct txn_state *out,
                          struct err *err)
{
    if (slice_eq_str(cell->family, HIDDEN_COMMITS)) {
        if (out->last_commit) /* Older versions follow the last one. */
            return 0;
        return read_number(cell->value, &out->last_commit, err);
    }
    if (!slice_eq_str(cell->family, HIDDEN_LOCKS))
        return 0;
    if (!slice_eq(cell->qualifier, TXN_LOCK_QUALIFIER))
        return read_number(cell->value, &out->committed, err);
    out->locked = cell->value.len > 0;
    return out->locked ? txn_lock_decode(cell->value, &out->lock, err) : 0;
}

int txn_state_read(const struct quarry_row *row,
                   struct txn_state *out,
                   struct err *err)
{
    int rc = 0;
    *out = (struct txn_state){.locked = false};
    for (size_t i = 0; row && i < row->cell_count && rc == 0; i++)
        rc = txn_state_take(&row->cells[i], out, err);
    return rc;
}

bool txn_status_start(const struct quarry_cell *cell, int64_t *start)
{
    bool is = slice_eq_str(cell->family, HIDDEN_LOCKS) &&
              cell->qualifier.len == STATUS_BYTES &&
              cell->qualifier.data[0] == STATUS_LETTER &&
              cell->value.len == NUMBER_BYTES;
    if (is)
        *start = (int64_t)get_be64(cell->qualifier.data + 1);
    return is;
}

bool txn_state_has_commit(const struct quarry_row *row, int64_t commit)
{
    for (size_t i = 0; row && i < row->cell_count; i++) {
        const struct quarry_cell *c = &row->cells[i];
        if (slice_eq_str(c->family, HIDDEN_COMMITS) &&
            c->value.len == NUMBER_BYTES &&
            (int64_t)get_be64(c->value.data) == commit)
            return true;
    }
    return false;
}

/* --- conditions ---------------------------------------------------------- */

static struct quarry_filter *one_column(const char *family, struct slice q)
{
    return quarry_filter_column_range(family, QUARRY_CLOSED, q, QUARRY_CLOSED,
                                      q);
}

static struct quarry_filter *chain_two(struct quarry_filter *a,
                                       struct quarry_filter *b)
{
    struct quarry_filter *parts[2] = {a, b};
    return quarry_filter_chain(parts, 2);
}

static struct slice status_qualifier(int64_t start, char room[STATUS_BYTES])
{
    room[0] = STATUS_LETTER;
    put_be64(room + 1, (uint64_t)start);
    return slice_make(room, STATUS_BYTES);
}

struct quarry_filter *txn_filter_state(int64_t start)
{
    char status[STATUS_BYTES];
    struct quarry_filter *parts[3] = {
        one_column(HIDDEN_LOCKS, TXN_LOCK_QUALIFIER),
        one_column(HIDDEN_COMMITS, COMMIT_QUALIFIER),
        one_column(HIDDEN_LOCKS, status_qualifier(start, status))};
    return quarry_filter_interleave(parts, 3);
}

struct quarry_filter *txn_filter_locked(void)
{
    const char form = LOCK_FORM;
    return chain_two(one_column(HIDDEN_LOCKS, TXN_LOCK_QUALIFIER),
                     quarry_filter_value_range(QUARRY_CLOSED,
                                               slice_make(&form, 1),
                                               QUARRY_UNBOUNDED, SLICE_EMPTY));
}

struct quarry_filter *txn_filter_left(void)
{
    const char from = STATUS_LETTER;
    const char to = STATUS_LETTER + 1;
    struct quarry_filter *parts[2] = {
        txn_filter_locked(),
        quarry_filter_column_range(HIDDEN_LOCKS, QUARRY_CLOSED,
                                   slice_make(&from, 1), QUARRY_OPEN,
                                   slice_make(&to, 1))};
    return quarry_filter_interleave(parts, 2);
}

struct quarry_filter *txn_filter_conflict(int64_t start)
{
    char from[NUMBER_BYTES];
    struct quarry_filter *last[3];
    struct quarry_filter *parts[2];
    put_be64(from, (uint64_t)start);
    parts[0] = txn_filter_locked();
    /* Commits of a row ascend: the newest tells. */
    last[0] = one_column(HIDDEN_COMMITS, COMMIT_QUALIFIER);
    last[1] = quarry_filter_cells_per_column_limit(1);
    last[2] =
        quarry_filter_value_range(QUARRY_CLOSED, slice_make(from, sizeof(from)),
                                  QUARRY_UNBOUNDED, SLICE_EMPTY);
    parts[1] = quarry_filter_chain(last, 3);
    return quarry_filter_interleave(parts, 2);
}

struct quarry_filter *txn_filter_held(int64_t start, int64_t min_commit)
{
    char from[HELD_BYTES];
    char to[HELD_BYTES];
    size_t bytes = min_commit ? HELD_BYTES : 1 + NUMBER_BYTES;
    PRE(start > 0 && start < INT64_MAX && min_commit < INT64_MAX);
    from[0] = to[0] = LOCK_FORM;
    put_be64(from + 1, (uint64_t)start);
    put_be64(to + 1, (uint64_t)(min_commit ? start : start + 1));
    put_be64(from + 1 + NUMBER_BYTES, (uint64_t)min_commit);
    put_be64(to + 1 + NUMBER_BYTES, (uint64_t)min_commit + 1);
    return chain_two(
        one_column(HIDDEN_LOCKS, TXN_LOCK_QUALIFIER),
        quarry_filter_value_range(QUARRY_CLOSED, slice_make(from, bytes),
                                  QUARRY_OPEN, slice_make(to, bytes)));
}

/* The newest cell of each column (of @columns, owned; NULL: all) up to @at. */
static struct quarry_filter *newest_cells(struct quarry_filter *columns,
                                          int64_t at)
{
    struct quarry_filter *parts[3] = {
        quarry_filter_timestamp_range(INT64_MIN, at + 1)};
    size_t n = 1;
    if (columns)
        parts[n++] = columns;
    parts[n++] = quarry_filter_cells_per_column_limit(1);
    return quarry_filter_chain(parts, n);
}

struct quarry_filter *
txn_filter_snapshot(int64_t at, const char *family, struct slice qualifier)
{
    struct quarry_filter *columns = NULL;
    struct quarry_filter *deleted;
    struct quarry_filter *parts[3];
    if (family) {
        struct buf name = BUF_INIT;
        buf_printf(&name, "%s:", family);
        buf_append_slice(&name, qualifier);
        columns = one_column(family, qualifier);
        parts[0] = one_column(HIDDEN_DELETED, buf_slice(&name));
        parts[1] = one_column(HIDDEN_DELETED, SLICE_LIT(TXN_DELETED_CUT));
        deleted = quarry_filter_interleave(parts, 2);
        buf_close(&name);
    } else {
        deleted = quarry_filter_column_range(HIDDEN_DELETED, QUARRY_UNBOUNDED,
                                             SLICE_EMPTY, QUARRY_UNBOUNDED,
                                             SLICE_EMPTY);
    }
    parts[0] = newest_cells(columns, at);
    parts[1] = one_column(HIDDEN_LOCKS, TXN_LOCK_QUALIFIER);
    parts[2] = chain_two(deleted, quarry_filter_timestamp_range(at + 1, 0));
    return quarry_filter_interleave(parts, 3);
}

/* --- changes ------------------------------------------------------------- */

void txn_put_lock(struct quarry_mutation *m, const struct txn_lock *l)
{
    struct buf value = BUF_INIT;
    txn_lock_encode(l, &value);
    quarry_mutation_set(m, HIDDEN_LOCKS, TXN_LOCK_QUALIFIER, QUARRY_NOW,
                        buf_slice(&value));
    buf_close(&value);
}

void txn_put_free(struct quarry_mutation *m)
{
    quarry_mutation_set(m, HIDDEN_LOCKS, TXN_LOCK_QUALIFIER, QUARRY_NOW,
                        SLICE_EMPTY);
}

void txn_put_commit(struct quarry_mutation *m, int64_t commit)
{
    char value[NUMBER_BYTES];
    put_be64(value, (uint64_t)commit);
    quarry_mutation_set(m, HIDDEN_COMMITS, COMMIT_QUALIFIER, QUARRY_NOW,
                        slice_make(value, sizeof(value)));
}

void txn_put_status(struct quarry_mutation *m, int64_t start, int64_t commit)
{
    char status[STATUS_BYTES];
    char value[NUMBER_BYTES];
    put_be64(value, (uint64_t)commit);
    quarry_mutation_set(m, HIDDEN_LOCKS, status_qualifier(start, status),
                        QUARRY_NOW, slice_make(value, sizeof(value)));
}

void txn_forget_status(struct quarry_mutation *m, int64_t start)
{
    char status[STATUS_BYTES];
    quarry_mutation_delete_cells(m, HIDDEN_LOCKS,
                                 status_qualifier(start, status), 0, 0);
}

static bool is_dropped(struct quarry_table *table, struct slice family)
{
    char name[FAMILY_NAME_BYTES_MAX + 1];
    if (family.len == 0 || family.len >= sizeof(name))
        return false;
    memcpy(name, family.data, family.len);
    name[family.len] = '\0';
    return quarry_table_check_family(table, name, NULL) == ERR_NOTFOUND;
}

int txn_put_writes(struct quarry_mutation *m,
                   struct quarry_table *table,
                   const struct txn_lock *l,
                   int64_t commit,
                   struct err *err)
{
    struct cursor c = cursor_make(l->ops);
    struct mutation_op op;
    size_t n = 0;
    while (mutation_next(&c, &op)) {
        n++;
        if (is_dropped(table, op.family))
            continue;
        switch (op.kind) {
        case MUTATION_SET:
            mutation_set(m, op.family, op.qualifier, commit, op.value);
            break;
        case MUTATION_DELETE_CELLS:
            mutation_delete_cells(m, op.family, op.qualifier, 0, 0);
            break;
        case MUTATION_DELETE_FAMILY:
            mutation_delete_family(m, op.family);
            break;
        case MUTATION_DELETE_ROW: mutation_delete_row(m); break;
        case MUTATION_ORIGIN: break; /* txn_apply() takes none. */
        case MUTATION_ADD:
        case MUTATION_MERGE: c.bad = true; break; /* Not in transactions. */
        }
    }
    if (c.bad || n != l->op_count)
        return err_set(err, ERR_CORRUPT, "malformed writes in a lock");
    return 0;
}

bool txn_writes_delete(const struct txn_lock *l)
{
    struct cursor c = cursor_make(l->ops);
    struct mutation_op op;
    while (mutation_next(&c, &op))
        if (op.kind != MUTATION_SET)
            return true;
    return false;
}

/* Above that, a row is as quickly read as a whole. */
#define DELETED_FILTER_MAX 16

struct quarry_filter *txn_filter_deleted(const struct txn_lock *l)
{
    struct cursor c = cursor_make(l->ops);
    struct quarry_filter *parts[DELETED_FILTER_MAX];
    struct mutation_op op;
    bool few = true;
    size_t n = 0;
    while (few && mutation_next(&c, &op)) {
        char family[FAMILY_NAME_BYTES_MAX + 1];
        if (op.kind == MUTATION_SET)
            continue;
        few = op.kind == MUTATION_DELETE_CELLS && n < DELETED_FILTER_MAX &&
              op.family.len < sizeof(family);
        if (!few)
            break;
        memcpy(family, op.family.data, op.family.len);
        family[op.family.len] = '\0';
        parts[n++] = one_column(family, op.qualifier);
    }
    if (few && n > 0)
        return n == 1 ? parts[0] : quarry_filter_interleave(parts, n);
    for (size_t i = 0; i < n; i++)
        quarry_filter_free(parts[i]);
    return NULL;
}

static bool op_deletes(const struct mutation_op *op,
                       const struct quarry_cell *cell)
{
    switch (op->kind) {
    case MUTATION_SET:
    case MUTATION_ORIGIN:
    case MUTATION_ADD:
    case MUTATION_MERGE: return false;
    case MUTATION_DELETE_CELLS:
        return slice_eq(op->family, cell->family) &&
               slice_eq(op->qualifier, cell->qualifier);
    case MUTATION_DELETE_FAMILY: return slice_eq(op->family, cell->family);
    case MUTATION_DELETE_ROW: return true;
    }
    return false;
}

static bool is_deleted(const struct txn_lock *l, const struct quarry_cell *cell)
{
    struct cursor c = cursor_make(l->ops);
    struct mutation_op op;
    while (mutation_next(&c, &op))
        if (op_deletes(&op, cell))
            return true;
    return false;
}

static bool same_column(const struct quarry_cell *a,
                        const struct quarry_cell *b)
{
    return slice_eq(a->family, b->family) &&
           slice_eq(a->qualifier, b->qualifier);
}

/* Keep the cells [begin, end) of one column, the newest first: up to the first
 * that was overwritten by @oldest. False: there is no room in @left. */
static bool put_deleted_column(struct quarry_mutation *m,
                               const struct quarry_cell *begin,
                               const struct quarry_cell *end,
                               int64_t commit,
                               int64_t oldest,
                               size_t *left)
{
    struct buf name = BUF_INIT;
    struct buf value = BUF_INIT;
    bool fits;
    for (const struct quarry_cell *c = begin; c < end; c++) {
        buf_put_be64(&value, (uint64_t)c->timestamp_us);
        buf_put_lslice(&value, c->value);
        if (c->timestamp_us <= oldest || value.len > *left)
            break;
    }
    buf_append_slice(&name, begin->family);
    buf_append_byte(&name, ':');
    buf_append_slice(&name, begin->qualifier);
    fits = value.len <= *left && name.len <= QUALIFIER_BYTES_MAX;
    if (fits) {
        quarry_mutation_set(m, HIDDEN_DELETED, buf_slice(&name), commit,
                            buf_slice(&value));
        *left -= value.len;
    }
    buf_close(&name);
    buf_close(&value);
    return fits;
}

void txn_put_deleted(struct quarry_mutation *m,
                     const struct txn_lock *l,
                     const struct quarry_row *row,
                     int64_t commit,
                     int64_t oldest)
{
    size_t left = TXN_DELETED_BYTES_MAX;
    size_t columns = 0;
    bool whole = true;
    size_t end;
    for (size_t i = 0; row && i < row->cell_count; i = end) {
        const struct quarry_cell *first = &row->cells[i];
        for (end = i + 1;
             end < row->cell_count && same_column(first, &row->cells[end]);)
            end++;
        if (!whole || !is_deleted(l, first))
            continue;
        whole = ++columns <= TXN_DELETED_COLUMNS_MAX &&
                put_deleted_column(m, first, row->cells + end, commit, oldest,
                                   &left);
    }
    if (!whole)
        quarry_mutation_set(m, HIDDEN_DELETED, SLICE_LIT(TXN_DELETED_CUT),
                            commit, SLICE_EMPTY);
}
