/* Conclusions from the attempts of a job: which are stragglers, and how evenly
 * the reduces' partitions are filled.
 *
 * Pure: no clock, no I/O.
 */
#ifndef MAPREDUCE_TASK_ATTEMPT_DIGEST_H
#define MAPREDUCE_TASK_ATTEMPT_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "mapreduce/task/attempt_record.h"

/* An attempt is a straggler if it took, or has taken so far, more than twice
 * the median of the attempts of its kind that succeeded, and a second more than
 * it. Of fewer than three there is no median worth the name. */
#define STRAGGLER_TIMES       2
#define STRAGGLER_EXCESS_US   UINT64_C(1000000)
#define STRAGGLER_SAMPLES_MIN 3
#define STRAGGLERS_MAX        20
/* The same rule, for people. */
extern const char straggler_rule[];

struct straggler {
    size_t index; /* Of the attempt in its list. */
    uint64_t took_us;
    uint64_t median_us;
};

/* The slowest of @l at @now_us, the slowest first. Returns how many. */
size_t attempt_stragglers(const struct attempt_list *l,
                          uint64_t now_us,
                          struct straggler out[STRAGGLERS_MAX]);

struct partition_figures {
    uint32_t part;
    uint32_t index;
    uint64_t records; /* Values. While its reduce runs: as far as known. */
    uint64_t bytes;   /* 0: not known yet. */
};

#define PARTITIONS_MAX 1000

struct partition_digest {
    struct partition_figures *at; /* The largest, by part and index. Owned. */
    size_t count;
    size_t total; /* Partitions with an attempt. */
    uint64_t median_records;
    uint64_t max_records;
};

/* The partitions whose reduces have begun, at most @max of them. Free with
 * mem_free(out->at). */
void attempt_partitions(const struct attempt_list *l,
                        size_t max,
                        struct partition_digest *out);

#endif /* MAPREDUCE_TASK_ATTEMPT_DIGEST_H */
