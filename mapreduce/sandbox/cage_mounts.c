/* Mounting the visible paths of a cage.
 *
 * A small tmpfs becomes the root and the host's tree moves to /old, from where
 * pieces are bound; then /old is removed. Only the scratch directory and
 * /dev/shm can be written, and both have a size limit.
 */
#define _GNU_SOURCE

#include "mapreduce/sandbox/cage_mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mapreduce/sandbox/cage.h"

/* Options of the root itself, which holds directories and two small files. */
#define ROOT_OPTIONS "mode=0755,size=4m"
#define SHM_OPTIONS  "mode=1777,size=64m"
#define BOUND_FLAGS  ((unsigned long)(MS_NOSUID | MS_NODEV))

/* mount_setattr(2), of Linux 5.12, which older C libraries do not know. */
#define MOUNT_SETATTR_NUMBER 442
#define ATTR_RDONLY          UINT64_C(1)
#define ATTR_NOSUID          UINT64_C(2)
#define ATTR_NODEV           UINT64_C(4)
#define FROM_HERE_RECURSIVE  0x8000U /* AT_RECURSIVE */

const char *const cage_system_paths[] = {"/usr",   "/bin",   "/sbin",   "/lib",
                                         "/lib32", "/lib64", "/libx32", NULL};

const char *const cage_settings_paths[] = {
    "/etc/alternatives", "/etc/ca-certificates", "/etc/fonts",
    "/etc/java",         "/etc/ld.so.cache",     "/etc/ld.so.conf",
    "/etc/ld.so.conf.d", "/etc/locale.alias",    "/etc/localtime",
    "/etc/magic",        "/etc/mime.types",      "/etc/nsswitch.conf",
    "/etc/perl",         "/etc/pki/tls/certs",   "/etc/python3",
    "/etc/ssl/certs",    "/etc/timezone",        NULL};

/* Needed for the network, where it may be used. */
static const char *const network_paths[] = {
    "/etc/gai.conf",    "/etc/hosts",    "/etc/protocols",
    "/etc/resolv.conf", "/etc/services", NULL};

static const char *const devices[] = {
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", NULL};

/* Too much of the host: never shown only because a job was started there. */
static const char *const never_shown[] = {
    "/",     "/boot", "/dev", "/etc", "/home", "/mnt", "/old",
    "/proc", "/run",  "/sys", "/tmp", "/var",  NULL};

/* The path of a host's file while both trees are mounted. */
struct host_path {
    char text[PATH_MAX + 8];
};

static const char *cage_mounts_host(struct host_path *p, const char *path)
{
    snprintf(p->text, sizeof(p->text), "/old%s", path);
    return p->text;
}

static bool is_in(const char *path, const char *directory)
{
    size_t n = strlen(directory);
    return strncmp(path, directory, n) == 0 &&
           (path[n] == '/' || path[n] == '\0' || n == 1);
}

static bool is_listed(const char *path, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(path, *list) == 0)
            return true;
    return false;
}

/* --- pieces -------------------------------------------------------------- */

/* Make the directories above @path. */
static int make_parents(const char *path, struct err *err)
{
    char at[PATH_MAX];
    snprintf(at, sizeof(at), "%s", path);
    for (char *p = at + 1; (p = strchr(p, '/')) != NULL; p++) {
        *p = '\0';
        if (mkdir(at, 0755) != 0 && errno != EEXIST)
            return err_set_errno(err, errno, "cage: make %s", at);
        *p = '/';
    }
    return 0;
}

static int make_file(const char *path, const char *text, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    size_t len = strlen(text);
    int rc = 0;
    if (fd < 0 || write(fd, text, len) != (ssize_t)len)
        rc = err_set_errno(err, errno, "cage: make %s", path);
    if (fd >= 0)
        close(fd);
    return rc;
}

static int make_point(const char *path, bool directory, struct err *err)
{
    int rc = make_parents(path, err);
    if (rc)
        return rc;
    if (!directory)
        return access(path, F_OK) == 0 ? 0 : make_file(path, "", err);
    if (mkdir(path, 0755) != 0 && errno != EEXIST)
        return err_set_errno(err, errno, "cage: make %s", path);
    return 0;
}

/* Make a mount, which may have others below it, read-only. */
static int set_read_only(const char *path, struct err *err)
{
    const struct {
        uint64_t set;
        uint64_t clear;
        uint64_t propagation;
        uint64_t user_namespace;
    } attr = {ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV, 0, 0, 0};

    struct statvfs v;
    unsigned long kept;
    if (syscall(MOUNT_SETATTR_NUMBER, AT_FDCWD, path, FROM_HERE_RECURSIVE,
                &attr, sizeof(attr)) == 0)
        return 0;
    /* The flags of the host's mount may not be cleared. */
    if (errno != ENOSYS || statvfs(path, &v) != 0)
        return err_set_errno(err, errno, "cage: protect %s", path);
    kept = v.f_flag & (ST_NOEXEC | ST_NOATIME | ST_NODIRATIME | ST_RELATIME);
    if (mount(NULL, path, NULL,
              MS_REMOUNT | MS_BIND | MS_RDONLY | BOUND_FLAGS | kept, NULL) != 0)
        return err_set_errno(err, errno, "cage: protect %s", path);
    return 0;
}

/* Show @real of the host as @path, if it is there. */
static int cage_mounts_show(const char *real, const char *path, struct err *err)
{
    struct host_path from;
    struct stat st;
    int rc;
    if (stat(cage_mounts_host(&from, real), &st) != 0 ||
        (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)))
        return 0;
    rc = make_point(path, S_ISDIR(st.st_mode), err);
    if (rc)
        return rc;
    if (mount(from.text, path, NULL, MS_BIND | MS_REC, NULL) != 0)
        return err_set_errno(err, errno, "cage: show %s", path);
    return set_read_only(path, err);
}

static int show_all(const char *const *paths, struct err *err)
{
    int rc = 0;
    for (; *paths && rc == 0; paths++)
        rc = cage_mounts_show(*paths, *paths, err);
    return rc;
}

/* /bin may be a link to usr/bin. */
static int show_system(struct err *err)
{
    int rc = 0;
    for (const char *const *p = cage_system_paths; *p && rc == 0; p++) {
        struct host_path from;
        char to[256];
        ssize_t n = readlink(cage_mounts_host(&from, *p), to, sizeof(to) - 1);
        if (n < 0) {
            rc = cage_mounts_show(*p, *p, err);
            continue;
        }
        to[n] = '\0';
        if (symlink(to, *p) != 0)
            rc = err_set_errno(err, errno, "cage: link %s", *p);
    }
    return rc;
}

static int mount_fresh(const char *path, const char *options, struct err *err)
{
    int rc = make_point(path, true, err);
    if (rc == 0 && mount("tmpfs", path, "tmpfs", BOUND_FLAGS, options) != 0)
        rc = err_set_errno(err, errno, "cage: mount %s", path);
    return rc;
}

/* --- devices, processes, settings ---------------------------------------- */

static int show_devices(struct err *err)
{
    static const char *const links[][2] = {{"/proc/self/fd", "/dev/fd"},
                                           {"/proc/self/fd/0", "/dev/stdin"},
                                           {"/proc/self/fd/1", "/dev/stdout"},
                                           {"/proc/self/fd/2", "/dev/stderr"}};
    int rc = 0;
    for (const char *const *d = devices; *d && rc == 0; d++) {
        struct host_path from;
        rc = make_point(*d, false, err);
        /* Without MS_NODEV, which would close it. */
        if (rc == 0 &&
            mount(cage_mounts_host(&from, *d), *d, NULL, MS_BIND, NULL) != 0 &&
            errno != ENOENT)
            rc = err_set_errno(err, errno, "cage: show %s", *d);
    }
    for (size_t i = 0; i < ARRAY_LEN(links) && rc == 0; i++)
        if (symlink(links[i][0], links[i][1]) != 0)
            rc = err_set_errno(err, errno, "cage: link %s", links[i][1]);
    return rc ? rc : mount_fresh("/dev/shm", SHM_OPTIONS, err);
}

/* A /proc of its own. A container that hides parts of /proc does not let us
 * mount another; programs then have none. */
static int show_processes(struct err *err)
{
    int rc = make_point("/proc", true, err);
    if (rc == 0 &&
        mount("proc", "/proc", "proc", BOUND_FLAGS | MS_NOEXEC | MS_RDONLY,
              "hidepid=2") != 0 &&
        errno != EPERM)
        rc = err_set_errno(err, errno, "cage: mount /proc");
    return rc;
}

static int make_settings(const struct cage_rules *r, struct err *err)
{
    int rc = make_point("/etc", true, err);
    if (rc == 0)
        rc = show_all(cage_settings_paths, err);
    if (rc == 0 && r->network)
        rc = show_all(network_paths, err);
    if (rc == 0)
        rc = make_file("/etc/passwd",
                       "root:x:0:0::/tmp:/bin/false\n"
                       "nobody:x:65534:65534::/tmp:/bin/sh\n",
                       err);
    if (rc == 0)
        rc = make_file("/etc/group", "root:x:0:\nnogroup:x:65534:\n", err);
    return rc;
}

/* --- what the job names -------------------------------------------------- */

static int show_writable(const struct cage_rules *r, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < r->writable_count && rc == 0; i++) {
        const struct cage_path *p = &r->writable[i];
        struct host_path from;
        rc = make_point(p->at, true, err);
        if (rc == 0 && mount(cage_mounts_host(&from, p->real), p->at, NULL,
                             MS_BIND | MS_REC, NULL) != 0)
            rc = err_set_errno(err, errno, "cage: show %s", p->at);
    }
    return rc;
}

static bool is_shown(const struct cage_rules *r, size_t count, const char *path)
{
    for (size_t i = 0; i < count; i++)
        if (is_in(path, r->visible[i].at) &&
            !is_listed(r->visible[i].real, never_shown))
            return true;
    return is_in(path, "/usr");
}

static int show_named(const struct cage_rules *r, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < r->visible_count && rc == 0; i++) {
        const struct cage_path *p = &r->visible[i];
        if (p->at[0] != '/' || is_listed(p->real, never_shown) ||
            is_listed(p->at, never_shown) || is_in(p->real, "/proc") ||
            is_in(p->real, "/dev") || is_in(p->real, "/sys") ||
            is_shown(r, i, p->at))
            continue;
        rc = cage_mounts_show(p->real, p->at, err);
    }
    return rc;
}

/* Hide the paths of the rules inside of that. */
static int hide_named(const struct cage_rules *r, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < r->hidden_count && rc == 0; i++) {
        const char *path = r->hidden[i];
        struct stat st;
        if (path[0] != '/' || stat(path, &st) != 0)
            continue;
        if (S_ISDIR(st.st_mode)) {
            if (mount("tmpfs", path, "tmpfs", BOUND_FLAGS,
                      "mode=0755,size=64k") != 0)
                rc = err_set_errno(err, errno, "cage: hide %s", path);
        } else if (mount("/dev/null", path, NULL, MS_BIND, NULL) != 0) {
            rc = err_set_errno(err, errno, "cage: hide %s", path);
        }
    }
    return rc;
}

/* Make hidden directories read-only that contain directories for visible paths.
 */
static int close_hidden(const struct cage_rules *r, struct err *err)
{
    for (size_t i = 0; i < r->hidden_count; i++) {
        struct stat st;
        if (stat(r->hidden[i], &st) != 0 || !S_ISDIR(st.st_mode))
            continue;
        /* EINVAL: it is inside another hidden one, and is not a mount. */
        if (mount(NULL, r->hidden[i], NULL,
                  MS_REMOUNT | MS_BIND | MS_RDONLY | BOUND_FLAGS, NULL) != 0 &&
            errno != EINVAL)
            return err_set_errno(err, errno, "cage: hide %s", r->hidden[i]);
    }
    return 0;
}

/* --- the tree ------------------------------------------------------------ */

static int cage_mounts_begin(struct err *err)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", "/tmp", "tmpfs", BOUND_FLAGS, ROOT_OPTIONS) != 0 ||
        mkdir("/tmp/old", 0700) != 0 ||
        syscall(SYS_pivot_root, "/tmp", "/tmp/old") != 0 || chdir("/") != 0)
        return err_set_errno(err, errno, "cage: make a root");
    return 0;
}

static int cage_mounts_end(struct err *err)
{
    if (umount2("/old", MNT_DETACH) != 0 || rmdir("/old") != 0 ||
        mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | BOUND_FLAGS,
              NULL) != 0)
        return err_set_errno(err, errno, "cage: leave the host's files");
    return 0;
}

int cage_mount(const struct cage_rules *rules, struct err *err)
{
    char scratch[64];
    int rc = cage_mounts_begin(err);
    snprintf(scratch, sizeof(scratch), "mode=1777,size=%llu",
             (unsigned long long)rules->scratch_bytes);
    if (rc == 0)
        rc = show_system(err);
    if (rc == 0)
        rc = make_settings(rules, err);
    if (rc == 0)
        rc = show_devices(err);
    if (rc == 0)
        rc = show_processes(err);
    if (rc == 0)
        rc = mount_fresh(CAGE_SCRATCH, scratch, err);
    if (rc == 0)
        rc = make_parents("/var/tmp", err);
    if (rc == 0 && symlink(CAGE_SCRATCH, "/var/tmp") != 0)
        rc = err_set_errno(err, errno, "cage: link /var/tmp");
    if (rc == 0)
        rc = show_named(rules, err);
    if (rc == 0)
        rc = hide_named(rules, err);
    if (rc == 0)
        rc = show_writable(rules, err);
    if (rc == 0)
        rc = close_hidden(rules, err);
    return rc ? rc : cage_mounts_end(err);
}
