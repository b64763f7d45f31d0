/* lz4 frames; skippable frames are passed over. Blocks of at most 4 MiB bound
 * what the library keeps. */
#include <lz4frame.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "mapreduce/warc/unpack.h"

#define PROBE_BYTES            512
#define FRAME_HEAD_BYTES_LEAST 7
/* So much input is tried for them: a block comes out only whole. */
#define PROBE_INPUT_BYTES ((size_t)128 << 10)

/* The library's state, ready for a new frame. */
static LZ4F_dctx *context_of(struct unpack *u)
{
    LZ4F_dctx *z = u->lz4;
    if (!z)
        INVARIANT(
            !LZ4F_isError(LZ4F_createDecompressionContext(&z, LZ4F_VERSION)));
    u->lz4 = z;
    LZ4F_resetDecompressionContext(z);
    return z;
}

void unpack__lz4_close(struct unpack *u)
{
    LZ4F_freeDecompressionContext(u->lz4);
}

/* --- seeking ------------------------------------------------------------ */

/* Unpack the first @n bytes of the frame at in[@at], fewer if it has not so
 * many. *@all: the frame has no more. False when it is bad. */
static bool
first_bytes(struct unpack *u, size_t at, char *first, size_t *n, bool *all)
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

bool unpack__lz4_holds_record(struct unpack *u, size_t at)
{
    char first[PROBE_BYTES];
    size_t n = sizeof(first);
    bool all;
    at += u->in_begin;
    return u->in_end - at >= 4 && get_le32(u->in + at) == UNPACK_LZ4_MAGIC &&
           first_bytes(u, at, first, &n, &all) &&
           unpack__is_record(slice_make(first, n));
}

/* A frame whose first block is not at hand as a whole cannot be told from
 * another: its head has a checksum, and that is right. */
static bool probe(struct unpack *u, size_t at)
{
    char first[PROBE_BYTES];
    size_t n = sizeof(first);
    bool all;
    return first_bytes(u, at, first, &n, &all) &&
           (all || n == 0 || unpack__is_record(slice_make(first, n)));
}

static int seek_frame(struct unpack *u, bool *found, struct err *err)
{
    return unpack__seek_frame(u, UNPACK_LZ4_MAGIC, probe, found, err);
}

/* --- frames ------------------------------------------------------------- */

static int
bad_frame(struct unpack *u, const char *why, bool cut, struct err *err)
{
    char what[160] = "lz4 frame: ";
    strncat(what, why, 100);
    return unpack__bad_frame(u, what, cut, seek_frame, err);
}

/* A block at a time, so that one is there before the checksum behind it fails.
 */
static int frame_step(struct unpack *u, struct err *err)
{
    size_t used;
    size_t made = UNPACK_STEP_BYTES;
    size_t r;
    int code = unpack__input(u, UNPACK_STEP_BYTES, err);
    char *to = unpack__room(u, UNPACK_STEP_BYTES);
    if (code)
        return code;
    if (!to)
        return err_set(err, ERR_NOMEM, "lz4 frame");
    used = MIN_OF(unpack__in_avail(u), u->lz4_wants);
    r = LZ4F_decompress(u->lz4, to, &made, u->in + u->in_begin, &used, NULL);
    if (LZ4F_isError(r))
        return bad_frame(u, LZ4F_getErrorName(r), false, err);
    u->in_begin += used;
    u->out_end += made;
    u->end_offset = unpack__in_offset(u);
    u->lz4_wants = r;
    if (r == 0)
        u->streaming = false;
    else if (used == 0 && made == 0 && u->in_eof)
        return bad_frame(u, "cut short by the end", true, err);
    return 0;
}

static int skippable(struct unpack *u, struct err *err)
{
    uint64_t offset = unpack__in_offset(u);
    if (unpack__in_avail(u) < 8)
        return unpack__resync(u, offset, "lz4: cut short by the end",
                              UNPACK_OUT_NOTHING, seek_frame, err);
    return unpack__skip_input(
        u, (uint64_t)get_le32(u->in + u->in_begin + 4) + 8, err);
}

int unpack__lz4(struct unpack *u, struct err *err)
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
        return skippable(u, err);
    if (magic != UNPACK_LZ4_MAGIC)
        return unpack__resync(u, unpack__in_offset(u), "no lz4 frame here",
                              UNPACK_OUT_NOTHING, seek_frame, err);
    context_of(u);
    u->lz4_wants = FRAME_HEAD_BYTES_LEAST;
    u->member_offset = unpack__in_offset(u);
    u->streaming = true;
    unpack__mark(u, u->member_offset, 0);
    return 0;
}
