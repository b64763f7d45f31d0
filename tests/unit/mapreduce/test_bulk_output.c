/* Rows written as SSTables by a job are in the table as if they had been
 * written by mutations: once, whatever dies on the way, and nothing else. */
#define _GNU_SOURCE

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "mapreduce/job.h"
#include "mapreduce/mapreduce.h"
#include "tests/lib/check_main.h"

#define LINES 1500

/* --- Fixture ------------------------------------------------------------- */

static const char *dir;
static char store[310];
static char history[310];
static char in_spec[310];
static const char *inputs[1] = {in_spec};
static const char *output;
static _Atomic unsigned *deaths; /* Of attempts, over all processes. */

static void open_store(struct quarry **q)
{
    struct err err = ERR_INIT;
    ck_assert_msg(quarry_open(store, NULL, q, &err) == 0, "%s", err.text);
}

/* A table of three tablets. */
static void make_table(struct quarry *q, const char *name)
{
    static const struct quarry_family_spec families[] = {{"f", ""}, {"g", ""}};
    ck_assert_int_eq(quarry_table_create(q, name, families, 2, NULL, 0, NULL),
                     0);
    ck_assert_int_eq(quarry_table_split(q, name, SLICE_LIT("h"), NULL), 0);
    ck_assert_int_eq(quarry_table_split(q, name, SLICE_LIT("p"), NULL), 0);
}

/* Lines "row column", rows and columns of few letters: many occur more than
 * once. The value of a cell follows from its name. */
static void write_input(struct rand_gen *r)
{
    char path[330];
    FILE *f;
    snprintf(path, sizeof(path), "%s/in.txt", dir);
    f = fopen(path, "wb");
    for (int i = 0; i < LINES; i++) {
        int n = 1 + (int)rand_below(r, 3);
        while (n-- > 0)
            fputc('a' + (int)rand_below(r, 26), f);
        fprintf(f, " c%u\n", (unsigned)rand_below(r, 5));
    }
    fclose(f);
}

static void setup(void)
{
    struct rand_gen r;
    struct quarry *q;
    rand_init(&r, test_seed());
    dir = test_tmpdir();
    setenv("TMPDIR", dir, 1);
    snprintf(store, sizeof(store), "file:%s/store", dir);
    snprintf(history, sizeof(history), "%s/jobs", dir);
    snprintf(in_spec, sizeof(in_spec), "file:%s/in.txt", dir);
    deaths = mmap(NULL, sizeof(*deaths), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    write_input(&r);
    open_store(&q);
    make_table(q, "slow");
    make_table(q, "fast");
    quarry_close(q);
}

/* --- The job ------------------------------------------------------------- */

static void work(void)
{
    struct timespec pause = {0, 200 * 1000};
    nanosleep(&pause, NULL);
}

static int map(struct mr_task *t, const struct mr_record *r, struct err *err)
{
    size_t n = slice_find_byte(r->value, ' ');
    (void)err;
    work();
    mr_emit(t, slice_sub(r->value, 0, n),
            slice_sub(r->value, n + 1, r->value.len));
    return 0;
}

static void put(struct mr_task *t, struct slice row, struct slice column)
{
    struct buf value = BUF_INIT;
    buf_printf(&value, "%.*s of %.*s", SLICE_ARG(column), SLICE_ARG(row));
    mr_put(mr_output(t, NULL), row, column.data[1] < '3' ? "f" : "g", column,
           MR_JOB_TIME, buf_slice(&value));
    mr_put(mr_output(t, NULL), row, "f", column, 17, SLICE_LIT("older"));
    buf_close(&value);
}

static int
reduce(struct mr_task *t, struct slice key, struct mr_values *v, struct err *e)
{
    struct slice column;
    (void)e;
    work();
    while (mr_values_next(v, &column))
        put(t, key, column);
    mr_count(t, "keys", 1);
    return 0;
}

static const struct mr_job rows = {.abi_version = MR_ABI_VERSION,
                                   .name = "rows",
                                   .map = map,
                                   .reduce = reduce};

static int
put_line(struct mr_task *t, const struct mr_record *r, struct err *err)
{
    size_t n = slice_find_byte(r->value, ' ');
    (void)err;
    put(t, slice_sub(r->value, 0, n), slice_sub(r->value, n + 1, r->value.len));
    return 0;
}

/* Writes rows as they come. */
static const struct mr_job unordered = {.abi_version = MR_ABI_VERSION,
                                        .name = "unordered",
                                        .map = put_line};

static int
delete_line(struct mr_task *t, const struct mr_record *r, struct err *err)
{
    (void)err;
    mr_delete_row(mr_output(t, NULL), r->value);
    return 0;
}

static const struct mr_job deleting = {.abi_version = MR_ABI_VERSION,
                                       .name = "deleting",
                                       .map = delete_line};

static const struct mr_job *find(const char *name)
{
    return strcmp(name, "rows") == 0 ? &rows : NULL;
}

static struct mr_options options(const struct mr_job *job, const char *out)
{
    output = out;
    return (struct mr_options){.program = {.job = job},
                               .target = store,
                               .inputs = inputs,
                               .input_count = 1,
                               .outputs = &output,
                               .output_count = 1,
                               .workers = 2,
                               .reducers = 4,
                               .split_bytes = 1024,
                               .memory_bytes = 4 << 20,
                               .history_dir = history};
}

/* --- Helpers ------------------------------------------------------------- */

/* All cells of the table, without the time of the job that wrote them. */
static char *dump(const char *table)
{
    struct buf out = BUF_INIT;
    struct quarry *q;
    struct quarry_table *t;
    struct quarry_scanner *s;
    const struct quarry_row *row;
    open_store(&q);
    ck_assert_int_eq(quarry_table_open(q, table, &t, NULL), 0);
    ck_assert_int_eq(quarry_scan(t, NULL, &s, NULL), 0);
    while (quarry_scanner_next(s, &row, NULL) == 0 && row)
        for (size_t i = 0; i < row->cell_count; i++) {
            const struct quarry_cell *c = &row->cells[i];
            buf_printf(&out, "%.*s %.*s:%.*s %d %.*s\n", SLICE_ARG(row->key),
                       SLICE_ARG(c->family), SLICE_ARG(c->qualifier),
                       c->timestamp_us == 17, SLICE_ARG(c->value));
        }
    quarry_scanner_close(s);
    quarry_table_close(t);
    quarry_close(q);
    return buf_take(&out);
}

static unsigned count_names(const char *name)
{
    char path[340];
    struct dirent *e;
    unsigned n = 0;
    DIR *d;
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    d = opendir(path);
    while (d && (e = readdir(d)))
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n;
}

/* The table that was loaded holds what the other does, and of the load nothing
 * is left beside it. */
static void check_same(void)
{
    char *want = dump("slow");
    char *got = dump("fast");
    ck_assert_uint_gt(strlen(want), LINES);
    ck_assert_str_eq(got, want);
    ck_assert_uint_eq(count_names("store/load"), 0);
    free(want);
    free(got);
}

static void run_slow(void)
{
    struct mr_options o = options(&rows, "table:slow");
    struct err err = ERR_INIT;
    ck_assert_msg(mr_run(&o, NULL, &err) == 0, "%s", err.text);
}

/* --- Tests --------------------------------------------------------------- */

/* Loaded rows are those that mutations would have written, in processes and in
 * this one, and are counted; a second load changes nothing but times. */
START_TEST(test_same_as_mutations)
{
    setup();
    run_slow();
    for (int i = 0; i < 3; i++) {
        struct mr_options o = options(&rows, "table:fast?bulk=yes");
        struct mr_report *report;
        struct err err = ERR_INIT;
        o.in_process = i == 1;
        o.reducers = 1 + (unsigned)i;
        ck_assert_msg(mr_run(&o, &report, &err) == 0, "%s", err.text);
        ck_assert_int_eq(mr_report_counter(report, "output.rows"),
                         mr_report_counter(report, "keys"));
        ck_assert_int_eq(mr_report_counter(report, "map.records"), LINES);
        mr_report_free(report);
        if (i == 0)
            check_same();
    }
    ck_assert_uint_eq(count_names("store/load"), 0);
}

END_TEST

static char fatal_step[32];

/* Die the first time each task comes to the step. */
static void die_at_step(void *ctx, const char *step, unsigned t, unsigned a)
{
    (void)ctx;
    (void)t;
    if (a == 1 && strcmp(step, fatal_step) == 0) {
        atomic_fetch_add(deaths, 1);
        raise(SIGKILL);
    }
}

/* Attempts that die at any step leave nothing in the table. */
START_TEST(test_attempts_die)
{
    static const char *const steps[] = {"opened", "reduced", "writing", "done"};
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        struct mr_options o;
        struct err err = ERR_INIT;
        setup();
        run_slow();
        o = options(&rows, "table:fast?bulk=yes");
        o.step = die_at_step;
        strcpy(fatal_step, steps[i]);
        ck_assert_msg(mr_run(&o, NULL, &err) == 0, "%s: %s", steps[i],
                      err.text);
        ck_assert_uint_gt(atomic_load(deaths), 0);
        check_same();
    }
}

END_TEST

struct death {
    enum mr_phase phase;
    unsigned tasks_done;
};

static void die_there(void *ctx, const struct mr_progress *p)
{
    const struct death *d = ctx;
    if (p->phase > d->phase ||
        (p->phase == d->phase && p->tasks_done >= d->tasks_done))
        raise(SIGKILL);
}

static void run_until(const struct death *d)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        struct mr_options o = options(&rows, "table:fast?bulk=yes");
        struct err err = ERR_INIT;
        int rc;
        o.progress = die_there;
        o.progress_ctx = (void *)(uintptr_t)d;
        rc = mr_run(&o, NULL, &err);
        fprintf(stderr, "the job did not die: %d %s\n", rc, err.text);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status));
}

/* The processes of the dead one take a moment to go. */
static int resume(struct err *err)
{
    int rc = ERR_BUSY;
    for (int i = 0; i < 500 && rc == ERR_BUSY; i++) {
        struct mr_options o = options(&rows, "table:fast?bulk=yes");
        struct timespec pause = {0, 20 * 1000 * 1000};
        nanosleep(&pause, NULL);
        rc = mr_resume(&o, "last", find, NULL, err);
    }
    return rc;
}

/* A job that is killed anywhere, also as it adds the files or when it has, goes
 * on and ends with each row there once. */
START_TEST(test_job_dies)
{
    static const struct death places[] = {
        {MR_PHASE_MAP, 0},    {MR_PHASE_MAP, 4},    {MR_PHASE_REDUCE, 0},
        {MR_PHASE_REDUCE, 2}, {MR_PHASE_COMMIT, 0}, {MR_PHASE_COMMIT, 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        struct err err = ERR_INIT;
        setup();
        run_slow();
        run_until(&places[i]);
        ck_assert_msg(resume(&err) == 0, "%zu: %s", i, err.text);
        check_same();
    }
}

END_TEST

/* A request that a load cannot fulfil is refused with a remedy, and leaves
 * nothing. */
START_TEST(test_refused)
{
    struct mr_options o;
    struct err err = ERR_INIT;
    char *left;
    setup();
    o = options(&unordered, "table:fast?bulk=yes");
    ck_assert_int_eq(mr_run(&o, NULL, &err), ERR_INVALID);
    ck_assert_msg(strstr(err.text, "must ascend") != NULL, "%s", err.text);
    ck_assert_msg(strstr(err.hint, "bulk=yes") != NULL, "%s", err.hint);
    o = options(&deleting, "table:fast?bulk=yes");
    ck_assert_int_eq(mr_run(&o, NULL, &err), ERR_INVALID);
    ck_assert_msg(strstr(err.text, "cells alone") != NULL, "%s", err.text);
    o = options(&rows, "table:fast?bulk=perhaps");
    ck_assert_int_eq(mr_run(&o, NULL, &err), ERR_INVALID);
    ck_assert_msg(strstr(err.text, "bulk=yes") != NULL, "%s", err.text);
    o = options(&rows, "table:none?bulk=yes");
    ck_assert_int_eq(mr_run(&o, NULL, &err), ERR_NOTFOUND);
    left = dump("fast");
    ck_assert_str_eq(left, "");
    free(left);
    ck_assert_uint_eq(count_names("store/load"), 0);
}

END_TEST

TEST_MAIN("bulk_output",
          test_same_as_mutations,
          test_attempts_die,
          test_job_dies,
          test_refused)
