/* Near duplicates, for the list of jobs: as page_rank_run() and its companions
 * in jobs.h. */
#ifndef JOBS_NEAR_DUPLICATES_H
#define JOBS_NEAR_DUPLICATES_H

#include "mapreduce/job.h"
#include "mapreduce/mapreduce.h"

/* The driver of two jobs; as mr_run(). Parks. */
int near_duplicates_run(const struct mr_options *opts,
                        struct mr_report **report,
                        struct err *err);
/* The part called @name, or NULL. Static. */
const struct mr_job *near_duplicates_part(const char *name);
#define NEAR_DUPLICATES_PARAM_COUNT 4
extern const struct mr_param
    near_duplicates_params[NEAR_DUPLICATES_PARAM_COUNT];

#endif /* JOBS_NEAR_DUPLICATES_H */
