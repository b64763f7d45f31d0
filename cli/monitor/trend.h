/* The slope of noisy points: the median of the slopes between pairs of them
 * (Theil and Sen), which a third of wild points does not move.
 *
 * Pure. Threads: any.
 */
#ifndef CLI_MONITOR_TREND_H
#define CLI_MONITOR_TREND_H

#include <stdbool.h>
#include <stddef.h>

struct fact_point;

/* Points that are too few, or too close together, have no trend. */
#define TREND_POINTS_MIN  8
#define TREND_SECONDS_MIN 600

/* The change a second. False: there are too few points, or they go up and down
 * so that fewer than three of four pairs agree on the direction. */
bool trend_slope(const struct fact_point *points, size_t count, double *per_s);

#endif /* CLI_MONITOR_TREND_H */
