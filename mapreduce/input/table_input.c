/* Rows of a table as input: columns, versions, times and a Sawzall filter are
 * left to the scan, so that only the cells a job wants cross the network.
 * Splits are row ranges that begin at tablets and at sampled keys. */
#include "base/core/panic.h"
#include "bigtable/client/place.h"
#include "bigtable/quarry.h"
#include "mapreduce/input/formats.h"
#include "mapreduce/input/input.h"
#include "mapreduce/input/table_parameters.h"
#include "mapreduce/input/view_input.h"

/* Row ranges per worker: enough to even out differences between rows. */
#define SPLITS_PER_WORKER 4

struct table_input {
    struct input_reader base;
    struct quarry_table *table;
    struct quarry_scanner *scanner;
    struct quarry_filter *filter;
    uint64_t rows;
};

/* --- splits -------------------------------------------------------------- */

/* The snapshot made when the job began, or the table. */
static const char *table_of(const struct input_context *ctx, unsigned input)
{
    const char *then = ctx->snapshots ? ctx->snapshots[input] : NULL;
    return then ? then : ctx->specs[input].path;
}

static void add_rows(const struct input_context *ctx,
                     struct input_splits *splits,
                     unsigned input,
                     struct slice first,
                     struct slice end)
{
    struct input_split *s =
        input_splits_add(splits, input, ctx->specs[input].path);
    if (ctx->snapshots && ctx->snapshots[input])
        s->snapshot = mem_strdup(ctx->snapshots[input]);
    buf_append_slice(&s->first_row, first);
    buf_append_slice(&s->end_row, end);
    s->bytes = 1;
}

/* Tasks run near the tablets they read, where their servers are known. */
static void input_table_place(struct quarry_table *t, struct input_split *s)
{
    struct buf server = BUF_INIT;
    char *colon;
    if (quarry_table_locate(t, buf_slice(&s->first_row), &server, NULL) == 0 &&
        server.len > 0) {
        colon = strrchr(buf_cstr(&server), ':');
        if (colon)
            *colon = '\0';
        input_split_place(s, buf_cstr(&server));
    }
    buf_close(&server);
}

static void
place_all(struct quarry_table *t, struct input_splits *splits, size_t first)
{
    for (size_t i = first; i < splits->count; i++)
        input_table_place(t, &splits->at[i]);
}

static void cut_range(const struct input_context *ctx,
                      unsigned input,
                      const struct slice *keys,
                      size_t count,
                      struct input_splits *splits)
{
    const struct mr_spec *spec = &ctx->specs[input];
    struct slice at = spec->start;
    for (size_t i = 0; i < count; i++) {
        if (slice_cmp(keys[i], at) <= 0)
            continue;
        if (spec->end.len > 0 && slice_cmp(keys[i], spec->end) >= 0)
            break;
        add_rows(ctx, splits, input, at, keys[i]);
        at = keys[i];
    }
    add_rows(ctx, splits, input, at, spec->end);
}

static int table_plan(const struct input_context *ctx,
                      unsigned input,
                      const char *path,
                      struct input_splits *splits,
                      struct err *err)
{
    struct quarry_table *t = NULL;
    struct slice *keys = NULL;
    size_t count = 0;
    size_t first = splits->count;
    int rc;
    if (ctx->specs[input].view)
        return view_input_plan(ctx, input, splits, err);
    rc = quarry_table_open(ctx->store, table_of(ctx, input), &t, err);
    if (rc == 0)
        rc = quarry_table_split_points(
            t, (size_t)ctx->worker_count * SPLITS_PER_WORKER, &keys, &count,
            err);
    if (rc == 0) {
        cut_range(ctx, input, keys, count, splits);
        place_all(t, splits, first);
    } else {
        err_wrap(err, "input table %s", path);
    }
    mem_free(keys);
    if (t)
        quarry_table_close(t);
    return rc;
}

/* --- reading ------------------------------------------------------------- */

/* A filter that passes "family:qualifier", or all of a family. */
static struct quarry_filter *column_filter(const char *column)
{
    const char *colon = strchr(column, ':');
    char *family = mem_strndup(column, (size_t)(colon - column));
    struct slice qualifier = slice_str(colon + 1);
    bool whole = qualifier.len == 0;
    struct quarry_filter *f = quarry_filter_column_range(
        family, whole ? QUARRY_UNBOUNDED : QUARRY_CLOSED, qualifier,
        whole ? QUARRY_UNBOUNDED : QUARRY_CLOSED, qualifier);
    mem_free(family);
    return f;
}

static struct quarry_filter *columns_filter(const struct mr_spec *spec)
{
    struct quarry_filter *all;
    struct quarry_filter **parts;
    if (spec->column_count == 0)
        return NULL;
    if (spec->column_count == 1)
        return column_filter(spec->columns[0]);
    parts = mem_alloc(spec->column_count * sizeof(struct quarry_filter *));
    for (size_t i = 0; i < spec->column_count; i++)
        parts[i] = column_filter(spec->columns[i]);
    all = quarry_filter_interleave(parts, spec->column_count);
    mem_free(parts);
    return all;
}

static int table_next(struct input_reader *base,
                      struct mr_record *record,
                      bool *more,
                      struct err *err)
{
    struct table_input *r = (struct table_input *)base;
    const struct quarry_row *row = NULL;
    int rc = quarry_scanner_next(r->scanner, &row, err);
    *more = rc == 0 && row;
    if (!*more)
        return rc;
    record->key = row->key;
    record->value = SLICE_EMPTY;
    record->row = row;
    record->offset = r->rows++;
    return 0;
}

static void table_close(struct input_reader *base)
{
    struct table_input *r = (struct table_input *)base;
    if (r->scanner)
        quarry_scanner_close(r->scanner);
    if (r->filter)
        quarry_filter_free(r->filter);
    if (r->table)
        quarry_table_close(r->table);
    mem_free(r);
}

static int scan_open(struct table_input *r,
                     const struct mr_spec *spec,
                     const struct input_split *split,
                     struct err *err)
{
    struct quarry_range range = {buf_slice(&split->first_row),
                                 buf_slice(&split->end_row)};
    struct quarry_read_options o = {
        .ranges = &range,
        .range_count = 1,
        .versions = spec->versions,
        .time_min_us = spec->since_us,
        .time_max_us = spec->until_us,
        .as_of_us = spec->as_of_us,
        .program = spec->program,
        .program_len = spec->program_len,
    };
    r->filter = columns_filter(spec);
    o.filter = r->filter;
    return quarry_scan(r->table, &o, &r->scanner, err);
}

static int scan_split(const struct input_context *ctx,
                      const struct input_split *split,
                      struct input_reader **out,
                      struct err *err)
{
    struct table_input *r = mem_zalloc(1, sizeof(*r));
    int rc = quarry_table_open(ctx->store,
                               split->snapshot ? split->snapshot : split->path,
                               &r->table, err);
    *out = NULL;
    r->base.next = table_next;
    r->base.close = table_close;
    if (rc == 0)
        rc = scan_open(r, &ctx->specs[split->input], split, err);
    if (rc)
        table_close(&r->base);
    else
        *out = &r->base;
    return rc;
}

/* Rows come from the store, or from the worker of an attempt without one. */
static int table_open(const struct input_context *ctx,
                      const struct input_split *split,
                      struct input_reader **out,
                      struct err *err)
{
    if (ctx->open_rows)
        return ctx->open_rows(ctx->rows_ctx, split, out, err);
    if (ctx->specs[split->input].view)
        return view_input_open(ctx, split, out, err);
    return scan_split(ctx, split, out, err);
}

const struct input_format input_format_table = {
    .kind = MR_SPEC_TABLE,
    .prefix = "table:",
    .usage = "table:NAME[?columns=F:Q,…&prefix=P&versions=N]",
    .output = "table:NAME[?bulk=yes]",
    .parameters = table_parameters,
    .plan = table_plan,
    .open = table_open,
};
