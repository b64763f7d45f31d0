/* Checks and changes of one row: both read the row, make a mutation of what
 * they find, and write it by row_update(), which begins again when the row was
 * written meanwhile. So a decision depends on the row alone, and may be made
 * several times.
 */
#include "bigtable/write/row_changes.h"

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/read/read_options.h"
#include "bigtable/row/cells.h"
#include "bigtable/row/mutation.h"
#include "bigtable/row/row_copy.h"
#include "bigtable/row/row_request.h"
#include "bigtable/tablet/done_changes.h"
#include "bigtable/tablet/table_part.h"
#include "bigtable/tablet/tablet_env.h"
#include "bigtable/write/row_update.h"

/* --- check and mutate ---------------------------------------------------- */

struct check {
    const struct quarry_mutation *branches[2]; /* If false, if true. */
    bool matched;
};

static int row_changes_decide(void *ctx,
                              const struct quarry_row *row,
                              int64_t now_us,
                              const struct quarry_mutation **m,
                              struct err *err)
{
    struct check *c = ctx;
    (void)now_us;
    (void)err;
    c->matched = row != NULL;
    *m = c->branches[c->matched];
    return 0;
}

/* A mutation for the row the check is about, without mistakes. */
static int
check_branch(const struct quarry_mutation *m, struct slice row, struct err *err)
{
    int rc = m ? mutation_check(m, err) : 0;
    if (rc == 0 && m && !slice_eq(buf_slice(&m->row), row))
        rc = err_set(err, ERR_INVALID,
                     "check and mutate: a mutation is of another row");
    return rc;
}

/* One with a row, checked: see row_update(). @cell_limit: as of a read_spec. */
static int update_row(struct tablet_env *env,
                      struct table_part *t,
                      struct slice row,
                      const struct quarry_read_options *read,
                      uint32_t cell_limit,
                      row_decide_fn decide_row,
                      void *ctx,
                      enum write_durability durability,
                      struct err *err)
{
    struct table_part_view *view = table_part_get_view(t);
    struct read_spec spec;
    int rc;
    PRE(row.len > 0);
    if (!view)
        return table_part_gone(t, err);
    rc = read_spec_build(&spec, view, read, err);
    table_part_view_unref(view);
    if (rc)
        return rc;
    spec.cell_limit = cell_limit;
    rc = row_update(env, t, &spec, row, decide_row, ctx, durability, err);
    read_spec_close(&spec);
    return rc;
}

int row_check_and_mutate(struct tablet_env *env,
                         struct table_part *t,
                         struct slice row,
                         const struct quarry_filter *predicate,
                         const struct quarry_mutation *if_true,
                         const struct quarry_mutation *if_false,
                         enum write_durability durability,
                         bool *matched,
                         struct err *err)
{
    const struct quarry_read_options read = {.filter = predicate};
    struct check c = {{if_false, if_true}, false};
    int rc = row_name_check(row, err);
    if (rc == 0)
        rc = check_branch(if_true, row, err);
    if (rc == 0)
        rc = check_branch(if_false, row, err);
    if (rc == 0 && !if_true && !if_false)
        rc = err_set(err, ERR_INVALID,
                     "check and mutate: there is nothing to apply");
    if (rc == 0)
        rc = update_row(env, t, row, &read, predicate ? 0 : 1,
                        row_changes_decide, &c, durability, err);
    if (rc == 0 && matched)
        *matched = c.matched;
    return rc;
}

/* --- read, modify, write ------------------------------------------------- */

#define COUNTER_BYTES 8

struct modify {
    const struct quarry_rmw_rule *rules;
    size_t rule_count;
    int64_t now_us;
    struct quarry_mutation mutation;
    struct buf cells; /* struct quarry_cell: the new ones, by column. */
    const struct row_change_id *id; /* NULL: none. */
    struct buf answer;
    struct buf *values; /* Of `cells`, by index; owned. */
    size_t cell_count;
};

static struct quarry_cell *cell_at(const struct modify *m, size_t i)
{
    PRE(i < m->cells.len / sizeof(struct quarry_cell));
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
static size_t find_new(struct modify *m,
                       const struct quarry_row *row,
                       const struct quarry_rmw_rule *rule)
{
    const struct quarry_cell *old = find_old(row, rule);
    struct quarry_cell cell = {.family = slice_str(rule->family),
                               .qualifier = rule->qualifier,
                               .timestamp_us = m->now_us};
    for (size_t i = 0; i < m->cell_count; i++)
        if (slice_eq(cell_at(m, i)->family, cell.family) &&
            slice_eq(cell_at(m, i)->qualifier, cell.qualifier))
            return i;
    if (old && old->timestamp_us > cell.timestamp_us)
        cell.timestamp_us = old->timestamp_us;
    INVARIANT(m->cell_count < m->rule_count);
    buf_append(&m->cells, &cell, sizeof(cell));
    if (old)
        buf_append_slice(&m->values[m->cell_count], old->value);
    return m->cell_count++;
}

static int row_changes_increment(struct buf *value,
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

static void row_changes_forget(struct modify *m)
{
    for (size_t i = 0; i < m->rule_count; i++)
        buf_clear(&m->values[i]);
    buf_clear(&m->cells);
    m->cell_count = 0;
}

/* Say whose change it is, and what is answered. */
static void row_changes_identify(struct modify *m)
{
    const struct quarry_row row = {buf_slice(&m->mutation.row), cell_at(m, 0),
                                   m->cell_count};
    if (!m->id || m->id->session == 0)
        return;
    PRE(m->id->encode);
    buf_clear(&m->answer);
    m->id->encode(&row, &m->answer);
    m->mutation.session = m->id->session;
    m->mutation.sequence = m->id->sequence;
    m->mutation.answer = SLICE_EMPTY;
    if (m->answer.len <= DONE_ANSWER_BYTES_MAX)
        m->mutation.answer = buf_slice(&m->answer);
}

static int row_changes_modify(void *ctx,
                              const struct quarry_row *row,
                              int64_t now_us,
                              const struct quarry_mutation **out,
                              struct err *err)
{
    struct modify *m = ctx;
    PRE(m->rule_count > 0);
    row_changes_forget(m);
    m->now_us = now_us / TABLE_COARSE_US * TABLE_COARSE_US;
    for (size_t i = 0; i < m->rule_count; i++) {
        const struct quarry_rmw_rule *rule = &m->rules[i];
        size_t k = find_new(m, row, rule);
        if (rule->kind == QUARRY_RMW_APPEND) {
            buf_append_slice(&m->values[k], rule->append);
        } else {
            int rc = row_changes_increment(&m->values[k], rule, err);
            if (rc)
                return rc;
        }
    }
    buf_clear(&m->mutation.ops);
    m->mutation.count = 0;
    for (size_t i = 0; i < m->cell_count; i++) {
        struct quarry_cell *c = cell_at(m, i);
        c->value = buf_slice(&m->values[i]);
        c->label = SLICE_EMPTY;
        mutation_set(&m->mutation, c->family, c->qualifier, c->timestamp_us,
                     c->value);
    }
    row_changes_identify(m);
    *out = &m->mutation;
    return 0;
}

int row_read_modify_write(struct tablet_env *env,
                          struct table_part *t,
                          struct slice row,
                          const struct quarry_rmw_rule *rules,
                          size_t rule_count,
                          enum write_durability durability,
                          const struct row_change_id *id,
                          struct quarry_row **out,
                          struct err *err)
{
    const struct quarry_read_options read = {.versions = 1};
    struct modify m = {.rules = rules, .rule_count = rule_count, .id = id};
    int rc;
    if (rule_count == 0)
        return err_set(err, ERR_INVALID, "read, modify, write: no rules");
    m.values = mem_zalloc(rule_count, sizeof(*m.values));
    mutation_init(&m.mutation, row);
    rc = m.mutation.error ? err_copy(err, m.mutation.error) : 0;
    if (rc == 0)
        rc = update_row(env, t, row, &read, 0, row_changes_modify, &m,
                        durability, err);
    if (rc == 0 && out)
        *out =
            row_copy(&(struct quarry_row){row, cell_at(&m, 0), m.cell_count});
    mutation_close(&m.mutation);
    for (size_t i = 0; i < rule_count; i++)
        buf_close(&m.values[i]);
    mem_free(m.values);
    buf_close(&m.cells);
    buf_close(&m.answer);
    return rc;
}
