/* Where records start, and the way back to the next one after damage. A start
 * must look like one in several ways at once (record type, version, separator
 * before it): "WARC/1.0" also occurs in the text of pages. */
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/core/macros.h"
#include "mapreduce/warc/reader_internal.h"

/* --- bounds of what is at hand ------------------------------------------- */

size_t reader__joined(const struct warc_reader *r, bool *gap)
{
    uint64_t pos = decompress_pos(&r->u);
    const struct decompress_mark *m =
        decompress_mark_from(&r->u, pos + 1, DECOMPRESS_GAP);
    size_t avail = decompress_avail(&r->u);
    *gap = m && m->pos - pos <= avail;
    return *gap ? (size_t)(m->pos - pos) : avail;
}

bool reader__is_member_start(const struct warc_reader *r, size_t at)
{
    uint64_t pos = decompress_pos(&r->u) + at;
    const struct decompress_mark *m = decompress_mark_from(&r->u, pos, 0);
    return m && m->pos == pos;
}

bool reader__ends_member(const struct warc_reader *r)
{
    return r->u.done || (r->u.kind != DECOMPRESS_PLAIN && !r->u.streaming);
}

/* --- finding a record's start -------------------------------------------- */

bool reader__arc_starts(struct warc_reader *r, struct slice s)
{
    size_t n;
    if (!decompress__is_record(slice_sub(s, 0, START_BYTES)) ||
        reader__is_separator(s.data[0]))
        return false;
    s = slice_sub(s, 0, HEAD_ARC_LINE_BYTES_MAX);
    n = slice_find_byte(s, '\n');
    return n < s.len && head_arc_parse(slice_sub(s, 0, n), true, &r->probe);
}

static bool starts_at(struct warc_reader *r, struct slice all, size_t at)
{
    struct slice s = slice_sub(all, at, all.len);
    if (r->format != FORMAT_ARC && head_warc_starts(s))
        return true;
    return r->format != FORMAT_WARC && reader__arc_starts(r, s);
}

#if defined(__SSE2__)
/* Which of the 16 bytes at @p are @letter in any case? */
static __m128i is_letter_at(const char *p, char letter)
{
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    return _mm_cmpeq_epi8(_mm_or_si128(v, _mm_set1_epi8(0x20)),
                          _mm_set1_epi8(letter));
}

/* Skip from @i to the next "war" in any case, as long as 18 bytes are left to
 * look at. */
static size_t skip_to_war(struct slice s, size_t i)
{
    for (; i + 18 <= s.len; i += 16) {
        __m128i w = is_letter_at(s.data + i, 'w');
        unsigned mask;
        w = _mm_and_si128(w, is_letter_at(s.data + i + 1, 'a'));
        w = _mm_and_si128(w, is_letter_at(s.data + i + 2, 'r'));
        mask = (unsigned)_mm_movemask_epi8(w);
        if (mask)
            return i + (size_t)__builtin_ctz(mask);
    }
    return i;
}
#else
static size_t skip_to_war(struct slice s, size_t i)
{
    (void)s;
    return i;
}
#endif

/* The next place from @i on that may be the "WARC/" of a record's start. */
static size_t skip_to_w(struct slice s, size_t i)
{
    i = skip_to_war(s, i);
    while (i < s.len && (s.data[i] | 0x20) != 'w')
        i++;
    return i;
}

size_t reader__find_start(struct warc_reader *r,
                          struct slice all,
                          size_t from,
                          bool blank)
{
    size_t i = from;
    while (i < all.len) {
        if (r->format == FORMAT_WARC)
            i = skip_to_w(all, i);
        if (i == all.len)
            return all.len;
        if (i > 0 && reader__is_separator(all.data[i - 1]) &&
            (!blank || r->format == FORMAT_ARC || i < 2 ||
             all.data[i - 1] == '\0' || all.data[i - 2] == '\n' ||
             (all.data[i - 2] == '\r' && i > 2 && all.data[i - 3] == '\n')) &&
            starts_at(r, all, i))
            return i;
        if (reader__is_member_start(r, i) && starts_at(r, all, i))
            return i;
        i++;
        if (r->format != FORMAT_WARC) {
            /* Only line starts can matter, or member starts. */
            const struct decompress_mark *m =
                decompress_mark_from(&r->u, decompress_pos(&r->u) + i, 0);
            size_t stop = all.len;
            if (m && m->pos - decompress_pos(&r->u) < stop)
                stop = (size_t)(m->pos - decompress_pos(&r->u));
            while (i < stop && !reader__is_separator(all.data[i - 1]))
                i++;
        }
    }
    return all.len;
}

/* Has the damage at the position been reported with its member? */
static bool is_known_damage(const struct warc_reader *r)
{
    uint64_t pos = decompress_pos(&r->u);
    const struct decompress_mark *m = decompress_mark_at(&r->u, pos);
    bool gap;
    reader__joined(r, &gap);
    return gap || (m->pos <= pos && m->flags);
}

void reader__told(struct warc_reader *r)
{
    uint64_t pos = decompress_pos(&r->u);
    const struct decompress_mark *m = decompress_mark_from(&r->u, pos + 1, 0);
    r->told_until = (m ? m->pos : pos + decompress_avail(&r->u)) + 1;
}

/* Is @s, which follows a record, the rest of a separator with one damaged byte?
 * The first byte of another record is not. */
static bool is_bad_separator(const struct warc_reader *r,
                             struct slice s,
                             bool starts_member)
{
    size_t wrong = 0;
    char c = s.len ? s.data[0] : '\0';
    bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
    for (size_t i = 0; i < s.len; i++)
        wrong += !reader__is_separator(s.data[i]);
    return s.len <= RECORD_SEPARATOR_BYTES && wrong == 1 && !starts_member &&
           r->record_count > 0 &&
           !(r->format == FORMAT_ARC ? letter : (c | 0x20) == 'w');
}

int reader__resync(struct warc_reader *r, const char *why, struct err *err)
{
    uint64_t offset = decompress_file_offset(&r->u, decompress_pos(&r->u));
    bool told = decompress_pos(&r->u) < r->told_until;
    bool starts_member = reader__is_member_start(r, 0);
    bool lost = true;
    uint64_t skipped = 0;
    size_t from = 1;
    if (!told && is_known_damage(r))
        reader__told(r);
    for (;;) {
        struct slice all;
        size_t at;
        size_t keep;
        int rc = decompress_need(&r->u, DECOMPRESS_STEP_BYTES, err);
        if (rc)
            return rc;
        all = slice_make(decompress_data(&r->u), decompress_avail(&r->u));
        at = reader__find_start(r, all, MIN_OF(from, all.len), false);
        if (at < all.len || r->u.done) {
            if (skipped == 0)
                lost =
                    !is_bad_separator(r, slice_sub(all, 0, at), starts_member);
            skipped += at;
            decompress_consume(&r->u, at);
            break;
        }
        /* A start may lie across the end of the buffer. */
        keep = r->format == FORMAT_WARC ? START_BYTES : HEAD_ARC_LINE_BYTES_MAX;
        at = all.len > keep + 1 ? all.len - keep : 0;
        skipped += at;
        decompress_consume(&r->u, at);
        from = at ? 0 : all.len;
        rc = decompress_need(
            &r->u, decompress_avail(&r->u) + DECOMPRESS_STEP_BYTES, err);
        if (rc)
            return rc;
        from = 0;
    }
    if (!told)
        decompress_report(&r->u, offset, lost, "%s; %llu bytes skipped", why,
                          (unsigned long long)skipped);
    return 0;
}
