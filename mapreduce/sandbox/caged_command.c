/* Starting the launcher of a command in a cage, and moving bytes to and from
 * it. All pipes are polled together, because a command that writes while it
 * is written to would otherwise wait for ever. */
#define _GNU_SOURCE

#include "mapreduce/sandbox/caged_command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "mapreduce/sandbox/caged_wire.h"

#define READ_BYTES ((size_t)64 << 10)
/* Of the command's complaints, the last ones. */
#define SAID_BYTES ((size_t)4 << 10)

/* --- starting ------------------------------------------------------------ */

/* The ends of the pipes and of the socket; [0] is the launcher's. */
struct caged_ends {
    int fds[4][2];
};

static int open_ends(struct caged_ends *e, struct err *err)
{
    int rc = 0;
    memset(e, 0xff, sizeof(*e));
    for (int i = 0; i < 3 && rc == 0; i++)
        if (pipe2(e->fds[i], O_CLOEXEC) != 0)
            rc = err_set_errno(err, errno, "make a pipe");
    if (rc == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
                              e->fds[CAGED_CONTROL]) != 0)
        rc = err_set_errno(err, errno, "make a socket");
    /* The command reads the first pipe, and writes the others. */
    for (int i = 1; i < 3 && rc == 0; i++) {
        int reads = e->fds[i][0];
        e->fds[i][0] = e->fds[i][1];
        e->fds[i][1] = reads;
    }
    return rc;
}

static void close_ends(struct caged_ends *e, int side)
{
    for (int i = 0; i < 4; i++)
        if (e->fds[i][side] >= 0)
            close(e->fds[i][side]);
}

static int
spawn_launcher(const struct caged_ends *e, pid_t *pid, struct err *err)
{
    char self[] = "/proc/self/exe";
    char word[] = CAGED_COMMAND_WORD;
    char *argv[] = {self, word, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t none;
    sigset_t defaults;
    int lifted[4] = {-1, -1, -1, -1};
    int rc = 0;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGTERM);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &defaults);
    posix_spawnattr_setflags(&attr,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    for (int i = 0; i < 4 && rc == 0; i++) {
        lifted[i] = fcntl(e->fds[i][0], F_DUPFD_CLOEXEC, CAGED_CONTROL + 1);
        if (lifted[i] < 0)
            rc = err_set_errno(err, errno, "pass on a descriptor");
        else
            posix_spawn_file_actions_adddup2(&actions, lifted[i], i);
    }
    if (rc == 0) {
        int errnum = posix_spawn(pid, self, &actions, &attr, argv, environ);
        if (errnum)
            rc = err_set_errno(err, errnum, "start a command");
        if (errnum)
            *pid = 0;
    }
    for (int i = 0; i < 4; i++)
        if (lifted[i] >= 0)
            close(lifted[i]);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    return rc;
}

static int send_rules(struct caged_command *c,
                      const struct caged_rules *r,
                      struct err *err)
{
    struct buf body = BUF_INIT;
    struct buf all = BUF_INIT;
    int rc = 0;
    buf_put_lslice(&body, slice_str(r->command));
    buf_put_lslice(&body, slice_str(r->variable ? r->variable : ""));
    buf_put_le64(&body, r->memory_bytes);
    buf_append_byte(&body, (char)((r->weak ? 1 : 0) | (r->open ? 2 : 0)));
    buf_put_le64(&all, body.len);
    buf_append_slice(&all, buf_slice(&body));
    for (size_t at = 0; at < all.len && rc == 0;) {
        ssize_t n = send(c->control, all.data + at, all.len - at, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            rc = err_set_errno(err, errno, "tell the launcher of a command");
        at += n > 0 ? (size_t)n : 0;
    }
    buf_close(&body);
    buf_close(&all);
    return rc;
}

int caged_command_start(struct caged_command *c,
                        const struct caged_rules *rules,
                        struct err *err)
{
    struct caged_ends e;
    int rc = open_ends(&e, err);
    *c = (struct caged_command){.output = BUF_INIT};
    if (rc == 0)
        rc = spawn_launcher(&e, &c->launcher, err);
    close_ends(&e, 0);
    c->in = e.fds[STDIN_FILENO][1];
    c->out = e.fds[STDOUT_FILENO][1];
    c->errors = e.fds[STDERR_FILENO][1];
    c->control = e.fds[CAGED_CONTROL][1];
    for (int i = 0; i < 3 && rc == 0; i++)
        if (fcntl(e.fds[i][1], F_SETFL, O_NONBLOCK) < 0)
            rc = err_set_errno(err, errno, "set up a pipe");
    /* A command that reads no more is not this process's end. */
    signal(SIGPIPE, SIG_IGN);
    return rc ? rc : send_rules(c, rules, err);
}

/* --- moving -------------------------------------------------------------- */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Bytes that were read; a pipe that has ended is closed. */
static size_t take_bytes(int *fd, struct buf *to)
{
    ssize_t n = read(*fd, buf_reserve(to, READ_BYTES), READ_BYTES);
    if (n > 0)
        buf_extend(to, (size_t)n);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        close_fd(fd);
    return n > 0 ? (size_t)n : 0;
}

static void take_errors(struct caged_command *c)
{
    (void)take_bytes(&c->errors, &c->said);
    if (c->said.len > SAID_BYTES)
        buf_consume(&c->said, c->said.len - SAID_BYTES);
}

bool caged_command_move(struct caged_command *c,
                        struct slice input,
                        size_t *written,
                        int ms)
{
    struct pollfd fds[3] = {{.fd = input.len ? c->in : -1, .events = POLLOUT},
                            {.fd = c->out, .events = POLLIN},
                            {.fd = c->errors, .events = POLLIN}};
    bool moved = false;
    *written = 0;
    if (poll(fds, 3, ms) <= 0)
        return false;
    if (fds[2].revents)
        take_errors(c);
    if (fds[1].revents)
        moved = take_bytes(&c->out, &c->output) > 0 || c->out < 0;
    if (fds[0].revents) {
        ssize_t n = write(c->in, input.data, input.len);
        if (n > 0)
            *written = (size_t)n;
        else if (n < 0 && errno != EAGAIN && errno != EINTR)
            close_fd(&c->in); /* It has read enough. */
        moved = moved || n > 0 || c->in < 0;
    }
    return moved;
}

void caged_command_end_input(struct caged_command *c)
{
    close_fd(&c->in);
}

/* --- the end ------------------------------------------------------------- */

static void reap_launcher(struct caged_command *c)
{
    while (c->launcher > 0 && waitpid(c->launcher, NULL, 0) < 0 &&
           errno == EINTR) {
    }
    c->launcher = 0;
}

/* The last lines of its complaints, behind the reason. */
static int with_complaints(const struct caged_command *c, struct err *err)
{
    struct slice said = buf_slice(&c->said);
    while (said.len && strchr("\n ", said.data[said.len - 1]))
        said.len--;
    if (said.len > 400)
        said = slice_sub(said, said.len - 400, said.len);
    if (said.len) {
        struct err bare = *err;
        err_set(err, bare.code, "%s: %.*s", bare.text, SLICE_ARG(said));
    }
    return err->code;
}

int caged_command_wait(struct caged_command *c, struct err *err)
{
    struct buf answer = BUF_INIT;
    int rc;
    PRE(c->out < 0);
    while (c->errors >= 0)
        if (poll(&(struct pollfd){.fd = c->errors, .events = POLLIN}, 1, -1) >
            0)
            take_errors(c);
    while (c->control >= 0) {
        ssize_t n = recv(c->control, buf_reserve(&answer, 1024), 1024, 0);
        if (n > 0)
            buf_extend(&answer, (size_t)n);
        else if (n == 0 || errno != EINTR)
            close_fd(&c->control);
    }
    reap_launcher(c);
    if (answer.len < sizeof(uint32_t)) {
        rc = err_set(err, ERR_ABORTED, "the launcher of the command died");
    } else {
        rc = (int)(int32_t)get_le32(answer.data);
        if (rc)
            err_set(err, rc, "%.*s", (int)(answer.len - 4), answer.data + 4);
    }
    buf_close(&answer);
    return rc ? with_complaints(c, err) : 0;
}

void caged_command_close(struct caged_command *c)
{
    /* The launcher sees its end, and ends the command. */
    if (c->launcher > 0) {
        close_fd(&c->control);
        reap_launcher(c);
    }
    close_fd(&c->in);
    close_fd(&c->out);
    close_fd(&c->errors);
    close_fd(&c->control);
    buf_close(&c->output);
    buf_close(&c->said);
}
