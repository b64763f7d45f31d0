/* The real length of a record: a wrong Content-Length is corrected by the place
 * where the next record starts, if a digest or a separator supports it.
 * Searches are bounded, so that hostile lengths cost no more than honest ones.
 */
#include <stdio.h>

#include "base/core/macros.h"
#include "mapreduce/warc/reader_internal.h"

/* The next record is searched this far after a wrong Content-Length. */
#define EXTEND_BYTES_MAX ((size_t)16 << 20)
/* No block is longer: such a length is wrong. */
#define BLOCK_BYTES_ABSURD ((uint64_t)1 << 40)
/* Examined after a block; the rest is for the next call. */
#define SEPARATOR_BYTES_MAX ((size_t)4096)
/* Starts of records that are tried as the end of a block. */
#define STARTS_TRIED_MAX 32

/* --- the end of a block -------------------------------------------------- */

enum tail {
    TAIL_GOOD,
    TAIL_BAD
};

/* Are there enough bytes from @i on to tell whether a record starts there? */
static bool can_tell(const struct warc_reader *r, struct slice all, size_t i)
{
    if (reader__ends_member(r) || all.len - i >= HEAD_ARC_LINE_BYTES_MAX)
        return true;
    if (r->format == FORMAT_WARC)
        return all.len - i >= 5;
    all = slice_sub(all, i, all.len);
    return slice_find_byte(all, '\n') < all.len;
}

static bool starts_record(struct warc_reader *r, struct slice s)
{
    return r->format == FORMAT_ARC ? reader__arc_starts(r, s)
                                   : head_warc_starts(s);
}

/* Does a record start where the next one does after the block that ends at @q,
 * except that one byte of the separator is damaged? Returns where; 0: no. */
static size_t
start_near(struct warc_reader *r, struct slice all, size_t q, bool *damaged)
{
    size_t wrong = 0;
    for (size_t i = 1; i <= RECORD_SEPARATOR_BYTES && q + i < all.len; i++) {
        wrong += !reader__is_separator(all.data[q + i - 1]);
        if (wrong <= 1 && starts_record(r, slice_sub(all, q + i, all.len))) {
            *damaged = wrong > 0;
            return q + i;
        }
    }
    return 0;
}

/* Classify the bytes after the block that ends at @q. *@end: after its
 * separators. */
static int check_tail(struct warc_reader *r,
                      size_t q,
                      enum tail *tail,
                      size_t *end,
                      struct err *err)
{
    size_t i = q;
    *tail = TAIL_GOOD;
    for (;;) {
        struct slice all =
            slice_make(decompress_data(&r->u), decompress_avail(&r->u));
        while (i < all.len && reader__is_separator(all.data[i]) &&
               i - q < SEPARATOR_BYTES_MAX &&
               !(i > q && reader__is_member_start(r, i)))
            i++;
        *end = i;
        if ((i > q && reader__is_member_start(r, i)) ||
            i - q >= SEPARATOR_BYTES_MAX)
            return 0;
        if (!can_tell(r, all, i)) {
            int rc = decompress_need(&r->u, all.len + 4096, err);
            if (rc)
                return rc;
            if (decompress_avail(&r->u) > all.len)
                continue;
            /* The end; reading more may have moved the buffer. */
            all = slice_make(decompress_data(&r->u), decompress_avail(&r->u));
        }
        if (i == all.len || reader__is_member_start(r, i))
            return 0;
        if (r->format == FORMAT_ARC
                ? !reader__arc_starts(r, slice_sub(all, i, all.len))
                : !decompress__is_warc(slice_sub(all, i, all.len)))
            *tail = TAIL_BAD;
        return 0;
    }
}

/* --- other ends ---------------------------------------------------------- */

/* The next place from *@at on where a record starts, or the input ends;
 * *@found: there is one near. @most: how far to search. */
static int next_start(struct warc_reader *r,
                      size_t most,
                      size_t *at,
                      bool *found,
                      struct err *err)
{
    size_t from = *at;
    *found = true;
    for (;;) {
        bool gap;
        int rc;
        size_t n = reader__joined(r, &gap);
        struct slice all = slice_make(decompress_data(&r->u), n);
        *at = reader__find_start(r, all, MIN_OF(from, n), true);
        if (*at < n)
            return 0;
        *found = r->u.done && !gap;
        if (gap || r->u.done || n >= most)
            return 0;
        if (n > from + HEAD_ARC_LINE_BYTES_MAX)
            from = n - HEAD_ARC_LINE_BYTES_MAX;
        rc = decompress_need(&r->u, n + DECOMPRESS_READ_BYTES, err);
        if (rc)
            return rc;
    }
}

static size_t search_bytes(const struct warc_reader *r, const struct layout *l)
{
    size_t most = l->head + EXTEND_BYTES_MAX;
    if (l->block < r->u.opts.block_bytes_max)
        most += (size_t)l->block;
    return most;
}

/* Is the block that ends at @at, or at a separator before it, proven to be the
 * record's? Then lay it out so. */
static bool take_proven(struct warc_reader *r, struct layout *l, size_t at)
{
    /* Longest separators first: they are what writers write. */
    static const size_t separators[] = {4, 2, 1, 0, 3};
    const char *p = decompress_data(&r->u);
    for (size_t k = 0; k < ARRAY_LEN(separators); k++) {
        size_t e = at - MIN_OF(separators[k], at - l->head);
        size_t i = e;
        while (i < at && reader__is_separator(p[i]))
            i++;
        if (i < at || at - e != separators[k] ||
            reader__judge(r, slice_make(p + l->head, e - l->head)) !=
                DIGEST_SAME)
            continue;
        l->block = e - l->head;
        l->end = at;
        return true;
    }
    return false;
}

/* Find the end that a digest proves. */
static int find_proven_end(struct warc_reader *r,
                           struct layout *l,
                           bool *found,
                           struct err *err)
{
    size_t most = search_bytes(r, l);
    size_t at = l->head;
    *found = false;
    for (int i = 0; i < STARTS_TRIED_MAX; i++) {
        bool more;
        int rc = next_start(r, most, &at, &more, err);
        if (rc || !more)
            return rc;
        *found = take_proven(r, l, at);
        if (*found || at >= decompress_avail(&r->u))
            return 0;
        at++;
    }
    return 0;
}

/* The block does not have the declared length: it ends before the next record,
 * if one is near. *@found: one is. */
static int
find_end(struct warc_reader *r, struct layout *l, bool *found, struct err *err)
{
    size_t at = l->head;
    size_t e;
    const char *p;
    int rc = next_start(r, search_bytes(r, l), &at, found, err);
    p = decompress_data(&r->u);
    *found = rc == 0 && *found && at < decompress_avail(&r->u);
    if (!*found)
        return rc;
    for (e = at; e > l->head && at - e < RECORD_SEPARATOR_BYTES; e--)
        if (!reader__is_separator(p[e - 1]))
            break;
    l->block = e - l->head;
    l->end = at;
    return 0;
}

/* The end of the block, if a member with another record starts inside it; 0:
 * none does. */
static size_t member_inside(struct warc_reader *r, size_t head, size_t q)
{
    uint64_t pos = decompress_pos(&r->u);
    const struct decompress_mark *m =
        decompress_mark_from(&r->u, pos + head, 0);
    const struct decompress_mark *end = r->u.marks + r->u.mark_count;
    struct slice all =
        slice_make(decompress_data(&r->u), decompress_avail(&r->u));
    if (!r->starts_member || r->u.kind == DECOMPRESS_PLAIN)
        return 0;
    for (; m && m < end && m->pos < pos + q; m++) {
        size_t at = (size_t)(m->pos - pos);
        if (at > 1 && at < all.len && all.data[at - 1] == '\n' &&
            head_warc_starts(slice_sub(all, at, all.len)))
            return at;
    }
    return 0;
}

/* --- laying out a record ------------------------------------------------- */

const char *reader__uri_text(const struct warc_reader *r, char *out, size_t n)
{
    snprintf(out, n, "%.*s%s", (int)MIN_OF(r->head.record.uri.len, (size_t)100),
             r->head.record.uri.data ? r->head.record.uri.data : "",
             r->head.record.uri.len > 100 ? "…" : "");
    return out;
}

static void report_length(struct warc_reader *r, const struct layout *l)
{
    char uri[128];
    reader__uri_text(r, uri, sizeof(uri));
    if (r->head.has_length)
        decompress_report(&r->u, r->offset, false,
                          "Content-Length %llu is wrong, the block has %llu "
                          "bytes: %s",
                          (unsigned long long)r->head.record.content_length,
                          (unsigned long long)l->block, uri);
    else
        decompress_report(&r->u, r->offset, false,
                          "no usable Content-Length, taken up to the next "
                          "record: %s",
                          uri);
}

/* Does the block that reaches to the next record still contradict its digest?
 * Then its extent is unknown, and the record is lost. */
static bool drop_denied(struct warc_reader *r, struct layout *l)
{
    char uri[128];
    if (reader__judge(r, slice_make(decompress_data(&r->u) + l->head,
                                    (size_t)l->block)) != DIGEST_DIFFERENT)
        return false;
    l->drop = true;
    decompress_report(&r->u, r->offset, true,
                      "neither the length nor the digest is right, record "
                      "skipped: %s",
                      reader__uri_text(r, uri, sizeof(uri)));
    return true;
}

/* The length is wrong: correct it and report that. */
static int
record_layout_mend(struct warc_reader *r, struct layout *l, struct err *err)
{
    bool found;
    char uri[128];
    int rc = find_proven_end(r, l, &found, err);
    if (rc == 0 && found) {
        report_length(r, l);
        return 0;
    }
    if (rc == 0)
        rc = find_end(r, l, &found, err);
    if (rc)
        return rc;
    if (found && (l->block > 0 || r->head.has_length)) {
        if (!drop_denied(r, l))
            report_length(r, l);
    } else if (!r->head.has_length) {
        l->drop = true;
        l->end = found ? l->end : l->head;
        r->told_until = decompress_pos(&r->u) + l->end + 1;
        decompress_report(&r->u, r->offset, true,
                          "no usable Content-Length, record skipped: %s",
                          reader__uri_text(r, uri, sizeof(uri)));
    }
    return 0;
}

/* The block extends into a gap or past the end, which is at @n. */
static int run_over(struct warc_reader *r,
                    struct layout *l,
                    size_t n,
                    bool gap,
                    struct err *err)
{
    char uri[128];
    uint64_t declared = l->block;
    bool found;
    bool at_end = r->u.done && n == decompress_avail(&r->u);
    int rc = find_proven_end(r, l, &found, err);
    if (rc == 0 && !found) {
        rc = find_end(r, l, &found, err);
        if (rc == 0 && found && drop_denied(r, l))
            return 0;
    }
    if (rc)
        return rc;
    if (found) {
        report_length(r, l);
        return 0;
    }
    reader__uri_text(r, uri, sizeof(uri));
    n = n > l->head ? n - l->head : 0;
    l->block = n;
    l->end = l->head + n;
    l->cut = true;
    l->drop = !at_end;
    if (!at_end) {
        decompress_report(&r->u, r->offset, true, "record lost with it: %s",
                          uri);
        reader__told(r);
    } else if (!gap) {
        decompress_report(&r->u, r->offset, true,
                          "record cut short by the end, %zu of %llu bytes: %s",
                          n, (unsigned long long)declared, uri);
    }
    return 0;
}

/* Do separators as a writer puts them follow the block that ends at @q? */
static bool is_separated(const struct warc_reader *r, size_t q)
{
    struct slice s =
        slice_make(decompress_data(&r->u), decompress_avail(&r->u));
    s = slice_sub(s, q, s.len);
    return slice_starts_with(s, SLICE_LIT("\r\n\r\n")) ||
           slice_starts_with(s, SLICE_LIT("\n\n")) ||
           (r->format == FORMAT_ARC && slice_starts_with(s, SLICE_LIT("\n")));
}

/* No record starts after the block that ends at @q. The declared length is used
 * if the block is proven or a separator follows: then the bytes after it are
 * damaged. */
static int record_layout_settle(struct warc_reader *r,
                                struct layout *l,
                                size_t q,
                                struct err *err)
{
    struct slice all =
        slice_make(decompress_data(&r->u), decompress_avail(&r->u));
    bool damaged = false;
    bool found = false;
    size_t near = start_near(r, all, q, &damaged);
    enum digest_answer answer = reader__judge(r, slice_sub(all, l->head, q));
    char uri[128];
    int rc = 0;
    if (answer != DIGEST_SAME && !is_separated(r, q))
        rc = find_proven_end(r, l, &found, err);
    else if (answer == DIGEST_DIFFERENT)
        rc = find_proven_end(r, l, &found, err);
    if (rc)
        return rc;
    if (found) {
        report_length(r, l);
        return 0;
    }
    if (near) {
        l->end = near;
        if (damaged)
            decompress_report(&r->u, r->offset, false,
                              "the separator behind the record is damaged: %s",
                              reader__uri_text(r, uri, sizeof(uri)));
        return 0;
    }
    if (answer == DIGEST_SAME || is_separated(r, q))
        return 0;
    return record_layout_mend(r, l, err);
}

/* Does the record fill its member? Then what starts inside is part of it. */
static bool fills_member(const struct warc_reader *r, const struct layout *l)
{
    if (!r->starts_member)
        return false;
    return reader__is_member_start(r, l->end) ||
           (r->u.kind != DECOMPRESS_PLAIN &&
            l->end == decompress_avail(&r->u) && reader__ends_member(r));
}

/* A record follows, but others start inside the block: the digest decides
 * whether they are part of it or the length is wrong. */
static int
check_inside(struct warc_reader *r, struct layout *l, size_t q, struct err *err)
{
    struct slice all = slice_make(decompress_data(&r->u), q);
    const struct layout declared = *l;
    bool found;
    int rc;
    if (!reader__has_digest(r) || fills_member(r, l) ||
        reader__find_start(r, all, l->head, true) >= q ||
        reader__judge(r, slice_sub(all, l->head, q)) == DIGEST_SAME)
        return 0;
    rc = find_proven_end(r, l, &found, err);
    if (rc == 0 && found)
        report_length(r, l);
    else
        *l = declared;
    return rc;
}

/* A block too long to come whole: the digest may prove that it is not. */
static int
lay_out_long(struct warc_reader *r, struct layout *l, struct err *err)
{
    const struct layout declared = *l;
    size_t q = l->head + (size_t)r->u.opts.block_bytes_max;
    bool found;
    bool gap;
    size_t n;
    int rc = decompress_need(&r->u, q, err);
    n = rc ? 0 : reader__joined(r, &gap);
    if (rc || n < q)
        return rc ? rc : run_over(r, l, n, gap, err);
    rc = find_proven_end(r, l, &found, err);
    if (rc == 0 && found && l->end <= q) {
        report_length(r, l);
        return 0;
    }
    *l = declared;
    l->end = q;
    return rc;
}

int reader__lay_out(struct warc_reader *r, struct layout *l, struct err *err)
{
    enum tail tail;
    size_t n;
    size_t q;
    bool gap;
    int rc;
    if (!r->head.has_length || l->block > BLOCK_BYTES_ABSURD) {
        r->head.has_length = false;
        l->block = 0;
        return record_layout_mend(r, l, err);
    }
    if (l->block > r->u.opts.block_bytes_max)
        return lay_out_long(r, l, err);
    q = l->head + (size_t)l->block;
    rc = decompress_need(&r->u, q, err);
    if (rc)
        return rc;
    n = reader__joined(r, &gap);
    if (n < q)
        return run_over(r, l, n, gap, err);
    if (member_inside(r, l->head, q))
        return record_layout_mend(r, l, err);
    rc = check_tail(r, q, &tail, &l->end, err);
    if (rc)
        return rc;
    return tail == TAIL_BAD ? record_layout_settle(r, l, q, err)
                            : check_inside(r, l, q, err);
}
