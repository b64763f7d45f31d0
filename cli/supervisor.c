/* The process between a lock's holder and its command, see supervisor.h.
 *
 * It is forked from a process with threads, which may hold any lock of the
 * library: so it uses system calls and execvp(), and no stdio and no heap.
 */
#define _GNU_SOURCE /* pipe2 */

#include "cli/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/panic.h"
#include "base/runtime/waiter.h"

/* The supervisor's end of the pair. */
#define OWN_FD 3
/* How often it looks. */
#define TICK_MS  100
#define PAUSE_MS 5 /* Between looks at what is ended. */
/* Descendants in one reading of the kernel's list. */
#define CHILDREN_BYTES 4096

enum word {
    WORD_HELD = 'h',
    WORD_LOST = 'l',
};

/* --- in the supervisor: clocks and processes ----------------------------- */

/* A clock that counts the time a suspended machine sleeps. */
static uint64_t boot_ms(void)
{
    return real_mono_ns() / 1000000;
}

/* "/proc/PID/task/PID/children" without stdio. */
static void children_path(pid_t pid, char out[64])
{
    static const char head[] = "/proc/";
    static const char middle[] = "/task/";
    static const char tail[] = "/children";
    char digits[16];
    size_t count = 0;
    char *p = out;
    for (pid_t n = pid; n; n /= 10)
        digits[count++] = (char)('0' + n % 10);
    memcpy(p, head, sizeof(head) - 1);
    p += sizeof(head) - 1;
    for (int part = 0; part < 2; part++) {
        for (size_t i = count; i; i--)
            *p++ = digits[i - 1];
        if (part == 0) {
            memcpy(p, middle, sizeof(middle) - 1);
            p += sizeof(middle) - 1;
        }
    }
    memcpy(p, tail, sizeof(tail));
}

/* Signal the children of @pid and their descendants. Orphans are reparented to
 * the supervisor, the nearest subreaper, and are found the next time. Depth is
 * bounded by the size of a reading. */
static void signal_below(pid_t pid, int signal_number, unsigned depth)
{
    char text[CHILDREN_BYTES];
    char path[64];
    ssize_t n;
    pid_t child = 0;
    int fd;
    children_path(pid, path);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    n = read(fd, text, sizeof(text));
    close(fd);
    for (ssize_t i = 0; i < n; i++) {
        if (text[i] >= '0' && text[i] <= '9') {
            child = child * 10 + (text[i] - '0');
        } else if (child) {
            if (depth < 16)
                signal_below(child, signal_number, depth + 1);
            kill(child, signal_number);
            child = 0;
        }
    }
}

/* Reap what ended; true when @command did, whose status is *@status. */
static bool supervisor_reap(pid_t command, int *status, bool *none_left)
{
    bool seen = false;
    *none_left = false;
    for (;;) {
        int is;
        pid_t pid = waitpid(-1, &is, WNOHANG);
        if (pid < 0 && errno == EINTR)
            continue;
        if (pid <= 0) {
            *none_left = pid < 0;
            return seen;
        }
        if (pid == command) {
            *status = is;
            seen = true;
        }
    }
}

/* SIGTERM, then SIGKILL, until nothing is left. */
static void end_all(pid_t command, int *status)
{
    uint64_t begin = boot_ms();
    bool none_left = false;
    signal_below(getpid(), SIGTERM, 0);
    signal_below(getpid(), SIGCONT, 0);
    while (!none_left) {
        (void)supervisor_reap(command, status, &none_left);
        if (!none_left && boot_ms() - begin >= SUPERVISOR_GRACE_MS)
            signal_below(getpid(), SIGKILL, 0);
        if (!none_left)
            (void)poll(NULL, 0, PAUSE_MS);
    }
}

/* --- in the supervisor: its life ----------------------------------------- */

static void close_inherited(void)
{
    if (syscall(SYS_close_range, OWN_FD + 1, ~0U, 0) == 0)
        return;
    for (int fd = OWN_FD + 1; fd < 65536; fd++)
        close(fd);
}

/* Hear what is said. False: nobody speaks any more, or the lock is lost. */
static bool supervisor_hear(uint64_t *heard_ms)
{
    char words[64];
    ssize_t n = recv(OWN_FD, words, sizeof(words), MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        return false;
    for (ssize_t i = 0; i < n; i++) {
        if (words[i] == WORD_LOST)
            return false;
        *heard_ms = boot_ms();
    }
    return true;
}

/* The end of the command @pid, which is running. */
static void supervisor_watch(pid_t pid, struct supervisor_end *end)
{
    uint64_t heard_ms = boot_ms();
    bool none_left;
    while (!supervisor_reap(pid, &end->status, &none_left)) {
        struct pollfd p = {.fd = OWN_FD, .events = POLLIN};
        (void)poll(&p, 1, TICK_MS);
        if (!supervisor_hear(&heard_ms) ||
            boot_ms() - heard_ms > SUPERVISOR_SILENCE_MS) {
            end->ended = true;
            end_all(pid, &end->status);
            return;
        }
    }
}

static void on_child(int signal_number)
{
    (void)signal_number; /* It ends poll(). */
}

NORETURN static void run_command(char *const argv[],
                                 const struct sigaction old[2],
                                 const sigset_t *mask,
                                 int report)
{
    int error;
    sigaction(SIGINT, &old[0], NULL);
    sigaction(SIGQUIT, &old[1], NULL);
    sigprocmask(SIG_SETMASK, mask, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == 1)
        _exit(127);
    execvp(argv[0], argv);
    error = errno;
    if (write(report, &error, sizeof(error)) < 0)
        _exit(126);
    _exit(127);
}

/* Start the command; its pid, or 0 and @end->error. */
static pid_t start_command(char *const argv[],
                           const struct sigaction old[2],
                           const sigset_t *mask,
                           struct supervisor_end *end)
{
    int report[2];
    int error = 0;
    pid_t pid;
    if (pipe2(report, O_CLOEXEC)) {
        end->error = errno;
        return 0;
    }
    pid = fork();
    if (pid == 0)
        run_command(argv, old, mask, report[1]);
    close(report[1]);
    if (pid < 0)
        end->error = errno;
    else if (read(report[0], &error, sizeof(error)) == sizeof(error))
        end->error = error;
    close(report[0]);
    return end->error ? 0 : pid;
}

NORETURN static void supervisor_run(int fd,
                                    char *const argv[],
                                    const struct sigaction old[2],
                                    const sigset_t *mask)
{
    struct supervisor_end end = {.error = 0};
    struct sigaction child = {.sa_handler = on_child};
    pid_t pid;
    if (fd != OWN_FD && dup2(fd, OWN_FD) < 0)
        _exit(1);
    close_inherited();
    (void)fcntl(OWN_FD, F_SETFD, FD_CLOEXEC);
    sigaction(SIGCHLD, &child, NULL);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_NAME, "quarry-hold");
    pid = start_command(argv, old, mask, &end);
    sigprocmask(SIG_SETMASK, mask, NULL);
    if (pid)
        supervisor_watch(pid, &end);
    (void)!write(OWN_FD, &end, sizeof(end));
    _exit(0);
}

/* --- in the holder ------------------------------------------------------- */

int supervisor_start(struct supervisor *s, char *const argv[], struct err *err)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction old[2];
    sigset_t all;
    sigset_t mask;
    int pair[2];
    PRE(argv[0]);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return err_set_errno(err, errno, "supervisor");
    sigaction(SIGINT, &ignore, &old[0]);
    sigaction(SIGQUIT, &ignore, &old[1]);
    /* No handler of this process runs in the other. */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &mask);
    s->pid = fork();
    if (s->pid == 0)
        supervisor_run(pair[1], argv, old, &mask);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    close(pair[1]);
    s->fd = pair[0];
    if (s->pid > 0)
        return 0;
    close(pair[0]);
    return err_set_errno(err, errno, "supervisor");
}

static void supervisor_say(const struct supervisor *s, enum word word)
{
    char c = (char)word;
    /* One that is gone, or does not listen, is found out by waiting for it. */
    PRE(s->fd >= 0);
    (void)!send(s->fd, &c, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void supervisor_vouch(const struct supervisor *s)
{
    supervisor_say(s, WORD_HELD);
}

void supervisor_end(const struct supervisor *s)
{
    supervisor_say(s, WORD_LOST);
}

void supervisor_wait(struct supervisor *s, struct supervisor_end *out)
{
    size_t got = 0;
    ssize_t n;
    PRE(s->pid > 0);
    memset(out, 0, sizeof(*out));
    do {
        n = read(s->fd, (char *)out + got, sizeof(*out) - got);
        if (n > 0)
            got += (size_t)n;
    } while (n > 0 ? got < sizeof(*out) : n < 0 && errno == EINTR);
    out->silent = got < sizeof(*out);
    close(s->fd);
    while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}
