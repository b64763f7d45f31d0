/* Encoding and decoding of changes. A batch may come from the network: counts
 * are bounded by the bytes that there are.
 */
#include "bigtable/changes/change_batch.h"

#include "base/core/panic.h"

#define OP_ENCODED_MIN 1
/* An op that is no entry: no number of enum quarry_change_kind, from 1 on. */
#define OP_ORIGIN 0

static void put_op(struct buf *out, const struct quarry_change_entry *e)
{
    buf_put_u8(out, (uint8_t)e->kind);
    if (e->kind != QUARRY_CHANGE_DELETE_ROW)
        buf_put_lslice(out, e->family);
    switch (e->kind) {
    case QUARRY_CHANGE_SET:
    case QUARRY_CHANGE_ADD:
    case QUARRY_CHANGE_MERGE:
        buf_put_lslice(out, e->qualifier);
        buf_put_zigzag(out, e->timestamp_us);
        buf_put_lslice(out, e->value);
        break;
    case QUARRY_CHANGE_DELETE_CELLS:
        buf_put_lslice(out, e->qualifier);
        buf_put_zigzag(out, e->timestamp_us);
        buf_put_zigzag(out, e->max_us);
        break;
    case QUARRY_CHANGE_DELETE_FAMILY:
    case QUARRY_CHANGE_DELETE_ROW: break;
    }
}

void change_batch_put(struct buf *out, const struct quarry_change *c)
{
    PRE(c->row.len > 0);
    PRE(c->entry_count > 0);
    buf_put_varint(out, c->sequence);
    buf_put_zigzag(out, c->commit_us);
    buf_put_lslice(out, c->row);
    buf_put_varint(out, c->entry_count + (c->origin.site != 0));
    if (c->origin.site) {
        buf_put_u8(out, OP_ORIGIN);
        buf_put_le64(out, c->origin.site);
        buf_put_zigzag(out, c->origin.us);
        buf_put_varint(out, c->origin.sequence);
    }
    for (size_t i = 0; i < c->entry_count; i++)
        put_op(out, &c->entries[i]);
}

static void read_op(struct cursor *c, struct quarry_change_entry *e)
{
    *e = (struct quarry_change_entry){
        .kind = (enum quarry_change_kind)cursor_u8(c)};
    if (e->kind != QUARRY_CHANGE_DELETE_ROW)
        e->family = cursor_lslice(c);
    switch (e->kind) {
    case QUARRY_CHANGE_SET:
    case QUARRY_CHANGE_ADD:
    case QUARRY_CHANGE_MERGE:
        e->qualifier = cursor_lslice(c);
        e->timestamp_us = cursor_zigzag(c);
        e->value = cursor_lslice(c);
        break;
    case QUARRY_CHANGE_DELETE_CELLS:
        e->qualifier = cursor_lslice(c);
        e->timestamp_us = cursor_zigzag(c);
        e->max_us = cursor_zigzag(c);
        break;
    case QUARRY_CHANGE_DELETE_FAMILY:
    case QUARRY_CHANGE_DELETE_ROW: break;
    default: c->bad = true; break;
    }
}

/* The first op, if it is an origin. */
static bool read_origin(struct cursor *c, struct quarry_origin *out)
{
    if (cursor_left(c) == 0 || *c->p != OP_ORIGIN)
        return false;
    (void)cursor_u8(c);
    out->site = cursor_le64(c);
    out->us = cursor_zigzag(c);
    out->sequence = cursor_varint(c);
    c->bad |= out->site == 0;
    return true;
}

bool change_batch_next(struct cursor *c,
                       struct buf *ops,
                       struct quarry_change *out)
{
    size_t count;
    if (c->bad || cursor_left(c) == 0)
        return false;
    *out = (struct quarry_change){.sequence = cursor_varint(c)};
    out->commit_us = cursor_zigzag(c);
    out->row = cursor_lslice(c);
    count = cursor_count(c, OP_ENCODED_MIN);
    buf_clear(ops);
    if (count && read_origin(c, &out->origin))
        count--;
    for (size_t i = 0; i < count && !c->bad; i++) {
        struct quarry_change_entry e;
        read_op(c, &e);
        buf_append(ops, &e, sizeof(e));
    }
    c->bad |= out->row.len == 0 || count == 0;
    out->entries = (const void *)ops->data;
    out->entry_count = count;
    return !c->bad;
}
