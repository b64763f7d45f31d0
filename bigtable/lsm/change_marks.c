/* Marks of commits as an array, and as bytes. Differences are small: a mark
 * takes two to five bytes.
 */
#include "bigtable/lsm/change_marks.h"

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"

#define MARK_ENCODED_MIN 2

void change_marks_close(struct change_marks *m)
{
    mem_free(m->list);
    *m = (struct change_marks){0};
    POST(m->count == 0);
}

void change_marks_add(struct change_marks *m, struct change_mark mark)
{
    PRE(m->count == 0 || m->list[m->count - 1].sequence < mark.sequence);
    PRE(m->count == 0 || m->list[m->count - 1].us <= mark.us);
    if (m->count == m->cap) {
        m->cap = m->cap ? 2 * m->cap : 16;
        m->list = mem_realloc(m->list, m->cap * sizeof(*m->list));
    }
    m->list[m->count++] = mark;
}

const struct change_mark *change_marks_find(const struct change_marks *m,
                                            uint64_t sequence)
{
    size_t low = 0;
    size_t high = m->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (m->list[middle].sequence <= sequence)
            low = middle + 1;
        else
            high = middle;
    }
    POST(low <= m->count);
    POST(low == 0 || m->list[low - 1].sequence <= sequence);
    return low > 0 ? &m->list[low - 1] : NULL;
}

void change_marks_encode(const struct change_marks *m, struct buf *out)
{
    struct change_mark last = {0, 0};
    PRE(m->list || m->count == 0);

    for (size_t i = 0; i < m->count; i++) {
        buf_put_varint(out, m->list[i].sequence - last.sequence);
        buf_put_varint(out, (uint64_t)m->list[i].us - (uint64_t)last.us);
        last = m->list[i];
    }
}

int change_marks_decode(struct slice bytes,
                        struct change_marks *out,
                        struct err *err)
{
    struct cursor c = cursor_make(bytes);
    struct change_mark last = {0, 0};

    PRE(out->count == 0);
    out->cap = bytes.len / MARK_ENCODED_MIN;
    out->list = mem_alloc((out->cap + 1) * sizeof(*out->list));
    while (cursor_left(&c) > 0 && !c.bad) {
        uint64_t step = cursor_varint(&c);
        uint64_t us = cursor_varint(&c);
        c.bad |= step == 0 || step > UINT64_MAX - last.sequence ||
                 us > (uint64_t)(INT64_MAX - last.us);
        if (c.bad)
            break;
        last.sequence += step;
        last.us += (int64_t)us;
        change_marks_add(out, last);
    }
    if (!c.bad)
        return 0;
    change_marks_close(out);
    return err_set(err, ERR_CORRUPT, "malformed marks of changes");
}
