/* gzip through zlib, the compression that gRPC clients use. Output is taken
 * step by step, so that a small message cannot claim large memory.
 */
#include "bigtable/gateway/gzip.h"

#include <zlib.h>

#include "base/core/panic.h"

/* Window bits: the largest window, in gzip's frame. */
#define GZIP_WINDOW (15 + 16)
/* A handler compresses on the loop: speed counts. */
#define GZIP_LEVEL 1
#define MEM_LEVEL  8
/* Growth of the output at first; doubled from there. */
#define STEP_BYTES ((size_t)16 << 10)

struct gzip_reader {
    z_stream z;
};

struct gzip_reader *gzip_reader_new(struct slice in)
{
    struct gzip_reader *r = mem_zalloc(1, sizeof(*r));
    PRE(in.len < UINT32_MAX);
    if (inflateInit2(&r->z, GZIP_WINDOW) != Z_OK) {
        mem_free(r);
        return NULL;
    }
    /* zlib reads and never writes there; its type says otherwise. */
    r->z.next_in = (Bytef *)(uintptr_t)in.data;
    r->z.avail_in = (uInt)in.len;
    return r;
}

void gzip_reader_free(struct gzip_reader *r)
{
    if (!r)
        return;
    inflateEnd(&r->z);
    mem_free(r);
}

int gzip_reader_next(struct gzip_reader *r,
                     char *to,
                     size_t room,
                     size_t *made,
                     bool *end,
                     struct err *err)
{
    int rc;
    PRE(room < UINT32_MAX);
    r->z.next_out = (Bytef *)to;
    r->z.avail_out = (uInt)room;
    rc = inflate(&r->z, Z_NO_FLUSH);
    *made = room - r->z.avail_out;
    *end = rc == Z_STREAM_END;
    if (*end || (rc == Z_OK && r->z.avail_out == 0) ||
        (rc == Z_BUF_ERROR && room == 0 && r->z.avail_in > 0))
        return 0;
    return err_set(err, ERR_INVALID, "the message is not gzip");
}

void gzip_compress(struct slice in, struct buf *out)
{
    z_stream z = {.next_in = NULL};
    size_t bound;
    int rc = deflateInit2(&z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, MEM_LEVEL,
                          Z_DEFAULT_STRATEGY);
    PRE(rc == Z_OK && in.len < UINT32_MAX);
    bound = deflateBound(&z, (uLong)in.len);
    z.next_in = (Bytef *)(uintptr_t)in.data;
    z.avail_in = (uInt)in.len;
    z.next_out = (Bytef *)buf_extend(out, bound);
    z.avail_out = (uInt)bound;
    rc = deflate(&z, Z_FINISH);
    INVARIANT(rc == Z_STREAM_END);
    buf_truncate(out, out->len - z.avail_out);
    deflateEnd(&z);
}
