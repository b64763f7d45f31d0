/* Reading, modifying and writing a row with indexed columns. The rules are
 * applied here and not where the row is, because the entries of the new values
 * are written first; so the change expects the cells that it was made of, and
 * begins again when another has written them meanwhile.
 */
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/client/client.h"
#include "bigtable/index/index_change.h"
#include "bigtable/index/index_write.h"
#include "bigtable/row/mutation.h"
#include "bigtable/row/row_copy.h"
#include "bigtable/row/row_modification.h"

struct modification {
    struct quarry_table *table;
    struct slice row;
    struct row_modification made;
    struct index_column *columns; /* That rules change, each once; owned. */
    size_t column_count;
};

static void add_column(struct modification *m, const struct index_column *c)
{
    for (size_t i = 0; i < m->column_count; i++)
        if (index_column_eq(&m->columns[i], c))
            return;
    INVARIANT(m->column_count < m->made.rule_count);
    m->columns[m->column_count++] = *c;
}

/* The columns as they are in @found. Owned. */
static struct index_expected *expect_columns(const struct modification *m,
                                             const struct quarry_row *found)
{
    struct index_expected *list = mem_zalloc(m->column_count, sizeof(*list));
    PRE(m->column_count > 0);
    for (size_t i = 0; i < m->column_count; i++) {
        const struct quarry_cell *cell = index_cell(found, &m->columns[i]);
        list[i] =
            (struct index_expected){.family = m->columns[i].family,
                                    .qualifier = m->columns[i].qualifier,
                                    .present = cell != NULL,
                                    .timed = true,
                                    .value = cell ? cell->value : SLICE_EMPTY,
                                    .us = cell ? cell->timestamp_us : 0};
    }
    return list;
}

/* Write the new cells if the row is still as it was @found. */
static int write_modified(struct modification *m,
                          const struct quarry_row *found,
                          enum quarry_durability durability,
                          struct err *err)
{
    struct quarry_mutation *change = quarry_mutation_new(m->row);
    struct index_expected *expected = expect_columns(m, found);
    struct index_change c = {.table = m->table,
                             .row = m->row,
                             .branches[BRANCH_FALSE] = change,
                             .expected = expected,
                             .expected_count = m->column_count,
                             .durability = durability};
    int made;
    int rc;
    row_modification_put(&m->made, change);
    INVARIANT(change->error || change->count == m->column_count);
    rc = mutation_check(change, err);
    if (rc == 0)
        rc = index_change_make(&c, &made, err);
    quarry_mutation_free(change);
    mem_free(expected);
    return rc;
}

static int modify_once(struct modification *m,
                       enum quarry_durability durability,
                       struct quarry_row **out,
                       struct err *err)
{
    /* Whole milliseconds. */
    int64_t now_us = (int64_t)world_now_us(m->table->quarry->world);
    struct index_set *set;
    struct index_row found;
    int rc = m->table->ops->table_indexes(m->table, &set, err);
    PRE(m->column_count > 0);
    if (rc == 0 && !set)
        rc = ERR_ABORTED;
    if (rc == 0)
        rc = index_row_read(m->table, set, m->columns, m->column_count, m->row,
                            false, &found, err);
    if (rc) {
        index_set_unref(set);
        return rc;
    }
    rc = row_modification_run(&m->made, found.owner, now_us - now_us % 1000,
                              err);
    if (rc == 0)
        rc = write_modified(m, found.owner, durability, err);
    if (rc == 0 && out) {
        struct quarry_row row = row_modification_row(&m->made, m->row);
        *out = row_copy(&row);
    }
    index_row_close(&found);
    index_set_unref(set);
    return rc;
}

int index_read_modify_write(struct quarry_table *t,
                            struct slice row,
                            const struct quarry_rmw_rule *rules,
                            size_t rule_count,
                            const struct quarry_write_options *opts,
                            struct quarry_row **out,
                            struct err *err)
{
    struct world *w = t->quarry->world;
    uint64_t end_ns = world_mono_ns(w) + INDEX_TRY_US_MAX * 1000;
    struct modification m = {.table = t, .row = row};
    int rc;
    PRE(rule_count > 0);
    row_modification_init(&m.made, rules, rule_count);
    m.columns = mem_alloc(rule_count * sizeof(*m.columns));
    for (size_t i = 0; i < rule_count; i++)
        add_column(&m,
                   &(struct index_column){rules[i].family, rules[i].qualifier});
    do {
        rc = modify_once(&m, index_durability_asked(opts), out, err);
        if (rc == ERR_ABORTED)
            world_sleep_us(w, world_random(w) % (INDEX_BACK_OFF_US * 4));
    } while (rc == ERR_ABORTED && world_mono_ns(w) < end_ns);
    mem_free(m.columns);
    row_modification_close(&m.made);
    return rc;
}
