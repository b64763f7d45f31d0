/* A front end with the flags of the published interpreter, for its test suite.
 *
 *     szl_front [--flag[=value]]… PROGRAM [FILE…]
 *
 * Only the flags the suite uses. Files are read by line, as the interpreter
 * does: lines over 4095 bytes are split; without files the program runs once on
 * empty input. Errors go to standard error; the exit code is 0 or 1.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "sawzall-lite/sawzall.h"

#define LINE_BYTES_MAX 4095

struct front {
    const char *table_output;
    bool ignore_undefs;
    bool restricted;
    bool execute;
    bool dump;
    bool plain;
    const char *program;
};

static int read_path(const char *path, struct buf *out, struct err *err)
{
    FILE *f = fopen(path, "rb");
    struct stat st;
    size_t n;

    if (!f)
        return err_set(err, ERR_NOTFOUND, "can't open %s: %s", path,
                       strerror(errno));
    if (fstat(fileno(f), &st) != 0 || S_ISDIR(st.st_mode)) {
        fclose(f);
        return err_set(err, ERR_NOTFOUND, "can't read %s", path);
    }
    do {
        n = fread(buf_reserve(out, 65536), 1, 65536, f);
        out->len += n;
    } while (n > 0);
    fclose(f);
    return 0;
}

/* Beside the including program first, then as it stands. */
static int
read_include(void *ctx, const char *path, struct buf *text, struct err *err)
{
    const struct front *f = ctx;
    const char *slash = strrchr(f->program, '/');
    struct buf beside = BUF_INIT;
    int rc = ERR_NOTFOUND;

    if (path[0] != '/' && slash) {
        buf_append(&beside, f->program, (size_t)(slash - f->program) + 1);
        buf_append_str(&beside, path);
        rc = read_path(buf_cstr(&beside), text, err);
    }
    buf_close(&beside);
    return rc == 0 ? 0 : read_path(path, text, err);
}

static int
read_file(void *ctx, struct slice path, struct buf *out, struct err *err)
{
    char *name = mem_strndup(path.data, path.len);
    int rc = read_path(name, out, err);

    (void)ctx;
    mem_free(name);
    return rc;
}

static int64_t now_us(void *ctx)
{
    struct timespec ts;

    (void)ctx;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static int
write_text(void *ctx, const char *path, struct slice text, struct err *err)
{
    FILE *f = stdout;
    bool opened = false;

    (void)ctx;
    if (strcmp(path, "/dev/stderr") == 0) {
        f = stderr;
    } else if (strcmp(path, "/dev/stdout") != 0) {
        f = fopen(path, "ab");
        opened = true;
    }
    if (!f)
        return err_set(err, ERR_IO, "cannot write to %s", path);
    fwrite(text.data, 1, text.len, f);
    if (opened)
        fclose(f);
    return 0;
}

static bool parse_flag(struct front *f, const char *arg)
{
    if (strncmp(arg, "--table_output=", 15) == 0)
        f->table_output = arg + 15;
    else if (strcmp(arg, "--ignore_undefs") == 0)
        f->ignore_undefs = true;
    else if (strcmp(arg, "--restrict") == 0)
        f->restricted = true;
    else if (strcmp(arg, "--noexecute") == 0)
        f->execute = false;
    else if (strcmp(arg, "--dump") == 0)
        f->dump = true;
    else if (strcmp(arg, "--plain_code") == 0)
        f->plain = true;
    else if (strncmp(arg, "--bootstrapsum_seed=", 20) != 0)
        return false;
    return true;
}

/* One record; the key is its number in text. */
static int record(struct saw_run *run, struct slice line, size_t number)
{
    struct err err = ERR_INIT;
    char key[32];
    int rc;

    snprintf(key, sizeof(key), "%zu", number);
    rc = saw_run_record(run, line, slice_str(key), &err);
    if (rc != 0)
        fprintf(stderr, "%s\n", err.text);
    return rc;
}

static int file(struct saw_run *run, const char *path, size_t *number)
{
    struct buf text = BUF_INIT;
    struct err err = ERR_INIT;
    size_t at = 0;
    int rc = read_path(path, &text, &err);

    if (rc != 0)
        fprintf(stderr, "%s\n", err.text);
    while (rc == 0 && at < text.len) {
        struct slice rest = slice_make(text.data + at, text.len - at);
        size_t len = slice_find_byte(rest, '\n');
        bool newline = len < rest.len;
        if (len > LINE_BYTES_MAX) {
            len = LINE_BYTES_MAX;
            newline = false;
        }
        rc = record(run, slice_make(rest.data, len), (*number)++);
        at += len + newline;
    }
    buf_close(&text);
    return rc;
}

static int run_program(struct front *f,
                       struct saw_program *p,
                       char **files,
                       int file_count)
{
    struct saw_run_options opts = {.write = write_text,
                                   .table_output =
                                       f->table_output ? f->table_output : "",
                                   .now_us = now_us,
                                   .read_file = read_file,
                                   .depth_max = 6000,
                                   .seed = 1};
    struct err err = ERR_INIT;
    struct buf out = BUF_INIT;
    struct saw_run *run;
    size_t number = 0;
    int rc = saw_run_new(p, &opts, &run, &err);
    int i;

    if (rc != 0) {
        fprintf(stderr, "%s\n", err.text);
        return rc;
    }
    if (file_count == 0)
        rc = record(run, SLICE_EMPTY, 0);
    for (i = 0; i < file_count && rc == 0; i++)
        rc = file(run, files[i], &number);
    if (rc == 0)
        saw_run_print(run, &out);
    fwrite(out.data ? out.data : "", 1, out.len, stdout);
    buf_close(&out);
    saw_run_free(run);
    return rc;
}

int main(int argc, char **argv)
{
    struct front f = {.execute = true};
    struct buf source = BUF_INIT;
    struct buf diagnostics = BUF_INIT;
    struct err err = ERR_INIT;
    struct saw_compile_options opts = {.read_include = read_include, .ctx = &f};
    struct saw_program *p = NULL;
    int i = 1;
    int rc;

    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        if (!parse_flag(&f, argv[i])) {
            fprintf(stderr, "szl_front: unknown flag %s\n", argv[i]);
            return 2;
        }
    }
    if (i >= argc) {
        fprintf(stderr, "usage: szl_front [FLAGS] PROGRAM [FILE...]\n");
        return 2;
    }
    f.program = argv[i];
    opts.ignore_undefs = f.ignore_undefs;
    opts.restricted = f.restricted;
    opts.plain_code = f.plain;
    opts.defer_tables = true;
    opts.errors_max = 1000000;
    rc = read_path(argv[i], &source, &err);
    if (rc == 0)
        rc = saw_compile(&opts, buf_slice(&source), argv[i], &p, &diagnostics);
    else
        fprintf(stderr, "%s\n", err.text);
    fwrite(diagnostics.data ? diagnostics.data : "", 1, diagnostics.len,
           stderr);
    if (rc == 0 && f.dump) {
        buf_clear(&diagnostics);
        saw_program_dump(p, &diagnostics);
        fwrite(diagnostics.data, 1, diagnostics.len, stdout);
    }
    if (rc == 0 && f.execute)
        rc = run_program(&f, p, argv + i + 1, argc - i - 1);
    saw_program_free(p);
    buf_close(&source);
    buf_close(&diagnostics);
    fflush(stdout);
    return rc == 0 ? 0 : 1;
}
