/* Lines out of large reads, without copying: a line borrows the buffer, and
 * only the rest at its end is moved before the next read.
 */
#include "cli/line_reader.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "base/runtime/world_mount.h"

#define READ_BYTES ((size_t)256 << 10)

/* One line must fit into memory beside everything else. */
#define LINE_BYTES_MAX ((size_t)1 << 30)

int line_reader_open(struct line_reader *r, const char *path, struct err *err)
{
    struct stat st;
    *r = (struct line_reader){.path = path, .buffer = BUF_INIT};
    r->file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    if (!r->file)
        return err_set_errno(err, errno, "%s", path);
    if (fstat(fileno(r->file), &st) == 0 && S_ISDIR(st.st_mode)) {
        line_reader_close(r);
        return err_set_errno(err, EISDIR, "%s", path);
    }
    if (fstat(fileno(r->file), &st) == 0 && S_ISREG(st.st_mode))
        r->size = (uint64_t)st.st_size;
    return ERR_OK;
}

int line_reader_open_in(struct line_reader *r,
                        struct world *world,
                        const char *path,
                        struct err *err)
{
    int rc;
    if (!world_is_mounted(world, path))
        return line_reader_open(r, path, err);
    *r = (struct line_reader){.path = path, .buffer = BUF_INIT};
    rc = file_open(world, path, FILE_READ, &r->mounted, err);
    return rc ? rc : file_size(r->mounted, &r->size, err);
}

void line_reader_close(struct line_reader *r)
{
    file_close(r->mounted);
    r->mounted = NULL;
    if (r->file && r->file != stdin)
        fclose(r->file);
    buf_close(&r->buffer);
    r->file = NULL;
}

/* @p: room for READ_BYTES in the buffer. */
static int
line_reader_fill_mounted(struct line_reader *r, char *p, struct err *err)
{
    size_t got = 0;
    int rc = file_read_at(r->mounted, r->offset, p, READ_BYTES, &got, err);
    if (rc)
        return rc;
    (void)buf_extend(&r->buffer, got);
    r->offset += got;
    r->end_of_file = got == 0;
    return ERR_OK;
}

static int line_reader_fill(struct line_reader *r, struct err *err)
{
    ssize_t n;
    char *p;
    PRE(r->at <= r->buffer.len);
    PRE(!r->end_of_file);
    buf_consume(&r->buffer, r->at);
    r->at = 0;
    if (r->buffer.len > LINE_BYTES_MAX)
        return err_set(err, ERR_TOOBIG, "%s: line %llu is over 1 GiB", r->path,
                       (unsigned long long)r->line_count + 1);
    p = buf_reserve(&r->buffer, READ_BYTES);
    if (r->mounted)
        return line_reader_fill_mounted(r, p, err);
    /* Not fread(): a pipe's line is there before its buffer is full. */
    do
        n = read(fileno(r->file), p, READ_BYTES);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_set_errno(err, errno, "%s", r->path);
    (void)buf_extend(&r->buffer, (size_t)n);
    r->end_of_file = n == 0;
    return ERR_OK;
}

int line_reader_next(struct line_reader *r,
                     struct slice *line,
                     bool *more,
                     struct err *err)
{
    size_t searched = 0;
    *more = true;
    for (;;) {
        struct slice rest =
            slice_sub(buf_slice(&r->buffer), r->at, r->buffer.len);
        struct slice fresh = slice_sub(rest, searched, rest.len);
        INVARIANT(searched <= rest.len);
        size_t n = searched + slice_find_byte(fresh, '\n');
        int rc;
        if (n < rest.len || (r->end_of_file && rest.len > 0)) {
            *line = slice_sub(rest, 0, n);
            r->at += MIN_OF(n + 1, rest.len);
            INVARIANT(r->at <= r->buffer.len);
            r->byte_count += n + 1;
            r->line_count++;
            return ERR_OK;
        }
        if (r->end_of_file) {
            *more = false;
            return ERR_OK;
        }
        searched = rest.len;
        rc = line_reader_fill(r, err);
        if (rc)
            return rc;
    }
}
