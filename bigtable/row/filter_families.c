/* Which families a filter can let through. Reads leave the locality groups of
 * the others unopened, so a wrong "no" loses cells; where the answer is not
 * plain it is yes.
 */
#include "base/regex/regex.h"
#include "bigtable/row/filter.h"

/* Does it say no more of a cell than whether it is let through, by itself? */
static bool is_plain(const struct quarry_filter *f)
{
    switch (f->kind) {
    case FILTER_CONDITION:
    case FILTER_SINK:
    case FILTER_ROW_OFFSET:
    case FILTER_ROW_LIMIT: return false;
    case FILTER_CHAIN:
    case FILTER_INTERLEAVE:
        for (size_t i = 0; i < f->part_count; i++)
            if (!is_plain(f->parts[i]))
                return false;
        return true;
    case FILTER_ROW_REGEX:
    case FILTER_FAMILY_REGEX:
    case FILTER_QUALIFIER_REGEX:
    case FILTER_COLUMN_RANGE:
    case FILTER_TIMESTAMP_RANGE:
    case FILTER_VALUE_REGEX:
    case FILTER_COLUMN_LIMIT:
    case FILTER_STRIP_VALUE:
    case FILTER_ROW_SAMPLE:
    case FILTER_VALUE_RANGE:
    case FILTER_PASS_ALL:
    case FILTER_BLOCK_ALL:
    case FILTER_LABEL:
    case FILTER_VALUE_BITMASK: return true;
    }
    return false;
}

/* A link that rejects the family makes the links before it irrelevant, if they
 * are plain. */
static bool chain_reads(const struct quarry_filter *f, struct slice family)
{
    for (size_t i = 0; i < f->part_count; i++) {
        if (!filter_reads_family(f->parts[i], family))
            return false;
        if (!is_plain(f->parts[i]))
            return true;
    }
    return true;
}

static bool any_reads(const struct quarry_filter *f, struct slice family)
{
    for (size_t i = 0; i < f->part_count; i++)
        if (filter_reads_family(f->parts[i], family))
            return true;
    return false;
}

bool filter_reads_family(const struct quarry_filter *f, struct slice family)
{
    if (!f)
        return true;
    if (f->kind == FILTER_CHAIN)
        return chain_reads(f, family);
    if (f->kind == FILTER_INTERLEAVE)
        return any_reads(f, family);
    if (f->kind == FILTER_FAMILY_REGEX)
        return !f->regex || regex_full_match(f->regex, family);
    if (f->kind == FILTER_COLUMN_RANGE)
        return slice_eq(buf_slice(&f->text), family);
    return f->kind != FILTER_BLOCK_ALL;
}
