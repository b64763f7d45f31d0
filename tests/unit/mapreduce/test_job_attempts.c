/* Whole jobs in processes whose attempts die: right results all the same, and
 * what was wrong is named.
 */
#define _GNU_SOURCE

#include "tests/unit/mapreduce/job_fixture.h"

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

TEST_MAIN("job_attempts",
          test_killed_at_every_step,
          test_bad_records_are_skipped,
          test_no_skipping,
          test_returned_error,
          test_bad_group_is_skipped,
          test_printing_mapper,
          test_last_words,
          test_huge_value,
          test_leaking_mapper)
