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
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/client/quarry.h"
#include "mapreduce/engines/engine.h"
#include "mapreduce/task.h"

/* Lines are gathered up to this before they are written to the command. */
#define INPUT_BYTES ((size_t)64 << 10)
#define PIPE_BYTES  ((size_t)64 << 10)
/* A line the command does not end cannot be kept for ever. */
#define LINE_BYTES_MAX ((size_t)256 << 20)

/* Where a command writes what is no output: counters, notes. */
#define CONTROL_FD    9
#define CONTROL_BYTES ((size_t)4 << 10)

struct command {
    struct mr_task *task;
    const char *text;
    pid_t pid;
    int in;            /* Its stdin: we write. -1 when closed. */
    int out;           /* Its stdout: we read. -1 at its end. */
    struct buf input;  /* Not written yet. */
    struct buf output; /* Read, its last line not whole yet. */
    int control;       /* What it says beside its output: we read. */
    struct buf said;   /* Of that, the last line not whole yet. */
    bool deaf;         /* It closed its stdin: more input is dropped. */
};

/* --- the command -------------------------------------------------------- */

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

/* The environment of a command: ours, and what it may want to know. Owned. */
static char **make_environment(struct mr_task *t)
{
    struct string_list l = {NULL, 0, 0};
    const struct mr_options *o = t->setup->opts;
    for (char **e = environ; *e; e++)
        list_add(&l, mem_strdup(*e));
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

static int
spawn_shell(struct command *c, int in, int out, int control, struct err *err)
{
    char shell[] = "sh";
    char flag[] = "-c";
    char *text = mem_strdup(c->text);
    char *argv[] = {shell, flag, text, NULL};
    char **env = make_environment(c->task);
    posix_spawn_file_actions_t actions;
    int code;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, control, CONTROL_FD);
    code = posix_spawn(&c->pid, "/bin/sh", &actions, NULL, argv, env);
    posix_spawn_file_actions_destroy(&actions);
    free_environment(env);
    mem_free(text);
    if (code)
        return err_set_errno(err, code, "start \"%s\"", c->text);
    return 0;
}

static int command_start(struct command *c, struct err *err)
{
    int pipes[3][2];
    int code;
    for (int i = 0; i < 3; i++)
        if (pipe2(pipes[i], O_CLOEXEC) != 0) {
            code = err_set_errno(err, errno, "make a pipe");
            while (i-- > 0) {
                close(pipes[i][0]);
                close(pipes[i][1]);
            }
            return code;
        }
    code = spawn_shell(c, pipes[0][0], pipes[1][1], pipes[2][1], err);
    close(pipes[0][0]);
    close(pipes[1][1]);
    close(pipes[2][1]);
    c->in = pipes[0][1];
    c->out = pipes[1][0];
    c->control = pipes[2][0];
    non_blocking(c->in);
    non_blocking(c->out);
    non_blocking(c->control);
    return code;
}

/* Take the next field of @line, up to a tab. */
static struct slice next_field(struct slice *line)
{
    size_t n = slice_find_byte(*line, '\t');
    struct slice field = slice_sub(*line, 0, n);
    *line = slice_sub(*line, MIN_OF(n + 1, line->len), line->len);
    return field;
}

/* The reverse of append_escaped(). */
static void append_unescaped(struct buf *out, struct slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        static const char letters[] = "tnr\\";
        const char *p = s.data[i] == '\\' && i + 1 < s.len && s.data[i + 1]
                            ? strchr(letters, s.data[i + 1])
                            : NULL;
        buf_append_byte(out, p ? "\t\n\r\\"[p - letters] : s.data[i]);
        i += p != NULL;
    }
}

/* A line "row, column, time, value" becomes a cell; without a time it has that
 * of the job. */
static void put_cell(struct command *c, struct mr_output *to, struct slice line)
{
    struct slice rest = line;
    struct buf parts[3] = {BUF_INIT, BUF_INIT, BUF_INIT};
    struct slice fields[4];
    struct slice column;
    size_t colon;
    char *family;
    char *time;
    for (int i = 0; i < 3; i++)
        fields[i] = next_field(&rest);
    fields[3] = rest;
    column = fields[1];
    colon = slice_find_byte(column, ':');
    if (fields[0].len == 0 || colon == column.len) {
        if (c->task->code == 0)
            c->task->code =
                err_set(&c->task->err, ERR_INVALID,
                        "a line for a table is row, family:column, time and "
                        "value, with tabs between them: \"%.*s\"",
                        (int)MIN_OF(line.len, (size_t)80), line.data);
        return;
    }
    family = mem_strndup(column.data, colon);
    time = mem_strndup(fields[2].data, fields[2].len);
    append_unescaped(&parts[0], fields[0]);
    append_unescaped(&parts[1], slice_sub(column, colon + 1, column.len));
    append_unescaped(&parts[2], fields[3]);
    mr_put(to, buf_slice(&parts[0]), family, buf_slice(&parts[1]),
           *time ? strtoll(time, NULL, 10) : MR_JOB_TIME, buf_slice(&parts[2]));
    for (int i = 0; i < 3; i++)
        buf_close(&parts[i]);
    mem_free(family);
    mem_free(time);
}

static void emit_line(struct command *c, struct slice line)
{
    bool emits = mr_is_map(c->task);
    bool writes = !emits || !c->task->setup->job->reduce;
    struct mr_output *to = writes ? mr_output(c->task, NULL) : NULL;
    if (writes && !to)
        return;
    if (writes && mr_output_is_table(to)) {
        put_cell(c, to, line);
    } else if (emits) {
        struct slice rest = line;
        struct slice key = next_field(&rest);
        mr_emit(c->task, key, rest);
    } else {
        mr_write(to, SLICE_EMPTY, line);
    }
}

/* A line "count NAME [BY]" or "note TEXT"; others mean nothing, and all are a
 * sign of life. */
static void take_word(struct command *c, struct slice line)
{
    struct task_status *status = c->task->status;
    size_t space = slice_find_byte(line, ' ');
    struct slice what = slice_sub(line, 0, space);
    struct slice rest = slice_sub(line, MIN_OF(space + 1, line.len), line.len);
    STATUS_SET(status, values, STATUS_GET(status, values) + 1);
    if (slice_eq_str(what, "note")) {
        mr_note(c->task, rest);
    } else if (slice_eq_str(what, "count") && rest.len > 0) {
        char *name = mem_strndup(rest.data, rest.len);
        char *by = strchr(name, ' ');
        if (by)
            *by++ = '\0';
        mr_count(c->task, name, by ? strtoll(by, NULL, 10) : 1);
        mem_free(name);
    }
}

/* What it said beside its output so far. */
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
            take_word(c, slice_sub(left, 0, n));
            left = slice_sub(left, n + 1, left.len);
        }
        buf_consume(&c->said, c->said.len - left.len);
        /* A line without end says nothing. */
        if (c->said.len > CONTROL_BYTES)
            buf_clear(&c->said);
    }
}

/* The command may close it and go on. */
static void take_control(struct command *c, short events)
{
    read_control(c);
    if (events & (POLLHUP | POLLERR)) {
        close(c->control);
        c->control = -1;
    }
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
        struct pollfd fds[3] = {{.fd = c->in, .events = POLLOUT},
                                {.fd = c->out, .events = POLLIN},
                                {.fd = c->control, .events = POLLIN}};
        if (poll(fds, 3, -1) < 0 && errno != EINTR)
            return err_set_errno(err, errno, "wait for \"%s\"", c->text);
        if (fds[2].revents)
            take_control(c, fds[2].revents);
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
        struct pollfd fds[2] = {{.fd = c->out, .events = POLLIN},
                                {.fd = c->control, .events = POLLIN}};
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return err_set_errno(err, errno, "wait for \"%s\"", c->text);
        if (fds[1].revents)
            take_control(c, fds[1].revents);
        if (fds[0].revents)
            code = read_some(c, err);
    }
    if (code == 0)
        code = wait_end(c, err);
    if (c->control >= 0)
        read_control(c);
    return code;
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
    struct command *c;
    if (mr_is_map(t) && !e->program->mapper)
        return 0;
    c = mem_zalloc(1, sizeof(*c));
    c->task = t;
    c->text = mr_is_map(t) ? e->program->mapper : e->program->reducer;
    if (mr_is_map(t) && e->mapper)
        c->text = e->mapper;
    c->in = c->out = c->control = -1;
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
    if (c->control >= 0)
        close(c->control);
    if (c->pid > 0) {
        kill(c->pid, SIGKILL);
        waitpid(c->pid, NULL, 0);
    }
    buf_close(&c->input);
    buf_close(&c->output);
    buf_close(&c->said);
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

/* Instead of a mapper: a line "key\tvalue" is a pair, as a record is. */
static int
emit_record(struct mr_task *t, const struct mr_record *record, struct err *err)
{
    struct slice rest = record->value;
    struct slice key = record->key;
    if (record->row)
        return err_set(err, ERR_INVALID, "rows of a table need a mapper");
    if (key.len == 0)
        key = next_field(&rest);
    mr_emit(t, key, rest);
    return 0;
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
    if (p->mapper && p->mapper[0] == '\0')
        return err_set(err, ERR_INVALID, "the mapper command is empty");
    if (p->mapper && p->combiner && p->combiner[0] != '\0' && reduces)
        e->mapper = combined_command(p);
    e->made = (struct mr_job){
        .abi_version = MR_ABI_VERSION,
        .name = "streaming",
        .help = "Run commands over lines.",
        .setup = setup,
        .teardown = teardown,
        .map = p->mapper ? map : emit_record,
        .map_end = p->mapper ? finish : NULL,
        .reduce = reduces ? reduce : NULL,
        .reduce_end = reduces ? finish : NULL,
        .engine = e,
        .any_params = true,
    };
    e->job = &e->made;
    return 0;
}
