/* From the options of a read to a read_spec: families become ids, rows become
 * encoded keys, so that the scan itself compares only bytes and numbers.
 * Mistakes of the user are found here, before anything is read.
 */
#include "bigtable/read/read_options.h"

#include "base/core/panic.h"
#include "base/regex/regex.h"
#include "bigtable/row/filter.h"
#include "bigtable/row/mutation.h"
#include "bigtable/row/row_request.h"
#include "bigtable/tablet/table_part.h"

/* Without a choice, a read has all families but those of transactions, unless
 * its filter names one of them. */
static void leave_out_hidden(struct read_spec *out, const struct schema *schema)
{
    size_t count = schema->family_count;
    PRE(count > 0 && !out->families);
    out->families = mem_zalloc(schema->families[count - 1].id + 1U, 1);
    for (size_t i = 0; i < count; i++)
        out->families[schema->families[i].id] = !schema->families[i].hidden;
}

static int take_families(struct read_spec *out,
                         const struct schema *schema,
                         const struct quarry_read_options *opts,
                         struct err *err)
{
    size_t count = schema->family_count;
    PRE(!out->families);
    if (opts->family_count == 0) {
        if (schema->hidden_count && !filter_names_hidden(opts->filter))
            leave_out_hidden(out, schema);
        return 0;
    }
    /* Entries of families that the schema has not are never asked about. */
    out->families =
        mem_zalloc(count ? schema->families[count - 1].id + 1U : 1U, 1);
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
    PRE(!out->spans && out->span_count == 0);
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

/* Of a table without changes: the cells that are not newer, of those there are.
 */
static int take_as_of(struct read_spec *out,
                      const struct schema *schema,
                      const struct quarry_read_options *opts,
                      struct err *err)
{
    int64_t max = out->time_max_us;
    if (opts->as_of_us == 0)
        return 0;
    if (opts->as_of_us < 0 || opts->as_of_us == INT64_MAX)
        return err_set(err, ERR_INVALID, "as of %lld: no such time",
                       (long long)opts->as_of_us);
    if (schema->changes_us) {
        out->as_of_us = opts->as_of_us;
        return 0;
    }
    if (out->time_min_us == max) { /* No bounds yet. */
        out->time_min_us = INT64_MIN;
        max = INT64_MAX;
    }
    out->time_max_us = MIN_OF(max, opts->as_of_us + 1);
    out->none |= out->time_min_us >= out->time_max_us;
    return 0;
}

static int fill_spec(struct read_spec *out,
                     const struct schema *schema,
                     const struct quarry_read_options *opts,
                     struct err *err)
{
    PRE(!out->filter && !out->column_regex);
    int rc = take_rows(out, opts, err);
    if (rc == 0)
        rc = take_families(out, schema, opts, err);
    if (rc == 0)
        rc = take_times(out, opts, err);
    if (rc == 0)
        rc = take_as_of(out, schema, opts, err);
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
    out->progress_rows = opts->program ? 0 : opts->progress_rows;
    return rc;
}

int read_spec_of_schema(struct read_spec *out,
                        const struct schema *schema,
                        const struct quarry_read_options *opts,
                        struct err *err)
{
    static const struct quarry_read_options defaults = {.versions = 0};
    int rc;
    *out = (struct read_spec){.spans = NULL};
    rc = fill_spec(out, schema, opts ? opts : &defaults, err);
    if (rc)
        read_spec_close(out);
    return rc;
}

int read_spec_build(struct read_spec *out,
                    const struct table_part_view *view,
                    const struct quarry_read_options *opts,
                    struct err *err)
{
    return read_spec_of_schema(out, view->schema, opts, err);
}
