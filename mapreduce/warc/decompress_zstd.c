/* zstd frames, with the dictionary frame that may open a .warc.zst file: a
 * skippable frame 5D2A4D18 containing a dictionary, perhaps compressed itself.
 * Other skippable frames are skipped. */
#include <zstd.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "mapreduce/warc/decompress.h"

#define DICTIONARY_FRAME     0x184D2A5Du
#define DICTIONARY_BYTES_MAX ((size_t)16 << 20)

static ZSTD_DCtx *context_of(struct decompressor *u)
{
    if (!u->zstd) {
        u->zstd = ZSTD_createDCtx();
        INVARIANT(u->zstd);
    }
    return u->zstd;
}

void decompress__zstd_close(struct decompressor *u)
{
    ZSTD_freeDCtx(u->zstd);
    ZSTD_freeDDict(u->dict);
}

void decompress__zstd_start(struct decompressor *u)
{
    if (u->zstd)
        ZSTD_DCtx_reset(u->zstd, ZSTD_reset_session_and_parameters);
    ZSTD_freeDDict(u->dict);
    u->dict = NULL;
}

/* Decompress the first @n bytes of the frame at in[@at], fewer if it is
 * shorter. *@all: the frame has no more. False: it is bad. */
static bool first_bytes(struct decompressor *u,
                        size_t at,
                        char *first,
                        size_t *n,
                        bool *all)
{
    ZSTD_inBuffer in = {u->in + at, MIN_OF(u->in_end - at, (size_t)131075), 0};
    ZSTD_outBuffer out = {first, *n, 0};
    ZSTD_DCtx *z = context_of(u);
    size_t r = 1;
    ZSTD_DCtx_reset(z, ZSTD_reset_session_only);
    while (out.pos < out.size && in.pos < in.size && r != 0) {
        r = ZSTD_decompressStream(z, &out, &in);
        if (ZSTD_isError(r))
            return false;
    }
    *n = out.pos;
    *all = r == 0;
    return true;
}

/* --- frames -------------------------------------------------------------- */

/* A dictionary frame that is itself zstd: its contents into @out. */
static bool decompress_dictionary(struct slice s, struct buf *out)
{
    unsigned long long n = ZSTD_getFrameContentSize(s.data, s.len);
    size_t cap = DICTIONARY_BYTES_MAX;
    size_t r;
    if (n == ZSTD_CONTENTSIZE_ERROR)
        return false;
    if (n != ZSTD_CONTENTSIZE_UNKNOWN)
        cap = n < DICTIONARY_BYTES_MAX ? (size_t)n : 0;
    r = ZSTD_decompress(buf_reserve(out, cap + 1), cap, s.data, s.len);
    if (ZSTD_isError(r))
        return false;
    out->len = r;
    return true;
}

static bool load_dictionary(struct decompressor *u, struct slice s)
{
    struct buf plain = BUF_INIT;
    bool ok = true;
    if (s.len >= 4 && get_le32(s.data) == DECOMPRESS_ZSTD_MAGIC) {
        ok = decompress_dictionary(s, &plain);
        s = buf_slice(&plain);
    }
    if (ok) {
        ZSTD_freeDDict(u->dict);
        u->dict = ZSTD_createDDict(s.data, s.len);
        ok = u->dict &&
             !ZSTD_isError(ZSTD_DCtx_refDDict(context_of(u), u->dict));
    }
    buf_close(&plain);
    return ok;
}

static int decompress_zstd_skip(struct decompressor *u,
                                uint32_t magic,
                                uint32_t n,
                                struct err *err)
{
    int rc;
    if (magic != DICTIONARY_FRAME || n > DICTIONARY_BYTES_MAX)
        return decompress__skip_input(u, (uint64_t)n + 8, err);
    rc = decompress__input(u, (size_t)n + 8, err);
    if (rc)
        return rc;
    if (decompress__in_avail(u) < (size_t)n + 8 ||
        !load_dictionary(u, slice_make(u->in + u->in_begin + 8, n)))
        return decompress__resync(
            u, decompress__in_offset(u), "zstd: bad dictionary frame",
            DECOMPRESS_OUT_NOTHING, decompress__next_frame, err);
    return decompress__skip_input(u, (uint64_t)n + 8, err);
}

static void decompress_zstd_begin(struct decompressor *u)
{
    ZSTD_DCtx_reset(context_of(u), ZSTD_reset_session_only);
}

static const char *decompress_zstd_decode(struct decompressor *u,
                                          char *to,
                                          size_t *used,
                                          size_t *made,
                                          bool *end)
{
    ZSTD_inBuffer in = {u->in + u->in_begin, *used, 0};
    ZSTD_outBuffer out = {to, *made, 0};
    size_t r = ZSTD_decompressStream(u->zstd, &out, &in);
    *used = in.pos;
    *made = out.pos;
    *end = r == 0;
    return ZSTD_isError(r) ? ZSTD_getErrorName(r) : NULL;
}

const struct decompress_frames decompress__zstd_frames = {
    .name = "zstd",
    .magic = DECOMPRESS_ZSTD_MAGIC,
    .magic_mask = 0xffffffffu,
    .first_bytes = first_bytes,
    .begin = decompress_zstd_begin,
    .decode = decompress_zstd_decode,
    .skip = decompress_zstd_skip,
};
