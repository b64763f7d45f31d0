/* Direct sequential writes in whole buffers. Direct I/O takes aligned lengths
 * only: the tail is padded, and the file truncated to its length at the end. On
 * a cell's file system the buffers are appended to a stream instead. */
#include "mapreduce/records/stream_writer.h"

#include <stdlib.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "gfs-lite/fs.h"
#include "mapreduce/records/files.h"

STATIC_ASSERT(STREAM_WRITER_BYTES % FILE_DIRECT_ALIGN == 0,
              "whole buffers can be written directly");

int stream_writer_open(struct stream_writer *s,
                       const struct job_files *files,
                       const char *path,
                       struct err *err)
{
    const struct fs_write_options stream = {.mode = FS_WRITE_STREAM};
    void *buf = NULL;
    int rc;
    *s = (struct stream_writer){.cap = STREAM_WRITER_BYTES};
    if (files->fs)
        rc = fs_create(files->fs, files_fs_path(path), &stream, &s->fs_file,
                       err);
    else
        rc = file_open(files->world, path,
                       FILE_WRITE | FILE_CREATE | FILE_TRUNCATE | FILE_DIRECT |
                           FILE_SHARED,
                       &s->file, err);
    if (rc)
        return rc;
    if (posix_memalign(&buf, FILE_DIRECT_ALIGN, s->cap) != 0)
        PANIC("no memory for a buffer of %zu bytes", s->cap);
    s->buf = buf;
    s->path = mem_strdup(path);
    return 0;
}

static void write_out(struct stream_writer *s, size_t bytes)
{
    PRE(bytes >= s->len && bytes <= s->cap); /* INV-1 */
    struct slice part = {s->buf, bytes};
    if (s->code == 0 && bytes > 0 && s->fs_file)
        s->code = fs_writer_append(s->fs_file, s->buf, s->len, &s->err);
    else if (s->code == 0 && bytes > 0)
        s->code = file_write_at(s->file, s->written, &part, 1, &s->err);
    s->written += s->len;
    s->len = 0;
}

void stream_writer_spill(struct stream_writer *s, const char *data, size_t len)
{
    PRE(s->len <= s->cap); /* INV-1 */
    while (len > 0) {
        size_t n = MIN_OF(len, s->cap - s->len);
        memcpy(s->buf + s->len, data, n);
        s->len += n;
        data += n;
        len -= n;
        if (s->len == s->cap)
            write_out(s, s->cap);
    }
}

static int write_tail(struct stream_writer *s, bool sync, struct err *err)
{
    uint64_t bytes = stream_writer_offset(s);
    size_t padded = (s->len + FILE_DIRECT_ALIGN - 1) & ~(FILE_DIRECT_ALIGN - 1);
    int rc;
    if (s->len > 0) {
        memset(s->buf + s->len, 0, padded - s->len);
        write_out(s, padded);
    }
    if (s->code)
        return err_copy(err, &s->err);
    if (s->fs_file)
        return sync ? fs_writer_sync(s->fs_file, err) : 0;
    rc = bytes % FILE_DIRECT_ALIGN ? file_truncate(s->file, bytes, err) : 0;
    if (rc == 0 && sync)
        rc = file_sync(s->file, err);
    return rc;
}

int stream_writer_finish(struct stream_writer *s, bool sync, struct err *err)
{
    PRE(s->file != NULL || s->fs_file != NULL);
    int rc = write_tail(s, sync, err);
    if (rc)
        err_wrap(err, "write %s", s->path);
    stream_writer_close(s);
    return rc;
}

void stream_writer_close(struct stream_writer *s)
{
    file_close(s->file);
    fs_writer_close(s->fs_file);
    free(s->buf);
    mem_free(s->path);
    *s = (struct stream_writer){.code = s->code};
}
