/* zstd frames, with the dictionary frame that may open a .warc.zst file: a
 * skippable frame 5D2A4D18 holding a dictionary, itself perhaps compressed.
 * Other skippable frames are passed over. */
#include <string.h>

#include <zstd.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "mapreduce/warc/unpack.h"

#define DICTIONARY_FRAME     0x184D2A5Du
#define DICTIONARY_BYTES_MAX ((size_t)16 << 20)
#define PROBE_BYTES          512

static ZSTD_DCtx *context_of(struct unpack *u)
{
    if (!u->zstd) {
        u->zstd = ZSTD_createDCtx();
        INVARIANT(u->zstd);
    }
    return u->zstd;
}

void unpack__zstd_close(struct unpack *u)
{
    ZSTD_freeDCtx(u->zstd);
    ZSTD_freeDDict(u->dict);
}

void unpack__zstd_start(struct unpack *u)
{
    if (u->zstd)
        ZSTD_DCtx_reset(u->zstd, ZSTD_reset_session_and_parameters);
    ZSTD_freeDDict(u->dict);
    u->dict = NULL;
}

/* --- seeking ------------------------------------------------------------ */

/* Unpack the first @n bytes of the frame at in[@at], fewer if it has not so
 * many. *@all: the frame has no more. False when it is bad. */
static bool
first_bytes(struct unpack *u, size_t at, char *first, size_t *n, bool *all)
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

bool unpack__zstd_holds_record(struct unpack *u, size_t at)
{
    char first[PROBE_BYTES];
    size_t n = sizeof(first);
    bool all;
    at += u->in_begin;
    return u->in_end - at >= 4 && get_le32(u->in + at) == UNPACK_ZSTD_MAGIC &&
           first_bytes(u, at, first, &n, &all) &&
           unpack__is_record(slice_make(first, n));
}

static bool probe(struct unpack *u, size_t at)
{
    char first[PROBE_BYTES];
    size_t n = sizeof(first);
    bool all;
    return first_bytes(u, at, first, &n, &all) &&
           (all || unpack__is_record(slice_make(first, n)));
}

static int seek_frame(struct unpack *u, bool *found, struct err *err)
{
    return unpack__seek_frame(u, UNPACK_ZSTD_MAGIC, probe, found, err);
}

/* --- frames ------------------------------------------------------------- */

/* A dictionary frame that is itself zstd: its contents into @out. */
static bool unpack_dictionary(struct slice s, struct buf *out)
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

static bool load_dictionary(struct unpack *u, struct slice s)
{
    struct buf plain = BUF_INIT;
    bool ok = true;
    if (s.len >= 4 && get_le32(s.data) == UNPACK_ZSTD_MAGIC) {
        ok = unpack_dictionary(s, &plain);
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

static int skippable(struct unpack *u, uint32_t magic, struct err *err)
{
    uint64_t offset = unpack__in_offset(u);
    uint32_t n;
    int code;
    if (unpack__in_avail(u) < 8)
        return unpack__resync(u, offset, "zstd: cut short by the end",
                              UNPACK_OUT_NOTHING, seek_frame, err);
    n = get_le32(u->in + u->in_begin + 4);
    if (magic != DICTIONARY_FRAME || n > DICTIONARY_BYTES_MAX)
        return unpack__skip_input(u, (uint64_t)n + 8, err);
    code = unpack__input(u, (size_t)n + 8, err);
    if (code)
        return code;
    if (unpack__in_avail(u) < (size_t)n + 8 ||
        !load_dictionary(u, slice_make(u->in + u->in_begin + 8, n)))
        return unpack__resync(u, offset, "zstd: bad dictionary frame",
                              UNPACK_OUT_NOTHING, seek_frame, err);
    return unpack__skip_input(u, (uint64_t)n + 8, err);
}

static int
bad_frame(struct unpack *u, const char *why, bool cut, struct err *err)
{
    char what[160] = "zstd frame: ";
    strncat(what, why, 100);
    return unpack__bad_frame(u, what, cut, seek_frame, err);
}

static int frame_step(struct unpack *u, struct err *err)
{
    ZSTD_inBuffer in;
    ZSTD_outBuffer out;
    size_t r;
    int code = unpack__input(u, UNPACK_STEP_BYTES, err);
    char *to = unpack__room(u, UNPACK_STEP_BYTES);
    if (code)
        return code;
    if (!to)
        return err_set(err, ERR_NOMEM, "zstd frame");
    in = (ZSTD_inBuffer){u->in + u->in_begin, unpack__in_avail(u), 0};
    out = (ZSTD_outBuffer){to, UNPACK_STEP_BYTES, 0};
    r = ZSTD_decompressStream(u->zstd, &out, &in);
    u->in_begin += in.pos;
    u->out_end += out.pos;
    u->end_offset = unpack__in_offset(u);
    if (ZSTD_isError(r))
        return bad_frame(u, ZSTD_getErrorName(r), false, err);
    if (r == 0)
        u->streaming = false;
    else if (in.size == 0 && u->in_eof && out.pos == 0)
        return bad_frame(u, "cut short by the end", true, err);
    return 0;
}

int unpack__zstd(struct unpack *u, struct err *err)
{
    uint32_t magic;
    int code;
    if (u->streaming)
        return frame_step(u, err);
    code = unpack__input(u, UNPACK_READ_BYTES / 4, err);
    if (code)
        return code;
    if (unpack__in_avail(u) < 4) {
        if (unpack__in_avail(u))
            unpack_report(u, unpack__in_offset(u), true,
                          "%zu stray bytes at the end", unpack__in_avail(u));
        u->done = true;
        return 0;
    }
    magic = get_le32(u->in + u->in_begin);
    if (unpack__is_skippable(magic))
        return skippable(u, magic, err);
    if (magic == UNPACK_LZ4_MAGIC) {
        u->kind = UNPACK_LZ4; /* What was skipped began a file of those. */
        return 0;
    }
    if (magic != UNPACK_ZSTD_MAGIC)
        return unpack__resync(u, unpack__in_offset(u), "no zstd frame here",
                              false, seek_frame, err);
    ZSTD_DCtx_reset(context_of(u), ZSTD_reset_session_only);
    u->member_offset = unpack__in_offset(u);
    u->streaming = true;
    unpack__mark(u, u->member_offset, 0);
    return 0;
}
