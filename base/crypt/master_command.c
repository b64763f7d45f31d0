/* A child process with a pipe as its standard output. popen() is not used:
 * it would leave a copy of the key in a stdio buffer, and pass descriptors
 * to the child. */
#define _GNU_SOURCE /* pipe2 */

#include "base/crypt/master_command.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int spawn_shell(const char *command, int out, pid_t *pid)
{
    char shell[] = "/bin/sh";
    char flag[] = "-c";
    char text[4096];
    char *argv[] = {shell, flag, text, NULL};
    posix_spawn_file_actions_t actions;
    size_t len = strlen(command);
    int rc;

    if (len >= sizeof(text))
        return E2BIG;
    memcpy(text, command, len + 1);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    rc = posix_spawn(pid, shell, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return rc;
}

/* Read all of @fd; false when it exceeds the room. */
static bool read_pipe(int fd, char *text, size_t room, size_t *len)
{
    char more;

    *len = 0;
    for (;;) {
        bool full = *len == room;
        ssize_t n =
            full ? read(fd, &more, 1) : read(fd, text + *len, room - *len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return true;
        if (full)
            return false;
        *len += (size_t)n;
    }
}

int master_command_run(const char *command,
                       char *text,
                       size_t room,
                       size_t *len,
                       struct err *err)
{
    int ends[2];
    int status = 0;
    bool fits;
    pid_t pid;
    int rc;

    if (pipe2(ends, O_CLOEXEC))
        return err_set_errno(err, errno, "%s", command);
    rc = spawn_shell(command, ends[1], &pid);
    close(ends[1]);
    if (rc) {
        close(ends[0]);
        return err_set_errno(err, rc, "%s", command);
    }
    fits = read_pipe(ends[0], text, room, len);
    close(ends[0]);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (!fits)
        return err_set(err, ERR_INVALID, "%s: it printed over %zu bytes",
                       command, room);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    return err_set(err, ERR_INVALID, "%s: it failed, with status %d", command,
                   WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}
