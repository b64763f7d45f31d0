/* The operations of a world on files whose names say which file system has
 * them. A file system is opened when the first name of it is used, and stays
 * open; those of a process that was forked off are opened again, because
 * threads and connections of the parent are not the child's.
 */
#define _POSIX_C_SOURCE 200809L

#include "gfs-lite/remote_world.h"

#include <string.h>
#include <unistd.h>

#include "base/core/ignore_result.h"
#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "base/runtime/world_ops.h"
#include "gfs-lite/fs.h"
#include "gfs-lite/objects.h"

struct remote_root {
    struct remote_root *next;
    char *name;    /* Of the first file; owned. */
    struct fs *fs; /* Owned. */
    pid_t process; /* That opened it. */
};

struct remote_world {
    struct world base;
    struct world *real; /* Borrowed. */
    const char *(*variable)(const char *name);
    struct mutex lock; /* Of the rest. */
    struct remote_root *roots;
};

struct remote_file {
    struct file base;
    struct fs_reader *reader; /* One of the two. */
    struct fs_writer *writer;
    bool synced; /* Of a writer: all of it. */
};

static struct remote_world *remote_world_of(struct world *w)
{
    return (struct remote_world *)w;
}

/* --- file systems -------------------------------------------------------- */

/* The one that has @name, borrowed, and *@path in it. */
static int remote_root_find(struct world *base,
                            const char *name,
                            struct fs **fs,
                            const char **path,
                            struct err *err)
{
    struct remote_world *w = remote_world_of(base);
    struct remote_root *r;
    char *root = NULL;
    int rc = 0;
    mutex_lock(&w->lock);
    for (r = w->roots; r; r = r->next)
        if (r->process == getpid() && fs_remote_is_same(r->name, name))
            break;
    if (!r) {
        r = mem_zalloc(1, sizeof(*r));
        rc = fs_remote_open(w->real, name, w->variable, &r->fs, &root, err);
        mem_free(root);
        if (rc) {
            mem_free(r);
            mutex_unlock(&w->lock);
            return rc;
        }
        r->name = mem_strdup(name);
        r->process = getpid();
        r->next = w->roots;
        w->roots = r;
    }
    mutex_unlock(&w->lock);
    *fs = r->fs;
    *path = fs_remote_path(name);
    return 0;
}

/* --- files --------------------------------------------------------------- */

static int remote_open_writer(struct fs *fs,
                              const char *path,
                              unsigned flags,
                              struct remote_file *f,
                              struct err *err)
{
    const struct fs_write_options opts = {.mode = FS_WRITE_STREAM,
                                          .exclusive = flags & FILE_EXCLUSIVE};
    struct fs_info info;
    if (!(flags & FILE_CREATE)) {
        int rc = fs_stat(fs, path, &info, err);
        if (rc)
            return rc;
    }
    return fs_create(fs, path, &opts, &f->writer, err);
}

static int remote_file_open(struct world *w,
                            const char *name,
                            unsigned flags,
                            struct file **out,
                            struct err *err)
{
    struct remote_file *f = mem_zalloc(1, sizeof(*f));
    const char *path = NULL;
    struct fs *fs = NULL;
    int rc = remote_root_find(w, name, &fs, &path, err);
    if (rc == 0)
        rc = flags & FILE_WRITE ? remote_open_writer(fs, path, flags, f, err)
                                : fs_open(fs, path, &f->reader, err);
    if (rc) {
        mem_free(f);
        return rc;
    }
    f->base.world = w;
    *out = &f->base;
    return 0;
}

static int remote_refuse(const char *what, struct err *err)
{
    return err_set(err, ERR_UNSUPPORTED,
                   "a file of a bucket or a web server cannot be %s", what);
}

static int remote_read_at(struct file *base,
                          uint64_t offset,
                          void *dst,
                          size_t len,
                          size_t *got,
                          struct err *err)
{
    struct remote_file *f = (struct remote_file *)base;
    *got = 0;
    if (!f->reader)
        return remote_refuse("read while it is written", err);
    return fs_read_at(f->reader, offset, dst, len, got, err);
}

static int remote_write_at(struct file *base,
                           uint64_t offset,
                           const struct slice *parts,
                           size_t part_count,
                           struct err *err)
{
    struct remote_file *f = (struct remote_file *)base;
    int rc = 0;
    if (!f->writer || offset != fs_writer_offset(f->writer) || f->synced)
        return remote_refuse("written but at its end, until it is synced", err);
    for (size_t i = 0; i < part_count && rc == 0; i++)
        rc = fs_writer_append(f->writer, parts[i].data, parts[i].len, err);
    return rc;
}

static int remote_file_sync(struct file *base, struct err *err)
{
    struct remote_file *f = (struct remote_file *)base;
    int rc = f->writer && !f->synced ? fs_writer_sync(f->writer, err) : 0;
    f->synced |= rc == 0;
    return rc;
}

static int remote_file_size(struct file *base, uint64_t *bytes, struct err *err)
{
    struct remote_file *f = (struct remote_file *)base;
    (void)err;
    *bytes =
        f->reader ? fs_reader_size(f->reader) : fs_writer_offset(f->writer);
    return 0;
}

static int
remote_file_truncate(struct file *base, uint64_t bytes, struct err *err)
{
    uint64_t now = 0;
    int rc = remote_file_size(base, &now, err);
    return rc || now == bytes ? rc : remote_refuse("cut or extended", err);
}

static void remote_file_allocate(struct file *base, uint64_t bytes)
{
    (void)base;
    (void)bytes;
}

static void remote_file_advise(struct file *base,
                               uint64_t offset,
                               uint64_t len,
                               enum file_advice advice)
{
    (void)base;
    (void)offset;
    (void)len;
    (void)advice; /* Readers from front to back are known as such. */
}

static void remote_file_close(struct file *base)
{
    struct remote_file *f = (struct remote_file *)base;
    /* Other files keep what was written to them: so does this one. */
    if (f->writer) {
        /* There is no file: who looks for it learns that. */
        IGNORE_RESULT(remote_file_sync(base, NULL));
    }
    fs_reader_close(f->reader);
    fs_writer_close(f->writer);
    mem_free(f);
}

/* --- names --------------------------------------------------------------- */

static int remote_rename(struct world *w,
                         const char *from,
                         const char *to,
                         struct err *err)
{
    const char *a = NULL;
    const char *b = NULL;
    struct fs *fs = NULL;
    struct fs *other = NULL;
    int rc = remote_root_find(w, from, &fs, &a, err);
    if (rc == 0)
        rc = remote_root_find(w, to, &other, &b, err);
    if (rc == 0 && fs != other)
        rc = err_set(err, ERR_UNSUPPORTED,
                     "%s cannot become %s: they are of different buckets", from,
                     to);
    return rc ? rc : fs_rename(fs, a, b, err);
}

static int remote_remove(struct world *w, const char *name, struct err *err)
{
    const char *path = NULL;
    struct fs *fs = NULL;
    int rc = remote_root_find(w, name, &fs, &path, err);
    return rc ? rc : fs_remove(fs, path, err);
}

/* Directories are parts of names. */
static int
remote_no_directory(struct world *w, const char *name, struct err *err)
{
    (void)w;
    (void)name;
    (void)err;
    return 0;
}

static int remote_stat(struct world *w,
                       const char *name,
                       struct file_info *info,
                       struct err *err)
{
    struct fs_info found = {.is_directory = true};
    const char *path = NULL;
    struct fs *fs = NULL;
    int rc = remote_root_find(w, name, &fs, &path, err);
    if (rc == 0 && *path)
        rc = fs_stat(fs, path, &found, err);
    if (rc == 0)
        *info =
            (struct file_info){.kind = found.is_directory ? FILE_KIND_DIRECTORY
                                                          : FILE_KIND_REGULAR,
                               .size_bytes = found.size_bytes,
                               .modified_us = found.modified_us,
                               .mode = 0600};
    return rc;
}

static int remote_space(struct world *w,
                        const char *name,
                        uint64_t *capacity_bytes,
                        uint64_t *free_bytes,
                        struct err *err)
{
    (void)w;
    (void)err;
    (void)name;
    *capacity_bytes = *free_bytes = UINT64_MAX / 2;
    return 0;
}

static int remote_list(struct world *w,
                       const char *name,
                       char ***names,
                       size_t *count,
                       struct err *err)
{
    const char *path = NULL;
    struct fs *fs = NULL;
    int rc = remote_root_find(w, name, &fs, &path, err);
    return rc ? rc : fs_list(fs, path, names, count, err);
}

static int remote_lock(struct world *w,
                       const char *name,
                       struct file_lock **out,
                       struct err *err)
{
    (void)w;
    *out = NULL;
    return err_set(err, ERR_UNSUPPORTED, "%s: there are no locks there", name);
}

static const struct world_ops remote_ops = {
    .file_open = remote_file_open,
    .file_read_at = remote_read_at,
    .file_write_at = remote_write_at,
    .file_sync = remote_file_sync,
    .file_size = remote_file_size,
    .file_truncate = remote_file_truncate,
    .file_allocate = remote_file_allocate,
    .file_advise = remote_file_advise,
    .file_close = remote_file_close,
    .rename = remote_rename,
    .remove = remote_remove,
    .mkdir = remote_no_directory,
    .rmdir = remote_no_directory,
    .stat = remote_stat,
    .sync_dir = remote_no_directory,
    .space = remote_space,
    .list = remote_list,
    .lock = remote_lock,
};

struct world *remote_world_new(struct world *w,
                               const char *(*variable)(const char *name))
{
    struct remote_world *r = mem_zalloc(1, sizeof(*r));
    r->base.ops = &remote_ops;
    r->real = w;
    r->variable = variable;
    mutex_init(&r->lock);
    return &r->base;
}

void remote_world_free(struct world *base)
{
    struct remote_world *w = remote_world_of(base);
    if (!w)
        return;
    while (w->roots) {
        struct remote_root *r = w->roots;
        w->roots = r->next;
        /* A parent's are left: their threads are not here. */
        if (r->process == getpid())
            fs_close(r->fs);
        mem_free(r->name);
        mem_free(r);
    }
    mutex_close(&w->lock);
    mem_free(w);
}
