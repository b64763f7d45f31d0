/* Records out of decompressed bytes, one after the other.
 *
 * Each is laid out before it is given out: where its head and block end, and
 * whether a digest or a following record confirms that (record_layout.c). Only
 * then are slices made.
 */
#include "mapreduce/warc/archive_reader.h"

#include <string.h>

#include "base/core/panic.h"
#include "mapreduce/warc/archived_http.h"
#include "mapreduce/warc/digest.h"
#include "mapreduce/warc/not_archive.h"
#include "mapreduce/warc/reader_internal.h"

#define BLOCK_BYTES_DEFAULT ((uint64_t)64 << 20)

/* --- life ---------------------------------------------------------------- */

void warc_reader_reset(struct warc_reader *r,
                       const struct warc_reader_options *opts)
{
    decompress_start(&r->u, opts);
    if (r->u.opts.block_bytes_max == 0)
        r->u.opts.block_bytes_max = BLOCK_BYTES_DEFAULT;
    arena_reset(&r->arena);
    r->format = FORMAT_UNKNOWN;
    r->record_count = 0;
    r->hold = 0;
    r->left = 0;
    r->bytes_out = 0;
    r->told_until = 0;
    r->looked_at = false;
    r->judged_bytes = 0;
}

struct warc_reader *warc_reader_new(const struct warc_reader_options *opts)
{
    struct warc_reader *r = mem_alloc(sizeof(*r));
    decompress_init(&r->u);
    arena_init(&r->arena);
    warc_reader_reset(r, opts);
    return r;
}

void warc_reader_free(struct warc_reader *r)
{
    if (!r)
        return;
    decompress_close(&r->u);
    arena_close(&r->arena);
    mem_free(r);
}

uint64_t warc_reader_bytes_in(const struct warc_reader *r)
{
    return r->u.in_offset + r->u.in_begin;
}

uint64_t warc_reader_bytes_out(const struct warc_reader *r)
{
    return decompress_pos(&r->u);
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

/* --- records ------------------------------------------------------------- */

/* Some writers pad with NULs among the separators after a block. */
static void note_nuls(struct warc_reader *r, const struct layout *l)
{
    const char *p = decompress_data(&r->u);
    size_t nuls = 0;
    if (l->block > r->u.opts.block_bytes_max)
        return;
    for (size_t i = l->head + (size_t)l->block; i < l->end; i++)
        nuls += p[i] == '\0';
    if (nuls)
        decompress_report(&r->u, r->offset, false,
                          "%zu NUL bytes behind the record", nuls);
}

/* A record of a member that failed its checksum is good only if its own digest
 * says so. */
static bool is_trusted(struct warc_reader *r, const struct layout *l)
{
    const struct decompress_mark *m =
        decompress_mark_at(&r->u, decompress_pos(&r->u));
    char uri[128];
    if (!(m->flags & DECOMPRESS_SUSPECT) || m->pos > decompress_pos(&r->u))
        return true;
    if (l->block <= r->u.opts.block_bytes_max &&
        digest_check(r->head.record.block_digest,
                     slice_make(decompress_data(&r->u) + l->head,
                                (size_t)l->block)) == DIGEST_SAME)
        return true;
    decompress_report(&r->u, r->offset, true,
                      "record in a bad member, skipped: %s",
                      reader__uri_text(r, uri, sizeof(uri)));
    reader__told(r);
    return false;
}

/* With options.verify: does the digest contradict the block? Reported if so. */
static bool is_denied(struct warc_reader *r, const struct layout *l)
{
    char uri[128];
    if (!r->u.opts.verify || l->cut || l->block > r->u.opts.block_bytes_max ||
        digest_check(r->head.record.block_digest,
                     slice_make(decompress_data(&r->u) + l->head,
                                (size_t)l->block)) != DIGEST_DIFFERENT)
        return false;
    decompress_report(&r->u, r->offset, true,
                      "block digest differs, record skipped: %s",
                      reader__uri_text(r, uri, sizeof(uri)));
    return true;
}

/* Parse the head at the position, @n bytes that are in the buffer. It is
 * copied: reading the block moves the buffer. */
static bool parse_head(struct warc_reader *r, size_t n)
{
    struct slice s;
    arena_reset(&r->arena);
    s = arena_dup(&r->arena, slice_make(decompress_data(&r->u), n));
    if (r->format == FORMAT_ARC)
        return head_arc_parse(slice_sub(s, 0, n - 1), false, &r->head);
    return head_warc_parse(s, &r->head, &r->arena);
}

/* Read the whole head into the buffer; *@n is 0 when there is none: @*cut tells
 * that the end or a gap came too early. */
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
        int rc = decompress_need(&r->u, want, err);
        if (rc)
            return rc;
        s = slice_sub(
            slice_make(decompress_data(&r->u), reader__joined(r, &gap)), 0,
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

/* Fill in the record from its layout. */
static void make_record(struct warc_reader *r, const struct layout *l)
{
    struct warc_record *rec = &r->head.record;
    const char *data;
    size_t have;
    data = decompress_data(&r->u);
    have = (size_t)MIN_OF(l->block, r->u.opts.block_bytes_max);
    if (r->format == FORMAT_ARC && rec->type == WARC_INFO && have > 2 &&
        data[l->head] == '2')
        rec->version = SLICE_LIT("arc/2");
    rec->content_length = l->block;
    rec->block = slice_make(data + l->head, have);
    rec->whole = have == l->block;
    rec->cut = l->cut;
    rec->offset = r->offset;
    if (rec->whole && r->u.kind == DECOMPRESS_PLAIN)
        rec->length = l->end;
    else if (rec->whole && r->starts_member) {
        const struct decompress_mark *m =
            decompress_mark_from(&r->u, decompress_pos(&r->u) + l->end, 0);
        if (m && m->pos == decompress_pos(&r->u) + l->end)
            rec->length = m->file_offset - r->offset;
        else if (l->end == decompress_avail(&r->u) && reader__ends_member(r))
            rec->length = r->u.end_offset - r->offset;
    }
    r->hold = rec->whole ? l->end : l->head + have;
    r->left = l->block - have;
    r->record_count++;
}

/* Read the record at the position. *@got: there is one to give out; otherwise
 * the position has advanced. */
static int read_record(struct warc_reader *r, bool *got, struct err *err)
{
    struct layout l = {0};
    size_t n;
    bool cut;
    int rc;
    *got = false;
    r->offset = decompress_file_offset(&r->u, decompress_pos(&r->u));
    r->starts_member = reader__is_member_start(r, 0);
    rc = need_head(r, &n, &cut, err);
    if (rc)
        return rc;
    if (n == 0 || !parse_head(r, n))
        return reader__resync(
            r, cut ? "head of a record cut short" : "bad head of a record",
            err);
    l.head = n;
    l.block = r->head.record.content_length;
    l.end = n;
    rc = reader__lay_out(r, &l, err);
    if (rc)
        return rc;
    if (l.drop || !is_trusted(r, &l) || is_denied(r, &l)) {
        decompress_consume(&r->u, MIN_OF(l.end, decompress_avail(&r->u)));
        return 0;
    }
    note_nuls(r, &l);
    make_record(r, &l);
    *got = true;
    return 0;
}

/* --- between records ----------------------------------------------------- */

static int skip_separators(struct warc_reader *r, struct err *err)
{
    size_t nuls = 0;
    uint64_t offset = 0;
    for (;;) {
        const char *p;
        size_t n;
        size_t i = 0;
        int rc = decompress_need(&r->u, 1, err);
        if (rc)
            return rc;
        p = decompress_data(&r->u);
        n = decompress_avail(&r->u);
        while (i < n && reader__is_separator(p[i])) {
            if (p[i] == '\0' && nuls++ == 0)
                offset =
                    decompress_file_offset(&r->u, decompress_pos(&r->u) + i);
            i++;
        }
        decompress_consume(&r->u, i);
        if (i < n || n == 0)
            break;
    }
    if (nuls)
        decompress_report(&r->u, offset, false, "%zu NUL bytes between records",
                          nuls);
    return 0;
}

/* Is there a record at the position? Sets the format with the first one. */
static bool at_record(struct warc_reader *r)
{
    struct slice s =
        slice_make(decompress_data(&r->u), decompress_avail(&r->u));
    if (decompress__is_warc(s)) {
        r->format = FORMAT_WARC;
        return true;
    }
    if (r->format == FORMAT_WARC)
        return false;
    if (decompress__is_record(slice_sub(s, 0, START_BYTES))) {
        size_t n =
            slice_find_byte(slice_sub(s, 0, HEAD_ARC_LINE_BYTES_MAX), '\n');
        if (head_arc_parse(slice_sub(s, 0, n), false, &r->probe)) {
            r->format = FORMAT_ARC;
            return true;
        }
    }
    return false;
}

/* Skip the rest of the record given out. */
static int finish_record(struct warc_reader *r, struct err *err)
{
    char waste[4096];
    size_t got;
    if (r->left == 0) {
        decompress_consume(&r->u, r->hold);
        r->hold = 0;
        return 0;
    }
    do {
        int rc = warc_reader_read(r, waste, sizeof(waste), &got, err);
        if (rc)
            return rc;
    } while (got > 0);
    return 0;
}

/* Refuse an input whose first bytes identify another format. With damage in it
 * this is not checked: the bytes inside a member are not the file that was
 * given. */
static int refuse_other(struct warc_reader *r, struct err *err)
{
    const char *kind;
    if (r->format != FORMAT_UNKNOWN || r->looked_at)
        return 0;
    r->looked_at = true;
    kind = not_archive_kind(
        slice_make(decompress_data(&r->u), decompress_avail(&r->u)));
    return kind
               ? err_set(err, ERR_CORRUPT, "neither WARC nor ARC, but %s", kind)
               : 0;
}

int warc_reader_next(struct warc_reader *r,
                     const struct warc_record **rec,
                     struct err *err)
{
    bool got = false;
    int rc = finish_record(r, err);
    *rec = NULL;
    while (rc == 0 && !got) {
        rc = skip_separators(r, err);
        if (rc)
            break;
        if (decompress_avail(&r->u) == 0 ||
            decompress_pos(&r->u) >= r->u.loss_pos)
            decompress_report_open_loss(&r->u, r->told_until > r->u.loss_pos);
        if (decompress_avail(&r->u) == 0)
            break;
        rc = decompress_need(&r->u, START_BYTES, err);
        if (rc)
            break;
        if (at_record(r))
            rc = read_record(r, &got, err);
        else if ((rc = refuse_other(r, err)) == 0)
            rc = reader__resync(r, "no record here", err);
    }
    if (rc)
        return rc;
    if (got)
        *rec = &r->head.record;
    else if (r->format == FORMAT_UNKNOWN &&
             warc_reader_bytes_in(r) + decompress_pos(&r->u) > 0)
        return err_set(err, ERR_CORRUPT,
                       "neither WARC nor ARC: no record in it");
    return 0;
}

int warc_reader_read(struct warc_reader *r,
                     void *dst,
                     size_t len,
                     size_t *got,
                     struct err *err)
{
    PRE(r->hold <= decompress_avail(&r->u)); /* INV-1 */
    uint64_t want = MIN_OF((uint64_t)len, r->left);
    bool gap;
    size_t n;
    int rc;
    *got = 0;
    decompress_consume(&r->u, r->hold);
    r->hold = 0;
    if (want == 0)
        return 0;
    rc = decompress_need(&r->u, (size_t)want, err);
    if (rc)
        return rc;
    n = decompress_avail(&r->u);
    if (n > 0 && reader__is_member_start(r, 0) && r->starts_member &&
        head_warc_starts(slice_make(decompress_data(&r->u), n)))
        n = 0;
    else
        n = MIN_OF(reader__joined(r, &gap), (size_t)want);
    if (n == 0) {
        decompress_report(&r->u, r->offset, true,
                          "record cut short, %llu bytes are missing",
                          (unsigned long long)r->left);
        r->left = 0;
        return 0;
    }
    memcpy(dst, decompress_data(&r->u), n);
    decompress_consume(&r->u, n);
    r->left -= n;
    *got = n;
    return 0;
}
