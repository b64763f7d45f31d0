/* Removing what earlier masters left of a job: everything a job makes is named
 * by its id, so that it is found by name alone. */
#include "mapreduce/cluster/managed_leftovers.h"

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/log.h"
#include "mapreduce/cluster/job_calls.h"
#include "mapreduce/cluster/managed_job.h"
#include "mapreduce/master/input_snapshots.h"
#include "mapreduce/output/commit.h"
#include "mapreduce/output/dirs.h"

/* Remove what is beside output number @index of @j of a job, or part, @id. */
static int abandon_output(struct managed_job *j,
                          unsigned index,
                          const char *id,
                          struct err *err)
{
    struct job_master_term *r = j->term;
    struct mr_spec s;
    struct buf staging = BUF_INIT;
    int rc = mr_spec_parse(&s, j->submitted.options.outputs[index], true,
                           r->world, err);
    if (rc == 0 && s.kind != MR_SPEC_TABLE) {
        commit_staging_path(&s, index, id, "", &staging);
        rc = commit_abandon(&r->files, buf_cstr(&staging), s.path, err);
    }
    mr_spec_close(&s);
    buf_close(&staging);
    return rc;
}

static void abandon_outputs(struct managed_job *j, const char *id)
{
    for (unsigned i = 0; i < j->submitted.options.output_count; i++) {
        struct err err = ERR_INIT;
        if (abandon_output(j, i, id, &err))
            log_warn(j->term->world, "jobs", "job %s: left behind: %s", j->id,
                     err.text);
    }
}

int kept_parts_forget(struct managed_job *j,
                      const struct mr_options *o,
                      struct err *err)
{
    const struct job_files *files = &j->term->files;
    char **names = NULL;
    size_t count = 0;
    if (j->resumed && files_list(files, o->history_dir, &names, &count, NULL))
        count = 0; /* There was none. */
    input_snapshots_forget(o, names, count);
    for (size_t i = 0; i < count; i++)
        abandon_outputs(j, names[i]);
    files_names_free(names, count);
    return dirs_remove(files, o->history_dir, err);
}

static bool has_ended(struct managed_job *j, const char *root)
{
    struct buf path = BUF_INIT;
    struct files_info info;
    int rc;
    buf_printf(&path, "%s/%s/job.json", root, j->id);
    rc = files_stat(&j->term->files, buf_cstr(&path), &info, NULL);
    buf_close(&path);
    return rc == 0;
}

void managed_job_forget_late(struct managed_job *j)
{
    const struct job_files *files = &j->term->files;
    struct buf path = BUF_INIT;
    struct err err = ERR_INIT;
    char **names = NULL;
    size_t count = 0;
    /* In this order: the job moves from there to here. */
    bool has = has_ended(j, JOBS_ROOT);
    bool is_put_away = has_ended(j, JOBS_HISTORY);
    if (!has && !is_put_away)
        return;
    buf_printf(&path, "%s/%s/parts", JOBS_ROOT, j->id);
    if (files_list(files, buf_cstr(&path), &names, &count, NULL))
        count = 0; /* There are none. */
    abandon_outputs(j, j->id);
    for (size_t i = 0; i < count; i++)
        abandon_outputs(j, names[i]);
    files_names_free(names, count);
    buf_clear(&path);
    buf_printf(&path, "%s/%s", JOBS_ROOT, j->id);
    if (is_put_away && dirs_remove(files, buf_cstr(&path), &err))
        log_warn(j->term->world, "jobs", "job %s: left behind: %s", j->id,
                 err.text);
    buf_close(&path);
}
