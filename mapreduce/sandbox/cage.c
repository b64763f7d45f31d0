/* Forking into namespaces. The order matters and is that of the calls: user
 * maps before mounts, mounts before the root changes, capabilities dropped
 * before the filter, the filter last. A step that fails ends the process with
 * its error in struct cage_end; no code of the user runs in a half-built cage.
 */
#define _GNU_SOURCE

#include "mapreduce/sandbox/cage.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/panic.h"
#include "mapreduce/sandbox/cage_mounts.h"
#include "mapreduce/sandbox/landlock.h"
#include "mapreduce/sandbox/sandbox.h"

/* "nobody", whatever this system's user database says. */
#define NOBODY 65534U
/* close_range(2), of Linux 5.9. */
#define CLOSE_RANGE_NUMBER 436
/* Rules of Landlock. */
#define PATHS_MAX 256
/* Lines of the maps of users and groups. */
#define MAP_BYTES ((size_t)4096)
/* Descriptors looked at one by one on older kernels. */
#define CLOSED_MAX 65536

/* The kernel allows this many processes beyond the job's limit, so that the
 * zygote, which counts from time to time, is the one to report the limit. */
#define PROCESSES_SPARE 64

#define REFUSED_HINT                                                           \
    "allow user namespaces; or, where the code is trusted, see "               \
    "\"weak-sandbox\" and --no-sandbox in docs/jobs.md"

enum {
    ENDED = 1,
    NOT_BEGUN
};

struct cage_end *cage_end_new(void)
{
    void *at = mmap(NULL, sizeof(struct cage_end), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

void cage_end_free(struct cage_end *e)
{
    if (e)
        munmap(e, sizeof(*e));
}

int cage_status(const struct cage_end *end, int supervisor_status)
{
    PRE(end != NULL);
    return atomic_load(&end->ended) == ENDED ? end->status : supervisor_status;
}

int cage_error(const struct cage_end *end, struct err *err)
{
    int rc = end->code;
    if (atomic_load(&end->ended) != NOT_BEGUN)
        return 0;
    err_set(err, rc, "%.*s", (int)sizeof(end->error) - 1, end->error);
    if (rc == ERR_UNSUPPORTED)
        err_hint(err, REFUSED_HINT);
    return rc;
}

/* A step failed: the process must not continue. */
NORETURN static void give_up(struct cage_end *end, const struct err *err)
{
    end->code = err->code;
    snprintf(end->error, sizeof(end->error), "%.*s",
             (int)sizeof(end->error) - 1, err->text);
    atomic_store(&end->ended, NOT_BEGUN);
    _exit(126);
}

bool cage_may_know(const char *variable)
{
    static const char *const known[] = {
        "COLUMNS=", "LANG=", "LANGUAGE=", "LC_",
        "LINES=",   "PATH=", "TERM=",     "TZ="};
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (strncmp(variable, known[i], strlen(known[i])) == 0)
            return true;
    return false;
}

/* --- users and groups ---------------------------------------------------- */

static int write_text(const char *path, const char *text, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    size_t len = strlen(text);
    int rc = 0;
    if (fd < 0 || write(fd, text, len) != (ssize_t)len)
        rc = err_set_errno(err, errno, "write %s", path);
    if (fd >= 0)
        close(fd);
    return rc;
}

/* Map every number to itself: the lines "inside outside count" of our own map
 * become "inside inside count". */
static void map_all(const char *own, char *out, size_t size)
{
    unsigned long inside;
    unsigned long outside;
    unsigned long count;
    size_t len = 0;
    FILE *f = fopen(own, "re");
    out[0] = '\0';
    while (f && len + 64 < size &&
           fscanf(f, "%lu %lu %lu", &inside, &outside, &count) == 3)
        len += (size_t)snprintf(out + len, size - len, "%lu %lu %lu\n", inside,
                                inside, count);
    if (f)
        fclose(f);
}

/* Root needs nobody to be in the map, and access to others' files for mounting
 * them; any other user may map himself alone. */
static int map_users(pid_t supervisor, struct err *err)
{
    char path[64];
    char map[MAP_BYTES];
    bool root = geteuid() == 0;
    int rc = 0;
    if (!root) {
        snprintf(path, sizeof(path), "/proc/%ld/setgroups", (long)supervisor);
        rc = write_text(path, "deny", err);
    }
    snprintf(map, sizeof(map), "%u %u 1\n", geteuid(), geteuid());
    if (root)
        map_all("/proc/self/uid_map", map, sizeof(map));
    snprintf(path, sizeof(path), "/proc/%ld/uid_map", (long)supervisor);
    if (rc == 0)
        rc = write_text(path, map, err);
    snprintf(map, sizeof(map), "%u %u 1\n", getegid(), getegid());
    if (root)
        map_all("/proc/self/gid_map", map, sizeof(map));
    snprintf(path, sizeof(path), "/proc/%ld/gid_map", (long)supervisor);
    return rc ? rc : write_text(path, map, err);
}

static int become_nobody(struct err *err)
{
    if (setgroups(0, NULL) != 0 || setresgid(NOBODY, NOBODY, NOBODY) != 0 ||
        setresuid(NOBODY, NOBODY, NOBODY) != 0)
        return err_set_errno(err, errno, "cage: become nobody");
    return 0;
}

/* Dropping them needs one of them, and so comes before they are gone. */
static void forbid_capabilities(void)
{
    for (unsigned long c = 0; c < 64; c++)
        if (prctl(PR_CAPBSET_DROP, c, 0, 0, 0) != 0)
            return; /* EINVAL: the kernel knows no more. */
}

static int drop_capabilities(struct err *err)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
    if (syscall(SYS_capset, &head, none) != 0)
        return err_set_errno(err, errno, "cage: drop capabilities");
    return 0;
}

/* --- descriptors --------------------------------------------------------- */

static void close_between(unsigned first, unsigned last)
{
    if (first > last || syscall(CLOSE_RANGE_NUMBER, first, last, 0) == 0)
        return;
    for (unsigned fd = first; fd <= MIN_OF(last, (unsigned)CLOSED_MAX); fd++)
        close((int)fd);
}

/* Close all but 0, 1, 2 and @keep. */
static void close_others(const int *keep, size_t count)
{
    unsigned from = STDERR_FILENO + 1;
    for (;;) {
        unsigned next = UINT32_MAX;
        for (size_t i = 0; i < count; i++)
            if (keep[i] >= (int)from && (unsigned)keep[i] < next)
                next = (unsigned)keep[i];
        if (next == UINT32_MAX)
            break;
        if (next > from)
            close_between(from, next - 1);
        from = next + 1;
    }
    close_between(from, UINT32_MAX);
}

/* --- the process --------------------------------------------------------- */

/* Since Linux 5.14 processes are counted by namespace; before that the limit
 * would count everything the user runs. (Landlock came with 5.13.) */
static void limit_processes(const struct cage_rules *r)
{
    struct rlimit old;
    rlim_t n = (rlim_t)r->processes_max + PROCESSES_SPARE;
    if (r->processes_max == 0 || landlock_version() < 1 ||
        getrlimit(RLIMIT_NPROC, &old) != 0)
        return;
    n = MIN_OF(n, old.rlim_max);
    setrlimit(RLIMIT_NPROC, &(struct rlimit){n, n});
}

/* Inside the tree of mounts everything may be read. */
static int
restrict_names(const struct cage_rules *r, bool weak, struct err *err)
{
    struct landlock_path paths[PATHS_MAX + 2];
    size_t n = 0;
    if (!weak) {
        paths[n++] = (struct landlock_path){"/", false};
    } else {
        for (size_t i = 0; cage_system_paths[i]; i++)
            paths[n++] = (struct landlock_path){cage_system_paths[i], false};
        for (size_t i = 0; cage_settings_paths[i]; i++)
            paths[n++] = (struct landlock_path){cage_settings_paths[i], false};
        paths[n++] = (struct landlock_path){"/proc", false};
        for (size_t i = 0; i < r->visible_count && n < PATHS_MAX; i++)
            paths[n++] = (struct landlock_path){r->visible[i].real, false};
    }
    for (size_t i = 0; i < r->writable_count && n < PATHS_MAX; i++)
        paths[n++] = (struct landlock_path){
            weak ? r->writable[i].real : r->writable[i].at, true};
    paths[n++] = (struct landlock_path){CAGE_SCRATCH, true};
    paths[n++] = (struct landlock_path){"/dev", true};
    if (landlock_version() == 0)
        return 0;
    return landlock_enter(paths, n, r->network, err);
}

static void enter_directory(const struct cage_rules *r)
{
    if ((r->directory && chdir(r->directory) == 0) || chdir(CAGE_SCRATCH) == 0)
        return;
    if (chdir("/"))
        PANIC("chdir /: %s", strerror(errno));
}

/* @weak: in the namespaces of its parent. */
static int
cage_settle(const struct cage_rules *r, bool weak, bool root, struct err *err)
{
    int rc = 0;
    setsid();
    umask(022); /* Weak: there was no supervisor. */
    enter_directory(r);
    if (root || !weak)
        forbid_capabilities();
    if (root && !r->stay)
        rc = become_nobody(err);
    if (rc == 0 && (root || !weak))
        rc = drop_capabilities(err);
    if (rc == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        rc = err_set_errno(err, errno, "cage: give up new rights");
    if (!weak)
        limit_processes(r);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    /* Changing the user cleared it. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (rc == 0)
        rc = restrict_names(r, weak, err);
    if (rc == 0 && r->sandbox)
        rc = sandbox_enter(r->sandbox, err);
    return rc;
}

/* --- the supervisor ------------------------------------------------------ */

/* Wait for @child, and reap its orphans meanwhile. When this process ends the
 * kernel ends all others of the namespace. */
NORETURN static void keep_until_end(pid_t child, struct cage_end *end)
{
    int status = 0;
    pid_t pid;
    struct err err = ERR_INIT;
    close_between(0, UINT32_MAX);
    if (drop_capabilities(&err))
        give_up(end, &err);
    do
        pid = wait(&status);
    while (pid != child && (pid >= 0 || errno == EINTR));
    end->status = status;
    atomic_store(&end->ended, ENDED);
    _exit(0);
}

/* Process 1. Returns only in its child. */
static void run_supervisor(const struct cage_rules *r,
                           const int *keep,
                           size_t keep_count,
                           int go,
                           bool root,
                           struct cage_end *end)
{
    struct err err = ERR_INIT;
    char byte;
    pid_t child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* The users are mapped, unless the process that maps them is gone. */
    if (read(go, &byte, 1) != 1)
        _exit(126);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    /* Nobody must reach the visible paths, whatever directories of the server
     * are closed to that user. */
    umask(022);
    if (cage_mount(r, &err)) {
        err_wrap(&err, "this system does not let user code be confined");
        err.code = ERR_UNSUPPORTED;
        give_up(end, &err);
    }
    if (sethostname("job", 3) != 0)
        err_set_errno(&err, errno, "cage: name the host");
    if (err.code)
        give_up(end, &err);
    child = fork();
    if (child < 0) {
        err_set_errno(&err, errno, "cage: start a process");
        give_up(end, &err);
    }
    if (child > 0)
        keep_until_end(child, end);
    close_others(keep, keep_count);
    if (cage_settle(r, false, root, &err))
        give_up(end, &err);
}

/* --- forking ------------------------------------------------------------- */

static int cage_refused(const char *what, int errnum, struct err *err)
{
    err_set(err, ERR_UNSUPPORTED,
            "this kernel refuses namespaces to this process (%s: %s), without "
            "which user code cannot be confined",
            what, strerror(errnum));
    err_hint(err, REFUSED_HINT);
    return ERR_UNSUPPORTED;
}

static pid_t fork_strong(const struct cage_rules *r,
                         const int *keep,
                         size_t keep_count,
                         struct cage_end *end,
                         struct err *err)
{
    unsigned long flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID |
                          CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP |
                          SIGCHLD;
    bool root = geteuid() == 0;
    int go[2];
    pid_t pid;
    if (!r->network)
        flags |= CLONE_NEWNET;
    if (pipe2(go, O_CLOEXEC) != 0)
        return cage_refused("pipe", errno, err), -1;
    /* The C library's fork() takes no flags; without a stack of its own the
     * child continues with a copy of this one. */
    pid = (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, NULL);
    if (pid == 0) {
        close(go[1]);
        run_supervisor(r, keep, keep_count, go[0], root, end);
        return 0;
    }
    close(go[0]);
    if (pid < 0) {
        cage_refused("clone", errno, err);
    } else if (map_users(pid, err) || write(go[1], "g", 1) != 1) {
        int errnum = errno;
        kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
        }
        cage_refused("map users", errnum, err);
        pid = -1;
    }
    close(go[1]);
    return pid;
}

static pid_t fork_weak(const struct cage_rules *r,
                       const int *keep,
                       size_t keep_count,
                       struct cage_end *end,
                       struct err *err)
{
    bool root = geteuid() == 0;
    pid_t pid = fork();
    if (pid < 0)
        err_set_errno(err, errno, "start a process");
    if (pid != 0)
        return pid;
    close_others(keep, keep_count);
    if (cage_settle(r, true, root, err))
        give_up(end, err);
    return 0;
}

/* Some systems allow namespaces and then refuse every mount in them. */
static bool is_possible(const struct cage_rules *r, struct cage_end *end)
{
    int status = 0;
    pid_t pid = fork_strong(r, NULL, 0, end, NULL);
    if (pid == 0)
        _exit(0);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return pid > 0 && atomic_load(&end->ended) == ENDED;
}

static void cage_reset(struct cage_end *end)
{
    memset(end->error, 0, sizeof(end->error));
    atomic_store(&end->ended, 0);
}

pid_t cage_fork(const struct cage_rules *rules,
                const int *keep,
                size_t keep_count,
                struct cage_end *end,
                struct err *err)
{
    PRE(rules->sandbox != NULL);
    PRE(keep_count <= 8);
    bool possible = true;
    if (rules->weak) {
        cage_reset(end);
        possible = is_possible(rules, end);
    }
    cage_reset(end);
    end->weak = !possible;
    return possible ? fork_strong(rules, keep, keep_count, end, err)
                    : fork_weak(rules, keep, keep_count, end, err);
}
