/* METADATA through the client library. */
#include "base/core/panic.h"
#include "bigtable/client/quarry.h"
#include "bigtable/master/metadata_store.h"
#include "bigtable/wire/metadata.h"

struct metadata_table {
    struct metadata_store store; /* First. */
    struct quarry *quarry;       /* Borrowed. */
    struct quarry_table *table;  /* NULL until the first call. */
};

static struct metadata_table *table_of(struct metadata_store *s)
{
    return CONTAINER_OF(s, struct metadata_table, store);
}

static int open_table(struct metadata_table *t, struct err *err)
{
    struct quarry_table *table;
    int code;
    if (t->table)
        return 0;
    code = quarry_table_open(t->quarry, METADATA_TABLE, &table, err);
    if (code)
        return code;
    /* Another fiber may have been faster. */
    if (t->table)
        quarry_table_close(table);
    else
        t->table = table;
    return 0;
}

static void take_cell(struct metadata_row *row, const struct quarry_cell *c)
{
    static const char *const names[] = {"tablet", "location", "state", "split"};
    struct slice *const fields[] = {&row->tablet, &row->location, &row->state,
                                    &row->split};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (slice_eq_str(c->qualifier, names[i]))
            *fields[i] = c->value;
}

static struct metadata_row row_of(const struct quarry_row *from)
{
    struct metadata_row row = {from->key, SLICE_EMPTY, SLICE_EMPTY, SLICE_EMPTY,
                               SLICE_EMPTY};
    for (size_t i = 0; i < from->cell_count; i++)
        take_cell(&row, &from->cells[i]);
    return row;
}

/* All that is known of a tablet but its history. */
static struct quarry_filter *newest_filter(void)
{
    struct quarry_filter *parts[] = {
        quarry_filter_qualifier_regex(SLICE_LIT("tablet|location|state|split")),
        quarry_filter_cells_per_column_limit(1)};
    return quarry_filter_chain(parts, ARRAY_LEN(parts));
}

static int run_scan(struct quarry_scanner *s,
                    metadata_row_fn fn,
                    void *ctx,
                    struct err *err)
{
    const struct quarry_row *row;
    for (;;) {
        struct metadata_row m;
        int code = quarry_scanner_next(s, &row, err);
        if (code || !row)
            return code;
        m = row_of(row);
        code = fn(ctx, &m, err);
        if (code)
            return code;
    }
}

static int table_scan(struct metadata_store *s,
                      struct slice start,
                      struct slice end,
                      metadata_row_fn fn,
                      void *ctx,
                      struct err *err)
{
    struct metadata_table *t = table_of(s);
    struct quarry_range range = {start, end};
    struct quarry_filter *filter;
    struct quarry_read_options o = {.ranges = &range, .range_count = 1};
    struct quarry_scanner *scanner = NULL;
    int code = open_table(t, err);

    if (code)
        return code;
    filter = newest_filter();
    o.filter = filter;
    code = quarry_scan(t->table, &o, &scanner, err);
    if (code == 0)
        code = run_scan(scanner, fn, ctx, err);
    quarry_scanner_close(scanner);
    quarry_filter_free(filter);
    if (code)
        err_wrap(err, "METADATA");
    return code;
}

/* Does the newest t:location hold exactly @bytes? */
static struct quarry_filter *location_filter(struct slice bytes)
{
    struct quarry_filter *parts[] = {
        quarry_filter_qualifier_regex(SLICE_LIT("location")),
        quarry_filter_cells_per_column_limit(1),
        quarry_filter_value_range(QUARRY_CLOSED, bytes, QUARRY_CLOSED, bytes)};
    return quarry_filter_chain(parts, ARRAY_LEN(parts));
}

static void set(struct quarry_mutation *m, const char *column, struct slice v)
{
    if (v.len)
        quarry_mutation_set(m, METADATA_FAMILY, slice_str(column), QUARRY_NOW,
                            v);
}

static struct quarry_mutation *mutation_of(const struct metadata_change *c)
{
    struct quarry_mutation *m = quarry_mutation_new(c->key);
    if (c->remove) {
        quarry_mutation_delete_row(m);
        return m;
    }
    set(m, "tablet", c->tablet);
    set(m, "location", c->location);
    set(m, "state", c->state);
    set(m, "event", c->event);
    return m;
}

static int table_change(struct metadata_store *s,
                        const struct metadata_change *c,
                        bool *done,
                        struct err *err)
{
    struct metadata_table *t = table_of(s);
    bool if_absent = c->condition == METADATA_IF_ABSENT;
    struct quarry_filter *filter = NULL;
    struct quarry_mutation *m;
    bool matched = false;
    int code = open_table(t, err);

    *done = false;
    if (code)
        return code;
    if (!if_absent)
        filter = location_filter(c->if_location);
    m = mutation_of(c);
    code =
        quarry_check_and_mutate(t->table, c->key, filter, if_absent ? NULL : m,
                                if_absent ? m : NULL, NULL, &matched, err);
    quarry_mutation_free(m);
    quarry_filter_free(filter);
    if (code)
        err_wrap(err, "METADATA");
    else
        *done = matched != if_absent;
    return code;
}

static void table_free(struct metadata_store *s)
{
    struct metadata_table *t = table_of(s);
    quarry_table_close(t->table);
    mem_free(t);
}

struct metadata_store *metadata_table_new(struct quarry *q)
{
    static const struct metadata_store_ops ops = {table_scan, table_change,
                                                  table_free};
    struct metadata_table *t = mem_zalloc(1, sizeof(*t));
    t->store.ops = &ops;
    t->quarry = q;
    return &t->store;
}
