/* quarry job … on a cluster: calls to its job master, and its answers in the
 * form that the same commands have for local jobs. Files and programs of a job
 * are uploaded first.
 */
#include <stdio.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "cli/cli.h"
#include "cli/cluster_orders.h"
#include "cli/cmd_job.h"
#include "cli/interrupt.h"
#include "cli/remote_call.h"
#include "cli/table_printer.h"
#include "gfs-lite/fs.h"
#include "gfs-lite/gfs.h"
#include "jobs/jobs.h"
#include "mapreduce/cluster/job_calls.h"
#include "mapreduce/cluster/job_client.h"
#include "mapreduce/job_history.h"
#include "mapreduce/records/files.h"

/* How long one question waits for news; Ctrl-C is looked at between. */
#define WATCH_US UINT64_C(500000)
/* How long somebody who answers is looked for ($QUARRY_TIMEOUT); */
#define ANSWER_US UINT64_C(30000000)
/* where there is another way to do it. */
#define SOON_US UINT64_C(3000000)

/* --- asking -------------------------------------------------------------- */

bool job_cell_asked(const struct cli *cli, const struct args *args)
{
    return remote_is_cluster(cli->target) && !args_flag(args, "here");
}

/* A question on its way: @fn runs with the client open. */
struct question {
    int (*fn)(struct question *q, struct remote *r, struct err *err);
    struct job_client *client;
    void *ctx;
    uint64_t timeout_us; /* 0: ANSWER_US, or what the user says. */
};

static int with_client(struct remote *r, struct err *err)
{
    struct question *q = r->ctx;
    struct job_client_options o = {.cell = r->addresses,
                                   .cell_count = r->address_count,
                                   .security = r->security};
    int rc = q->timeout_us ? 0 : remote_timeout(ANSWER_US, &o.timeout_us, err);
    PRE(q->fn);
    if (q->timeout_us)
        o.timeout_us = q->timeout_us;
    if (rc)
        return rc;
    /* Calls have bounds of their own; what they ask may take any time. */
    (void)fiber_set_deadline(world_mono_ns(r->world) + o.timeout_us * 1000);
    rc = job_client_open(r->world, &o, &q->client, err);
    (void)fiber_set_deadline(0);
    if (rc)
        remote_unreached(r, err);
    else
        rc = q->fn(q, r, err);
    job_client_close(q->client);
    return rc;
}

static int ask_about(struct job_client *c,
                     enum job_method method,
                     const char *id,
                     uint64_t seen,
                     uint64_t wait_us,
                     struct buf *reply,
                     struct err *err)
{
    const struct job_watch w = {slice_str(id), seen, wait_us};
    struct buf body = BUF_INIT;
    int rc;
    job_watch_put(&w, &body);
    rc = job_client_call(c, method, buf_slice(&body), wait_us, reply, err);
    buf_close(&body);
    return rc;
}

/* --- submitting ---------------------------------------------------------- */

struct submission {
    struct job_command *command;
    char *id;
    struct arena texts; /* Paths and SPECs as the cell has them. */
    struct fs *fs;      /* Once something is uploaded. */
};

static const char *job_cell_keep(struct submission *s, struct buf *b)
{
    const char *text = arena_strdup(&s->texts, buf_cstr(b));
    buf_close(b);
    return text;
}

static int open_files(struct submission *s, struct remote *r, struct err *err)
{
    struct gfs_options o = {.security = r->security, .name = "quarry job"};
    struct buf all = BUF_INIT;
    int rc = 0;
    PRE(r->address_count > 0);
    for (size_t i = 0; i < r->address_count; i++)
        buf_printf(&all, "%s%s", i ? "," : "", r->addresses[i]);
    o.namenodes = buf_cstr(&all);
    if (!s->fs)
        rc = fs_gfs_open(r->world, &o, &s->fs, err);
    buf_close(&all);
    return rc;
}

/* Upload @from below the job's directory; *@to is where it is then. */
static int job_cell_upload(struct submission *s,
                           struct remote *r,
                           const char *from,
                           const char *name,
                           const char **to,
                           struct err *err)
{
    struct buf b = BUF_INIT;
    int rc = open_files(s, r, err);
    PRE(s->id);
    buf_printf(&b, "%s/%s/files/%s", JOBS_ROOT, s->id, name);
    *to = job_cell_keep(s, &b);
    if (rc == 0)
        rc = job_client_upload(r->world, s->fs, from, files_fs_path(*to), err);
    return rc;
}

static int upload_files(struct submission *s,
                        struct remote *r,
                        struct mr_options *o,
                        struct err *err)
{
    struct mr_setting *files = s->command->files;
    int rc = 0;
    if (o->program.object)
        rc = job_cell_upload(s, r, o->program.object, "job.so",
                             &o->program.object, err);
    for (size_t i = 0; i < o->file_count && rc == 0; i++)
        rc = job_cell_upload(s, r, files[i].value, files[i].name,
                             &files[i].value, err);
    return rc;
}

/* Programs of SPECs travel in them. */
static int
inline_inputs(struct submission *s, struct remote *r, struct err *err)
{
    struct job_command *c = s->command;
    int rc = 0;
    for (size_t i = 0; i < c->options.input_count && rc == 0; i++) {
        struct buf b = BUF_INIT;
        rc = mr_spec_inline(c->inputs[i], r->world, &b, err);
        c->inputs[i] = job_cell_keep(s, &b);
    }
    return rc;
}

static int
read_shares(const struct args *args, struct job_submission *s, struct err *err)
{
    uint64_t priority = 0;
    uint64_t weight = 0;
    uint64_t slots = 0;
    int rc = args_number(args, "priority", 0, 1000, &priority, err);
    if (rc == 0)
        rc = args_number(args, "weight", 1, 1000, &weight, err);
    if (rc == 0)
        rc = args_number(args, "slots", 1, 100000, &slots, err);
    s->priority = (int64_t)priority;
    s->weight = (uint32_t)weight;
    s->slots_max = (uint32_t)slots;
    return rc;
}

static int job_cell_submit(struct submission *s,
                           struct question *q,
                           struct remote *r,
                           struct err *err)
{
    struct job_command *c = s->command;
    struct mr_options o = c->options;
    struct job_submission share = {.priority = 0};
    int rc = read_shares(c->args, &share, err);
    if (rc == 0)
        rc = inline_inputs(s, r, err);
    if (rc == 0)
        rc = upload_files(s, r, &o, err);
    if (rc == 0)
        rc = job_client_submit(q->client, &o, s->id,
                               c->entry ? c->entry->name : NULL, &share, err);
    return rc;
}

/* --- waiting ------------------------------------------------------------- */

/* Was anything reduced? */
static bool has_reduced(const struct job_summary *s)
{
    for (size_t i = 0; i < s->counter_count; i++)
        if (strcmp(s->counters[i].name, "reduce.groups") == 0)
            return s->counters[i].value > 0;
    return false;
}

/* The report that a local run would have made. */
static struct mr_report *report_of(struct job_summary *s)
{
    struct mr_report *r = mem_zalloc(1, sizeof(*r));
    r->job_id = mem_strdup(s->id);
    r->elapsed_us = s->ended_us - MIN_OF(s->started_us, s->ended_us);
    r->attempts_failed = s->attempts_failed;
    for (size_t i = 0; i < s->phase_count; i++) {
        if (strcmp(s->phases[i].name, "map") == 0)
            r->map_tasks = s->phases[i].tasks;
        if (strcmp(s->phases[i].name, "reduce") == 0)
            r->reduce_tasks = s->phases[i].tasks;
    }
    /* A map alone and a reduce alone are one attempt, of one phase. */
    if (r->reduce_tasks == 0 && r->map_tasks == 1 && has_reduced(s))
        r->reduce_tasks = 1;
    r->counters = s->counters;
    r->counter_count = s->counter_count;
    r->notes = s->notes;
    r->note_count = s->note_count;
    s->counters = NULL;
    s->counter_count = 0;
    s->notes = NULL;
    s->note_count = 0;
    return r;
}

/* An input that is here and not there: say how it gets there. */
static void
hint_at_files(const struct job_command *c, const char *missing, struct err *err)
{
    for (size_t i = 0; i < c->options.input_count; i++) {
        char *path;
        char *found = job_client_local_file(c->cli->world, c->inputs[i], &path);
        if (found && strcmp(path, missing) == 0)
            err_hint(err,
                     "%s is a file of this machine; the job reads those of the "
                     "cluster: quarry fs put %s %s",
                     found, found, path);
        mem_free(found);
        mem_free(path);
    }
}

static int job_cell_outcome(const struct job_command *c,
                            const struct job_summary *s,
                            struct err *err)
{
    int rc = s->code ? s->code : ERR_ABORTED;
    if (s->state == JOB_SUCCEEDED)
        return 0;
    err_set(err, rc, "%s", s->error ? s->error : "the job failed");
    if (s->missing) /* The first hint stays. */
        hint_at_files(c, s->missing, err);
    if (s->hint)
        err_hint(err, "%s", s->hint);
    err_hint(err, "see: quarry job status %s", s->id);
    return rc;
}

static int
job_cell_finish(struct job_command *c, struct slice json, struct err *err)
{
    struct job_summary *s = mem_zalloc(1, sizeof(*s));
    int rc = job_summary_decode(json, s, err);
    if (rc == 0) {
        struct mr_report *report = report_of(s);
        rc = job_cell_outcome(c, s, err);
        progress_end(&c->progress);
        job_run_notes(report, err);
        if (rc == 0 && !c->report)
            job_run_report(c, report);
        if (c->report)
            *c->report = report;
        else
            mr_report_free(report);
    }
    job_summaries_free(s, 1);
    return rc;
}

static int job_cell_report_left(const char *id, struct err *err)
{
    err_set(err, ERR_CANCELLED, "the job continues without this command");
    err_hint(err, "see: quarry job status %s; to stop it: quarry job kill %s",
             id, id);
    return ERR_CANCELLED;
}

/* The command was interrupted: a job that is a part of it ends, too. */
static int job_cell_leave(const struct job_command *c,
                          struct question *q,
                          const char *id,
                          struct err *err)
{
    int rc;
    if (!c->report)
        return job_cell_report_left(id, err);
    rc = order_kill(q->client, id, err);
    return rc ? rc : err_set(err, ERR_CANCELLED, "job %s was ended", id);
}

static int wait_for_end(struct job_command *c,
                        struct question *q,
                        const char *id,
                        struct err *err)
{
    const atomic_bool *stop = interrupt_watch();
    uint64_t seen = 0;
    for (;;) {
        struct buf reply = BUF_INIT;
        struct job_news n;
        int rc =
            ask_about(q->client, JOB_WATCH, id, seen, WATCH_US, &reply, err);
        if (rc == 0)
            rc = job_news_get(buf_slice(&reply), &n, err);
        if (rc == 0 && n.ended)
            rc = job_cell_finish(c, n.summary, err);
        else if (rc == 0)
            job_run_progress(c, &n.progress);
        buf_close(&reply);
        if (rc || n.ended)
            return rc;
        seen = n.version;
        if (atomic_load(stop))
            return job_cell_leave(c, q, id, err);
    }
}

static int run_question(struct question *q, struct remote *r, struct err *err)
{
    struct job_command *c = q->ctx;
    struct submission s = {.command = c, .id = mr_make_id(r->world)};
    int rc;
    arena_init(&s.texts);
    progress_start(&c->progress, c->cli, "job");
    rc = job_cell_submit(&s, q, r, err);
    fs_close(s.fs);
    if (rc == 0 && args_flag(c->args, "detach")) {
        printf("%s\n", s.id);
        cli_remark(c->cli, "job %s runs; see: quarry job status %s", s.id,
                   s.id);
    } else if (rc == 0) {
        rc = wait_for_end(c, q, s.id, err);
    }
    progress_end(&c->progress);
    arena_close(&s.texts);
    mem_free(s.id);
    return rc;
}

int job_cell_run(struct job_command *c, struct err *err)
{
    struct question q = {.fn = run_question, .ctx = c};
    return remote_run(c->cli, c->args, with_client, &q, err);
}

/* --- telling ------------------------------------------------------------- */

struct list_question {
    size_t ended_max;
    struct job_summary *jobs;
    size_t count;
};

static int list_question(struct question *q, struct remote *r, struct err *err)
{
    struct list_question *l = q->ctx;
    const struct job_list ask = {l->ended_max};
    struct job_texts t = {NULL, 0};
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    int rc;
    (void)r;
    job_list_put(&ask, &body);
    rc = job_client_call(q->client, JOB_LIST, buf_slice(&body), 0, &reply, err);
    if (rc == 0)
        rc = job_texts_get(buf_slice(&reply), &t, err);
    l->jobs = mem_zalloc(t.count + 1, sizeof(*l->jobs));
    for (size_t i = 0; i < t.count && rc == 0; i++)
        rc = job_summary_decode(t.at[i], &l->jobs[l->count++], err);
    mem_free(t.at);
    buf_close(&body);
    buf_close(&reply);
    return rc;
}

int job_cell_list(struct cli *cli,
                  const struct args *args,
                  size_t ended_max,
                  struct job_summary **jobs,
                  size_t *count,
                  struct err *err)
{
    struct list_question l = {.ended_max = ended_max};
    struct question q = {.fn = list_question, .ctx = &l};
    int rc = remote_run(cli, args, with_client, &q, err);
    if (rc) {
        job_summaries_free(l.jobs, l.count);
        return rc;
    }
    *jobs = l.jobs;
    *count = l.count;
    return 0;
}

struct one_question {
    const char *id;
    struct job_summary *job;
};

static int get_question(struct question *q, struct remote *r, struct err *err)
{
    struct one_question *o = q->ctx;
    struct buf reply = BUF_INIT;
    struct job_news n;
    int rc = ask_about(q->client, JOB_WATCH, o->id, 0, 0, &reply, err);
    (void)r;
    if (rc == 0)
        rc = job_news_get(buf_slice(&reply), &n, err);
    if (rc == 0) {
        o->job = mem_zalloc(1, sizeof(*o->job));
        rc = job_summary_decode(n.summary, o->job, err);
    }
    buf_close(&reply);
    return rc;
}

int job_cell_get(struct cli *cli,
                 const struct args *args,
                 const char *id,
                 struct job_summary **job,
                 struct err *err)
{
    struct one_question o = {.id = id};
    struct question q = {.fn = get_question, .ctx = &o};
    int rc = remote_run(cli, args, with_client, &q, err);
    if (rc)
        job_summaries_free(o.job, o.job ? 1 : 0);
    else
        *job = o.job;
    return rc;
}

static int kill_question(struct question *q, struct remote *r, struct err *err)
{
    const struct one_question *o = q->ctx;
    (void)r;
    return order_kill(q->client, o->id, err);
}

int job_cell_kill(struct cli *cli,
                  const struct args *args,
                  const char *id,
                  struct err *err)
{
    struct one_question o = {.id = id};
    struct question q = {.fn = kill_question, .ctx = &o};
    return remote_run(cli, args, with_client, &q, err);
}

struct attempts_question {
    struct job_attempts_ask ask;
    struct buf *bytes;
    struct job_attempts *out;
};

static int
attempts_question(struct question *q, struct remote *r, struct err *err)
{
    struct attempts_question *a = q->ctx;
    struct buf body = BUF_INIT;
    int rc;
    (void)r;
    job_attempts_ask_put(&a->ask, &body);
    rc = job_client_call(q->client, JOB_ATTEMPTS, buf_slice(&body), 0, a->bytes,
                         err);
    if (rc == 0)
        rc = job_attempts_get(buf_slice(a->bytes), a->out, err);
    buf_close(&body);
    return rc;
}

int job_cell_attempts(struct cli *cli,
                      const struct args *args,
                      const char *id,
                      uint64_t after,
                      uint64_t limit,
                      struct buf *bytes,
                      struct job_attempts *out,
                      struct err *err)
{
    struct attempts_question a = {
        .ask = {slice_str(id), after, limit}, .bytes = bytes, .out = out};
    struct question q = {.fn = attempts_question, .ctx = &a};
    return remote_run(cli, args, with_client, &q, err);
}

struct log_question {
    struct job_log_ask ask;
    struct buf *text;
};

static int log_question(struct question *q, struct remote *r, struct err *err)
{
    struct log_question *l = q->ctx;
    struct job_log log;
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    int rc;
    (void)r;
    job_log_ask_put(&l->ask, &body);
    rc = job_client_call(q->client, JOB_LOG, buf_slice(&body), 0, &reply, err);
    if (rc == 0)
        rc = job_log_get(buf_slice(&reply), &log, err);
    if (rc == 0)
        buf_append_slice(l->text, log.text);
    buf_close(&body);
    buf_close(&reply);
    return rc;
}

int job_cell_log(struct cli *cli,
                 const struct args *args,
                 const char *id,
                 const struct attempt_record *a,
                 struct buf *text,
                 struct err *err)
{
    struct log_question l = {
        .ask = {slice_str(id), a->part, a->kind, a->task, a->attempt},
        .text = text};
    struct question q = {.fn = log_question, .ctx = &l};
    return remote_run(cli, args, with_client, &q, err);
}

static void print_workers(struct cli *cli, const struct job_workers *w)
{
    static const struct sheet_column columns[] = {
        {"worker", SHEET_TEXT},  {"address", SHEET_TEXT},
        {"machine", SHEET_TEXT}, {"slots", SHEET_NUMBER},
        {"busy", SHEET_NUMBER},  {"memory", SHEET_BYTES},
        {"used", SHEET_BYTES},   {"state", SHEET_TEXT},
    };
    struct sheet s;
    sheet_init(&s, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < w->count; i++) {
        const struct job_worker *k = &w->at[i];
        sheet_add(&s, k->name);
        sheet_add(&s, k->address);
        sheet_add(&s, k->machine);
        sheet_add_u64(&s, k->slots);
        sheet_add_u64(&s, k->busy);
        sheet_add_u64(&s, k->memory_bytes);
        sheet_add_u64(&s, k->used_bytes);
        sheet_add_str(&s, k->is_silent ? "silent" : "up");
    }
    sheet_print(&s, cli->format);
    sheet_close(&s);
}

static int
workers_question(struct question *q, struct remote *r, struct err *err)
{
    struct job_workers w = {NULL, 0};
    struct buf reply = BUF_INIT;
    int rc =
        job_client_call(q->client, JOB_WORKERS, SLICE_EMPTY, 0, &reply, err);
    if (rc == 0)
        rc = job_workers_get(buf_slice(&reply), &w, err);
    if (rc == 0)
        print_workers(r->cli, &w);
    mem_free(w.at);
    buf_close(&reply);
    return rc;
}

int job_cell_workers(struct cli *cli, const struct args *args, struct err *err)
{
    struct question q = {.fn = workers_question};
    return remote_run(cli, args, with_client, &q, err);
}

static int count_workers(struct question *q, struct remote *r, struct err *err)
{
    size_t *count = q->ctx;
    struct job_workers w = {NULL, 0};
    struct buf reply = BUF_INIT;
    int rc =
        job_client_call(q->client, JOB_WORKERS, SLICE_EMPTY, 0, &reply, err);
    (void)r;
    if (rc == 0)
        rc = job_workers_get(buf_slice(&reply), &w, err);
    for (size_t i = 0; i < w.count && rc == 0; i++)
        *count += !w.at[i].is_silent && w.at[i].slots > 0;
    mem_free(w.at);
    buf_close(&reply);
    return rc;
}

size_t job_cell_worker_count(struct cli *cli, const struct args *args)
{
    size_t count = 0;
    struct question q = {
        .fn = count_workers, .ctx = &count, .timeout_us = SOON_US};
    int rc = remote_run(cli, args, with_client, &q, NULL);
    return rc ? 0 : count;
}
