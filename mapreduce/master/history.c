/* job.json: written by the running job, read by the commands for jobs. Replaced
 * whole, so that a reader never sees half of it. A job whose process is gone is
 * lost: its file cannot say so itself. */
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "mapreduce/job_history.h"
#include "mapreduce/master/job_run.h"
#include "mapreduce/records/files.h"

#define JOB_JSON_BYTES_MAX ((uint64_t)16 << 20)
/* "20261121-030500" of an id. */
#define ID_SECOND_BYTES 15

static const char *const state_names[] = {
    [JOB_RUNNING] = "running", [JOB_SUCCEEDED] = "succeeded",
    [JOB_FAILED] = "failed",   [JOB_KILLED] = "killed",
    [JOB_LOST] = "lost",
};

const char *job_state_name(enum job_state s)
{
    return state_names[s];
}

/* --- encoding ------------------------------------------------------------ */

/* Texts of a job may hold any bytes; JSON holds UTF-8. */
static json_t *history_text(const char *s)
{
    json_t *j = s ? json_string(s) : json_null();
    struct buf safe = BUF_INIT;
    if (j)
        return j;
    for (; *s; s++)
        buf_append_byte(&safe, (unsigned char)*s < 0x80 ? *s : '?');
    j = json_string(buf_cstr(&safe));
    buf_close(&safe);
    return j;
}

static json_t *history_texts(char *const *list, size_t count)
{
    json_t *j = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(j, history_text(list[i]));
    return j;
}

static void put_number(json_t *j, const char *name, uint64_t v)
{
    json_object_set_new(j, name, json_integer((json_int_t)v));
}

static json_t *phases_to_json(const struct job_summary *s)
{
    json_t *list = json_array();
    for (size_t i = 0; i < s->phase_count; i++) {
        const struct job_phase *p = &s->phases[i];
        json_t *j = json_object();
        json_object_set_new(j, "name", history_text(p->name));
        put_number(j, "started_us", p->started_us);
        put_number(j, "ended_us", p->ended_us);
        put_number(j, "tasks", p->tasks);
        put_number(j, "attempts", p->attempts);
        put_number(j, "mean_us", p->mean_us);
        put_number(j, "longest_us", p->longest_us);
        json_array_append_new(list, j);
    }
    return list;
}

static json_t *summary_to_json(const struct job_summary *s)
{
    json_t *j = json_object();
    json_t *counters = json_object();
    json_object_set_new(j, "id", history_text(s->id));
    json_object_set_new(j, "name", history_text(s->name));
    if (s->principal && *s->principal)
        json_object_set_new(j, "principal", history_text(s->principal));
    json_object_set_new(j, "state", history_text(job_state_name(s->state)));
    json_object_set_new(j, "phase", history_text(s->phase));
    put_number(j, "started_us", s->started_us);
    put_number(j, "ended_us", s->ended_us);
    put_number(j, "tasks_total", s->tasks_total);
    put_number(j, "tasks_done", s->tasks_done);
    put_number(j, "tasks_running", s->tasks_running);
    put_number(j, "attempts_failed", s->attempts_failed);
    put_number(j, "pid", s->pid);
    json_object_set_new(j, "waits", history_text(s->waits));
    json_object_set_new(j, "error", history_text(s->error));
    json_object_set_new(j, "hint", history_text(s->hint));
    if (s->missing)
        json_object_set_new(j, "missing", history_text(s->missing));
    json_object_set_new(j, "code", json_integer(s->code));
    json_object_set_new(j, "phases", phases_to_json(s));
    json_object_set_new(j, "inputs", history_texts(s->inputs, s->input_count));
    json_object_set_new(j, "outputs",
                        history_texts(s->outputs, s->output_count));
    for (size_t i = 0; i < s->counter_count; i++)
        json_object_set_new(counters, s->counters[i].name,
                            json_integer(s->counters[i].value));
    json_object_set_new(j, "counters", counters);
    json_object_set_new(j, "notes", history_texts(s->notes, s->note_count));
    return j;
}

void job_summary_encode(const struct job_summary *job, struct buf *out)
{
    json_t *j = summary_to_json(job);
    char *s = json_dumps(j, JSON_INDENT(2));
    buf_append_str(out, s ? s : "{}");
    buf_append_byte(out, '\n');
    free(s);
    json_decref(j);
}

/* --- decoding ------------------------------------------------------------ */

static char *get_text(const json_t *j, const char *name)
{
    const char *s = json_string_value(json_object_get(j, name));
    return s ? mem_strdup(s) : NULL;
}

static uint64_t get_number(const json_t *j, const char *name)
{
    json_int_t v = json_integer_value(json_object_get(j, name));
    return v < 0 ? 0 : (uint64_t)v;
}

static char **get_texts(const json_t *j, const char *name, size_t *count)
{
    const json_t *list = json_object_get(j, name);
    char **out = mem_zalloc(json_array_size(list) + 1, sizeof(char *));
    *count = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *s = json_string_value(json_array_get(list, i));
        out[(*count)++] = mem_strdup(s ? s : "");
    }
    return out;
}

static void get_counters(const json_t *j, struct job_summary *s)
{
    json_t *all = json_object_get(j, "counters");
    s->counters = mem_zalloc(json_object_size(all) + 1, sizeof(*s->counters));
    for (void *at = json_object_iter(all); at;
         at = json_object_iter_next(all, at))
        s->counters[s->counter_count++] = (struct mr_counter_value){
            mem_strdup(json_object_iter_key(at)),
            json_integer_value(json_object_iter_value(at))};
}

static void get_phases(const json_t *j, struct job_summary *s)
{
    const json_t *all = json_object_get(j, "phases");
    size_t count = json_array_size(all);
    s->phases = mem_zalloc(count + 1, sizeof(*s->phases));
    for (; s->phase_count < count; s->phase_count++) {
        const json_t *one = json_array_get(all, s->phase_count);
        struct job_phase *p = &s->phases[s->phase_count];
        p->name = get_text(one, "name");
        if (!p->name)
            p->name = mem_strdup("");
        p->started_us = get_number(one, "started_us");
        p->ended_us = get_number(one, "ended_us");
        p->tasks = (unsigned)get_number(one, "tasks");
        p->attempts = (unsigned)get_number(one, "attempts");
        p->mean_us = get_number(one, "mean_us");
        p->longest_us = get_number(one, "longest_us");
    }
}

static bool get_state(const json_t *j, enum job_state *state)
{
    const char *s = json_string_value(json_object_get(j, "state"));
    for (size_t i = 0; s && i < ARRAY_LEN(state_names); i++)
        if (strcmp(s, state_names[i]) == 0) {
            *state = (enum job_state)i;
            return true;
        }
    return false;
}

int job_summary_decode(struct slice bytes,
                       struct job_summary *s,
                       struct err *err)
{
    json_error_t at;
    json_t *j = json_loadb(bytes.data, bytes.len, 0, &at);
    int rc = 0;
    *s = (struct job_summary){.id = NULL};
    if (!j)
        return err_set(err, ERR_CORRUPT, "job.json line %d: %s", at.line,
                       at.text);
    s->id = get_text(j, "id");
    s->name = get_text(j, "name");
    s->principal = get_text(j, "principal");
    s->phase = get_text(j, "phase");
    s->waits = get_text(j, "waits");
    s->error = get_text(j, "error");
    s->hint = get_text(j, "hint");
    s->missing = get_text(j, "missing");
    s->code = (int)json_integer_value(json_object_get(j, "code"));
    get_phases(j, s);
    s->started_us = get_number(j, "started_us");
    s->ended_us = get_number(j, "ended_us");
    s->tasks_total = (unsigned)get_number(j, "tasks_total");
    s->tasks_done = (unsigned)get_number(j, "tasks_done");
    s->tasks_running = (unsigned)get_number(j, "tasks_running");
    s->attempts_failed = (unsigned)get_number(j, "attempts_failed");
    s->pid = get_number(j, "pid");
    s->inputs = get_texts(j, "inputs", &s->input_count);
    s->outputs = get_texts(j, "outputs", &s->output_count);
    s->notes = get_texts(j, "notes", &s->note_count);
    get_counters(j, s);
    if (!s->id || !s->name || !get_state(j, &s->state))
        rc = err_set(err, ERR_CORRUPT, "job.json without id, name or state");
    json_decref(j);
    return rc;
}

static void free_texts(char **list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        mem_free(list[i]);
    mem_free(list);
}

static void summary_close(struct job_summary *s)
{
    mem_free(s->id);
    mem_free(s->name);
    mem_free(s->principal);
    mem_free(s->phase);
    mem_free(s->waits);
    mem_free(s->error);
    mem_free(s->hint);
    mem_free(s->missing);
    for (size_t i = 0; i < s->phase_count; i++)
        mem_free(s->phases[i].name);
    mem_free(s->phases);
    free_texts(s->inputs, s->input_count);
    free_texts(s->outputs, s->output_count);
    free_texts(s->notes, s->note_count);
    for (size_t i = 0; i < s->counter_count; i++)
        mem_free((void *)(uintptr_t)s->counters[i].name);
    mem_free(s->counters);
}

void job_summaries_free(struct job_summary *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        summary_close(&jobs[i]);
    mem_free(jobs);
}

/* --- the running job ----------------------------------------------------- */

/* Of a job that runs, the tasks of its phase; of one that has ended, all that
 * its phases had. */
static void put_tasks(struct job_run *r)
{
    struct job_summary *s = &r->summary;
    bool runs = s->state == JOB_RUNNING;
    s->tasks_total = runs ? r->progress.tasks_total : r->phases_tasks;
    s->tasks_done = runs ? r->progress.tasks_done : r->phases_done;
    s->tasks_running = runs ? r->progress.tasks_running : 0;
    POST(runs || s->tasks_done <= s->tasks_total);
}

void job_history_save(struct job_run *r)
{
    struct buf path = BUF_INIT;
    struct buf json = BUF_INIT;
    if (!r->opts->told && (r->dir_is_temporary || !r->staging_made))
        return;
    r->summary.pid = (uint64_t)getpid();
    put_tasks(r);
    r->summary.attempts_failed = r->progress.attempts_failed;
    job_describe_wait(r);
    if (r->opts->told) {
        r->opts->told(r->opts->told_ctx, &r->summary);
        return;
    }
    job_summary_encode(&r->summary, &json);
    buf_printf(&path, "%s/job.json", r->job_dir);
    /* A history that cannot be written must not stop the job. */
    if (files_replace_sealed(&r->setup.files, buf_cstr(&path), buf_slice(&json),
                             NULL))
        job_note(r, "could not write %s", buf_cstr(&path));
    buf_close(&path);
    buf_close(&json);
}

/* --- asking -------------------------------------------------------------- */

static int history_load(const struct job_files *files,
                        const char *dir,
                        const char *id,
                        struct job_summary *s,
                        struct err *err)
{
    struct buf path = BUF_INIT;
    struct buf bytes = BUF_INIT;
    int rc;
    *s = (struct job_summary){.id = NULL};
    buf_printf(&path, "%s/%s/job.json", dir, id);
    rc = files_read_all_sealed(files, buf_cstr(&path), JOB_JSON_BYTES_MAX,
                               &bytes, err);
    if (rc == 0)
        rc = job_summary_decode(buf_slice(&bytes), s, err);
    buf_close(&path);
    buf_close(&bytes);
    /* A process that is gone runs no job; a cell's master knows about its own.
     */
    if (rc == 0 && !files->fs && s->state == JOB_RUNNING &&
        kill((pid_t)s->pid, 0) != 0 && errno == ESRCH)
        s->state = JOB_LOST;
    return rc;
}

/* Ids made on several machines in one second are in no order. */
static int by_start(const void *a, const void *b)
{
    const struct job_summary *x = a;
    const struct job_summary *y = b;
    if (x->started_us != y->started_us)
        return x->started_us < y->started_us ? -1 : 1;
    return strcmp(x->id, y->id);
}

/* Read the jobs of @names that begin with @prefix, oldest first. Owned. */
static void load_matching(const struct job_files *files,
                          const char *history_dir,
                          char *const *names,
                          size_t name_count,
                          struct slice prefix,
                          struct job_summary **jobs,
                          size_t *count)
{
    *jobs = mem_zalloc(name_count + 1, sizeof(**jobs));
    *count = 0;
    for (size_t i = 0; i < name_count; i++) {
        struct job_summary *s = &(*jobs)[*count];
        if (!slice_starts_with(slice_str(names[i]), prefix))
            continue;
        if (history_load(files, history_dir, names[i], s, NULL) == 0)
            ++*count;
        else
            summary_close(s);
    }
    if (*count > 1)
        qsort(*jobs, *count, sizeof(**jobs), by_start);
}

/* The names in a history; none if there is no such directory. */
static int history_names(const struct job_files *files,
                         const char *history_dir,
                         char ***names,
                         size_t *count,
                         struct err *err)
{
    struct files_info info;
    *names = NULL;
    *count = 0;
    if (files_stat(files, history_dir, &info, NULL))
        return 0;
    return files_list(files, history_dir, names, count, err);
}

int job_history_list(const struct job_files *files,
                     const char *history_dir,
                     struct job_summary **jobs,
                     size_t *count,
                     struct err *err)
{
    char **names;
    size_t name_count;
    int rc = history_names(files, history_dir, &names, &name_count, err);
    *jobs = NULL;
    *count = 0;
    if (rc)
        return rc;
    load_matching(files, history_dir, names, name_count, SLICE_EMPTY, jobs,
                  count);
    files_names_free(names, name_count);
    return 0;
}

/* Jobs of one second are in no order when several machines made their ids:
 * load all of the newest second that has any. */
static void load_newest(const struct job_files *files,
                        const char *history_dir,
                        char *const *names,
                        size_t name_count,
                        struct job_summary **jobs,
                        size_t *count)
{
    struct slice second = SLICE_EMPTY;
    *jobs = NULL;
    *count = 0;
    for (size_t i = name_count; i-- > 0 && *count == 0;) {
        struct slice s = slice_sub(slice_str(names[i]), 0, ID_SECOND_BYTES);
        if (second.len && slice_eq(s, second))
            continue;
        second = s;
        job_summaries_free(*jobs, *count);
        load_matching(files, history_dir, names, name_count, second, jobs,
                      count);
    }
}

int job_history_get(const struct job_files *files,
                    const char *history_dir,
                    const char *id,
                    struct job_summary **job,
                    struct err *err)
{
    struct job_summary *jobs = NULL;
    char **names;
    size_t name_count;
    size_t count = 0;
    bool is_last = strcmp(id, "last") == 0;
    int rc = history_names(files, history_dir, &names, &name_count, err);
    *job = NULL;
    if (rc)
        return rc;
    if (is_last)
        load_newest(files, history_dir, names, name_count, &jobs, &count);
    else
        load_matching(files, history_dir, names, name_count, slice_str(id),
                      &jobs, &count);
    if (count == 0) {
        rc = err_set(err, ERR_NOTFOUND, "there is no job %s", id);
    } else if (count > 1 && !is_last) {
        rc = err_set(err, ERR_INVALID, "%zu jobs begin with %s", count, id);
    } else {
        *job = mem_alloc(sizeof(**job));
        **job = jobs[--count];
    }
    job_summaries_free(jobs, count);
    files_names_free(names, name_count);
    return rc;
}

int job_history_kill(const struct job_files *files,
                     const char *history_dir,
                     const char *id,
                     struct err *err)
{
    struct job_summary *job = NULL;
    struct buf path = BUF_INIT;
    int rc = job_history_get(files, history_dir, id, &job, err);
    if (rc)
        return rc;
    if (job->state != JOB_RUNNING) {
        rc = err_set(err, ERR_INVALID, "job %s does not run: it %s", job->id,
                     job_state_name(job->state));
    } else {
        buf_printf(&path, "%s/%s/kill", history_dir, job->id);
        rc = files_replace(files, buf_cstr(&path), SLICE_EMPTY, err);
    }
    buf_close(&path);
    job_summaries_free(job, 1);
    return rc;
}
