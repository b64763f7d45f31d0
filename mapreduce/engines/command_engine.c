/* Starting a command, and moving lines to and from it. Both directions are
 * polled together: a command that does not read until its output is read, and
 * one that does not write until it has all input, must both work. */
#define _GNU_SOURCE

#include "mapreduce/engines/command_engine.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/panic.h"
#include "mapreduce/sandbox/cage.h"
#include "mapreduce/task/task.h"
#include "mapreduce/task/task_counters.h"

#define PIPE_BYTES ((size_t)64 << 10)
/* A line the command does not end cannot be kept forever. */
#define LINE_BYTES_MAX ((size_t)256 << 20)
/* The descriptor for counters and notes. */
#define CONTROL_FD    9
#define CONTROL_BYTES ((size_t)4 << 10)

/* --- starting ------------------------------------------------------------ */

static void non_blocking(int fd)
{
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

struct string_list {
    char **at;
    size_t count;
    size_t cap;
};

static void list_add(struct string_list *l, char *s)
{
    if (l->count == l->cap) {
        l->cap = MAX_OF(l->cap * 2, (size_t)64);
        l->at = mem_realloc(l->at, l->cap * sizeof(*l->at));
    }
    l->at[l->count++] = s;
}

static void list_format(struct string_list *l, const char *fmt, ...)
    PRINTF_LIKE(2, 3);

static void list_format(struct string_list *l, const char *fmt, ...)
{
    struct buf b = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&b, fmt, ap);
    va_end(ap);
    list_add(l, buf_take(&b));
}

/* The environment of a command: ours, and variables about its task. Owned. */
static char **make_environment(struct mr_task *t)
{
    struct string_list l = {NULL, 0, 0};
    const struct mr_options *o = t->setup->opts;
    for (char **e = environ; *e; e++)
        if (!t->setup->cage || cage_may_know(*e))
            list_add(&l, mem_strdup(*e));
    if (t->setup->cage) {
        list_format(&l, "HOME=%s", CAGE_SCRATCH);
        list_format(&l, "TMPDIR=%s", CAGE_SCRATCH);
    }
    list_format(&l, "QUARRY_STAGE=%s", mr_is_map(t) ? "map" : "reduce");
    list_format(&l, "QUARRY_JOB=%s", t->setup->job_id);
    list_format(&l, "QUARRY_TASK=%u", t->index);
    list_format(&l, "QUARRY_ATTEMPT=%u", t->attempt);
    list_format(&l, "QUARRY_PARTITIONS=%u", t->partition_count);
    list_format(&l, "QUARRY_INPUT=%s", mr_input_path(t));
    list_format(&l, "QUARRY_CONTROL=%d", CONTROL_FD);
    for (size_t i = 0; i < o->param_count; i++)
        list_format(&l, "QUARRY_PARAM_%s=%s", o->params[i].name,
                    o->params[i].value);
    for (size_t i = 0; i < o->file_count; i++)
        list_format(&l, "QUARRY_FILE_%s=%s", o->files[i].name,
                    o->files[i].value);
    list_add(&l, NULL);
    return l.at;
}

static void free_environment(char **list)
{
    for (char **s = list; *s; s++)
        mem_free(*s);
    mem_free(list);
}

/* Runs in the new process. Its ends of the pipes are above CONTROL_FD. */
NORETURN static void be_shell(const struct command *c, const int *ends)
{
    char shell[] = "sh";
    char flag[] = "-c";
    char *argv[] = {shell, flag, (char *)(uintptr_t)c->text, NULL};
    char **env = make_environment(c->task);
    dup2(ends[0], STDIN_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[2], CONTROL_FD);
    signal(SIGPIPE, SIG_IGN);
    execve("/bin/sh", argv, env);
    _exit(127);
}

static int start_caged(struct command *c, const int *given, struct err *err)
{
    int ends[3];
    int rc = 0;
    c->end = cage_end_new();
    if (!c->end)
        return err_set(err, ERR_NOMEM, "no shared memory for a command");
    for (int i = 0; i < 3; i++) {
        ends[i] = fcntl(given[i], F_DUPFD_CLOEXEC, CONTROL_FD + 1);
        if (ends[i] < 0)
            rc = err_set_errno(err, errno, "pass on a pipe");
    }
    if (rc == 0) {
        c->pid = cage_fork(c->task->setup->cage, ends, 3, c->end, err);
        if (c->pid == 0)
            be_shell(c, ends);
        *counters_get(&c->task->counters, c->end->weak
                                              ? COUNTERS_SANDBOX_WEAK
                                              : COUNTERS_SANDBOX_CAGE) = 1;
    }
    for (int i = 0; i < 3; i++)
        if (ends[i] >= 0)
            close(ends[i]);
    if (c->pid < 0) {
        c->pid = 0;
        rc = err->code;
    }
    return rc;
}

static int
spawn_shell(struct command *c, int in, int out, int control, struct err *err)
{
    char shell[] = "sh";
    char flag[] = "-c";
    char *text = mem_strdup(c->text);
    char *argv[] = {shell, flag, text, NULL};
    char **env = make_environment(c->task);
    posix_spawn_file_actions_t actions;
    int rc;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, control, CONTROL_FD);
    rc = posix_spawn(&c->pid, "/bin/sh", &actions, NULL, argv, env);
    posix_spawn_file_actions_destroy(&actions);
    free_environment(env);
    mem_free(text);
    if (rc)
        return err_set_errno(err, rc, "start \"%s\"", c->text);
    return 0;
}

int command_start(struct command *c, struct err *err)
{
    PRE(c->task != NULL && c->text != NULL);
    PRE(c->line != NULL && c->word != NULL);
    PRE(c->pid == 0);
    int pipes[3][2];
    int rc;
    c->in = c->out = c->control = -1;
    for (int i = 0; i < 3; i++)
        if (pipe2(pipes[i], O_CLOEXEC) != 0) {
            rc = err_set_errno(err, errno, "make a pipe");
            while (i-- > 0) {
                close(pipes[i][0]);
                close(pipes[i][1]);
            }
            return rc;
        }
    if (c->task->setup->cage)
        rc =
            start_caged(c, (int[]){pipes[0][0], pipes[1][1], pipes[2][1]}, err);
    else
        rc = spawn_shell(c, pipes[0][0], pipes[1][1], pipes[2][1], err);
    close(pipes[0][0]);
    close(pipes[1][1]);
    close(pipes[2][1]);
    c->in = pipes[0][1];
    c->out = pipes[1][0];
    c->control = pipes[2][0];
    non_blocking(c->in);
    non_blocking(c->out);
    non_blocking(c->control);
    return rc;
}

/* --- moving lines -------------------------------------------------------- */

/* Read its counters and notes so far. */
static void read_control(struct command *c)
{
    struct slice left;
    size_t n;
    for (;;) {
        char *to = buf_reserve(&c->said, CONTROL_BYTES);
        ssize_t got = read(c->control, to, CONTROL_BYTES);
        if (got <= 0)
            break;
        buf_extend(&c->said, (size_t)got);
        left = buf_slice(&c->said);
        while ((n = slice_find_byte(left, '\n')) < left.len) {
            c->word(c, slice_sub(left, 0, n));
            left = slice_sub(left, n + 1, left.len);
        }
        buf_consume(&c->said, c->said.len - left.len);
        /* A line without end means nothing. */
        if (c->said.len > CONTROL_BYTES)
            buf_clear(&c->said);
    }
}

/* The command may close it and continue. */
static void take_control(struct command *c, short events)
{
    read_control(c);
    if (events & (POLLHUP | POLLERR)) {
        close(c->control);
        c->control = -1;
    }
}

/* Pass on the whole lines of the output. */
static void take_lines(struct command *c)
{
    struct slice left = buf_slice(&c->output);
    for (;;) {
        size_t n = slice_find_byte(left, '\n');
        if (n == left.len)
            break;
        c->line(c, slice_sub(left, 0, n));
        left = slice_sub(left, n + 1, left.len);
    }
    buf_consume(&c->output, c->output.len - left.len);
}

static int read_some(struct command *c, struct err *err)
{
    ssize_t n = read(c->out, buf_reserve(&c->output, PIPE_BYTES), PIPE_BYTES);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n < 0)
        return err_set_errno(err, errno, "read from \"%s\"", c->text);
    if (n == 0) {
        close(c->out);
        c->out = -1;
        if (c->output.len > 0)
            c->line(c, buf_slice(&c->output));
        buf_clear(&c->output);
        return 0;
    }
    buf_extend(&c->output, (size_t)n);
    take_lines(c);
    if (c->output.len > LINE_BYTES_MAX)
        return err_set(err, ERR_TOOBIG, "\"%s\" wrote a line without end",
                       c->text);
    return 0;
}

static int write_some(struct command *c, size_t *written, struct err *err)
{
    PRE(!c->deaf); /* INV-1 */
    ssize_t n = write(c->in, c->input.data + *written, c->input.len - *written);
    if (n >= 0) {
        *written += (size_t)n;
        return 0;
    }
    if (errno == EPIPE) {
        /* It has read enough, as `head` does. Its status will tell whether it
         * failed. */
        c->deaf = true;
        return 0;
    }
    if (errno != EAGAIN && errno != EINTR)
        return err_set_errno(err, errno, "write to \"%s\"", c->text);
    return 0;
}

int command_exchange(struct command *c, struct err *err)
{
    size_t written = 0;
    int rc = 0;
    while (rc == 0 && !c->deaf && written < c->input.len) {
        struct pollfd fds[3] = {{.fd = c->in, .events = POLLOUT},
                                {.fd = c->out, .events = POLLIN},
                                {.fd = c->control, .events = POLLIN}};
        if (poll(fds, 3, -1) < 0 && errno != EINTR)
            return err_set_errno(err, errno, "wait for \"%s\"", c->text);
        if (fds[2].revents)
            take_control(c, fds[2].revents);
        if (fds[1].revents && c->out >= 0)
            rc = read_some(c, err);
        if (rc == 0 && fds[0].revents)
            rc = write_some(c, &written, err);
    }
    buf_clear(&c->input);
    return rc;
}

static int wait_end(struct command *c, struct err *err)
{
    int status = 0;
    while (waitpid(c->pid, &status, 0) < 0)
        if (errno != EINTR)
            return err_set_errno(err, errno, "wait for \"%s\"", c->text);
    c->pid = 0;
    if (c->end && cage_error(c->end, err))
        return err->code;
    if (c->end)
        status = cage_status(c->end, status);
    if (WIFSIGNALED(status))
        return err_set(err, ERR_ABORTED, "\"%s\" was killed by signal %d (%s)",
                       c->text, WTERMSIG(status), strsignal(WTERMSIG(status)));
    if (WEXITSTATUS(status) != 0)
        return err_set(err, ERR_ABORTED, "\"%s\" exited with status %d",
                       c->text, WEXITSTATUS(status));
    return 0;
}

int command_finish(struct command *c, struct err *err)
{
    int rc = command_exchange(c, err);
    close(c->in);
    c->in = -1;
    while (rc == 0 && c->out >= 0) {
        struct pollfd fds[2] = {{.fd = c->out, .events = POLLIN},
                                {.fd = c->control, .events = POLLIN}};
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return err_set_errno(err, errno, "wait for \"%s\"", c->text);
        if (fds[1].revents)
            take_control(c, fds[1].revents);
        if (fds[0].revents)
            rc = read_some(c, err);
    }
    if (rc == 0)
        rc = wait_end(c, err);
    if (c->control >= 0)
        read_control(c);
    return rc;
}

void command_close(struct command *c)
{
    if (c->in >= 0)
        close(c->in);
    if (c->out >= 0)
        close(c->out);
    if (c->control >= 0)
        close(c->control);
    if (c->pid > 0) {
        kill(c->pid, SIGKILL);
        waitpid(c->pid, NULL, 0);
    }
    cage_end_free(c->end);
    buf_close(&c->input);
    buf_close(&c->output);
    buf_close(&c->said);
}
