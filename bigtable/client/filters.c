/* Filters as users build them: a constructor for each kind of filter_kinds.def.
 * They are written out, so that a search for the name in a program ends here;
 * nodes and their checks are those of row/filter.h.
 */
#include "bigtable/quarry.h"
#include "bigtable/row/filter.h"

/* --- leaves -------------------------------------------------------------- */

struct quarry_filter *quarry_filter_pass_all(void)
{
    return filter_new(FILTER_PASS_ALL);
}

struct quarry_filter *quarry_filter_block_all(void)
{
    return filter_new(FILTER_BLOCK_ALL);
}

struct quarry_filter *quarry_filter_strip_value(void)
{
    return filter_new(FILTER_STRIP_VALUE);
}

struct quarry_filter *quarry_filter_sink(void)
{
    return filter_new(FILTER_SINK);
}

struct quarry_filter *quarry_filter_row_regex(struct slice re)
{
    return filter_new_regex(FILTER_ROW_REGEX, re);
}

struct quarry_filter *quarry_filter_family_regex(struct slice re)
{
    return filter_new_regex(FILTER_FAMILY_REGEX, re);
}

struct quarry_filter *quarry_filter_qualifier_regex(struct slice re)
{
    return filter_new_regex(FILTER_QUALIFIER_REGEX, re);
}

struct quarry_filter *quarry_filter_value_regex(struct slice re)
{
    return filter_new_regex(FILTER_VALUE_REGEX, re);
}

struct quarry_filter *quarry_filter_value_bitmask(struct slice mask)
{
    return filter_new_bitmask(mask);
}

struct quarry_filter *quarry_filter_label(const char *label)
{
    return filter_new_label(slice_str(label));
}

struct quarry_filter *quarry_filter_row_sample(double probability)
{
    return filter_new_sample(probability);
}

struct quarry_filter *quarry_filter_timestamp_range(int64_t min_us,
                                                    int64_t max_us)
{
    return filter_new_times(min_us, max_us);
}

/* --- counts -------------------------------------------------------------- */

struct quarry_filter *quarry_filter_cells_per_row_offset(int32_t n)
{
    return filter_new_count(FILTER_ROW_OFFSET, n);
}

struct quarry_filter *quarry_filter_cells_per_row_limit(int32_t n)
{
    return filter_new_count(FILTER_ROW_LIMIT, n);
}

struct quarry_filter *quarry_filter_cells_per_column_limit(int32_t n)
{
    return filter_new_count(FILTER_COLUMN_LIMIT, n);
}

/* --- ranges -------------------------------------------------------------- */

static enum filter_bound bound_of(enum quarry_bound b)
{
    switch (b) {
    case QUARRY_UNBOUNDED: return FILTER_UNBOUNDED;
    case QUARRY_CLOSED: return FILTER_CLOSED;
    case QUARRY_OPEN: return FILTER_OPEN;
    }
    return FILTER_UNBOUNDED;
}

struct quarry_filter *quarry_filter_column_range(const char *family,
                                                 enum quarry_bound start_kind,
                                                 struct slice start,
                                                 enum quarry_bound end_kind,
                                                 struct slice end)
{
    return filter_new_range(FILTER_COLUMN_RANGE, slice_str(family),
                            bound_of(start_kind), start, bound_of(end_kind),
                            end);
}

struct quarry_filter *quarry_filter_value_range(enum quarry_bound start_kind,
                                                struct slice start,
                                                enum quarry_bound end_kind,
                                                struct slice end)
{
    return filter_new_range(FILTER_VALUE_RANGE, SLICE_EMPTY,
                            bound_of(start_kind), start, bound_of(end_kind),
                            end);
}

/* --- of other filters ---------------------------------------------------- */

struct quarry_filter *quarry_filter_chain(struct quarry_filter **parts,
                                          size_t count)
{
    return filter_new_parts(FILTER_CHAIN, parts, count);
}

struct quarry_filter *quarry_filter_interleave(struct quarry_filter **parts,
                                               size_t count)
{
    return filter_new_parts(FILTER_INTERLEAVE, parts, count);
}

struct quarry_filter *quarry_filter_condition(struct quarry_filter *predicate,
                                              struct quarry_filter *if_true,
                                              struct quarry_filter *if_false)
{
    struct quarry_filter *parts[3] = {predicate, if_true, if_false};
    return filter_new_parts(FILTER_CONDITION, parts, 3);
}

void quarry_filter_free(struct quarry_filter *f)
{
    filter_unref(f);
}
