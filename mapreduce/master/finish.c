/* The end of a job: publishing its outputs, and removing everything temporary.
 * Each step may be repeated by the process that resumes the job, and changes
 * nothing the second time. */
#include "base/core/panic.h"
#include "base/crypt/keyring.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "mapreduce/master/input_snapshots.h"
#include "mapreduce/master/job_loans.h"
#include "mapreduce/master/job_run.h"
#include "mapreduce/output/bulk_output.h"
#include "mapreduce/output/commit.h"
#include "mapreduce/output/dirs.h"
#include "mapreduce/output/leftovers.h"

/* The process that died while publishing had renamed this one. */
static bool is_published(const struct job_run *r, size_t output)
{
    return r->replay && r->replay->committing &&
           r->setup.outputs[output].kind != MR_SPEC_TABLE &&
           commit_find_staging(&r->setup.files, r->setup.staging[output],
                               NULL) == ERR_NOTFOUND;
}

static int
publish_with_keys(struct job_run *r, size_t i, uint64_t *rows, struct err *err)
{
    const struct mr_spec *s = &r->setup.outputs[i];
    struct keyring *keys =
        s->kind == MR_SPEC_TABLE ? job_loans_view(r, (unsigned)i) : NULL;
    int rc = commit_output(&r->setup.files, s, r->setup.staging[i],
                           r->opts->overwrite, keys, r->store, rows, err);
    keyring_unref(keys);
    return rc;
}

static int
finish_publish(struct job_run *r, size_t i, uint64_t *rows, struct err *err)
{
    const struct mr_spec *s = &r->setup.outputs[i];
    struct err why = ERR_INIT;
    int rc = 0;
    if (!is_published(r, i))
        rc = publish_with_keys(r, i, rows, err);
    if (rc && is_published(r, i))
        rc = 0; /* By another master that still believed it had the job. */
    if (rc)
        err_wrap(err, "commit output %s", s->path);
    else if (s->kind != MR_SPEC_TABLE &&
             commit_forget_old(&r->setup.files, s->path, &why))
        job_note(r, "left behind: %s", why.text);
    return rc;
}

/* Tables first: applying changes again changes nothing, so that a job that is
 * interrupted here and run again ends in the same state; a renamed directory
 * would refuse the second run. */
int job_commit(struct job_run *r, struct err *err)
{
    PRE(!r->given_up);
    uint64_t rows = 0;
    int rc = 0;
    job_set_phase(r, MR_PHASE_COMMIT, (unsigned)r->setup.output_count);
    if (r->opts->check)
        rc = r->opts->check(r->opts->check_ctx, err);
    if (rc == 0)
        rc = journal_append(&r->journal, JOURNAL_COMMIT, SLICE_EMPTY, err);
    for (unsigned tables = 2; tables-- > 0 && rc == 0;)
        for (size_t i = 0; i < r->setup.output_count && rc == 0; i++) {
            bool is_table = r->setup.outputs[i].kind == MR_SPEC_TABLE;
            if (is_table != (tables == 1))
                continue;
            rc = finish_publish(r, i, &rows, err);
            r->progress.tasks_done++;
            job_report(r, true);
        }
    POST(rc != 0 || r->progress.tasks_done == r->setup.output_count);
    if (rows > 0)
        *counters_get(&r->counters, "output.rows") += (int64_t)rows;
    return rc;
}

static void free_setup(struct job_setup *s)
{
    for (size_t i = 0; i < s->output_count && s->outputs; i++)
        mr_spec_close(&s->outputs[i]);
    for (size_t i = 0; i < s->opts->input_count && s->inputs; i++)
        mr_spec_close(&s->inputs[i]);
    for (size_t i = 0; i < s->output_count && s->staging; i++)
        mem_free(s->staging[i]);
    mem_free(s->staging);
    mem_free(s->inputs);
    mem_free(s->outputs);
    mem_free(s->job_id);
    mem_free(s->work_dir);
}

static void remove_tree(struct job_run *r, const char *path)
{
    struct err err = ERR_INIT;
    if (dirs_remove(&r->setup.files, path, &err))
        job_note(r, "left behind: %s", err.text);
}

static void remove_staging(struct job_run *r, size_t output)
{
    const struct mr_spec *s = &r->setup.outputs[output];
    struct err err = ERR_INIT;
    if (s->kind == MR_SPEC_TABLE)
        remove_tree(r, r->setup.staging[output]);
    else if (commit_abandon(&r->setup.files, r->setup.staging[output], s->path,
                            &err))
        job_note(r, "left behind: %s", err.text);
}

/* After a commit there is nothing left of them. */
static void abandon_loads(struct job_run *r)
{
    for (size_t i = 0; i < r->setup.output_count; i++) {
        struct err err = ERR_INIT;
        if (r->store && r->setup.outputs[i].bulk &&
            bulk_output_abandon(&r->setup.files, r->setup.staging[i], r->store,
                                &err))
            job_note(r, "left behind: %s", err.text);
    }
}

static void release_tables(struct job_run *r)
{
    abandon_loads(r);
    if (r->setup.reads_tables)
        input_snapshots_drop(r);
}

/* Those that still exist are kept on purpose. */
static void give_up_directories(struct job_run *r)
{
    size_t count = r->setup.output_count;
    for (size_t i = 0; r->locks && i <= count; i++)
        if (r->locks[i])
            leftovers_keep(&r->setup.files,
                           i < count ? r->setup.staging[i] : r->keep_dir,
                           r->locks[i]);
    mem_free(r->locks);
}

void job_cleanup(struct job_run *r)
{
    if (r->host && r->given_up && r->host->keep)
        r->host->keep(r->host);
    if (r->host)
        r->host->close(r->host);
    if (r->staging_made && !r->given_up)
        release_tables(r);
    if (r->pinned)
        quarry_unpin(r->store);
    quarry_close(r->own_store);
    journal_close(&r->journal);
    if (r->staging_made && !r->opts->keep_work && !r->given_up) {
        for (size_t i = 0; i < r->setup.output_count; i++)
            remove_staging(r, i);
        remove_tree(r, r->dir_is_temporary ? r->job_dir : r->keep_dir);
    }
    give_up_directories(r);
    if (r->opts->fs && !r->opts->open_host && r->setup.work_dir &&
        !r->given_up &&
        dirs_remove(&(struct job_files){.world = r->setup.world},
                    r->setup.work_dir, NULL))
        job_note(r, "left behind: %s", r->setup.work_dir);
    input_splits_close(&r->splits);
    buf_close(&r->sample);
    mem_free(r->cuts);
    for (size_t i = 0; r->snapshots && i < r->opts->input_count; i++)
        mem_free(r->snapshots[i]);
    mem_free(r->snapshots);
    mem_free(r->spills);
    job_loans_close(r);
    counters_close(&r->counters);
    mem_free(r->job_dir);
    mem_free(r->keep_dir);
    free_setup(&r->setup);
}
