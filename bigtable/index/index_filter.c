/* Conditions on a row, as filters. A filter of a row that is not there gives
 * nothing, whatever it says: what expects a cell is made so that something
 * comes out when all is as expected, what expects none the other way round.
 */
#include "base/core/panic.h"
#include "bigtable/index/index.h"
#include "bigtable/quarry.h"
#include "bigtable/row/filter.h"
#include "bigtable/row/hidden.h"

/* Names of families that are not hidden: RE2 cannot say what not to match. */
#define VISIBLE_FAMILY                                                         \
    "[^.].*|\\.([^ti].*)?"                                                     \
    "|\\.t([^x].*)?|\\.tx([^n].*)?|\\.txn([^.].*)?"                            \
    "|\\.i([^n].*)?|\\.in([^d].*)?|\\.ind([^e].*)?|\\.inde([^x].*)?"           \
    "|\\.index.+"

static struct quarry_filter *column_filter(const struct index_expected *e)
{
    return quarry_filter_column_range(e->family, QUARRY_CLOSED, e->qualifier,
                                      QUARRY_CLOSED, e->qualifier);
}

static struct quarry_filter *exact_filter(const struct index_expected *e)
{
    struct quarry_filter *parts[4] = {
        column_filter(e), quarry_filter_cells_per_column_limit(1),
        quarry_filter_value_range(QUARRY_CLOSED, e->value, QUARRY_CLOSED,
                                  e->value)};
    PRE(e->present);
    if (e->timed)
        parts[3] = quarry_filter_timestamp_range(e->us, e->us + 1);
    return quarry_filter_chain(parts, e->timed ? 4 : 3);
}

struct quarry_filter *index_filter_if(const struct index_expected *list,
                                      size_t count,
                                      struct quarry_filter *inner)
{
    PRE(list || count == 0);
    PRE(inner);
    for (size_t i = count; i-- > 0;) {
        const struct index_expected *e = &list[i];
        inner = e->present
                    ? quarry_filter_condition(exact_filter(e), inner, NULL)
                    : quarry_filter_condition(column_filter(e),
                                              quarry_filter_block_all(), inner);
    }
    return inner;
}

struct quarry_filter *index_filter_unless(const struct index_expected *list,
                                          size_t count,
                                          struct quarry_filter *inner)
{
    for (size_t i = count; i-- > 0;) {
        PRE(!list[i].present);
        inner = quarry_filter_condition(column_filter(&list[i]),
                                        quarry_filter_pass_all(), inner);
    }
    return inner;
}

struct quarry_filter *index_filter_of_user(const struct quarry_filter *f)
{
    struct quarry_filter *parts[2];
    if (filter_names_hidden(f))
        return filter_ref(f);
    parts[0] = quarry_filter_family_regex(SLICE_LIT(VISIBLE_FAMILY));
    if (!f)
        return parts[0];
    parts[1] = filter_ref(f);
    return quarry_filter_chain(parts, 2);
}

struct quarry_filter *index_filter_not(struct quarry_filter *f)
{
    PRE(f);
    return quarry_filter_condition(f, quarry_filter_block_all(),
                                   quarry_filter_pass_all());
}
