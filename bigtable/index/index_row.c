/* A row as its indexes see it, and as it will be after a change.
 *
 * A change is tried on the cells that were read. Where it sets cells "now", the
 * outcome depends on the table's clock, which is not known: then it is tried
 * for each order of "now" and the times that matter (index_guesses()).
 */
#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/index/index.h"
#include "bigtable/row/mutation.h"

static struct quarry_filter *
column_part(const char *family, struct slice qualifier, bool versions)
{
    struct quarry_filter *parts[2];
    PRE(family);
    parts[0] = quarry_filter_column_range(family, QUARRY_CLOSED, qualifier,
                                          QUARRY_CLOSED, qualifier);
    if (versions)
        return parts[0];
    parts[1] = quarry_filter_cells_per_column_limit(1);
    return quarry_filter_chain(parts, 2);
}

static bool is_in(const struct index_column *list,
                  size_t count,
                  const struct index_column *c)
{
    PRE(list || count == 0);
    for (size_t i = 0; i < count; i++)
        if (index_column_eq(&list[i], c))
            return true;
    return false;
}

/* All columns of @set, each once, and @more: their number. */
static size_t list_columns(const struct index_set *set,
                           const struct index_column *more,
                           size_t more_count,
                           struct index_column *out)
{
    size_t n = 0;
    for (size_t i = 0; i < set->count; i++)
        for (size_t j = 0; j < set->defs[i].column_count; j++)
            if (!is_in(out, n, &set->defs[i].columns[j]))
                out[n++] = set->defs[i].columns[j];
    for (size_t i = 0; i < more_count; i++)
        if (!is_in(out, n, &more[i]))
            out[n++] = more[i];
    POST(n <= set->count * INDEX_COLUMNS_MAX + more_count);
    return n;
}

static void take_mark(struct index_row *r)
{
    const struct index_column mark = {INDEX_FAMILY, SLICE_LIT(INDEX_MARK)};
    const struct quarry_cell *c = index_cell(r->owner, &mark);
    PRE(r->owner);
    if (!c || c->value.len != INDEX_MARK_BYTES)
        return;
    r->mark = c->value;
    r->number = (int64_t)get_be64(c->value.data);
    POST(r->mark.len == INDEX_MARK_BYTES);
}

int index_row_read(struct quarry_table *t,
                   const struct index_set *set,
                   const struct index_column *more,
                   size_t more_count,
                   struct slice row,
                   bool versions,
                   struct index_row *out,
                   struct err *err)
{
    size_t room = set->count * INDEX_COLUMNS_MAX + more_count + 1;
    struct index_column *columns = mem_alloc(room * sizeof(*columns));
    struct quarry_filter **parts = mem_alloc(room * sizeof(*parts));
    struct quarry_read_options read = {.filter = NULL};
    struct quarry_filter *f;
    size_t n = list_columns(set, more, more_count, columns);
    int rc;
    PRE(row.len > 0);
    for (size_t i = 0; i < n; i++)
        parts[i] =
            column_part(columns[i].family, columns[i].qualifier, versions);
    parts[n++] = column_part(INDEX_FAMILY, SLICE_LIT(INDEX_MARK), false);
    f = n == 1 ? parts[0] : quarry_filter_interleave(parts, n);
    read.filter = f;
    *out = (struct index_row){.number = 0};
    rc = quarry_read_row(t, row, &read, &out->owner, err);
    if (rc == 0 && out->owner)
        take_mark(out);
    quarry_filter_free(f);
    mem_free(columns);
    mem_free(parts);
    INVARIANT(n <= room);
    return rc;
}

void index_row_close(struct index_row *r)
{
    quarry_row_free(r->owner);
    *r = (struct index_row){.number = 0};
}

const struct quarry_cell *index_cell(const struct quarry_row *row,
                                     const struct index_column *c)
{
    for (size_t i = 0; row && i < row->cell_count; i++)
        if (slice_eq(row->cells[i].qualifier, c->qualifier) &&
            slice_eq_str(row->cells[i].family, c->family))
            return &row->cells[i];
    return NULL;
}

void index_values(const struct quarry_row *row,
                  const struct index_def *d,
                  struct index_value *out)
{
    PRE(d->column_count <= INDEX_COLUMNS_MAX);
    for (size_t i = 0; i < d->column_count; i++) {
        const struct quarry_cell *c = index_cell(row, &d->columns[i]);
        out[i] = (struct index_value){c != NULL, c ? c->value : SLICE_EMPTY};
    }
}

/* --- after a change ------------------------------------------------------ */

/* A cell of a column. */
struct version {
    int64_t us;
    struct slice value;
};

static bool is_of_column(const struct mutation_op *op,
                         const struct index_column *c)
{
    if (op->kind == MUTATION_DELETE_ROW)
        return true;
    if (!slice_eq_str(op->family, c->family))
        return false;
    return op->kind == MUTATION_DELETE_FAMILY ||
           slice_eq(op->qualifier, c->qualifier);
}

static bool is_of_all_times(const struct mutation_op *op)
{
    return op->kind != MUTATION_DELETE_CELLS ||
           (op->timestamp_us == 0 && op->max_us == 0);
}

static void remove_range(struct buf *list, int64_t min_us, int64_t max_us)
{
    struct version *v = (void *)list->data;
    size_t n = 0;
    PRE(list->len % sizeof(struct version) == 0);
    for (size_t i = 0; i < list->len / sizeof(*v); i++)
        if (v[i].us < min_us || v[i].us >= max_us)
            v[n++] = v[i];
    buf_truncate(list, n * sizeof(*v));
    POST(list->len % sizeof(struct version) == 0);
}

static void
apply_op(struct buf *list, const struct mutation_op *op, int64_t now_us)
{
    struct version v = {op->timestamp_us, op->value};
    if (op->kind != MUTATION_SET) {
        if (is_of_all_times(op))
            buf_clear(list);
        else
            remove_range(list, op->timestamp_us, op->max_us);
        return;
    }
    if (v.us == MUTATION_NOW)
        v.us = now_us;
    if (v.us < INT64_MAX)
        remove_range(list, v.us, v.us + 1);
    buf_append(list, &v, sizeof(v));
}

static struct index_value column_after(const struct quarry_row *row,
                                       const struct index_column *column,
                                       const struct quarry_mutation *m,
                                       int64_t now_us)
{
    struct cursor c = cursor_make(buf_slice(&m->ops));
    const struct version *best = NULL;
    const struct version *v;
    struct index_value out = {false, SLICE_EMPTY};
    struct buf list = BUF_INIT;
    struct mutation_op op;
    for (size_t i = 0; row && i < row->cell_count; i++) {
        const struct quarry_cell *cell = &row->cells[i];
        const struct version had = {cell->timestamp_us, cell->value};
        if (slice_eq(cell->qualifier, column->qualifier) &&
            slice_eq_str(cell->family, column->family))
            buf_append(&list, &had, sizeof(had));
    }
    while (mutation_next(&c, &op))
        if (is_of_column(&op, column))
            apply_op(&list, &op, now_us);
    v = (const void *)list.data;
    for (size_t i = 0; i < list.len / sizeof(*v); i++)
        if (!best || v[i].us > best->us)
            best = &v[i];
    if (best)
        out = (struct index_value){true, best->value};
    buf_close(&list);
    POST(out.present == (best != NULL));
    return out;
}

void index_values_after(const struct quarry_row *row,
                        const struct index_def *d,
                        const struct quarry_mutation *m,
                        int64_t now_us,
                        struct index_value *out)
{
    PRE(d->column_count <= INDEX_COLUMNS_MAX);
    for (size_t i = 0; i < d->column_count; i++)
        out[i] = column_after(row, &d->columns[i], m, now_us);
}

/* --- guesses ------------------------------------------------------------- */

static void add_guess(struct buf *out, int64_t us)
{
    const int64_t *have = (const void *)out->data;
    PRE(out->len % sizeof(us) == 0);
    for (size_t i = 0; i < out->len / sizeof(us); i++)
        if (have[i] == us)
            return;
    buf_append(out, &us, sizeof(us));
}

static bool sets_now(const struct index_column *column,
                     const struct quarry_mutation *m)
{
    struct cursor c = cursor_make(buf_slice(&m->ops));
    struct mutation_op op;
    while (mutation_next(&c, &op))
        if (op.kind == MUTATION_SET && op.timestamp_us == MUTATION_NOW &&
            is_of_column(&op, column))
            return true;
    return false;
}

static void guess_column(const struct quarry_row *row,
                         const struct index_column *column,
                         const struct quarry_mutation *m,
                         int64_t sure_us,
                         struct buf *out)
{
    struct cursor c = cursor_make(buf_slice(&m->ops));
    struct mutation_op op;
    for (size_t i = 0; row && i < row->cell_count; i++) {
        const struct quarry_cell *cell = &row->cells[i];
        if (cell->timestamp_us > sure_us &&
            slice_eq(cell->qualifier, column->qualifier) &&
            slice_eq_str(cell->family, column->family))
            add_guess(out, cell->timestamp_us - 1);
    }
    while (mutation_next(&c, &op)) {
        if (!is_of_column(&op, column))
            continue;
        if (op.kind == MUTATION_SET && op.timestamp_us != MUTATION_NOW)
            add_guess(out, op.timestamp_us - 1);
        if (!is_of_all_times(&op)) {
            add_guess(out, op.timestamp_us - 1);
            if (op.max_us > op.timestamp_us)
                add_guess(out, op.max_us - 1);
        }
    }
}

void index_guesses(const struct quarry_row *row,
                   const struct index_def *d,
                   const struct quarry_mutation *m,
                   int64_t sure_us,
                   struct buf *out)
{
    add_guess(out, INT64_MAX - 1);
    for (size_t i = 0; i < d->column_count; i++)
        if (sets_now(&d->columns[i], m))
            guess_column(row, &d->columns[i], m, sure_us, out);
    POST(out->len >= sizeof(int64_t));
}

/* --- what rules hide ----------------------------------------------------- */

bool index_needs_versions(const struct index_set *set,
                          const struct quarry_mutation *m)
{
    struct cursor c = cursor_make(buf_slice(&m->ops));
    struct mutation_op op;
    while (mutation_next(&c, &op)) {
        if (is_of_all_times(&op))
            continue;
        for (size_t i = 0; i < set->count; i++)
            for (size_t j = 0; j < set->defs[i].column_count; j++)
                if (is_of_column(&op, &set->defs[i].columns[j]))
                    return true;
    }
    return false;
}

static void put_cover(const struct quarry_row *row,
                      const struct mutation_op *op,
                      struct quarry_mutation *out)
{
    int64_t oldest = INT64_MAX;
    PRE(op->kind == MUTATION_DELETE_CELLS);
    for (size_t i = 0; row && i < row->cell_count; i++) {
        const struct quarry_cell *c = &row->cells[i];
        if (slice_eq(c->family, op->family) &&
            slice_eq(c->qualifier, op->qualifier))
            oldest = MIN_OF(oldest, c->timestamp_us);
    }
    if (oldest == INT64_MAX)
        mutation_delete_cells(out, op->family, op->qualifier, 0, 0);
    else if (oldest > 0)
        mutation_delete_cells(out, op->family, op->qualifier, 0, oldest);
}

/* Rules hide the oldest cells of a column, never one above one that they show:
 * so what is below the oldest that was read is hidden. */
void index_put_covers(const struct quarry_row *row,
                      const struct index_set *set,
                      const struct quarry_mutation *m,
                      struct quarry_mutation *out)
{
    struct cursor c = cursor_make(buf_slice(&m->ops));
    struct mutation_op op;
    while (mutation_next(&c, &op)) {
        bool indexed = false;
        for (size_t i = 0; i < set->count && !is_of_all_times(&op); i++)
            for (size_t j = 0; j < set->defs[i].column_count; j++)
                indexed |= is_of_column(&op, &set->defs[i].columns[j]);
        if (indexed)
            put_cover(row, &op, out);
    }
}
