/* quarry job …: the table of its commands, and the catalogue of ready-made
 * jobs, which also names what was meant by a name that is not in it. */
#include "cli/cmd_job.h"

#include <stdio.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/remote_call.h"
#include "cli/suggest.h"
#include "cli/table_printer.h"
#include "jobs/jobs.h"
#include "mapreduce/mapreduce.h"

static const struct option here_options[] = {
    {"here", 0, NULL, "of a cluster: the jobs run on this machine"},
    {NULL, 0, NULL, NULL},
};

static const struct option attempts_options[] = {
    {"after", 0, "N", "leave out the first N"},
    {NULL, 0, NULL, NULL},
};

static const struct option list_options[] = {
    {"ended", 0, "N", "how many jobs that ended (10)"},
    {NULL, 0, NULL, NULL},
};

int job_unknown(const char *name, struct err *err)
{
    size_t count;
    const struct job_entry *jobs = jobs_list(&count);
    struct suggest s;
    struct buf all = BUF_INIT;
    suggest_init(&s, name);
    for (size_t i = 0; i < count; i++) {
        suggest_offer(&s, jobs[i].name);
        buf_printf(&all, "%s%s", i ? ", " : "", jobs[i].name);
    }
    err_set(err, ERR_NOTFOUND, "no job %s; there are %s", name, buf_cstr(&all));
    if (suggest_best(&s))
        err_hint(err, "did you mean %s?", suggest_best(&s));
    err_hint(err, "or give a shared object FILE.so, a Sawzall program FILE.szl "
                  "or --mapper COMMAND");
    buf_close(&all);
    return ERR_NOTFOUND;
}

/* --- the catalogue ------------------------------------------------------- */

/* A job's own words, unless the list has others. */
static const char *help_of(const struct job_entry *e)
{
    const char *help = e->help || !e->job ? e->help : e->job->help;
    return help ? help : "";
}

static const struct mr_param *params_of(const struct job_entry *e,
                                        size_t *count)
{
    bool own = e->params || !e->job;
    *count = own ? e->param_count : e->job->param_count;
    return own ? e->params : e->job->params;
}

static void add_entry(struct sheet *s, const struct job_entry *e)
{
    struct buf text = BUF_INIT;
    size_t count;
    const struct mr_param *params = params_of(e, &count);
    for (size_t i = 0; i < count; i++)
        buf_printf(&text, "%s%s=%s", i ? " " : "", params[i].name,
                   params[i].fallback ? params[i].fallback : "…");
    sheet_add_str(s, e->name);
    sheet_add(s, buf_slice(&text));
    sheet_add_str(s, help_of(e));
    buf_close(&text);
}

/* One job with its parameters and its example. */
static void print_entry(const struct job_entry *e)
{
    size_t count;
    const struct mr_param *params = params_of(e, &count);
    printf("%s: %s\n", e->name, help_of(e));
    if (count > 0)
        printf("\nParameters (--param NAME=VALUE):\n");
    for (size_t i = 0; i < count; i++)
        printf("  %-12s %s (%s)\n", params[i].name, params[i].help,
               params[i].fallback ? params[i].fallback : "required");
    if (e->example)
        printf("\nExample:\n  %s\n", e->example);
}

static int
run_catalogue(struct cli *cli, const struct args *args, struct err *err)
{
    static const struct sheet_column columns[] = {{"job", SHEET_TEXT},
                                                  {"parameters", SHEET_TEXT},
                                                  {"what_it_does", SHEET_TEXT}};
    struct sheet s;
    size_t count;
    const struct job_entry *jobs = jobs_list(&count);
    const struct job_entry *one =
        args->word_count ? jobs_find(args->words[0]) : NULL;
    if (args->word_count && !one)
        return job_unknown(args->words[0], err);
    if (one && cli->format == FORMAT_TEXT) {
        print_entry(one);
        return ERR_OK;
    }
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < count; i++)
        if (!one || one == &jobs[i])
            add_entry(&s, &jobs[i]);
    sheet_print(&s, cli->format);
    sheet_close(&s);
    return ERR_OK;
}

const struct command job_commands[] = {
    {.name = "job run",
     .arguments = "JOB --input SPEC… --output SPEC [OPTION…]",
     .summary = "Run a MapReduce job",
     .details =
         "JOB is a name of the catalogue, a shared object FILE.so, or a\n"
         "Sawzall program FILE.szl; with --mapper it may be left out.\n"
         "Outputs appear complete or not at all. Options of a table that is\n"
         "read, behind a ? and joined by &: columns=F:Q,F: prefix= start=\n"
         "end= versions= since= until= saw=FILE, and as-of=TIME, which\n"
         "reads the table as it was then.",
     .examples =
         "quarry job run word_count --input 'file:books/*.txt' --output "
         "file:counts\n"
         "quarry job run link_graph -i table:webtable -o table:graph\n"
         "quarry job run --mapper 'grep -o \"[a-z]*\"' --reducer 'uniq -c' \\\n"
         "    -i 'file:*.txt' -o file:out",
     .words_max = 1,
     .options = {job_run_options, remote_options},
     .run = job_run_run},
    {.name = "job catalogue",
     .arguments = "[JOB]",
     .summary = "List the jobs that are built in, or explain one",
     .examples = "quarry job catalogue word_count",
     .words_max = 1,
     .run = run_catalogue},
    {.name = "job list",
     .arguments = "[OPTION…]",
     .summary = "List the jobs that run, and those that ended last",
     .examples = "quarry job list --ended 0",
     .options = {list_options, here_options, remote_options},
     .run = job_run_list},
    {.name = "job history",
     .arguments = "",
     .summary = "List all jobs that were run on this target",
     .examples = "quarry job history --format csv",
     .options = {here_options, remote_options},
     .run = job_run_history},
    {.name = "job status",
     .arguments = "[ID]",
     .summary = "Show one job: state, inputs, outputs, notes, error",
     .details = "ID may be the beginning of one; without it, the last job.",
     .examples = "quarry job status",
     .words_max = 1,
     .options = {here_options, remote_options},
     .run = job_run_status},
    {.name = "job counters",
     .arguments = "[ID]",
     .summary = "Show what a job counted",
     .examples = "quarry job counters last --format json",
     .words_max = 1,
     .options = {here_options, remote_options},
     .run = job_run_counters},
    {.name = "job attempts",
     .arguments = "[ID]",
     .summary = "List the attempts of a job: worker, time, records, error",
     .details = "Of a job that runs, and of one in the history. Attempts that\n"
                "took far longer than the others are named below.",
     .examples = "quarry job attempts last --format csv",
     .words_max = 1,
     .options = {attempts_options, here_options, remote_options},
     .run = job_run_attempts},
    {.name = "job log",
     .arguments = "ID ATTEMPT",
     .summary = "Print the end of the output of a failed attempt",
     .details = "ATTEMPT is a name that \"job attempts\" prints. At most 64 "
                "KiB of the first 10 and\nthe last 10 attempts that failed "
                "are kept, for those who may look into the job.",
     .examples = "quarry job log last m3.1",
     .words_min = 2,
     .words_max = 2,
     .options = {here_options, remote_options},
     .run = job_run_log},
    {.name = "job resume",
     .arguments = "ID",
     .summary = "Continue a job whose process has died",
     .details =
         "Tasks that were done are not repeated. Possible until another\n"
         "job writes the same outputs, for a week at most.",
     .examples = "quarry job resume 20260501-101500-1a2b",
     .words_min = 1,
     .words_max = 1,
     .run = job_run_resume},
    {.name = "job kill",
     .arguments = "ID",
     .summary = "Stop a job that runs",
     .examples = "quarry job kill 20260501-101500-1a2b",
     .words_min = 1,
     .words_max = 1,
     .options = {here_options, remote_options},
     .run = job_run_kill},
    {.name = "job workers",
     .arguments = "",
     .summary = "List the workers of a cluster, and what they run",
     .examples = "quarry job workers -t n1:7070",
     .options = {remote_options},
     .run = job_cell_workers},
    {.name = NULL},
};
