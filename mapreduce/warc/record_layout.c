/* How long a record is really: lengths that are wrong are put right by where
 * the next record starts. */
#include <stdio.h>

#include "base/core/macros.h"
#include "mapreduce/warc/reader_internal.h"

/* So far behind a wrong Content-Length the next record is sought. */
#define EXTEND_BYTES_MAX ((size_t)16 << 20)
/* No block is longer: such a length is wrong. */
#define BLOCK_BYTES_ABSURD ((uint64_t)1 << 40)
/* So many are looked at behind a block; the rest is for the next call. */
#define SEPARATOR_BYTES_MAX ((size_t)4096)

/* --- the end of a block --------------------------------------------------- */

enum tail {
    TAIL_GOOD,
    TAIL_BAD
};

/* Are the bytes from @i on enough to tell whether a record starts there? */
static bool can_tell(const struct warc_reader *r, struct slice all, size_t i)
{
    if (reader__ends_member(r) || all.len - i >= HEAD_ARC_LINE_BYTES_MAX)
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
        while (i < all.len && reader__is_separator(all.data[i]) &&
               i - q < SEPARATOR_BYTES_MAX &&
               !(i > q && reader__is_member_start(r, i)))
            i++;
        *end = i;
        if ((i > q && reader__is_member_start(r, i)) ||
            i - q >= SEPARATOR_BYTES_MAX)
            return 0;
        if (!can_tell(r, all, i)) {
            int code = unpack_need(&r->u, all.len + 4096, err);
            if (code)
                return code;
            if (unpack_avail(&r->u) > all.len)
                continue;
        }
        if (i == all.len || reader__is_member_start(r, i))
            return 0;
        all = slice_sub(all, i, all.len);
        if (r->format == FORMAT_ARC
                ? !reader__arc_starts(r, all)
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
        size_t n = reader__joined(r, &gap);
        struct slice all = slice_make(unpack_data(&r->u), n);
        size_t at = reader__find_start(r, all, from, true);
        if (at < n) {
            size_t e = at;
            while (e > l->head && at - e < 4 &&
                   reader__is_separator(all.data[e - 1]))
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

const char *reader__uri_text(const struct warc_reader *r, char *out, size_t n)
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
    reader__uri_text(r, uri, sizeof(uri));
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
    reader__uri_text(r, uri, sizeof(uri));
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

int reader__lay_out(struct warc_reader *r, struct layout *l, struct err *err)
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
        n = code ? 0 : reader__joined(r, &gap);
        if (code || n < q)
            return code ? code : run_over(r, l, n, gap, err);
        l->end = q;
        return 0;
    }
    q = l->head + (size_t)l->block;
    code = unpack_need(&r->u, q, err);
    if (code)
        return code;
    n = reader__joined(r, &gap);
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
