/* The scale of tablets' weights: the parts that count, divided by what there is
 * of each in the cluster. */
#include "bigtable/master/weight.h"

#include "base/core/panic.h"

/* The weight of each share when it counts in full. */
#define TABLETS_PART  1.0
#define BYTES_PART    1.0
#define REQUESTS_PART 2.0
#define MEMORY_PART   0.5

/* @part, reduced in proportion while @have is below @full. */
static double weight_counted(double part, double have, double full)
{
    if (have <= 0)
        return 0;
    return full <= have ? part : part * have / full;
}

/* @part of the load of all servers, for each of @total units. */
static double per_unit(double part, double parts, double servers, double total)
{
    return total > 0 ? part / parts * servers / total : 0;
}

struct weight_scale weight_scale_of(const struct weight_totals *t)
{
    double servers = t->servers ? (double)t->servers : 1;
    double bytes = weight_counted(BYTES_PART, (double)t->use.bytes,
                                  servers * WEIGHT_BYTES_FULL);
    double requests =
        weight_counted(REQUESTS_PART, (double)t->use.requests_per_s,
                       servers * WEIGHT_REQUESTS_FULL);
    double memory =
        t->memory_max == 0
            ? 0
            : weight_counted(MEMORY_PART, (double)t->use.memory_bytes,
                             (double)t->memory_max *
                                 WEIGHT_MEMORY_FULL_PERCENT / 100);
    double all = TABLETS_PART + bytes + requests + memory;

    INVARIANT(all >= TABLETS_PART);
    return (struct weight_scale){
        .tablet = per_unit(TABLETS_PART, all, servers, (double)t->tablets),
        .byte = per_unit(bytes, all, servers, (double)t->use.bytes),
        .request =
            per_unit(requests, all, servers, (double)t->use.requests_per_s),
        .memory_byte =
            per_unit(memory, all, servers, (double)t->use.memory_bytes),
    };
}
