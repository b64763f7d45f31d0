/* Everything that can be wrong with a job before anything is changed: options,
 * SPECs, parameters, outputs; then directories, the store and the splits. A
 * mistake costs the user a second instead of the hours until the commit. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/core/hash.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "mapreduce/attempt/inline_host.h"
#include "mapreduce/attempt/process_host.h"
#include "mapreduce/master/input_snapshots.h"
#include "mapreduce/master/job_loans.h"
#include "mapreduce/master/job_run.h"
#include "mapreduce/output/bulk_output.h"
#include "mapreduce/output/commit.h"
#include "mapreduce/output/dirs.h"
#include "mapreduce/output/leftovers.h"
#include "mapreduce/sandbox/job_cage.h"
#include "mapreduce/shuffle/collector.h"

/* About the share of the input of one reducer. */
#define BYTES_PER_REDUCER ((uint64_t)256 << 20)
/* Most reducers chosen, and most that may be asked for: each map's index has a
 * line for each, and the journal one for each pair of the two that has run. */
#define REDUCERS_CHOSEN_MAX 256
#define REDUCERS_MAX        4096
#define SPLIT_BYTES         ((uint64_t)64 << 20)
/* Input of a joined split at most: an attempt that fails loses that much work.
 */
#define JOINED_BYTES_MAX ((uint64_t)256 << 20)
/* Below this a second worker would cost more than it saves. */
#define SMALL_BYTES ((uint64_t)4 << 20)
#define WORKERS_MAX 256
/* How long the work of a dead job is kept for a resume. */
#define RESUME_US_MAX ((uint64_t)7 * 24 * 3600 * 1000000)
#define NAME_BYTES                                                             \
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

/* Is it a file between two jobs of a driver? No user's file is there. */
static bool is_scratch(const struct mr_options *o, const struct mr_spec *s)
{
    size_t n = o->history_dir ? strlen(o->history_dir) : 0;
    return o->scratch_key && n > 0 && s->kind == MR_SPEC_RECORDS && s->path &&
           strncmp(s->path, o->history_dir, n) == 0 &&
           strncmp(s->path + n, MR_SCRATCH_PREFIX, strlen(MR_SCRATCH_PREFIX)) ==
               0;
}

static int parse_specs(struct mr_spec **out,
                       const char *const *texts,
                       size_t count,
                       bool output,
                       struct job_run *r,
                       struct err *err)
{
    int rc = 0;
    *out = mem_zalloc(count + 1, sizeof(**out));
    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = mr_spec_parse(&(*out)[i], texts[i], output, r->setup.world, err);
        if (rc)
            err_wrap(err, output ? "output" : "input");
        if (!output && (*out)[i].kind == MR_SPEC_TABLE)
            r->setup.reads_tables = true;
        (*out)[i].scratch = is_scratch(r->opts, &(*out)[i]);
    }
    return rc;
}

char *mr_make_id(struct world *w)
{
    char text[48];
    uint64_t now = world_now_us(w);
    time_t seconds = (time_t)(now / 1000000);
    struct tm tm;
    size_t n;
    gmtime_r(&seconds, &tm);
    n = strftime(text, sizeof(text), "%Y%m%d-%H%M%S", &tm);
    /* The fraction of the second, so that ids sort by time within it. */
    snprintf(text + n, sizeof(text) - n, "-%02x%02x",
             (unsigned)(now % 1000000 * 256 / 1000000),
             (unsigned)(hash_mix(now ^ world_random(w)) & 0xff));
    return mem_strdup(text);
}

static char *prepare_format(const char *fmt, ...) PRINTF_LIKE(1, 2);

static char *prepare_format(const char *fmt, ...)
{
    struct buf b = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&b, fmt, ap);
    va_end(ap);
    return buf_take(&b);
}

/* A directory in a public place, under a name that nobody can guess and take.
 */
static char *prepare_temporary(const struct job_run *r)
{
    const char *tmp = getenv("TMPDIR");
    uint64_t name[2];
    world_random_bytes(r->setup.world, name, sizeof(name));
    return prepare_format("%s/quarry-job-%s-%016llx%016llx", tmp ? tmp : "/tmp",
                          r->setup.job_id, (unsigned long long)name[0],
                          (unsigned long long)name[1]);
}

static void name_directories(struct job_run *r)
{
    const struct mr_options *o = r->opts;
    const char *tmp = getenv("TMPDIR");
    r->dir_is_temporary = o->history_dir == NULL;
    if (o->history_dir)
        r->job_dir = prepare_format("%s/%s", o->history_dir, r->setup.job_id);
    else
        r->job_dir = prepare_temporary(r);
    r->keep_dir = prepare_format("%s/work", r->job_dir);
    /* Spills are files of the machine that runs the attempts. */
    if (o->fs)
        r->setup.work_dir = prepare_format("%s/quarry-job-%s",
                                           tmp ? tmp : "/tmp", r->setup.job_id);
    else
        r->setup.work_dir = mem_strdup(r->keep_dir);
    r->setup.staging = mem_zalloc(o->output_count + 1, sizeof(char *));
    for (unsigned i = 0; i < o->output_count; i++) {
        struct buf path = BUF_INIT;
        commit_staging_path(&r->setup.outputs[i], i, r->setup.job_id,
                            r->keep_dir, &path);
        r->setup.staging[i] = buf_take(&path);
    }
}

static int check_options(const struct mr_options *o, struct err *err)
{
    const struct mr_program *p = &o->program;
    unsigned programs = 0u + (p->job != NULL) + (p->object != NULL) +
                        (p->mapper || p->reducer) + (p->saw != NULL);
    if (programs != 1)
        return err_set(err, ERR_INVALID, "a job needs exactly one program");
    if (o->input_count == 0)
        return err_set(err, ERR_INVALID, "the job has no input");
    if (o->output_count == 0)
        return err_set(err, ERR_INVALID, "the job has no output");
    if (o->workers > WORKERS_MAX)
        return err_set(err, ERR_INVALID, "at most %d workers", WORKERS_MAX);
    if (o->reducers > REDUCERS_MAX)
        return err_set(err, ERR_INVALID, "at most %d reducers", REDUCERS_MAX);
    return 0;
}

/* A side file must exist now, and its name be valid as a variable. */
static int check_files(const struct job_run *r, struct err *err)
{
    const struct mr_options *o = r->opts;
    for (size_t i = 0; i < o->file_count; i++) {
        const struct mr_setting *f = &o->files[i];
        struct files_info info;
        int rc;
        if (f->name[strspn(f->name, NAME_BYTES)] || !f->name[0])
            return err_set(err, ERR_INVALID,
                           "side file %s: its name may have letters, digits "
                           "and _",
                           f->name);
        rc = files_stat(&r->setup.files, f->value, &info, err);
        if (rc) {
            err_wrap(err, "side file %s", f->name);
            return rc;
        }
    }
    return 0;
}

static bool has_tables(const struct job_run *r)
{
    bool tables = r->setup.reads_tables;
    for (size_t i = 0; i < r->setup.output_count; i++)
        tables = tables || r->setup.outputs[i].kind == MR_SPEC_TABLE;
    return tables;
}

static int check_specs(const struct job_run *r, struct err *err)
{
    const struct mr_options *o = r->opts;
    if (has_tables(r) && !o->target && !o->store)
        return err_set(err, ERR_INVALID,
                       "a table is named, but no store to find it in");
    for (size_t i = 0; i < r->setup.output_count; i++) {
        /* A job that died while publishing may have made some of them. */
        bool may_exist = o->overwrite || (r->replay && r->replay->committing);
        int rc =
            commit_check(&r->setup.files, &r->setup.outputs[i], may_exist, err);
        if (rc)
            return rc;
        for (size_t j = 0; j < i; j++)
            if (strcmp(r->setup.outputs[i].path, r->setup.outputs[j].path) == 0)
                return err_set(err, ERR_INVALID, "output %s is named twice",
                               r->setup.outputs[i].path);
    }
    return 0;
}

static int
no_parameter(const struct job_traits *t, const char *name, struct err *err)
{
    struct buf all = BUF_INIT;
    for (size_t i = 0; i < t->param_count; i++)
        buf_printf(&all, "%s%s", i ? ", " : "", t->params[i].name);
    err_set(err, ERR_INVALID, "job %s has no parameter %s%s%s", t->name, name,
            all.len ? "; there are: " : "", buf_cstr(&all));
    buf_close(&all);
    return ERR_INVALID;
}

/* Every parameter given must be declared, every required one given. */
static int check_params(const struct job_run *r, struct err *err)
{
    const struct job_traits *t = &r->host->traits;
    for (size_t i = 0; i < r->opts->param_count && !t->any_params; i++) {
        size_t k = 0;
        while (k < t->param_count &&
               strcmp(t->params[k].name, r->opts->params[i].name) != 0)
            k++;
        if (k == t->param_count)
            return no_parameter(t, r->opts->params[i].name, err);
    }
    for (size_t k = 0; k < t->param_count; k++) {
        size_t i = 0;
        while (i < r->opts->param_count &&
               strcmp(t->params[k].name, r->opts->params[i].name) != 0)
            i++;
        if (i == r->opts->param_count && !t->params[k].fallback)
            return err_set(err, ERR_INVALID, "job %s needs parameter %s: %s",
                           t->name, t->params[k].name,
                           t->params[k].help ? t->params[k].help : "");
    }
    return 0;
}

static void fill_setup(struct job_run *r)
{
    const struct mr_options *o = r->opts;
    struct job_setup *s = &r->setup;
    uint64_t each;
    s->opts = o;
    s->files = (struct job_files){s->world, o->fs, o->keyring};
    s->target = o->target;
    s->remote = o->target && strncmp(o->target, "file:", 5) != 0;
    s->output_count = o->output_count;
    s->user_files = !o->open_host;
    if (r->replay)
        s->job_id = mem_strdup(r->replay->begin.job_id);
    else
        s->job_id = o->id ? mem_strdup(o->id) : mr_make_id(s->world);
    s->job_time_us = r->replay ? r->replay->begin.job_time_us
                               : (int64_t)world_now_us(s->world);
    s->encrypts = o->encrypts;
    if (s->encrypts)
        world_random_bytes(s->world, s->spill_key, sizeof(s->spill_key));
    if (o->scratch_key)
        memcpy(s->scratch_key, o->scratch_key, sizeof(s->scratch_key));
    s->worker_count = o->in_process ? 1 : o->workers;
    each = o->memory_bytes / s->worker_count;
    s->slot_bytes =
        MAX_OF(each, (uint64_t)COLLECTOR_BYTES_MIN) & ~(uint64_t)4095;
    s->heap_bytes = o->heap_bytes;
    s->split_bytes = o->split_bytes ? o->split_bytes : SPLIT_BYTES;
}

int job_prepare(struct job_run *r, struct err *err)
{
    const struct mr_options *o = r->opts;
    int rc = check_options(o, err);
    if (rc)
        return rc;
    fill_setup(r);
    rc =
        parse_specs(&r->setup.inputs, o->inputs, o->input_count, false, r, err);
    if (rc == 0)
        rc = parse_specs(&r->setup.outputs, o->outputs, o->output_count, true,
                         r, err);
    if (rc == 0)
        rc = check_specs(r, err);
    if (rc == 0)
        rc = check_files(r, err);
    if (rc)
        return rc;
    name_directories(r);
    if (o->open_host)
        rc = o->open_host(o->host_ctx, &r->setup, &r->host, err);
    else if (o->in_process)
        rc = inline_host_open(&r->setup, &r->host, err);
    else
        rc = process_host_open(&r->setup, r->setup.worker_count, &r->host, err);
    return rc ? rc : check_params(r, err);
}

/* --- the plan ------------------------------------------------------------ */

static int make_table(struct job_run *r, const char *name, struct err *err)
{
    const struct job_traits *t = &r->host->traits;
    struct quarry_family_spec *f;
    int rc;
    f = mem_zalloc(t->family_count + 1, sizeof(*f));
    for (size_t i = 0; i < t->family_count; i++)
        f[i] = (struct quarry_family_spec){t->families[i], ""};
    rc = quarry_table_create(r->store, name, f, t->family_count, NULL, 0, err);
    mem_free(f);
    return rc;
}

/* Tables that are written must exist now, not when the work is done. */
static int check_tables(struct job_run *r, struct err *err)
{
    for (size_t i = 0; i < r->setup.output_count; i++) {
        const struct mr_spec *s = &r->setup.outputs[i];
        struct quarry_table *t = NULL;
        int rc;
        if (s->kind != MR_SPEC_TABLE)
            continue;
        if (r->host->traits.no_table_output) {
            err_set(err, ERR_INVALID,
                    "output table %s: job %s writes lines, no rows", s->path,
                    r->host->traits.name);
            err_hint(err, "give it file:DIR or records:DIR; quarry load brings "
                          "record files into a table");
            return ERR_INVALID;
        }
        rc = quarry_table_open(r->store, s->path, &t, err);
        if (t)
            quarry_table_close(t);
        if (rc == ERR_NOTFOUND && r->host->traits.family_count > 0)
            rc = make_table(r, s->path, err);
        if (rc) {
            err_wrap(err, "output table %s", s->path);
            return rc;
        }
    }
    return 0;
}

/* Begin the loads of tables: where attempts write, and what the commit ends. */
static int begin_loads(struct job_run *r, struct err *err)
{
    int rc = 0;
    for (unsigned i = 0; i < r->setup.output_count && rc == 0; i++)
        if (r->setup.outputs[i].bulk)
            rc = bulk_output_begin(&r->setup.files, r->setup.staging[i],
                                   r->store, r->setup.outputs[i].path,
                                   r->setup.job_id, i, err);
    return rc;
}

static int open_own_store(struct job_run *r,
                          const struct quarry_options *o,
                          struct err *err)
{
    const struct mr_options *opts = r->opts;
    return opts->open_store
               ? opts->open_store(opts->open_store_ctx, opts->target, o,
                                  &r->own_store, err)
               : quarry_open(opts->target, o, &r->own_store, err);
}

static int open_store(struct job_run *r, struct err *err)
{
    struct quarry_options o = {.must_exist = true};
    int rc = 0;
    if (!has_tables(r))
        return 0;
    if (r->opts->store_options)
        o = *r->opts->store_options;
    o.act_as = r->opts->principal;
    o.world = r->setup.world;
    r->store = r->opts->store;
    if (!r->store) {
        rc = open_own_store(r, &o, err);
        r->store = r->own_store;
    }
    if (rc == 0)
        rc = check_tables(r, err);
    if (rc == 0)
        rc = begin_loads(r, err);
    if (rc == 0)
        rc = job_loans_take(r, err);
    /* A cell's tables are read by attempts through connections of their own. */
    if (rc == 0 && r->setup.reads_tables && !r->opts->in_process &&
        !r->setup.remote) {
        rc = quarry_pin(r->store, err);
        r->pinned = rc == 0;
    }
    if (rc == 0 && r->opts->in_process)
        inline_host_set_store(r->host, r->store);
    return rc;
}

/* A dead job will not be resumed once another one writes its outputs, or after
 * a week. */
static bool is_unwanted(void *ctx, const char *job_id)
{
    struct job_run *r = ctx;
    uint64_t now = world_now_us(r->setup.world);
    struct job_summary *job = NULL;
    bool unwanted = false;
    if (job_history_get(&r->setup.files, r->opts->history_dir, job_id, &job,
                        NULL))
        return true;
    for (size_t i = 0; i < job->output_count; i++)
        for (size_t k = 0; k < r->opts->output_count; k++)
            unwanted =
                unwanted || strcmp(job->outputs[i], r->opts->outputs[k]) == 0;
    unwanted = unwanted || now > job->started_us + RESUME_US_MAX;
    job_summaries_free(job, 1);
    return unwanted;
}

/* So that the job's history says how much its code could reach. */
static void note_sandbox(struct job_run *r)
{
    const struct mr_options *o = r->opts;
    if (job_trust_of(&o->program) == JOB_TRUSTED)
        return;
    if (o->no_sandbox)
        job_note(r, "its code ran without a sandbox (--no-sandbox)");
    else if (o->weak_sandbox && r->setup.user_files)
        job_note(r, "its code could run without namespaces (--weak-sandbox)");
}

/* Remove what dead jobs left where this one is to write. */
static void remove_leftovers(struct job_run *r)
{
    struct buf removed = BUF_INIT;
    struct slice rest;
    for (size_t i = 0; i < r->setup.output_count; i++)
        if (r->setup.outputs[i].kind != MR_SPEC_TABLE)
            leftovers_remove_staging(&r->setup.files, r->setup.outputs[i].path,
                                     &removed);
    if (!r->dir_is_temporary)
        leftovers_remove_work(&r->setup.files, r->opts->history_dir,
                              is_unwanted, r, JOB_HISTORY_JOBS_MAX, &removed);
    rest = buf_slice(&removed);
    while (rest.len > 0) {
        size_t n = slice_find_byte(rest, '\n');
        job_note(r, "removed %.*s, which a job that died had left", (int)n,
                 rest.data);
        rest = slice_sub(rest, MIN_OF(n + 1, rest.len), rest.len);
    }
    buf_close(&removed);
}

/* Own the directories of the process that died. */
static int take_directories(struct job_run *r, struct err *err)
{
    const struct job_files *f = &r->setup.files;
    size_t count = r->setup.output_count;
    int rc;
    r->locks = mem_zalloc(count + 1, sizeof(struct file_lock *));
    rc = leftovers_take(f, r->keep_dir, &r->locks[count], err);
    if (rc == 0 && !r->locks[count] && !f->fs)
        rc = err_set(err, ERR_NOTFOUND, "what the job had done is gone");
    if (rc == ERR_BUSY)
        rc = err_set(err, ERR_BUSY, "the job still runs");
    r->staging_made = rc == 0;
    for (size_t i = 0; i < count && rc == 0; i++)
        if (r->setup.outputs[i].kind != MR_SPEC_TABLE)
            rc = leftovers_take(f, r->setup.staging[i], &r->locks[i], err);
    return rc;
}

static int make_directories(struct job_run *r, struct err *err)
{
    const struct job_files *f = &r->setup.files;
    size_t count = r->setup.output_count;
    int rc;
    r->locks = mem_zalloc(count + 1, sizeof(struct file_lock *));
    r->staging_made = true;
    rc = leftovers_make(f, r->keep_dir, &r->locks[count], err);
    for (size_t i = 0; i < count && rc == 0; i++) {
        const char *staging = r->setup.staging[i];
        if (r->setup.outputs[i].kind == MR_SPEC_TABLE)
            rc = dirs_make(f, staging, err);
        else
            rc = leftovers_make(f, staging, &r->locks[i], err);
        if (rc == 0 && r->setup.outputs[i].kind != MR_SPEC_TABLE)
            rc = commit_begin(f, staging, err);
    }
    return rc;
}

/* More input in one task of a job that combines gives less output. At least two
 * tasks for each slot remain: the last ones end at different times. */
static void join_splits(struct job_run *r)
{
    uint64_t each =
        r->progress.bytes_total / (2 * (uint64_t)r->setup.worker_count);
    if (r->opts->split_bytes == 0 && r->host->traits.combines)
        input_splits_join(&r->splits, MIN_OF(each, JOINED_BYTES_MAX));
}

static int plan_inputs(struct job_run *r, struct err *err)
{
    struct input_context ctx = {
        .files = r->setup.files,
        .specs = r->setup.inputs,
        .store = r->store,
        .snapshots = r->snapshots,
        .split_bytes = r->setup.split_bytes,
        .worker_count = r->setup.worker_count,
    };
    int rc = 0;
    for (unsigned i = 0; i < r->opts->input_count && rc == 0; i++)
        rc = input_plan(&ctx, i, &r->splits, err);
    for (size_t i = 0; i < r->splits.count; i++)
        r->progress.bytes_total += r->splits.at[i].bytes;
    join_splits(r);
    return rc;
}

static unsigned choose_reducers(const struct job_run *r)
{
    uint64_t bytes = r->progress.bytes_total;
    uint64_t n;
    if (r->host->traits.single_reducer)
        return 1;
    if (r->opts->reducers > 0)
        return r->opts->reducers;
    if (bytes < SMALL_BYTES && !r->setup.reads_tables)
        return 1;
    n = MAX_OF(bytes / BYTES_PER_REDUCER, (uint64_t)r->setup.worker_count);
    return (unsigned)MIN_OF(n, (uint64_t)REDUCERS_CHOSEN_MAX);
}

/* Use the plan in the journal: the inputs may look different by now. */
static void take_plan(struct job_run *r)
{
    r->splits = r->replay->plan.splits;
    r->replay->plan.splits = (struct input_splits){.at = NULL};
    r->partition_count = r->replay->plan.partition_count;
    for (size_t i = 0; i < r->splits.count; i++)
        r->progress.bytes_total += r->splits.at[i].bytes;
}

static int journal_plan(struct job_run *r, struct err *err)
{
    struct task_spec s = {.splits = r->splits,
                          .partition_count = r->partition_count};
    struct buf body = BUF_INIT;
    int rc;
    task_spec_encode(&s, &body);
    rc = journal_append(&r->journal, JOURNAL_PLAN, buf_slice(&body), err);
    buf_close(&body);
    return rc;
}

/* A journal is kept where the history is. */
static int begin_journal(struct job_run *r, struct err *err)
{
    struct buf text = BUF_INIT;
    uint64_t offset = r->replay ? r->replay->length : 0;
    int rc = 0;
    if (r->dir_is_temporary)
        return 0;
    buf_printf(&text, "%s/journal", r->keep_dir);
    rc = journal_open(&r->journal, &r->setup.files, buf_cstr(&text), offset,
                      err);
    buf_clear(&text);
    if (rc == 0 && r->replay) {
        rc = journal_append(&r->journal, JOURNAL_RESUME, SLICE_EMPTY, err);
    } else if (rc == 0) {
        saved_job_encode(r->opts, r->setup.job_id, r->setup.job_time_us, &text);
        rc = journal_append(&r->journal, JOURNAL_BEGIN, buf_slice(&text), err);
    }
    buf_close(&text);
    return rc;
}

/* In a public place, our directory is closed to others. */
static int make_temporary(struct job_run *r, struct err *err)
{
    int rc = 0;
    if (r->dir_is_temporary && !r->setup.files.fs)
        rc = world_mkdir_private(r->setup.world, r->job_dir, err);
    if (rc == 0 && r->opts->fs && !r->opts->open_host)
        rc = dirs_make(&(struct job_files){.world = r->setup.world},
                       r->setup.work_dir, err);
    return rc;
}

int job_plan(struct job_run *r, struct err *err)
{
    int rc;
    note_sandbox(r);
    /* The master of a cell removes what it began itself. */
    if (!r->replay && !r->setup.files.fs)
        remove_leftovers(r);
    rc = make_temporary(r, err);
    if (rc == 0)
        rc = r->replay ? take_directories(r, err) : make_directories(r, err);
    if (rc == 0)
        rc = begin_journal(r, err);
    if (rc == 0)
        rc = open_store(r, err);
    if (rc == 0 && r->replay && r->replay->planned) {
        take_plan(r);
        return 0;
    }
    if (rc == 0 && r->setup.reads_tables)
        rc = input_snapshots_make(r, err);
    if (rc == 0)
        rc = plan_inputs(r, err);
    if (rc)
        return rc;
    r->partition_count = choose_reducers(r);
    return journal_plan(r, err);
}
