/* Reading one row, and the options all reads share. */
#include <string.h>

#include "base/core/panic.h"
#include "base/regex/regex.h"
#include "base/runtime/world.h"
#include "bigtable/client/client.h"
#include "bigtable/row/filter.h"
#include "bigtable/row/mutation.h"
#include "bigtable/tablet/store.h"
#include "bigtable/tablet/table.h"

/* --- options ------------------------------------------------------------- */

static int take_families(struct read_spec *out,
                         const struct schema *schema,
                         const struct quarry_read_options *opts,
                         struct err *err)
{
    if (opts->family_count == 0)
        return 0;
    out->families = mem_zalloc(UINT16_MAX + 1, 1);
    for (size_t i = 0; i < opts->family_count; i++) {
        struct slice name = slice_str(opts->families[i]);
        const struct family *f = schema_family(schema, name);
        if (!f)
            return schema_no_family(schema, name, err);
        out->families[f->id] = 1;
    }
    return 0;
}

static int take_rows(struct read_spec *out,
                     const struct quarry_read_options *opts,
                     struct err *err)
{
    for (size_t i = 0; i < opts->range_count; i++)
        read_spec_add_range(out, opts->ranges[i].start, opts->ranges[i].end);
    for (size_t i = 0; i < opts->key_count; i++) {
        int rc = row_name_check(opts->keys[i], err);
        if (rc)
            return rc;
        read_spec_add_row(out, opts->keys[i]);
    }
    out->none = opts->range_count + opts->key_count > 0 && out->span_count == 0;
    read_spec_finish(out);
    return 0;
}

static int take_times(struct read_spec *out,
                      const struct quarry_read_options *opts,
                      struct err *err)
{
    int64_t max = opts->time_max_us;
    if (max != 0 && opts->time_min_us >= max)
        return err_set(err, ERR_INVALID, "the time range [%lld, %lld) is empty",
                       (long long)opts->time_min_us, (long long)max);
    if (max == 0 && opts->time_min_us != 0)
        max = INT64_MAX;
    out->time_min_us = opts->time_min_us;
    out->time_max_us = max;
    return 0;
}

static int fill_spec(struct read_spec *out,
                     const struct schema *schema,
                     const struct quarry_read_options *opts,
                     struct err *err)
{
    int rc = take_rows(out, opts, err);
    if (rc == 0)
        rc = take_families(out, schema, opts, err);
    if (rc == 0)
        rc = take_times(out, opts, err);
    if (rc == 0 && opts->filter) {
        rc = filter_check(opts->filter, err);
        out->filter = filter_ref(opts->filter);
    }
    if (rc == 0 && opts->column_regex) {
        rc = regex_new(slice_str(opts->column_regex), REGEX_BYTES,
                       &out->column_regex, err);
        if (rc)
            err_wrap(err, "column pattern");
    }
    out->versions = opts->versions;
    out->row_limit = opts->row_limit;
    out->keys_only = opts->keys_only;
    out->read_ahead = !opts->read_ahead_off;
    return rc;
}

int read_spec_build(struct read_spec *out,
                    const struct table_view *view,
                    const struct quarry_read_options *opts,
                    struct err *err)
{
    static const struct quarry_read_options defaults = {.versions = 0};
    int rc;
    *out = (struct read_spec){.spans = NULL};
    rc = fill_spec(out, view->schema, opts ? opts : &defaults, err);
    if (rc)
        read_spec_close(out);
    return rc;
}

/* --- rows ---------------------------------------------------------------- */

static size_t cell_bytes(const struct quarry_cell *c)
{
    return c->family.len + c->qualifier.len + c->value.len + c->label.len;
}

static struct slice put(char **p, struct slice s)
{
    struct slice copy = slice_make(*p, s.len);
    if (s.len)
        memcpy(*p, s.data, s.len);
    *p += s.len;
    return copy;
}

struct quarry_row *row_copy(const struct quarry_row *row)
{
    size_t cells_bytes = row->cell_count * sizeof(struct quarry_cell);
    size_t bytes = row->key.len;
    struct quarry_cell *cells;
    struct quarry_row *copy;
    char *p;
    for (size_t i = 0; i < row->cell_count; i++)
        bytes += cell_bytes(&row->cells[i]);
    copy = mem_alloc(sizeof(*copy) + cells_bytes + bytes + 1);
    cells = (struct quarry_cell *)(copy + 1);
    p = (char *)cells + cells_bytes;
    copy->key = put(&p, row->key);
    copy->cells = cells;
    copy->cell_count = row->cell_count;
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct quarry_cell *c = &row->cells[i];
        cells[i].family = put(&p, c->family);
        cells[i].qualifier = put(&p, c->qualifier);
        cells[i].timestamp_us = c->timestamp_us;
        cells[i].value = put(&p, c->value);
        cells[i].label = put(&p, c->label);
    }
    return copy;
}

void quarry_row_free(struct quarry_row *r)
{
    mem_free(r);
}

/* --- reading one row ----------------------------------------------------- */

void prepared_read_init(struct prepared_read *r,
                        struct quarry_table *t,
                        const struct quarry_read_options *opts)
{
    *r = (struct prepared_read){.table = t};
    r->view = table_get_view(t->table);
    if (!r->view) {
        table_gone(t->table, &r->err);
        return;
    }
    if (read_spec_build(&r->spec, r->view, opts, &r->err)) {
        table_view_unref(r->view);
        r->view = NULL;
    }
}

void prepared_read_close(struct prepared_read *r)
{
    read_spec_close(&r->spec);
    table_view_unref(r->view);
}

int prepared_read_row(struct prepared_read *r,
                      struct slice row,
                      struct quarry_row **out,
                      struct err *err)
{
    const struct quarry_row *found;
    struct scan *scan;
    int rc;
    *out = NULL;
    if (!r->view)
        return err_copy(err, &r->err);
    rc = row_name_check(row, err);
    if (rc)
        return rc;
    read_spec_set_row(&r->spec, row);
    rc = scan_new(r->view, &r->spec,
                  (int64_t)world_now_us(r->table->quarry->world), &scan, err);
    if (rc)
        return rc;
    rc = scan_next(scan, &found, err);
    if (rc == 0 && found)
        *out = row_copy(found);
    scan_free(scan);
    return rc;
}

int quarry_read_row(struct quarry_table *t,
                    struct slice row,
                    const struct quarry_read_options *opts,
                    struct quarry_row **out,
                    struct err *err)
{
    struct prepared_read r;
    int rc;
    prepared_read_init(&r, t, opts);
    rc = prepared_read_row(&r, row, out, err);
    prepared_read_close(&r);
    return rc;
}

int quarry_get(struct quarry_table *t,
               struct slice row,
               const char *family,
               struct slice qualifier,
               struct buf *value,
               bool *found,
               struct err *err)
{
    int64_t timestamp_us;
    buf_clear(value);
    return read_cell(t->table, row, slice_str(family), qualifier, value,
                     &timestamp_us, found, err);
}
