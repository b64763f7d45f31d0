/* Reading files: through the page cache, or past it for bytes that are read
 * once (a compaction's input) and are not in it: their pages would only be
 * allocated to be thrown away. Of scans, bytes that the cache has and every
 * fourth miss go through it.
 */
#include <string.h>

#include "base/core/panic.h"
#include "gfs-lite/local.h"

/* Descriptors are a cache: a reader that was not used for a while may lose its
 * own, and opens the file again with the next read.
 *
 * Invariants
 *     INV-1. A thread that reads counts in `users` before it looks at `file` or
 *            `direct`, and one that closes takes them away before it looks at
 *            `users`: so no descriptor is closed that is being read.
 *     INV-2. open_count of the file system counts the files in all `file` and
 *            `direct`; its list has the readers whose `file` is open.
 */
struct local_reader {
    struct fs_reader base;
    char *full_path;    /* Owned. */
    struct mutex mutex; /* Guards opening and closing. */
    atomic_uint users;
    struct file *_Atomic file;   /* NULL: closed for others' sake. */
    struct file *_Atomic direct; /* NULL until first used. */
    bool no_direct;              /* The system cannot; under the mutex. */
    atomic_bool was_used;        /* Since the hand passed. */
    atomic_uint scan_misses;     /* Pieces of scans that were not in memory. */
    TAILQ_ENTRY(local_reader) link; /* While `file` is open. */
};

/* This part of the misses is read through the page cache. Counting only misses,
 * each scan caches the same share of the bytes that earlier ones left out,
 * whichever process they ran in. */
#define SCAN_KEEP_EVERY 4

static struct local_reader *local_reader(struct fs_reader *base)
{
    return (struct local_reader *)base;
}

/* --- descriptors --------------------------------------------------------- */

/* Close what @r has open, unless somebody reads. PRE: its mutex and that of the
 * list are held. */
static void local_reader_shut(struct local_reader *r)
{
    struct local_fs *fs = local_fs(r->base.fs);
    struct file *file = atomic_exchange(&r->file, NULL);
    struct file *direct = atomic_exchange(&r->direct, NULL);

    if (atomic_load(&r->users) > 0) { /* INV-1 */
        atomic_store(&r->direct, direct);
        atomic_store(&r->file, file);
        return;
    }
    if (file)
        TAILQ_REMOVE(&fs->readers, r, link);
    atomic_fetch_sub(&fs->open_count, (file ? 1u : 0u) + (direct ? 1u : 0u));
    file_close(direct);
    file_close(file);
}

/* The next reader that the hand meets and that was not used since the last
 * time, its mutex held; NULL after two rounds. PRE: the list is locked. */
static struct local_reader *next_unused(struct local_fs *fs)
{
    for (unsigned i = 2 * atomic_load(&fs->open_count); i > 0; i--) {
        struct local_reader *r = TAILQ_FIRST(&fs->readers);
        if (!r)
            return NULL;
        TAILQ_REMOVE(&fs->readers, r, link);
        TAILQ_INSERT_TAIL(&fs->readers, r, link);
        if (!atomic_exchange(&r->was_used, false) && mutex_try_lock(&r->mutex))
            return r;
    }
    return NULL;
}

/* Close descriptors of other readers until there is room for one more. */
static void make_room(struct local_fs *fs, unsigned open_max)
{
    struct local_reader *r;

    if (atomic_load(&fs->open_count) < open_max)
        return;
    mutex_lock(&fs->list_mutex);
    while (atomic_load(&fs->open_count) >= open_max &&
           (r = next_unused(fs)) != NULL) {
        local_reader_shut(r);
        mutex_unlock(&r->mutex);
    }
    mutex_unlock(&fs->list_mutex);
}

/* Open the file of @r once more. Where the process has no descriptor left, half
 * of those of other readers make room. */
static int local_reader_open(struct local_reader *r,
                             unsigned flags,
                             struct file **out,
                             struct err *err)
{
    struct local_fs *fs = local_fs(r->base.fs);
    int rc;

    make_room(fs, fs->open_max);
    rc = file_open(fs->base.world, r->full_path, flags, out, err);
    if (rc == ERR_FULL) {
        make_room(fs, atomic_load(&fs->open_count) / 2 + 1);
        rc = file_open(fs->base.world, r->full_path, flags, out, err);
    }
    if (!rc)
        atomic_fetch_add(&fs->open_count, 1); /* INV-2 */
    return rc;
}

/* Open the file of @r, unless another thread did meanwhile. */
static int
local_reader_reopen(struct local_reader *r, struct file **out, struct err *err)
{
    struct local_fs *fs = local_fs(r->base.fs);
    int rc = 0;

    mutex_lock(&r->mutex);
    *out = atomic_load(&r->file);
    if (!*out)
        rc = local_reader_open(r, FILE_READ, out, err);
    if (!rc && !atomic_load(&r->file)) {
        mutex_lock(&fs->list_mutex);
        atomic_store(&r->file, *out);
        TAILQ_INSERT_TAIL(&fs->readers, r, link);
        mutex_unlock(&fs->list_mutex);
    }
    mutex_unlock(&r->mutex);
    return rc;
}

/* Count the caller in; *@out, borrowed until local_reader_leave(), is open. */
static int
local_reader_enter(struct local_reader *r, struct file **out, struct err *err)
{
    int rc;

    atomic_fetch_add(&r->users, 1);
    if (!atomic_load_explicit(&r->was_used, memory_order_relaxed))
        atomic_store(&r->was_used, true);
    *out = atomic_load(&r->file);
    if (LIKELY(*out))
        return 0;
    rc = local_reader_reopen(r, out, err);
    if (rc)
        atomic_fetch_sub(&r->users, 1);
    return rc;
}

static void local_reader_leave(struct local_reader *r)
{
    unsigned before = atomic_fetch_sub(&r->users, 1);
    INVARIANT(before > 0);
}

int local_open(struct fs *base,
               const char *path,
               struct fs_reader **out,
               struct err *err)
{
    struct local_fs *fs = local_fs(base);
    struct local_reader *r = mem_zalloc(1, sizeof(*r));
    struct file *f;
    int rc;

    r->base.fs = base;
    mutex_init(&r->mutex);
    rc = local_path(fs, path, &r->full_path, err);
    if (!rc)
        rc = local_reader_enter(r, &f, err);
    if (!rc) {
        rc = file_size(f, &r->base.size_bytes, err);
        local_reader_leave(r);
    }
    if (rc) {
        local_reader_close(&r->base);
        return rc;
    }
    *out = &r->base;
    return 0;
}

/* --- reading ------------------------------------------------------------- */

int local_read_at(struct fs_reader *base,
                  uint64_t offset,
                  void *dst,
                  size_t len,
                  size_t *got,
                  struct err *err)
{
    struct local_reader *r = local_reader(base);
    struct file *f;
    int rc = local_reader_enter(r, &f, err);

    if (rc)
        return rc;
    rc = file_read_at(f, offset, dst, len, got, err);
    local_reader_leave(r);
    return rc;
}

/* Past the page cache, or @file. PRE: the caller counts among the users. */
static struct file *direct_file(struct local_reader *r, struct file *file)
{
    struct file *f = atomic_load(&r->direct);

    if (f)
        return f;
    mutex_lock(&r->mutex);
    f = atomic_load(&r->direct);
    if (!f && !r->no_direct) {
        /* It may be removed by now, but is still open. */
        r->no_direct =
            local_reader_open(r, FILE_READ | FILE_DIRECT, &f, NULL) != 0;
        if (!r->no_direct)
            atomic_store(&r->direct, f);
    }
    mutex_unlock(&r->mutex);
    return f ? f : file;
}

int local_read_once_at(struct fs_reader *base,
                       uint64_t offset,
                       void *dst,
                       size_t len,
                       size_t *got,
                       struct err *err)
{
    struct local_reader *r = local_reader(base);
    uint64_t end = MIN_OF(offset + len, base->size_bytes);
    struct file *f;
    bool cached;
    int rc = local_reader_enter(r, &f, err);

    if (rc)
        return rc;
    cached = offset < end &&
             file_cached_bytes(f, offset, end - offset) == end - offset;
    rc = file_read_at(cached ? f : direct_file(r, f), offset, dst, len, got,
                      err);
    local_reader_leave(r);
    return rc;
}

static bool
local_reader_is_cached(struct local_reader *r, uint64_t offset, uint64_t len)
{
    struct file *f;
    bool cached;

    if (local_reader_enter(r, &f, NULL))
        return true; /* The read that follows fails likewise, and says why. */
    cached = file_is_cached(f, offset, len);
    local_reader_leave(r);
    return cached;
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

    if (offset >= end || local_reader_is_cached(r, offset, end - offset) ||
        atomic_fetch_add(&r->scan_misses, 1) % SCAN_KEEP_EVERY == 0)
        return local_read_at(base, offset, dst, len, got, err);
    return local_read_once_at(base, offset, dst, len, got, err);
}

enum fs_place
local_read_place(struct fs_reader *base, uint64_t offset, uint64_t len)
{
    struct local_reader *r = local_reader(base);
    struct file *f;
    bool cached;

    if (local_reader_enter(r, &f, NULL))
        return FS_PLACE_DISK; /* The read that follows says why it fails. */
    cached = file_cached_bytes(f, offset, len) == len;
    local_reader_leave(r);
    return cached ? FS_PLACE_PAGE_CACHE : FS_PLACE_DISK;
}

void local_prefetch(struct fs_reader *base, uint64_t offset, uint64_t len)
{
    struct local_reader *r = local_reader(base);
    struct file *f;

    if (local_reader_enter(r, &f, NULL))
        return;
    file_advise(f, offset, len, FILE_WILL_NEED);
    local_reader_leave(r);
}

void local_reader_close(struct fs_reader *base)
{
    struct local_reader *r = local_reader(base);
    struct local_fs *fs = local_fs(base->fs);

    PRE(atomic_load(&r->users) == 0);
    mutex_lock(&fs->list_mutex);
    local_reader_shut(r);
    mutex_unlock(&fs->list_mutex);
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
