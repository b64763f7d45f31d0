/* Rows of METADATA through the client library.
 *
 * The version of a row is the time of its newest t:state, which is one higher
 * with each change of it: a change that is delayed until after a later one
 * finds its condition broken. */
#include <string.h>

#include "base/core/panic.h"
#include "bigtable/quarry.h"
#include "bigtable/tablet_server/tablet_rows.h"
#include "bigtable/wire/metadata.h"

struct metadata_rows {
    struct tablet_rows base;
    struct quarry_table *table; /* Owned. */
};

static struct quarry_table *table_of(struct tablet_rows *r)
{
    return ((struct metadata_rows *)r)->table;
}

void tablet_row_close(struct tablet_row *r)
{
    buf_close(&r->bounds);
    buf_close(&r->location);
    buf_close(&r->state);
    buf_close(&r->split);
}

static void take_cell(struct tablet_row *out, const struct quarry_cell *c)
{
    if (slice_eq_str(c->qualifier, "tablet"))
        buf_append_slice(&out->bounds, c->value);
    else if (slice_eq_str(c->qualifier, "location"))
        buf_append_slice(&out->location, c->value);
    else if (slice_eq_str(c->qualifier, "split"))
        buf_append_slice(&out->split, c->value);
    if (!slice_eq_str(c->qualifier, "state"))
        return;
    buf_append_slice(&out->state, c->value);
    out->version = (uint64_t)c->timestamp_us;
}

static int read_row(struct tablet_rows *r,
                    struct slice key,
                    struct tablet_row *out,
                    struct err *err)
{
    const struct quarry_read_options opts = {.versions = 1};
    struct quarry_row *row;
    int rc = quarry_read_row(table_of(r), key, &opts, &row, err);

    PRE(key.len > 0);
    PRE(out->bounds.len == 0);
    if (rc)
        return rc;
    if (!row)
        return err_set(err, ERR_NOTFOUND, "METADATA has no such tablet");
    for (size_t i = 0; i < row->cell_count; i++)
        take_cell(out, &row->cells[i]);
    quarry_row_free(row);
    return 0;
}

/* --- conditions ---------------------------------------------------------- */

static struct quarry_filter *metadata_rows_chain2(struct quarry_filter *a,
                                                  struct quarry_filter *b)
{
    struct quarry_filter *parts[2] = {a, b};
    return quarry_filter_chain(parts, 2);
}

static struct quarry_filter *metadata_rows_column(const char *qualifier)
{
    struct slice q = slice_str(qualifier);
    return quarry_filter_column_range(METADATA_FAMILY, QUARRY_CLOSED, q,
                                      QUARRY_CLOSED, q);
}

static struct quarry_filter *metadata_rows_newest(const char *qualifier)
{
    return metadata_rows_chain2(metadata_rows_column(qualifier),
                                quarry_filter_cells_per_column_limit(1));
}

/* Leaves a cell if t:location's newest value is @location, and t:state's newest
 * time is @version. */
static struct quarry_filter *metadata_rows_condition(struct slice location,
                                                     uint64_t version)
{
    struct quarry_filter *holds = metadata_rows_chain2(
        metadata_rows_newest("location"),
        quarry_filter_value_range(QUARRY_CLOSED, location, QUARRY_CLOSED,
                                  location));

    PRE(location.len > 0);
    if (version == 0)
        return holds;
    return quarry_filter_condition(
        holds,
        metadata_rows_chain2(metadata_rows_newest("state"),
                             quarry_filter_timestamp_range(
                                 (int64_t)version, (int64_t)version + 1)),
        quarry_filter_block_all());
}

/* --- changes ------------------------------------------------------------- */

static void metadata_rows_forget(struct quarry_mutation *m,
                                 const char *qualifier)
{
    quarry_mutation_delete_cells(m, METADATA_FAMILY, slice_str(qualifier), 0,
                                 0);
}

/* Deletes the old value, whatever its stamp: the later write counts. */
static void metadata_rows_replace(struct quarry_mutation *m,
                                  const char *qualifier,
                                  struct slice value)
{
    if (value.len == 0)
        return;
    metadata_rows_forget(m, qualifier);
    quarry_mutation_set(m, METADATA_FAMILY, slice_str(qualifier),
                        METADATA_STAMP_US, value);
}

static struct quarry_mutation *mutation_of(const struct tablet_row_change *c)
{
    struct quarry_mutation *m = quarry_mutation_new(c->key);
    PRE(c->key.len > 0); /* The root tablet has no row. */
    metadata_rows_replace(m, "tablet", c->bounds);
    metadata_rows_replace(m, "location", c->location);
    metadata_rows_replace(m, "split", c->split);
    if (c->state.len)
        quarry_mutation_set(m, METADATA_FAMILY, SLICE_LIT("state"),
                            (int64_t)c->if_version + 1, c->state);
    if (c->drop_split)
        metadata_rows_forget(m, "split");
    if (c->event)
        quarry_mutation_set(m, METADATA_FAMILY, SLICE_LIT("event"), QUARRY_NOW,
                            slice_str(c->event));
    return m;
}

static int change_row(struct tablet_rows *r,
                      const struct tablet_row_change *c,
                      bool *done,
                      uint64_t *version,
                      struct err *err)
{
    struct quarry_filter *f =
        metadata_rows_condition(c->if_location, c->if_version);
    struct quarry_mutation *m = mutation_of(c);
    int rc = quarry_check_and_mutate(table_of(r), c->key, f, m, NULL, NULL,
                                     done, err);

    PRE(c->if_location.len > 0); /* Every change is conditional. */
    *version = c->if_version + (c->state.len > 0);
    quarry_mutation_free(m);
    quarry_filter_free(f);
    return rc;
}

static int create_row(struct tablet_rows *r,
                      const struct tablet_row_change *c,
                      bool *done,
                      struct err *err)
{
    struct quarry_filter *f = metadata_rows_newest("tablet");
    struct quarry_mutation *m = mutation_of(c);
    bool there = false;
    int rc = quarry_check_and_mutate(table_of(r), c->key, f, NULL, m, NULL,
                                     &there, err);

    PRE(c->bounds.len > 0);
    PRE(c->if_location.len == 0);
    *done = rc == 0 && !there;
    quarry_mutation_free(m);
    quarry_filter_free(f);
    return rc;
}

static void free_rows(struct tablet_rows *r)
{
    quarry_table_close(table_of(r));
    mem_free(r);
}

int metadata_rows_open(struct quarry *q,
                       struct tablet_rows **out,
                       struct err *err)
{
    static const struct tablet_rows_ops ops = {read_row, change_row, create_row,
                                               free_rows};
    struct metadata_rows *r;
    struct quarry_table *t;
    int rc = quarry_table_open(q, METADATA_TABLE, &t, err);

    PRE(q);
    *out = NULL;
    if (rc)
        return rc;
    r = mem_zalloc(1, sizeof(*r));
    r->base.ops = &ops;
    r->table = t;
    POST(r->table);
    *out = &r->base;
    return 0;
}
