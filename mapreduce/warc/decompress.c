/* The compression of an archive file: which one it is, its input window and its
 * output buffer. Members are decompressed by decompress_gzip.c and
 * decompress_frames.c.
 */
#include "mapreduce/warc/decompress.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "mapreduce/warc/not_archive.h"

/* The first buffer of decompressed bytes. With a sanitizer it is small, so that
 * a pointer kept into a buffer that moves is caught by every test. */
#if defined(__SANITIZE_ADDRESS__)
#define OUT_BYTES_LEAST ((size_t)4096)
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define OUT_BYTES_LEAST ((size_t)4096)
#endif
#endif
#ifndef OUT_BYTES_LEAST
#define OUT_BYTES_LEAST DECOMPRESS_READ_BYTES
#endif

void decompress_init(struct decompressor *u)
{
    memset(u, 0, sizeof(*u));
}

void decompress_close(struct decompressor *u)
{
    decompress__gzip_close(u);
    decompress__zstd_close(u);
    decompress__lz4_close(u);
    decompress__bzip2_close(u);
    decompress__xz_close(u);
    mem_free(u->in);
    mem_free(u->out);
    mem_free(u->marks);
}

void decompress_start(struct decompressor *u,
                      const struct warc_reader_options *opts)
{
    u->opts = *opts;
    u->kind = DECOMPRESS_UNKNOWN;
    u->in_begin = u->in_end = 0;
    u->in_offset = 0;
    u->in_eof = false;
    u->out_begin = u->out_end = 0;
    u->out_pos = 0;
    u->done = false;
    u->damaged = false;
    u->mark_count = 0;
    u->streaming = false;
    u->end_offset = 0;
    u->loss_open = false;
    u->try_budget = DECOMPRESS_WHOLE_BYTES_MAX;
    decompress__zstd_start(u);
}

void decompress_report(struct decompressor *u,
                       uint64_t offset,
                       bool lost,
                       const char *fmt,
                       ...)
{
    char text[512];
    va_list ap;
    if (!u->opts.on_damage)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    u->opts.on_damage(u->opts.ctx, offset, text, lost);
}

void decompress_report_open_loss(struct decompressor *u, bool told)
{
    if (u->loss_open && !told)
        decompress_report(u, u->loss_offset, true,
                          "what follows in the bad member is lost");
    u->loss_open = false;
}

/* Double @*cap from @least until it holds @need. */
static bool decompress_grow(char **p, size_t *cap, size_t need, size_t least)
{
    size_t n = *cap ? *cap : least;
    char *fresh;
    while (n < need)
        n *= 2;
    if (n == *cap)
        return true;
    fresh = mem_try_alloc(n);
    if (!fresh)
        return false;
    if (*cap)
        memcpy(fresh, *p, *cap);
    mem_free(*p);
    *p = fresh;
    *cap = n;
    return true;
}

/* Move the unused input to the front when the window must take more. The last
 * bytes of a member that is decompressed in steps stay, for
 * decompress__rewind().
 */
static void compact_input(struct decompressor *u)
{
    size_t keep =
        u->streaming ? MIN_OF(u->in_begin, DECOMPRESS_REWIND_BYTES) : 0;
    size_t from = u->in_begin - keep;
    if (from == 0)
        return;
    memmove(u->in, u->in + from, u->in_end - from);
    u->in_offset += from;
    u->in_begin = keep;
    PRE(from <= u->in_end);
    u->in_end -= from;
}

void decompress__rewind(struct decompressor *u)
{
    PRE(u->in_begin <= u->in_end);
    uint64_t at = MAX_OF(u->member_offset, u->in_offset);
    if (at < decompress__in_offset(u))
        u->in_begin = (size_t)(at - u->in_offset);
}

int decompress__input(struct decompressor *u, size_t count, struct err *err)
{
    if (decompress__in_avail(u) >= count || u->in_eof)
        return 0;
    compact_input(u);
    if (!decompress_grow(&u->in, &u->in_cap,
                         u->in_begin + count + DECOMPRESS_READ_BYTES / 2,
                         DECOMPRESS_READ_BYTES + DECOMPRESS_READ_BYTES / 2))
        return err_set(err, ERR_NOMEM, "input window");
    while (decompress__in_avail(u) < count && !u->in_eof) {
        size_t got = 0;
        int rc = u->opts.read(u->opts.ctx, u->in + u->in_end,
                              u->in_cap - u->in_end, &got, err);
        if (rc)
            return rc;
        u->in_end += got;
        INVARIANT(u->in_end <= u->in_cap);
        u->in_eof = got == 0;
    }
    return 0;
}

char *decompress__room(struct decompressor *u, size_t count)
{
    PRE(u->out_begin <= u->out_end);
    size_t left = u->out_end - u->out_begin;
    if (u->out_cap - u->out_end >= count)
        return u->out + u->out_end;
    if (u->out_begin > 0 &&
        (left == 0 || left <= u->out_begin || u->out_cap - left < count)) {
        memmove(u->out, u->out + u->out_begin, left);
        u->out_pos += u->out_begin;
        u->out_begin = 0;
        u->out_end = left;
    }
    if (!decompress_grow(&u->out, &u->out_cap, u->out_end + count,
                         OUT_BYTES_LEAST))
        return NULL;
    return u->out + u->out_end;
}

void decompress__mark(struct decompressor *u,
                      uint64_t file_offset,
                      unsigned flags)
{
    uint64_t pos = u->out_pos + u->out_end;
    if (u->mark_count == u->mark_cap) {
        u->mark_cap = u->mark_cap ? u->mark_cap * 2 : 16;
        u->marks = mem_realloc(u->marks, u->mark_cap * sizeof(*u->marks));
    }
    /* An empty member leaves only a gap before it. */
    if (u->mark_count && u->marks[u->mark_count - 1].pos == pos) {
        struct decompress_mark *m = &u->marks[u->mark_count - 1];
        m->file_offset = file_offset;
        m->flags = (m->flags & DECOMPRESS_GAP) | flags;
        return;
    }
    INVARIANT(u->mark_count == 0 || u->marks[u->mark_count - 1].pos < pos);
    u->marks[u->mark_count++] =
        (struct decompress_mark){pos, file_offset, flags};
}

const struct decompress_mark *decompress_mark_at(const struct decompressor *u,
                                                 uint64_t pos)
{
    size_t lo = 0;
    size_t hi = u->mark_count;
    while (lo + 1 < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (u->marks[mid].pos <= pos)
            lo = mid;
        else
            hi = mid;
    }
    INVARIANT(u->mark_count > 0);
    return &u->marks[lo];
}

const struct decompress_mark *
decompress_mark_from(const struct decompressor *u, uint64_t pos, unsigned flags)
{
    size_t i;
    if (u->mark_count == 0)
        return NULL;
    i = (size_t)(decompress_mark_at(u, pos) - u->marks);
    for (; i < u->mark_count; i++)
        if (u->marks[i].pos >= pos &&
            (flags == 0 || (u->marks[i].flags & flags)))
            return &u->marks[i];
    return NULL;
}

uint64_t decompress_file_offset(const struct decompressor *u, uint64_t pos)
{
    const struct decompress_mark *m;
    if (u->mark_count == 0)
        return u->end_offset;
    m = decompress_mark_at(u, pos);
    if (u->kind == DECOMPRESS_PLAIN && pos >= m->pos)
        return m->file_offset + (pos - m->pos);
    return m->file_offset;
}

bool decompress__is_warc(struct slice s)
{
    static const char magic[] = "warc/";
    for (size_t i = 0; i < 5; i++)
        if (i >= s.len || (i < 4 ? s.data[i] | 0x20 : s.data[i]) != magic[i])
            return false;
    return true;
}

bool decompress__is_record(struct slice s)
{
    while (s.len && (s.data[0] == '\r' || s.data[0] == '\n' || !s.data[0]))
        s = slice_sub(s, 1, s.len);
    if (decompress__is_warc(s))
        return true;
    /* A line of an ARC: "scheme:…". */
    for (size_t i = 0; i < s.len && i < 16; i++) {
        char c = s.data[i];
        if (c == ':')
            return i > 1;
        if (!((c >= 'a' && c <= 'z') || (i && c >= '0' && c <= '9')))
            return false;
    }
    return false;
}

static enum decompress_kind kind_of(const char *p, size_t n)
{
    uint32_t magic;
    if (n < 4)
        return DECOMPRESS_PLAIN;
    magic = get_le32(p);
    if ((magic & 0xFFFFu) == 0x8b1fu)
        return DECOMPRESS_GZIP;
    if (magic == DECOMPRESS_ZSTD_MAGIC || decompress__is_skippable(magic))
        return DECOMPRESS_ZSTD;
    if (magic == DECOMPRESS_LZ4_MAGIC)
        return DECOMPRESS_LZ4;
#if QUARRY_HAVE_BZIP2
    if (decompress__is_bzip2(p, n))
        return DECOMPRESS_BZIP2;
#endif
#if QUARRY_HAVE_LZMA
    if (decompress__is_xz(p, n))
        return DECOMPRESS_XZ;
#endif
    return DECOMPRESS_PLAIN;
}

/* The first bytes begin neither a compression nor a record. If they are those
 * of a damaged member, a good one follows: *@kind is its compression. */
static enum decompress_kind kind_behind_damage(struct decompressor *u)
{
    const char *p = u->in + u->in_begin;
    size_t n = decompress__in_avail(u);
    for (size_t i = 1; i + 4 <= n; i++) {
        if (decompress__is_warc(slice_make(p + i, n - i)) &&
            (p[i - 1] == '\n' || p[i - 1] == '\r'))
            return DECOMPRESS_PLAIN;
        if ((unsigned char)p[i] == 0x1f && decompress__gzip_holds_record(u, i))
            return DECOMPRESS_GZIP;
        if (p[i] == 0x28 &&
            decompress__frame_holds_record(&decompress__zstd_frames, u, i))
            return DECOMPRESS_ZSTD;
        if (p[i] == 0x04 &&
            decompress__frame_holds_record(&decompress__lz4_frames, u, i))
            return DECOMPRESS_LZ4;
    }
    return DECOMPRESS_PLAIN;
}

/* Determine the compression by the first bytes of a member. */
static int decompress_sniff(struct decompressor *u, struct err *err)
{
    struct slice s;
    int rc = decompress__input(u, DECOMPRESS_READ_BYTES / 4, err);
    if (rc)
        return rc;
    s = slice_make(u->in + u->in_begin, decompress__in_avail(u));
    u->kind = kind_of(s.data, s.len);
    if (u->kind == DECOMPRESS_PLAIN && !decompress__is_record(s) &&
        !not_archive_kind(s)) {
        rc = decompress__input(u, DECOMPRESS_TRY_BYTES, err);
        if (rc)
            return rc;
        u->kind = kind_behind_damage(u);
    }
    if (u->kind == DECOMPRESS_PLAIN)
        decompress__mark(u, decompress__in_offset(u), 0);
    return 0;
}

static int plain_step(struct decompressor *u, size_t want, struct err *err)
{
    size_t n = decompress__in_avail(u);
    size_t got = 0;
    size_t room = MAX_OF(MAX_OF(n, DECOMPRESS_STEP_BYTES), want);
    char *to = decompress__room(u, room);
    int rc = 0;
    if (!to)
        return err_set(err, ERR_NOMEM, "a record of %zu bytes", room);
    if (n) {
        memcpy(to, u->in + u->in_begin, n);
        u->in_begin += n;
        got = n;
    } else if (!u->in_eof) {
        rc = u->opts.read(u->opts.ctx, to, u->out_cap - u->out_end, &got, err);
        u->in_offset += got;
    }
    u->out_end += got;
    u->end_offset = u->in_offset + u->in_begin;
    u->done = got == 0;
    return rc;
}

int decompress_need(struct decompressor *u, size_t count, struct err *err)
{
    int rc = 0;
    while (rc == 0 && !u->done && decompress_avail(u) < count) {
        if (u->kind == DECOMPRESS_UNKNOWN)
            rc = decompress_sniff(u, err);
        else if (u->kind == DECOMPRESS_GZIP)
            rc = decompress__gzip(u, err);
        else if (u->kind == DECOMPRESS_PLAIN)
            rc = plain_step(u, count - decompress_avail(u), err);
        else
            rc = decompress__frames(u, err);
    }
    return rc;
}

/* Drop marks before the first position in the buffer. */
static void drop_marks(struct decompressor *u)
{
    uint64_t pos = decompress_pos(u);
    size_t n = 0;
    while (n + 1 < u->mark_count && u->marks[n + 1].pos <= pos)
        n++;
    if (n == 0)
        return;
    memmove(u->marks, u->marks + n, (u->mark_count - n) * sizeof(*u->marks));
    u->mark_count -= n;
}

void decompress_consume(struct decompressor *u, size_t count)
{
    PRE(count <= decompress_avail(u));
    u->out_begin += count;
    drop_marks(u);
    if (u->out_begin == u->out_end) {
        u->out_pos += u->out_begin;
        u->out_begin = u->out_end = 0;
    }
}

int decompress__resync(struct decompressor *u,
                       uint64_t offset,
                       const char *what,
                       enum decompress_out out,
                       decompress_seek_fn seek,
                       struct err *err)
{
    bool found;
    int rc = seek(u, &found, err);
    if (rc)
        return rc;
    u->damaged = true;
    if (found)
        decompress_report(u, offset, out == DECOMPRESS_OUT_NOTHING,
                          "%s; continued at %llu", what,
                          (unsigned long long)decompress__in_offset(u));
    else
        decompress_report(u, offset, out == DECOMPRESS_OUT_NOTHING,
                          "%s; nothing readable behind it", what);
    if (out == DECOMPRESS_OUT_PART) {
        decompress_report_open_loss(u, false);
        u->loss_open = true;
        u->loss_pos = u->out_pos + u->out_end;
        u->loss_offset = offset;
    }
    decompress__mark(u, decompress__in_offset(u), DECOMPRESS_GAP);
    u->done = !found;
    return 0;
}
