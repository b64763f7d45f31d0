/* The compression of an archive file: which one it is, its input window and its
 * output buffer. Members are decompressed by unpack_gzip.c and unpack_frames.c.
 */
#include "mapreduce/warc/unpack.h"

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
#define OUT_BYTES_LEAST UNPACK_READ_BYTES
#endif

void unpack_init(struct unpack *u)
{
    memset(u, 0, sizeof(*u));
}

void unpack_close(struct unpack *u)
{
    unpack__gzip_close(u);
    unpack__zstd_close(u);
    unpack__lz4_close(u);
    mem_free(u->in);
    mem_free(u->out);
    mem_free(u->marks);
}

void unpack_start(struct unpack *u, const struct warc_reader_options *opts)
{
    u->opts = *opts;
    u->kind = UNPACK_UNKNOWN;
    u->in_begin = u->in_end = 0;
    u->in_offset = 0;
    u->in_eof = false;
    u->out_begin = u->out_end = 0;
    u->out_pos = 0;
    u->done = false;
    u->mark_count = 0;
    u->streaming = false;
    u->end_offset = 0;
    u->loss_open = false;
    u->try_budget = UNPACK_WHOLE_BYTES_MAX;
    unpack__zstd_start(u);
}

void unpack_report(struct unpack *u,
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

void unpack_report_open_loss(struct unpack *u, bool told)
{
    if (u->loss_open && !told)
        unpack_report(u, u->loss_offset, true,
                      "what follows in the bad member is lost");
    u->loss_open = false;
}

/* Double @*cap from @least until it holds @need. */
static bool unpack_grow(char **p, size_t *cap, size_t need, size_t least)
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
 * bytes of a member that is decompressed in steps stay, for unpack__rewind().
 */
static void compact_input(struct unpack *u)
{
    size_t keep = u->streaming ? MIN_OF(u->in_begin, UNPACK_REWIND_BYTES) : 0;
    size_t from = u->in_begin - keep;
    if (from == 0)
        return;
    memmove(u->in, u->in + from, u->in_end - from);
    u->in_offset += from;
    u->in_begin = keep;
    PRE(from <= u->in_end);
    u->in_end -= from;
}

void unpack__rewind(struct unpack *u)
{
    PRE(u->in_begin <= u->in_end);
    uint64_t at = MAX_OF(u->member_offset, u->in_offset);
    if (at < unpack__in_offset(u))
        u->in_begin = (size_t)(at - u->in_offset);
}

int unpack__input(struct unpack *u, size_t count, struct err *err)
{
    if (unpack__in_avail(u) >= count || u->in_eof)
        return 0;
    compact_input(u);
    if (!unpack_grow(&u->in, &u->in_cap,
                     u->in_begin + count + UNPACK_READ_BYTES / 2,
                     UNPACK_READ_BYTES + UNPACK_READ_BYTES / 2))
        return err_set(err, ERR_NOMEM, "input window");
    while (unpack__in_avail(u) < count && !u->in_eof) {
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

char *unpack__room(struct unpack *u, size_t count)
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
    if (!unpack_grow(&u->out, &u->out_cap, u->out_end + count, OUT_BYTES_LEAST))
        return NULL;
    return u->out + u->out_end;
}

void unpack__mark(struct unpack *u, uint64_t file_offset, unsigned flags)
{
    uint64_t pos = u->out_pos + u->out_end;
    if (u->mark_count == u->mark_cap) {
        u->mark_cap = u->mark_cap ? u->mark_cap * 2 : 16;
        u->marks = mem_realloc(u->marks, u->mark_cap * sizeof(*u->marks));
    }
    /* An empty member leaves only a gap before it. */
    if (u->mark_count && u->marks[u->mark_count - 1].pos == pos) {
        struct unpack_mark *m = &u->marks[u->mark_count - 1];
        m->file_offset = file_offset;
        m->flags = (m->flags & UNPACK_GAP) | flags;
        return;
    }
    INVARIANT(u->mark_count == 0 || u->marks[u->mark_count - 1].pos < pos);
    u->marks[u->mark_count++] = (struct unpack_mark){pos, file_offset, flags};
}

const struct unpack_mark *unpack_mark_at(const struct unpack *u, uint64_t pos)
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

const struct unpack_mark *
unpack_mark_from(const struct unpack *u, uint64_t pos, unsigned flags)
{
    size_t i;
    if (u->mark_count == 0)
        return NULL;
    i = (size_t)(unpack_mark_at(u, pos) - u->marks);
    for (; i < u->mark_count; i++)
        if (u->marks[i].pos >= pos &&
            (flags == 0 || (u->marks[i].flags & flags)))
            return &u->marks[i];
    return NULL;
}

uint64_t unpack_file_offset(const struct unpack *u, uint64_t pos)
{
    const struct unpack_mark *m;
    if (u->mark_count == 0)
        return u->end_offset;
    m = unpack_mark_at(u, pos);
    if (u->kind == UNPACK_PLAIN && pos >= m->pos)
        return m->file_offset + (pos - m->pos);
    return m->file_offset;
}

bool unpack__is_warc(struct slice s)
{
    static const char magic[] = "warc/";
    for (size_t i = 0; i < 5; i++)
        if (i >= s.len || (i < 4 ? s.data[i] | 0x20 : s.data[i]) != magic[i])
            return false;
    return true;
}

bool unpack__is_record(struct slice s)
{
    while (s.len && (s.data[0] == '\r' || s.data[0] == '\n' || !s.data[0]))
        s = slice_sub(s, 1, s.len);
    if (unpack__is_warc(s))
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

static enum unpack_kind kind_of(const char *p, size_t n)
{
    uint32_t magic;
    if (n < 4)
        return UNPACK_PLAIN;
    magic = get_le32(p);
    if ((magic & 0xFFFFu) == 0x8b1fu)
        return UNPACK_GZIP;
    if (magic == UNPACK_ZSTD_MAGIC || unpack__is_skippable(magic))
        return UNPACK_ZSTD;
    if (magic == UNPACK_LZ4_MAGIC)
        return UNPACK_LZ4;
    return UNPACK_PLAIN;
}

/* The first bytes begin neither a compression nor a record. If they are those
 * of a damaged member, a good one follows: *@kind is its compression. */
static enum unpack_kind kind_behind_damage(struct unpack *u)
{
    const char *p = u->in + u->in_begin;
    size_t n = unpack__in_avail(u);
    for (size_t i = 1; i + 4 <= n; i++) {
        if (unpack__is_warc(slice_make(p + i, n - i)) &&
            (p[i - 1] == '\n' || p[i - 1] == '\r'))
            return UNPACK_PLAIN;
        if ((unsigned char)p[i] == 0x1f && unpack__gzip_holds_record(u, i))
            return UNPACK_GZIP;
        if (p[i] == 0x28 &&
            unpack__frame_holds_record(&unpack__zstd_frames, u, i))
            return UNPACK_ZSTD;
        if (p[i] == 0x04 &&
            unpack__frame_holds_record(&unpack__lz4_frames, u, i))
            return UNPACK_LZ4;
    }
    return UNPACK_PLAIN;
}

/* Determine the compression by the first bytes of a member. */
static int unpack_sniff(struct unpack *u, struct err *err)
{
    struct slice s;
    int rc = unpack__input(u, UNPACK_READ_BYTES / 4, err);
    if (rc)
        return rc;
    s = slice_make(u->in + u->in_begin, unpack__in_avail(u));
    u->kind = kind_of(s.data, s.len);
    if (u->kind == UNPACK_PLAIN && !unpack__is_record(s) &&
        !not_archive_kind(s)) {
        rc = unpack__input(u, UNPACK_TRY_BYTES, err);
        if (rc)
            return rc;
        u->kind = kind_behind_damage(u);
    }
    if (u->kind == UNPACK_PLAIN)
        unpack__mark(u, unpack__in_offset(u), 0);
    return 0;
}

static int plain_step(struct unpack *u, size_t want, struct err *err)
{
    size_t n = unpack__in_avail(u);
    size_t got = 0;
    size_t room = MAX_OF(MAX_OF(n, UNPACK_STEP_BYTES), want);
    char *to = unpack__room(u, room);
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

int unpack_need(struct unpack *u, size_t count, struct err *err)
{
    int rc = 0;
    while (rc == 0 && !u->done && unpack_avail(u) < count) {
        if (u->kind == UNPACK_UNKNOWN)
            rc = unpack_sniff(u, err);
        else if (u->kind == UNPACK_GZIP)
            rc = unpack__gzip(u, err);
        else if (u->kind == UNPACK_ZSTD || u->kind == UNPACK_LZ4)
            rc = unpack__frames(u, err);
        else
            rc = plain_step(u, count - unpack_avail(u), err);
    }
    return rc;
}

/* Drop marks before the first position in the buffer. */
static void drop_marks(struct unpack *u)
{
    uint64_t pos = unpack_pos(u);
    size_t n = 0;
    while (n + 1 < u->mark_count && u->marks[n + 1].pos <= pos)
        n++;
    if (n == 0)
        return;
    memmove(u->marks, u->marks + n, (u->mark_count - n) * sizeof(*u->marks));
    u->mark_count -= n;
}

void unpack_consume(struct unpack *u, size_t count)
{
    PRE(count <= unpack_avail(u));
    u->out_begin += count;
    drop_marks(u);
    if (u->out_begin == u->out_end) {
        u->out_pos += u->out_begin;
        u->out_begin = u->out_end = 0;
    }
}

int unpack__resync(struct unpack *u,
                   uint64_t offset,
                   const char *what,
                   enum unpack_out out,
                   unpack_seek_fn seek,
                   struct err *err)
{
    bool found;
    int rc = seek(u, &found, err);
    if (rc)
        return rc;
    if (found)
        unpack_report(u, offset, out == UNPACK_OUT_NOTHING,
                      "%s; continued at %llu", what,
                      (unsigned long long)unpack__in_offset(u));
    else
        unpack_report(u, offset, out == UNPACK_OUT_NOTHING,
                      "%s; nothing readable behind it", what);
    if (out == UNPACK_OUT_PART) {
        unpack_report_open_loss(u, false);
        u->loss_open = true;
        u->loss_pos = u->out_pos + u->out_end;
        u->loss_offset = offset;
    }
    unpack__mark(u, unpack__in_offset(u), UNPACK_GAP);
    u->done = !found;
    return 0;
}
