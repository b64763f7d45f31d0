/* Both scans return pieces that end behind the same rows, but for those that
 * one end lacks; the scan that is behind adds up its pieces until both are at
 * the same row again.
 */
#include "bigtable/replication/digest_compare.h"

#include <stdatomic.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/read/row_digest.h"

/* About the bytes of pieces, at each level; those of the last that differ are
 * read. A piece costs the network a hundred bytes or so. */
static const uint64_t piece_bytes[] = {4 << 20, 64 << 10};

/* One table at one level. */
struct digest_side {
    struct quarry_scanner *scan;
    struct row_digest_piece sum; /* Of the pieces since both were level. */
    struct buf last;             /* The row that ends them. */
    bool over;                   /* The scan has ended. */
};

struct digest_pass {
    struct digest_compare *compare;
    size_t level;
    struct digest_side sides[2];
    struct buf from; /* Both were level before this row. */
};

static int side_open(struct digest_pass *p,
                     size_t which,
                     const struct quarry_range *range,
                     struct err *err)
{
    const struct digest_compare *c = p->compare;
    struct quarry_read_options o = *c->reads[which];
    struct buf program = BUF_INIT;
    int rc;
    row_digest_ask(&program, piece_bytes[p->level], o.families, o.family_count);
    o.ranges = range;
    o.range_count = 1;
    o.program = program.data;
    o.program_len = program.len;
    rc = quarry_scan(c->tables[which], &o, &p->sides[which].scan, err);
    buf_close(&program);
    return rc;
}

static int no_digests(struct err *err)
{
    return err_set(err, ERR_UNSUPPORTED, "one end makes no digests of rows");
}

/* Add pieces up to one that has ended, or to the end of the scan. */
static int side_advance(struct digest_side *s, struct err *err)
{
    struct row_digest_piece piece = {.ended = false};
    const struct quarry_row *row;
    PRE(!s->over);
    while (!piece.ended) {
        int rc = quarry_scanner_next(s->scan, &row, err);
        if (rc)
            return rc == ERR_INVALID ? no_digests(err) : rc;
        s->over = row == NULL;
        if (!row)
            return 0;
        if (!row_digest_read(row, &piece))
            return no_digests(err);
        s->sum.rows += piece.rows;
        for (size_t i = 0; i < ROW_DIGEST_SUMS; i++)
            s->sum.sums[i] += piece.sums[i];
        buf_clear(&s->last);
        buf_append_slice(&s->last, piece.last);
    }
    return 0;
}

/* Less than 0: @a is behind. */
static int side_cmp(const struct digest_side *a, const struct digest_side *b)
{
    if (a->over || b->over)
        return (int)a->over - (int)b->over;
    return slice_cmp(buf_slice(&a->last), buf_slice(&b->last));
}

/* Advance both, until they are level. */
static int pass_advance(struct digest_pass *p, struct err *err)
{
    struct digest_side *a = &p->sides[0];
    struct digest_side *b = &p->sides[1];
    int order = 0;
    int rc;
    a->sum = b->sum = (struct row_digest_piece){.rows = 0};
    rc = side_advance(a, err);
    if (rc == 0)
        rc = side_advance(b, err);
    while (rc == 0 && (order = side_cmp(a, b)) != 0)
        rc = side_advance(order < 0 ? a : b, err);
    return rc;
}

static bool is_equal(const struct digest_pass *p)
{
    const struct row_digest_piece *a = &p->sides[0].sum;
    const struct row_digest_piece *b = &p->sides[1].sum;
    return a->rows == b->rows && memcmp(a->sums, b->sums, sizeof(a->sums)) == 0;
}

static int compare_level(struct digest_compare *c,
                         size_t level,
                         struct slice start,
                         struct slice end,
                         struct err *err);

/* Look at the rows up to where both are level. */
static int look_closer(struct digest_pass *p, struct slice end, struct err *err)
{
    struct digest_compare *c = p->compare;
    struct slice from = buf_slice(&p->from);
    if (p->level + 1 < ARRAY_LEN(piece_bytes))
        return compare_level(c, p->level + 1, from, end, err);
    return c->found(c->arg, from, end, err);
}

static int
compare_pieces(struct digest_pass *p, struct slice end, struct err *err)
{
    struct digest_compare *c = p->compare;
    struct digest_side *a = &p->sides[0];
    struct buf to = BUF_INIT;
    int rc = 0;
    while (rc == 0 && !a->over) {
        rc = pass_advance(p, err);
        if (rc == 0 && c->cancel && atomic_load(c->cancel))
            rc = err_set(err, ERR_CANCELLED, "the comparison was stopped");
        if (rc)
            break;
        c->pieces++;
        buf_clear(&to);
        buf_append_slice(&to, a->over ? end : buf_slice(&a->last));
        if (!a->over)
            buf_append_byte(&to, '\0');
        if (is_equal(p))
            c->rows += a->sum.rows;
        else
            rc = look_closer(p, buf_slice(&to), err);
        buf_clear(&p->from);
        buf_append_slice(&p->from, buf_slice(&to));
    }
    buf_close(&to);
    return rc;
}

static int compare_level(struct digest_compare *c,
                         size_t level,
                         struct slice start,
                         struct slice end,
                         struct err *err)
{
    const struct quarry_range range = {start, end};
    struct digest_pass p = {.compare = c, .level = level};
    int rc = side_open(&p, 0, &range, err);
    if (rc == 0)
        rc = side_open(&p, 1, &range, err);
    if (rc == ERR_INVALID)
        rc = no_digests(err);
    buf_append_slice(&p.from, start);
    if (rc == 0)
        rc = compare_pieces(&p, end, err);
    for (size_t i = 0; i < 2; i++) {
        quarry_scanner_close(p.sides[i].scan);
        buf_close(&p.sides[i].last);
    }
    buf_close(&p.from);
    return rc;
}

int digest_compare_run(struct digest_compare *c,
                       struct slice start,
                       struct slice end,
                       struct err *err)
{
    c->rows = c->pieces = 0;
    return compare_level(c, 0, start, end, err);
}
