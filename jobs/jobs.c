/* The list of jobs, by name. Adding one is a file and a line here.
 *
 * An entry has either a job, which mr_run() runs, or a driver, which runs
 * several after each other. The jobs of a driver are found by their names too,
 * because a worker looks up the job that an attempt belongs to. */
#include "jobs/jobs.h"

#include <string.h>

#include "base/core/panic.h"
#include "jobs/near_duplicates.h"

static const struct job_entry entries[] = {
    {.name = "anchor_texts",
     .example = "quarry job run anchor_texts --input "
                "table:webtable?columns=contents:,http: --output table:anchors",
     .job = &job_anchor_texts,
     .by_row = true},
    {.name = "components",
     .example = "quarry job run components --input table:links --output "
                "file:components",
     .job = &job_components},
    {.name = "hits",
     .example = "quarry job run hits --input table:links --output file:hits",
     .job = &job_hits},
    {.name = "inverted_index",
     .example = "quarry job run inverted_index --input "
                "table:webtable?columns=contents:,http: --output table:words",
     .job = &job_inverted_index,
     .by_row = true},
    {.name = "link_graph",
     .example = "quarry job run link_graph --input "
                "table:webtable?columns=anchor: --output table:links",
     .job = &job_link_graph,
     .by_row = true},
    {.name = "main_text",
     .example = "quarry job run main_text --input "
                "table:webtable?columns=contents:,http:,language: --output "
                "table:webtable",
     .job = &job_main_text},
    {.name = "near_duplicates",
     .help = "Find clusters of pages with nearly the same text.",
     .example = "quarry job run near_duplicates --input "
                "table:webtable?columns=contents:,http: --output "
                "file:duplicates --param likeness=90",
     .params = near_duplicates_params,
     .param_count = NEAR_DUPLICATES_PARAM_COUNT,
     .driver = near_duplicates_run},
    {.name = "page_rank",
     .help = "Rank pages by the links to them.",
     .example = "quarry job run page_rank --input table:links --output "
                "file:ranks --param iterations=30",
     .params = page_rank_params,
     .param_count = PAGE_RANK_PARAM_COUNT,
     .driver = page_rank_run},
    {.name = "tera_sort",
     .example = "quarry job run tera_sort --input file:lines.txt --output "
                "file:sorted --param key_bytes=10",
     .job = &job_tera_sort},
    {.name = "top_hosts",
     .example = "quarry job run top_hosts --input "
                "table:webtable?columns=http:url --output file:hosts",
     .job = &job_top_hosts},
    {.name = "triangles",
     .example =
         "quarry job run triangles --input table:links --output file:triangles",
     .job = &job_triangles},
    {.name = "url_frequency",
     .example = "quarry job run url_frequency --input file:access.log "
                "--output file:urls",
     .job = &job_url_frequency},
    {.name = "word_count",
     .example = "quarry job run word_count --input file:book.txt --output "
                "file:words",
     .job = &job_word_count},
};

const struct job_entry *jobs_list(size_t *count)
{
    *count = ARRAY_LEN(entries);
    return entries;
}

const struct job_entry *jobs_find(const char *name)
{
    PRE(name != NULL);
    for (size_t i = 0; i < ARRAY_LEN(entries); i++)
        if (strcmp(entries[i].name, name) == 0)
            return &entries[i];
    return NULL;
}

const struct mr_job *jobs_find_job(const char *name)
{
    const struct job_entry *e = jobs_find(name);
    const struct mr_job *part;
    if (e && e->job)
        return e->job;
    part = page_rank_part(name);
    if (strcmp(name, job_search_segments.name) == 0)
        part = &job_search_segments;
    return part ? part : near_duplicates_part(name);
}

const struct mr_job *jobs_find_by_row(const char *name)
{
    const struct job_entry *e = jobs_find(name);
    return e && e->by_row ? e->job : NULL;
}

int jobs_run(const struct job_entry *entry,
             const struct mr_options *opts,
             struct mr_report **report,
             struct err *err)
{
    PRE((entry->job != NULL) != (entry->driver != NULL));
    struct mr_options o = *opts;
    if (entry->driver)
        return entry->driver(opts, report, err);
    o.program = (struct mr_program){.job = entry->job};
    return mr_run(&o, report, err);
}
