/* METADATA through the client library.
 *
 * No clock orders its records. Each write of a column removes what the column
 * had, in the same mutation, and the later write of a row's tablet is the one
 * with the higher sequence number. Clusters of older versions have rows whose
 * columns have several cells, stamped by the clocks of masters, so that the
 * newest stamp may be on the wrong one; epochs of locations and ids of tablets
 * tell which was written last. Such rows are repaired when they are read. */
#include "base/core/fault.h"
#include "base/core/panic.h"
#include "base/runtime/log.h"
#include "base/runtime/world.h"
#include "bigtable/master/metadata_store.h"
#include "bigtable/quarry.h"
#include "bigtable/wire/metadata.h"

struct metadata_table {
    struct metadata_store store; /* First. */
    struct world *world;         /* Borrowed. */
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
    int rc;
    if (t->table)
        return 0;
    rc = quarry_table_open(t->quarry, METADATA_TABLE, &table, err);
    if (rc)
        return rc;
    /* Another fiber may have opened it meanwhile. */
    if (t->table)
        quarry_table_close(table);
    else
        t->table = table;
    return 0;
}

/* A row as it was read. */
struct row_read {
    struct metadata_row row;
    struct slice first_location; /* The cells with the newest stamp, which */
    struct slice first_tablet;   /* may be wrong. */
};

/* Of two cells of t:location: was @b written after @a? */
static bool is_later_location(struct slice a, struct slice b)
{
    struct tablet_location old;
    struct tablet_location new;
    return tablet_location_get(a, &old, NULL) == 0 &&
           tablet_location_get(b, &new, NULL) == 0 && new.epoch > old.epoch;
}

/* Several cells of t:tablet were all written by masters, whose ids grow. */
static bool is_later_tablet(struct slice a, struct slice b)
{
    struct tablet_bounds old;
    struct tablet_bounds new;
    return tablet_bounds_get(a, &old, NULL) == 0 &&
           tablet_bounds_get(b, &new, NULL) == 0 && new.id > old.id;
}

/* Cells of a column come with the newest stamp first. */
static void take_ordered(struct slice *first,
                         struct slice *last_written,
                         bool (*is_later)(struct slice a, struct slice b),
                         struct slice value)
{
    if (first->len == 0)
        *first = *last_written = value;
    else if (is_later(*last_written, value))
        *last_written = value;
}

static void take_cell(struct row_read *r, const struct quarry_cell *c)
{
    if (slice_eq_str(c->qualifier, "location"))
        take_ordered(&r->first_location, &r->row.location, is_later_location,
                     c->value);
    else if (slice_eq_str(c->qualifier, "tablet"))
        take_ordered(&r->first_tablet, &r->row.tablet, is_later_tablet,
                     c->value);
    else if (slice_eq_str(c->qualifier, "state"))
        r->row.state = c->value;
    else if (slice_eq_str(c->qualifier, "split"))
        r->row.split = c->value;
}

static struct row_read row_of(const struct quarry_row *from)
{
    struct row_read r = {
        .row = {from->key, SLICE_EMPTY, SLICE_EMPTY, SLICE_EMPTY, SLICE_EMPTY},
        .first_location = SLICE_EMPTY,
        .first_tablet = SLICE_EMPTY};
    for (size_t i = 0; i < from->cell_count; i++)
        take_cell(&r, &from->cells[i]);
    return r;
}

static struct quarry_filter *metadata_columns_filter(const char *regex)
{
    return quarry_filter_qualifier_regex(slice_str(regex));
}

/* All columns of a tablet but its history. */
static struct quarry_filter *record_filter(void)
{
    struct quarry_filter *newest[] = {metadata_columns_filter("state|split"),
                                      quarry_filter_cells_per_column_limit(1)};
    struct quarry_filter *parts[] = {
        metadata_columns_filter("tablet|location"),
        quarry_filter_chain(newest, ARRAY_LEN(newest))};
    return quarry_filter_interleave(parts, ARRAY_LEN(parts));
}

/* Does the newest t:location hold exactly @bytes? */
static struct quarry_filter *location_filter(struct slice bytes)
{
    struct quarry_filter *parts[] = {
        metadata_columns_filter("location"),
        quarry_filter_cells_per_column_limit(1),
        quarry_filter_value_range(QUARRY_CLOSED, bytes, QUARRY_CLOSED, bytes)};
    return quarry_filter_chain(parts, ARRAY_LEN(parts));
}

/* Replace all cells of the column by @v. */
static void replace_column(const struct metadata_table *t,
                           struct quarry_mutation *m,
                           const char *column,
                           struct slice v)
{
    bool bug = fault_hit("master.order_by_clock");
    int64_t stamp_us =
        bug ? (int64_t)world_now_us(t->world) : METADATA_STAMP_US;
    if (v.len == 0)
        return;
    if (!bug)
        quarry_mutation_delete_cells(m, METADATA_FAMILY, slice_str(column), 0,
                                     0);
    quarry_mutation_set(m, METADATA_FAMILY, slice_str(column), stamp_us, v);
}

/* The newest stamps of the row are wrong: replace its cells by those that were
 * written last. */
static int
repair_row(struct metadata_table *t, const struct row_read *r, struct err *err)
{
    struct quarry_filter *filter = location_filter(r->first_location);
    struct quarry_mutation *m = quarry_mutation_new(r->row.key);
    bool matched = false;
    int rc;

    PRE(t->table);
    replace_column(t, m, "location", r->row.location);
    replace_column(t, m, "tablet", r->row.tablet);
    rc = quarry_check_and_mutate(t->table, r->row.key, filter, m, NULL, NULL,
                                 &matched, err);
    quarry_mutation_free(m);
    quarry_filter_free(filter);
    if (rc == 0 && !matched)
        rc = err_set(err, ERR_UNAVAILABLE, "a row changed while it was read");
    if (rc == 0)
        log_warn(t->world, "master",
                 "a row of METADATA had cells stamped in the future: repaired");
    return rc;
}

static int take_row(struct metadata_table *t,
                    const struct quarry_row *row,
                    metadata_row_fn fn,
                    void *ctx,
                    struct err *err)
{
    struct row_read r = row_of(row);
    bool in_order = slice_eq(r.first_location, r.row.location) &&
                    slice_eq(r.first_tablet, r.row.tablet);
    int rc = 0;

    PRE(t->table);
    if (!in_order && !fault_hit("master.order_by_clock"))
        rc = repair_row(t, &r, err);
    else if (!in_order) {
        r.row.location = r.first_location;
        r.row.tablet = r.first_tablet;
    }
    return rc ? rc : fn(ctx, &r.row, err);
}

static int run_scan(struct metadata_table *t,
                    struct quarry_scanner *s,
                    metadata_row_fn fn,
                    void *ctx,
                    struct err *err)
{
    const struct quarry_row *row;

    PRE(t->table);
    PRE(fn);
    for (;;) {
        int rc = quarry_scanner_next(s, &row, err);
        if (rc == 0 && row)
            rc = take_row(t, row, fn, ctx, err);
        if (rc || !row)
            return rc;
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
    int rc = open_table(t, err);

    PRE(fn);
    if (rc)
        return rc;
    filter = record_filter();
    o.filter = filter;
    rc = quarry_scan(t->table, &o, &scanner, err);
    if (rc == 0)
        rc = run_scan(t, scanner, fn, ctx, err);
    quarry_scanner_close(scanner);
    quarry_filter_free(filter);
    if (rc)
        err_wrap(err, "METADATA");
    return rc;
}

static struct quarry_mutation *mutation_of(const struct metadata_table *t,
                                           const struct metadata_change *c)
{
    struct quarry_mutation *m = quarry_mutation_new(c->key);

    PRE(c->key.len > 0);
    if (c->remove) {
        quarry_mutation_delete_row(m);
        return m;
    }
    replace_column(t, m, "tablet", c->tablet);
    replace_column(t, m, "location", c->location);
    replace_column(t, m, "state", c->state);
    /* Its versions are the history; the tablet stamps them. */
    if (c->event.len)
        quarry_mutation_set(m, METADATA_FAMILY, SLICE_LIT("event"), QUARRY_NOW,
                            c->event);
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
    int rc = open_table(t, err);

    PRE(if_absent || c->if_location.len > 0);
    *done = false;
    if (rc)
        return rc;
    if (!if_absent)
        filter = location_filter(c->if_location);
    m = mutation_of(t, c);
    rc = quarry_check_and_mutate(t->table, c->key, filter, if_absent ? NULL : m,
                                 if_absent ? m : NULL, NULL, &matched, err);
    quarry_mutation_free(m);
    quarry_filter_free(filter);
    if (rc)
        err_wrap(err, "METADATA");
    else
        *done = matched != if_absent;
    return rc;
}

static void table_free(struct metadata_store *s)
{
    struct metadata_table *t = table_of(s);
    quarry_table_close(t->table);
    mem_free(t);
}

struct metadata_store *metadata_table_new(struct world *world, struct quarry *q)
{
    static const struct metadata_store_ops ops = {table_scan, table_change,
                                                  table_free};
    struct metadata_table *t = mem_zalloc(1, sizeof(*t));
    PRE(q);
    t->store.ops = &ops;
    t->world = world;
    t->quarry = q;
    return &t->store;
}
