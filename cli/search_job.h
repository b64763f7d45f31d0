/* Segments of a search index made by a job on the workers of a cluster: the
 * function that `quarry search build` gives to search_build().
 *
 * The job runs with the rights of who builds, as every job does. Its output
 * lies in the directory of the index until it was taken in.
 *
 * Threads: one.
 */
#ifndef CLI_SEARCH_JOB_H
#define CLI_SEARCH_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct args;
struct cli;
struct fs;
struct search_intake;

struct search_job {
    struct cli *cli; /* Borrowed, as all here. */
    const struct args *args;
    struct fs *fs; /* Of the index. */
    const char *table;
    uint64_t memory_bytes; /* Of postings, in a task; 0: 128 MiB. */
    char id[64];           /* Of the job, once it has run. */
};

/* Can the target's workers make an index? Parks. */
bool search_job_possible(struct cli *cli, const struct args *args);

/* search_build_options.make, with a struct search_job. Parks. Errors: those of
 * the job; ERR_CANCELLED: the user interrupted it. */
MUST_CHECK int search_job_make(void *job,
                               const char *const *families,
                               size_t family_count,
                               struct search_intake *to,
                               struct err *err);

#endif /* CLI_SEARCH_JOB_H */
