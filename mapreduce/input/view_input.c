/* Rows of a view as records. Its SPEC is of the kind of tables, since its rows
 * reach tasks the same way: from the store, or through the worker of an attempt
 * that has none. */
#include "mapreduce/input/view_input.h"

#include "base/core/panic.h"
#include "bigtable/quarry_view.h"
#include "mapreduce/input/formats.h"

struct view_input {
    struct input_reader base;
    struct quarry_view_scan *scan;
    uint64_t rows;
};

/* One that cannot be read is refused before the job begins. */
int view_input_plan(const struct input_context *ctx,
                    unsigned input,
                    struct input_splits *splits,
                    struct err *err)
{
    const char *name = ctx->specs[input].path;
    struct quarry_view_scan *s = NULL;
    int rc = quarry_view_scan_open(ctx->store, name, NULL, &s, err);
    quarry_view_scan_close(s);
    if (rc) {
        err_wrap(err, "input view:%s", name);
        return rc;
    }
    input_splits_add(splits, input, name)->bytes = 1;
    return 0;
}

static int view_next(struct input_reader *base,
                     struct mr_record *record,
                     bool *more,
                     struct err *err)
{
    struct view_input *r = (struct view_input *)base;
    const struct quarry_row *row = NULL;
    int rc = quarry_view_scan_next_row(r->scan, &row, err);
    *more = rc == 0 && row;
    if (!*more)
        return rc;
    record->key = row->key;
    record->value = SLICE_EMPTY;
    record->row = row;
    record->offset = r->rows++;
    return 0;
}

static void view_close(struct input_reader *base)
{
    struct view_input *r = (struct view_input *)base;
    quarry_view_scan_close(r->scan);
    mem_free(r);
}

int view_input_open(const struct input_context *ctx,
                    const struct input_split *split,
                    struct input_reader **out,
                    struct err *err)
{
    struct view_input *r = mem_zalloc(1, sizeof(*r));
    int rc =
        quarry_view_scan_open(ctx->store, split->path, NULL, &r->scan, err);
    *out = NULL;
    r->base.next = view_next;
    r->base.close = view_close;
    if (rc)
        view_close(&r->base);
    else
        *out = &r->base;
    return rc;
}

/* Planned and opened as a table (table_input.c), which looks at `view`. */
const struct input_format input_format_view = {
    .kind = MR_SPEC_TABLE,
    .prefix = "view:",
    .usage = "view:NAME",
    .is_view = true,
};
