/* Backup tasks with real processes: a worker that stands still does not hold
 * the job, and which attempt wins is not seen in the result. */
#define _GNU_SOURCE

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/runtime/world.h"
#include "mapreduce/job.h"
#include "mapreduce/mapreduce.h"
#include "tests/lib/check_main.h"

#define LINES 120

static const char *dir;
static char in_spec[310];
static char out_spec[310];
static const char *inputs[1] = {in_spec};
static const char *outputs[1] = {out_spec};
static atomic_uint *stopped; /* Attempts that stopped themselves. */

static void setup(void)
{
    char path[310];
    FILE *f;
    dir = test_tmpdir();
    setenv("TMPDIR", dir, 1);
    snprintf(in_spec, sizeof(in_spec), "file:%s/in.txt", dir);
    snprintf(out_spec, sizeof(out_spec), "file:%s/out", dir);
    snprintf(path, sizeof(path), "%s/in.txt", dir);
    f = fopen(path, "wb");
    for (int i = 0; i < LINES; i++)
        fprintf(f, "line %04d\n", i);
    fclose(f);
    stopped = mmap(NULL, sizeof(*stopped), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* Ten milliseconds of work a record. */
static int
slow_map(struct mr_task *t, const struct mr_record *r, struct err *err)
{
    struct timespec pause = {0, 10 * 1000 * 1000};
    (void)err;
    nanosleep(&pause, NULL);
    mr_emit_count(t, r->value, 1);
    return 0;
}

static int
reduce(struct mr_task *t, struct slice key, struct mr_values *v, struct err *e)
{
    (void)e;
    mr_write_count(mr_output(t, NULL), key, mr_values_sum(v));
    return 0;
}

static const struct mr_job job = {.abi_version = MR_ABI_VERSION,
                                  .name = "slow",
                                  .map = slow_map,
                                  .reduce = reduce};

static const char *stop_step;

/* The first attempt at the first task stands still at the step, once. */
static void stop_first(void *ctx, const char *step, unsigned t, unsigned a)
{
    (void)ctx;
    if (t == 0 && a == 1 && strcmp(step, stop_step) == 0 &&
        atomic_fetch_add(stopped, 1) == 0)
        raise(SIGSTOP);
}

static struct mr_options options(void)
{
    return (struct mr_options){.program = {.job = &job},
                               .inputs = inputs,
                               .input_count = 1,
                               .outputs = outputs,
                               .output_count = 1,
                               .workers = 4,
                               .reducers = 3,
                               .split_bytes = 100, /* Ten lines. */
                               .memory_bytes = 8 << 20,
                               .overwrite = true};
}

static double run(const struct mr_options *o, struct mr_report **report)
{
    struct err err = ERR_INIT;
    struct world *w = world_real_new();
    uint64_t begin = world_mono_ns(w);
    uint64_t end;
    ck_assert_msg(mr_run(o, report, &err) == 0, "%s", err.text);
    end = world_mono_ns(w);
    world_free(w);
    return (double)(end - begin) / 1e9;
}

static void check_output(const struct mr_report *report)
{
    unsigned lines = 0;
    for (int i = 0; i < 3; i++) {
        char path[400];
        char line[64];
        FILE *f;
        snprintf(path, sizeof(path), "%s/out/part-%05d", dir, i);
        f = fopen(path, "r");
        ck_assert_ptr_nonnull(f);
        while (fgets(line, sizeof(line), f)) {
            ck_assert_str_eq(line + 9, "\t1\n");
            lines++;
        }
        fclose(f);
    }
    ck_assert_uint_eq(lines, LINES);
    ck_assert_int_eq(mr_report_counter(report, "map.records"), LINES);
    ck_assert_int_eq(mr_report_counter(report, "output.records"), LINES);
}

/* A map or a reduce attempt that is stopped by SIGSTOP is run again elsewhere
 * when nothing else waits; the first to end wins, and the job has not waited
 * for its silence (10 minutes). */
START_TEST(test_stopped_attempt)
{
    static const char *const steps[] = {"opened", "mapped", "reduced"};
    setup();
    for (int i = 0; i < 3; i++) {
        struct mr_options o = options();
        struct mr_report *report;
        double seconds;
        atomic_store(stopped, 0);
        stop_step = steps[i];
        o.step = stop_first;
        seconds = run(&o, &report);
        ck_assert_uint_ge(atomic_load(stopped), 1);
        ck_assert(seconds < 100);
        check_output(report);
        ck_assert_int_ge(mr_report_counter(report, "attempts.backup"), 1);
        ck_assert_int_ge(mr_report_counter(report, "attempts.backup_won"), 1);
        ck_assert_uint_eq(report->attempts_failed, 0);
        mr_report_free(report);
    }
}

END_TEST

/* Without backups the same attempt is stopped for its silence and repeated. */
START_TEST(test_without_backups)
{
    setup();
    struct mr_options o = options();
    struct mr_report *report;
    stop_step = "opened";
    o.step = stop_first;
    o.no_backups = true;
    o.timeout_us = 3000 * 1000;
    (void)run(&o, &report);
    check_output(report);
    ck_assert_int_eq(mr_report_counter(report, "attempts.backup"), 0);
    ck_assert_uint_ge(report->attempts_failed, 1);
    mr_report_free(report);
}

END_TEST

TEST_MAIN("backup", test_stopped_attempt, test_without_backups)
