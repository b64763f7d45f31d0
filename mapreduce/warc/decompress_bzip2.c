/* bzip2 streams, one after the other as pbzip2 writes them. The library's
 * memory is bounded by the format: 3.7 MiB. */
#include "mapreduce/warc/decompress.h"

#if QUARRY_HAVE_BZIP2

#include <bzlib.h>
#include <string.h>

#include "base/core/panic.h"

/* Input tried for the first bytes: a block is decoded whole. */
#define PROBE_INPUT_BYTES ((size_t)1 << 20)

static void bzip2_end(struct decompressor *u)
{
    if (u->bzip2)
        BZ2_bzDecompressEnd(u->bzip2);
    mem_free(u->bzip2);
    u->bzip2 = NULL;
}

/* The library's state, ready for a new stream. */
static bz_stream *bzip2_begin(struct decompressor *u)
{
    bz_stream *z = mem_zalloc(1, sizeof(*z));
    bzip2_end(u);
    INVARIANT(BZ2_bzDecompressInit(z, 0, 0) == BZ_OK);
    u->bzip2 = z;
    return z;
}

void decompress__bzip2_close(struct decompressor *u)
{
    bzip2_end(u);
}

static bool decompress_bzip2_first(struct decompressor *u,
                                   size_t at,
                                   char *first,
                                   size_t *n,
                                   bool *all)
{
    bz_stream *z = bzip2_begin(u);
    int r = BZ_OK;
    z->next_in = u->in + at;
    z->avail_in = (unsigned)MIN_OF(u->in_end - at, PROBE_INPUT_BYTES);
    z->next_out = first;
    z->avail_out = (unsigned)*n;
    while (r == BZ_OK && z->avail_in > 0 && z->avail_out > 0)
        r = BZ2_bzDecompress(z);
    *n -= z->avail_out;
    *all = r == BZ_STREAM_END;
    return r == BZ_OK || r == BZ_STREAM_END;
}

static void decompress_bzip2_begin(struct decompressor *u)
{
    (void)bzip2_begin(u);
}

static const char *decompress_bzip2_decode(struct decompressor *u,
                                           char *to,
                                           size_t *used,
                                           size_t *made,
                                           bool *end)
{
    bz_stream *z = u->bzip2;
    unsigned in = (unsigned)*used;
    unsigned out = (unsigned)*made;
    int r;
    z->next_in = u->in + u->in_begin;
    z->avail_in = in;
    z->next_out = to;
    z->avail_out = out;
    r = BZ2_bzDecompress(z);
    *used = in - z->avail_in;
    *made = out - z->avail_out;
    *end = r == BZ_STREAM_END;
    if (r == BZ_MEM_ERROR)
        return "no memory";
    return r == BZ_OK || r == BZ_STREAM_END ? NULL : "bad data or checksum";
}

const struct decompress_frames decompress__bzip2_frames = {
    .name = "bzip2",
    .magic = DECOMPRESS_BZIP2_MAGIC,
    .magic_mask = 0x00ffffffu,
    /* A block's first bytes come with its last. */
    .may_hide_first = true,
    .first_bytes = decompress_bzip2_first,
    .begin = decompress_bzip2_begin,
    .decode = decompress_bzip2_decode,
};

#else

void decompress__bzip2_close(struct decompressor *u)
{
    (void)u;
}

#endif

/* "BZh", the size of its blocks, and the mark of a block or of the end. */
bool decompress__is_bzip2(const char *p, size_t n)
{
    return n >= 10 && memcmp(p, "BZh", 3) == 0 && p[3] >= '1' && p[3] <= '9' &&
           (memcmp(p + 4, "\x31\x41\x59\x26\x53\x59", 6) == 0 ||
            memcmp(p + 4, "\x17\x72\x45\x38\x50\x90", 6) == 0);
}
