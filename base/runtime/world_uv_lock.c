/* Lock files and locked directories of the real world.
 *
 * A lock file's lock is a POSIX record lock on the whole file: it belongs to
 * the process alone, so a forked child neither holds it nor can release it, and
 * the kernel reports the holder. Two weaknesses are handled here: a process
 * never conflicts with itself, and closing any descriptor of the file drops the
 * lock. A table of this process's locks refuses the second open before a
 * descriptor exists. A lock file that was removed while locked would be created
 * again and lock nothing, so the directory is locked as well (flock, which
 * needs no write access) and released in forked children. The table is a global
 * because the locks belong to the process.
 *
 * The file has two lines, for people and for the message to a process that is
 * refused: the holder's process id, and when it took the lock.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/core/panic.h"
#include "base/runtime/world_uv.h"

struct real_lock {
    struct file_lock base;
    struct real_lock *next; /* In `held`. */
    int fd;
    pid_t owner; /* A forked child inherits the table but not the lock. */
    dev_t device;
    ino_t inode;
    int dir_fd; /* Locked; -1: the file system cannot lock it. */
    dev_t dir_device;
    ino_t dir_inode;
};

static pthread_mutex_t held_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct real_lock *held; /* Guarded by held_mutex. */

static bool held_here(const struct stat *st)
{
    for (struct real_lock *l = held; l; l = l->next)
        if (l->owner == getpid() && l->device == st->st_dev &&
            l->inode == st->st_ino)
            return true;
    return false;
}

/* An earlier lock of this process in the same directory, or NULL. */
static struct real_lock *held_beside(const struct stat *dir)
{
    for (struct real_lock *l = held; l; l = l->next)
        if (l->owner == getpid() && l->dir_fd >= 0 &&
            l->dir_device == dir->st_dev && l->dir_inode == dir->st_ino)
            return l;
    return NULL;
}

/* A flock() lasts as long as any process has the descriptor. */
static void release_in_child(void)
{
    for (struct real_lock *l = held; l; l = l->next)
        if (l->dir_fd >= 0) {
            close(l->dir_fd);
            l->dir_fd = -1;
        }
}

static void release_in_children(void)
{
    (void)pthread_atfork(NULL, NULL, release_in_child);
}

static int open_parent(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *dir =
        slash ? mem_strndup(path, (size_t)(slash - path) + 1) : mem_strdup(".");
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    mem_free(dir);
    return fd;
}

/* Lock the directory of @path for @l, unless a lock beside it has done so.
 * ERR_BUSY: another process has it, and its lock file was removed. */
static int lock_parent(const char *path, struct real_lock *l, struct err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct stat st;
    int fd = open_parent(path);
    l->dir_fd = -1;
    if (fd < 0)
        return 0;
    if (fstat(fd, &st) == 0 && !held_beside(&st)) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
            (void)pthread_once(&once, release_in_children);
            l->dir_fd = fd;
            l->dir_device = st.st_dev;
            l->dir_inode = st.st_ino;
            return 0;
        }
        if (errno == EWOULDBLOCK) {
            close(fd);
            err_set(err, ERR_BUSY,
                    "%s: its directory is in use by another process, whose "
                    "lock file was removed",
                    path);
            err_hint(err, "end that process first");
            return ERR_BUSY;
        }
    }
    close(fd);
    return 0;
}

static int set_lock(int fd, int command, struct flock *fl)
{
    int rc;
    *fl = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
    do {
        rc = fcntl(fd, command, fl);
    } while (rc < 0 && errno == EINTR);
    return rc;
}

/* --- the holder ---------------------------------------------------------- */

/* Longest part of a command line that is kept. */
#define COMMAND_BYTES_MAX 160
#define SINCE_BYTES       32
/* Longest contents of a lock file. Command lines are not in it, because they
 * may contain users' rows and values. */
#define HOLDER_BYTES_MAX (SINCE_BYTES + 32)

struct holder {
    long pid;
    char since[SINCE_BYTES];         /* "2026-03-01T12:00:00Z". */
    char command[COMMAND_BYTES_MAX]; /* Without the directory of the program. */
};

/* The command of @pid; empty if the system does not tell. */
static void command_of(long pid, char out[COMMAND_BYTES_MAX])
{
    char path[64];
    char line[4096];
    const char *from = line;
    const char *slash;
    ssize_t n;
    int fd;
    snprintf(path, sizeof(path), "/proc/%ld/cmdline", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
    out[0] = '\0';
    if (fd >= 0)
        close(fd);
    line[n > 0 ? n : 0] = '\0';
    slash = strrchr(line, '/'); /* In the first word, which a NUL ends. */
    from = slash ? slash + 1 : line;
    n -= from - line;
    for (ssize_t i = 0; i + 1 < n && i + 1 < COMMAND_BYTES_MAX; i++) {
        out[i] = from[i];
        if ((unsigned char)out[i] < ' ')
            out[i] = ' ';
        out[i + 1] = '\0';
    }
}

static void describe_self(struct holder *h)
{
    time_t now = time(NULL);
    struct tm utc;
    *h = (struct holder){.pid = (long)getpid()};
    if (gmtime_r(&now, &utc))
        (void)!strftime(h->since, sizeof(h->since), "%Y-%m-%dT%H:%M:%SZ", &utc);
}

/* The next line of *@text into @out, cut to @size. */
static void take_line(const char **text, char *out, size_t size)
{
    size_t len = strcspn(*text, "\n");
    size_t kept = MIN_OF(len, size - 1);
    memcpy(out, *text, kept);
    out[kept] = '\0';
    *text += len + ((*text)[len] == '\n');
}

/* Read the holder's lines (nothing if it has not written them yet, or was
 * not @pid), and its command from the system. */
static void read_holder(int fd, long pid, struct holder *out)
{
    char text[HOLDER_BYTES_MAX];
    char number[32];
    const char *at = text;
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
    *out = (struct holder){.pid = pid};
    text[n > 0 ? n : 0] = '\0';
    take_line(&at, number, sizeof(number));
    if (pid > 0 && strtol(number, NULL, 10) != pid)
        return;
    take_line(&at, out->since, sizeof(out->since));
    if (pid > 0)
        command_of(pid, out->command);
}

static int
world_uv_lock_busy(struct err *err, const char *path, const struct holder *h)
{
    char who[32] = "another process";
    bool has_command = h->command[0] != '\0';
    bool has_since = h->since[0] != '\0';
    if (h->pid > 0)
        snprintf(who, sizeof(who), "process %ld", h->pid);
    err_set(err, ERR_BUSY, "%s: in use by %s%s%s%s%s%s", path, who,
            has_command ? ", \"" : "", h->command, has_command ? "\"" : "",
            has_since ? ", since " : "", h->since);
    err_hint(err, "end that process first");
    return ERR_BUSY;
}

static int world_uv_lock_refused(int fd, const char *path, struct err *err)
{
    struct holder holder;
    struct flock fl;
    int errnum = errno;
    if (errnum != EAGAIN && errnum != EACCES)
        return err_set_errno(err, errnum, "lock %s", path);
    if (set_lock(fd, F_GETLK, &fl) < 0 || fl.l_type == F_UNLCK)
        fl.l_pid = 0; /* Released meanwhile, or on another machine. */
    read_holder(fd, fl.l_pid, &holder);
    return world_uv_lock_busy(err, path, &holder);
}

static int write_holder(int fd, const char *path, struct err *err)
{
    char text[HOLDER_BYTES_MAX];
    struct holder h;
    int n;
    describe_self(&h);
    n = snprintf(text, sizeof(text), "%ld\n%s\n", h.pid, h.since);
    if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)n, 0) != n)
        return err_set_errno(err, errno, "write %s", path);
    return 0;
}

/* --- locking ------------------------------------------------------------- */

/* Lock the open @fd; @st tells which file it is. */
static int
world_uv_lock_take(int fd, const char *path, struct stat *st, struct err *err)
{
    struct flock fl;
    if (fstat(fd, st) < 0)
        return err_set_errno(err, errno, "stat %s", path);
    if (set_lock(fd, F_SETLK, &fl) < 0)
        return world_uv_lock_refused(fd, path, err);
    return write_holder(fd, path, err);
}

static int
lock_guarded(const char *path, struct real_lock **out, struct err *err)
{
    struct real_lock *l;
    struct stat st;
    int fd;
    int rc;
    if (stat(path, &st) == 0 && held_here(&st)) {
        err_set(err, ERR_BUSY, "%s: in use by this process (%ld)", path,
                (long)getpid());
        return ERR_BUSY;
    }
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_set_errno(err, errno, "%s", path);
    rc = world_uv_lock_take(fd, path, &st, err);
    if (rc) {
        close(fd);
        return rc;
    }
    l = mem_zalloc(1, sizeof(*l));
    rc = lock_parent(path, l, err);
    if (rc) {
        close(fd);
        mem_free(l);
        return rc;
    }
    l->fd = fd;
    l->owner = getpid();
    l->device = st.st_dev;
    l->inode = st.st_ino;
    l->next = held;
    held = l;
    *out = l;
    return 0;
}

int real_lock(struct world *w,
              const char *path,
              struct file_lock **out,
              struct err *err)
{
    struct real_lock *l = NULL;
    int rc;
    pthread_mutex_lock(&held_mutex);
    rc = lock_guarded(path, &l, err);
    pthread_mutex_unlock(&held_mutex);
    if (rc == 0) {
        l->base.world = w;
        *out = &l->base;
    }
    return rc;
}

void real_unlock(struct file_lock *base)
{
    struct real_lock *l = (struct real_lock *)base;
    struct real_lock **at = &held;
    pthread_mutex_lock(&held_mutex);
    while (*at && *at != l)
        at = &(*at)->next;
    INVARIANT(*at);
    *at = l->next;
    close(l->fd);
    if (l->dir_fd >= 0)
        close(l->dir_fd);
    pthread_mutex_unlock(&held_mutex);
    mem_free(l);
}

struct real_dir_lock {
    struct dir_lock base;
    int fd;
};

int real_lock_dir(struct world *w,
                  const char *path,
                  bool alone,
                  struct dir_lock **out,
                  struct err *err)
{
    struct real_dir_lock *l;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(err, errno, "%s", path);
    if (flock(fd, (alone ? LOCK_EX : LOCK_SH) | LOCK_NB) < 0) {
        bool busy = errno == EWOULDBLOCK;
        close(fd);
        return busy ? err_set(err, ERR_BUSY, "%s: in use", path) : 0;
    }
    l = mem_zalloc(1, sizeof(*l));
    l->base.world = w;
    l->fd = fd;
    *out = &l->base;
    return 0;
}

/* Unlock explicitly: children that were forked meanwhile have the
 * descriptor, so closing it would leave the lock to them. */
void real_unlock_dir(struct dir_lock *base)
{
    struct real_dir_lock *l = (struct real_dir_lock *)base;
    (void)flock(l->fd, LOCK_UN);
    close(l->fd);
    mem_free(l);
}
