/* The median of slopes. Of many points some are taken, evenly: the work grows
 * with the square of their number.
 */
#include "cli/monitor/trend.h"

#include <stdlib.h>

#include "base/core/macros.h"
#include "base/core/panic.h"
#include "cli/monitor/finding_facts.h"

#define POINTS_TAKEN 64
#define AGREE_SHARE  0.75

static int compare_slopes(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Slopes between all pairs of @p. Returns how many there are. */
static size_t
pair_slopes(const struct fact_point *p, size_t count, double *slopes)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++)
            if (p[j].at_us > p[i].at_us)
                slopes[n++] = (p[j].value - p[i].value) /
                              ((double)(p[j].at_us - p[i].at_us) / 1e6);
    return n;
}

/* Do enough of them have the direction of the one in the middle? */
static bool slopes_agree(const double *slopes, size_t count, double middle)
{
    size_t same = 0;
    for (size_t i = 0; i < count; i++)
        same += middle < 0 ? slopes[i] < 0 : slopes[i] >= 0;
    return (double)same >= AGREE_SHARE * (double)count;
}

bool trend_slope(const struct fact_point *points, size_t count, double *per_s)
{
    struct fact_point taken[POINTS_TAKEN];
    size_t n = MIN_OF(count, (size_t)POINTS_TAKEN);
    double *slopes;
    size_t pairs;
    bool found;
    if (count < TREND_POINTS_MIN || points[count - 1].at_us - points[0].at_us <
                                        UINT64_C(1000000) * TREND_SECONDS_MIN)
        return false;
    for (size_t i = 0; i < n; i++)
        taken[i] = points[i * (count - 1) / (n - 1)];
    slopes = mem_alloc(n * n * sizeof(*slopes));
    pairs = pair_slopes(taken, n, slopes);
    INVARIANT(pairs <= n * (n - 1) / 2);
    found = pairs > 0;
    if (found) {
        qsort(slopes, pairs, sizeof(*slopes), compare_slopes);
        *per_s = slopes[pairs / 2];
        found = slopes_agree(slopes, pairs, *per_s);
    }
    mem_free(slopes);
    return found;
}
