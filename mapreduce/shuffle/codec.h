/* Compression of blocks: zstd at one level, with contexts kept between blocks.
 *
 * One thread per codec. The contexts are made on first use, so that a codec
 * which only reads never pays for a compressor.
 */
#ifndef MAPREDUCE_SHUFFLE_CODEC_H
#define MAPREDUCE_SHUFFLE_CODEC_H

#include <stddef.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/slice.h"

struct codec {
    int level;          /* zstd's; 0 stores. */
    void *compressor;   /* ZSTD_CCtx, or NULL. */
    void *decompressor; /* ZSTD_DCtx, or NULL. */
    struct buf scratch; /* Of codec_compress. */
};

void codec_init(struct codec *c, int level);
void codec_close(struct codec *c);

/* Append @raw, compressed, to @out and return the bytes appended; 0, and
 * nothing appended, when it would not become at least an eighth smaller. */
size_t codec_compress(struct codec *c, struct slice raw, struct buf *out);

/* Decompress @stored into exactly @raw_bytes bytes at @raw. ERR_CORRUPT. */
MUST_CHECK int codec_decompress(struct codec *c,
                                struct slice stored,
                                char *raw,
                                size_t raw_bytes,
                                struct err *err);

/* A compressed stream of unknown length (a .zst file), piece by piece. */
struct codec_stream;
struct codec_stream *codec_stream_new(void);
void codec_stream_free(struct codec_stream *s); /* NULL is allowed. */
/* Decompress from @in (what is used up is cut off its front) into [dst, dst +
 * cap); *@got bytes were written. *@at_frame_end: a frame just ended, so that
 * the end of input here is no truncation. ERR_CORRUPT. */
MUST_CHECK int codec_stream_step(struct codec_stream *s,
                                 struct slice *in,
                                 char *dst,
                                 size_t cap,
                                 size_t *got,
                                 bool *at_frame_end,
                                 struct err *err);

#endif /* MAPREDUCE_SHUFFLE_CODEC_H */
