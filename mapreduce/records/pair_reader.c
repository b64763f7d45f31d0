/* Reading blocks forward, in large aligned pieces: merges read many runs at
 * once, and small reads would seek between them. */
#include "mapreduce/records/pair_reader.h"

#include <stdlib.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "mapreduce/records/files.h"

void pair_reader_init(struct pair_reader *r,
                      struct job_file *file,
                      uint64_t offset,
                      uint64_t end,
                      size_t read_bytes,
                      struct block_codec *codec)
{
    PRE(offset <= end);
    *r = (struct pair_reader){
        .file = file, .codec = codec, .offset = offset, .end = end};
    r->read_bytes =
        (read_bytes + FILE_DIRECT_ALIGN - 1) & ~(FILE_DIRECT_ALIGN - 1);
    pair_cursor_init(&r->cursor);
}

void pair_reader_close(struct pair_reader *r)
{
    free(r->buf);
    buf_close(&r->raw);
    pair_cursor_close(&r->cursor);
    r->buf = NULL;
}

/* Make room for @need unread bytes and one more piece. Positions in the buffer
 * stay aligned as those in the file: r->offset is read to r->filled. */
static int
pair_reader_reserve(struct pair_reader *r, size_t need, struct err *err)
{
    size_t left = r->filled - r->begin;
    size_t keep = r->begin & ~(FILE_DIRECT_ALIGN - 1);
    size_t cap = need + r->read_bytes + 2 * FILE_DIRECT_ALIGN;
    void *bigger = NULL;
    if (r->cap < cap) {
        cap = (cap + FILE_DIRECT_ALIGN - 1) & ~(FILE_DIRECT_ALIGN - 1);
        if (posix_memalign(&bigger, FILE_DIRECT_ALIGN, cap) != 0)
            return err_set(err, ERR_NOMEM, "no memory to read %zu bytes", cap);
        if (left > 0)
            memcpy((char *)bigger + (r->begin - keep), r->buf + r->begin, left);
        free(r->buf);
        r->buf = bigger;
        r->cap = cap;
    } else if (keep > 0) {
        memmove(r->buf + (r->begin - keep), r->buf + r->begin, left);
    }
    r->begin -= keep;
    r->filled -= keep;
    return 0;
}

/* Read until the buffer has @need unread bytes. PRE: the run has them. */
static int pair_reader_fill(struct pair_reader *r, size_t need, struct err *err)
{
    int rc = 0;
    if (r->filled - r->begin >= need)
        return 0;
    rc = pair_reader_reserve(r, need, err);
    while (rc == 0 && r->filled - r->begin < need) {
        uint64_t at = r->offset & ~(uint64_t)(FILE_DIRECT_ALIGN - 1);
        size_t skip = (size_t)(r->offset - at);
        size_t got = 0;
        /* Only the first piece of a run starts inside a page. */
        if (skip > 0 && r->filled == r->begin)
            r->begin = r->filled = skip;
        INVARIANT(r->filled % FILE_DIRECT_ALIGN == skip);
        rc = job_file_read_at(r->file, at, r->buf + r->filled - skip,
                              r->read_bytes, &got, err);
        if (rc == 0 && got <= skip)
            rc = err_set(err, ERR_CORRUPT, "file ends at %llu",
                         (unsigned long long)(at + got));
        if (rc)
            break;
        got = (size_t)MIN_OF((uint64_t)got - skip, r->end - r->offset);
        r->filled += got;
        r->offset += got;
    }
    return rc;
}

static uint64_t bytes_left(const struct pair_reader *r)
{
    INVARIANT(r->begin <= r->filled && r->offset <= r->end); /* INV-1 */
    return r->end - r->offset + (r->filled - r->begin);
}

static int open_block(struct pair_reader *r, bool *more, struct err *err)
{
    struct pair_block_header h;
    size_t bytes;
    int rc;
    r->block_offset = r->offset - (r->filled - r->begin);
    *more = bytes_left(r) > 0;
    if (!*more)
        return 0;
    if (bytes_left(r) < BLOCK_HEADER_BYTES)
        return err_set(err, ERR_CORRUPT, "cut inside a block header");
    rc = pair_reader_fill(r, BLOCK_HEADER_BYTES, err);
    if (rc == 0)
        rc = pair_block_header_decode(r->buf + r->begin, &h, err);
    if (rc)
        return rc;
    bytes = BLOCK_HEADER_BYTES + h.stored_bytes;
    if (bytes_left(r) < bytes)
        return err_set(err, ERR_CORRUPT, "cut inside a block");
    rc = pair_reader_fill(r, bytes, err);
    if (rc)
        return rc;
    rc = pair_block_open(r->buf + r->begin, &h, r->codec, &r->raw, err);
    r->begin += bytes;
    if (rc)
        buf_clear(&r->raw);
    pair_cursor_start(&r->cursor, buf_slice(&r->raw), rc ? 0 : h.entry_count);
    r->started = true;
    return rc;
}

int pair_reader_open_block(struct pair_reader *r, bool *more, struct err *err)
{
    int rc = open_block(r, more, err);
    if (rc)
        err_wrap(err, "block at offset %llu",
                 (unsigned long long)r->block_offset);
    return rc;
}

int pair_reader_next(struct pair_reader *r, bool *more, struct err *err)
{
    int rc = 0;
    *more = false;
    if (r->started) {
        rc = pair_cursor_next(&r->cursor, more, err);
        if (rc)
            err_wrap(err, "block at offset %llu",
                     (unsigned long long)r->block_offset);
        if (rc || *more)
            return rc;
    }
    rc = pair_reader_open_block(r, more, err);
    if (rc || !*more)
        return rc;
    return pair_cursor_next(&r->cursor, more, err);
}
