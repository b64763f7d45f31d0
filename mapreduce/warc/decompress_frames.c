/* The common part of zstd, lz4, bzip2 and xz: frames that begin with a magic
 * number, and skippable ones or padding between them. Each frame is
 * independent, so that a search can start at any magic number. */
#include <stdio.h>
#include <string.h>

#include "base/core/coding.h"
#include "mapreduce/warc/decompress.h"

#define PROBE_BYTES 512
#define TEXT_BYTES  160

static const struct decompress_frames *frames_of(const struct decompressor *u)
{
    switch (u->kind) {
    case DECOMPRESS_LZ4: return &decompress__lz4_frames;
#if QUARRY_HAVE_BZIP2
    case DECOMPRESS_BZIP2: return &decompress__bzip2_frames;
#else
    case DECOMPRESS_BZIP2:
#endif
#if QUARRY_HAVE_LZMA
    case DECOMPRESS_XZ: return &decompress__xz_frames;
#else
    case DECOMPRESS_XZ:
#endif
    case DECOMPRESS_UNKNOWN:
    case DECOMPRESS_PLAIN:
    case DECOMPRESS_GZIP:
    case DECOMPRESS_ZSTD: break;
    }
    return &decompress__zstd_frames;
}

static bool is_frame(const struct decompress_frames *f, const char *p)
{
    return (get_le32(p) & f->magic_mask) == f->magic;
}

/* --- seeking ------------------------------------------------------------- */

bool decompress__frame_holds_record(const struct decompress_frames *f,
                                    struct decompressor *u,
                                    size_t at)
{
    char first[PROBE_BYTES];
    size_t n = sizeof(first);
    bool all;
    at += u->in_begin;
    return u->in_end - at >= 4 && is_frame(f, u->in + at) &&
           f->first_bytes(u, at, first, &n, &all) &&
           decompress__is_record(slice_make(first, n));
}

static bool decompress_frames_probe(struct decompressor *u, size_t at)
{
    const struct decompress_frames *f = frames_of(u);
    char first[PROBE_BYTES];
    size_t n = sizeof(first);
    bool all;
    return f->first_bytes(u, at, first, &n, &all) &&
           (all || (n == 0 && f->may_hide_first) ||
            decompress__is_record(slice_make(first, n)));
}

int decompress__next_frame(struct decompressor *u, bool *found, struct err *err)
{
    const struct decompress_frames *f = frames_of(u);
    *found = false;
    u->in_begin += u->in_begin < u->in_end;
    for (;;) {
        const char *p;
        size_t n;
        int rc = decompress__input(u, DECOMPRESS_READ_BYTES / 2, err);
        n = decompress__in_avail(u);
        if (rc || n < 4) {
            u->in_begin = u->in_end;
            return rc;
        }
        p = memchr(u->in + u->in_begin, (int)(f->magic & 0xff), n - 3);
        if (!p) {
            u->in_begin += n - 3;
            continue;
        }
        u->in_begin = (size_t)(p - u->in);
        if (is_frame(f, p) && decompress_frames_probe(u, u->in_begin)) {
            *found = true;
            return 0;
        }
        u->in_begin++;
    }
}

/* --- frames -------------------------------------------------------------- */

/* The frame being decompressed is bad, or it is @cut short by the end. The next
 * may have been taken for a part of it. */
static int
bad_frame(struct decompressor *u, const char *why, bool cut, struct err *err)
{
    struct decompress_mark *m = &u->marks[u->mark_count - 1];
    enum decompress_out out = m->pos < u->out_pos + u->out_end
                                  ? DECOMPRESS_OUT_PART
                                  : DECOMPRESS_OUT_NOTHING;
    char what[TEXT_BYTES];
    snprintf(what, sizeof(what), "%s frame: %.100s", frames_of(u)->name, why);
    if (!cut)
        m->flags |= DECOMPRESS_SUSPECT;
    decompress__rewind(u);
    u->streaming = false;
    decompress__mark(u, decompress__in_offset(u), DECOMPRESS_GAP);
    return decompress__resync(u, u->member_offset, what, out,
                              decompress__next_frame, err);
}

int decompress__skip_input(struct decompressor *u,
                           uint64_t count,
                           struct err *err)
{
    while (count > 0) {
        size_t n;
        int rc = decompress__input(u, 1, err);
        if (rc)
            return rc;
        n = decompress__in_avail(u);
        if (n == 0)
            return 0;
        n = count < n ? (size_t)count : n;
        u->in_begin += n;
        count -= n;
    }
    return 0;
}

static int decompress_frames_step(const struct decompress_frames *f,
                                  struct decompressor *u,
                                  struct err *err)
{
    size_t used;
    size_t made = DECOMPRESS_STEP_BYTES;
    bool end = false;
    const char *why;
    int rc = decompress__input(u, DECOMPRESS_STEP_BYTES, err);
    char *to = decompress__room(u, DECOMPRESS_STEP_BYTES);
    if (rc)
        return rc;
    if (!to)
        return err_set(err, ERR_NOMEM, "%s frame", f->name);
    used = decompress__in_avail(u);
    why = f->decode(u, to, &used, &made, &end);
    u->in_begin += used;
    u->out_end += made;
    u->end_offset = decompress__in_offset(u);
    if (why)
        return bad_frame(u, why, false, err);
    if (end)
        u->streaming = false;
    else if (used == 0 && made == 0 && u->in_eof)
        return bad_frame(u, "cut short by the end", true, err);
    return 0;
}

/* There is no frame, not even a skippable one, at this place, or one that is
 * @cut short. */
static int not_a_frame(struct decompressor *u, bool cut, struct err *err)
{
    const char *name = frames_of(u)->name;
    char what[TEXT_BYTES];
    if (cut)
        snprintf(what, sizeof(what), "%s: cut short by the end", name);
    else
        snprintf(what, sizeof(what), "no %s frame here", name);
    return decompress__resync(u, decompress__in_offset(u), what,
                              DECOMPRESS_OUT_NOTHING, decompress__next_frame,
                              err);
}

static int decompress_frames_skip(const struct decompress_frames *f,
                                  struct decompressor *u,
                                  uint32_t magic,
                                  struct err *err)
{
    if (decompress__in_avail(u) < 8)
        return not_a_frame(u, true, err);
    return f->skip(u, magic, get_le32(u->in + u->in_begin + 4), err);
}

/* Less than a magic number is left of the input. */
static int decompress_frames_end(struct decompressor *u)
{
    if (decompress__in_avail(u)) {
        u->damaged = true;
        decompress_report(u, decompress__in_offset(u), true,
                          "%zu stray bytes at the end",
                          decompress__in_avail(u));
    }
    u->done = true;
    return 0;
}

int decompress__frames(struct decompressor *u, struct err *err)
{
    const struct decompress_frames *f = frames_of(u);
    uint32_t magic;
    int rc;
    if (u->streaming)
        return decompress_frames_step(f, u, err);
    rc = decompress__input(u, DECOMPRESS_READ_BYTES / 4, err);
    if (rc)
        return rc;
    if (decompress__in_avail(u) < 4)
        return decompress_frames_end(u);
    magic = get_le32(u->in + u->in_begin);
    if (f->padding_bytes && magic == 0)
        return decompress__skip_input(u, f->padding_bytes, err);
    if (f->skip && decompress__is_skippable(magic))
        return decompress_frames_skip(f, u, magic, err);
    if (u->kind == DECOMPRESS_ZSTD && magic == DECOMPRESS_LZ4_MAGIC) {
        u->kind = DECOMPRESS_LZ4; /* The skipped frame began a file of those. */
        return 0;
    }
    if (!is_frame(f, u->in + u->in_begin))
        return not_a_frame(u, false, err);
    f->begin(u);
    u->member_offset = decompress__in_offset(u);
    u->streaming = true;
    decompress__mark(u, u->member_offset, 0);
    return 0;
}
