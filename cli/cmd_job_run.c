/* quarry job run and resume: makes a job from options, runs it here or gives it
 * to the cell (job_cell.c), and prints its notes and its report.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "cli/cli.h"
#include "cli/cmd_job.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/remote_call.h"
#include "cli/table_printer.h"
#include "gfs-lite/objects.h"
#include "jobs/jobs.h"
#include "mapreduce/job.h"
#include "mapreduce/mapreduce.h"

/* Notes of a job printed before the rest is only counted. */
#define NOTES_SHOWN_MAX 20

/* --- job run ------------------------------------------------------------- */

const struct option job_run_options[] = {
    {"input", 'i', "SPEC",
     "file:GLOB, records:GLOB, warc:GLOB or table:NAME[?OPTIONS];\n"
     "may be repeated"},
    {"output", 'o', "[NAME=]SPEC",
     "file:DIR, records:DIR or table:NAME[?bulk=yes]"},
    {"param", 'p', "NAME=VALUE", "of the job; may be repeated"},
    {"file", 0, "NAME=PATH", "a file the job's code reads beside its input"},
    {"workers", 0, "N", "tasks at a time; one per processor if not given"},
    {"reducers", 0, "N",
     "parts of the result, 1 to 4,096; by the input's\nsize if not"},
    {"memory", 0, "SIZE", "for all tasks together (384MiB)"},
    {"mapper", 0, "COMMAND", "instead of JOB: a program that reads lines"},
    {"reducer", 0, "COMMAND",
     "and one that reads sorted KEY TAB VALUE lines; either may be\nleft out"},
    {"combiner", 0, "COMMAND", "the reducer for what one task emitted"},
    {"local", 0, NULL, "all tasks in this process, for debugging"},
    {"overwrite", 0, NULL, "replace an output that is there"},
    {"split", 0, "SIZE", "of a task's input (64MiB, to 256MiB if it combines)"},
    {"heap", 0, "SIZE", "for the job's own code in an attempt (1GiB)"},
    {"cpu", 0, "TIME", "processor time an attempt may use"},
    {"file-size", 0, "SIZE", "of a file an attempt writes (256GiB)"},
    {"processes", 0, "N", "an attempt may start (256)"},
    {"network", 0, NULL, "the job's code may open connections"},
    {"no-sandbox", 0, NULL, "it may do whatever you may"},
    {"weak-sandbox", 0, NULL,
     "run it where this machine's kernel cannot confine it"},
    {"here", 0, NULL,
     "of a cluster: the tasks run on this machine, over its files"},
    {"detach", 0, NULL, "of a cluster: do not wait for the job's end"},
    {"priority", 0, "N", "of a cluster: jobs with a higher one go first (0)"},
    {"weight", 0, "N", "of a cluster: its share among equals (1)"},
    {"slots", 0, "N", "of a cluster: tasks at a time, at most"},
    {"no-backups", 0, NULL, "never run a slow task twice at a time"},
    {"keep-work", 0, NULL, "leave the job's work files"},
    {"skip-max", 0, "N", "records and damaged places to skip at most (16)"},
    {"no-skip", 0, NULL, "fail rather than skip any"},
    {"timeout", 0, "TIME",
     "end a task that reads no record for this time (10m)"},
    {NULL, 0, NULL, NULL},
};

static const char **values_of(const struct args *args, const char *name)
{
    size_t n = args_count(args, name);
    const char **values = mem_zalloc(n + 1, sizeof(*values));
    for (size_t i = 0; i < n; i++)
        values[i] = args_nth(args, name, i);
    return values;
}

/* The options --@option NAME=VALUE. Names of *@out are owned: free_settings().
 */
static int parse_settings(const struct args *args,
                          const char *option,
                          struct mr_setting **out,
                          size_t *count,
                          struct err *err)
{
    size_t n = args_count(args, option);
    struct mr_setting *s = mem_zalloc(n + 1, sizeof(*s));
    *out = s;
    *count = 0;
    for (size_t i = 0; i < n; i++) {
        const char *text = args_nth(args, option, i);
        const char *equals = strchr(text, '=');
        if (!equals || equals == text)
            return usage_error(args, err, "--%s: '%s' is not NAME=VALUE",
                               option, text);
        s[i].name = mem_strndup(text, (size_t)(equals - text));
        s[i].value = equals + 1;
        ++*count;
    }
    return ERR_OK;
}

static void free_settings(struct mr_setting *s)
{
    for (size_t i = 0; s && s[i].name; i++)
        mem_free((void *)(uintptr_t)s[i].name);
    mem_free(s);
}

static int parse_params(struct job_command *c, struct err *err)
{
    struct mr_options *o = &c->options;
    int rc = parse_settings(c->args, "param", &c->params, &o->param_count, err);
    if (!rc)
        rc = parse_settings(c->args, "file", &c->files, &o->file_count, err);
    o->params = c->params;
    o->files = c->files;
    return rc;
}

static int parse_sizes(struct job_command *c, struct err *err)
{
    struct mr_options *o = &c->options;

    const struct {
        const char *name;
        uint64_t *bytes; /* One of these. */
        uint64_t *us;
    } sizes[] = {
        {"memory", &o->memory_bytes, NULL}, {"heap", &o->heap_bytes, NULL},
        {"split", &o->split_bytes, NULL},   {"file-size", &o->file_bytes, NULL},
        {"timeout", NULL, &o->timeout_us},  {"cpu", NULL, &o->cpu_us},
    };

    uint64_t workers = 0;
    uint64_t reducers = 0;
    uint64_t skips = 0;
    uint64_t processes = 0;
    int rc = args_number(c->args, "workers", 1, 1024, &workers, err);
    if (!rc)
        rc = args_number(c->args, "processes", 1, 1 << 20, &processes, err);
    if (!rc)
        rc = args_number(c->args, "reducers", 1, 4096, &reducers, err);
    if (!rc)
        rc = args_number(c->args, "skip-max", 1, UINT32_MAX, &skips, err);
    if (rc)
        return rc;
    o->skips_max = (unsigned)skips;
    o->workers = (unsigned)workers;
    o->reducers = (unsigned)reducers;
    o->processes_max = (unsigned)processes;
    for (size_t i = 0; i < ARRAY_LEN(sizes) && !rc; i++) {
        const char *text = args_value(c->args, sizes[i].name);
        struct err why = ERR_INIT;
        if (text && sizes[i].bytes)
            rc = text_parse_bytes(slice_str(text), sizes[i].bytes, &why);
        else if (text)
            rc = text_parse_duration(slice_str(text), sizes[i].us, &why);
        if (rc)
            return usage_error(c->args, err, "--%s: %s", sizes[i].name,
                               why.text);
    }
    return ERR_OK;
}

static bool ends_with(const char *s, const char *suffix)
{
    return slice_ends_with(slice_str(s), slice_str(suffix));
}

/* Built in, a shared object, a Sawzall program, or commands. */
static int parse_program(struct job_command *c, struct err *err)
{
    struct mr_program *p = &c->options.program;
    const char *job = c->args->word_count ? c->args->words[0] : NULL;
    int rc;
    p->mapper = args_value(c->args, "mapper");
    p->reducer = args_value(c->args, "reducer");
    p->combiner = args_value(c->args, "combiner");
    if (p->mapper || (p->reducer && !job)) {
        c->options.label = job;
        return ERR_OK;
    }
    if (!job)
        return usage_error(c->args, err,
                           "which job? quarry job catalogue lists them");
    if (ends_with(job, ".so")) {
        p->object = job;
        return ERR_OK;
    }
    if (ends_with(job, ".szl")) {
        rc = cli_read_file(job, &c->saw, err);
        p->saw = buf_cstr(&c->saw);
        p->saw_name = job;
        return rc;
    }
    c->entry = jobs_find(job);
    return c->entry ? ERR_OK : job_unknown(job, err);
}

/* Does one of the SPECs name a table, or a view? */
static bool needs_store(const char *const *specs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strstr(specs[i], "table:") || strstr(specs[i], "view:"))
            return true;
    return false;
}

/* An output appears by the renaming of a directory, which buckets do not have.
 */
static int check_remote_names(const struct args *args,
                              const struct mr_options *o,
                              struct err *err)
{
    for (size_t i = 0; i < o->output_count; i++) {
        const char *path = strchr(o->outputs[i], ':');
        if (!path || !fs_name_is_remote(path + 1))
            continue;
        return usage_error(args, err,
                           "--output %s: a job writes files of this machine "
                           "or of the cluster; then: quarry fs put -R",
                           o->outputs[i]);
    }
    /* The user decides whether a program may reach others. */
    for (size_t i = 0; i < o->input_count; i++) {
        const char *path = strchr(o->inputs[i], ':');
        if (path && fs_name_is_remote(path + 1) && !o->network &&
            !o->in_process)
            return usage_error(args, err,
                               "--input %s is read over the network, which "
                               "tasks have with --network alone",
                               o->inputs[i]);
    }
    return ERR_OK;
}

static int parse_run(struct job_command *c, struct err *err)
{
    struct mr_options *o = &c->options;
    const struct args *args = c->args;
    int rc = parse_program(c, err);
    if (!rc)
        rc = parse_params(c, err);
    if (!rc)
        rc = parse_sizes(c, err);
    if (rc)
        return rc;
    c->inputs = values_of(args, "input");
    c->outputs = values_of(args, "output");
    o->inputs = c->inputs;
    o->input_count = args_count(args, "input");
    o->outputs = c->outputs;
    o->output_count = args_count(args, "output");
    o->in_process = args_flag(args, "local");
    o->overwrite = args_flag(args, "overwrite");
    o->keep_work = args_flag(args, "keep-work");
    o->skip_none = args_flag(args, "no-skip");
    o->network = args_flag(args, "network");
    o->no_sandbox = args_flag(args, "no-sandbox");
    o->weak_sandbox = args_flag(args, "weak-sandbox");
    o->no_backups = args_flag(args, "no-backups");
    if (o->input_count == 0)
        return usage_error(args, err, "from where? --input SPEC");
    if (o->output_count == 0 && !o->program.saw)
        return usage_error(args, err, "where to? --output SPEC");
    return check_remote_names(args, o, err);
}

static const char *phase_name(enum mr_phase phase)
{
    switch (phase) {
    case MR_PHASE_PLAN: return "plan";
    case MR_PHASE_SAMPLE: return "sample";
    case MR_PHASE_MAP: return "map";
    case MR_PHASE_REDUCE: return "reduce";
    case MR_PHASE_COMMIT: return "commit";
    case MR_PHASE_DONE: return "done";
    }
    return "";
}

void job_run_progress(void *ctx, const struct mr_progress *p)
{
    struct job_command *c = ctx;
    struct buf extra = BUF_INIT;
    c->progress.what = phase_name(p->phase);
    buf_printf(&extra, "%u of %u tasks, ", p->tasks_done, p->tasks_total);
    text_put_count(&extra, p->records);
    buf_append_str(&extra, p->phase == MR_PHASE_REDUCE ? " keys" : " records");
    if (p->attempts_failed)
        buf_printf(&extra, ", %u failed", p->attempts_failed);
    if (p->bytes_total > 0)
        progress_bytes(&c->progress, p->bytes, p->bytes_total,
                       buf_cstr(&extra));
    else if (p->tasks_total > 0)
        progress_share(&c->progress, p->tasks_done * 1000 / p->tasks_total,
                       buf_cstr(&extra));
    buf_close(&extra);
}

/* Print the job's notes, except what @err is going to say. */
void job_run_notes(const struct mr_report *r, const struct err *err)
{
    size_t shown = 0;
    for (size_t i = 0; i < r->note_count && shown < NOTES_SHOWN_MAX; i++) {
        if (strstr(err->text, r->notes[i]))
            continue;
        fprintf(stderr, "quarry: %s\n", r->notes[i]);
        shown++;
    }
    if (r->note_count > NOTES_SHOWN_MAX)
        fprintf(stderr, "quarry: … and %zu more\n",
                r->note_count - NOTES_SHOWN_MAX);
}

/* Lines and records, or changes of rows. */
static int64_t records_out(const struct mr_report *r)
{
    return mr_report_counter(r, "output.records") +
           mr_report_counter(r, "output.rows");
}

static void add_report(struct sheet *s, const struct mr_report *r)
{
    sheet_add_str(s, r->job_id);
    sheet_addf(s, "%.3f", (double)r->elapsed_us / 1e6);
    sheet_add_u64(s, r->map_tasks);
    sheet_add_u64(s, r->reduce_tasks);
    sheet_add_u64(s, r->attempts_failed);
    sheet_addf(s, "%" PRId64, mr_report_counter(r, "map.records"));
    sheet_addf(s, "%" PRId64, records_out(r));
}

/* "12 records skipped; ", or nothing. */
static void put_skipped(struct buf *line, const struct mr_report *r)
{
    int64_t records = mr_report_counter(r, "map.records_skipped");
    int64_t groups = mr_report_counter(r, "reduce.groups_skipped");
    int64_t places = mr_report_counter(r, "map.damaged_places");
    if (records + groups > 0) {
        text_put_count(line, (uint64_t)(records + groups));
        buf_append_str(line, " records skipped; ");
    }
    if (places > 0)
        buf_printf(line, "%" PRId64 " damaged place%s skipped; ", places,
                   places == 1 ? "" : "s");
}

/* One line for people on standard error: results go to the outputs. */
void job_run_report(const struct job_command *c, const struct mr_report *r)
{
    static const struct sheet_column columns[] = {
        {"job", SHEET_TEXT},           {"seconds", SHEET_NUMBER},
        {"map_tasks", SHEET_NUMBER},   {"reduce_tasks", SHEET_NUMBER},
        {"failed", SHEET_NUMBER},      {"records_in", SHEET_NUMBER},
        {"records_out", SHEET_NUMBER},
    };
    struct sheet s;
    struct buf line = BUF_INIT;
    if (c->cli->format != FORMAT_TEXT) {
        sheet_init(&s, columns, ARRAY_LEN(columns));
        add_report(&s, r);
        sheet_print(&s, c->cli->format);
        sheet_close(&s);
        return;
    }
    buf_printf(&line, "job %s: ", r->job_id);
    text_put_count(&line, (uint64_t)mr_report_counter(r, "map.records"));
    buf_append_str(&line, " records in, ");
    text_put_count(&line, (uint64_t)records_out(r));
    buf_append_str(&line, " out; ");
    put_skipped(&line, r);
    buf_printf(&line, "%u map and %u reduce tasks in ", r->map_tasks,
               r->reduce_tasks);
    text_put_duration(&line, r->elapsed_us);
    cli_remark(c->cli, "%s", buf_cstr(&line));
    buf_close(&line);
}

static int job_run_resolve(struct job_command *c, struct err *err)
{
    int rc = remote_resolve(c->cli, &c->store_options, &c->target, &c->key_file,
                            err);
    c->options.target = c->target;
    return rc;
}

/* Only the shell's, which is open already: an open store has threads, and the
 * processes of a job are best forked before there are any. */
static int open_store(struct job_command *c, struct err *err)
{
    struct mr_options *o = &c->options;
    int rc;
    o->target = c->cli->target;
    if (remote_is_cluster(c->cli->target)) {
        o->store_options = &c->store_options;
        c->store_options.must_exist = true;
        return job_run_resolve(c, err);
    }
    rc = cli_master_keys(c->cli, &c->store_options.master_keys, err);
    if (rc)
        return rc;
    o->encrypts = c->store_options.master_keys != NULL;
    o->open_store = cli_open_waiting;
    o->open_store_ctx = c->cli;
    if (o->encrypts) {
        world_random_bytes(c->cli->world, c->scratch_key,
                           sizeof(c->scratch_key));
        o->scratch_key = c->scratch_key;
    }
    if (!c->cli->in_shell) {
        o->store_options = &c->store_options;
        c->store_options.must_exist = true;
        return ERR_OK;
    }
    if (!needs_store(o->inputs, o->input_count) &&
        !needs_store(o->outputs, o->output_count))
        return ERR_OK;
    return cli_store(c->cli, CLI_EXISTING, &o->store, err);
}

/* The cluster's key is nothing that the job's code should read. */
static void hide_key(struct job_command *c)
{
    c->hidden[0] = c->key_file;
    c->options.hidden = c->hidden;
    c->options.hidden_count = c->key_file != NULL;
}

static int run_job(struct job_command *c, struct err *err)
{
    struct mr_report *report = NULL;
    struct mr_options *o = &c->options;
    int rc = open_store(c, err);
    if (rc)
        return rc;
    if (job_cell_asked(c->cli, c->args) && !o->in_process)
        return job_cell_run(c, err);
    c->history = job_history_dir(c->cli);
    o->history_dir = c->history;
    rc = job_history_open(c->cli, &c->history_files, err);
    if (rc)
        return rc;
    o->keyring = c->history_files.keyring;
    hide_key(c);
    o->world = c->cli->world;
    o->cancel = interrupt_watch();
    o->progress = job_run_progress;
    o->progress_ctx = c;
    progress_start(&c->progress, c->cli, "job");
    rc = c->entry ? jobs_run(c->entry, o, &report, err)
                  : mr_run(o, &report, err);
    progress_end(&c->progress);
    if (report) {
        job_run_notes(report, err);
        if (!rc)
            job_run_report(c, report);
        else if (report->job_id)
            err_hint(err, "see: quarry job status %s", report->job_id);
    }
    mr_report_free(report);
    return rc;
}

bool job_run_is_driver(const char *name)
{
    const struct job_entry *e = jobs_find(name);
    return e && e->driver;
}

int job_run_drive(const char *name,
                  const struct mr_options *opts,
                  struct mr_report **report,
                  struct err *err)
{
    return jobs_run(jobs_find(name), opts, report, err);
}

/* The job of a name, if it is one that runs by itself. */
static const struct mr_job *find_job(const char *name)
{
    const struct job_entry *e = jobs_find(name);
    return e ? e->job : NULL;
}

int job_run_resume(struct cli *cli, const struct args *args, struct err *err)
{
    struct job_command c = {.cli = cli, .args = args};
    struct mr_report *report = NULL;
    struct mr_options *o = &c.options;
    int rc;
    c.history = job_history_dir(cli);
    o->history_dir = c.history;
    o->world = cli->world;
    o->cancel = interrupt_watch();
    o->progress = job_run_progress;
    o->progress_ctx = &c;
    progress_start(&c.progress, cli, "job");
    rc = open_store(&c, err);
    if (!rc)
        rc = job_history_open(cli, &c.history_files, err);
    o->keyring = c.history_files.keyring;
    if (!rc)
        rc = mr_resume(o, args->words[0], find_job, &report, err);
    progress_end(&c.progress);
    if (report) {
        job_run_notes(report, err);
        if (!rc)
            job_run_report(&c, report);
    } else if (rc == ERR_NOTFOUND) {
        err_hint(err, "see: quarry job list");
    }
    mr_report_free(report);
    job_history_close(&c.history_files);
    mem_free(c.history);
    mem_free(c.target);
    mem_free(c.key_file);
    return rc;
}

int job_run_run(struct cli *cli, const struct args *args, struct err *err)
{
    struct job_command c = {.cli = cli, .args = args};
    int rc = parse_run(&c, err);
    if (!rc)
        rc = run_job(&c, err);
    free_settings(c.params);
    free_settings(c.files);
    mem_free(c.inputs);
    mem_free(c.outputs);
    job_history_close(&c.history_files);
    mem_free(c.history);
    mem_free(c.target);
    mem_free(c.key_file);
    buf_close(&c.saw);
    return rc;
}
