/* Output files: a regular file appears under its name when it is complete;
 * pipes and devices are written in place.
 */
#define _GNU_SOURCE /* fopencookie() */

#include "cli/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/panic.h"
#include "base/runtime/world_mount.h"
#include "cli/remote_fs.h"
#include "gfs-lite/fs.h"
#include "gfs-lite/objects.h"

/* Where @path leads, into @f->target; *@there: it exists, and is as @st says.
 */
static int find_target(struct output_file *f,
                       const char *path,
                       struct stat *st,
                       bool *there,
                       struct err *err)
{
    char *real;
    PRE(f->target.len == 0);
    *there = stat(path, st) == 0;
    if (!*there && errno != ENOENT)
        return err_set_errno(err, errno, "%s", path);
    if (!*there) {
        if (lstat(path, st) == 0) {
            err_set(err, ERR_INVALID, "%s: a symbolic link to nothing", path);
            err_hint(err, "remove the link, or make what it leads to");
            return ERR_INVALID;
        }
        buf_append_str(&f->target, path);
        return ERR_OK;
    }
    if (S_ISDIR(st->st_mode))
        return err_set(err, ERR_INVALID, "%s: a directory", path);
    real = realpath(path, NULL);
    if (!real)
        return err_set_errno(err, errno, "%s", path);
    buf_append_str(&f->target, real);
    free(real);
    return ERR_OK;
}

/* A new file takes the mode of the one that it replaces, and its owner where
 * that is allowed; nobody may read it before who could not read that. */
static int
open_partial(struct output_file *f, const struct stat *old, struct err *err)
{
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int fd;
    PRE(f->partial.len == 0);
    buf_printf(&f->partial, "%s.partial", buf_cstr(&f->target));
    (void)unlink(buf_cstr(&f->partial));
    fd = open(buf_cstr(&f->partial), flags, old ? 0600 : 0666);
    if (fd >= 0 && old) {
        if (fchown(fd, old->st_uid, old->st_gid) != 0)
            errno = 0;
        if (fchmod(fd, old->st_mode & 07777) != 0)
            errno = 0;
    }
    if (fd < 0)
        return err_set_errno(err, errno, "%s", f->path);
    f->out = fdopen(fd, "wb");
    if (f->out)
        return ERR_OK;
    close(fd);
    (void)unlink(buf_cstr(&f->partial));
    return err_set_errno(err, errno, "%s", f->path);
}

static int open_in_place(struct output_file *f, struct err *err)
{
    int fd = open(buf_cstr(&f->target), O_WRONLY | O_NOCTTY | O_CLOEXEC);
    PRE(f->path);
    f->out = fd >= 0 ? fdopen(fd, "wb") : NULL;
    if (f->out)
        return ERR_OK;
    if (fd >= 0)
        close(fd);
    return err_set_errno(err, errno, "%s", f->path);
}

/* --- names of other systems ---------------------------------------------- */

struct remote_output {
    struct fs *fs; /* Owned. */
    struct fs_writer *writer;
    struct err err; /* The first failure. */
    int code;
};

static ssize_t remote_output_write(void *ctx, const char *data, size_t len)
{
    struct remote_output *r = ctx;
    if (r->code == 0)
        r->code = fs_writer_append(r->writer, data, len, &r->err);
    if (r->code == 0)
        return (ssize_t)len;
    errno = EIO;
    return 0;
}

static void remote_output_free(struct output_file *f)
{
    fs_writer_close(f->remote->writer);
    fs_close(f->remote->fs);
    mem_free(f->remote);
    f->remote = NULL;
}

/* @code, the outcome of writing, with what the file system said. */
static int remote_output_end(struct output_file *f, int code, struct err *err)
{
    struct remote_output *r = f->remote;
    /* A file that was not synced is dropped. */
    if (fclose(f->out) != 0 && !code && !r->code)
        code = err_set(err, ERR_IO, "%s: it could not be written", f->path);
    if (r->code)
        code = err_copy(err, &r->err);
    if (!code)
        code = fs_writer_sync(r->writer, err);
    remote_output_free(f);
    return code;
}

int output_file_open_in(struct output_file *f,
                        struct world *world,
                        const char *path,
                        struct err *err)
{
    static const cookie_io_functions_t io = {.write = remote_output_write};
    const struct fs_write_options opts = {.mode = FS_WRITE_STREAM};
    struct buf root = BUF_INIT;
    int rc;
    if (!path || !world_is_mounted(world, path))
        return output_file_open(f, path, err);
    *f = (struct output_file){.path = path};
    f->remote = mem_zalloc(1, sizeof(*f->remote));
    err_init(&f->remote->err);
    rc = remote_fs_open(world, path, &f->remote->fs, &root, err);
    if (rc == 0)
        rc = fs_create(f->remote->fs, fs_remote_path(path), &opts,
                       &f->remote->writer, err);
    if (rc == 0) {
        f->out = fopencookie(f->remote, "wb", io);
        INVARIANT(f->out);
    } else {
        remote_output_free(f);
    }
    buf_close(&root);
    return rc;
}

int output_file_open(struct output_file *f, const char *path, struct err *err)
{
    struct stat st;
    bool there;
    int rc;
    *f = (struct output_file){.out = stdout, .path = path};
    if (!path)
        return ERR_OK;
    rc = find_target(f, path, &st, &there, err);
    if (!rc && there && !S_ISREG(st.st_mode))
        rc = open_in_place(f, err);
    else if (!rc)
        rc = open_partial(f, there ? &st : NULL, err);
    if (rc) {
        buf_close(&f->target);
        buf_close(&f->partial);
    }
    return rc;
}

int output_file_close(struct output_file *f, int code, struct err *err)
{
    bool whole = f->partial.len > 0;
    bool written;
    if (!f->path)
        return code;
    PRE(f->out);
    if (f->remote)
        return remote_output_end(f, code, err);
    written = fflush(f->out) == 0 && (!whole || fsync(fileno(f->out)) == 0);
    if (!code && !written)
        code = err_set_errno(err, errno, "%s", f->path);
    if (fclose(f->out) != 0 && !code)
        code = err_set_errno(err, errno, "%s", f->path);
    if (!code && whole &&
        rename(buf_cstr(&f->partial), buf_cstr(&f->target)) != 0)
        code = err_set_errno(err, errno, "%s", f->path);
    if (code && whole)
        (void)unlink(buf_cstr(&f->partial));
    buf_close(&f->target);
    buf_close(&f->partial);
    return code;
}
