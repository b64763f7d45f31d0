/* Which families, and which columns of them, a filter can let through. Reads
 * leave the locality groups of the others unopened and jump over the columns,
 * so a wrong "no" loses cells; where the answer is not plain it is yes.
 */
#include "base/regex/regex.h"
#include "bigtable/row/filter.h"
#include "bigtable/row/hidden.h"

/* Does it say no more of a cell than whether it is let through, by itself? */
static bool is_plain(const struct quarry_filter *f)
{
    enum filter_effect effect = filter_effect(f->kind);
    bool plain = true;
    if (effect != FILTER_EFFECT_PARTS)
        return effect == FILTER_EFFECT_PLAIN;
    for (size_t i = 0; i < f->part_count && plain; i++)
        plain = is_plain(f->parts[i]);
    return plain;
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

bool filter_reads_columns(const struct quarry_filter *f,
                          const struct quarry_filter **ranges,
                          size_t max,
                          size_t *count)
{
    size_t before = *count;
    bool known = f->kind == FILTER_INTERLEAVE && f->part_count > 0;
    if (f->kind == FILTER_COLUMN_RANGE) {
        known = *count < max;
        if (known)
            ranges[(*count)++] = f;
        return known;
    }
    if (f->kind == FILTER_CHAIN) {
        for (size_t i = 0; i < f->part_count && !known; i++) {
            *count = before;
            known = filter_reads_columns(f->parts[i], ranges, max, count);
            /* Links before it must not have counted what is left out. */
            if (!known && !is_plain(f->parts[i]))
                return false;
        }
        return known;
    }
    for (size_t i = 0; i < f->part_count && known; i++)
        known = filter_reads_columns(f->parts[i], ranges, max, count);
    return known;
}

bool filter_names_hidden(const struct quarry_filter *f)
{
    if (!f)
        return false;
    if (f->kind == FILTER_COLUMN_RANGE)
        return hidden_is_name(buf_slice(&f->text));
    for (size_t i = 0; i < f->part_count; i++)
        if (filter_names_hidden(f->parts[i]))
            return true;
    return false;
}
