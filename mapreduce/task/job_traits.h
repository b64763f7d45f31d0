/* The properties of a job's code that the job master plans by, as data: the
 * code itself may only be loaded where attempts run.
 *
 * Any thread. Nothing here parks.
 */
#ifndef MAPREDUCE_TASK_JOB_TRAITS_H
#define MAPREDUCE_TASK_JOB_TRAITS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "mapreduce/mapreduce.h"

struct job_traits {
    char *name; /* Owned. */
    bool has_reduce;
    bool combines;
    bool total_order;
    bool partitions; /* By a function of its own. */
    bool single_reducer;
    bool descending;
    bool no_table_output;
    bool any_params;         /* Takes parameters it does not declare. */
    struct mr_param *params; /* Strings owned. */
    size_t param_count;
    char **families; /* mr_job.output_families; owned. */
    size_t family_count;
};

/* Copy the properties of @job into @t, whatever it held. */
void job_traits_of(struct job_traits *t, const struct mr_job *job);
/* Release what @t owns, and zero it. */
void job_traits_close(struct job_traits *t);
/* Append the bytes of @t to @out. */
void job_traits_encode(const struct job_traits *t, struct buf *out);
/* Read what job_traits_encode() wrote. ERR_CORRUPT; close @t in any case. */
MUST_CHECK int
job_traits_decode(struct job_traits *t, struct slice bytes, struct err *err);

#endif /* MAPREDUCE_TASK_JOB_TRAITS_H */
