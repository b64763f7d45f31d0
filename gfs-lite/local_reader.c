/* Reading files: through the page cache, or past it for bytes that are read
 * once (a compaction's input), whose pages would only be allocated to be thrown
 * away.
 */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "gfs-lite/local.h"

struct fs_reader {
    struct fs *fs;
    struct file *file;
    char *full_path; /* Owned: to open `direct`. */
    uint64_t size_bytes;
    struct mutex mutex;          /* Of the opening of `direct`. */
    struct file *_Atomic direct; /* NULL until first used. */
};

int fs_open(struct fs *fs,
            const char *path,
            struct fs_reader **out,
            struct err *err)
{
    struct fs_reader *r = mem_zalloc(1, sizeof(*r));
    int rc;

    *out = NULL;
    r->fs = fs;
    rc = local_path(fs, path, &r->full_path, err);
    if (!rc)
        rc = file_open(fs->world, r->full_path, FILE_READ, &r->file, err);
    if (!rc)
        rc = file_size(r->file, &r->size_bytes, err);
    if (rc) {
        file_close(r->file);
        mem_free(r->full_path);
        mem_free(r);
        return rc;
    }
    mutex_init(&r->mutex);
    *out = r;
    return 0;
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
    return file_read_at(r->file, offset, dst, len, got, err);
}

static struct file *direct_file(struct fs_reader *r)
{
    struct file *f = atomic_load(&r->direct);

    if (f)
        return f;
    mutex_lock(&r->mutex);
    f = atomic_load(&r->direct);
    if (!f) {
        if (file_open(r->fs->world, r->full_path, FILE_READ | FILE_DIRECT, &f,
                      NULL))
            f = r->file; /* It may be removed by now, but is still open. */
        atomic_store(&r->direct, f);
    }
    mutex_unlock(&r->mutex);
    return f;
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
    return file_read_at(direct_file(r), offset, dst, len, got, err);
}

void fs_prefetch(struct fs_reader *r, uint64_t offset, uint64_t len)
{
    file_advise(r->file, offset, len, FILE_WILL_NEED);
}

void fs_reader_close(struct fs_reader *r)
{
    struct file *direct;

    if (!r)
        return;
    direct = atomic_load(&r->direct);
    if (direct != r->file)
        file_close(direct);
    file_close(r->file);
    mutex_close(&r->mutex);
    mem_free(r->full_path);
    mem_free(r);
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
    (void)r;
    (void)offset;
    (void)len;
    (void)machines;
    (void)machines_max;
    return 0;
}
