/* Choice of neighbours to merge: the first pairs in the order of METADATA that
 * fit. */
#include "bigtable/master/merge_choice.h"

#include "base/core/panic.h"

static bool can_merge(const struct merge_rules *r,
                      const struct merge_tablet *lower)
{
    const struct merge_tablet *upper = lower + 1;
    return lower->table == upper->table && lower->idle && upper->idle &&
           lower->age_us >= r->age_us_min && upper->age_us >= r->age_us_min &&
           lower->bytes <= r->bytes_max &&
           upper->bytes <= r->bytes_max - lower->bytes &&
           lower->requests_per_s <= r->requests_per_s_max &&
           upper->requests_per_s <=
               r->requests_per_s_max - lower->requests_per_s;
}

size_t merge_choose(const struct merge_rules *rules,
                    const struct merge_tablet *tablets,
                    size_t count,
                    uint32_t *out,
                    size_t max)
{
    size_t n = 0;
    for (uint32_t i = 0; i + 1 < count && n < max; i++)
        if (can_merge(rules, &tablets[i])) {
            out[n++] = i;
            i++; /* The upper one is in a pair now. */
        }
    POST(n <= max);
    return n;
}
