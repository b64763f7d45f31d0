/* The figures of a view and how far it is built, as the value of the one cell
 * that each transaction of the view rewrites. */
#include "bigtable/view/view_meta.h"

#include "base/core/coding.h"

#define META_VERSION 1

void view_meta_encode(const struct view_meta *m, struct buf *out)
{
    buf_put_u8(out, META_VERSION);
    buf_put_u8(out, (uint8_t)m->phase);
    buf_put_varint(out, m->next_group);
    buf_put_varint(out, m->rows);
    buf_put_varint(out, m->failed);
    buf_put_varint(out, m->groups);
    buf_put_varint(out, m->builds);
    buf_put_lslice(out, buf_slice(&m->cursor));
    buf_put_lslice(out, buf_slice(&m->rules));
    buf_put_lslice(out, buf_slice(&m->error));
}

int view_meta_parse(struct slice value, struct view_meta *out, struct err *err)
{
    struct cursor c = cursor_make(value);
    uint8_t phase;

    *out = (struct view_meta){.phase = VIEW_PHASE_ROWS};
    if (value.len == 0)
        return 0;
    if (cursor_u8(&c) != META_VERSION)
        return err_set(err, ERR_UNSUPPORTED,
                       "the view was written by a newer version");
    phase = cursor_u8(&c);
    out->phase = (enum view_phase)phase;
    out->next_group = cursor_varint(&c);
    out->rows = cursor_varint(&c);
    out->failed = cursor_varint(&c);
    out->groups = cursor_varint(&c);
    out->builds = cursor_varint(&c);
    buf_append_slice(&out->cursor, cursor_lslice(&c));
    buf_append_slice(&out->rules, cursor_lslice(&c));
    buf_append_slice(&out->error, cursor_lslice(&c));
    if (c.bad || cursor_left(&c) != 0 || phase > VIEW_PHASE_READY)
        return err_set(err, ERR_CORRUPT, "the figures of the view are damaged");
    return 0;
}

void view_meta_close(struct view_meta *m)
{
    buf_close(&m->cursor);
    buf_close(&m->rules);
    buf_close(&m->error);
}
