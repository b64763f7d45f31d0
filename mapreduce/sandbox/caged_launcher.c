/* The launcher of a command: one thread, which makes the cage, measures what
 * runs in it, and tells how it ended.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "mapreduce/sandbox/cage.h"
#include "mapreduce/sandbox/caged_command.h"
#include "mapreduce/sandbox/caged_wire.h"
#include "mapreduce/sandbox/process_tree.h"
#include "mapreduce/sandbox/sandbox.h"

#define PROCESSES_MAX 64U
#define FILE_BYTES    ((uint64_t)1 << 30)
/* How often the command is measured. */
#define LOOK_MS 250

struct launcher {
    struct buf rules; /* As they came; what follows is borrowed from it. */
    char *command;    /* Owned. */
    char *variable;   /* Owned; "": none. */
    uint64_t memory_bytes;
    bool weak;
    bool open;
    struct sandbox *sandbox;
    struct cage_end *end;
    pid_t pid;
    int signals;
    char reason[100]; /* Why it was ended; "": it was not. */
};

/* The process that wanted the command is gone. */
NORETURN static void leave(void)
{
    _exit(1);
}

static void take_exactly(char *p, size_t len)
{
    while (len > 0) {
        ssize_t n = recv(CAGED_CONTROL, p, len, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            leave();
        p += n;
        len -= (size_t)n;
    }
}

static void take_rules(struct launcher *l)
{
    char head[8];
    struct cursor c;
    struct slice command;
    struct slice variable;
    uint8_t flags;
    take_exactly(head, sizeof(head));
    if (get_le64(head) > CAGED_RULES_BYTES_MAX)
        leave();
    take_exactly(buf_extend(&l->rules, get_le64(head)), get_le64(head));
    c = cursor_make(buf_slice(&l->rules));
    command = cursor_lslice(&c);
    variable = cursor_lslice(&c);
    l->memory_bytes = cursor_le64(&c);
    flags = cursor_u8(&c);
    if (c.bad)
        leave();
    l->command = mem_strndup(command.data, command.len);
    l->variable = mem_strndup(variable.data, variable.len);
    l->weak = (flags & 1) != 0;
    l->open = (flags & 2) != 0;
}

NORETURN static void tell(const struct err *err)
{
    char head[4];
    put_le32(head, (uint32_t)err->code);
    if (send(CAGED_CONTROL, head, sizeof(head), MSG_NOSIGNAL) == sizeof(head))
        (void)!send(CAGED_CONTROL, err->text, strlen(err->text), MSG_NOSIGNAL);
    _exit(0);
}

/* --- the command --------------------------------------------------------- */

NORETURN static void be_command(const struct launcher *l)
{
    enum {
        VARIABLES_MAX = 64
    };

    static char home[] = "HOME=" CAGE_SCRATCH;
    static char temporary[] = "TMPDIR=" CAGE_SCRATCH;
    char shell[] = "sh";
    char flag[] = "-c";
    char *argv[] = {shell, flag, l->command, NULL};
    char *env[VARIABLES_MAX + 4];
    size_t n = 0;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (l->open)
        setpgid(0, 0);
    for (char **e = environ; *e && n < VARIABLES_MAX; e++)
        if (l->open || cage_may_know(*e))
            env[n++] = *e;
    if (!l->open) {
        env[n++] = home;
        env[n++] = temporary;
    }
    if (*l->variable)
        env[n++] = l->variable;
    env[n] = NULL;
    execve("/bin/sh", argv, env);
    _exit(127);
}

static int make_filter(struct launcher *l, struct err *err)
{
    struct sandbox_rules rules = {.user_code = true,
                                  .data_bytes = l->memory_bytes,
                                  .file_bytes = FILE_BYTES};
    if (l->weak) {
        rules.supervisors[0] = getpid();
        rules.supervisors[1] = getppid();
    }
    return sandbox_new(&rules, &l->sandbox, err);
}

static int start_command(struct launcher *l, struct err *err)
{
    struct cage_rules rules = {.scratch_bytes = l->memory_bytes,
                               .processes_max = PROCESSES_MAX,
                               .weak = l->weak};
    int rc = 0;
    if (l->open) {
        l->pid = fork();
        if (l->pid < 0)
            rc = err_set_errno(err, errno, "start a process");
    } else {
        rc = make_filter(l, err);
        rules.sandbox = l->sandbox;
        l->end = cage_end_new();
        if (rc == 0 && !l->end)
            rc = err_set(err, ERR_NOMEM, "no shared memory for a command");
        if (rc == 0)
            l->pid = cage_fork(&rules, NULL, 0, l->end, err);
        if (rc == 0 && l->pid < 0)
            rc = err->code;
    }
    if (rc == 0 && l->pid == 0)
        be_command(l);
    if (rc == 0 && l->open)
        setpgid(l->pid, l->pid);
    return rc;
}

/* The streams are the command's alone: its reader sees their end. */
static void drop_streams(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3 && null >= 0; fd++)
        dup2(null, fd);
    if (null >= 0)
        close(null);
}

/* A cage ends with its supervisor; without one there is a group. */
static void end_command(const struct launcher *l)
{
    kill(l->open ? -l->pid : l->pid, SIGKILL);
}

static void caged_launcher_look(struct launcher *l)
{
    struct process_tree tree;
    /* The cage has a supervisor beside it. */
    process_tree_look(l->pid, PROCESSES_MAX + 2, &tree);
    if (tree.processes > PROCESSES_MAX + 1)
        snprintf(l->reason, sizeof(l->reason), "it had more than %u processes",
                 PROCESSES_MAX);
    else if (tree.bytes > l->memory_bytes)
        snprintf(l->reason, sizeof(l->reason),
                 "its processes used more than %llu MiB of memory",
                 (unsigned long long)(l->memory_bytes >> 20));
    if (*l->reason)
        end_command(l);
}

static int describe_end(const struct launcher *l, int status, struct err *err)
{
    if (*l->reason)
        return err_set(err, ERR_ABORTED, "the command was ended: %s",
                       l->reason);
    if (l->end && cage_error(l->end, err))
        return err->code;
    if (l->end)
        status = cage_status(l->end, status);
    if (WIFSIGNALED(status))
        return err_set(err, ERR_ABORTED, "the command died of signal %d (%s)",
                       WTERMSIG(status), strsignal(WTERMSIG(status)));
    if (WEXITSTATUS(status) != 0)
        return err_set(err, ERR_ABORTED, "the command ended with status %d",
                       WEXITSTATUS(status));
    return 0;
}

static int caged_launcher_watch(struct launcher *l, struct err *err)
{
    int status = 0;
    for (;;) {
        struct signalfd_siginfo info;
        struct pollfd fds[2] = {{.fd = CAGED_CONTROL, .events = POLLIN},
                                {.fd = l->signals, .events = POLLIN}};
        int n = poll(fds, 2, LOOK_MS);
        if (n > 0 && fds[0].revents) {
            end_command(l);
            leave();
        }
        if (n > 0 && fds[1].revents)
            (void)!read(l->signals, &info, sizeof(info));
        if (waitpid(l->pid, &status, WNOHANG) == l->pid)
            return describe_end(l, status, err);
        caged_launcher_look(l);
    }
}

void caged_command_main(int argc, char *const *argv)
{
    struct launcher l = {.rules = BUF_INIT};
    struct err err = ERR_INIT;
    sigset_t child;
    if (argc != 2 || strcmp(argv[1], CAGED_COMMAND_WORD) != 0)
        return;
    /* Not of a process that wants a command: somebody typed it. */
    if (fcntl(CAGED_CONTROL, F_SETFD, FD_CLOEXEC) != 0)
        return;
    signal(SIGINT, SIG_IGN);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    take_rules(&l);
    l.signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    if (l.signals < 0)
        err_set_errno(&err, errno, "wait for a command");
    else if (start_command(&l, &err) == 0) {
        drop_streams();
        (void)caged_launcher_watch(&l, &err);
    }
    tell(&err);
}
