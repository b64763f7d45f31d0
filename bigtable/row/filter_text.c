/* A node of a filter as people read it: its name, and its argument by the form
 * that filter_kinds.def gives for its kind.
 */
#include "base/core/text.h"
#include "bigtable/row/filter.h"

/* A pattern or a bound may be as long as a row. */
#define ARGUMENT_BYTES_MAX ((size_t)128)

static void put_quoted(struct buf *out, struct slice s)
{
    buf_append_byte(out, '"');
    text_put_escaped(out, slice_sub(s, 0, ARGUMENT_BYTES_MAX), '"');
    buf_append_str(out, s.len > ARGUMENT_BYTES_MAX ? "…\"" : "\"");
}

static void describe_flag(const struct quarry_filter *f, struct buf *out)
{
    (void)f;
    (void)out;
}

static void describe_parts(const struct quarry_filter *f, struct buf *out)
{
    buf_printf(out, " of %zu", f->part_count);
}

static void describe_condition(const struct quarry_filter *f, struct buf *out)
{
    (void)f;
    (void)out;
}

static void describe_text(const struct quarry_filter *f, struct buf *out)
{
    buf_append_byte(out, ' ');
    put_quoted(out, buf_slice(&f->text));
}

static void describe_count(const struct quarry_filter *f, struct buf *out)
{
    buf_printf(out, " %lld", (long long)f->count);
}

static void describe_fraction(const struct quarry_filter *f, struct buf *out)
{
    buf_printf(out, " %g", f->probability);
}

static void describe_times(const struct quarry_filter *f, struct buf *out)
{
    buf_printf(out, " [%lld, ", (long long)f->min_us);
    if (f->max_us)
        buf_printf(out, "%lld)", (long long)f->max_us);
    else
        buf_append_str(out, "…)");
}

static void describe_range(const struct quarry_filter *f, struct buf *out)
{
    buf_append_str(out, f->start.kind == FILTER_CLOSED ? " [" : " (");
    if (f->start.kind != FILTER_UNBOUNDED)
        put_quoted(out, buf_slice(&f->start.bytes));
    buf_append_str(out, ", ");
    if (f->end.kind != FILTER_UNBOUNDED)
        put_quoted(out, buf_slice(&f->end.bytes));
    buf_append_byte(out, f->end.kind == FILTER_CLOSED ? ']' : ')');
}

static void describe_family_range(const struct quarry_filter *f,
                                  struct buf *out)
{
    describe_text(f, out);
    describe_range(f, out);
}

#define describe_regex        describe_text
#define describe_mask         describe_text
#define describe_label        describe_text
#define describe_column_range describe_family_range
#define describe_value_range  describe_range

void filter_describe(const struct quarry_filter *f, struct buf *out)
{
    switch (f->kind) {
#define FILTER(KIND, number, api_name, name, argument, cell, row, EFFECT)      \
    case FILTER_##KIND:                                                        \
        buf_append_str(out, #name);                                            \
        describe_##argument(f, out);                                           \
        break;
#include "bigtable/row/filter_kinds.def"
#undef FILTER
    }
}
