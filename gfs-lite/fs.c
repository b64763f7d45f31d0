/* The functions of fs.h: most call the implementation's, after the checks and
 * defaults that all of them share; some are made of others, as fs_replace() and
 * fs_read_all().
 */
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/crypt/keyring.h"
#include "base/runtime/world.h"
#include "gfs-lite/fs_ops.h"

/* Held for a moment by who publishes in a directory. */
#define PUBLISH_LOCK    ".publishing"
#define PUBLISH_TRIES   100
#define PUBLISH_WAIT_US 100000

bool fs__path_is_valid(const char *path)
{
    const char *p = path;

    if (strlen(path) > FS_PATH_BYTES_MAX || path[0] == '/')
        return false;
    while (p) {
        if (p[0] == '.' && p[1] == '.' && (p[2] == '/' || p[2] == '\0'))
            return false;
        p = strchr(p, '/');
        if (p)
            p++;
    }
    return true;
}

void fs_close(struct fs *fs)
{
    struct keyring *k;

    if (!fs)
        return;
    k = fs->keyring;
    fs->keyring = NULL;
    keyring_unref(k); /* First: it may read its KEYS by this file system. */
    fs->ops->close(fs);
}

void fs_hurry(struct fs *fs)
{
    if (fs->ops->hurry)
        fs->ops->hurry(fs);
}

struct world *fs_world(struct fs *fs)
{
    return fs->world;
}

/* --- writing ------------------------------------------------------------- */

int fs_create(struct fs *fs,
              const char *path,
              const struct fs_write_options *opts,
              struct fs_writer **out,
              struct err *err)
{
    *out = NULL;
    return fs->ops->create(fs, path, opts, out, err);
}

int fs_writer_append(struct fs_writer *w,
                     const void *data,
                     size_t len,
                     struct err *err)
{
    return w->fs->ops->append(w, data, len, err);
}

int fs_writer_flush(struct fs_writer *w, struct err *err)
{
    return w->fs->ops->flush(w, err);
}

int fs_writer_sync(struct fs_writer *w, struct err *err)
{
    return w->fs->ops->sync(w, err);
}

int fs_writer_append_sync(struct fs_writer *w,
                          const void *data,
                          size_t len,
                          struct err *err)
{
    int rc;

    if (w->fs->ops->append_sync)
        return w->fs->ops->append_sync(w, data, len, err);
    rc = fs_writer_append(w, data, len, err);
    return rc ? rc : fs_writer_sync(w, err);
}

uint64_t fs_writer_offset(const struct fs_writer *w)
{
    return w->offset;
}

void fs_writer_close(struct fs_writer *w)
{
    if (w)
        w->fs->ops->writer_close(w);
}

int fs_recover(struct fs *fs,
               const char *path,
               uint64_t *length,
               struct err *err)
{
    *length = 0;
    return fs->ops->recover(fs, path, length, err);
}

/* The directory that has @path. Owned. */
static char *parent_of_path(const char *path)
{
    const char *slash = strrchr(path, '/');
    return mem_strndup(path, slash ? (size_t)(slash - path) : 0);
}

int fs_replace(struct fs *fs,
               const char *path,
               struct slice contents,
               struct err *err)
{
    struct fs_write_options opts = {.mode = FS_WRITE_LOG};
    struct buf beside = BUF_INIT;
    struct fs_writer *w;
    int rc;

    if (fs->ops->replace)
        return fs->ops->replace(fs, path, contents, err);
    buf_printf(&beside, "%s.new", path);
    rc = fs_create(fs, buf_cstr(&beside), &opts, &w, err);
    if (!rc) {
        rc = fs_writer_append_sync(w, contents.data, contents.len, err);
        fs_writer_close(w);
    }
    if (!rc)
        rc = fs_rename(fs, buf_cstr(&beside), path, err);
    if (!rc) {
        char *parent = parent_of_path(path);
        rc = fs_sync_dir(fs, parent, err);
        mem_free(parent);
    }
    buf_close(&beside);
    return rc;
}

bool fs_writes_whole(const struct fs *fs)
{
    return fs->ops->writes_whole;
}

static int publish_locked(struct fs *fs,
                          const char *path,
                          struct slice contents,
                          struct err *err)
{
    struct fs_info info;
    int rc = fs_stat(fs, path, &info, err);
    if (rc == 0)
        return err_set(err, ERR_EXISTS, "%s exists already", path);
    return rc == ERR_NOTFOUND ? fs_replace(fs, path, contents, err) : rc;
}

int fs_publish(struct fs *fs,
               const char *path,
               struct slice contents,
               struct err *err)
{
    struct buf lock_path = BUF_INIT;
    struct fs_lock *lock = NULL;
    char *parent;
    int rc;
    if (fs->ops->publish)
        return fs->ops->publish(fs, path, contents, err);
    parent = parent_of_path(path);
    buf_printf(&lock_path, "%s%s" PUBLISH_LOCK, parent, *parent ? "/" : "");
    rc = fs_mkdirs(fs, parent, err);
    for (unsigned i = 0; rc == 0 && !lock; i++) {
        rc = fs_lock(fs, buf_cstr(&lock_path), &lock, err);
        if (rc == ERR_BUSY && i < PUBLISH_TRIES) {
            world_sleep_us(fs->world, PUBLISH_WAIT_US);
            rc = 0;
        }
    }
    if (rc == 0)
        rc = publish_locked(fs, path, contents, err);
    fs_unlock(lock);
    mem_free(parent);
    buf_close(&lock_path);
    return rc;
}

/* --- reading ------------------------------------------------------------- */

int fs_open(struct fs *fs,
            const char *path,
            struct fs_reader **out,
            struct err *err)
{
    *out = NULL;
    return fs->ops->open(fs, path, out, err);
}

uint64_t fs_reader_size(const struct fs_reader *r)
{
    return r->size_bytes;
}

int fs_read_at(struct fs_reader *r,
               uint64_t offset,
               void *dst,
               size_t len,
               size_t *got,
               struct err *err)
{
    return r->fs->ops->read_at(r, offset, dst, len, got, err);
}

int fs_read_once_at(struct fs_reader *r,
                    uint64_t offset,
                    void *dst,
                    size_t len,
                    size_t *got,
                    struct err *err)
{
    PRE(offset % FILE_DIRECT_ALIGN == 0);
    PRE(len % FILE_DIRECT_ALIGN == 0);
    PRE((uintptr_t)dst % FILE_DIRECT_ALIGN == 0);
    return r->fs->ops->read_once_at(r, offset, dst, len, got, err);
}

int fs_read_scan_at(struct fs_reader *r,
                    uint64_t offset,
                    void *dst,
                    size_t len,
                    size_t *got,
                    struct err *err)
{
    PRE(offset % FILE_DIRECT_ALIGN == 0);
    PRE(len % FILE_DIRECT_ALIGN == 0);
    PRE((uintptr_t)dst % FILE_DIRECT_ALIGN == 0);
    if (r->fs->ops->read_scan_at)
        return r->fs->ops->read_scan_at(r, offset, dst, len, got, err);
    fs_prefetch(r, offset + len, len);
    return fs_read_at(r, offset, dst, len, got, err);
}

enum fs_place fs_read_place(struct fs_reader *r, uint64_t offset, uint64_t len)
{
    uint64_t size = r->size_bytes;
    len = offset < size ? MIN_OF(len, size - offset) : 0;
    if (len == 0 || !r->fs->ops->read_place)
        return FS_PLACE_DISK;
    return r->fs->ops->read_place(r, offset, len);
}

void fs_prefetch(struct fs_reader *r, uint64_t offset, uint64_t len)
{
    r->fs->ops->prefetch(r, offset, len);
}

void fs_reader_close(struct fs_reader *r)
{
    if (r)
        r->fs->ops->reader_close(r);
}

int fs_read_all(struct fs *fs,
                const char *path,
                size_t bytes_max,
                struct buf *out,
                struct err *err)
{
    struct fs_reader *r;
    size_t before = out->len;
    size_t got = 0;
    int rc = fs_open(fs, path, &r, err);

    if (rc)
        return rc;
    if (r->size_bytes > bytes_max) {
        rc = err_set(err, ERR_TOOBIG, "%s: %llu bytes, at most %zu expected",
                     path, (unsigned long long)r->size_bytes, bytes_max);
    } else {
        char *p = buf_extend(out, (size_t)r->size_bytes);
        rc = fs_read_at(r, 0, p, (size_t)r->size_bytes, &got, err);
        buf_truncate(out, before + (rc ? 0 : got));
    }
    fs_reader_close(r);
    return rc;
}

size_t fs_locality(struct fs_reader *r,
                   uint64_t offset,
                   uint64_t len,
                   const char **machines,
                   size_t machines_max)
{
    return r->fs->ops->locality(r, offset, len, machines, machines_max);
}

/* --- names --------------------------------------------------------------- */

int fs_rename(struct fs *fs, const char *from, const char *to, struct err *err)
{
    return fs->ops->rename(fs, from, to, err);
}

int fs_remove(struct fs *fs, const char *path, struct err *err)
{
    return fs->ops->remove(fs, path, err);
}

int fs_mkdirs(struct fs *fs, const char *path, struct err *err)
{
    return fs->ops->mkdirs(fs, path, err);
}

int fs_remove_tree(struct fs *fs, const char *path, struct err *err)
{
    return fs->ops->remove_tree(fs, path, err);
}

int fs_stat(struct fs *fs,
            const char *path,
            struct fs_info *info,
            struct err *err)
{
    return fs->ops->stat(fs, path, info, err);
}

int fs_sync_dir(struct fs *fs, const char *path, struct err *err)
{
    return fs->ops->sync_dir(fs, path, err);
}

int fs_list(struct fs *fs,
            const char *path,
            char ***names,
            size_t *count,
            struct err *err)
{
    *names = NULL;
    *count = 0;
    return fs->ops->list(fs, path, names, count, err);
}

void fs_names_free(char **names, size_t count)
{
    world_names_free(names, count);
}

int fs_each(struct fs *fs,
            const char *path,
            fs_each_fn visit,
            void *ctx,
            struct err *err)
{
    struct buf full = BUF_INIT;
    struct fs_info info;
    char **names;
    size_t count;
    int rc;

    if (fs->ops->each)
        return fs->ops->each(fs, path, visit, ctx, err);
    rc = fs_list(fs, path, &names, &count, err);
    for (size_t i = 0; i < count && rc == 0; i++) {
        buf_clear(&full);
        buf_printf(&full, "%s%s%s", path, *path ? "/" : "", names[i]);
        rc = fs_stat(fs, buf_cstr(&full), &info, err);
        if (rc == ERR_NOTFOUND)
            rc = 0; /* It went meanwhile. */
        else if (rc == 0)
            rc = visit(ctx, names[i], &info, err);
    }
    fs_names_free(names, count);
    buf_close(&full);
    return rc;
}

int fs_lock(struct fs *fs,
            const char *path,
            struct fs_lock **out,
            struct err *err)
{
    *out = NULL;
    return fs->ops->lock(fs, path, out, err);
}

void fs_unlock(struct fs_lock *l)
{
    if (l)
        l->fs->ops->unlock(l);
}

uint64_t fs_last_write_us(struct fs *fs, const char *path)
{
    struct fs_info info;
    char **names = NULL;
    size_t count = 0;
    uint64_t us = UINT64_MAX;
    if (fs_stat(fs, path, &info, NULL) ||
        fs_list(fs, path, &names, &count, NULL))
        return us;
    us = info.modified_us;
    for (size_t i = 0; i < count; i++) {
        char file[FS_PATH_BYTES_MAX];
        snprintf(file, sizeof(file), "%s/%s", path, names[i]);
        if (fs_stat(fs, file, &info, NULL) == 0)
            us = MAX_OF(us, info.modified_us);
    }
    fs_names_free(names, count);
    return us;
}
