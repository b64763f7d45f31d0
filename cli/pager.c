/* The pager as a child process that reads from a pipe, with terminal signals
 * kept from this process: Ctrl-C belongs to the pager while it runs.
 */
#define _GNU_SOURCE /* pipe2, environ */

#include "cli/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/macros.h"
#include "base/core/panic.h"
#include "base/core/text.h"

/* Colours go through, long lines are folded by the terminal, nothing is
 * cleared at the end. */
#define PAGER_DEFAULT "less -FRX"

/* The status of a shell that does not find or cannot run a command. */
#define EXIT_NOT_RUN 126

/* Ctrl-C and Ctrl-\ reach all processes of the terminal; a pager that was left
 * early makes the pipe break. */
static const int kept_signals[] = {SIGINT, SIGQUIT, SIGPIPE};

struct kept {
    struct sigaction before[ARRAY_LEN(kept_signals)];
};

/* The command to run; NULL: none. */
static const char *pager_command(void)
{
    const char *pager = getenv("PAGER");
    const char *terminal = getenv("TERM");
    if (!isatty(STDOUT_FILENO) || !terminal || strcmp(terminal, "dumb") == 0)
        return NULL;
    if (!pager)
        return PAGER_DEFAULT;
    return pager[strspn(pager, " \t")] == '\0' ? NULL : pager;
}

/* Does @text leave a line of the terminal for the prompt? */
static bool fits_screen(struct slice text)
{
    struct winsize size;
    size_t lines = 1;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row || !size.ws_col)
        return false; /* The pager may know. */
    while (text.len > 0) {
        size_t end = slice_find_byte(text, '\n');
        size_t columns = utf8_columns(slice_sub(text, 0, end));
        lines += columns > 0 ? (columns - 1) / size.ws_col + 1 : 1;
        text = slice_sub(text, end + 1, text.len);
    }
    return lines <= size.ws_row;
}

static void print_plainly(struct slice text)
{
    fwrite(text.data, 1, text.len, stdout);
}

static void signals_keep(struct kept *k)
{
    struct sigaction ignore = {.sa_flags = 0};
    ignore.sa_handler = SIG_IGN;
    sigemptyset(&ignore.sa_mask);
    for (size_t i = 0; i < ARRAY_LEN(kept_signals); i++)
        sigaction(kept_signals[i], &ignore, &k->before[i]);
}

static void signals_restore(const struct kept *k)
{
    for (size_t i = 0; i < ARRAY_LEN(kept_signals); i++)
        sigaction(kept_signals[i], &k->before[i], NULL);
}

/* Run @command with standard input from @in, and with signals as usual. */
static int spawn_pager(const char *command, int in, pid_t *pid)
{
    char shell[] = "sh";
    char dash_c[] = "-c";
    char *text = mem_strdup(command);
    char *argv[] = {shell, dash_c, text, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t usual;
    int rc;
    PRE(in >= 0);
    sigemptyset(&usual);
    for (size_t i = 0; i < ARRAY_LEN(kept_signals); i++)
        sigaddset(&usual, kept_signals[i]);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigdefault(&attr, &usual);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    rc = posix_spawn(pid, "/bin/sh", &actions, &attr, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attr);
    mem_free(text);
    return rc;
}

/* The pager may have been left: then nobody misses the rest. */
static void write_all(int fd, struct slice text)
{
    PRE(fd >= 0);
    while (text.len > 0) {
        ssize_t n = write(fd, text.data, text.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        text = slice_sub(text, (size_t)n, text.len);
    }
}

/* Did it run at all? */
static bool await_pager(pid_t pid)
{
    int status = 0;
    PRE(pid > 0);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return true;
    return !WIFEXITED(status) || WEXITSTATUS(status) < EXIT_NOT_RUN;
}

static bool run_pager(const char *command, struct slice text)
{
    struct kept kept;
    int ends[2];
    pid_t pid;
    bool ran;
    if (pipe2(ends, O_CLOEXEC))
        return false;
    signals_keep(&kept);
    ran = spawn_pager(command, ends[0], &pid) == 0;
    close(ends[0]);
    if (ran)
        write_all(ends[1], text);
    close(ends[1]);
    if (ran)
        ran = await_pager(pid);
    signals_restore(&kept);
    return ran;
}

void pager_show(struct slice text)
{
    const char *command = pager_command();
    fflush(stdout);
    if (!command || fits_screen(text) || !run_pager(command, text))
        print_plainly(text);
}
