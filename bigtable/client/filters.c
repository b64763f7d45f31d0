/* Filters as users build them: quarry_filter_NAME() of quarry.h for each kind
 * of filter_kinds.def, made of the form of its argument. Node and check are
 * those of row/filter.h.
 */
#include "bigtable/quarry.h"
#include "bigtable/row/filter.h"

static enum filter_bound bound_of(enum quarry_bound b)
{
    switch (b) {
    case QUARRY_UNBOUNDED: return FILTER_UNBOUNDED;
    case QUARRY_CLOSED: return FILTER_CLOSED;
    case QUARRY_OPEN: return FILTER_OPEN;
    }
    return FILTER_UNBOUNDED;
}

/* A constructor for each form of argument: MAKE_argument(KIND, name). */

#define MAKE_flag(KIND, name)                                                  \
    struct quarry_filter *quarry_filter_##name(void)                           \
    {                                                                          \
        return filter_new(FILTER_##KIND);                                      \
    }

#define MAKE_regex(KIND, name)                                                 \
    struct quarry_filter *quarry_filter_##name(struct slice re)                \
    {                                                                          \
        return filter_new_regex(FILTER_##KIND, re);                            \
    }

#define MAKE_mask(KIND, name)                                                  \
    struct quarry_filter *quarry_filter_##name(struct slice mask)              \
    {                                                                          \
        return filter_new_bitmask(mask);                                       \
    }

#define MAKE_label(KIND, name)                                                 \
    struct quarry_filter *quarry_filter_##name(const char *label)              \
    {                                                                          \
        return filter_new_label(slice_str(label));                             \
    }

#define MAKE_count(KIND, name)                                                 \
    struct quarry_filter *quarry_filter_##name(int32_t n)                      \
    {                                                                          \
        return filter_new_count(FILTER_##KIND, n);                             \
    }

#define MAKE_fraction(KIND, name)                                              \
    struct quarry_filter *quarry_filter_##name(double probability)             \
    {                                                                          \
        return filter_new_sample(probability);                                 \
    }

#define MAKE_times(KIND, name)                                                 \
    struct quarry_filter *quarry_filter_##name(int64_t min_us, int64_t max_us) \
    {                                                                          \
        return filter_new_times(min_us, max_us);                               \
    }

#define MAKE_column_range(KIND, name)                                          \
    struct quarry_filter *quarry_filter_##name(                                \
        const char *family, enum quarry_bound start_kind, struct slice start,  \
        enum quarry_bound end_kind, struct slice end)                          \
    {                                                                          \
        return filter_new_range(FILTER_##KIND, slice_str(family),              \
                                bound_of(start_kind), start,                   \
                                bound_of(end_kind), end);                      \
    }

#define MAKE_value_range(KIND, name)                                           \
    struct quarry_filter *quarry_filter_##name(                                \
        enum quarry_bound start_kind, struct slice start,                      \
        enum quarry_bound end_kind, struct slice end)                          \
    {                                                                          \
        return filter_new_range(FILTER_##KIND, SLICE_EMPTY,                    \
                                bound_of(start_kind), start,                   \
                                bound_of(end_kind), end);                      \
    }

#define MAKE_parts(KIND, name)                                                 \
    struct quarry_filter *quarry_filter_##name(struct quarry_filter **parts,   \
                                               size_t count)                   \
    {                                                                          \
        return filter_new_parts(FILTER_##KIND, parts, count);                  \
    }

#define MAKE_condition(KIND, name)                                             \
    struct quarry_filter *quarry_filter_##name(                                \
        struct quarry_filter *predicate, struct quarry_filter *if_true,        \
        struct quarry_filter *if_false)                                        \
    {                                                                          \
        struct quarry_filter *parts[3] = {predicate, if_true, if_false};       \
        return filter_new_parts(FILTER_##KIND, parts, 3);                      \
    }

#define FILTER(KIND, number, api_name, name, argument, cell, row, EFFECT)      \
    MAKE_##argument(KIND, name)
#include "bigtable/row/filter_kinds.def"
#undef FILTER

void quarry_filter_free(struct quarry_filter *f)
{
    filter_unref(f);
}
