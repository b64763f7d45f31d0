/* Checks and changes of one row: both read the row, make a mutation of what
 * they find, and write it by row_update(), which begins again when the row was
 * written meanwhile. So a decision depends on the row alone, and may be made
 * several times.
 */
#include "bigtable/write/row_changes.h"

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/read/read_options.h"
#include "bigtable/row/cells.h"
#include "bigtable/row/mutation.h"
#include "bigtable/row/row_copy.h"
#include "bigtable/row/row_modification.h"
#include "bigtable/tablet/done_changes.h"
#include "bigtable/tablet/table_part.h"
#include "bigtable/tablet/tablet_env.h"
#include "bigtable/write/cell_check.h"
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
    POST(!row == !c->matched);
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
    struct cell_check cells;
    bool by_cells;
    int rc;
    PRE(row.len > 0);
    if (!view)
        return table_part_gone(t, err);
    rc = read_spec_build(&spec, view, read, err);
    by_cells = cell_check_make(read->filter, view, &cells);
    table_part_view_unref(view);
    if (rc)
        return rc;
    spec.cell_limit = cell_limit;
    rc = row_update(env, t, &spec, by_cells ? &cells : NULL, row, decide_row,
                    ctx, durability, err);
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

struct modify {
    struct row_modification made;
    struct quarry_mutation mutation;
    const struct row_change_id *id; /* NULL: none. */
    struct buf answer;
};

/* Say whose change it is, and what is answered. */
static void row_changes_identify(struct modify *m)
{
    struct quarry_row row;
    if (!m->id || m->id->session == 0)
        return;
    PRE(m->id->encode);
    row = row_modification_row(&m->made, buf_slice(&m->mutation.row));
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
    int rc = row_modification_run(
        &m->made, row, now_us / TABLE_COARSE_US * TABLE_COARSE_US, err);
    PRE(now_us >= 0);
    if (rc)
        return rc;
    buf_clear(&m->mutation.ops);
    m->mutation.count = 0;
    row_modification_put(&m->made, &m->mutation);
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
    struct modify m = {.id = id};
    int rc;
    if (rule_count == 0)
        return err_set(err, ERR_INVALID, "read, modify, write: no rules");
    row_modification_init(&m.made, rules, rule_count);
    mutation_init(&m.mutation, row);
    rc = m.mutation.error ? err_copy(err, m.mutation.error) : 0;
    if (rc == 0)
        rc = update_row(env, t, row, &read, 0, row_changes_modify, &m,
                        durability, err);
    if (rc == 0 && out) {
        struct quarry_row made = row_modification_row(&m.made, row);
        *out = row_copy(&made);
    }
    mutation_close(&m.mutation);
    row_modification_close(&m.made);
    buf_close(&m.answer);
    return rc;
}
