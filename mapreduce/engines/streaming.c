/* Streaming: any executable as mapper or reducer, through lines.
 *
 * The mapper reads one line a record and writes lines "key\tvalue"; the reducer
 * reads such lines, sorted by key, and writes lines of output. A command is run
 * by the shell once an attempt. Lines to and from it are moved together, never
 * waiting for one side alone, so that neither a command that answers late nor
 * one that answers at length can block.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/client/quarry.h"
#include "mapreduce/engines/engine.h"

/* Lines are gathered up to this before they are written to the command. */
#define INPUT_BYTES ((size_t)64 << 10)
#define PIPE_BYTES  ((size_t)64 << 10)
/* A line the command does not end cannot be kept for ever. */
#define LINE_BYTES_MAX ((size_t)256 << 20)

struct command {
    struct mr_task *task;
    const char *text;
    pid_t pid;
    int in;            /* Its stdin: we write. -1 when closed. */
    int out;           /* Its stdout: we read. -1 at its end. */
    struct buf input;  /* Not written yet. */
    struct buf output; /* Read, its last line not whole yet. */
    bool deaf;         /* It closed its stdin: more input is dropped. */
};

/* --- the command -------------------------------------------------------- */

static void non_blocking(int fd)
{
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static int spawn_shell(struct command *c, int in, int out, struct err *err)
{
    char shell[] = "sh";
    char flag[] = "-c";
    char *text = mem_strdup(c->text);
    char *argv[] = {shell, flag, text, NULL};
    posix_spawn_file_actions_t actions;
    int code;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    code = posix_spawn(&c->pid, "/bin/sh", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    mem_free(text);
    if (code)
        return err_set_errno(err, code, "start \"%s\"", c->text);
    return 0;
}

static int command_start(struct command *c, struct err *err)
{
    int to[2];
    int from[2];
    int code;
    if (pipe2(to, O_CLOEXEC) != 0)
        return err_set_errno(err, errno, "make a pipe");
    if (pipe2(from, O_CLOEXEC) != 0) {
        close(to[0]);
        close(to[1]);
        return err_set_errno(err, errno, "make a pipe");
    }
    code = spawn_shell(c, to[0], from[1], err);
    close(to[0]);
    close(from[1]);
    c->in = to[1];
    c->out = from[0];
    non_blocking(c->in);
    non_blocking(c->out);
    return code;
}

static void emit_line(struct command *c, struct slice line)
{
    size_t tab = slice_find_byte(line, '\t');
    struct slice key = slice_sub(line, 0, tab);
    struct slice value = slice_sub(line, tab + 1, line.len);
    if (mr_is_map(c->task))
        mr_emit(c->task, key, value);
    else
        mr_write(mr_output(c->task, NULL), SLICE_EMPTY, line);
}

/* Hand on the whole lines of the output. */
static void take_lines(struct command *c)
{
    struct slice left = buf_slice(&c->output);
    for (;;) {
        size_t n = slice_find_byte(left, '\n');
        if (n == left.len)
            break;
        emit_line(c, slice_sub(left, 0, n));
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
            emit_line(c, buf_slice(&c->output));
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
    ssize_t n = write(c->in, c->input.data + *written, c->input.len - *written);
    if (n >= 0) {
        *written += (size_t)n;
        return 0;
    }
    if (errno == EPIPE) {
        /* As `head` does: it has seen enough. Its status will tell. */
        c->deaf = true;
        return 0;
    }
    if (errno != EAGAIN && errno != EINTR)
        return err_set_errno(err, errno, "write to \"%s\"", c->text);
    return 0;
}

/* Write all gathered input, reading whatever comes meanwhile. */
static int exchange(struct command *c, struct err *err)
{
    size_t written = 0;
    int code = 0;
    while (code == 0 && !c->deaf && written < c->input.len) {
        struct pollfd fds[2] = {{.fd = c->in, .events = POLLOUT},
                                {.fd = c->out, .events = POLLIN}};
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return err_set_errno(err, errno, "wait for \"%s\"", c->text);
        if (fds[1].revents && c->out >= 0)
            code = read_some(c, err);
        if (code == 0 && fds[0].revents)
            code = write_some(c, &written, err);
    }
    buf_clear(&c->input);
    return code;
}

static int wait_end(struct command *c, struct err *err)
{
    int status = 0;
    while (waitpid(c->pid, &status, 0) < 0)
        if (errno != EINTR)
            return err_set_errno(err, errno, "wait for \"%s\"", c->text);
    c->pid = 0;
    if (WIFSIGNALED(status))
        return err_set(err, ERR_ABORTED, "\"%s\" was killed by signal %d (%s)",
                       c->text, WTERMSIG(status), strsignal(WTERMSIG(status)));
    if (WEXITSTATUS(status) != 0)
        return err_set(err, ERR_ABORTED, "\"%s\" exited with status %d",
                       c->text, WEXITSTATUS(status));
    return 0;
}

/* Close its input, take the rest of its output, and its status. */
static int command_finish(struct command *c, struct err *err)
{
    int code = exchange(c, err);
    close(c->in);
    c->in = -1;
    while (code == 0 && c->out >= 0) {
        struct pollfd fd = {.fd = c->out, .events = POLLIN};
        if (poll(&fd, 1, -1) < 0 && errno != EINTR)
            return err_set_errno(err, errno, "wait for \"%s\"", c->text);
        code = read_some(c, err);
    }
    return code ? code : wait_end(c, err);
}

/* --- the combiner -------------------------------------------------------- */

/* What one task emits, sorted and combined before it leaves the task: a
 * pipeline, with the status of each command that may fail. */
static char *combined_command(const struct mr_program *p)
{
    struct buf b = BUF_INIT;
    buf_printf(&b,
               "exec 4>&1\n"
               "status=$({ { ( %s\n) 3>&- 4>&-; echo $? >&3; } | "
               "LC_ALL=C sort -s -t '\t' -k1,1 3>&- 4>&- | "
               "{ ( %s\n) 3>&- >&4 4>&-; }; } 3>&1)\n"
               "last=$?\n"
               "[ $last -eq 0 ] || exit $last\n"
               "exit $status\n",
               p->mapper, p->combiner);
    return buf_take(&b);
}

/* --- the job's functions ----------------------------------------------- */

static int setup(struct mr_task *t, struct err *err)
{
    const struct engine *e = mr_task_engine(t);
    struct command *c = mem_zalloc(1, sizeof(*c));
    c->task = t;
    c->text = mr_is_map(t) ? e->program->mapper : e->program->reducer;
    if (mr_is_map(t) && e->mapper)
        c->text = e->mapper;
    c->in = c->out = -1;
    mr_set_state(t, c);
    signal(SIGPIPE, SIG_IGN);
    return command_start(c, err);
}

static void teardown(struct mr_task *t)
{
    struct command *c = mr_state(t);
    if (!c)
        return;
    if (c->in >= 0)
        close(c->in);
    if (c->out >= 0)
        close(c->out);
    if (c->pid > 0) {
        kill(c->pid, SIGKILL);
        waitpid(c->pid, NULL, 0);
    }
    buf_close(&c->input);
    buf_close(&c->output);
    mem_free(c);
    mr_set_state(t, NULL);
}

static int flush_if_full(struct command *c, struct err *err)
{
    return c->input.len < INPUT_BYTES ? 0 : exchange(c, err);
}

/* Bytes that would break a line apart are written \t, \n, \r and \\. */
static void append_escaped(struct buf *out, struct slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        const char *special = "\t\n\r\\";
        const char *p = s.data[i] ? strchr(special, s.data[i]) : NULL;
        if (p) {
            buf_append_byte(out, '\\');
            buf_append_byte(out, "tnr\\"[p - special]);
        } else {
            buf_append_byte(out, s.data[i]);
        }
    }
}

/* A line a cell: row, column, time, value. */
static void append_row(struct buf *out, const struct quarry_row *row)
{
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct quarry_cell *c = &row->cells[i];
        append_escaped(out, row->key);
        buf_append_byte(out, '\t');
        buf_append_slice(out, c->family);
        buf_append_byte(out, ':');
        append_escaped(out, c->qualifier);
        buf_printf(out, "\t%lld\t", (long long)c->timestamp_us);
        append_escaped(out, c->value);
        buf_append_byte(out, '\n');
    }
}

static int
map(struct mr_task *t, const struct mr_record *record, struct err *err)
{
    struct command *c = mr_state(t);
    if (record->row) {
        append_row(&c->input, record->row);
    } else {
        if (record->key.len > 0) {
            append_escaped(&c->input, record->key);
            buf_append_byte(&c->input, '\t');
            append_escaped(&c->input, record->value);
        } else {
            buf_append_slice(&c->input, record->value);
        }
        buf_append_byte(&c->input, '\n');
    }
    return flush_if_full(c, err);
}

static int finish(struct mr_task *t, struct err *err)
{
    return command_finish(mr_state(t), err);
}

static int reduce(struct mr_task *t,
                  struct slice key,
                  struct mr_values *values,
                  struct err *err)
{
    struct command *c = mr_state(t);
    struct slice value;
    int code = 0;
    while (code == 0 && mr_values_next(values, &value)) {
        buf_append_slice(&c->input, key);
        buf_append_byte(&c->input, '\t');
        buf_append_slice(&c->input, value);
        buf_append_byte(&c->input, '\n');
        code = flush_if_full(c, err);
    }
    return code;
}

int streaming_load(struct engine *e, struct err *err)
{
    const struct mr_program *p = e->program;
    bool reduces = p->reducer && p->reducer[0] != '\0';
    if (p->mapper[0] == '\0')
        return err_set(err, ERR_INVALID, "the mapper command is empty");
    if (p->combiner && p->combiner[0] != '\0' && reduces)
        e->mapper = combined_command(p);
    e->made = (struct mr_job){
        .abi_version = MR_ABI_VERSION,
        .name = "streaming",
        .help = "Run commands over lines.",
        .setup = setup,
        .teardown = teardown,
        .map = map,
        .map_end = finish,
        .reduce = reduces ? reduce : NULL,
        .reduce_end = reduces ? finish : NULL,
        .engine = e,
    };
    e->job = &e->made;
    return 0;
}
