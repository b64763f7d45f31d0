/* Lines of a stream; see line_stream.h. Bytes read behind the last whole line
 * are moved to the next call, and no others are copied. */
#define _GNU_SOURCE /* memrchr */

#include "mapreduce/lines/line_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/runtime/world.h"
#include "base/runtime/world_mount.h"

#define READ_BYTES ((size_t)256 << 10)

static int
open_mounted(struct line_stream *s, struct world *world, struct err *err)
{
    int rc = file_open(world, s->path, FILE_READ, &s->file, err);
    if (rc == 0)
        rc = file_size(s->file, &s->size, err);
    if (rc)
        line_stream_close(s);
    return rc;
}

int line_stream_open(struct line_stream *s,
                     struct world *world,
                     const char *path,
                     struct err *err)
{
    struct stat st;
    *s = (struct line_stream){.path = path, .fd = -1, .rest = BUF_INIT};
    if (world_is_mounted(world, path))
        return open_mounted(s, world, err);
    s->owned = strcmp(path, "-") != 0;
    s->fd = s->owned ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
    if (s->fd < 0)
        return err_set_errno(err, errno, "%s", path);
    if (fstat(s->fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        line_stream_close(s);
        return err_set_errno(err, EISDIR, "%s", path);
    }
    if (fstat(s->fd, &st) == 0 && S_ISREG(st.st_mode))
        s->size = (uint64_t)st.st_size;
    s->seekable = s->owned && s->size > 0;
    return ERR_OK;
}

void line_stream_close(struct line_stream *s)
{
    if (s->owned && s->fd >= 0)
        close(s->fd);
    s->fd = -1;
    file_close(s->file);
    s->file = NULL;
    buf_close(&s->rest);
}

/* @p: room for READ_BYTES in @out. */
static int
read_mounted(struct line_stream *s, struct buf *out, char *p, struct err *err)
{
    size_t got = 0;
    int rc = file_read_at(s->file, s->read_offset, p, READ_BYTES, &got, err);
    if (rc)
        return rc;
    (void)buf_extend(out, got);
    s->read_offset += got;
    s->end_of_file = got < READ_BYTES;
    return ERR_OK;
}

/* Append a piece of the file to @out. */
static int
line_stream_read(struct line_stream *s, struct buf *out, struct err *err)
{
    char *p = buf_reserve(out, READ_BYTES);
    ssize_t n;
    if (s->file)
        return read_mounted(s, out, p, err);
    do
        n = read(s->fd, p, READ_BYTES);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_set_errno(err, errno, "%s", s->path);
    (void)buf_extend(out, (size_t)n);
    s->end_of_file = n == 0;
    return ERR_OK;
}

/* Where the lines that begin in the first @bytes of @b end, looking from
 * *@searched on; 0: not in @b. With @bytes 0, where the last whole line ends.
 */
static size_t lines_end(const struct buf *b, uint64_t bytes, size_t *searched)
{
    const char *feed;
    size_t from = MAX_OF(*searched, bytes > 0 ? (size_t)bytes - 1 : 0);
    if (b->len <= from)
        return 0;
    feed = bytes > 0 ? memchr(b->data + from, '\n', b->len - from)
                     : memrchr(b->data + from, '\n', b->len - from);
    *searched = b->len;
    return feed ? (size_t)(feed - b->data) + 1 : 0;
}

int line_stream_take(struct line_stream *s,
                     uint64_t bytes,
                     struct buf *out,
                     uint64_t *offset,
                     struct err *err)
{
    struct buf swap = *out;
    size_t searched = 0;
    size_t end;
    *out = s->rest;
    buf_clear(&swap);
    s->rest = swap;
    *offset = s->offset;
    while ((end = lines_end(out, bytes, &searched)) == 0 && !s->end_of_file) {
        int rc;
        if (out->len > bytes + LINE_BYTES_MAX)
            return err_set(err, ERR_TOOBIG, "%s: a line is over 1 GiB",
                           s->path);
        rc = line_stream_read(s, out, err);
        if (rc)
            return rc;
    }
    if (end == 0)
        end = out->len;
    buf_append(&s->rest, out->data + end, out->len - end);
    buf_truncate(out, end);
    s->offset += end;
    return ERR_OK;
}
