/* States of single keys of a program's tables, taken out, merged and negated
 * one by one, for callers that keep them (views), where results.c moves whole
 * tables. */
#include "base/core/panic.h"
#include "sawzall-lite/machine/run.h"

struct key_states {
    const struct saw_state_sink *sink;
    uint32_t table;
};

static int
hand_state(void *ctx, struct slice key, struct slice state, struct err *err)
{
    const struct key_states *k = ctx;
    return k->sink->state(k->sink->ctx, k->table, key, state, err);
}

int saw_run_states(struct saw_run *r,
                   const struct saw_state_sink *sink,
                   struct err *err)
{
    struct key_states k = {.sink = sink};
    int rc = 0;

    for (; k.table < r->program->pool.table_count && rc == 0; k.table++) {
        if (r->tables[k.table].table)
            rc =
                saw_table_states(r->tables[k.table].table, hand_state, &k, err);
    }
    return rc;
}

int saw_run_merge_state(struct saw_run *r,
                        uint32_t table,
                        struct slice key,
                        struct slice state,
                        struct err *err)
{
    struct saw_table *t = NULL;

    if (table < r->program->pool.table_count)
        t = saw_run_table(r, table);
    if (!t)
        return err_set(err, ERR_CORRUPT, "state of a key: no table %u", table);
    return saw_table_merge_key(t, key, state, err);
}

bool saw_run_keeps_order(const struct saw_run *r, uint32_t table)
{
    return table < r->program->pool.table_count &&
           r->tables[table].traits->keeps_order;
}

bool saw_run_estimates(const struct saw_run *r, struct slice name)
{
    for (uint32_t i = 0; i < r->program->pool.table_count; i++)
        if (slice_eq_str(name, r->tables[i].name))
            return r->tables[i].traits->estimates;
    return false;
}

bool saw_run_negate_state(const struct saw_run *r,
                          uint32_t table,
                          struct slice state,
                          struct buf *out)
{
    return table < r->program->pool.table_count &&
           saw_traits_negate(r->tables[table].traits, state, out);
}

struct slice saw_state_first(const char *kind, struct slice state)
{
    const struct saw_table_traits *traits =
        saw_table_traits_find(slice_str(kind));
    return traits ? saw_traits_first(traits, state) : SLICE_EMPTY;
}

const char *saw_run_table_name(struct saw_run *r, uint32_t number)
{
    if (number >= r->program->pool.table_count)
        return NULL;
    if (r->tables[number].site->predeclared ||
        r->tables[number].route != SAW_ROUTE_TABLE)
        return "";
    (void)saw_run_table(r, number);
    return r->tables[number].name;
}

size_t saw_run_table_keys(const struct saw_run *r, uint32_t number)
{
    PRE(number < r->program->pool.table_count);
    return r->tables[number].site->type->index_count;
}

static enum saw_column_type column_type(const struct saw_type *t)
{
    if (!t)
        return SAW_COLUMN_TEXT;
    if (t->kind == SAW_INT)
        return SAW_COLUMN_INT;
    if (t->kind == SAW_FLOAT)
        return SAW_COLUMN_FLOAT;
    if (t->kind == SAW_BOOL)
        return SAW_COLUMN_BOOL;
    return t->kind == SAW_TIME ? SAW_COLUMN_TIME : SAW_COLUMN_TEXT;
}

/* Columns with names of their kind are no element and no weight. */
enum saw_column_type
saw_run_column_type(const struct saw_run *r, uint32_t number, size_t column)
{
    const struct saw_run_table *t = &r->tables[number];
    const struct saw_table_type *type = t->site->type;
    const size_t keys = type->index_count;
    PRE(number < r->program->pool.table_count);
    if (column < keys)
        return column_type(type->indices[column].type);
    if (saw_traits_names_column(t->traits, column - keys))
        return SAW_COLUMN_TEXT;
    if (column == keys)
        return column_type(type->element.type);
    return column == keys + 1 ? column_type(type->weight.type)
                              : SAW_COLUMN_TEXT;
}
