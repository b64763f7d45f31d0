/* The packing of an archive file: which one, its input window and its output
 * buffer. Members are the business of unpack_gzip.c and unpack_zstd.c. */
#include "mapreduce/warc/unpack.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"

void unpack_init(struct unpack *u)
{
    memset(u, 0, sizeof(*u));
}

void unpack_close(struct unpack *u)
{
    unpack__gzip_close(u);
    unpack__zstd_close(u);
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

/* Double @*cap from @least until it holds @need. */
static bool grow(char **p, size_t *cap, size_t need, size_t least)
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

/* Move what is left to the front when the window must take more. */
static void compact_input(struct unpack *u)
{
    size_t left = u->in_end - u->in_begin;
    if (u->in_begin == 0)
        return;
    memmove(u->in, u->in + u->in_begin, left);
    u->in_offset += u->in_begin;
    u->in_begin = 0;
    u->in_end = left;
}

int unpack__input(struct unpack *u, size_t count, struct err *err)
{
    if (unpack__in_avail(u) >= count || u->in_eof)
        return 0;
    compact_input(u);
    if (!grow(&u->in, &u->in_cap, count + UNPACK_READ_BYTES / 2,
              UNPACK_READ_BYTES + UNPACK_READ_BYTES / 2))
        return err_set(err, ERR_NOMEM, "input window");
    while (unpack__in_avail(u) < count && !u->in_eof) {
        size_t got = 0;
        int code = u->opts.read(u->opts.ctx, u->in + u->in_end,
                                u->in_cap - u->in_end, &got, err);
        if (code)
            return code;
        u->in_end += got;
        u->in_eof = got == 0;
    }
    return 0;
}

char *unpack__room(struct unpack *u, size_t count)
{
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
    if (!grow(&u->out, &u->out_cap, u->out_end + count, UNPACK_READ_BYTES))
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
    /* An empty member leaves no trace but a gap before it. */
    if (u->mark_count && u->marks[u->mark_count - 1].pos == pos) {
        struct unpack_mark *m = &u->marks[u->mark_count - 1];
        m->file_offset = file_offset;
        m->flags = (m->flags & UNPACK_GAP) | flags;
        return;
    }
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

bool unpack__is_record(struct slice s)
{
    while (s.len && (s.data[0] == '\r' || s.data[0] == '\n' || !s.data[0]))
        s = slice_sub(s, 1, s.len);
    if (slice_starts_with(s, SLICE_LIT("WARC/")))
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

/* Tell the packing by the first bytes of a member. */
static int sniff(struct unpack *u, struct err *err)
{
    const unsigned char *p;
    uint32_t magic;
    int code = unpack__input(u, UNPACK_READ_BYTES / 4, err);
    if (code)
        return code;
    p = (const unsigned char *)u->in + u->in_begin;
    u->kind = UNPACK_PLAIN;
    if (unpack__in_avail(u) >= 4) {
        magic = get_le32((const char *)p);
        if (p[0] == 0x1f && p[1] == 0x8b)
            u->kind = UNPACK_GZIP;
        else if (magic == 0xFD2FB528u || (magic & 0xFFFFFFF0u) == 0x184D2A50u)
            u->kind = UNPACK_ZSTD;
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
    int code = 0;
    if (!to)
        return err_set(err, ERR_NOMEM, "a record of %zu bytes", room);
    if (n) {
        memcpy(to, u->in + u->in_begin, n);
        u->in_begin += n;
        got = n;
    } else if (!u->in_eof) {
        code =
            u->opts.read(u->opts.ctx, to, u->out_cap - u->out_end, &got, err);
        u->in_offset += got;
    }
    u->out_end += got;
    u->end_offset = u->in_offset + u->in_begin;
    u->done = got == 0;
    return code;
}

int unpack_need(struct unpack *u, size_t count, struct err *err)
{
    int code = 0;
    while (code == 0 && !u->done && unpack_avail(u) < count) {
        if (u->kind == UNPACK_UNKNOWN)
            code = sniff(u, err);
        else if (u->kind == UNPACK_GZIP)
            code = unpack__gzip(u, err);
        else if (u->kind == UNPACK_ZSTD)
            code = unpack__zstd(u, err);
        else
            code = plain_step(u, count - unpack_avail(u), err);
    }
    return code;
}

/* Forget marks that no position in the buffer falls under any more. */
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
                   unpack_seek_fn seek,
                   struct err *err)
{
    bool found;
    int code = seek(u, &found, err);
    if (code)
        return code;
    if (found)
        unpack_report(u, offset, true, "%s; went on at %llu", what,
                      (unsigned long long)unpack__in_offset(u));
    else
        unpack_report(u, offset, true, "%s; nothing readable behind it", what);
    unpack__mark(u, unpack__in_offset(u), UNPACK_GAP);
    u->done = !found;
    return 0;
}
