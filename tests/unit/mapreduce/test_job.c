/* Whole jobs in processes: right results, what is refused, and being stopped.
 * Attempts that die are test_job_attempts.c.
 */
#define _GNU_SOURCE

#include <sys/stat.h>

#include "base/runtime/world.h"
#include "mapreduce/job_history.h"
#include "mapreduce/records/files.h"
#include "tests/unit/mapreduce/job_fixture.h"

/* --- Tests: what goes well ----------------------------------------------- */

/* Any split size, number of reducers and engine gives the same counts. */
START_TEST(test_counts)
{
    setup();
    struct mr_job job = line_count();
    write_letters(10000);
    for (unsigned i = 0; i < 8; i++) {
        struct mr_options o = options(&job);
        struct mr_report *report;
        struct err err = ERR_INIT;
        o.split_bytes = i & 1 ? 777 : 0;
        o.reducers = i & 2 ? 5 : 0;
        o.in_process = i & 4;
        o.overwrite = true;
        ck_assert_msg(mr_run(&o, &report, &err) == 0, "%s", err.text);
        check_letters(10000);
        check_clean(true);
        ck_assert_int_eq(mr_report_counter(report, "map.records"), 10000);
        ck_assert_int_eq(mr_report_counter(report, "output.records"), 26);
        ck_assert_uint_eq(report->attempts_failed, 0);
        mr_report_free(report);
    }
}

END_TEST

/* An empty input gives an empty, complete output. */
START_TEST(test_empty_input)
{
    setup();
    struct mr_job job = line_count();
    struct mr_options o = options(&job);
    char *out;
    char path[400];
    write_input("", 0);
    ck_assert_int_eq(mr_run(&o, NULL, NULL), 0);
    out = read_parts(out_dir);
    ck_assert_str_eq(out, "");
    snprintf(path, sizeof(path), "%s/_SUCCESS", out_dir);
    ck_assert_int_eq(access(path, R_OK), 0);
    mem_free(out);
}

END_TEST

/* --- Tests: what is refused ---------------------------------------------- */

/* An output that is there stays as it is, unless it may be overwritten; an
 * empty directory may always be. */
START_TEST(test_existing_output)
{
    setup();
    struct mr_job job = line_count();
    struct mr_options o = options(&job);
    struct err err = ERR_INIT;
    char path[400];
    FILE *f;
    write_letters(52);
    ck_assert_int_eq(mkdir(out_dir, 0777), 0);
    ck_assert_int_eq(mr_run(&o, NULL, NULL), 0);
    check_letters(52);
    ck_assert_int_eq(mr_run(&o, NULL, &err), ERR_EXISTS);
    ck_assert_ptr_nonnull(strstr(err.text, out_dir));
    ck_assert(err.hint[0] != '\0');
    check_letters(52);
    snprintf(path, sizeof(path), "%s/part-00007", out_dir);
    f = fopen(path, "w");
    fclose(f);
    o.overwrite = true;
    ck_assert_int_eq(mr_run(&o, NULL, NULL), 0);
    check_letters(52);
    ck_assert_int_ne(access(path, R_OK), 0);
    check_clean(true);
}

END_TEST

/* With an overwrite that fails the old output is still there. */
START_TEST(test_failed_overwrite)
{
    setup();
    struct mr_job job = line_count();
    struct mr_options o = options(&job);
    write_letters(52);
    ck_assert_int_eq(mr_run(&o, NULL, NULL), 0);
    job = bad_job();
    write_input("fail\n", 5);
    o.overwrite = true;
    ck_assert_int_eq(mr_run(&o, NULL, NULL), ERR_IO);
    check_letters(52);
    check_clean(true);
}

END_TEST

/* One that has not @begun cannot be asked for. */
static void
expect_error(struct mr_options *o, bool begun, int code, const char *text)
{
    struct err err = ERR_INIT;
    struct mr_report *report = NULL;
    int got = mr_run(o, &report, &err);
    ck_assert_msg(got == code, "%d: %s", got, err.text);
    ck_assert_msg(strstr(err.text, text), "%s", err.text);
    ck_assert_ptr_nonnull(report);
    ck_assert_int_eq(report->job_id != NULL, begun);
    mr_report_free(report);
    check_clean(false);
}

/* Everything that can be wrong is found before anything is done. */
START_TEST(test_wrong_options)
{
    setup();
    struct mr_job job = line_count();
    struct mr_options o = options(&job);
    struct mr_setting setting = {"colour", "red"};
    const char *none = "file:/nowhere/at/all*";
    const char *table = "table:t";
    const char *object = "/nowhere/job.so";
    write_letters(26);
    o.inputs = &none;
    expect_error(&o, true, ERR_NOTFOUND, "/nowhere/at/all*");
    o = options(&job);
    o.inputs = &table;
    expect_error(&o, false, ERR_INVALID, "store");
    o = options(&job);
    o.params = &setting;
    o.param_count = 1;
    expect_error(&o, false, ERR_INVALID, "no parameter colour");
    o = options(&job);
    o.output_count = 0;
    expect_error(&o, false, ERR_INVALID, "no output");
    o = options(NULL);
    expect_error(&o, false, ERR_INVALID, "program");
    o.program.object = object;
    expect_error(&o, false, ERR_NOTFOUND, object);
    job.abi_version = 99;
    o = options(&job);
    expect_error(&o, false, ERR_UNSUPPORTED, "99");
}

END_TEST

static int
misuse_map(struct mr_task *t, const struct mr_record *r, struct err *e)
{
    (void)e;
    mr_write(mr_output(t, NULL), r->value, r->value);
    return 0;
}

static int misuse_reduce(struct mr_task *t,
                         struct slice key,
                         struct mr_values *v,
                         struct err *e)
{
    (void)v;
    (void)e;
    mr_emit(t, key, key);
    return 0;
}

static int table_reduce(struct mr_task *t,
                        struct slice key,
                        struct mr_values *v,
                        struct err *e)
{
    (void)v;
    (void)e;
    mr_put(mr_output(t, NULL), key, "f", key, MR_JOB_TIME, key);
    return 0;
}

/* Calls that make no sense fail the job with words, not with a crash. */
START_TEST(test_misused_calls)
{
    setup();
    struct mr_job job = line_count();
    struct mr_options o = options(&job);
    write_letters(26);
    job.map = misuse_map;
    expect_error(&o, true, ERR_INVALID, "map functions emit");
    job = line_count();
    job.reduce = misuse_reduce;
    expect_error(&o, true, ERR_INVALID, "reducers write");
    job = line_count();
    job.reduce = table_reduce;
    expect_error(&o, true, ERR_INVALID, "no table");
}

END_TEST

/* --- Tests: outputs ------------------------------------------------------ */

static int side_reduce(struct mr_task *t,
                       struct slice key,
                       struct mr_values *v,
                       struct err *e)
{
    (void)e;
    mr_write_count(mr_output(t, "second"), key, mr_values_sum(v));
    mr_write(mr_output(t, NULL), SLICE_EMPTY, key);
    mr_write_side(mr_output(t, NULL), key.data[0] < 'm' ? "low" : "high", key,
                  SLICE_LIT("x"));
    return 0;
}

/* Several outputs and side files are all there, under their names. */
START_TEST(test_several_outputs)
{
    setup();
    struct mr_job job = line_count();
    struct mr_options o = options(&job);
    struct err err = ERR_INIT;
    char second[300];
    char path[400];
    const char *two[] = {out_spec, second};
    char *out;
    job.reduce = side_reduce;
    snprintf(second, sizeof(second), "second=records:%s/two", dir);
    o.outputs = two;
    o.output_count = 2;
    write_letters(26);
    ck_assert_msg(mr_run(&o, NULL, &err) == 0, "%s", err.text);
    out = read_parts(out_dir);
    ck_assert_str_eq(out, "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\nn\no\np\nq\n"
                          "r\ns\nt\nu\nv\nw\nx\ny\nz\n");
    snprintf(path, sizeof(path), "%s/low-00000", out_dir);
    ck_assert_int_eq(access(path, R_OK), 0);
    snprintf(path, sizeof(path), "%s/high-00000", out_dir);
    ck_assert_int_eq(access(path, R_OK), 0);
    snprintf(path, sizeof(path), "%s/two/part-00000", dir);
    ck_assert_int_eq(access(path, R_OK), 0);
    ck_assert_uint_eq(count_names(dir), 3);
    mem_free(out);
}

END_TEST

/* --- Tests: being stopped ------------------------------------------------ */

static struct world *world;

static atomic_bool cancel;

static void cancel_at_map(void *ctx, const struct mr_progress *p)
{
    (void)ctx;
    if (p->phase == MR_PHASE_MAP)
        atomic_store(&cancel, true);
}

/* A cancelled job ends soon, its processes with it, and leaves nothing. */
START_TEST(test_cancel)
{
    setup();
    struct mr_job job = bad_job();
    struct mr_options o = options(&job);
    atomic_store(&cancel, false);
    write_input("hang\n", 5);
    o.progress = cancel_at_map;
    o.cancel = &cancel;
    ck_assert_int_eq(mr_run(&o, NULL, NULL), ERR_CANCELLED);
    check_clean(false);
}

END_TEST

static char history[300];

static void kill_at_map(void *ctx, const struct mr_progress *p)
{
    (void)ctx;
    if (p->phase == MR_PHASE_MAP)
        (void)!job_history_kill(&(struct job_files){.world = world}, history,
                                p->job_id, NULL);
}

/* A job that is killed by its id is in the history as killed. */
START_TEST(test_kill_and_history)
{
    setup();
    world = world_real_new();
    struct mr_job job = bad_job();
    struct mr_options o = options(&job);
    struct job_summary *found = NULL;
    snprintf(history, sizeof(history), "%s/history", dir);
    o.history_dir = history;
    o.progress = kill_at_map;
    o.label = "the bad one";
    write_input("hang\n", 5);
    ck_assert_int_eq(mr_run(&o, NULL, NULL), ERR_CANCELLED);
    ck_assert_int_eq(job_history_get(&(struct job_files){.world = world},
                                     history, "last", &found, NULL),
                     0);
    ck_assert_int_eq(found->state, JOB_KILLED);
    ck_assert_str_eq(found->name, "the bad one");
    ck_assert_str_eq(found->inputs[0], in_spec);
    job_summaries_free(found, 1);
}

END_TEST

#define PAST_US UINT64_C(1577836800000000)

/* A directory of the history as a job leaves it that ended @second seconds into
 * 2020: with job.json alone, or with a work directory, too. */
static void add_past_job(unsigned second, bool works)
{
    struct job_summary s = {
        .name = (char *)(uintptr_t) "past",
        .state = JOB_SUCCEEDED,
        .started_us = PAST_US + (uint64_t)second * 1000000,
    };
    struct buf text = BUF_INIT;
    char id[32];
    char path[500];
    FILE *f;
    snprintf(id, sizeof(id), "20200101-%06u-0a0b", second);
    s.id = id;
    job_summary_encode(&s, &text);
    snprintf(path, sizeof(path), "%s/%s", history, id);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    if (works) {
        snprintf(path, sizeof(path), "%s/%s/work", history, id);
        ck_assert_int_eq(mkdir(path, 0700), 0);
    }
    snprintf(path, sizeof(path), "%s/%s/job.json", history, id);
    f = fopen(path, "wb");
    ck_assert_uint_eq(fwrite(text.data, 1, text.len, f), text.len);
    fclose(f);
    buf_close(&text);
}

static bool has_past_job(unsigned second)
{
    const struct job_files files = {.world = world};
    struct job_summary *found = NULL;
    char id[32];
    int rc;
    snprintf(id, sizeof(id), "20200101-%06u-", second);
    rc = job_history_get(&files, history, id, &found, NULL);
    ck_assert(rc == 0 || rc == ERR_NOTFOUND);
    if (rc == 0)
        ck_assert_uint_eq(found->started_us, PAST_US + second * 1000000);
    if (found)
        job_summaries_free(found, 1);
    return rc == 0;
}

/* A history keeps a bounded number of jobs: the oldest go, but for those that
 * have a work directory. A job reads none of the others. */
START_TEST(test_history_is_bounded)
{
    enum {
        MORE = 20
    };

    setup();
    world = world_real_new();
    struct mr_job job = line_count();
    struct mr_options o = options(&job);
    struct job_summary *found = NULL;
    snprintf(history, sizeof(history), "%s/history", dir);
    ck_assert_int_eq(mkdir(history, 0700), 0);
    for (unsigned i = 0; i < JOB_HISTORY_JOBS_MAX + MORE; i++)
        add_past_job(i, i == 3);
    o.history_dir = history;
    o.overwrite = true;
    write_letters(1000);
    ck_assert_int_eq(mr_run(&o, NULL, NULL), 0);
    /* And the new one. */
    ck_assert_uint_eq(count_names(history), JOB_HISTORY_JOBS_MAX + 2);
    ck_assert(has_past_job(3));
    ck_assert(!has_past_job(0));
    ck_assert(!has_past_job(MORE - 1));
    ck_assert(has_past_job(MORE));
    ck_assert_int_eq(job_history_get(&(struct job_files){.world = world},
                                     history, "20200101-0000", &found, NULL),
                     ERR_INVALID);
    ck_assert_int_eq(job_history_get(&(struct job_files){.world = world},
                                     history, "2019", &found, NULL),
                     ERR_NOTFOUND);
    ck_assert_int_eq(job_history_get(&(struct job_files){.world = world},
                                     history, "last", &found, NULL),
                     0);
    ck_assert_str_eq(found->name, "line_count");
    job_summaries_free(found, 1);
}

END_TEST

TEST_MAIN("job",
          test_counts,
          test_empty_input,
          test_existing_output,
          test_failed_overwrite,
          test_wrong_options,
          test_misused_calls,
          test_several_outputs,
          test_cancel,
          test_kill_and_history,
          test_history_is_bounded)
