/* Directories and names of the real world. Every call may wait for a disk,
 * so each runs on the thread pool when a fiber makes it; one struct
 * describes all of them. */
#define _GNU_SOURCE

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/runtime/fiber_loop.h"
#include "base/runtime/world_uv.h"

/* The mode of a directory for its owner alone, and the bits it must not
 * have. */
#define PRIVATE_DIR 0700
#define OTHERS_MODE 077

/* One call for the thread pool; which fields count depends on it. */
struct name_call {
    const char *path;
    const char *to;
    mode_t mode;
    struct stat st;
    struct statvfs space;
    struct name_list names;
    int errnum; /* 0 or what went wrong. */
};

static int world_uv_names_outcome(int rc)
{
    return rc < 0 ? errno : 0;
}

static void do_rename(void *arg)
{
    struct name_call *c = arg;
    c->errnum = world_uv_names_outcome(rename(c->path, c->to));
}

int real_rename(struct world *w,
                const char *from,
                const char *to,
                struct err *err)
{
    struct name_call c = {.path = from, .to = to};
    (void)w;
    offload(do_rename, &c);
    return c.errnum ? err_set_errno(err, c.errnum, "rename %s to %s", from, to)
                    : 0;
}

static void do_unlink(void *arg)
{
    struct name_call *c = arg;
    c->errnum = world_uv_names_outcome(unlink(c->path));
}

int real_remove(struct world *w, const char *path, struct err *err)
{
    struct name_call c = {.path = path};
    (void)w;
    offload(do_unlink, &c);
    return c.errnum ? err_set_errno(err, c.errnum, "remove %s", path) : 0;
}

static void do_mkdir(void *arg)
{
    struct name_call *c = arg;
    c->errnum = world_uv_names_outcome(mkdir(c->path, c->mode));
}

static int make_dir(const char *path, mode_t mode, struct err *err)
{
    struct name_call c = {.path = path, .mode = mode};
    offload(do_mkdir, &c);
    return c.errnum ? err_set_errno(err, c.errnum, "make directory %s", path)
                    : 0;
}

int real_mkdir(struct world *w, const char *path, struct err *err)
{
    (void)w;
    return make_dir(path, PRIVATE_DIR, err);
}

int real_mkdir_shared(struct world *w, const char *path, struct err *err)
{
    (void)w;
    return make_dir(path, 0777, err);
}

static void do_make_private(void *arg)
{
    struct name_call *c = arg;
    c->errnum = world_uv_names_outcome(stat(c->path, &c->st));
    if (c->errnum == 0 && (c->st.st_mode & OTHERS_MODE))
        c->errnum =
            world_uv_names_outcome(chmod(c->path, c->st.st_mode & PRIVATE_DIR));
}

int real_make_private(struct world *w, const char *path, struct err *err)
{
    struct name_call c = {.path = path};
    (void)w;
    offload(do_make_private, &c);
    if (c.errnum == 0)
        return 0;
    if (c.errnum != EPERM && c.errnum != EROFS && c.errnum != EACCES)
        return err_set_errno(err, c.errnum, "%s", path);
    err_set(err, ERR_DENIED,
            "%s is another user's, and others may look into it (mode %04o)",
            path, (unsigned)c.st.st_mode & 07777);
    err_hint(err, "have its owner chmod 700 it, or use a directory below it");
    return ERR_DENIED;
}

static void do_mkdir_private(void *arg)
{
    struct name_call *c = arg;
    c->errnum = world_uv_names_outcome(mkdir(c->path, 0700));
}

int real_mkdir_private(struct world *w, const char *path, struct err *err)
{
    struct name_call c = {.path = path};
    (void)w;
    offload(do_mkdir_private, &c);
    return c.errnum ? err_set_errno(err, c.errnum, "make directory %s", path)
                    : 0;
}

static void do_rmdir(void *arg)
{
    struct name_call *c = arg;
    c->errnum = world_uv_names_outcome(rmdir(c->path));
}

int real_rmdir(struct world *w, const char *path, struct err *err)
{
    struct name_call c = {.path = path};
    (void)w;
    offload(do_rmdir, &c);
    return c.errnum ? err_set_errno(err, c.errnum, "remove directory %s", path)
                    : 0;
}

static void do_stat(void *arg)
{
    struct name_call *c = arg;
    c->errnum = world_uv_names_outcome(stat(c->path, &c->st));
}

static enum file_kind kind_of(mode_t mode)
{
    if (S_ISREG(mode))
        return FILE_KIND_REGULAR;
    return S_ISDIR(mode) ? FILE_KIND_DIRECTORY : FILE_KIND_OTHER;
}

int real_stat(struct world *w,
              const char *path,
              struct file_info *info,
              struct err *err)
{
    struct name_call c = {.path = path};
    (void)w;
    offload(do_stat, &c);
    if (c.errnum)
        return err_set_errno(err, c.errnum, "%s", path);
    info->kind = kind_of(c.st.st_mode);
    info->size_bytes = (uint64_t)c.st.st_size;
    info->mode = (unsigned)c.st.st_mode & 07777;
    info->is_roots = c.st.st_uid == 0 && geteuid() != 0;
    info->modified_us = (uint64_t)c.st.st_mtim.tv_sec * 1000000 +
                        (uint64_t)c.st.st_mtim.tv_nsec / 1000;
    return 0;
}

static void do_sync_dir(void *arg)
{
    struct name_call *c = arg;
    int fd = open(c->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        c->errnum = errno;
        return;
    }
    c->errnum = world_uv_names_outcome(fsync(fd));
    /* Some file systems have no such operation, and need none. */
    if (c->errnum == EINVAL)
        c->errnum = 0;
    close(fd);
}

int real_sync_dir(struct world *w, const char *path, struct err *err)
{
    struct name_call c = {.path = path};
    (void)w;
    offload(do_sync_dir, &c);
    return c.errnum ? err_set_errno(err, c.errnum, "sync directory %s", path)
                    : 0;
}

static void do_space(void *arg)
{
    struct name_call *c = arg;
    c->errnum = world_uv_names_outcome(statvfs(c->path, &c->space));
}

int real_space(struct world *w,
               const char *path,
               uint64_t *capacity_bytes,
               uint64_t *free_bytes,
               struct err *err)
{
    struct name_call c = {.path = path};
    (void)w;
    offload(do_space, &c);
    if (c.errnum)
        return err_set_errno(err, c.errnum, "space on %s", path);
    *capacity_bytes = (uint64_t)c.space.f_blocks * c.space.f_frsize;
    *free_bytes = (uint64_t)c.space.f_bavail * c.space.f_frsize;
    return 0;
}

static void do_list(void *arg)
{
    struct name_call *c = arg;
    struct dirent *e;
    DIR *d = opendir(c->path);
    if (!d) {
        c->errnum = errno;
        return;
    }
    do {
        errno = 0; /* Only errno tells the end from an error. */
        e = readdir(d);
        if (e && strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            name_list_add(&c->names, e->d_name);
    } while (e);
    c->errnum = errno;
    closedir(d);
}

int real_list(struct world *w,
              const char *path,
              char ***names,
              size_t *count,
              struct err *err)
{
    struct name_call c = {.path = path};
    (void)w;
    offload(do_list, &c);
    if (c.errnum) {
        world_names_free(c.names.names, c.names.count);
        return err_set_errno(err, c.errnum, "list %s", path);
    }
    *names = c.names.names;
    *count = c.names.count;
    return 0;
}
