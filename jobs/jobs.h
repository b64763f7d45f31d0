/* The jobs that come with Quarry, and the list of them for the command line.
 *
 * Most are a struct mr_job that mr_run() runs. Some, like page_rank, run
 * several jobs one after the other: for these the list has a function.
 */
#ifndef JOBS_JOBS_H
#define JOBS_JOBS_H

#include <stdbool.h>
#include <stddef.h>

#include "mapreduce/job.h"
#include "mapreduce/mapreduce.h"

/* Run @opts (its program is ignored) to the end; as mr_run(). */
typedef int (*job_driver_fn)(const struct mr_options *opts,
                             struct mr_report **report,
                             struct err *err);

struct job_entry {
    const char *name;
    const char *help;    /* A sentence. */
    const char *example; /* A command line. */
    const struct mr_param *params;
    size_t param_count;
    const struct mr_job *job; /* The job to run, or */
    job_driver_fn driver;     /* the driver that runs several. */
    /* Each cell that it writes to a table is of one row of the input alone: an
     * observer may keep them right (docs/observers.md). */
    bool by_row;
};

/* All jobs, by name; *@count of them. Static. */
const struct job_entry *jobs_list(size_t *count);
/* The job called @name, or NULL. Static. */
const struct job_entry *jobs_find(const char *name);
/* The struct mr_job called @name, also a part of a driver; or NULL. Static. */
const struct mr_job *jobs_find_job(const char *name);
/* The job called @name, if it works row by row; or NULL. Static. */
const struct mr_job *jobs_find_by_row(const char *name);
/* Run a job of the list to its end; as mr_run(). Parks. */
MUST_CHECK int jobs_run(const struct job_entry *entry,
                        const struct mr_options *opts,
                        struct mr_report **report,
                        struct err *err);

extern const struct mr_job job_anchor_texts;
extern const struct mr_job job_components;
extern const struct mr_job job_hits;
extern const struct mr_job job_inverted_index;
extern const struct mr_job job_link_graph;
extern const struct mr_job job_main_text;
/* Not in the list: a part of quarry search build, which jobs_find_job() finds.
 */
extern const struct mr_job job_search_segments;
extern const struct mr_job job_tera_sort;
extern const struct mr_job job_top_hosts;
extern const struct mr_job job_triangles;
extern const struct mr_job job_url_frequency;
extern const struct mr_job job_word_count;

/* The driver of PageRank, which takes several jobs; as mr_run(). Parks. */
int page_rank_run(const struct mr_options *opts,
                  struct mr_report **report,
                  struct err *err);
/* The part of PageRank called @name, or NULL. Static. */
const struct mr_job *page_rank_part(const char *name);
#define PAGE_RANK_PARAM_COUNT 5
extern const struct mr_param page_rank_params[PAGE_RANK_PARAM_COUNT];

#endif /* JOBS_JOBS_H */
