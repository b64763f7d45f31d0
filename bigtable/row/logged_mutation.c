/* Reading mutations of log records. The bytes may come from a damaged disk or
 * from another server, so every length is checked against what is left before
 * it is used; an operation takes at least the two bytes of its family.
 */
#include "bigtable/row/logged_mutation.h"

#include "base/core/buf.h"
#include "base/core/panic.h"

size_t logged_count_read(struct cursor *c, struct logged_mutation *m)
{
    uint64_t n = cursor_varint(c);
    uint64_t count = n & ~LOGGED_WITH_CHANGE;
    m->session = m->sequence = 0;
    m->answer = SLICE_EMPTY;
    if (n & LOGGED_WITH_CHANGE) {
        m->session = cursor_le64(c);
        m->sequence = cursor_varint(c);
        m->answer = cursor_lslice(c);
        c->bad |= m->session == 0;
    }
    c->bad |= count > cursor_left(c) / 2;
    return c->bad ? 0 : (size_t)count;
}

void logged_count_put(struct buf *out, const struct logged_mutation *m)
{
    PRE(m->count > 0 && m->count < LOGGED_WITH_CHANGE);
    buf_put_varint(out, m->count | (m->session ? LOGGED_WITH_CHANGE : 0));
    if (m->session == 0)
        return;
    buf_put_le64(out, m->session);
    buf_put_varint(out, m->sequence);
    buf_put_lslice(out, m->answer);
}

bool logged_mutation_read(struct cursor *c, struct logged_mutation *m)
{
    if (c->bad || c->p == c->end)
        return false;
    m->table = cursor_varint(c);
    m->now_us = (int64_t)cursor_le64(c);
    m->count = logged_count_read(c, m);
    m->row = cursor_lslice(c);
    if (m->count == 0 || m->row.len == 0 || m->count > cursor_left(c) / 2)
        c->bad = true;
    m->families = cursor_bytes(c, c->bad ? 0 : 2 * m->count).data;
    m->ops = cursor_lslice(c);
    return !c->bad;
}
