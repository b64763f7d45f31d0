/* Lines of a range; see line_range.h. Blocks are small enough to stay in a
 * processor's cache between reading and running over them. */
#define _GNU_SOURCE /* memrchr */

#include "mapreduce/lines/line_range.h"

#include <string.h>

#include "base/runtime/world.h"
#include "mapreduce/lines/line_stream.h"

#define READ_BYTES ((size_t)256 << 10)

void line_range_init(struct line_range *r,
                     struct file *file,
                     const char *path,
                     uint64_t begin,
                     uint64_t end,
                     struct buf *buffer)
{
    *r = (struct line_range){.file = file,
                             .path = path,
                             .begin = begin,
                             .end = end,
                             .at = begin > 0 ? begin - 1 : 0,
                             .buffer = buffer};
    buf_clear(buffer);
}

/* Forget what was taken and read a piece. */
static int line_range_fill(struct line_range *r, struct err *err)
{
    size_t n;
    int rc;
    buf_consume(r->buffer, r->taken);
    r->at += r->taken;
    r->taken = 0;
    if (r->buffer->len > LINE_BYTES_MAX)
        return err_set(err, ERR_TOOBIG, "%s: a line is over 1 GiB", r->path);
    rc = file_read_at(r->file, r->at + r->buffer->len,
                      buf_reserve(r->buffer, READ_BYTES), READ_BYTES, &n, err);
    if (rc)
        return rc;
    (void)buf_extend(r->buffer, n);
    r->end_of_file = n == 0;
    return ERR_OK;
}

static struct slice range_rest(const struct line_range *r)
{
    return slice_sub(buf_slice(r->buffer), r->taken, r->buffer->len);
}

/* Skip the line that begins before the range. */
static int line_range_begin(struct line_range *r, struct err *err)
{
    while (!r->begun && r->begin > 0) {
        struct slice rest = range_rest(r);
        size_t n = slice_find_byte(rest, '\n');
        int rc;
        if (n < rest.len) {
            r->taken += n + 1;
            break;
        }
        r->taken = r->buffer->len;
        if (r->end_of_file || r->at + r->taken >= r->end)
            break;
        rc = line_range_fill(r, err);
        if (rc)
            return rc;
    }
    r->begun = true;
    return ERR_OK;
}

/* How many bytes of @rest, which begins at @offset, are whole lines of the
 * range; 0: none is whole. */
static size_t
whole_lines(struct line_range *r, struct slice rest, uint64_t offset)
{
    const char *feed = NULL;
    size_t from = r->searched;
    if (r->end - offset < rest.len) { /* The last line begins in here. */
        from = MAX_OF(from, (size_t)(r->end - offset) - 1);
        feed = memchr(rest.data + from, '\n', rest.len - from);
    } else if (rest.len > from) {
        feed = memrchr(rest.data + from, '\n', rest.len - from);
    }
    r->searched = feed ? 0 : rest.len;
    return feed ? (size_t)(feed - rest.data) + 1 : 0;
}

int line_range_next(struct line_range *r,
                    struct slice *lines,
                    uint64_t *offset,
                    bool *more,
                    struct err *err)
{
    int rc = line_range_begin(r, err);
    while (!rc) {
        struct slice rest = range_rest(r);
        size_t n = 0;
        *offset = r->at + r->taken;
        *more = *offset < r->end && (rest.len > 0 || !r->end_of_file);
        if (!*more)
            break;
        n = whole_lines(r, rest, *offset);
        if (n == 0 && r->end_of_file)
            n = rest.len;
        if (n > 0) {
            *lines = slice_sub(rest, 0, n);
            r->taken += n;
            break;
        }
        rc = line_range_fill(r, err);
    }
    return rc;
}
