/* Observers that are jobs: a job that is built in runs over each row that
 * changed, and the cells that it makes of the row are what the row stands for.
 * So the job over the whole table, and the observer, make the same.
 *
 * No process is started: the code is the runtime's own.
 */
#include <string.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "mapreduce/attempt/row_job.h"
#include "mapreduce/job.h"
#include "mapreduce/observe/observe_command.h"

#define JOB_PARAMS_MAX 32

struct job_observer {
    char *text; /* Owned: the program, cut into its lines. */
    struct mr_setting params[JOB_PARAMS_MAX];
    size_t param_count;
    struct row_job *job;
    const char *output; /* Borrowed. */
    /* Of the row that is being answered; borrowed. */
    struct quarry_observation *now;
};

static void job_close(void *state)
{
    struct job_observer *o = state;
    row_job_close(o->job);
    mem_free(o->text);
    mem_free(o);
}

/* "NAME", and a line "PARAMETER=VALUE" each. */
static int split_lines(struct job_observer *o, struct err *err)
{
    char *next = strchr(o->text, '\n');
    while (next) {
        char *line = next + 1;
        char *equal;
        *next = '\0';
        next = strchr(line, '\n');
        if (*line == '\0')
            continue;
        equal = strchr(line, '=');
        if (!equal || (next && equal > next))
            return err_set(err, ERR_INVALID,
                           "a parameter of the job has no value: \"%.80s\"",
                           line);
        if (o->param_count == JOB_PARAMS_MAX)
            return err_set(err, ERR_TOOBIG, "a job takes at most %d parameters",
                           JOB_PARAMS_MAX);
        *equal = '\0';
        o->params[o->param_count++] = (struct mr_setting){line, equal + 1};
    }
    return 0;
}

static int find_row_job(const struct observe_host *host,
                        const char *name,
                        const struct mr_job **out,
                        struct err *err)
{
    *out = host && host->find_job ? host->find_job(name) : NULL;
    if (*out)
        return 0;
    return err_set(err, ERR_INVALID,
                   "\"%.80s\" is no job that runs row by row: a job like "
                   "inverted_index or link_graph does",
                   name);
}

static int
job_open(const struct observer_setup *setup, void **state, struct err *err)
{
    struct job_observer *o = mem_zalloc(1, sizeof(*o));
    const struct mr_job *job = NULL;
    int rc;
    o->text =
        mem_strndup(setup->settings->text.data, setup->settings->text.len);
    o->output = setup->settings->output;
    rc = o->output ? 0
                   : err_set(err, ERR_INVALID,
                             "an observer that is a job needs an output table");
    if (rc == 0)
        rc = split_lines(o, err);
    if (rc == 0)
        rc = find_row_job(setup->host, o->text, &job, err);
    if (rc == 0)
        rc = row_job_open(setup->world, job, setup->table, o->params,
                          o->param_count, &o->job, err);
    if (rc) {
        job_close(o);
        o = NULL;
    }
    *state = o;
    return rc;
}

static int take_cell(void *ctx,
                     struct slice row,
                     struct slice family,
                     struct slice qualifier,
                     struct slice value,
                     struct err *err)
{
    const struct job_observer *o = ctx;
    struct quarry_mutation *m = quarry_mutation_new(row);
    char *name = mem_strndup(family.data, family.len);
    int rc;
    PRE(o->now != NULL);
    quarry_mutation_set(m, name, qualifier, QUARRY_NOW, value);
    rc = quarry_observer_write(o->now, o->output, m, err);
    quarry_mutation_free(m);
    mem_free(name);
    return rc;
}

static int job_rows(void *state,
                    struct quarry_observation *rows,
                    size_t count,
                    size_t *done,
                    bool *exact,
                    struct err *err)
{
    struct job_observer *o = state;
    int rc = 0;
    *exact = true;
    for (*done = 0; *done < count; ++*done) {
        o->now = &rows[*done];
        rc = row_job_run(o->job, o->now->cells, take_cell, o, err);
        if (rc)
            break;
    }
    o->now = NULL;
    return rc;
}

const struct observer_engine observe_job = {"job", job_open, job_rows,
                                            job_close};
