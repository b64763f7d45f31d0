/* Records out of unpacked bytes: where one starts, how long it is really, and
 * the way back to the next one when something is wrong.
 *
 * A record is first laid out over the bytes at hand (struct layout: offsets
 * from its first byte), because having more of them moves the buffer; slices
 * are made last. */
#include "mapreduce/warc/reader.h"

#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "mapreduce/warc/digest.h"
#include "mapreduce/warc/head.h"
#include "mapreduce/warc/http.h"
#include "mapreduce/warc/unpack.h"

#define BLOCK_BYTES_DEFAULT ((uint64_t)64 << 20)
/* So far behind a wrong Content-Length the next record is sought. */
#define EXTEND_BYTES_MAX ((size_t)16 << 20)
/* No block is longer: such a length is wrong. */
#define BLOCK_BYTES_ABSURD ((uint64_t)1 << 40)
/* So many are looked at behind a block; the rest is for the next call. */
#define SEPARATOR_BYTES_MAX ((size_t)4096)
/* Bytes of a record's start that tell it from text. */
#define START_BYTES ((size_t)128)

enum format {
    FORMAT_UNKNOWN,
    FORMAT_WARC,
    FORMAT_ARC
};

struct warc_reader {
    struct unpack u;
    struct head head;
    struct head probe; /* Scratch: of lines that may be heads. */
    struct arena arena;
    enum format format;
    uint64_t record_count;
    size_t hold;        /* Bytes of the record handed out, still unconsumed. */
    uint64_t left;      /* Of its block, not handed out yet. */
    bool starts_member; /* It started where a member starts. */
    uint64_t offset;    /* In the file, of the record being read. */
    uint64_t bytes_out;
};

struct layout {
    size_t head;    /* Bytes of the head. */
    uint64_t block; /* Of the block, as declared or put right. */
    size_t end;     /* Where block and separators end. */
    bool cut;
    bool drop;
};

/* --- life ---------------------------------------------------------------- */

void warc_reader_reset(struct warc_reader *r,
                       const struct warc_reader_options *opts)
{
    unpack_start(&r->u, opts);
    if (r->u.opts.block_bytes_max == 0)
        r->u.opts.block_bytes_max = BLOCK_BYTES_DEFAULT;
    arena_reset(&r->arena);
    r->format = FORMAT_UNKNOWN;
    r->record_count = 0;
    r->hold = 0;
    r->left = 0;
    r->bytes_out = 0;
}

struct warc_reader *warc_reader_new(const struct warc_reader_options *opts)
{
    struct warc_reader *r = mem_alloc(sizeof(*r));
    unpack_init(&r->u);
    arena_init(&r->arena);
    warc_reader_reset(r, opts);
    return r;
}

void warc_reader_free(struct warc_reader *r)
{
    if (!r)
        return;
    unpack_close(&r->u);
    arena_close(&r->arena);
    mem_free(r);
}

uint64_t warc_reader_bytes_in(const struct warc_reader *r)
{
    return r->u.in_offset + r->u.in_begin;
}

uint64_t warc_reader_bytes_out(const struct warc_reader *r)
{
    return unpack_pos(&r->u);
}

bool warc_record_header(const struct warc_record *rec,
                        const char *name,
                        struct slice *value)
{
    for (size_t i = 0; i < rec->header_count; i++) {
        if (http_slice_is(rec->headers[i].name, name)) {
            *value = rec->headers[i].value;
            return true;
        }
    }
    return false;
}

/* --- bounds of what is at hand ------------------------------------------- */

/* Bytes from the record's start that join: up to a gap or to the end of what is
 * at hand. *@gap: it is a gap. */
static size_t joined(const struct warc_reader *r, bool *gap)
{
    uint64_t pos = unpack_pos(&r->u);
    const struct unpack_mark *m = unpack_mark_from(&r->u, pos + 1, UNPACK_GAP);
    size_t avail = unpack_avail(&r->u);
    *gap = m && m->pos - pos <= avail;
    return *gap ? (size_t)(m->pos - pos) : avail;
}

static bool is_member_start(const struct warc_reader *r, size_t at)
{
    uint64_t pos = unpack_pos(&r->u) + at;
    const struct unpack_mark *m = unpack_mark_from(&r->u, pos, 0);
    return m && m->pos == pos;
}

/* The bytes at hand end where a member ends. */
static bool ends_member(const struct warc_reader *r)
{
    return r->u.done || (r->u.kind != UNPACK_PLAIN && !r->u.streaming);
}

static bool is_separator(char c)
{
    return c == '\r' || c == '\n' || c == '\0';
}

/* --- finding a record's start -------------------------------------------- */

/* Does an ARC record start at the start of @s? */
static bool arc_starts(struct warc_reader *r, struct slice s)
{
    size_t n;
    if (!unpack__is_record(slice_sub(s, 0, START_BYTES)) ||
        is_separator(s.data[0]))
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
    return r->format != FORMAT_WARC && arc_starts(r, s);
}

/* Index in [from, all.len) of a place where a record starts: behind a line end
 * or NUL, or at a member's start. all.len: none. @blank: an empty line must be
 * before it, as there is at the end of every block. */
static size_t
find_start(struct warc_reader *r, struct slice all, size_t from, bool blank)
{
    size_t i = from;
    while (i < all.len) {
        const char *p;
        if ((r->format == FORMAT_WARC) ||
            (r->format == FORMAT_UNKNOWN && all.data[i] == 'W'))
            p = memchr(all.data + i, 'W', all.len - i);
        else
            p = all.data + i;
        if (!p)
            return all.len;
        i = (size_t)(p - all.data);
        if (i > 0 && is_separator(all.data[i - 1]) &&
            (!blank || r->format == FORMAT_ARC || i < 2 ||
             all.data[i - 1] == '\0' || all.data[i - 2] == '\n' ||
             (all.data[i - 2] == '\r' && i > 2 && all.data[i - 3] == '\n')) &&
            starts_at(r, all, i))
            return i;
        if (is_member_start(r, i) && starts_at(r, all, i))
            return i;
        i++;
        if (r->format != FORMAT_WARC) {
            /* Only line starts can matter, or member starts. */
            const struct unpack_mark *m =
                unpack_mark_from(&r->u, unpack_pos(&r->u) + i, 0);
            size_t stop = all.len;
            if (m && m->pos - unpack_pos(&r->u) < stop)
                stop = (size_t)(m->pos - unpack_pos(&r->u));
            while (i < stop && !is_separator(all.data[i - 1]))
                i++;
        }
    }
    return all.len;
}

/* Has the damage at the position been reported with its member? */
static bool is_known_damage(const struct warc_reader *r)
{
    uint64_t pos = unpack_pos(&r->u);
    const struct unpack_mark *m = unpack_mark_at(&r->u, pos);
    bool gap;
    joined(r, &gap);
    return gap || (m->pos <= pos && m->flags);
}

/* Nothing at the position starts a record: pass over bytes until something
 * does, and say what was lost. */
static int resync(struct warc_reader *r, const char *why, struct err *err)
{
    uint64_t offset = unpack_file_offset(&r->u, unpack_pos(&r->u));
    bool known = is_known_damage(r);
    uint64_t skipped = 0;
    size_t from = 1;
    for (;;) {
        struct slice all;
        size_t at;
        size_t keep;
        int code = unpack_need(&r->u, UNPACK_STEP_BYTES, err);
        if (code)
            return code;
        all = slice_make(unpack_data(&r->u), unpack_avail(&r->u));
        at = find_start(r, all, MIN_OF(from, all.len), false);
        if (at < all.len || r->u.done) {
            skipped += at;
            unpack_consume(&r->u, at);
            break;
        }
        /* A start may lie across the end of what is at hand. */
        keep = r->format == FORMAT_WARC ? START_BYTES : HEAD_ARC_LINE_BYTES_MAX;
        at = all.len > keep + 1 ? all.len - keep : 0;
        skipped += at;
        unpack_consume(&r->u, at);
        from = at ? 0 : all.len;
        code = unpack_need(&r->u, unpack_avail(&r->u) + UNPACK_STEP_BYTES, err);
        if (code)
            return code;
        from = 0;
    }
    if (!known)
        unpack_report(&r->u, offset, true, "%s; %llu bytes skipped", why,
                      (unsigned long long)skipped);
    return 0;
}

/* --- the end of a block --------------------------------------------------- */

enum tail {
    TAIL_GOOD,
    TAIL_BAD
};

/* Are the bytes from @i on enough to tell whether a record starts there? */
static bool can_tell(const struct warc_reader *r, struct slice all, size_t i)
{
    if (ends_member(r) || all.len - i >= HEAD_ARC_LINE_BYTES_MAX)
        return true;
    if (r->format == FORMAT_WARC)
        return all.len - i >= 5;
    all = slice_sub(all, i, all.len);
    return slice_find_byte(all, '\n') < all.len;
}

/* What is behind the block that ends at @q? *@end: behind its separators. */
static int check_tail(struct warc_reader *r,
                      size_t q,
                      enum tail *tail,
                      size_t *end,
                      struct err *err)
{
    size_t i = q;
    *tail = TAIL_GOOD;
    for (;;) {
        struct slice all = slice_make(unpack_data(&r->u), unpack_avail(&r->u));
        while (i < all.len && is_separator(all.data[i]) &&
               i - q < SEPARATOR_BYTES_MAX && !(i > q && is_member_start(r, i)))
            i++;
        *end = i;
        if ((i > q && is_member_start(r, i)) || i - q >= SEPARATOR_BYTES_MAX)
            return 0;
        if (!can_tell(r, all, i)) {
            int code = unpack_need(&r->u, all.len + 4096, err);
            if (code)
                return code;
            if (unpack_avail(&r->u) > all.len)
                continue;
        }
        if (i == all.len || is_member_start(r, i))
            return 0;
        all = slice_sub(all, i, all.len);
        if (r->format == FORMAT_ARC
                ? !arc_starts(r, all)
                : !slice_starts_with(all, SLICE_LIT("WARC/")))
            *tail = TAIL_BAD;
        return 0;
    }
}

/* The length of the block is not what the head says: it ends before the next
 * record, if one is near. *@found is false when none is. */
static int
find_end(struct warc_reader *r, struct layout *l, bool *found, struct err *err)
{
    size_t from = l->head;
    size_t most = l->head + EXTEND_BYTES_MAX;
    *found = false;
    if (l->block < r->u.opts.block_bytes_max)
        most += (size_t)l->block;
    for (;;) {
        bool gap;
        size_t n = joined(r, &gap);
        struct slice all = slice_make(unpack_data(&r->u), n);
        size_t at = find_start(r, all, from, true);
        if (at < n) {
            size_t e = at;
            while (e > l->head && at - e < 4 && is_separator(all.data[e - 1]))
                e--;
            l->block = e - l->head;
            l->end = at;
            *found = true;
            return 0;
        }
        if (gap || r->u.done || n >= most)
            return 0;
        from = n > l->head + HEAD_ARC_LINE_BYTES_MAX
                   ? n - HEAD_ARC_LINE_BYTES_MAX
                   : l->head;
        {
            int code = unpack_need(&r->u, n + UNPACK_READ_BYTES, err);
            if (code)
                return code;
        }
    }
}

/* Where the block ends before the declared end because a member with another
 * record starts inside; 0: nowhere. */
static size_t member_inside(struct warc_reader *r, size_t head, size_t q)
{
    uint64_t pos = unpack_pos(&r->u);
    const struct unpack_mark *m = unpack_mark_from(&r->u, pos + head, 0);
    const struct unpack_mark *end = r->u.marks + r->u.mark_count;
    struct slice all = slice_make(unpack_data(&r->u), unpack_avail(&r->u));
    if (!r->starts_member || r->u.kind == UNPACK_PLAIN)
        return 0;
    for (; m && m < end && m->pos < pos + q; m++) {
        size_t at = (size_t)(m->pos - pos);
        if (at > 1 && at < all.len && all.data[at - 1] == '\n' &&
            head_warc_starts(slice_sub(all, at, all.len)))
            return at;
    }
    return 0;
}

/* --- laying out a record ---------------------------------------------------
 */

static const char *uri_text(const struct warc_reader *r, char *out, size_t n)
{
    snprintf(out, n, "%.*s%s", (int)MIN_OF(r->head.record.uri.len, (size_t)100),
             r->head.record.uri.data ? r->head.record.uri.data : "",
             r->head.record.uri.len > 100 ? "…" : "");
    return out;
}

/* A wrong length was told apart; put it right and say so. */
static int mend(struct warc_reader *r, struct layout *l, struct err *err)
{
    uint64_t declared = r->head.record.content_length;
    bool known = r->head.has_length;
    bool found;
    char uri[128];
    int code;
    uri_text(r, uri, sizeof(uri));
    code = find_end(r, l, &found, err);
    if (code)
        return code;
    if (found && (l->block > 0 || known)) {
        if (known)
            unpack_report(&r->u, r->offset, false,
                          "Content-Length %llu is wrong, the block has %llu "
                          "bytes: %s",
                          (unsigned long long)declared,
                          (unsigned long long)l->block, uri);
        else
            unpack_report(&r->u, r->offset, false,
                          "no usable Content-Length, taken up to the next "
                          "record: %s",
                          uri);
    } else if (!known) {
        l->drop = true;
        l->end = found ? l->end : l->head;
        unpack_report(&r->u, r->offset, true,
                      "no usable Content-Length, record skipped: %s", uri);
    }
    return 0;
}

/* The block runs into a gap or past the end, which is at @n. */
static int run_over(struct warc_reader *r,
                    struct layout *l,
                    size_t n,
                    bool gap,
                    struct err *err)
{
    char uri[128];
    uint64_t declared = l->block;
    bool found;
    bool at_end = r->u.done && n == unpack_avail(&r->u);
    int code = find_end(r, l, &found, err);
    if (code)
        return code;
    uri_text(r, uri, sizeof(uri));
    if (found) {
        unpack_report(&r->u, r->offset, false,
                      "Content-Length %llu is wrong, the block has %llu "
                      "bytes: %s",
                      (unsigned long long)declared,
                      (unsigned long long)l->block, uri);
        return 0;
    }
    n = n > l->head ? n - l->head : 0;
    l->block = n;
    l->end = l->head + n;
    l->cut = true;
    l->drop = !at_end;
    if (!at_end)
        unpack_report(&r->u, r->offset, true, "record lost with it: %s", uri);
    else if (!gap)
        unpack_report(&r->u, r->offset, true,
                      "record cut short by the end, %zu of %llu bytes: %s", n,
                      (unsigned long long)declared, uri);
    return 0;
}

/* Have the block, and find where it really ends. */
static int lay_out(struct warc_reader *r, struct layout *l, struct err *err)
{
    enum tail tail;
    size_t inside;
    size_t n;
    size_t q;
    bool gap;
    int code;
    if (!r->head.has_length || l->block > BLOCK_BYTES_ABSURD) {
        r->head.has_length = false;
        l->block = 0;
        return mend(r, l, err);
    }
    if (l->block > r->u.opts.block_bytes_max) {
        q = l->head + (size_t)r->u.opts.block_bytes_max;
        code = unpack_need(&r->u, q, err);
        n = code ? 0 : joined(r, &gap);
        if (code || n < q)
            return code ? code : run_over(r, l, n, gap, err);
        l->end = q;
        return 0;
    }
    q = l->head + (size_t)l->block;
    code = unpack_need(&r->u, q, err);
    if (code)
        return code;
    n = joined(r, &gap);
    if (n < q)
        return run_over(r, l, n, gap, err);
    inside = member_inside(r, l->head, q);
    if (inside)
        return mend(r, l, err);
    code = check_tail(r, q, &tail, &l->end, err);
    if (code == 0 && tail == TAIL_BAD)
        code = mend(r, l, err);
    return code;
}

/* NULs among the separators behind the block are some writers' padding. */
static void note_nuls(struct warc_reader *r, const struct layout *l)
{
    const char *p = unpack_data(&r->u);
    size_t nuls = 0;
    if (l->block > r->u.opts.block_bytes_max)
        return;
    for (size_t i = l->head + (size_t)l->block; i < l->end; i++)
        nuls += p[i] == '\0';
    if (nuls)
        unpack_report(&r->u, r->offset, false,
                      "%zu NUL bytes behind the record", nuls);
}

/* A record of a member that failed its checksum is good only if its own digest
 * says so. */
static bool is_trusted(struct warc_reader *r, const struct layout *l)
{
    const struct unpack_mark *m = unpack_mark_at(&r->u, unpack_pos(&r->u));
    char uri[128];
    if (!(m->flags & UNPACK_SUSPECT) || m->pos > unpack_pos(&r->u))
        return true;
    if (l->block <= r->u.opts.block_bytes_max &&
        digest_check(r->head.record.block_digest,
                     slice_make(unpack_data(&r->u) + l->head,
                                (size_t)l->block)) == DIGEST_SAME)
        return true;
    unpack_report(&r->u, r->offset, true, "record in a bad member, skipped: %s",
                  uri_text(r, uri, sizeof(uri)));
    return false;
}

/* --- records ---------------------------------------------------------------
 */

/* Parse the head at the position, all of which is at hand: @n bytes. */
static bool parse_head(struct warc_reader *r, size_t n)
{
    struct slice s = slice_make(unpack_data(&r->u), n);
    arena_reset(&r->arena);
    if (r->format == FORMAT_ARC)
        return head_arc_parse(slice_sub(s, 0, n - 1), false, &r->head);
    return head_warc_parse(s, &r->head, &r->arena);
}

/* Have the whole head at hand; *@n is 0 when there is none: @*cut tells that
 * the end or a gap came too early. */
static int
need_head(struct warc_reader *r, size_t *n, bool *cut, struct err *err)
{
    size_t want = 4096;
    *n = 0;
    *cut = false;
    for (;;) {
        bool bad = false;
        bool gap;
        struct slice s;
        int code = unpack_need(&r->u, want, err);
        if (code)
            return code;
        s = slice_sub(slice_make(unpack_data(&r->u), joined(r, &gap)), 0,
                      HEAD_BYTES_MAX + 1);
        if (r->format == FORMAT_ARC) {
            size_t e = slice_find_byte(s, '\n');
            *n = e < s.len ? e + 1 : 0;
            bad = *n == 0 && s.len > HEAD_ARC_LINE_BYTES_MAX;
        } else {
            *n = head_warc_length(s, r->u.done && s.len < want, &bad);
        }
        *cut = *n == 0 && !bad && s.len < want;
        if (*n || bad || *cut)
            return 0;
        want *= 4;
    }
}

/* Make the record out of what has been laid out. */
static void make_record(struct warc_reader *r, const struct layout *l)
{
    struct warc_record *rec = &r->head.record;
    const char *data;
    size_t have;
    /* The buffer may have moved since the head was parsed. */
    INVARIANT(parse_head(r, l->head));
    data = unpack_data(&r->u);
    have = (size_t)MIN_OF(l->block, r->u.opts.block_bytes_max);
    if (r->format == FORMAT_ARC && rec->type == WARC_INFO && have > 2 &&
        data[l->head] == '2')
        rec->version = SLICE_LIT("arc/2");
    rec->content_length = l->block;
    rec->block = slice_make(data + l->head, have);
    rec->whole = have == l->block;
    rec->cut = l->cut;
    rec->offset = r->offset;
    if (rec->whole && r->u.kind == UNPACK_PLAIN)
        rec->length = l->end;
    else if (rec->whole && r->starts_member) {
        const struct unpack_mark *m =
            unpack_mark_from(&r->u, unpack_pos(&r->u) + l->end, 0);
        if (m && m->pos == unpack_pos(&r->u) + l->end)
            rec->length = m->file_offset - r->offset;
        else if (l->end == unpack_avail(&r->u) && ends_member(r))
            rec->length = r->u.end_offset - r->offset;
    }
    r->hold = rec->whole ? l->end : l->head + have;
    r->left = l->block - have;
    r->record_count++;
}

/* Read the record at the position. *@got tells whether there is one to hand
 * out; otherwise the position has moved on. */
static int read_record(struct warc_reader *r, bool *got, struct err *err)
{
    struct layout l = {0};
    size_t n;
    bool cut;
    int code;
    *got = false;
    r->offset = unpack_file_offset(&r->u, unpack_pos(&r->u));
    r->starts_member = is_member_start(r, 0);
    code = need_head(r, &n, &cut, err);
    if (code)
        return code;
    if (n == 0 || !parse_head(r, n))
        return resync(
            r, cut ? "head of a record cut short" : "bad head of a record",
            err);
    l.head = n;
    l.block = r->head.record.content_length;
    l.end = n;
    code = lay_out(r, &l, err);
    if (code)
        return code;
    if (l.drop || !is_trusted(r, &l)) {
        unpack_consume(&r->u, MIN_OF(l.end, unpack_avail(&r->u)));
        return 0;
    }
    note_nuls(r, &l);
    make_record(r, &l);
    *got = true;
    return 0;
}

/* --- between records --------------------------------------------------------
 */

static int skip_separators(struct warc_reader *r, struct err *err)
{
    size_t nuls = 0;
    uint64_t offset = 0;
    for (;;) {
        const char *p;
        size_t n;
        size_t i = 0;
        int code = unpack_need(&r->u, 1, err);
        if (code)
            return code;
        p = unpack_data(&r->u);
        n = unpack_avail(&r->u);
        while (i < n && is_separator(p[i])) {
            if (p[i] == '\0' && nuls++ == 0)
                offset = unpack_file_offset(&r->u, unpack_pos(&r->u) + i);
            i++;
        }
        unpack_consume(&r->u, i);
        if (i < n || n == 0)
            break;
    }
    if (nuls)
        unpack_report(&r->u, offset, false, "%zu NUL bytes between records",
                      nuls);
    return 0;
}

/* What stands at the position: sets the format with the first record. */
static bool at_record(struct warc_reader *r)
{
    struct slice s = slice_make(unpack_data(&r->u), unpack_avail(&r->u));
    if (slice_starts_with(s, SLICE_LIT("WARC/"))) {
        r->format = FORMAT_WARC;
        return true;
    }
    if (r->format == FORMAT_WARC)
        return false;
    if (unpack__is_record(slice_sub(s, 0, START_BYTES))) {
        size_t n =
            slice_find_byte(slice_sub(s, 0, HEAD_ARC_LINE_BYTES_MAX), '\n');
        if (head_arc_parse(slice_sub(s, 0, n), false, &r->probe)) {
            r->format = FORMAT_ARC;
            return true;
        }
    }
    return false;
}

/* Drop what is left of the record handed out. */
static int finish_record(struct warc_reader *r, struct err *err)
{
    char waste[4096];
    size_t got;
    if (r->left == 0) {
        unpack_consume(&r->u, r->hold);
        r->hold = 0;
        return 0;
    }
    do {
        int code = warc_reader_read(r, waste, sizeof(waste), &got, err);
        if (code)
            return code;
    } while (got > 0);
    return 0;
}

int warc_reader_next(struct warc_reader *r,
                     const struct warc_record **rec,
                     struct err *err)
{
    bool got = false;
    int code = finish_record(r, err);
    *rec = NULL;
    while (code == 0 && !got) {
        code = skip_separators(r, err);
        if (code || unpack_avail(&r->u) == 0)
            break;
        code = unpack_need(&r->u, START_BYTES, err);
        if (code)
            break;
        if (at_record(r))
            code = read_record(r, &got, err);
        else
            code = resync(r, "no record here", err);
    }
    if (code)
        return code;
    if (got)
        *rec = &r->head.record;
    else if (r->format == FORMAT_UNKNOWN &&
             warc_reader_bytes_in(r) + unpack_pos(&r->u) > 0)
        return err_set(err, ERR_CORRUPT,
                       "nothing in it is a WARC or ARC record");
    return 0;
}

int warc_reader_read(struct warc_reader *r,
                     void *dst,
                     size_t len,
                     size_t *got,
                     struct err *err)
{
    uint64_t want = MIN_OF((uint64_t)len, r->left);
    bool gap;
    size_t n;
    int code;
    *got = 0;
    unpack_consume(&r->u, r->hold);
    r->hold = 0;
    if (want == 0)
        return 0;
    code = unpack_need(&r->u, (size_t)want, err);
    if (code)
        return code;
    n = unpack_avail(&r->u);
    if (n > 0 && is_member_start(r, 0) && r->starts_member &&
        head_warc_starts(slice_make(unpack_data(&r->u), n)))
        n = 0;
    else
        n = MIN_OF(joined(r, &gap), (size_t)want);
    if (n == 0) {
        unpack_report(&r->u, r->offset, true,
                      "record cut short, %llu bytes are missing",
                      (unsigned long long)r->left);
        r->left = 0;
        return 0;
    }
    memcpy(dst, unpack_data(&r->u), n);
    unpack_consume(&r->u, n);
    r->left -= n;
    *got = n;
    return 0;
}
