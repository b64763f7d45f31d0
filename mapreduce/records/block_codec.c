/* zstd contexts, and the sealing of encrypted blocks. A context costs more to
 * make than a block to compress, so each codec keeps one of each direction for
 * its life. The only file of the shuffle and the record files that includes
 * zstd.h. */
#include "mapreduce/records/block_codec.h"

#include <zstd.h>

#include "base/core/panic.h"
#include "base/crypt/sealer.h"

/* The largest window accepted of a .zst file: the one `zstd --long=27` writes.
 */
#define STREAM_WINDOW_LOG_MAX 27

#define PACKER_PURPOSE "quarry block of pairs"

struct zstd_stream {
    ZSTD_DStream *d;
};

void block_codec_init(struct block_codec *c, int level)
{
    *c = (struct block_codec){.level = level};
}

void block_codec_close(struct block_codec *c)
{
    ZSTD_freeCCtx(c->compressor);
    ZSTD_freeDCtx(c->decompressor);
    buf_close(&c->scratch);
    unit_sealer_free(c->sealer);
    unit_opener_free(c->opener);
    c->sealer = NULL;
    c->opener = NULL;
    c->compressor = NULL;
    c->decompressor = NULL;
}

int block_codec_encrypt(struct block_codec *c,
                        struct keyring *k,
                        struct err *err)
{
    PRE(!c->sealer);
    c->opener = unit_opener_new(k, PACKER_PURPOSE);
    return unit_sealer_new(k, PACKER_PURPOSE, &c->sealer, err);
}

size_t
block_codec_compress(struct block_codec *c, struct slice raw, struct buf *out)
{
    size_t bound = ZSTD_compressBound(raw.len);
    size_t n;
    if (c->level == 0)
        return 0;
    if (!c->compressor) {
        c->compressor = ZSTD_createCCtx();
        if (!c->compressor)
            PANIC("no memory for a zstd context");
    }
    n = ZSTD_compressCCtx(c->compressor, buf_reserve(out, bound), bound,
                          raw.data, raw.len, c->level);
    if (ZSTD_isError(n) || n > raw.len - raw.len / 8)
        return 0;
    buf_extend(out, n);
    return n;
}

int block_codec_decompress(struct block_codec *c,
                           struct slice stored,
                           char *raw,
                           size_t raw_bytes,
                           struct err *err)
{
    size_t n;
    if (!c->decompressor) {
        c->decompressor = ZSTD_createDCtx();
        if (!c->decompressor)
            return err_set(err, ERR_NOMEM, "no memory for a zstd context");
    }
    n = ZSTD_decompressDCtx(c->decompressor, raw, raw_bytes, stored.data,
                            stored.len);
    if (ZSTD_isError(n))
        return err_set(err, ERR_CORRUPT, "zstd: %s", ZSTD_getErrorName(n));
    if (n != raw_bytes)
        return err_set(err, ERR_CORRUPT, "zstd: %zu bytes instead of %zu", n,
                       raw_bytes);
    return 0;
}

struct zstd_stream *zstd_stream_new(void)
{
    struct zstd_stream *s = mem_zalloc(1, sizeof(*s));
    s->d = ZSTD_createDStream();
    if (!s->d)
        PANIC("no memory for a zstd stream");
    ZSTD_DCtx_setParameter(s->d, ZSTD_d_windowLogMax, STREAM_WINDOW_LOG_MAX);
    return s;
}

void zstd_stream_free(struct zstd_stream *s)
{
    if (s)
        ZSTD_freeDStream(s->d);
    mem_free(s);
}

int zstd_stream_step(struct zstd_stream *s,
                     struct slice *in,
                     char *dst,
                     size_t cap,
                     size_t *got,
                     bool *at_frame_end,
                     struct err *err)
{
    ZSTD_inBuffer src = {in->data, in->len, 0};
    ZSTD_outBuffer out = {dst, cap, 0};
    size_t n = ZSTD_decompressStream(s->d, &out, &src);
    if (ZSTD_isError(n))
        return err_set(err, ERR_CORRUPT, "zstd: %s", ZSTD_getErrorName(n));
    *got = out.pos;
    *at_frame_end = n == 0;
    in->data += src.pos;
    in->len -= src.pos;
    return 0;
}
