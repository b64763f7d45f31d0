/* Running the code of a job over a split or a partition (MapReduce, OSDI 2004,
 * section 3.1).
 *
 * A map task reads its splits record by record into the collector, or into the
 * outputs of a job without reducers; a reduce task merges the runs of its
 * partition and calls the job once per key; a whole task does both in one
 * process. Records that killed an earlier attempt are skipped (section 4.6):
 * the master lists them in the spec, the status page names the record at hand.
 */
#include "mapreduce/attempt/attempt.h"

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/crypt/keyring.h"
#include "bigtable/quarry.h"
#include "mapreduce/attempt/attempt_emit.h"
#include "mapreduce/attempt/relayed_rows.h"
#include "mapreduce/attempt/spill_sources.h"
#include "mapreduce/attempt/values.h"
#include "mapreduce/input/input.h"
#include "mapreduce/output/output.h"
#include "mapreduce/sandbox/job_cage.h"
#include "mapreduce/shuffle/collector.h"

/* zstd level of spills and of record files. */
#define SPILL_LEVEL  1
#define OUTPUT_LEVEL 3
/* Block cache of a store that is opened to read one range of rows once. */
#define TABLE_CACHE_BYTES ((uint64_t)32 << 20)
/* Keys a sampling task returns, and how much input it reads for them. */
#define SAMPLE_KEY_BYTES   ((uint64_t)4 << 20)
#define SAMPLE_SPLIT_BYTES ((uint64_t)256 << 10)

struct attempt {
    struct relayed_source relayed;
    const struct job_setup *setup;
    const struct task_spec *spec;
    const struct attempt_resources *res;
    struct task_report *report;
    struct mr_task task;
    struct collector collector;
    bool collecting;         /* The collector is open. */
    struct keyring *keyring; /* Of spills; NULL: they are not encrypted. */
    struct buf prefix;       /* Of the attempt's files. */
    struct buf spill_path;
    struct input_context input;
    struct quarry *own_store;
};

static void attempt_step(const struct attempt *a, const char *name)
{
    const struct mr_options *o = a->setup->opts;
    if (o->step)
        o->step(o->step_ctx, name, a->spec->index, a->spec->attempt);
}

static bool is_skipped(uint64_t number, const uint64_t *skips, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (skips[i] == number)
            return true;
    return false;
}

/* --- opening ------------------------------------------------------------- */

static void open_collector(struct attempt *a)
{
    PRE(!a->collecting);
    struct collector_options o = {
        .world = a->setup->world,
        .job = a->setup->job,
        .task = &a->task,
        .partition_count = a->spec->partition_count,
        .cuts = a->spec->cut_count > 0 ? a->spec->cuts : NULL,
        .spill_path = buf_cstr(&a->spill_path),
        .memory = a->res->memory,
        .memory_bytes = a->res->memory_bytes,
        .level = SPILL_LEVEL,
        .keyring = a->keyring,
    };
    collector_init(&a->collector, &o);
    a->collecting = true;
    a->task.collector = &a->collector;
}

static int open_outputs(struct attempt *a, struct err *err)
{
    PRE(a->task.outputs == NULL);
    struct output_context o = {
        .files = a->setup->files,
        .specs = a->setup->outputs,
        .staging = a->setup->staging,
        .count = a->setup->output_count,
        .text_separator = a->setup->job->text_separator,
        .job_time_us = a->setup->job_time_us,
        .store = a->input.store,
        .level = OUTPUT_LEVEL,
        .loans = a->spec->loans,
        .loan_count = a->spec->loan_count,
        .scratch_key = a->setup->scratch_key,
    };
    return output_set_open(&o, buf_cstr(&a->prefix), &a->task.outputs, err);
}

/* The store is needed to read tables, or to write SSTables. */
static bool needs_store(const struct attempt *a)
{
    if (a->setup->relayed)
        return false;
    return (a->setup->reads_tables && a->spec->kind != TASK_REDUCE) ||
           (a->setup->remote && job_setup_loads(a->setup));
}

int attempt_store_open(const struct job_setup *setup,
                       struct quarry **out,
                       struct err *err)
{
    PRE(setup->target != NULL);
    struct quarry_options o = {.must_exist = true};
    if (setup->opts->store_options)
        o = *setup->opts->store_options;
    o.cache_bytes = TABLE_CACHE_BYTES;
    o.pinned = !setup->remote;
    o.background_tasks = 1;
    o.act_as = setup->opts->principal;
    o.world = setup->world;
    return quarry_open(setup->target, &o, out, err);
}

static int open_store(struct attempt *a, struct err *err)
{
    int rc;
    a->relayed = (struct relayed_source){a->setup->files.fs, a->spec};
    a->input = (struct input_context){
        .files = a->setup->files,
        .specs = a->setup->inputs,
        .store = a->res->store,
        .split_bytes = a->setup->split_bytes,
        .worker_count = a->setup->worker_count,
        .scratch_key = a->setup->scratch_key,
        .open_rows = a->setup->relayed ? relayed_rows_open : NULL,
        .rows_ctx = &a->relayed,
    };
    if (a->res->store || !needs_store(a))
        return 0;
    rc = attempt_store_open(a->setup, &a->own_store, err);
    a->input.store = a->own_store;
    return rc;
}

static int open_all(struct attempt *a, struct err *err)
{
    bool reduces = a->setup->job->reduce != NULL;
    enum task_kind kind = a->spec->kind;
    int rc = open_store(a, err);
    if (a->setup->encrypts)
        a->keyring = keyring_new_of(a->setup->world, a->setup->spill_key);
    a->task.is_map = kind != TASK_REDUCE;
    if (kind == TASK_SAMPLE) {
        a->task.sample = &a->report->sample;
        a->task.sample_left = SAMPLE_KEY_BYTES;
    } else if (reduces && a->task.is_map) {
        open_collector(a);
    }
    if (rc == 0 && (kind == TASK_REDUCE || kind == TASK_WHOLE ||
                    (kind == TASK_MAP && !reduces)))
        rc = open_outputs(a, err);
    return rc;
}

/* --- map ----------------------------------------------------------------- */

/* The map of a job that has none. A row is refused: it has no single value. */
static int
map_nothing(struct mr_task *t, const struct mr_record *record, struct err *err)
{
    if (record->row)
        return err_set(err, ERR_INVALID, "rows of a table need a map function");
    mr_emit(t, record->key, record->value);
    return 0;
}

static int
map_record(struct attempt *a, struct mr_record *record, struct err *err)
{
    struct task_status *status = a->task.status;
    int rc;
    if (UNLIKELY(a->spec->skip_count > 0) &&
        is_skipped(record->number, a->spec->skips, a->spec->skip_count)) {
        mr_count(&a->task, "map.records_skipped", 1);
        return 0;
    }
    STATUS_SET(status, number, record->number);
    STATUS_SET(status, offset, record->offset);
    if (record->key.len > 0)
        status_note(status, record->key);
    STATUS_SET(status, stage, STATUS_RECORD);
    rc = a->setup->job->map ? a->setup->job->map(&a->task, record, err)
                            : map_nothing(&a->task, record, err);
    STATUS_SET(status, stage, STATUS_FINISH);
    if (LIKELY(rc == 0))
        rc = task_error(&a->task, err);
    if (UNLIKELY(rc != 0))
        err_wrap(err, "record %llu at offset %llu",
                 (unsigned long long)record->number,
                 (unsigned long long)record->offset);
    return rc;
}

/* Each split gives an equal part of the sample, from its first records. */
static bool sampled_enough(const struct attempt *a,
                           uint64_t record_bytes,
                           uint64_t left_before)
{
    uint64_t part = SAMPLE_KEY_BYTES / a->spec->splits.count;
    return a->task.sample && (record_bytes > SAMPLE_SPLIT_BYTES ||
                              left_before - a->task.sample_left > part);
}

/* Damage that the reader skipped counts against the job's skips, unless the
 * format expects it; with skip_none it is an error. */
static int
take_damage(struct attempt *a, const struct damage *d, struct err *err)
{
    struct cursor texts = cursor_make(buf_slice(&d->texts));
    struct slice first = cursor_lslice(&texts);
    if (a->setup->opts->skip_none)
        return err_set(err, ERR_CORRUPT, "%.*s", SLICE_ARG(first));
    mr_count(&a->task, "map.damaged_places", (int64_t)d->places);
    if (d->records > 0)
        mr_count(&a->task, "map.records_skipped", (int64_t)d->records);
    damage_merge(&a->report->damage, d);
    return 0;
}

static int map_records(struct attempt *a,
                       struct input_reader *r,
                       unsigned input,
                       struct err *err)
{
    struct mr_record record = {.input = input};
    uint64_t sample_left = a->task.sample_left;
    uint64_t number = 0;
    uint64_t read = 0;
    bool more = true;
    int rc = 0;
    while (rc == 0) {
        rc = r->next(r, &record, &more, err);
        if (rc || !more || sampled_enough(a, read, sample_left))
            break;
        record.number = number++;
        read += record.key.len + record.value.len;
        rc = map_record(a, &record, err);
        STATUS_SET(a->task.status, records, number);
        STATUS_SET(a->task.status, bytes, r->bytes_done);
    }
    mr_count(&a->task, "map.records", (int64_t)number);
    if (r->damage.places > 0 && a->spec->kind != TASK_SAMPLE && rc == 0)
        rc = take_damage(a, &r->damage, err);
    return rc;
}

static int
map_split(struct attempt *a, const struct input_split *split, struct err *err)
{
    struct input_reader *r = NULL;
    struct buf name = BUF_INIT;
    int rc = input_open(&a->input, split, &r, err);
    a->task.input_path = split->path;
    STATUS_SET(a->task.status, total, split->bytes);
    if (rc == 0)
        rc = map_records(a, r, split->input, err);
    input_reader_close(r);
    if (rc) {
        input_split_describe(split, &name);
        err_wrap(err, "%s", buf_cstr(&name));
    }
    buf_close(&name);
    mr_count(&a->task, "map.bytes", (int64_t)split->bytes);
    return rc;
}

static int map_all(struct attempt *a, struct err *err)
{
    const struct mr_job *job = a->setup->job;
    int rc = 0;
    for (size_t i = 0; i < a->spec->splits.count && rc == 0; i++)
        rc = map_split(a, &a->spec->splits.at[i], err);
    if (rc == 0 && job->map_end)
        rc = job->map_end(&a->task, err);
    if (rc == 0)
        rc = task_error(&a->task, err);
    attempt_step(a, "mapped");
    return rc;
}

/* --- reduce -------------------------------------------------------------- */

static int reduce_group(struct attempt *a,
                        struct mr_values *v,
                        uint64_t number,
                        struct err *err)
{
    struct task_status *status = a->task.status;
    bool whole = a->spec->kind == TASK_WHOLE;
    int rc = 0;
    values_start(v);
    if (UNLIKELY(is_skipped(
            number, whole ? a->spec->group_skips : a->spec->skips,
            whole ? a->spec->group_skip_count : a->spec->skip_count))) {
        mr_count(&a->task, "reduce.groups_skipped", 1);
    } else {
        STATUS_SET(status, number, number);
        status_note(status, buf_slice(&v->group));
        STATUS_SET(status, stage, STATUS_RECORD);
        rc = a->setup->job->reduce(&a->task, buf_slice(&v->group), v, err);
        STATUS_SET(status, stage, STATUS_FINISH);
    }
    values_drain(v);
    if (rc == 0)
        rc = v->code ? err_copy(err, &v->err) : task_error(&a->task, err);
    if (rc)
        err_wrap(err, "key \"%.*s\"", (int)MIN_OF(v->group.len, (size_t)80),
                 buf_cstr(&v->group));
    return rc;
}

static int reduce_merge(struct attempt *a, struct run_merge *m, struct err *err)
{
    struct mr_values v = {.merge = m, .task = &a->task};
    uint64_t groups = 0;
    int rc = run_merge_next(m, &v.more, err);
    STATUS_SET(a->task.status, reducing, 1);
    while (rc == 0 && v.more) {
        rc = reduce_group(a, &v, groups++, err);
        STATUS_SET(a->task.status, records, groups);
    }
    if (rc == 0 && a->setup->job->reduce_end)
        rc = a->setup->job->reduce_end(&a->task, err);
    if (rc == 0)
        rc = task_error(&a->task, err);
    mr_count(&a->task, "reduce.groups", (int64_t)groups);
    mr_count(&a->task, "reduce.values", (int64_t)v.count);
    INVARIANT(rc != 0 || !v.more);
    values_close(&v);
    return rc;
}

static int reduce_sources(struct attempt *a,
                          struct merge_source *const *sources,
                          size_t count,
                          struct err *err)
{
    struct run_merge m;
    int rc;
    run_merge_init(&m, sources, count,
                   a->setup->job->sort == MR_SORT_DESCENDING);
    rc = reduce_merge(a, &m, err);
    run_merge_close(&m);
    return rc;
}

/* Reduce the spills of @spec and, if @memory, the pairs that the collector kept
 * in memory. */
static int reduce_all(struct attempt *a, bool memory, struct err *err)
{
    struct spill_sources s;
    struct spill_sources_options o = {
        .world = a->setup->world,
        .work_dir = a->setup->work_dir,
        .prefix = buf_cstr(&a->prefix),
        .partition = a->spec->index,
        .spec = a->spec,
        .own_spill =
            memory && a->collector.spilled ? buf_cstr(&a->spill_path) : NULL,
        .memory_bytes = a->res->memory_bytes,
        .descending = a->setup->job->sort == MR_SORT_DESCENDING,
        .level = SPILL_LEVEL,
        .keyring = a->keyring,
    };
    int rc = spill_sources_open(&s, &o, err);
    STATUS_SET(a->task.status, total, s.pairs);
    if (rc == 0 && memory)
        spill_sources_add(&s, collector_source(&a->collector, 0));
    if (rc == 0)
        rc = reduce_sources(a, s.sources, s.count, err);
    mr_count(&a->task, "shuffle.bytes_read", (int64_t)s.bytes);
    if (rc)
        a->report->bad_source = s.bad;
    spill_sources_close(&s);
    attempt_step(a, "reduced");
    return rc;
}

/* --- the whole ----------------------------------------------------------- */

static void count_collected(struct attempt *a)
{
    const struct collector *c = &a->collector;
    mr_count(&a->task, "map.pairs", (int64_t)c->pairs_in);
    mr_count(&a->task, "shuffle.pairs", (int64_t)c->pairs_out);
    mr_count(&a->task, "shuffle.bytes_written", (int64_t)c->spill_bytes);
    mr_count(&a->task, "shuffle.runs", (int64_t)c->spill_count);
}

static int attempt_collect(struct attempt *a, struct err *err)
{
    bool whole = a->spec->kind == TASK_WHOLE;
    int rc = map_all(a, err);
    if (rc || !a->collecting)
        return rc;
    rc = collector_finish(&a->collector, !whole, err);
    a->report->spilled = a->collector.spilled;
    count_collected(a);
    return rc;
}

/* One stage, map or reduce, between the job's setup and teardown. */
static int run_stage(struct attempt *a, bool is_map, struct err *err)
{
    const struct mr_job *job = a->setup->job;
    int rc = 0;
    a->task.is_map = is_map;
    if (job->setup)
        rc = job->setup(&a->task, err);
    if (rc == 0)
        rc = task_error(&a->task, err);
    if (rc == 0 && is_map)
        rc = attempt_collect(a, err);
    else if (rc == 0)
        rc = reduce_all(a, a->collecting, err);
    if (job->teardown)
        job->teardown(&a->task);
    a->task.state = NULL;
    return rc;
}

static int finish_outputs(struct attempt *a, struct err *err)
{
    int rc;
    if (!a->task.outputs)
        return 0;
    attempt_step(a, "writing");
    rc = output_set_finish(a->task.outputs, err);
    mr_count(&a->task, "output.records",
             (int64_t)output_set_records(a->task.outputs));
    mr_count(&a->task, "output.changes",
             (int64_t)output_set_changes(a->task.outputs));
    if (output_set_rows(a->task.outputs) > 0)
        mr_count(&a->task, "output.rows",
                 (int64_t)output_set_rows(a->task.outputs));
    mr_count(&a->task, "output.bytes",
             (int64_t)output_set_bytes(a->task.outputs));
    output_set_encode_sides(a->task.outputs, &a->report->sides);
    return rc;
}

static int attempt_run_stages(struct attempt *a, struct err *err)
{
    enum task_kind kind = a->spec->kind;
    int rc = open_all(a, err);
    if (rc)
        return rc;
    attempt_step(a, "opened");
    if (kind != TASK_REDUCE)
        rc = run_stage(a, true, err);
    /* From here on emitting is a misuse, and writing is not. */
    a->task.collector = NULL;
    if (rc == 0 && (kind == TASK_REDUCE || kind == TASK_WHOLE))
        rc = run_stage(a, false, err);
    return rc ? rc : finish_outputs(a, err);
}

void attempt_run(const struct job_setup *setup,
                 const struct task_spec *spec,
                 const struct attempt_resources *resources,
                 struct task_report *report)
{
    struct attempt *a = mem_zalloc(1, sizeof(*a));
    a->setup = setup;
    a->spec = spec;
    a->res = resources;
    a->report = report;
    a->task.setup = setup;
    a->task.index = spec->index;
    a->task.attempt = spec->attempt;
    a->task.partition_count = spec->partition_count;
    if (spec->splits.count > 0)
        a->task.input_path = spec->splits.at[0].path;
    a->task.status = resources->status;
    counters_init(&a->task.counters);
    STATUS_SET(resources->status, stage, STATUS_SETUP);
    task_spec_prefix(spec, &a->prefix);
    task_spill_path(&a->spill_path, setup->work_dir, spec->index,
                    spec->attempt);
    attempt_step(a, "started");
    report->code = attempt_run_stages(a, &report->err);
    attempt_step(a, "done");
    if (setup->opts->no_sandbox &&
        job_trust_of(&setup->opts->program) != JOB_TRUSTED)
        *counters_get(&a->task.counters, COUNTERS_SANDBOX_NONE) = 1;
    counters_merge(&report->counters, &a->task.counters);
    if (a->collecting)
        collector_close(&a->collector);
    output_set_close(a->task.outputs);
    keyring_unref(a->keyring);
    quarry_close(a->own_store);
    counters_close(&a->task.counters);
    buf_close(&a->prefix);
    buf_close(&a->spill_path);
    mem_free(a);
}
