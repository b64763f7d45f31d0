/* The list of jobs. */
#include "jobs/jobs.h"

#include <string.h>

#define OF_JOB(what, line)                                                     \
    {                                                                          \
        .name = #what, .example = line, .job = &job_##what,                    \
    }

static const struct job_entry entries[] = {
    OF_JOB(word_count,
           "quarry job run word_count --input file:book.txt --output file:out"),
};

const struct job_entry *jobs_list(size_t *count)
{
    *count = ARRAY_LEN(entries);
    return entries;
}

const struct job_entry *jobs_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(entries); i++)
        if (strcmp(entries[i].name, name) == 0)
            return &entries[i];
    return NULL;
}

int jobs_run(const struct job_entry *entry,
             const struct mr_options *opts,
             struct mr_report **report,
             struct err *err)
{
    struct mr_options o = *opts;
    if (entry->driver)
        return entry->driver(opts, report, err);
    o.program = (struct mr_program){.job = entry->job};
    return mr_run(&o, report, err);
}
