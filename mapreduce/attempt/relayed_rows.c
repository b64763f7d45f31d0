/* Rows decoded from the relay's byte stream. A row may be cut anywhere between
 * two answers, so bytes are gathered until one is whole. */
#include "mapreduce/attempt/relayed_rows.h"

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/quarry.h"
#include "mapreduce/attempt/row_relay.h"
#include "mapreduce/input/input.h"
#include "mapreduce/task/task_spec.h"

struct relayed_rows {
    struct input_reader base;
    struct fs *fs;
    struct buf bytes; /* From the last row given out. */
    size_t used;      /* The bytes of that row. */
    struct quarry_row row;
    struct quarry_cell *cells;
    size_t cell_cap;
    uint64_t rows;
};

static int relayed_rows_malformed(struct err *err)
{
    return err_set(err, ERR_CORRUPT, "malformed row from the worker");
}

/* Fetch one more piece; *@ended: there is none. */
static int
relayed_rows_fetch(struct relayed_rows *r, bool *ended, struct err *err)
{
    struct cursor in;
    int rc = fs_proxy_call(r->fs, RELAY_NEXT, SLICE_EMPTY, &in, err);
    if (rc)
        return rc;
    *ended = cursor_left(&in) == 0;
    buf_append(&r->bytes, in.p, cursor_left(&in));
    return 0;
}

/* Fetch all bytes of the next row; *@ended: there is none. */
static int fetch_row(struct relayed_rows *r, bool *ended, struct err *err)
{
    int rc = 0;
    buf_consume(&r->bytes, r->used);
    r->used = 0;
    *ended = false;
    while (rc == 0 && !*ended &&
           (r->bytes.len < 4 || r->bytes.len - 4 < get_le32(r->bytes.data)))
        rc = relayed_rows_fetch(r, ended, err);
    if (rc == 0 && *ended && r->bytes.len > 0)
        rc = relayed_rows_malformed(err);
    return rc;
}

static void read_cells(struct relayed_rows *r, struct cursor *in)
{
    size_t count = cursor_count(in, 5);
    if (count > r->cell_cap) {
        r->cells = mem_realloc(r->cells, count * sizeof(*r->cells));
        r->cell_cap = count;
    }
    for (size_t i = 0; i < count; i++) {
        struct quarry_cell *c = &r->cells[i];
        c->family = cursor_lslice(in);
        c->qualifier = cursor_lslice(in);
        c->timestamp_us = cursor_zigzag(in);
        c->value = cursor_lslice(in);
        c->label = cursor_lslice(in);
    }
    r->row.cells = r->cells;
    r->row.cell_count = count;
}

static int relayed_next(struct input_reader *base,
                        struct mr_record *record,
                        bool *more,
                        struct err *err)
{
    struct relayed_rows *r = (struct relayed_rows *)base;
    bool ended = false;
    struct cursor in;
    size_t len;
    int rc = fetch_row(r, &ended, err);
    *more = rc == 0 && !ended;
    if (!*more)
        return rc;
    len = get_le32(r->bytes.data);
    r->used = 4 + len;
    in = cursor_make(slice_make(r->bytes.data + 4, len));
    r->row.key = cursor_lslice(&in);
    read_cells(r, &in);
    if (in.bad)
        return relayed_rows_malformed(err);
    record->key = r->row.key;
    record->value = SLICE_EMPTY;
    record->row = &r->row;
    record->offset = r->rows++;
    return 0;
}

static void relayed_close(struct input_reader *base)
{
    struct relayed_rows *r = (struct relayed_rows *)base;
    buf_close(&r->bytes);
    mem_free(r->cells);
    mem_free(r);
}

int relayed_rows_open(void *ctx,
                      const struct input_split *split,
                      struct input_reader **out,
                      struct err *err)
{
    const struct relayed_source *source = ctx;
    struct relayed_rows *r;
    struct buf number = BUF_INIT;
    struct cursor in;
    int rc;
    PRE(split >= source->spec->splits.at &&
        split < source->spec->splits.at + source->spec->splits.count);
    *out = NULL;
    buf_put_varint(&number, (uint64_t)(split - source->spec->splits.at));
    rc = fs_proxy_call(source->fs, RELAY_OPEN, buf_slice(&number), &in, err);
    buf_close(&number);
    if (rc)
        return rc;
    r = mem_zalloc(1, sizeof(*r));
    r->base.next = relayed_next;
    r->base.close = relayed_close;
    r->fs = source->fs;
    *out = &r->base;
    return 0;
}
