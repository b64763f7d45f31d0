/* Files, commands and clock for the programs of commands; see saw_host.h. A
 * program may read and write any file that the user may, and write to commands
 * that it starts; --restrict has the compiler refuse that.
 */
#include "cli/saw_host.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "sawzall-lite/sawzall.h"

extern char **environ;

/* --- commands a program writes to ---------------------------------------- */

/* Start @command with a pipe from *@file to its standard input. */
static int
saw_host_spawn(const char *command, FILE **file, pid_t *pid, struct err *err)
{
    char *words[4] = {mem_strdup("sh"), mem_strdup("-c"), mem_strdup(command),
                      NULL};
    posix_spawn_file_actions_t actions;
    int ends[2];
    int errnum;
    if (pipe(ends) != 0)
        errnum = errno;
    else {
        (void)fcntl(ends[1], F_SETFD, FD_CLOEXEC);
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
        posix_spawn_file_actions_addclose(&actions, ends[0]);
        errnum = posix_spawnp(pid, "sh", &actions, NULL, words, environ);
        posix_spawn_file_actions_destroy(&actions);
        close(ends[0]);
        if (errnum)
            close(ends[1]);
    }
    for (size_t i = 0; i < 3; i++)
        mem_free(words[i]);
    if (errnum)
        return err_set_errno(err, errnum, "%s", command);
    *file = fdopen(ends[1], "wb");
    return ERR_OK;
}

/* The end of the command: its outcome is the run's. */
static int saw_host_await(const struct saw_host_file *f, struct err *err)
{
    int status = 0;
    while (waitpid(f->pid, &status, 0) < 0)
        if (errno != EINTR)
            return err_set_errno(err, errno, "%s", f->path);
    if (WIFSIGNALED(status))
        return err_set(err, ERR_ABORTED, "%s: ended by signal %d", f->path,
                       WTERMSIG(status));
    if (WEXITSTATUS(status) != 0)
        return err_set(err, ERR_ABORTED, "%s: exit status %d", f->path,
                       WEXITSTATUS(status));
    return ERR_OK;
}

/* --- files a program writes ---------------------------------------------- */

static FILE *
saw_host_find(const struct saw_host *h, const char *path, bool is_command)
{
    for (size_t i = 0; i < h->file_count; i++)
        if (strcmp(h->files[i].path, path) == 0 &&
            (h->files[i].pid != 0) == is_command)
            return h->files[i].file;
    return NULL;
}

/* The file @path, or what goes to the command @path; opened at its first use.
 */
static FILE *
file_for(struct saw_host *h, const char *path, bool is_command, struct err *err)
{
    struct saw_host_file *f;
    FILE *open = saw_host_find(h, path, is_command);
    if (open)
        return open;
    if (!is_command && strcmp(path, "/dev/stdout") == 0)
        return stdout;
    if (!is_command && strcmp(path, "/dev/stderr") == 0)
        return stderr;
    if (h->file_count == SAW_HOST_FILES_MAX) {
        err_set(err, ERR_EXHAUSTED, "%s: more than %d output files", path,
                SAW_HOST_FILES_MAX);
        return NULL;
    }
    f = &h->files[h->file_count];
    f->pid = 0;
    if (is_command) {
        fflush(stdout); /* Earlier output comes first. */
        if (saw_host_spawn(path, &f->file, &f->pid, err))
            return NULL;
    } else {
        f->file = fopen(path, "wb");
    }
    if (!f->file) {
        err_set_errno(err, errno, "%s", path);
        return NULL;
    }
    f->path = mem_strdup(path);
    h->file_count++;
    return f->file;
}

static int
write_to(FILE *f, const char *path, struct slice text, struct err *err)
{
    if (!f)
        return err ? err->code : ERR_IO;
    if (f == stderr)
        fflush(stdout);
    if (fwrite(text.data, 1, text.len, f) != text.len)
        return err_set_errno(err, errno, "%s", path);
    return ERR_OK;
}

static int
write_output(void *ctx, const char *path, struct slice text, struct err *err)
{
    return write_to(file_for(ctx, path, false, err), path, text, err);
}

static int
pipe_output(void *ctx, const char *command, struct slice text, struct err *err)
{
    return write_to(file_for(ctx, command, true, err), command, text, err);
}

int saw_host_close(struct saw_host *h, struct err *err)
{
    int r = ERR_OK;
    for (size_t i = 0; i < h->file_count; i++) {
        int rc = ERR_OK;
        if (fclose(h->files[i].file) != 0)
            rc = err_set_errno(r ? NULL : err, errno, "%s", h->files[i].path);
        if (h->files[i].pid && !rc)
            rc = saw_host_await(&h->files[i], r ? NULL : err);
        r = r ? r : rc;
        mem_free(h->files[i].path);
    }
    h->file_count = 0;
    return r;
}

/* --- what it reads ------------------------------------------------------- */

/* Beside the including program first, then as it stands. */
static int
read_include(void *ctx, const char *path, struct buf *text, struct err *err)
{
    const struct saw_host *h = ctx;
    const char *slash = h->program ? strrchr(h->program, '/') : NULL;
    struct buf beside = BUF_INIT;
    int rc = ERR_NOTFOUND;
    if (path[0] != '/' && slash) {
        buf_append(&beside, h->program, (size_t)(slash - h->program) + 1);
        buf_append_str(&beside, path);
        rc = cli_read_file(buf_cstr(&beside), text, NULL);
    }
    buf_close(&beside);
    return rc ? cli_read_file(path, text, err) : ERR_OK;
}

/* load(): any file the user may read; --restrict refuses it before. */
static int
read_file(void *ctx, struct slice path, struct buf *out, struct err *err)
{
    char *name = mem_strndup(path.data, path.len);
    struct err why = ERR_INIT;
    int rc = cli_read_file(name, out, &why);
    (void)ctx;
    if (rc)
        err_set(err, rc, "can't open %s", why.text);
    mem_free(name);
    return rc;
}

static int64_t now_us(void *ctx)
{
    const struct saw_host *h = ctx;
    return (int64_t)world_now_us(h->cli->world);
}

void saw_host_compile_options(struct saw_host *h, struct saw_compile_options *o)
{
    o->read_include = o->restricted ? NULL : read_include;
    o->ctx = h;
}

void saw_host_run_options(struct saw_host *h, struct saw_run_options *o)
{
    o->write = write_output;
    o->pipe = pipe_output;
    o->write_ctx = h;
    o->now_us = now_us;
    o->read_file = read_file;
    o->world_ctx = h;
    o->seed = world_random(h->cli->world);
}

/* --- compiling ----------------------------------------------------------- */

int saw_host_compile(struct saw_host *h,
                     struct slice source,
                     const char *name,
                     const struct saw_compile_options *o,
                     struct saw_program **out,
                     struct err *err)
{
    struct saw_compile_options opts = *o;
    struct buf diagnostics = BUF_INIT;
    int rc;
    saw_host_compile_options(h, &opts);
    rc = saw_compile(&opts, source, name, out, &diagnostics);
    fflush(stdout);
    fputs(buf_cstr(&diagnostics), stderr);
    buf_close(&diagnostics);
    if (rc) {
        err_set(err, rc, "%s does not compile", name);
        err_hint(err, "the errors are above; the language: docs/language.md");
    }
    return rc;
}

int saw_host_compile_args(struct saw_host *h,
                          const struct args *args,
                          struct saw_program **out,
                          size_t *words,
                          struct err *err)
{
    /* As the published interpreter: only the tables listed are aggregated, and
     * every error is shown. */
    bool szl = strcmp(args->command->name, "szl") == 0 ||
               args_flag(args, "table-output");
    struct saw_compile_options opts = {
        .restricted = args_flag(args, "restrict"),
        .ignore_undefs = args_flag(args, "ignore-undefs"),
        .defer_tables = szl,
        .errors_max = szl ? UINT32_MAX : 0,
    };
    const char *text = args_value(args, "expression");
    const char *name = args_value(args, "program");
    struct buf source = BUF_INIT;
    int rc = ERR_OK;
    *words = 0;
    if (!text)
        text = args_value(args, "e");
    if (text && name)
        return usage_error(args, err, "either -e or --program");
    if (!text && !name) {
        if (args->word_count == 0)
            return usage_error(args, err, "which program? A file, or -e TEXT");
        name = args->words[0];
        *words = 1;
    }
    if (text)
        buf_append_str(&source, text);
    else
        rc = cli_read_file(name, &source, err);
    h->program = name;
    if (!rc)
        rc = saw_host_compile(h, buf_slice(&source),
                              name ? name : "<command line>", &opts, out, err);
    buf_close(&source);
    return rc;
}
