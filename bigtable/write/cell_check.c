/* Single cells instead of a scan: a row that transactions write often has its
 * lock and its last commit many times in memtables and files, and a scan merges
 * them all, where the newest entry is enough.
 */
#include "bigtable/write/cell_check.h"

#include "base/core/panic.h"
#include "bigtable/read/scan.h"
#include "bigtable/row/filter.h"
#include "bigtable/row/gc_rule.h"
#include "bigtable/row/schema.h"
#include "bigtable/tablet/table_part.h"

static bool is_one_column(const struct quarry_filter *f)
{
    return f->kind == FILTER_COLUMN_RANGE && f->start.kind == FILTER_CLOSED &&
           f->end.kind == FILTER_CLOSED &&
           slice_eq(buf_slice(&f->start.bytes), buf_slice(&f->end.bytes));
}

/* One version is shown of the family, if any. */
static bool shows_one_version(const struct table_part_view *view,
                              struct slice name)
{
    const struct family *family = schema_family(view->schema, name);
    return family && family->gc && family->gc->kind == GC_RULE_VERSIONS &&
           family->gc->versions == 1;
}

/* Part @at of a chain; a filter that is none is a chain of one. NULL: none. */
static const struct quarry_filter *chain_part(const struct quarry_filter *f,
                                              size_t at)
{
    if (f->kind != FILTER_CHAIN)
        return at == 0 ? f : NULL;
    return at < f->part_count ? f->parts[at] : NULL;
}

static bool cell_check_add(const struct quarry_filter *f,
                           const struct table_part_view *view,
                           struct cell_check *out)
{
    size_t at = 0;
    const struct quarry_filter *column = chain_part(f, at++);
    const struct quarry_filter *values = chain_part(f, at);
    bool newest = false;
    if (out->count == CELL_CHECK_MAX || !column || !is_one_column(column))
        return false;
    /* A predicate on a family that is not there is an ordinary "no". */
    if (!schema_family(view->schema, buf_slice(&column->text)))
        return false;
    if (values && values->kind == FILTER_COLUMN_LIMIT && values->count == 1) {
        newest = true;
        values = chain_part(f, ++at);
    }
    if (values && (values->kind != FILTER_VALUE_RANGE || chain_part(f, at + 1)))
        return false;
    if (!newest && !shows_one_version(view, buf_slice(&column->text)))
        return false;
    out->cells[out->count].column = column;
    out->cells[out->count].values = values;
    out->count++;
    return true;
}

bool cell_check_make(const struct quarry_filter *f,
                     const struct table_part_view *view,
                     struct cell_check *out)
{
    bool fits = f != NULL;
    *out = (struct cell_check){.count = 0};
    if (!f || f->kind != FILTER_INTERLEAVE)
        return fits && cell_check_add(f, view, out);
    for (size_t i = 0; i < f->part_count && fits; i++)
        fits = cell_check_add(f->parts[i], view, out);
    return fits && out->count > 0;
}

static bool is_in_values(const struct quarry_filter *f, struct slice value)
{
    int from = f->start.kind == FILTER_UNBOUNDED
                   ? 1
                   : slice_cmp(value, buf_slice(&f->start.bytes));
    int to = f->end.kind == FILTER_UNBOUNDED
                 ? -1
                 : slice_cmp(value, buf_slice(&f->end.bytes));
    return (from > 0 || (from == 0 && f->start.kind == FILTER_CLOSED)) &&
           (to < 0 || (to == 0 && f->end.kind == FILTER_CLOSED));
}

int cell_check_run(const struct cell_check *c,
                   struct table_part *t,
                   struct slice row,
                   bool *matched,
                   struct err *err)
{
    struct buf value = BUF_INIT;
    int rc = 0;
    PRE(c->count > 0);
    *matched = false;
    for (size_t i = 0; i < c->count && rc == 0 && !*matched; i++) {
        const struct quarry_filter *column = c->cells[i].column;
        int64_t timestamp_us;
        bool found;
        buf_clear(&value);
        rc = read_cell(t, row, buf_slice(&column->text),
                       buf_slice(&column->start.bytes), &value, &timestamp_us,
                       &found, err);
        *matched = rc == 0 && found &&
                   (!c->cells[i].values ||
                    is_in_values(c->cells[i].values, buf_slice(&value)));
    }
    buf_close(&value);
    return rc;
}
