/* The fixture of the tests of whole jobs: a directory of their own, a job that
 * counts lines by their text, and one whose map function fails as its input
 * says.
 */
#ifndef TESTS_UNIT_MAPREDUCE_JOB_FIXTURE_H
#define TESTS_UNIT_MAPREDUCE_JOB_FIXTURE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/core/panic.h"
#include "mapreduce/job.h"
#include "mapreduce/mapreduce.h"
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

static inline void write_input(const char *text, size_t n)
{
    char path[300];
    FILE *f;
    snprintf(path, sizeof(path), "%s/in.txt", dir);
    f = fopen(path, "wb");
    ck_assert_uint_eq(fwrite(text, 1, n, f), n);
    fclose(f);
}

static inline void setup(void)
{
    dir = test_tmpdir();
    snprintf(in_spec, sizeof(in_spec), "file:%s/in.txt", dir);
    snprintf(out_dir, sizeof(out_dir), "%s/out", dir);
    snprintf(out_spec, sizeof(out_spec), "file:%s", out_dir);
    setenv("TMPDIR", dir, 1);
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static inline struct mr_options options(const struct mr_job *job)
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

static inline unsigned count_names(const char *path)
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
static inline void check_clean(bool done)
{
    ck_assert_uint_eq(count_names(dir), done ? 2 : 1);
}

/* --- The job under test: counts lines by their text ---------------------- */

static inline int
line_map(struct mr_task *t, const struct mr_record *r, struct err *e)
{
    (void)e;
    mr_emit_count(t, r->value, 1);
    return 0;
}

static inline int sum_reduce(struct mr_task *t,
                             struct slice key,
                             struct mr_values *v,
                             struct err *e)
{
    (void)e;
    mr_write_count(mr_output(t, NULL), key, mr_values_sum(v));
    return 0;
}

static inline struct mr_job line_count(void)
{
    return (struct mr_job){.abi_version = MR_ABI_VERSION,
                           .name = "line_count",
                           .map = line_map,
                           .reduce = sum_reduce,
                           .combine = mr_combine_sum};
}

/* 26 different lines, line c occurring as often as it says. */
static inline void write_letters(unsigned lines)
{
    struct buf text = BUF_INIT;
    for (unsigned i = 0; i < lines; i++)
        buf_printf(&text, "%c\n", 'a' + i % 26);
    write_input(text.data, text.len);
    buf_close(&text);
}

static inline void check_letters(unsigned lines)
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

/* The same, but some lines end or stop the attempt that maps them. */
static inline int
bad_map(struct mr_task *t, const struct mr_record *r, struct err *e)
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

static inline struct mr_job bad_job(void)
{
    struct mr_job job = line_count();
    job.map = bad_map;
    return job;
}

#endif /* TESTS_UNIT_MAPREDUCE_JOB_FIXTURE_H */
