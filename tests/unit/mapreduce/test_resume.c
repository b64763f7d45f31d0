/* A job whose process is killed is resumed from its journal, wherever it was:
 * what was done is not repeated, and each output appears once and whole. */
#define _GNU_SOURCE

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/runtime/world.h"
#include "mapreduce/job.h"
#include "mapreduce/job_history.h"
#include "mapreduce/mapreduce.h"
#include "mapreduce/master/job_replay.h"
#include "mapreduce/master/journal.h"
#include "mapreduce/output/commit.h"
#include "mapreduce/output/dirs.h"
#include "mapreduce/records/files.h"
#include "mapreduce/task/saved_job.h"
#include "tests/lib/check_main.h"

#define LINES 120

/* --- Fixture ------------------------------------------------------------- */

static const char *dir;
static char in_spec[310];
static char out_spec[2][320];
static char history[310];
static const char *inputs[1] = {in_spec};
static const char *outputs[2] = {out_spec[0], out_spec[1]};
static struct world *world;
static atomic_uint *mapped; /* Records, by all processes. */

static void setup(void)
{
    char path[310];
    FILE *f;
    dir = test_tmpdir();
    setenv("TMPDIR", dir, 1);
    if (!world)
        world = world_real_new();
    snprintf(history, sizeof(history), "%s/jobs", dir);
    snprintf(in_spec, sizeof(in_spec), "file:%s/in.txt", dir);
    snprintf(out_spec[0], sizeof(out_spec[0]), "file:%s/out", dir);
    snprintf(out_spec[1], sizeof(out_spec[1]), "more=file:%s/more", dir);
    snprintf(path, sizeof(path), "%s/in.txt", dir);
    f = fopen(path, "wb");
    for (int i = 0; i < LINES; i++)
        fprintf(f, "line %04d\n", i);
    fclose(f);
    mapped = mmap(NULL, sizeof(*mapped), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static void work(void)
{
    struct timespec pause = {0, 2 * 1000 * 1000};
    nanosleep(&pause, NULL);
}

static int map(struct mr_task *t, const struct mr_record *r, struct err *err)
{
    (void)err;
    work();
    atomic_fetch_add(mapped, 1);
    mr_emit_count(t, r->value, 1);
    return 0;
}

static int
reduce(struct mr_task *t, struct slice key, struct mr_values *v, struct err *e)
{
    (void)e;
    work();
    mr_count(t, "keys", 1);
    mr_write_count(mr_output(t, NULL), key, mr_values_sum(v));
    mr_write(mr_output(t, "more"), key, SLICE_LIT("more"));
    mr_write_side(mr_output(t, NULL), "side", key, SLICE_LIT("side"));
    return 0;
}

static struct mr_job job = {.abi_version = MR_ABI_VERSION,
                            .name = "slow",
                            .map = map,
                            .reduce = reduce};

static const struct mr_job *find(const char *name)
{
    return strcmp(name, "slow") == 0 ? &job : NULL;
}

static struct mr_options options(void)
{
    return (struct mr_options){.program = {.job = &job},
                               .inputs = inputs,
                               .input_count = 1,
                               .outputs = outputs,
                               .output_count = 2,
                               .workers = 2,
                               .reducers = 4,
                               .split_bytes = 100, /* Ten lines. */
                               .memory_bytes = 4 << 20,
                               .history_dir = history};
}

/* --- Helpers ------------------------------------------------------------- */

struct death {
    enum mr_phase phase;
    unsigned tasks_done;
};

static void die_there(void *ctx, const struct mr_progress *p)
{
    const struct death *d = ctx;
    /* A phase that is over in no time is not reported. */
    if (p->phase > d->phase ||
        (p->phase == d->phase && p->tasks_done >= d->tasks_done))
        raise(SIGKILL);
}

/* Run or resume the job in a process that dies there. */
static void run_until(const struct death *d, bool resume)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        struct mr_options o = options();
        struct err err = ERR_INIT;
        int rc;
        o.progress = die_there;
        o.progress_ctx = (void *)(uintptr_t)d;
        rc = resume ? mr_resume(&o, "last", find, NULL, &err)
                    : mr_run(&o, NULL, &err);
        fprintf(stderr, "the job did not die: %d %s\n", rc, err.text);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status));
}

/* The processes of the dead one take a moment to go. */
static int resume(struct mr_report **report, struct err *err)
{
    int rc = ERR_BUSY;
    for (int i = 0; i < 500 && rc == ERR_BUSY; i++) {
        struct mr_options o = options();
        work();
        *report = NULL;
        rc = mr_resume(&o, "last", find, report, err);
    }
    return rc;
}

static unsigned count_lines(const char *out, const char *part, unsigned parts)
{
    unsigned lines = 0;
    for (unsigned i = 0; i < parts; i++) {
        char path[400];
        char line[64];
        FILE *f;
        snprintf(path, sizeof(path), "%s/%s/%s-%05u", dir, out, part, i);
        f = fopen(path, "r");
        ck_assert_msg(f != NULL, "%s", path);
        while (fgets(line, sizeof(line), f))
            lines++;
        fclose(f);
    }
    return lines;
}

/* Only the input, the history and the outputs are there. */
static void check_clean(void)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    while ((e = readdir(d)))
        ck_assert_msg(strcmp(e->d_name, ".") == 0 ||
                          strcmp(e->d_name, "..") == 0 || e->d_name[0] != '.',
                      "left behind: %s", e->d_name);
    closedir(d);
}

/* --- Tests --------------------------------------------------------------- */

/* Killed in any phase and resumed, the job gives what it would have given. */
START_TEST(test_killed_in_each_phase)
{
    static const struct death deaths[] = {
        {MR_PHASE_MAP, 0},    {MR_PHASE_MAP, 4},    {MR_PHASE_MAP, 10},
        {MR_PHASE_REDUCE, 0}, {MR_PHASE_REDUCE, 2}, {MR_PHASE_COMMIT, 0},
        {MR_PHASE_COMMIT, 1}, {MR_PHASE_COMMIT, 2},
    };
    for (size_t i = 0; i < sizeof(deaths) / sizeof(deaths[0]); i++) {
        struct mr_report *report;
        struct err err = ERR_INIT;
        struct job_summary *found;
        int rc;
        setup();
        run_until(&deaths[i], false);
        rc = resume(&report, &err);
        ck_assert_msg(rc == 0, "%zu: %s", i, err.text);
        ck_assert_uint_eq(count_lines("out", "part", 4), LINES);
        ck_assert_uint_eq(count_lines("out", "side", 4), LINES);
        ck_assert_uint_eq(count_lines("more", "part", 4), LINES);
        ck_assert_int_eq(mr_report_counter(report, "map.records"), LINES);
        ck_assert_int_eq(mr_report_counter(report, "keys"), LINES);
        /* At most what two attempts were at was done again. */
        ck_assert_uint_le(atomic_load(mapped), LINES + 2 * 10);
        check_clean();
        ck_assert_int_eq(job_history_get(&(struct job_files){.world = world},
                                         history, "last", &found, NULL),
                         0);
        ck_assert_int_eq(found->state, JOB_SUCCEEDED);
        job_summaries_free(found, 1);
        mr_report_free(report);
    }
}

END_TEST

/* It may die again as it is resumed. */
START_TEST(test_killed_again_and_again)
{
    static const struct death deaths[] = {{MR_PHASE_MAP, 3},
                                          {MR_PHASE_MAP, 8},
                                          {MR_PHASE_REDUCE, 1},
                                          {MR_PHASE_COMMIT, 1}};
    struct mr_report *report;
    struct err err = ERR_INIT;
    setup();
    for (int i = 0; i < 4; i++) {
        struct timespec pause = {0, 300 * 1000 * 1000};
        run_until(&deaths[i], i > 0);
        nanosleep(&pause, NULL);
    }
    ck_assert_msg(resume(&report, &err) == 0, "%s", err.text);
    ck_assert_uint_eq(count_lines("out", "part", 4), LINES);
    ck_assert_int_eq(mr_report_counter(report, "map.records"), LINES);
    check_clean();
    mr_report_free(report);
}

END_TEST

/* A job that ended cannot be resumed, nor an unknown one, nor one without a
 * journal, and each error says why. */
START_TEST(test_refused)
{
    static const struct death early = {MR_PHASE_MAP, 1};
    struct mr_options o;
    struct mr_report *report;
    struct err err = ERR_INIT;
    setup();
    o = options();
    ck_assert_int_eq(mr_resume(&o, "last", find, NULL, &err), ERR_NOTFOUND);
    ck_assert_int_eq(mr_run(&o, NULL, NULL), 0);
    ck_assert_int_eq(mr_resume(&o, "last", find, NULL, &err), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(err.text, "has ended"));
    setup();
    run_until(&early, false);
    o = options();
    ck_assert_int_eq(mr_resume(&o, "last", NULL, NULL, &err), ERR_UNSUPPORTED);
    ck_assert_msg(resume(&report, &err) == 0, "%s", err.text);
    mr_report_free(report);
}

END_TEST

/* A journal that is cut or damaged anywhere is read up to there, or refused. */
START_TEST(test_damaged_journal)
{
    static const struct death late = {MR_PHASE_REDUCE, 2};
    struct rand_gen r;
    struct job_summary *found;
    struct buf bytes = BUF_INIT;
    struct buf path = BUF_INIT;
    uint64_t length;
    setup();
    rand_init(&r, test_seed());
    run_until(&late, false);
    ck_assert_int_eq(job_history_get(&(struct job_files){.world = world},
                                     history, "last", &found, NULL),
                     0);
    journal_path(&path, history, found->id);
    ck_assert_int_eq(journal_load(&(struct job_files){.world = world},
                                  buf_cstr(&path), &bytes, &length, NULL),
                     0);
    buf_close(&path);
    for (int i = 0; i < 2000; i++) {
        struct replay log = {.planned = false};
        size_t n = 1 + rand_below(&r, bytes.len);
        buf_append(&log.bytes, bytes.data, i % 2 ? n : bytes.len);
        if (i % 2 == 0)
            log.bytes.data[n - 1] ^= (char)(1 << rand_below(&r, 8));
        if (replay_read(&log, NULL) == 0) {
            ck_assert_uint_le(log.end, log.bytes.len);
            ck_assert_uint_le(log.end_count, 16);
            ck_assert_str_eq(log.begin.job_id, found->id);
        }
        replay_close(&log);
    }
    job_summaries_free(found, 1);
    buf_close(&bytes);
}

END_TEST

static void put_file(const char *path)
{
    const struct job_files files = {.world = world};
    char *parent;
    const char *name;
    parent = dirs_parent(path, &name);
    ck_assert_int_eq(dirs_make(&files, parent, NULL), 0);
    ck_assert_int_eq(files_replace(&files, path, SLICE_LIT("old\n"), NULL), 0);
    mem_free(parent);
}

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

/* The output that an overwrite had moved away is moved back when the job does
 * not end, and is not lost where it cannot be. */
START_TEST(test_half_overwritten)
{
    struct job_files files = {.world = NULL};
    char staging[320];
    char taken[340];
    char output[320];
    char part[330];
    struct err err = ERR_INIT;
    setup();
    files.world = world;
    snprintf(staging, sizeof(staging), "%s/.o.20260101-000000-0001", dir);
    snprintf(taken, sizeof(taken), "%s/.old/output/part", staging);
    snprintf(output, sizeof(output), "%s/o", dir);
    snprintf(part, sizeof(part), "%s/part", output);
    put_file(taken);
    ck_assert_int_eq(commit_abandon(&files, staging, output, &err), 0);
    ck_assert(is_there(part));
    ck_assert(!is_there(staging));
    put_file(taken);
    ck_assert_int_eq(commit_abandon(&files, staging, output, &err), ERR_EXISTS);
    ck_assert_ptr_nonnull(strstr(err.text, ".old"));
    ck_assert(is_there(taken));
    ck_assert(is_there(part));
    /* Nothing to give back. */
    ck_assert_int_eq(dirs_remove(&files, staging, NULL), 0);
    ck_assert_int_eq(commit_abandon(&files, staging, output, &err), 0);
}

END_TEST

/* Publish a staging directory that somebody @began, or only made; what is there
 * afterwards? */
static void check_overwrite(bool began)
{
    struct job_files files = {.world = world};
    char staging[320];
    char output[320];
    char path[340];
    struct mr_spec spec = {.path = output};
    uint64_t rows = 0;
    struct err err = ERR_INIT;
    snprintf(staging, sizeof(staging), "%s/.o.20260101-000000-0001", dir);
    snprintf(output, sizeof(output), "%s/o", dir);
    snprintf(path, sizeof(path), "%s/part-new", staging);
    put_file(path);
    if (began)
        ck_assert_int_eq(commit_begin(&files, staging, &err), 0);
    ck_assert_int_eq(
        commit_output(&files, &spec, staging, true, NULL, NULL, &rows, &err),
        began ? 0 : ERR_NOTFOUND);
    ck_assert_int_eq(commit_find_staging(&files, staging, NULL), ERR_NOTFOUND);
    ck_assert(!is_there(staging));
    snprintf(path, sizeof(path), "%s/part-new", output);
    ck_assert_int_eq(is_there(path), began);
    snprintf(path, sizeof(path), "%s/.old/output/part", output);
    ck_assert_int_eq(is_there(path), began);
    ck_assert_int_eq(commit_forget_old(&files, output, &err), 0);
    snprintf(path, sizeof(path), "%s/.old", output);
    ck_assert(!is_there(path));
}

/* A staging directory that a late master has made again behind its publication
 * takes nobody's place. */
START_TEST(test_published_already)
{
    char part[330];
    setup();
    snprintf(part, sizeof(part), "%s/o/part", dir);
    put_file(part);
    check_overwrite(false);
    ck_assert(is_there(part));
    check_overwrite(true);
    ck_assert(!is_there(part));
}

END_TEST

/* A job that is resumed runs as it was asked to; journals of before say less.
 */
START_TEST(test_options)
{
    struct mr_options o = {.principal = "ann", .weak_sandbox = true};
    struct buf body = BUF_INIT;
    for (size_t cut = 0; cut < 3; cut++) {
        static const size_t lengths[] = {0, 1, 6}; /* Of what is cut off. */
        struct saved_job r = {.job_id = NULL};
        buf_clear(&body);
        saved_job_encode(&o, "id", 1, &body);
        ck_assert_int_eq(
            saved_job_decode(&r, slice_make(body.data, body.len - lengths[cut]),
                             NULL),
            0);
        ck_assert(r.options.weak_sandbox == (cut == 0));
        ck_assert((r.options.principal != NULL) == (cut < 2));
        saved_job_close(&r);
    }
    buf_close(&body);
}

END_TEST

TEST_MAIN("resume",
          test_options,
          test_half_overwritten,
          test_published_already,
          test_killed_in_each_phase,
          test_killed_again_and_again,
          test_refused,
          test_damaged_journal)
