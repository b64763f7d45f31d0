/* Rows and changes of rows in attachments: bytes in the forms of base/core's
 * coding, one after the other.
 *
 *     row    = key:lslice count:varint cell*
 *     cell   = flags:u8 [family:lslice] [qualifier:lslice] time:zigzag
 *              value:lslice [label:lslice]
 *     change = tablet:varint row:lslice count:varint ops:lslice
 *     lookup = tablet:varint generation:varint row:lslice kind:u8
 *              (kind 0) options:lslice, (kind 1) family:lslice qualifier:lslice
 *     answer = time:zigzag value, which extends to the end
 *
 * A cell has the family and the qualifier that its flags announce, and
 * otherwise those of the cell before it; its time is the difference to that
 * cell's. Both start again in each row, so that an answer can be cut after any
 * row. */
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/wire/data_calls.h"

enum cell_flags {
    CELL_FAMILY = 1,
    CELL_QUALIFIER = 2,
    CELL_LABEL = 4,
    CELL_FLAGS = 7
};

enum lookup_kind {
    LOOKUP_ROW,
    LOOKUP_CELL
};

#define CELL_BYTES_MIN 3 /* Flags, time, length of the value. */

/* --- rows ---------------------------------------------------------------- */

static void put_cell(const struct quarry_cell *c,
                     const struct quarry_cell *before,
                     struct buf *out)
{
    bool family = !before || !slice_eq(before->family, c->family);
    bool qualifier = !before || !slice_eq(before->qualifier, c->qualifier);
    uint64_t since = before ? (uint64_t)before->timestamp_us : 0;
    buf_append_byte(out, (char)((family ? CELL_FAMILY : 0) |
                                (qualifier ? CELL_QUALIFIER : 0) |
                                (c->label.len ? CELL_LABEL : 0)));
    if (family)
        buf_put_lslice(out, c->family);
    if (qualifier)
        buf_put_lslice(out, c->qualifier);
    buf_put_zigzag(out, (int64_t)((uint64_t)c->timestamp_us - since));
    buf_put_lslice(out, c->value);
    if (c->label.len)
        buf_put_lslice(out, c->label);
}

void row_put(const struct quarry_row *row, struct buf *out)
{
    buf_put_lslice(out, row->key);
    buf_put_varint(out, row->cell_count);
    for (size_t i = 0; i < row->cell_count; i++)
        put_cell(&row->cells[i], i ? &row->cells[i - 1] : NULL, out);
}

void row_decoder_init(struct row_decoder *r, struct slice attachment)
{
    *r = (struct row_decoder){.rest = attachment};
}

static void get_cell(struct cursor *c,
                     const struct quarry_cell *before,
                     struct quarry_cell *cell)
{
    unsigned flags = cursor_u8(c);
    uint64_t since = before ? (uint64_t)before->timestamp_us : 0;
    c->bad |= flags > CELL_FLAGS || (!before && (flags & 3) != 3);
    *cell = (struct quarry_cell){.label = SLICE_EMPTY};
    if (c->bad)
        return;
    cell->family = flags & CELL_FAMILY ? cursor_lslice(c) : before->family;
    cell->qualifier =
        flags & CELL_QUALIFIER ? cursor_lslice(c) : before->qualifier;
    cell->timestamp_us = (int64_t)(since + (uint64_t)cursor_zigzag(c));
    cell->value = cursor_lslice(c);
    if (flags & CELL_LABEL)
        cell->label = cursor_lslice(c);
}

int row_decoder_next(struct row_decoder *r,
                     const struct quarry_row **row,
                     struct err *err)
{
    struct cursor c = cursor_make(r->rest);
    struct quarry_cell *cells;
    size_t count;
    *row = NULL;
    if (r->rest.len == 0)
        return 0;
    r->row.key = cursor_lslice(&c);
    count = cursor_count(&c, CELL_BYTES_MIN);
    buf_clear(&r->cells);
    cells = (struct quarry_cell *)(void *)buf_reserve(
        &r->cells, (count + 1) * sizeof(*cells));
    for (size_t i = 0; i < count && !c.bad; i++)
        get_cell(&c, i ? &cells[i - 1] : NULL, &cells[i]);
    if (c.bad)
        return err_set(err, ERR_CORRUPT, "malformed row in an answer");
    r->row.cells = cells;
    r->row.cell_count = count;
    r->rest = slice_make(c.p, cursor_left(&c));
    *row = &r->row;
    return 0;
}

void row_decoder_close(struct row_decoder *r)
{
    buf_close(&r->cells);
}

/* --- changes ------------------------------------------------------------- */

void row_change_put(const struct row_change *c, struct buf *out)
{
    buf_put_varint(out, c->tablet);
    buf_put_varint(out, c->sequence);
    buf_put_lslice(out, c->row);
    buf_put_varint(out, c->count);
    buf_put_lslice(out, c->ops);
}

int row_change_next(struct slice *rest,
                    struct row_change *c,
                    bool *more,
                    struct err *err)
{
    struct cursor in = cursor_make(*rest);
    uint64_t count;
    *more = rest->len > 0;
    if (!*more)
        return 0;
    c->tablet = cursor_varint(&in);
    c->sequence = cursor_varint(&in);
    c->row = cursor_lslice(&in);
    count = cursor_varint(&in);
    c->ops = cursor_lslice(&in);
    if (in.bad || count > c->ops.len)
        return err_set(err, ERR_CORRUPT, "malformed change of a row");
    c->count = (uint32_t)count;
    *rest = slice_make(in.p, cursor_left(&in));
    return 0;
}

/* --- look-ups ------------------------------------------------------------ */

void row_lookup_put(const struct row_lookup *l, struct buf *out)
{
    buf_put_varint(out, l->tablet);
    buf_put_varint(out, l->generation);
    buf_put_lslice(out, l->row);
    buf_put_u8(out, l->is_cell ? LOOKUP_CELL : LOOKUP_ROW);
    if (l->is_cell) {
        buf_put_lslice(out, l->family);
        buf_put_lslice(out, l->qualifier);
    } else {
        buf_put_lslice(out, l->options);
    }
}

int row_lookup_next(struct slice *rest,
                    struct row_lookup *l,
                    bool *more,
                    struct err *err)
{
    struct cursor in = cursor_make(*rest);
    unsigned kind;
    *more = rest->len > 0;
    if (!*more)
        return 0;
    *l = (struct row_lookup){.tablet = cursor_varint(&in)};
    l->generation = cursor_varint(&in);
    l->row = cursor_lslice(&in);
    kind = cursor_u8(&in);
    l->is_cell = kind == LOOKUP_CELL;
    if (l->is_cell) {
        l->family = cursor_lslice(&in);
        l->qualifier = cursor_lslice(&in);
    } else {
        l->options = cursor_lslice(&in);
    }
    if (in.bad || kind > LOOKUP_CELL)
        return err_set(err, ERR_CORRUPT, "malformed look-up of a row");
    *rest = slice_make(in.p, cursor_left(&in));
    return 0;
}

void cell_answer_put(const struct cell_answer *c, struct buf *out)
{
    buf_put_zigzag(out, c->timestamp_us);
    buf_append_slice(out, c->value);
}

int cell_answer_get(struct slice in, struct cell_answer *c, struct err *err)
{
    struct cursor cur = cursor_make(in);
    c->timestamp_us = cursor_zigzag(&cur);
    if (cur.bad)
        return err_set(err, ERR_CORRUPT, "malformed cell in an answer");
    c->value = slice_make(cur.p, cursor_left(&cur));
    return 0;
}
