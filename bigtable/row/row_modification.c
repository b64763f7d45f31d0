/* The cells that the rules of a read, modify, write make of a row. Two callers
 * share them, because they find the row in different ways: a tablet under the
 * order of its writes, an index with the entries that the new cells need.
 */
#include "bigtable/row/row_modification.h"

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/row/mutation.h"

#define COUNTER_BYTES 8

void row_modification_init(struct row_modification *m,
                           const struct quarry_rmw_rule *rules,
                           size_t count)
{
    PRE(count > 0);
    *m = (struct row_modification){.rules = rules, .rule_count = count};
    m->values = mem_zalloc(count, sizeof(*m->values));
}

void row_modification_close(struct row_modification *m)
{
    for (size_t i = 0; m->values && i < m->rule_count; i++)
        buf_close(&m->values[i]);
    mem_free(m->values);
    buf_close(&m->cells);
}

static size_t new_count(const struct row_modification *m)
{
    INVARIANT(m->cells.len % sizeof(struct quarry_cell) == 0);
    return m->cells.len / sizeof(struct quarry_cell);
}

static struct quarry_cell *cell_at(const struct row_modification *m, size_t i)
{
    PRE(i < new_count(m));
    return (struct quarry_cell *)(void *)m->cells.data + i;
}

/* The newest cell of the rule's column in the row as read; NULL: none. */
static const struct quarry_cell *find_old(const struct quarry_row *row,
                                          const struct quarry_rmw_rule *rule)
{
    for (size_t i = 0; row && i < row->cell_count; i++)
        if (slice_eq_str(row->cells[i].family, rule->family) &&
            slice_eq(row->cells[i].qualifier, rule->qualifier))
            return &row->cells[i];
    return NULL;
}

/* The cell that the rules so far make of the rule's column: begun from the old
 * one. Its time is now, unless the old one is of the future. */
static size_t find_new(struct row_modification *m,
                       const struct quarry_row *row,
                       const struct quarry_rmw_rule *rule,
                       int64_t now_us)
{
    const struct quarry_cell *old = find_old(row, rule);
    struct quarry_cell cell = {.family = slice_str(rule->family),
                               .qualifier = rule->qualifier,
                               .timestamp_us = now_us};
    size_t count = new_count(m);
    for (size_t i = 0; i < count; i++)
        if (slice_eq(cell_at(m, i)->family, cell.family) &&
            slice_eq(cell_at(m, i)->qualifier, cell.qualifier))
            return i;
    if (old && old->timestamp_us > cell.timestamp_us)
        cell.timestamp_us = old->timestamp_us;
    INVARIANT(count < m->rule_count); /* INV-1. */
    buf_append(&m->cells, &cell, sizeof(cell));
    if (old)
        buf_append_slice(&m->values[count], old->value);
    POST(!old || cell_at(m, count)->timestamp_us >= old->timestamp_us);
    return count;
}

static int increment_value(struct buf *value,
                           const struct quarry_rmw_rule *rule,
                           struct err *err)
{
    uint64_t n = 0;
    if (value->len != 0 && value->len != COUNTER_BYTES)
        return err_set(err, ERR_INVALID,
                       "increment of %s:%.*s: its cell has %zu byte%s, and a "
                       "counter has 8",
                       rule->family, SLICE_ARG(rule->qualifier), value->len,
                       value->len == 1 ? "" : "s");
    if (value->len)
        n = get_be64(value->data);
    buf_clear(value);
    buf_put_be64(value, n + (uint64_t)rule->increment);
    POST(value->len == COUNTER_BYTES);
    return 0;
}

int row_modification_run(struct row_modification *m,
                         const struct quarry_row *row,
                         int64_t now_us,
                         struct err *err)
{
    int rc = 0;
    buf_clear(&m->cells);
    for (size_t i = 0; i < m->rule_count; i++)
        buf_clear(&m->values[i]);
    for (size_t i = 0; i < m->rule_count && rc == 0; i++) {
        const struct quarry_rmw_rule *rule = &m->rules[i];
        size_t k = find_new(m, row, rule, now_us);
        if (rule->kind == QUARRY_RMW_APPEND)
            buf_append_slice(&m->values[k], rule->append);
        else
            rc = increment_value(&m->values[k], rule, err);
    }
    for (size_t i = 0; i < new_count(m); i++)
        cell_at(m, i)->value = buf_slice(&m->values[i]);
    return rc;
}

void row_modification_put(const struct row_modification *m,
                          struct quarry_mutation *out)
{
    PRE(new_count(m) > 0);
    for (size_t i = 0; i < new_count(m); i++) {
        const struct quarry_cell *c = cell_at(m, i);
        mutation_set(out, c->family, c->qualifier, c->timestamp_us, c->value);
    }
}

struct quarry_row row_modification_row(const struct row_modification *m,
                                       struct slice key)
{
    PRE(new_count(m) > 0);
    return (struct quarry_row){key, cell_at(m, 0), new_count(m)};
}
