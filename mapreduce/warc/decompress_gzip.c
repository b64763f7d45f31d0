/* gzip members: in one piece by libdeflate while they are small, in steps by
 * zlib otherwise, and the search for the next good one after a bad one. */
#include <libdeflate.h>
#include <string.h>
#define ZLIB_CONST
#include <zlib.h>

#include "base/core/panic.h"
#include "mapreduce/warc/decompress.h"

/* Bytes of a candidate that are decompressed to see whether it is a member. */
#define PROBE_BYTES 512

static struct libdeflate_decompressor *deflate_of(struct decompressor *u)
{
    if (!u->deflate)
        u->deflate = libdeflate_alloc_decompressor();
    INVARIANT(u->deflate);
    return u->deflate;
}

/* The zlib stream, ready for a new member. */
static z_stream *inflate_of(struct decompressor *u)
{
    z_stream *z = u->inflate;
    if (!z) {
        z = u->inflate = mem_zalloc(1, sizeof(*z));
        INVARIANT(inflateInit2(z, 15 + 16) == Z_OK);
    }
    INVARIANT(inflateReset(z) == Z_OK);
    return z;
}

void decompress__gzip_close(struct decompressor *u)
{
    if (u->deflate)
        libdeflate_free_decompressor(u->deflate);
    if (u->inflate)
        inflateEnd(u->inflate);
    mem_free(u->inflate);
}

static bool is_member(const char *p, size_t n)
{
    const unsigned char *b = (const unsigned char *)p;
    return n >= 4 && b[0] == 0x1f && b[1] == 0x8b && b[2] == 8 &&
           (b[3] & 0xe0) == 0;
}

/* --- seeking ------------------------------------------------------------- */

/* Decompress the first @n bytes of the member at in[@at], fewer if it is
 * shorter. Returns zlib's result. */
static int
first_bytes(struct decompressor *u, size_t at, char *first, size_t *n)
{
    z_stream *z = inflate_of(u);
    int zr;
    z->next_in = (const unsigned char *)u->in + at;
    z->avail_in = (unsigned)MIN_OF(u->in_end - at, (size_t)PROBE_BYTES * 8);
    z->next_out = (unsigned char *)first;
    z->avail_out = (unsigned)*n;
    zr = inflate(z, Z_SYNC_FLUSH);
    *n -= z->avail_out;
    return zr;
}

bool decompress__gzip_holds_record(struct decompressor *u, size_t at)
{
    char first[PROBE_BYTES];
    size_t n = sizeof(first);
    at += u->in_begin;
    if (!is_member(u->in + at, u->in_end - at))
        return false;
    first_bytes(u, at, first, &n);
    return decompress__is_record(slice_make(first, n));
}

/* Do the bytes at in[@at] decompress to a record's start, or to a whole sound
 * member? The second test costs more, and so has a budget that grows with the
 * input searched: the search stays linear. */
static bool decompress_gzip_probe(struct decompressor *u, size_t at)
{
    char first[PROBE_BYTES];
    size_t in_used;
    size_t out_used;
    size_t n = sizeof(first);
    int zr = first_bytes(u, at, first, &n);
    char *to;

    if (zr == Z_STREAM_END)
        return true; /* Small, and its checksum is right. */
    if ((zr != Z_OK && zr != Z_BUF_ERROR) || n == 0)
        return false;
    if (decompress__is_record(slice_make(first, n)))
        return true;
    if (u->try_budget < DECOMPRESS_READ_BYTES)
        return false;
    u->try_budget -= DECOMPRESS_READ_BYTES;
    to = decompress__room(u, DECOMPRESS_READ_BYTES);
    return to && libdeflate_gzip_decompress_ex(deflate_of(u), u->in + at,
                                               u->in_end - at, to,
                                               DECOMPRESS_READ_BYTES, &in_used,
                                               &out_used) == LIBDEFLATE_SUCCESS;
}

/* Advance to the next good member after the byte at in_begin. False at the end
 * of the input. */
static int seek_member(struct decompressor *u, bool *found, struct err *err)
{
    int rc;
    *found = false;
    u->in_begin += u->in_begin < u->in_end;
    for (;;) {
        const char *p;
        size_t n;
        rc = decompress__input(u, DECOMPRESS_READ_BYTES, err);
        n = decompress__in_avail(u);
        if (rc || n < 4) {
            u->in_begin = u->in_end;
            return rc;
        }
        p = memchr(u->in + u->in_begin, 0x1f, n - 3);
        if (!p) {
            u->in_begin += n - 3;
            u->try_budget += n - 3;
            continue;
        }
        u->try_budget += (size_t)(p - u->in) - u->in_begin + 1;
        u->in_begin = (size_t)(p - u->in);
        if (is_member(p, u->in_end - u->in_begin) &&
            decompress_gzip_probe(u, u->in_begin)) {
            *found = true;
            return 0;
        }
        u->in_begin++;
    }
}

/* --- members ------------------------------------------------------------- */

static void member_done(struct decompressor *u, size_t in_used, size_t out_used)
{
    u->in_begin += in_used;
    u->out_end += out_used;
    u->end_offset = decompress__in_offset(u);
}

enum whole {
    WHOLE_DONE,
    WHOLE_TOO_BIG,
    WHOLE_BAD
};

/* Try the member at in_begin in one piece. */
static enum whole
try_whole(struct decompressor *u, size_t *in_used, size_t *out_used)
{
    size_t room = MAX_OF(u->out_cap - u->out_end, DECOMPRESS_READ_BYTES);
    for (;; room *= 4) {
        enum libdeflate_result r;
        char *to;
        if (room > DECOMPRESS_WHOLE_BYTES_MAX)
            room = DECOMPRESS_WHOLE_BYTES_MAX;
        to = decompress__room(u, room);
        if (!to)
            return WHOLE_TOO_BIG;
        r = libdeflate_gzip_decompress_ex(deflate_of(u), u->in + u->in_begin,
                                          decompress__in_avail(u), to, room,
                                          in_used, out_used);
        if (r == LIBDEFLATE_SUCCESS)
            return WHOLE_DONE;
        if (r == LIBDEFLATE_INSUFFICIENT_SPACE &&
            room < DECOMPRESS_WHOLE_BYTES_MAX)
            continue;
        return r == LIBDEFLATE_BAD_DATA ? WHOLE_BAD : WHOLE_TOO_BIG;
    }
}

/* The member at in_begin takes all the remaining input. Does another with a
 * record start inside, so that it is damaged and not cut? */
static bool holds_another(struct decompressor *u)
{
    size_t n = decompress__in_avail(u);
    const char *p = u->in + u->in_begin;
    size_t at = 1;
    while (at < n) {
        const char *hit = memchr(p + at, 0x1f, n - at);
        if (!hit)
            return false;
        at = (size_t)(hit - p);
        if (decompress__gzip_holds_record(u, at))
            return true;
        at++;
    }
    return false;
}

/* The member failed as a whole: keep its output up to the fault. Output under a
 * failed checksum is suspect, output of a member that was cut is not. One that
 * proves to be just large continues in steps. */
static int decompress_gzip_salvage(struct decompressor *u, struct err *err)
{
    uint64_t offset = decompress__in_offset(u);
    z_stream *z = inflate_of(u);
    enum decompress_out out = DECOMPRESS_OUT_NOTHING;
    const char *what = "gzip member: bad data";
    size_t made = 0;
    int zr = Z_OK;
    z->next_in = (const unsigned char *)u->in + u->in_begin;
    z->avail_in = (unsigned)decompress__in_avail(u);
    while (zr == Z_OK && made < DECOMPRESS_WHOLE_BYTES_MAX) {
        char *to = decompress__room(u, DECOMPRESS_STEP_BYTES);
        if (!to)
            return err_set(err, ERR_NOMEM, "gzip member");
        z->next_out = (unsigned char *)to;
        z->avail_out = (unsigned)DECOMPRESS_STEP_BYTES;
        zr = inflate(z, Z_SYNC_FLUSH);
        u->out_end += DECOMPRESS_STEP_BYTES - z->avail_out;
        made += DECOMPRESS_STEP_BYTES - z->avail_out;
    }
    if (zr == Z_OK || (zr == Z_BUF_ERROR && !u->in_eof)) {
        u->in_begin = u->in_end - z->avail_in;
        u->member_offset = offset;
        u->streaming = true;
        return 0;
    }
    if (zr == Z_BUF_ERROR && !holds_another(u)) {
        u->damaged = true;
        decompress_report(u, offset, true, "gzip member: cut short by the end");
        u->in_begin = u->in_end;
        decompress__mark(u, decompress__in_offset(u), DECOMPRESS_GAP);
        u->done = true;
        return 0;
    }
    if (made)
        out = DECOMPRESS_OUT_PART;
    if (z->msg && strstr(z->msg, "check")) {
        what = "gzip member: bad checksum";
        out = DECOMPRESS_OUT_ALL;
    }
    u->marks[u->mark_count - 1].flags |= DECOMPRESS_SUSPECT;
    return decompress__resync(u, offset, what, out, seek_member, err);
}

static void stream_start(struct decompressor *u)
{
    inflate_of(u);
    u->member_offset = decompress__in_offset(u);
    u->streaming = true;
}

/* Decompress one step of a large member. */
static int stream_step(struct decompressor *u, struct err *err)
{
    z_stream *z = u->inflate;
    char *to;
    size_t n;
    int zr;
    int rc = decompress__input(u, DECOMPRESS_STEP_BYTES, err);
    if (rc)
        return rc;
    to = decompress__room(u, DECOMPRESS_STEP_BYTES);
    if (!to)
        return err_set(err, ERR_NOMEM, "gzip member");
    z->next_in = (const unsigned char *)u->in + u->in_begin;
    z->avail_in = (unsigned)decompress__in_avail(u);
    z->next_out = (unsigned char *)to;
    z->avail_out = (unsigned)DECOMPRESS_STEP_BYTES;
    zr = inflate(z, Z_NO_FLUSH);
    n = DECOMPRESS_STEP_BYTES - z->avail_out;
    member_done(u, decompress__in_avail(u) - z->avail_in, n);
    if (zr == Z_OK || (zr == Z_BUF_ERROR && !(u->in_eof && n == 0)))
        return 0;
    u->streaming = false;
    if (zr == Z_STREAM_END)
        return 0;
    if (zr == Z_BUF_ERROR) {
        u->damaged = true;
        decompress_report(u, u->member_offset, true,
                          "gzip member: cut short by the end");
        decompress__mark(u, decompress__in_offset(u), DECOMPRESS_GAP);
        u->done = true;
        return 0;
    }
    decompress__rewind(u);
    return decompress__resync(u, u->member_offset,
                              "gzip member: bad data or checksum",
                              DECOMPRESS_OUT_PART, seek_member, err);
}

/* Bytes between members: padding is skipped, garbage reported. */
static int decompress_gzip_between(struct decompressor *u, struct err *err)
{
    uint64_t offset = decompress__in_offset(u);
    size_t zeros = 0;
    const char *p;
    int rc;
    do {
        rc = decompress__input(u, DECOMPRESS_READ_BYTES / 4, err);
        while (u->in_begin < u->in_end && u->in[u->in_begin] == '\0') {
            u->in_begin++;
            zeros++;
        }
    } while (rc == 0 && u->in_begin == u->in_end && !u->in_eof);
    if (rc)
        return rc;
    if (zeros)
        decompress_report(u, offset, false,
                          "%zu NUL bytes between gzip members", zeros);
    p = u->in + u->in_begin;
    if (u->in_begin == u->in_end)
        u->done = true;
    else if (decompress__is_warc(slice_make(p, decompress__in_avail(u))))
        u->kind = DECOMPRESS_UNKNOWN; /* The rest is not compressed. */
    else if (!is_member(p, decompress__in_avail(u)))
        return decompress__resync(u, decompress__in_offset(u),
                                  "no gzip member here", DECOMPRESS_OUT_NOTHING,
                                  seek_member, err);
    return 0;
}

int decompress__gzip(struct decompressor *u, struct err *err)
{
    size_t in_used = 0;
    size_t out_used = 0;
    enum whole w;
    int rc;
    if (u->streaming)
        return stream_step(u, err);
    rc = decompress__input(u, DECOMPRESS_READ_BYTES / 2, err);
    if (rc)
        return rc;
    if (!is_member(u->in + u->in_begin, decompress__in_avail(u)))
        return decompress_gzip_between(u, err);
    w = try_whole(u, &in_used, &out_used);
    if (w == WHOLE_BAD && !u->in_eof) {
        rc = decompress__input(u, DECOMPRESS_TRY_BYTES, err);
        if (rc)
            return rc;
        w = try_whole(u, &in_used, &out_used);
    }
    decompress__mark(u, decompress__in_offset(u), 0);
    if (w == WHOLE_DONE)
        member_done(u, in_used, out_used);
    else if (w == WHOLE_BAD)
        return decompress_gzip_salvage(u, err);
    else
        stream_start(u);
    return 0;
}
