/* Which neighbours are small enough to become one tablet: a pure decision.
 *
 * A tablet costs its server and METADATA something even if it is empty. Both
 * must be small together, far below the size of a split, do little, and have
 * some age: tablets that were cut in advance for a load are left alone. */
#ifndef BIGTABLE_MASTER_MERGE_CHOICE_H
#define BIGTABLE_MASTER_MERGE_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct merge_rules {
    uint64_t bytes_max;          /* Of both together. */
    uint64_t requests_per_s_max; /* Of both together. */
    uint64_t age_us_min;         /* Of each. */
};

/* In the order of METADATA's rows. */
struct merge_tablet {
    uint64_t table;
    uint64_t bytes;
    uint64_t requests_per_s;
    uint64_t age_us;
    bool idle; /* Served, neither moving nor splitting, a user's. */
};

/* Put the indices of at most @max tablets that should be merged with the next
 * one into @out; no tablet is in two pairs. Returns their number. */
size_t merge_choose(const struct merge_rules *rules,
                    const struct merge_tablet *tablets,
                    size_t count,
                    uint32_t *out,
                    size_t max);

#endif /* BIGTABLE_MASTER_MERGE_CHOICE_H */
