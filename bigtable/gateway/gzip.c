/* gzip through zlib: the compression that gRPC clients know. */
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

/* One round of inflate() into new room of @out. */
static int inflate_some(z_stream *z, size_t room, struct buf *out)
{
    size_t before = out->len;
    int rc;
    z->next_out = (Bytef *)buf_extend(out, room);
    z->avail_out = (uInt)room;
    rc = inflate(z, Z_NO_FLUSH);
    buf_truncate(out, before + room - z->avail_out);
    return rc;
}

static int
run_inflate(z_stream *z, size_t bytes_max, struct buf *out, struct err *err)
{
    size_t begin = out->len;
    for (;;) {
        size_t made = out->len - begin;
        size_t room = MIN_OF(MAX_OF(made, STEP_BYTES), bytes_max + 1 - made);
        int rc = inflate_some(z, room, out);
        if (out->len - begin > bytes_max)
            return err_set(err, ERR_TOOBIG,
                           "the message is larger than %zu bytes", bytes_max);
        if (rc == Z_STREAM_END)
            return 0;
        if (rc != Z_OK || (z->avail_in == 0 && z->avail_out > 0))
            return err_set(err, ERR_INVALID, "the message is not gzip");
    }
}

int gzip_uncompress(struct slice in,
                    size_t bytes_max,
                    struct buf *out,
                    struct err *err)
{
    z_stream z = {.next_in = NULL};
    int rc;
    PRE(bytes_max < UINT32_MAX && in.len < UINT32_MAX);
    if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
        return err_set(err, ERR_NOMEM, "no memory to uncompress");
    /* zlib reads and never writes there; its type says otherwise. */
    z.next_in = (Bytef *)(uintptr_t)in.data;
    z.avail_in = (uInt)in.len;
    rc = run_inflate(&z, bytes_max, out, err);
    inflateEnd(&z);
    return rc;
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
