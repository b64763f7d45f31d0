/* Ranges of keys. An empty end means "to the last key", so comparing two ends
 * treats an empty one as the greatest. */
#include "base/core/key_range.h"

#include "base/core/panic.h"

struct key_range key_range_of_prefix(struct slice prefix, struct buf *end)
{
    size_t n = prefix.len;
    while (n > 0 && (unsigned char)prefix.data[n - 1] == 0xff)
        n--;
    PRE(!end->data || end->data != prefix.data);
    buf_clear(end);
    buf_append(end, prefix.data, n);
    if (n > 0)
        end->data[n - 1] = (char)((unsigned char)end->data[n - 1] + 1);
    return (struct key_range){prefix, buf_slice(end)};
}

/* The smaller of two ends; an empty one is greater than all others. */
static struct slice smaller_end(struct slice a, struct slice b)
{
    if (a.len == 0 || b.len == 0)
        return a.len == 0 ? b : a;
    return slice_cmp(a, b) < 0 ? a : b;
}

struct key_range key_range_intersect(struct key_range a, struct key_range b)
{
    return (struct key_range){
        .start = slice_cmp(a.start, b.start) > 0 ? a.start : b.start,
        .end = smaller_end(a.end, b.end),
    };
}

bool key_range_is_empty(struct key_range r)
{
    return r.end.len > 0 && slice_cmp(r.start, r.end) >= 0;
}

bool key_range_has(struct key_range r, struct slice key)
{
    return slice_cmp(key, r.start) >= 0 &&
           (r.end.len == 0 || slice_cmp(key, r.end) < 0);
}
