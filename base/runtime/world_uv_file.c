/* Files of the real world.
 *
 * On a plain thread a call is the system call. On a fiber, a read tries the
 * page cache first (preadv2 with RWF_NOWAIT) and only what would sleep goes to
 * the thread pool. A small write goes to the page cache at once, because a
 * thread of the pool would take longer to wake than the write takes; after a
 * slow one (the kernel throttles processes that have many dirty pages), the
 * pool does them for a while. Everything that reaches the disk goes to the
 * pool.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/core/panic.h"
#include "base/runtime/fiber_loop.h"
#include "base/runtime/waiter.h"
#include "base/runtime/world_uv.h"

/* Parts of one pwritev(2): the kernel takes up to 1024, but more than a few
 * dozen save nothing. */
#define WRITE_PARTS_MAX 64

/* Largest write that is done on the loop. */
#define QUICK_WRITE_BYTES_MAX ((size_t)256 << 10)
/* After a write that took longer than SLOW_WRITE_NS, the pool does them for
 * the larger of the next two: a fixed time, and a multiple of what it took. */
#define SLOW_WRITE_NS         UINT64_C(20000000)
#define SLOW_WRITE_PAUSE_NS   UINT64_C(1000000000)
#define SLOW_WRITE_PAUSE_PART 50

struct real_file {
    struct file base;
    int fd;
    bool direct; /* Opened for direct I/O, and the file system agreed. */
    char *path;  /* For messages. Owned. */
};

static struct real_file *real_file(struct file *f)
{
    return (struct real_file *)f;
}

/* --- open and close ------------------------------------------------------ */

static int open_flags(unsigned flags)
{
    int o = O_CLOEXEC;
    if ((flags & FILE_READ) && (flags & FILE_WRITE))
        o |= O_RDWR;
    else
        o |= flags & FILE_WRITE ? O_WRONLY : O_RDONLY;
    if (flags & FILE_CREATE)
        o |= O_CREAT;
    if (flags & FILE_EXCLUSIVE)
        o |= O_EXCL;
    if (flags & FILE_TRUNCATE)
        o |= O_TRUNC;
    if (flags & FILE_DIRECT)
        o |= O_DIRECT;
    return o;
}

struct open_call {
    const char *path;
    int flags; /* O_*; O_DIRECT is cleared when refused. */
    mode_t mode;
    int fd;
    int errnum;
};

static int open_retry(const char *path, int flags, mode_t mode)
{
    int fd;
    do {
        fd = open(path, flags, mode);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

static void do_open(void *arg)
{
    struct open_call *c = arg;
    c->fd = open_retry(c->path, c->flags, c->mode);
    if (c->fd < 0 && errno == EINVAL && (c->flags & O_DIRECT)) {
        /* An exclusive open that was refused may have left the new file. */
        c->flags &= ~(O_DIRECT | O_EXCL);
        c->fd = open_retry(c->path, c->flags, c->mode);
    }
    c->errnum = errno;
}

int real_file_open(struct world *w,
                   const char *path,
                   unsigned flags,
                   struct file **out,
                   struct err *err)
{
    struct open_call c = {.path = path,
                          .flags = open_flags(flags),
                          .mode = flags & FILE_SHARED ? 0666 : 0600};
    struct real_file *f;
    struct stat st;
    offload(do_open, &c);
    if (c.fd < 0)
        return err_set_errno(err, c.errnum, "%s", path);
    if (fstat(c.fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        close(c.fd);
        return err_set(err, ERR_INVALID, "%s: is a directory", path);
    }
    f = mem_zalloc(1, sizeof(*f));
    f->base.world = w;
    f->fd = c.fd;
    f->direct = (c.flags & O_DIRECT) != 0;
    f->path = mem_strdup(path);
    *out = &f->base;
    return 0;
}

void real_file_close(struct file *base)
{
    struct real_file *f = real_file(base);
    close(f->fd);
    mem_free(f->path);
    mem_free(f);
}

int real_file_descriptor(const struct file *f)
{
    return ((const struct real_file *)f)->fd;
}

struct file *real_file_adopt(struct world *w, int fd, const char *path)
{
    struct real_file *f = mem_zalloc(1, sizeof(*f));
    f->base.world = w;
    f->fd = fd;
    f->direct = (fcntl(fd, F_GETFL) & O_DIRECT) != 0;
    f->path = mem_strdup(path);
    return &f->base;
}

/* --- reading ------------------------------------------------------------- */

struct io_call {
    struct real_file *file;
    uint64_t offset;
    char *dst;                 /* Reading. */
    size_t len;                /* Bytes wanted. */
    size_t done;               /* Bytes transferred. */
    const struct slice *parts; /* Writing. */
    size_t part_count;
    bool written; /* Of a synced write: the write succeeded, the sync failed. */
    int errnum;   /* 0 or what went wrong. */
};

static void do_read(void *arg)
{
    struct io_call *c = arg;
    c->errnum = 0;
    while (c->done < c->len) {
        ssize_t n = pread(c->file->fd, c->dst + c->done, c->len - c->done,
                          (off_t)(c->offset + c->done));
        if (n == 0)
            return;
        if (n > 0) {
            c->done += (size_t)n;
            /* Direct I/O may end anywhere only at the end of the file. */
            if (c->file->direct && (size_t)n % FILE_DIRECT_ALIGN != 0)
                return;
        } else if (errno != EINTR) {
            c->errnum = errno;
            return;
        }
    }
}

/* Read what the page cache holds; true when nothing is left to do. */
static bool read_cached(struct io_call *c)
{
    while (c->done < c->len) {
        struct iovec v = {c->dst + c->done, c->len - c->done};
        ssize_t n = preadv2(c->file->fd, &v, 1, (off_t)(c->offset + c->done),
                            RWF_NOWAIT);
        if (n == 0)
            return true;
        if (n < 0)
            return false;
        c->done += (size_t)n;
    }
    return true;
}

static bool is_aligned(const struct real_file *f,
                       uint64_t offset,
                       const void *p,
                       size_t len)
{
    return !f->direct || (offset % FILE_DIRECT_ALIGN == 0 &&
                          (uintptr_t)p % FILE_DIRECT_ALIGN == 0 &&
                          len % FILE_DIRECT_ALIGN == 0);
}

int real_file_read_at(struct file *base,
                      uint64_t offset,
                      void *dst,
                      size_t len,
                      size_t *got,
                      struct err *err)
{
    struct real_file *f = real_file(base);
    struct io_call c = {.file = f, .offset = offset, .dst = dst, .len = len};
    PRE(is_aligned(f, offset, dst, len));
    if (!fiber_self())
        do_read(&c);
    else if (f->direct || !read_cached(&c))
        offload(do_read, &c);
    *got = c.done;
    if (c.errnum)
        return err_set_errno(err, c.errnum, "read %s at %llu", f->path,
                             (unsigned long long)(offset + c.done));
    return 0;
}

/* cachestat(2), of Linux 6.5, which the C library does not know yet. Asking by
 * a read with RWF_NOWAIT would begin to read what is not there. */
#define CACHESTAT_NUMBER 451

/* Checks whether the disk has finished, and the pause between two. */
#define WRITE_BACK_LOOKS   1000
#define WRITE_BACK_LOOK_US 1000

struct cached_range {
    uint64_t offset;
    uint64_t len;
};

struct cached_pages {
    uint64_t cached;
    uint64_t dirty;
    uint64_t writeback;
    uint64_t evicted;
    uint64_t recently_evicted;
};

/* False if the system cannot tell. */
static bool look_at_cache(const struct real_file *f,
                          uint64_t offset,
                          uint64_t len,
                          struct cached_pages *pages)
{
    struct cached_range range = {offset, len};
    *pages = (struct cached_pages){.cached = 0};
    return len > 0 && syscall(CACHESTAT_NUMBER, f->fd, &range, pages, 0) == 0;
}

bool real_file_is_cached(struct file *base, uint64_t offset, uint64_t len)
{
    struct cached_pages pages;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t first = offset / page;
    uint64_t end = (offset + len + page - 1) / page;
    return !look_at_cache(real_file(base), offset, len, &pages) ||
           pages.cached >= end - first;
}

uint64_t
real_file_cached_bytes(struct file *base, uint64_t offset, uint64_t len)
{
    struct cached_pages pages;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (!look_at_cache(real_file(base), offset, len, &pages))
        return 0;
    return MIN_OF(pages.cached * page, len);
}

/* --- writing ------------------------------------------------------------- */

/* Describe up to WRITE_PARTS_MAX parts from @part on, whose first @skip bytes
 * are written. Returns how many. */
static int
fill_vector(const struct io_call *c, size_t part, size_t skip, struct iovec *v)
{
    int n = 0;
    for (; part < c->part_count && n < WRITE_PARTS_MAX; part++) {
        /* iov_base lacks const; pwritev does not write through it. */
        v[n].iov_base = (void *)((uintptr_t)c->parts[part].data + skip);
        v[n].iov_len = c->parts[part].len - skip;
        skip = 0;
        if (v[n].iov_len)
            n++;
    }
    return n;
}

/* Step (@part, @skip) over @n written bytes. */
static void world_uv_file_advance(const struct io_call *c,
                                  size_t n,
                                  size_t *part,
                                  size_t *skip)
{
    while (*part < c->part_count && n >= c->parts[*part].len - *skip) {
        n -= c->parts[*part].len - *skip;
        *skip = 0;
        (*part)++;
    }
    *skip += n;
}

static void do_write(void *arg)
{
    struct io_call *c = arg;
    struct iovec v[WRITE_PARTS_MAX];
    size_t part = 0;
    size_t skip = 0;
    int count;
    c->errnum = 0;
    while ((count = fill_vector(c, part, skip, v)) > 0) {
        ssize_t n =
            pwritev(c->file->fd, v, count, (off_t)(c->offset + c->done));
        if (n > 0) {
            c->done += (size_t)n;
            world_uv_file_advance(c, (size_t)n, &part, &skip);
        } else if (n == 0 || errno != EINTR) {
            c->errnum = n == 0 ? ENOSPC : errno;
            return;
        }
    }
}

static bool is_quick(const struct real_file *f, size_t bytes, uint64_t now)
{
    return !f->direct && bytes <= QUICK_WRITE_BYTES_MAX &&
           now >= atomic_load(&real_world(f->base.world)->slow_until_ns);
}

/* Write on the loop. */
static void write_quickly(struct io_call *c, uint64_t now)
{
    uint64_t took;
    do_write(c);
    took = real_mono_ns() - now;
    if (took > SLOW_WRITE_NS)
        atomic_store(
            &real_world(c->file->base.world)->slow_until_ns,
            now + MAX_OF(SLOW_WRITE_PAUSE_NS, took * SLOW_WRITE_PAUSE_PART));
}

/* Check the alignment that direct I/O needs; returns the bytes of all parts. */
static size_t check_parts(const struct real_file *f,
                          uint64_t offset,
                          const struct slice *parts,
                          size_t part_count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < part_count; i++) {
        PRE(is_aligned(f, offset, parts[i].data, parts[i].len));
        bytes += parts[i].len;
    }
    return bytes;
}

static int write_failed(const struct io_call *c, struct err *err)
{
    return err_set_errno(err, c->errnum, "write %s at %llu", c->file->path,
                         (unsigned long long)(c->offset + c->done));
}

int real_file_write_at(struct file *base,
                       uint64_t offset,
                       const struct slice *parts,
                       size_t part_count,
                       struct err *err)
{
    struct real_file *f = real_file(base);
    struct io_call c = {
        .file = f, .offset = offset, .parts = parts, .part_count = part_count};
    uint64_t now = fiber_self() ? real_mono_ns() : 0;
    size_t bytes = check_parts(f, offset, parts, part_count);
    if (now && is_quick(f, bytes, now))
        write_quickly(&c, now);
    else
        offload(do_write, &c);
    return c.errnum ? write_failed(&c, err) : 0;
}

static void do_sync(void *arg)
{
    struct io_call *c = arg;
    c->errnum = fdatasync(c->file->fd) < 0 ? errno : 0;
}

static int sync_failed(const struct io_call *c, struct err *err)
{
    return err_set_errno(err, c->errnum, "sync %s", c->file->path);
}

int real_file_sync(struct file *base, struct err *err)
{
    struct io_call c = {.file = real_file(base)};
    offload(do_sync, &c);
    return c.errnum ? sync_failed(&c, err) : 0;
}

static void do_write_synced(void *arg)
{
    struct io_call *c = arg;
    do_write(c);
    c->written = c->errnum == 0;
    if (c->written)
        do_sync(c);
}

int real_file_write_synced(struct file *base,
                           uint64_t offset,
                           const struct slice *parts,
                           size_t part_count,
                           struct err *err)
{
    struct io_call c = {.file = real_file(base),
                        .offset = offset,
                        .parts = parts,
                        .part_count = part_count};
    (void)check_parts(c.file, offset, parts, part_count);
    offload(do_write_synced, &c);
    if (c.errnum == 0)
        return 0;
    return c.written ? sync_failed(&c, err) : write_failed(&c, err);
}

/* --- the rest ------------------------------------------------------------ */

int real_file_size(struct file *base, uint64_t *bytes, struct err *err)
{
    struct real_file *f = real_file(base);
    struct stat st;
    if (fstat(f->fd, &st) < 0)
        return err_set_errno(err, errno, "stat %s", f->path);
    *bytes = (uint64_t)st.st_size;
    return 0;
}

static void do_truncate(void *arg)
{
    struct io_call *c = arg;
    c->errnum = ftruncate(c->file->fd, (off_t)c->offset) < 0 ? errno : 0;
}

int real_file_truncate(struct file *base, uint64_t bytes, struct err *err)
{
    struct io_call c = {.file = real_file(base), .offset = bytes};
    offload(do_truncate, &c);
    return c.errnum ? err_set_errno(err, c.errnum, "truncate %s", c.file->path)
                    : 0;
}

static void do_allocate(void *arg)
{
    struct io_call *c = arg;
    if (fallocate(c->file->fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)c->offset) < 0)
        c->errnum = errno; /* A hint: the caller ignores it. */
}

void real_file_allocate(struct file *base, uint64_t bytes)
{
    struct io_call c = {.file = real_file(base), .offset = bytes};
    if (bytes > 0 && bytes <= INT64_MAX)
        offload(do_allocate, &c);
}

static void do_write_back(void *arg)
{
    struct io_call *c = arg;
    /* Without SYNC_FILE_RANGE_WAIT_*: waiting would consume errors that a
     * sync must report. */
    if (sync_file_range(c->file->fd, (off_t)c->offset, (off_t)c->len,
                        SYNC_FILE_RANGE_WRITE) < 0)
        c->errnum = errno; /* A hint: the caller ignores it. */
}

void real_file_write_back(struct file *base, uint64_t offset, uint64_t len)
{
    struct io_call c = {.file = real_file(base), .offset = offset, .len = len};
    struct cached_pages pages;
    offload(do_write_back, &c);
    for (int i = 0;
         i < WRITE_BACK_LOOKS && fiber_check(NULL) == 0 &&
         look_at_cache(c.file, offset, len, &pages) && pages.writeback > 0;
         i++)
        world_sleep_us(base->world, WRITE_BACK_LOOK_US);
}

void real_file_advise(struct file *base,
                      uint64_t offset,
                      uint64_t len,
                      enum file_advice advice)
{
    int what =
        advice == FILE_WILL_NEED ? POSIX_FADV_WILLNEED : POSIX_FADV_DONTNEED;
    if (offset <= INT64_MAX && len <= INT64_MAX - offset)
        posix_fadvise(real_file(base)->fd, (off_t)offset, (off_t)len, what);
}
