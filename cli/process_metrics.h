/* Metrics of the process as the system sees it: time, memory, descriptors, and
 * the machine's clock.
 */
#ifndef CLI_PROCESS_METRICS_H
#define CLI_PROCESS_METRICS_H

struct metric_set;

/* Add them, but for those that the system does not tell. Any thread; reads a
 * few files of /proc. */
void process_metrics_gather(struct metric_set *out);

#endif /* CLI_PROCESS_METRICS_H */
