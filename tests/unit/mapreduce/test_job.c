/* Whole jobs in processes: right results, whatever happens to attempts. */
#define _GNU_SOURCE

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "mapreduce/job.h"
#include "mapreduce/job_history.h"
#include "mapreduce/mapreduce.h"
#include "mapreduce/records/files.h"
#include "tests/lib/check_main.h"
#include "tests/unit/mapreduce/output.h"

/* --- Fixture ------------------------------------------------------------- */

static const char *dir;
static char in_spec[310];
static char out_dir[300];
static char out_spec[310];
static const char *inputs[1] = {in_spec};
static const char *outputs[1] = {out_spec};

/* How often things happened in attempts, over all processes. */
struct shared {
    _Atomic unsigned deaths;
    _Atomic unsigned steps;
};
static struct shared *shared;
static struct world *world;

static void write_input(const char *text, size_t n)
{
    char path[300];
    FILE *f;
    snprintf(path, sizeof(path), "%s/in.txt", dir);
    f = fopen(path, "wb");
    ck_assert_uint_eq(fwrite(text, 1, n, f), n);
    fclose(f);
}

static void setup(void)
{
    dir = test_tmpdir();
    snprintf(in_spec, sizeof(in_spec), "file:%s/in.txt", dir);
    snprintf(out_dir, sizeof(out_dir), "%s/out", dir);
    snprintf(out_spec, sizeof(out_spec), "file:%s", out_dir);
    setenv("TMPDIR", dir, 1);
    world = world_real_new();
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static struct mr_options options(const struct mr_job *job)
{
    return (struct mr_options){
        .program = {.job = job},
        .inputs = inputs,
        .input_count = 1,
        .outputs = outputs,
        .output_count = 1,
        .workers = 2,
        .memory_bytes = 2 << 20,
        .timeout_us = 20 * 1000 * 1000,
    };
}

/* --- Helpers ------------------------------------------------------------- */

static unsigned count_names(const char *path)
{
    DIR *d = opendir(path);
    struct dirent *e;
    unsigned n = 0;
    if (!d)
        return 0;
    while ((e = readdir(d)))
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    return n;
}

/* Nothing is left but the input and, if @done, the output. */
static void check_clean(bool done)
{
    ck_assert_uint_eq(count_names(dir), done ? 2 : 1);
}

/* --- The job under test: counts lines by their text ---------------------- */

static int line_map(struct mr_task *t, const struct mr_record *r, struct err *e)
{
    (void)e;
    mr_emit_count(t, r->value, 1);
    return 0;
}

static int sum_reduce(struct mr_task *t,
                      struct slice key,
                      struct mr_values *v,
                      struct err *e)
{
    (void)e;
    mr_write_count(mr_output(t, NULL), key, mr_values_sum(v));
    return 0;
}

static struct mr_job line_count(void)
{
    return (struct mr_job){.abi_version = MR_ABI_VERSION,
                           .name = "line_count",
                           .map = line_map,
                           .reduce = sum_reduce,
                           .combine = mr_combine_sum};
}

/* 26 different lines, line c occurring as often as it says. */
static void write_letters(unsigned lines)
{
    struct buf text = BUF_INIT;
    for (unsigned i = 0; i < lines; i++)
        buf_printf(&text, "%c\n", 'a' + i % 26);
    write_input(text.data, text.len);
    buf_close(&text);
}

static void check_letters(unsigned lines)
{
    char *out = read_parts(out_dir);
    struct buf want = BUF_INIT;
    size_t found = 0;
    for (unsigned c = 0; c < 26; c++) {
        buf_clear(&want);
        buf_printf(&want, "%c\t%u\n", 'a' + c, lines / 26 + (c < lines % 26));
        ck_assert_ptr_nonnull(strstr(out, buf_cstr(&want)));
        found += want.len;
    }
    ck_assert_uint_eq(strlen(out), found);
    buf_close(&want);
    mem_free(out);
}

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

/* --- Tests: attempts that die -------------------------------------------- */

static char fatal_step[32];

/* Die the first time each task comes to the step. */
static void die_at_step(void *ctx, const char *step, unsigned t, unsigned a)
{
    (void)ctx;
    (void)t;
    atomic_fetch_add(&shared->steps, 1);
    if (a == 1 && strcmp(step, fatal_step) == 0) {
        atomic_fetch_add(&shared->deaths, 1);
        raise(SIGKILL);
    }
}

/* Killed at any step, attempts are repeated and every pair counts once. */
START_TEST(test_killed_at_every_step)
{
    setup();
    static const char *const steps[] = {"started", "opened",  "mapped",
                                        "reduced", "writing", "done"};
    struct mr_job job = line_count();
    write_letters(3000);
    for (unsigned i = 0; i < 12; i++) {
        struct mr_options o = options(&job);
        struct mr_report *report;
        struct err err = ERR_INIT;
        atomic_store(&shared->deaths, 0);
        strcpy(fatal_step, steps[i / 2]);
        o.step = die_at_step;
        o.no_backups = true; /* One that lost dies without having failed. */
        o.overwrite = true;
        o.split_bytes = i & 1 ? 0 : 1000;
        o.reducers = i & 1 ? 1 : 3;
        ck_assert_msg(mr_run(&o, &report, &err) == 0, "%s: %s", fatal_step,
                      err.text);
        ck_assert_uint_gt(atomic_load(&shared->deaths), 0);
        ck_assert_uint_eq(report->attempts_failed,
                          atomic_load(&shared->deaths));
        ck_assert_int_eq(mr_report_counter(report, "map.records"), 3000);
        check_letters(3000);
        check_clean(true);
        mr_report_free(report);
    }
}

END_TEST

static int bad_map(struct mr_task *t, const struct mr_record *r, struct err *e)
{
    if (slice_eq_str(r->value, "crash")) {
        signal(SIGSEGV, SIG_DFL); /* Past a sanitizer's own handler. */
        raise(SIGSEGV);
    }
    if (slice_eq_str(r->value, "exit"))
        _exit(7);
    if (slice_eq_str(r->value, "hang"))
        for (;;)
            pause();
    if (slice_eq_str(r->value, "fail"))
        return err_set(e, ERR_IO, "no luck");
    return line_map(t, r, e);
}

static struct mr_job bad_job(void)
{
    struct mr_job job = line_count();
    job.map = bad_map;
    return job;
}

/* Records that kill or hang are skipped, named and counted; the others are all
 * there. */
START_TEST(test_bad_records_are_skipped)
{
    setup();
    struct mr_job job = bad_job();
    struct mr_options o = options(&job);
    struct mr_report *report;
    struct err err = ERR_INIT;
    char *out;
    const char *text = "a\ncrash\na\nexit\nb\nhang\na\n";
    write_input(text, strlen(text));
    o.timeout_us = 3000 * 1000;
    ck_assert_msg(mr_run(&o, &report, &err) == 0, "%s", err.text);
    out = read_parts(out_dir);
    ck_assert_str_eq(out, "a\t3\nb\t1\n");
    ck_assert_int_eq(mr_report_counter(report, "map.records_skipped"), 3);
    ck_assert_uint_eq(report->note_count, 3);
    ck_assert_ptr_nonnull(strstr(report->notes[0], "signal 11"));
    ck_assert_ptr_nonnull(strstr(report->notes[0], "record 1 at offset 2"));
    ck_assert_ptr_nonnull(strstr(report->notes[1], "status 7"));
    ck_assert_ptr_nonnull(strstr(report->notes[2], "in time"));
    mem_free(out);
    mr_report_free(report);
}

END_TEST

/* A job that must skip nothing fails, and leaves nothing behind. */
START_TEST(test_no_skipping)
{
    setup();
    struct mr_job job = bad_job();
    struct mr_options o = options(&job);
    struct mr_report *report;
    struct err err = ERR_INIT;
    write_input("a\ncrash\n", 8);
    o.skip_none = true;
    ck_assert_int_eq(mr_run(&o, &report, &err), ERR_ABORTED);
    ck_assert_ptr_nonnull(strstr(err.text, "signal 11"));
    ck_assert_uint_eq(report->attempts_failed, 4);
    check_clean(false);
    mr_report_free(report);
}

END_TEST

/* An error a job returns is retried, and then the job's error, with place. */
START_TEST(test_returned_error)
{
    setup();
    struct mr_job job = bad_job();
    struct mr_options o = options(&job);
    struct mr_report *report;
    struct err err = ERR_INIT;
    write_input("a\nfail\n", 7);
    ck_assert_int_eq(mr_run(&o, &report, &err), ERR_IO);
    ck_assert_ptr_nonnull(strstr(err.text, "no luck"));
    ck_assert_ptr_nonnull(strstr(err.text, "in.txt"));
    ck_assert_ptr_nonnull(strstr(err.text, "record 1 at offset 2"));
    ck_assert_uint_eq(report->attempts_failed, 4);
    check_clean(false);
    mr_report_free(report);
}

END_TEST

static int crash_reduce(struct mr_task *t,
                        struct slice key,
                        struct mr_values *v,
                        struct err *e)
{
    if (slice_eq_str(key, "c"))
        abort();
    return sum_reduce(t, key, v, e);
}

/* A group that kills the reducer is skipped, whether one attempt does the whole
 * job or reducers run alone. */
START_TEST(test_bad_group_is_skipped)
{
    setup();
    struct mr_job job = line_count();
    job.reduce = crash_reduce;
    write_letters(2600);
    for (int several = 0; several < 2; several++) {
        struct mr_options o = options(&job);
        struct mr_report *report;
        struct err err = ERR_INIT;
        char *out;
        o.split_bytes = several ? 500 : 0;
        o.overwrite = true;
        ck_assert_msg(mr_run(&o, &report, &err) == 0, "%s", err.text);
        out = read_parts(out_dir);
        ck_assert_ptr_null(strstr(out, "c\t"));
        ck_assert_ptr_nonnull(strstr(out, "d\t100\n"));
        ck_assert_int_eq(mr_report_counter(report, "reduce.groups_skipped"), 1);
        ck_assert_ptr_nonnull(strstr(report->notes[0], "(\"c\")"));
        mem_free(out);
        mr_report_free(report);
    }
}

END_TEST

static int loud_map(struct mr_task *t, const struct mr_record *r, struct err *e)
{
    for (int i = 0; i < 3000; i++)
        printf("this line is not part of the result\n");
    printf("the very last words\n");
    fflush(stdout);
    if (slice_eq_str(r->value, "z"))
        _exit(3);
    return line_map(t, r, e);
}

/* Text that a job prints never reaches the result and never blocks it; its last
 * lines are in the error. */
START_TEST(test_printing_mapper)
{
    setup();
    struct mr_job job = line_count();
    struct mr_options o = options(&job);
    struct err err = ERR_INIT;
    char *out;
    job.map = loud_map;
    write_letters(25);
    ck_assert_msg(mr_run(&o, NULL, &err) == 0, "%s", err.text);
    out = read_parts(out_dir);
    ck_assert_uint_eq(strlen(out), 25 * strlen("a\t1\n"));
    mem_free(out);
}

END_TEST

START_TEST(test_last_words)
{
    setup();
    struct mr_job job = line_count();
    struct mr_options o = options(&job);
    struct err err = ERR_INIT;
    job.map = loud_map;
    write_letters(26);
    o.skip_none = true;
    ck_assert_int_eq(mr_run(&o, NULL, &err), ERR_ABORTED);
    ck_assert_ptr_nonnull(strstr(err.text, "the very last words"));
    ck_assert_ptr_nonnull(strstr(err.text, "status 3"));
}

END_TEST

static int huge_map(struct mr_task *t, const struct mr_record *r, struct err *e)
{
    size_t n = (size_t)1 << 30;
    /* Never touched: only its length matters. */
    char *p = mmap(NULL, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)e;
    if (p == MAP_FAILED)
        abort();
    mr_emit(t, r->value, slice_make(p, n));
    return 0;
}

/* A value of 1 GB is refused with its size and key, and at once. */
START_TEST(test_huge_value)
{
    setup();
    struct mr_job job = line_count();
    struct mr_options o = options(&job);
    struct mr_report *report;
    struct err err = ERR_INIT;
    job.map = huge_map;
    job.combine = NULL;
    write_letters(1);
    ck_assert_int_eq(mr_run(&o, &report, &err), ERR_TOOBIG);
    ck_assert_ptr_nonnull(strstr(err.text, "1073741824"));
    ck_assert_ptr_nonnull(strstr(err.text, "\"a\""));
    ck_assert_uint_eq(report->attempts_failed, 1);
    check_clean(false);
    mr_report_free(report);
}

END_TEST

static int
leaky_map(struct mr_task *t, const struct mr_record *r, struct err *e)
{
    for (size_t i = 0; i < (size_t)1 << 20; i++) {
        char *p = malloc(4096);
        if (!p)
            abort();
        memset(p, 1, 4096);
    }
    return line_map(t, r, e);
}

/* A job that allocates without end dies alone. */
START_TEST(test_leaking_mapper)
{
    setup();
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    printf("SKIPPED: a sanitizer's memory cannot be limited\n");
#else
    struct mr_job job = line_count();
    struct mr_options o = options(&job);
    struct err err = ERR_INIT;
    job.map = leaky_map;
    write_letters(1);
    o.heap_bytes = 64 << 20;
    o.skip_none = true;
    ck_assert_int_eq(mr_run(&o, NULL, &err), ERR_ABORTED);
    ck_assert_ptr_nonnull(strstr(err.text, "signal 6"));
#endif
    (void)leaky_map;
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
          test_killed_at_every_step,
          test_bad_records_are_skipped,
          test_no_skipping,
          test_returned_error,
          test_bad_group_is_skipped,
          test_printing_mapper,
          test_last_words,
          test_huge_value,
          test_leaking_mapper,
          test_existing_output,
          test_failed_overwrite,
          test_wrong_options,
          test_misused_calls,
          test_several_outputs,
          test_cancel,
          test_kill_and_history,
          test_history_is_bounded)
