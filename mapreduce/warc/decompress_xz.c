/* xz streams, one after the other, with padding between them. A stream says
 * how much memory it takes; one that wants more than a bound is refused. */
#include "mapreduce/warc/decompress.h"

#if QUARRY_HAVE_LZMA

#include <lzma.h>
#include <string.h>

#include "base/core/panic.h"

/* Enough for xz -9 (65 MiB), four times. */
#define XZ_MEMORY_BYTES_MAX ((uint64_t)256 << 20)
/* Input tried for the first bytes. */
#define PROBE_INPUT_BYTES ((size_t)256 << 10)

static void xz_end(struct decompressor *u)
{
    if (u->xz)
        lzma_end(u->xz);
    mem_free(u->xz);
    u->xz = NULL;
}

/* The library's state, ready for a new stream. */
static lzma_stream *xz_begin(struct decompressor *u)
{
    static const lzma_stream fresh = LZMA_STREAM_INIT;
    lzma_stream *z = u->xz;
    if (!z) {
        z = mem_zalloc(1, sizeof(*z));
        *z = fresh;
        u->xz = z;
    }
    /* A state that is there is used again. */
    INVARIANT(lzma_stream_decoder(z, XZ_MEMORY_BYTES_MAX, 0) == LZMA_OK);
    return z;
}

void decompress__xz_close(struct decompressor *u)
{
    xz_end(u);
}

static bool decompress_xz_first(struct decompressor *u,
                                size_t at,
                                char *first,
                                size_t *n,
                                bool *all)
{
    lzma_stream *z = xz_begin(u);
    lzma_ret r = LZMA_OK;
    z->next_in = (const uint8_t *)u->in + at;
    z->avail_in = MIN_OF(u->in_end - at, PROBE_INPUT_BYTES);
    z->next_out = (uint8_t *)first;
    z->avail_out = *n;
    while (r == LZMA_OK && z->avail_in > 0 && z->avail_out > 0)
        r = lzma_code(z, LZMA_RUN);
    *n -= z->avail_out;
    *all = r == LZMA_STREAM_END;
    return r == LZMA_OK || r == LZMA_STREAM_END;
}

static void decompress_xz_begin(struct decompressor *u)
{
    (void)xz_begin(u);
}

/* Exhaustive for the reader; the library has more codes than a decoder gives.
 */
static const char *xz_why(lzma_ret r)
{
    if (r == LZMA_OK || r == LZMA_STREAM_END || r == LZMA_BUF_ERROR)
        return NULL;
    if (r == LZMA_MEMLIMIT_ERROR)
        return "takes more than 256 MiB of memory to decompress";
    if (r == LZMA_MEM_ERROR)
        return "no memory";
    if (r == LZMA_OPTIONS_ERROR)
        return "written with options that are not known";
    return "bad data or checksum";
}

static const char *decompress_xz_decode(struct decompressor *u,
                                        char *to,
                                        size_t *used,
                                        size_t *made,
                                        bool *end)
{
    lzma_stream *z = u->xz;
    size_t in = *used;
    size_t out = *made;
    lzma_ret r;
    z->next_in = (const uint8_t *)u->in + u->in_begin;
    z->avail_in = in;
    z->next_out = (uint8_t *)to;
    z->avail_out = out;
    r = lzma_code(z, LZMA_RUN);
    *used = in - z->avail_in;
    *made = out - z->avail_out;
    *end = r == LZMA_STREAM_END;
    return xz_why(r);
}

const struct decompress_frames decompress__xz_frames = {
    .name = "xz",
    .magic = DECOMPRESS_XZ_MAGIC,
    .magic_mask = 0xffffffffu,
    .padding_bytes = 4,
    .first_bytes = decompress_xz_first,
    .begin = decompress_xz_begin,
    .decode = decompress_xz_decode,
};

#else

void decompress__xz_close(struct decompressor *u)
{
    (void)u;
}

#endif

bool decompress__is_xz(const char *p, size_t n)
{
    return n >= 6 && memcmp(p, "\xfd\x37\x7a\x58\x5a\x00", 6) == 0;
}
