/* Compression of blocks: zstd at one level, with contexts kept between blocks.
 *
 * Blocks may be encrypted after they are compressed (base/crypt/sealer.h).
 *
 * One thread per codec. The contexts are made on first use, so that a codec
 * which only reads never pays for a compressor. Nothing here parks.
 */
#ifndef MAPREDUCE_RECORDS_BLOCK_CODEC_H
#define MAPREDUCE_RECORDS_BLOCK_CODEC_H

#include <stddef.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct keyring;
struct unit_opener;
struct unit_sealer;

struct block_codec {
    int level;          /* zstd's; 0 stores. */
    void *compressor;   /* ZSTD_CCtx, or NULL. */
    void *decompressor; /* ZSTD_DCtx, or NULL. */
    struct unit_sealer
        *sealer; /* Of written blocks; NULL: they are not encrypted. Owned. */
    struct unit_opener *opener; /* Of encrypted blocks. Owned; NULL: none. */
    struct buf scratch;         /* A decrypted block. */
};

void block_codec_init(struct block_codec *c, int level);
void block_codec_close(struct block_codec *c);
/* Encrypt the blocks that are written with @k, and decrypt those that are read.
 * Takes a reference of @k. Errors: those of unit_sealer_new(). */
MUST_CHECK int
block_codec_encrypt(struct block_codec *c, struct keyring *k, struct err *err);

/* Append @raw, compressed, to @out and return the bytes appended; 0, and
 * nothing appended, when it would not become at least an eighth smaller. */
size_t
block_codec_compress(struct block_codec *c, struct slice raw, struct buf *out);

/* Decompress @stored into exactly @raw_bytes bytes at @raw. ERR_CORRUPT. */
MUST_CHECK int block_codec_decompress(struct block_codec *c,
                                      struct slice stored,
                                      char *raw,
                                      size_t raw_bytes,
                                      struct err *err);

/* A compressed stream of unknown length (a .zst file), piece by piece. */
struct zstd_stream;
struct zstd_stream *zstd_stream_new(void);
void zstd_stream_free(struct zstd_stream *s); /* NULL is allowed. */
/* Decompress from @in (consumed bytes are cut off its front) into [dst, dst +
 * cap); *@got bytes were written. *@at_frame_end: a frame just ended, so that
 * the end of input here is not a truncation. ERR_CORRUPT. */
MUST_CHECK int zstd_stream_step(struct zstd_stream *s,
                                struct slice *in,
                                char *dst,
                                size_t cap,
                                size_t *got,
                                bool *at_frame_end,
                                struct err *err);

#endif /* MAPREDUCE_RECORDS_BLOCK_CODEC_H */
