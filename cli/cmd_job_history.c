/* quarry job list, history, status, counters, kill: past and present runs, from
 * the job master of a cluster or the history files of a directory.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/crypt/keyring.h"
#include "base/runtime/world.h"
#include "cli/cli.h"
#include "cli/cmd_job.h"
#include "cli/command.h"
#include "cli/remote_call.h"
#include "cli/table_printer.h"
#include "mapreduce/job_history.h"
#include "mapreduce/records/files.h"

/* Ended jobs in a list that nobody asked to be longer. */
#define ENDED_SHOWN 10

char *job_history_dir(const struct cli *cli)
{
    struct buf b = BUF_INIT;
    const char *home = getenv("HOME");
    if (strncmp(cli->target, "file:", 5) == 0)
        buf_printf(&b, "%s/jobs", cli_directory(cli));
    else
        buf_printf(&b, "%s/.quarry/jobs/%s", home && *home ? home : ".",
                   cli->target);
    return buf_take(&b);
}

int job_history_open(struct cli *cli, struct job_files *out, struct err *err)
{
    struct buf path = BUF_INIT;
    struct master_keys *masters;
    int rc;
    *out = (struct job_files){.world = cli->world};
    if (strncmp(cli->target, "file:", 5) != 0)
        return ERR_OK;
    buf_printf(&path, "%s/KEYS", cli_directory(cli));
    rc = cli_master_keys(cli, &masters, err);
    /* Keys are made by who first writes to tables. */
    if (!rc)
        rc = keyring_open(cli->world,
                          keyring_world_place(cli->world, buf_cstr(&path)),
                          masters, false, &out->keyring, err);
    if (rc)
        err_wrap(err, "%s", cli->target);
    buf_close(&path);
    return rc;
}

void job_history_close(struct job_files *f)
{
    keyring_unref(f->keyring);
    f->keyring = NULL;
}

static const struct sheet_column list_columns[] = {
    {"job", SHEET_TEXT},     {"name", SHEET_TEXT},      {"state", SHEET_TEXT},
    {"started", SHEET_TIME}, {"seconds", SHEET_NUMBER}, {"done", SHEET_NUMBER},
    {"tasks", SHEET_NUMBER}, {"failed", SHEET_NUMBER},  {"by", SHEET_TEXT},
};

static double seconds_of(struct cli *cli, const struct job_summary *j)
{
    uint64_t end = j->ended_us ? j->ended_us : world_now_us(cli->world);
    return end > j->started_us ? (double)(end - j->started_us) / 1e6 : 0;
}

static void
add_summary(struct cli *cli, struct sheet *s, const struct job_summary *j)
{
    sheet_add_str(s, j->id);
    sheet_add_str(s, j->name);
    sheet_add_str(s, job_state_name(j->state));
    sheet_add_u64(s, j->started_us);
    sheet_addf(s, "%.1f", seconds_of(cli, j));
    sheet_add_u64(s, j->tasks_done);
    sheet_add_u64(s, j->tasks_total);
    sheet_add_u64(s, j->attempts_failed);
    sheet_add_str(s, j->principal ? j->principal : "");
}

/* Those that the job master of a cell knows, or those of the history here. */
static int load_jobs(struct cli *cli,
                     const struct args *args,
                     size_t ended_max,
                     struct job_summary **jobs,
                     size_t *count,
                     struct err *err)
{
    struct job_files files;
    char *dir;
    int rc;
    if (job_cell_asked(cli, args))
        return job_cell_list(cli, args, ended_max, jobs, count, err);
    dir = job_history_dir(cli);
    rc = job_history_open(cli, &files, err);
    if (!rc)
        rc = job_history_list(&files, dir, jobs, count, err);
    job_history_close(&files);
    mem_free(dir);
    return rc;
}

/* The jobs that run and the newest of the others, up to @ended_max of them. */
static int list_jobs(struct cli *cli,
                     const struct args *args,
                     size_t ended_max,
                     struct err *err)
{
    struct job_summary *jobs;
    struct sheet s;
    size_t count;
    size_t ended = 0;
    int rc = load_jobs(cli, args, ended_max, &jobs, &count, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < count; i++)
        ended += jobs[i].state != JOB_RUNNING;
    sheet_init(&s, list_columns, ARRAY_LEN(list_columns));
    for (size_t i = 0; i < count; i++) {
        if (jobs[i].state == JOB_RUNNING || ended <= ended_max)
            add_summary(cli, &s, &jobs[i]);
        ended -= jobs[i].state != JOB_RUNNING;
    }
    sheet_print(&s, cli->format);
    sheet_close(&s);
    job_summaries_free(jobs, count);
    return ERR_OK;
}

int job_run_list(struct cli *cli, const struct args *args, struct err *err)
{
    uint64_t ended_max = ENDED_SHOWN;
    int rc = args_number(args, "ended", 0, UINT32_MAX, &ended_max, err);
    return rc ? rc : list_jobs(cli, args, (size_t)ended_max, err);
}

int job_run_history(struct cli *cli, const struct args *args, struct err *err)
{
    return list_jobs(cli, args, SIZE_MAX, err);
}

static int get_job(struct cli *cli,
                   const struct args *args,
                   struct job_summary **out,
                   struct err *err)
{
    const char *id = args->word_count ? args->words[0] : "last";
    struct job_files files = {.world = cli->world};
    char *dir = job_history_dir(cli);
    int rc;
    if (job_cell_asked(cli, args)) {
        rc = job_cell_get(cli, args, id, out, err);
    } else {
        rc = job_history_open(cli, &files, err);
        if (!rc)
            rc = job_history_get(&files, dir, id, out, err);
    }
    job_history_close(&files);
    if (rc == ERR_NOTFOUND)
        err_hint(err, "see: quarry job history");
    mem_free(dir);
    return rc;
}

static void print_list_of(const char *title, char *const *lines, size_t count)
{
    for (size_t i = 0; i < count; i++)
        printf("%-9s %s\n", i ? "" : title, lines[i]);
}

static int64_t counter_of(const struct job_summary *j, const char *name)
{
    for (size_t i = 0; i < j->counter_count; i++)
        if (strcmp(j->counters[i].name, name) == 0)
            return j->counters[i].value;
    return 0;
}

/* Of maps whose input was known to be on some machine. */
static void print_places(const struct job_summary *j)
{
    long long near = counter_of(j, "map.tasks_local");
    long long far = counter_of(j, "map.tasks_remote");
    if (near + far > 0)
        printf("%-9s %lld of %lld map tasks ran beside their input\n", "near",
               near, near + far);
}

/* Of what reduces read from other machines. */
static void print_fetched(const struct job_summary *j)
{
    long long far = counter_of(j, "shuffle.fetched_bytes");
    long long early = counter_of(j, "shuffle.early_bytes");
    if (far > 0)
        printf("%-9s %lld of %lld bytes from other machines came early, while "
               "maps ran\n",
               "fetched", early, far);
}

/* One line a phase that has ended. */
static void print_phases(const struct job_summary *j)
{
    static const struct sheet_column columns[] = {
        {"phase", SHEET_TEXT},          {"seconds", SHEET_NUMBER},
        {"tasks", SHEET_NUMBER},        {"attempts", SHEET_NUMBER},
        {"mean_seconds", SHEET_NUMBER}, {"longest_seconds", SHEET_NUMBER},
    };
    struct sheet s;
    if (j->phase_count == 0)
        return;
    putchar('\n');
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < j->phase_count; i++) {
        const struct job_phase *p = &j->phases[i];
        sheet_add_str(&s, p->name);
        sheet_addf(&s, "%.3f", (double)(p->ended_us - p->started_us) / 1e6);
        sheet_add_u64(&s, p->tasks);
        sheet_add_u64(&s, p->attempts);
        sheet_addf(&s, "%.3f", (double)p->mean_us / 1e6);
        sheet_addf(&s, "%.3f", (double)p->longest_us / 1e6);
    }
    sheet_print(&s, FORMAT_TEXT);
    sheet_close(&s);
}

int job_run_status(struct cli *cli, const struct args *args, struct err *err)
{
    struct job_summary *j;
    struct sheet s;
    int rc = get_job(cli, args, &j, err);
    if (rc)
        return rc;
    sheet_init(&s, list_columns, ARRAY_LEN(list_columns));
    add_summary(cli, &s, j);
    sheet_print(&s, cli->format);
    sheet_close(&s);
    if (cli->format == FORMAT_TEXT) {
        putchar('\n');
        if (j->state == JOB_RUNNING)
            printf("%-9s %s\n", "phase", j->phase);
        if (j->waits && j->state == JOB_RUNNING)
            printf("%-9s %s\n", "waits", j->waits);
        if (j->state == JOB_LOST)
            printf("%-9s its process has died; quarry job resume %s\n", "lost",
                   j->id);
        print_list_of("input", j->inputs, j->input_count);
        print_list_of("output", j->outputs, j->output_count);
        print_list_of("note", j->notes, j->note_count);
        if (j->error)
            printf("%-9s %s\n", "error", j->error);
        print_places(j);
        print_fetched(j);
        print_phases(j);
    }
    job_summaries_free(j, 1);
    return ERR_OK;
}

int job_run_counters(struct cli *cli, const struct args *args, struct err *err)
{
    static const struct sheet_column columns[] = {{"counter", SHEET_TEXT},
                                                  {"value", SHEET_NUMBER}};
    struct job_summary *j;
    struct sheet s;
    int rc = get_job(cli, args, &j, err);
    if (rc)
        return rc;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < j->counter_count; i++) {
        sheet_add_str(&s, j->counters[i].name);
        sheet_addf(&s, "%" PRId64, j->counters[i].value);
    }
    sheet_print(&s, cli->format);
    sheet_close(&s);
    job_summaries_free(j, 1);
    return ERR_OK;
}

int job_run_kill(struct cli *cli, const struct args *args, struct err *err)
{
    struct job_files files = {.world = cli->world};
    char *dir = job_history_dir(cli);
    int rc;
    if (job_cell_asked(cli, args)) {
        rc = job_cell_kill(cli, args, args->words[0], err);
    } else {
        rc = job_history_open(cli, &files, err);
        if (!rc)
            rc = job_history_kill(&files, dir, args->words[0], err);
    }
    job_history_close(&files);
    if (rc == ERR_NOTFOUND)
        err_hint(err, "see: quarry job list");
    mem_free(dir);
    return rc;
}
