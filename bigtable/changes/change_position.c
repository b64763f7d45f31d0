/* Places in changes: copied, cut at rows, and as tokens.
 */
#include "bigtable/changes/change_position.h"

#include "base/core/panic.h"

#define TOKEN_VERSION         1
#define PARTITION_ENCODED_MIN 6

void change_partition_close(struct change_partition *p)
{
    buf_close(&p->start);
    buf_close(&p->end);
    buf_close(&p->at.row);
}

void change_partition_copy(const struct change_partition *from,
                           struct change_partition *to)
{
    PRE(to->start.len == 0 && to->end.len == 0 && to->at.row.len == 0);
    buf_append_slice(&to->start, buf_slice(&from->start));
    buf_append_slice(&to->end, buf_slice(&from->end));
    buf_append_slice(&to->at.row, buf_slice(&from->at.row));
    to->at.low = from->at.low;
    to->at.high = from->at.high;
    to->at.row_sequence = from->at.row_sequence;
    to->watermark_us = from->watermark_us;
}

/* Rows before the window's row were read up to its end: a part that has only
 * such rows is behind the window. */
static void position_settle(struct change_partition *p)
{
    struct change_position *at = &p->at;
    if (at->high == 0)
        return;
    if (p->end.len && slice_cmp(buf_slice(&at->row), buf_slice(&p->end)) >= 0) {
        at->low = at->high;
        at->high = 0;
        at->row_sequence = 0;
        buf_clear(&at->row);
    } else if (slice_cmp(buf_slice(&at->row), buf_slice(&p->start)) < 0) {
        buf_clear(&at->row);
        at->row_sequence = 0;
    }
}

void change_partition_cut(struct change_partition *p,
                          struct slice row,
                          struct change_partition *rest)
{
    PRE(row.len > 0);
    PRE(slice_cmp(buf_slice(&p->start), row) < 0);
    PRE(p->end.len == 0 || slice_cmp(row, buf_slice(&p->end)) < 0);
    change_partition_copy(p, rest);
    buf_clear(&rest->start);
    buf_append_slice(&rest->start, row);
    buf_clear(&p->end);
    buf_append_slice(&p->end, row);
    position_settle(p);
    position_settle(rest);
}

void change_position_copy(const struct change_position *from,
                          struct change_position *to)
{
    to->low = from->low;
    to->high = from->high;
    buf_clear(&to->row);
    buf_append_slice(&to->row, buf_slice(&from->row));
    to->row_sequence = from->row_sequence;
}

/* Do the numbers rise along the whole batch? */
static bool is_in_order(const struct quarry_change *list, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (list[i].sequence <= list[i - 1].sequence)
            return false;
    return true;
}

/* Everything before the next change was told: that is the place. A batch by
 * rows stays within its window. A window that was read in one batch, and whose
 * numbers rise, may as well be left in the order of numbers: what it has was
 * told up to each of them. */
bool change_position_behind(const struct change_position *from,
                            const struct change_position *to,
                            const struct quarry_change *list,
                            size_t count,
                            size_t i,
                            struct change_position *out)
{
    uint64_t before;
    PRE(i < count);
    if (i + 1 == count) {
        change_position_copy(to, out);
        return true;
    }
    before = list[i + 1].sequence - 1;
    buf_clear(&out->row);
    out->row_sequence = 0;
    if (from->high && list[0].sequence <= from->high) {
        out->low = from->low;
        out->high = from->high;
    } else if (to->high) {
        out->low = to->low;
        out->high = to->high;
    } else if (is_in_order(list, count)) {
        out->low = before;
        out->high = 0;
        return before >= MAX_OF(from->low, from->high);
    } else {
        out->low = MAX_OF(from->low, from->high);
        out->high = to->low;
    }
    buf_append_slice(&out->row, list[i + 1].row);
    out->row_sequence = before;
    return out->low <= before && before < out->high;
}

void change_position_put(struct buf *out, const struct change_position *p)
{
    buf_put_varint(out, p->low);
    buf_put_varint(out, p->high);
    buf_put_lslice(out, buf_slice(&p->row));
    buf_put_varint(out, p->row_sequence);
}

void change_position_get(struct cursor *c, struct change_position *p)
{
    p->low = cursor_varint(c);
    p->high = cursor_varint(c);
    buf_append_slice(&p->row, cursor_lslice(c));
    p->row_sequence = cursor_varint(c);
    c->bad |= p->high && p->high <= p->low;
}

void change_token_put(struct buf *out,
                      const struct change_partition *list,
                      size_t count)
{
    buf_put_varint(out, TOKEN_VERSION);
    for (size_t i = 0; i < count; i++) {
        buf_put_lslice(out, buf_slice(&list[i].start));
        buf_put_lslice(out, buf_slice(&list[i].end));
        change_position_put(out, &list[i].at);
    }
}

struct slice change_token_partitions(struct slice token)
{
    struct cursor c = cursor_make(token);
    if (cursor_varint(&c) != TOKEN_VERSION || c.bad)
        return SLICE_EMPTY;
    return slice_make(c.p, cursor_left(&c));
}

static void read_partition(struct cursor *c, struct change_partition *p)
{
    buf_append_slice(&p->start, cursor_lslice(c));
    buf_append_slice(&p->end, cursor_lslice(c));
    change_position_get(c, &p->at);
    c->bad |=
        p->end.len && slice_cmp(buf_slice(&p->start), buf_slice(&p->end)) >= 0;
}

int change_token_get(struct slice token,
                     struct change_partition **list,
                     size_t *count,
                     struct err *err)
{
    struct cursor c = cursor_make(token);
    size_t room = token.len / PARTITION_ENCODED_MIN + 1;
    *count = 0;
    *list = NULL;
    c.bad |= cursor_varint(&c) != TOKEN_VERSION || room > CHANGE_PARTITIONS_MAX;
    if (!c.bad)
        *list = mem_zalloc(room, sizeof(**list));
    while (!c.bad && cursor_left(&c) > 0 && *count < room)
        read_partition(&c, &(*list)[(*count)++]);
    if (!c.bad && *count > 0)
        return 0;
    while (*count > 0)
        change_partition_close(&(*list)[--*count]);
    mem_free(*list);
    *list = NULL;
    return err_set(err, ERR_INVALID, "this is no token of a reader of changes");
}
