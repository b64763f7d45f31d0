/* Writing one file: streams by direct I/O through an aligned buffer, logs by
 * plain appends.
 *
 * A stream that is to stay in the page cache takes the same way, buffered, and
 * is written back piece by piece: so it keeps as few pages dirty as a direct
 * one has in its buffer, and neither its own sync nor the log's syncs of
 * others wait for a burst.
 *
 * A stream's bytes gather in a buffer that always starts at an aligned offset
 * of the file. A full buffer goes out as it is. flush() writes a partial one
 * rounded up to the alignment, cuts the file to its true length, and keeps the
 * last, unfinished 4 KiB, so that the next write starts with them.
 */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "gfs-lite/local.h"

/* Bytes between two write-backs of a cached stream: more than a few MiB make
 * the disk no faster, and requests of others wait for them. */
#define WRITE_BACK_BYTES (4 * STREAM_BUFFER_BYTES)

struct local_writer {
    struct fs_writer base;
    struct local_fs *fs;
    struct file *file;
    char *path; /* Below the root; owned, for messages. */
    enum fs_write_mode mode;
    struct stream_buffer *buffer; /* STREAM: bytes from `written` on. */
    size_t buffered;              /* In `buffer`. */
    uint64_t written;             /* STREAM: aligned; bytes in the file. */
    bool cached;                  /* STREAM: through the page cache; */
    uint64_t written_back;        /* bytes of it known to be on the disk. */
    bool name_synced;
    bool unflushed; /* STREAM: bytes appended since the last flush. */
    int failed;     /* Sticky error code. */
};

static struct local_writer *local_writer(struct fs_writer *base)
{
    return (struct local_writer *)base;
}

static int open_for_write(struct fs *fs,
                          const char *path,
                          const struct fs_write_options *opts,
                          struct file **out,
                          struct err *err)
{
    unsigned flags = FILE_WRITE | FILE_CREATE;
    char *full;
    char *parent;
    int rc = local_path(local_fs(fs), path, &full, err);

    if (rc)
        return rc;
    flags |= opts->exclusive ? FILE_EXCLUSIVE : FILE_TRUNCATE;
    if (opts->mode == FS_WRITE_STREAM && !opts->cached)
        flags |= FILE_DIRECT;
    rc = file_open(fs->world, full, flags, out, err);
    if (rc == ERR_NOTFOUND) {
        parent = local_parent(path);
        rc = fs_mkdirs(fs, parent, err);
        mem_free(parent);
        if (!rc)
            rc = file_open(fs->world, full, flags, out, err);
    }
    mem_free(full);
    return rc;
}

int local_create(struct fs *fs,
                 const char *path,
                 const struct fs_write_options *opts,
                 struct fs_writer **out,
                 struct err *err)
{
    struct local_writer *w;
    struct file *file;
    int rc = open_for_write(fs, path, opts, &file, err);

    if (rc)
        return rc;
    w = mem_zalloc(1, sizeof(*w));
    w->base.fs = fs;
    w->fs = local_fs(fs);
    w->file = file;
    w->path = mem_strdup(path);
    w->mode = opts->mode;
    w->cached = opts->cached && opts->mode == FS_WRITE_STREAM;
    if (opts->expected_bytes > 0)
        file_allocate(file, opts->expected_bytes);
    if (w->mode == FS_WRITE_STREAM)
        w->buffer = stream_buffer_take(w->fs);
    *out = &w->base;
    return 0;
}

static int local_writer_fail(struct local_writer *w, int code)
{
    w->failed = code;
    return code;
}

/* Write the first @bytes (aligned) of the buffer at their offset. */
static int write_buffer(struct local_writer *w, size_t bytes, struct err *err)
{
    struct slice part = slice_make(w->buffer->data, bytes);
    int rc = file_write_at(w->file, w->written, &part, 1, err);

    return rc ? local_writer_fail(w, rc) : 0;
}

/* Start the disk on what a cached stream has written, and keep it in step. */
static void write_back_stream(struct local_writer *w)
{
    if (!w->cached || w->written - w->written_back < WRITE_BACK_BYTES)
        return;
    file_write_back(w->file, w->written_back, w->written - w->written_back);
    w->written_back = w->written;
}

static int append_stream(struct local_writer *w,
                         const char *data,
                         size_t len,
                         struct err *err)
{
    w->unflushed = true;
    while (len > 0) {
        size_t n = MIN_OF(len, STREAM_BUFFER_BYTES - w->buffered);
        memcpy(w->buffer->data + w->buffered, data, n);
        w->buffered += n;
        w->base.offset += n;
        data += n;
        len -= n;
        if (w->buffered == STREAM_BUFFER_BYTES) {
            int rc = write_buffer(w, STREAM_BUFFER_BYTES, err);
            if (rc)
                return rc;
            w->written += STREAM_BUFFER_BYTES;
            w->buffered = 0;
            write_back_stream(w);
        }
    }
    return 0;
}

static int closed_by_error(struct local_writer *w, struct err *err)
{
    return err_set(err, w->failed, "%s: an earlier write failed", w->path);
}

int local_append(struct fs_writer *base,
                 const void *data,
                 size_t len,
                 struct err *err)
{
    struct local_writer *w = local_writer(base);
    struct slice part = slice_make(data, len);
    int rc;

    if (w->failed)
        return closed_by_error(w, err);
    if (len == 0)
        return 0;
    if (w->mode == FS_WRITE_STREAM)
        return append_stream(w, data, len, err);
    rc = file_write_at(w->file, w->base.offset, &part, 1, err);
    if (rc)
        return local_writer_fail(w, rc);
    w->base.offset += len;
    return 0;
}

int local_flush(struct fs_writer *base, struct err *err)
{
    struct local_writer *w = local_writer(base);
    size_t align = FILE_DIRECT_ALIGN;
    size_t padded = (w->buffered + align - 1) / align * align;
    size_t whole = w->buffered / align * align;
    int rc;

    if (w->failed)
        return closed_by_error(w, err);
    if (w->mode != FS_WRITE_STREAM || !w->unflushed)
        return 0;
    memset(w->buffer->data + w->buffered, 0, padded - w->buffered);
    if (padded > 0) {
        rc = write_buffer(w, padded, err);
        if (rc)
            return rc;
    }
    /* Releases reserved space too. */
    rc = file_truncate(w->file, w->base.offset, err);
    if (rc)
        return local_writer_fail(w, rc);
    memmove(w->buffer->data, w->buffer->data + whole, w->buffered - whole);
    w->written += whole;
    w->buffered -= whole;
    w->unflushed = false;
    return 0;
}

int local_sync(struct fs_writer *base, struct err *err)
{
    struct local_writer *w = local_writer(base);
    int rc = local_flush(base, err);

    if (rc)
        return rc;
    rc = file_sync(w->file, err);
    if (rc)
        return local_writer_fail(w, rc);
    if (!w->name_synced) {
        rc = local_sync_name(w->fs, w->path, err);
        if (rc)
            return local_writer_fail(w, rc);
        w->name_synced = true;
    }
    return 0;
}

void local_writer_close(struct fs_writer *base)
{
    struct local_writer *w = local_writer(base);

    if (!w->failed && local_flush(base, NULL))
        w->failed = ERR_IO; /* Nothing was promised: see fs.h. */
    file_close(w->file);
    if (w->buffer)
        stream_buffer_give(w->fs, w->buffer);
    mem_free(w->path);
    mem_free(w);
}
