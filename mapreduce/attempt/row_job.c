/* A job over single rows. Two tasks live as long as the run, one in the map and
 * one in the reduce stage, and each row goes through a collector of its own:
 * the pairs in its memory are the only run, and a row that would spill fails.
 */
#include "mapreduce/attempt/row_job.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "mapreduce/attempt/attempt_emit.h"
#include "mapreduce/attempt/values.h"
#include "mapreduce/output/output.h"
#include "mapreduce/output/table_changes.h"
#include "mapreduce/shuffle/collector.h"

struct row_job {
    struct mr_options opts;
    struct job_setup setup;
    struct mr_spec output;
    char *staging; /* Of no files. */
    struct task_status status;
    struct mr_task map; /* With the outputs where nothing is reduced. */
    struct mr_task reduce;
    bool map_begun; /* Its setup() was called, */
    bool reduce_begun;
    struct output_set *outputs;
    char *memory; /* Owned; its pages come as they are touched. */
    /* Of the row at hand. */
    row_job_cell_fn fn;
    void *ctx;
};

static int take_row_change(void *ctx,
                           struct slice row,
                           const struct table_change *c,
                           struct err *err)
{
    const struct row_job *j = ctx;
    PRE(j->fn != NULL);
    if (c->kind != TABLE_PUT)
        return err_set(err, ERR_UNSUPPORTED,
                       "the job deletes: of one row it may only set cells");
    if (c->timestamp_us != j->setup.job_time_us)
        return err_set(err, ERR_UNSUPPORTED,
                       "the job sets times of cells: of one row they have the "
                       "time of their commit");
    return j->fn(j->ctx, row, c->family, c->qualifier, c->value, err);
}

/* --- opening ------------------------------------------------------------- */

static int
check_row_job(const struct mr_job *job, const char *what, struct err *err)
{
    const char *why = NULL;
    if (job->map_end || job->reduce_end || job->single_reducer)
        why = "makes something of all rows together";
    else if (!job->map)
        why = "has no map";
    else if (job->no_table_output || !job->output_families)
        why = "writes no tables";
    if (why)
        return err_set(err, ERR_INVALID, "job %s %s: it cannot run row by row",
                       what, why);
    return 0;
}

static int check_row_params(const struct row_job *j, struct err *err)
{
    const struct mr_job *job = j->setup.job;
    for (size_t i = 0; i < j->opts.param_count; i++) {
        bool known = job->any_params;
        for (size_t k = 0; k < job->param_count && !known; k++)
            known = strcmp(j->opts.params[i].name, job->params[k].name) == 0;
        if (!known)
            return err_set(err, ERR_INVALID, "job %s takes no parameter %s",
                           job->name, j->opts.params[i].name);
    }
    for (size_t k = 0; k < job->param_count; k++)
        if (!mr_param(&j->map, job->params[k].name))
            return err_set(err, ERR_INVALID, "job %s wants a parameter %s",
                           job->name, job->params[k].name);
    return 0;
}

static void
begin_task(struct row_job *j, struct mr_task *t, const char *table, bool is_map)
{
    *t = (struct mr_task){.setup = &j->setup,
                          .is_map = is_map,
                          .partition_count = 1,
                          .input_path = table,
                          .status = &j->status};
    counters_init(&t->counters);
}

static int setup_stage(struct mr_task *t, bool *begun, struct err *err)
{
    const struct mr_job *job = t->setup->job;
    int rc = 0;
    *begun = true;
    if (job->setup)
        rc = job->setup(t, err);
    return rc ? rc : task_error(t, err);
}

static int open_row_outputs(struct row_job *j, struct err *err)
{
    const struct output_context o = {.files = j->setup.files,
                                     .specs = &j->output,
                                     .staging = &j->staging,
                                     .count = 1,
                                     .job_time_us = j->setup.job_time_us,
                                     .take = take_row_change,
                                     .take_ctx = j};
    int rc = output_set_open(&o, "", &j->outputs, err);
    if (rc == 0 && j->setup.job->reduce)
        j->reduce.outputs = j->outputs;
    else if (rc == 0)
        j->map.outputs = j->outputs;
    return rc;
}

static int take_row_memory(struct row_job *j, struct err *err)
{
    void *memory = NULL;
    if (posix_memalign(&memory, 4096, ROW_JOB_BYTES))
        return err_set(err, ERR_NOMEM, "no memory for %zu bytes of pairs",
                       ROW_JOB_BYTES);
    j->memory = memory;
    return 0;
}

int row_job_open(struct world *world,
                 const struct mr_job *job,
                 const char *table,
                 const struct mr_setting *params,
                 size_t param_count,
                 struct row_job **out,
                 struct err *err)
{
    struct row_job *j = mem_zalloc(1, sizeof(*j));
    int rc = check_row_job(job, job->name, err);
    j->opts = (struct mr_options){.params = params, .param_count = param_count};
    j->output = (struct mr_spec){.kind = MR_SPEC_TABLE};
    j->setup = (struct job_setup){
        .job = job,
        .opts = &j->opts,
        .world = world,
        .outputs = &j->output,
        .output_count = 1,
        .job_time_us = (int64_t)world_now_us(world),
    };
    j->setup.files.world = world;
    begin_task(j, &j->map, table, true);
    begin_task(j, &j->reduce, table, false);
    if (rc == 0)
        rc = check_row_params(j, err);
    if (rc == 0)
        rc = open_row_outputs(j, err);
    if (rc == 0)
        rc = setup_stage(&j->map, &j->map_begun, err);
    if (rc == 0 && job->reduce)
        rc = setup_stage(&j->reduce, &j->reduce_begun, err);
    if (rc == 0 && job->reduce)
        rc = take_row_memory(j, err);
    if (rc) {
        row_job_close(j);
        j = NULL;
    }
    *out = j;
    return rc;
}

void row_job_close(struct row_job *j)
{
    const struct mr_job *job;
    if (!j)
        return;
    job = j->setup.job;
    if (j->map_begun && job->teardown)
        job->teardown(&j->map);
    if (j->reduce_begun && job->teardown)
        job->teardown(&j->reduce);
    output_set_close(j->outputs);
    counters_close(&j->map.counters);
    counters_close(&j->reduce.counters);
    free(j->memory);
    mem_free(j);
}

/* --- a row --------------------------------------------------------------- */

static int reduce_row(struct row_job *j, struct run_merge *m, struct err *err)
{
    struct mr_values v = {.merge = m, .task = &j->reduce};
    int rc = run_merge_next(m, &v.more, err);
    while (rc == 0 && v.more) {
        values_start(&v);
        rc = j->setup.job->reduce(&j->reduce, buf_slice(&v.group), &v, err);
        values_drain(&v);
        if (rc == 0)
            rc = v.code ? err_copy(err, &v.err) : task_error(&j->reduce, err);
    }
    values_close(&v);
    return rc;
}

static int map_row(struct row_job *j,
                   const struct mr_record *record,
                   struct collector *c,
                   struct err *err)
{
    int rc = j->setup.job->map(&j->map, record, err);
    if (rc == 0)
        rc = task_error(&j->map, err);
    return rc || !c ? rc : collector_finish(c, false, err);
}

static int
reduce_collected(struct row_job *j, struct collector *c, struct err *err)
{
    struct merge_source *source = collector_source(c, 0);
    struct run_merge m;
    int rc;
    run_merge_init(&m, &source, 1, j->setup.job->sort == MR_SORT_DESCENDING);
    rc = reduce_row(j, &m, err);
    run_merge_close(&m);
    source->close(source);
    return rc;
}

/* An error of the row before is not this row's. */
static void forget_errors(struct row_job *j)
{
    j->map.code = 0;
    j->reduce.code = 0;
    output_set_forget(j->outputs);
}

int row_job_run(struct row_job *j,
                const struct quarry_row *row,
                row_job_cell_fn fn,
                void *ctx,
                struct err *err)
{
    const struct mr_record record = {.key = row->key, .row = row};
    struct collector c;
    int rc;
    forget_errors(j);
    j->fn = fn;
    j->ctx = ctx;
    if (!j->setup.job->reduce)
        return map_row(j, &record, NULL, err);
    collector_init(&c,
                   &(struct collector_options){.world = j->setup.world,
                                               .job = j->setup.job,
                                               .task = &j->map,
                                               .partition_count = 1,
                                               .memory = j->memory,
                                               .memory_bytes = ROW_JOB_BYTES});
    j->map.collector = &c;
    rc = map_row(j, &record, &c, err);
    if (rc == 0)
        rc = reduce_collected(j, &c, err);
    j->map.collector = NULL;
    collector_close(&c);
    return rc;
}
