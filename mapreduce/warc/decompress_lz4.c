/* lz4 frames; skippable frames are skipped. Blocks of at most 4 MiB bound the
 * library's memory. */
#include <lz4frame.h>

#include "base/core/panic.h"
#include "mapreduce/warc/decompress.h"

#define FRAME_HEAD_BYTES_LEAST 7
/* Input tried for them: a block is only given out whole. */
#define PROBE_INPUT_BYTES ((size_t)128 << 10)

/* The library's state, ready for a new frame. */
static LZ4F_dctx *context_of(struct decompressor *u)
{
    LZ4F_dctx *z = u->lz4;
    if (!z)
        INVARIANT(
            !LZ4F_isError(LZ4F_createDecompressionContext(&z, LZ4F_VERSION)));
    u->lz4 = z;
    LZ4F_resetDecompressionContext(z);
    return z;
}

void decompress__lz4_close(struct decompressor *u)
{
    LZ4F_freeDecompressionContext(u->lz4);
}

/* Decompress the first @n bytes of the frame at in[@at], fewer if it is
 * shorter. *@all: the frame has no more. False: it is bad. */
static bool first_bytes(struct decompressor *u,
                        size_t at,
                        char *first,
                        size_t *n,
                        bool *all)
{
    LZ4F_dctx *z = context_of(u);
    size_t end = at + MIN_OF(u->in_end - at, PROBE_INPUT_BYTES);
    size_t made = 0;
    size_t r = 1;
    while (made < *n && at < end && r != 0) {
        size_t used = end - at;
        size_t out = *n - made;
        r = LZ4F_decompress(z, first + made, &out, u->in + at, &used, NULL);
        if (LZ4F_isError(r))
            return false;
        at += used;
        made += out;
    }
    *n = made;
    *all = r == 0;
    return true;
}

/* --- frames -------------------------------------------------------------- */

static void decompress_lz4_begin(struct decompressor *u)
{
    context_of(u);
    u->lz4_wants = FRAME_HEAD_BYTES_LEAST;
}

/* A block at a time, so that one is given out before a later checksum fails. */
static const char *decompress_lz4_decode(struct decompressor *u,
                                         char *to,
                                         size_t *used,
                                         size_t *made,
                                         bool *end)
{
    size_t r;
    *used = MIN_OF(*used, u->lz4_wants);
    r = LZ4F_decompress(u->lz4, to, made, u->in + u->in_begin, used, NULL);
    if (LZ4F_isError(r)) {
        *used = *made = 0;
        return LZ4F_getErrorName(r);
    }
    u->lz4_wants = r;
    *end = r == 0;
    return NULL;
}

static int decompress_lz4_skip(struct decompressor *u,
                               uint32_t magic,
                               uint32_t n,
                               struct err *err)
{
    (void)magic;
    return decompress__skip_input(u, (uint64_t)n + 8, err);
}

const struct decompress_frames decompress__lz4_frames = {
    .name = "lz4",
    .magic = DECOMPRESS_LZ4_MAGIC,
    .magic_mask = 0xffffffffu,
    /* A frame whose first block is not whole in the buffer is accepted by its
     * head, which has a checksum that is right. */
    .may_hide_first = true,
    .first_bytes = first_bytes,
    .begin = decompress_lz4_begin,
    .decode = decompress_lz4_decode,
    .skip = decompress_lz4_skip,
};
