/* Reading files: through the page cache, or past it for bytes that are read
 * once (a compaction's input), whose pages would only be allocated to be thrown
 * away. Of scans, bytes that the cache has and every fourth miss go through it.
 */
#include <string.h>

#include "base/core/panic.h"
#include "gfs-lite/local.h"

struct local_reader {
    struct fs_reader base;
    struct file *file;
    char *full_path;             /* Owned: to open `direct`. */
    struct mutex mutex;          /* Guards the opening of `direct`. */
    struct file *_Atomic direct; /* NULL until first used. */
    atomic_uint scan_misses;     /* Pieces of scans that were not in memory. */
};

/* This part of the misses is read through the page cache. Counting only misses,
 * each scan caches the same share of the bytes that earlier ones left out,
 * whichever process they ran in. */
#define SCAN_KEEP_EVERY 4

static struct local_reader *local_reader(struct fs_reader *base)
{
    return (struct local_reader *)base;
}

int local_open(struct fs *fs,
               const char *path,
               struct fs_reader **out,
               struct err *err)
{
    struct local_reader *r = mem_zalloc(1, sizeof(*r));
    int rc;

    r->base.fs = fs;
    rc = local_path(local_fs(fs), path, &r->full_path, err);
    if (!rc)
        rc = file_open(fs->world, r->full_path, FILE_READ, &r->file, err);
    if (!rc)
        rc = file_size(r->file, &r->base.size_bytes, err);
    if (rc) {
        file_close(r->file);
        mem_free(r->full_path);
        mem_free(r);
        return rc;
    }
    mutex_init(&r->mutex);
    *out = &r->base;
    return 0;
}

int local_read_at(struct fs_reader *base,
                  uint64_t offset,
                  void *dst,
                  size_t len,
                  size_t *got,
                  struct err *err)
{
    return file_read_at(local_reader(base)->file, offset, dst, len, got, err);
}

static struct file *direct_file(struct local_reader *r)
{
    struct file *f = atomic_load(&r->direct);

    if (f)
        return f;
    mutex_lock(&r->mutex);
    f = atomic_load(&r->direct);
    if (!f) {
        if (file_open(r->base.fs->world, r->full_path, FILE_READ | FILE_DIRECT,
                      &f, NULL))
            f = r->file; /* It may be removed by now, but is still open. */
        atomic_store(&r->direct, f);
    }
    mutex_unlock(&r->mutex);
    return f;
}

int local_read_once_at(struct fs_reader *base,
                       uint64_t offset,
                       void *dst,
                       size_t len,
                       size_t *got,
                       struct err *err)
{
    return file_read_at(direct_file(local_reader(base)), offset, dst, len, got,
                        err);
}

int local_read_scan_at(struct fs_reader *base,
                       uint64_t offset,
                       void *dst,
                       size_t len,
                       size_t *got,
                       struct err *err)
{
    struct local_reader *r = local_reader(base);
    uint64_t end = MIN_OF(offset + len, base->size_bytes);

    if (offset >= end || file_is_cached(r->file, offset, end - offset) ||
        atomic_fetch_add(&r->scan_misses, 1) % SCAN_KEEP_EVERY == 0)
        return local_read_at(base, offset, dst, len, got, err);
    return local_read_once_at(base, offset, dst, len, got, err);
}

void local_prefetch(struct fs_reader *base, uint64_t offset, uint64_t len)
{
    file_advise(local_reader(base)->file, offset, len, FILE_WILL_NEED);
}

void local_reader_close(struct fs_reader *base)
{
    struct local_reader *r = local_reader(base);
    struct file *direct;

    direct = atomic_load(&r->direct);
    if (direct != r->file)
        file_close(direct);
    file_close(r->file);
    mutex_close(&r->mutex);
    mem_free(r->full_path);
    mem_free(r);
}

size_t local_locality(struct fs_reader *base,
                      uint64_t offset,
                      uint64_t len,
                      const char **machines,
                      size_t machines_max)
{
    (void)base;
    (void)offset;
    (void)len;
    (void)machines;
    (void)machines_max;
    return 0;
}
