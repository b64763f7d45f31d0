/* Starting the zygote as a program of its own, and its first steps.
 *
 * A process with threads must not fork and continue, so the zygote is executed:
 * it gets its descriptors by number, and its job as a package through the
 * socket.
 */
#define _GNU_SOURCE

#include "mapreduce/attempt/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "mapreduce/attempt/zygote.h"
#include "mapreduce/sandbox/job_cage.h"
#include "mapreduce/task/job_package.h"

/* A package holds options and names of files. */
#define PACKAGE_BYTES_MAX ((uint64_t)256 << 20)

/* --- in the master ------------------------------------------------------- */

/* Move @fd above @above, so that it does not collide with the descriptors that
 * the program finds by number. */
static int exec_lift(int fd, int above)
{
    return fcntl(fd, F_DUPFD_CLOEXEC, above);
}

static int exec_spawn(const char *const *command,
                      unsigned slots,
                      const posix_spawn_file_actions_t *actions,
                      pid_t *pid,
                      struct err *err)
{
    enum {
        WORDS_MAX = 64
    };

    char *argv[WORDS_MAX + 2];
    char count[16];
    posix_spawnattr_t attr;
    sigset_t none;
    sigset_t defaults;
    unsigned n = 0;
    int rc;
    for (; command[n]; n++) {
        PRE(n < WORDS_MAX);
        argv[n] = (char *)(uintptr_t)command[n];
    }
    snprintf(count, sizeof(count), "%u", slots);
    argv[n] = count;
    argv[n + 1] = NULL;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGTERM);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &defaults);
    posix_spawnattr_setflags(&attr,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    rc = posix_spawn(pid, argv[0], actions, &attr, argv, environ);
    posix_spawnattr_destroy(&attr);
    if (rc == 0)
        return 0;
    *pid = 0;
    return err_set_errno(err, rc, "start %s", argv[0]);
}

int exec_zygote(const char *const *command,
                int socket,
                int status,
                const int *pipes,
                const int *files,
                unsigned slots,
                pid_t *pid,
                struct err *err)
{
    posix_spawn_file_actions_t actions;
    unsigned count = 2 * slots + 2;
    int above = EXEC_SOCKET + (int)count;
    int *lifted = mem_alloc(count * sizeof(*lifted));
    int rc = 0;
    posix_spawn_file_actions_init(&actions);
    for (unsigned i = 0; i < count; i++) {
        int fd = i == 0 ? socket : status;
        if (i >= 2)
            fd = i < slots + 2 ? pipes[i - 2] : files[i - 2 - slots];
        lifted[i] = exec_lift(fd, above);
        if (lifted[i] < 0)
            rc = err_set_errno(err, errno, "pass on a descriptor");
        else
            posix_spawn_file_actions_adddup2(&actions, lifted[i],
                                             EXEC_SOCKET + (int)i);
    }
    if (rc == 0)
        rc = exec_spawn(command, slots, &actions, pid, err);
    for (unsigned i = 0; i < count; i++)
        if (lifted[i] >= 0)
            close(lifted[i]);
    posix_spawn_file_actions_destroy(&actions);
    mem_free(lifted);
    return rc;
}

/* --- in the program ------------------------------------------------------ */

/* The master is gone, or sent nonsense. */
NORETURN static void exec_leave(const char *why)
{
    if (why)
        fprintf(stderr, "attempts: %s\n", why);
    _exit(why ? 1 : 0);
}

static void exec_take(char *p, size_t len)
{
    while (len > 0) {
        ssize_t n = recv(EXEC_SOCKET, p, len, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            exec_leave(NULL);
        p += n;
        len -= (size_t)n;
    }
}

static void take_package(struct buf *out)
{
    char head[ZYGOTE_HEADER_BYTES];
    exec_take(head, sizeof(head));
    if (get_le32(head) != ZYGOTE_SETUP ||
        get_le64(head + 8) > PACKAGE_BYTES_MAX)
        exec_leave("this command is for workers alone");
    exec_take(buf_extend(out, get_le64(head + 8)), get_le64(head + 8));
}

/* Set what a package cannot hold. */
static int exec_complete(struct job_package *p,
                         const struct attempts_options *o,
                         struct err *err)
{
    p->options.options.store_options = o->store;
    p->setup.weak_sandbox = o->weak_sandbox;
    if (p->job_name && o->find)
        p->options.options.program.job = o->find(p->job_name);
    if (o->is_for && p->options.options.principal)
        o->is_for(o->ctx, p->options.options.principal);
    if (!o->identify || job_is_relayed(&p->setup))
        return 0;
    return o->identify(o->ctx, err);
}

void attempts_main(const struct attempts_options *opts)
{
    static struct job_package package;
    static struct zygote_shared shared;
    struct buf bytes = BUF_INIT;
    struct err err = ERR_INIT;
    if (opts->slots == 0 || opts->slots > ZYGOTE_SLOTS_MAX)
        exec_leave("this command is for workers alone");
    fcntl(EXEC_SOCKET, F_SETFD, FD_CLOEXEC);
    fcntl(EXEC_STATUS, F_SETFD, FD_CLOEXEC);
    take_package(&bytes);
    if (job_package_decode(&package, buf_slice(&bytes), world_real_new(),
                           &err) ||
        zygote_shared_join(&shared, opts->slots, EXEC_STATUS, EXEC_FIRST_PIPE,
                           &err) ||
        exec_complete(&package, opts, &err))
        exec_leave(err.text);
    buf_close(&bytes);
    zygote_main(&package.setup, &shared, opts->slots, EXEC_SOCKET,
                opts->open_fs, opts->ctx);
}
