/* Sets of rows: the keys and ranges of a read, sorted and merged, so that a
 * scan over several tablets can ask for the next row of the set from any key
 * on.
 */
#include "bigtable/client/cluster/row_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"

static bool is_empty(const struct quarry_range *r)
{
    return r->end.len && slice_cmp(r->start, r->end) >= 0;
}

/* The key alone: it and the next possible one. */
static struct quarry_range range_of_key(struct row_set *s, struct slice key)
{
    char *p = arena_alloc(&s->arena, key.len + 1);
    if (key.len)
        memcpy(p, key.data, key.len);
    p[key.len] = '\0';
    return (struct quarry_range){slice_make(p, key.len),
                                 slice_make(p, key.len + 1)};
}

static void row_set_add(struct row_set *s, struct quarry_range r)
{
    if (!is_empty(&r))
        s->ranges[s->count++] = r;
}

static int row_set_compare(const void *a, const void *b)
{
    return slice_cmp(((const struct quarry_range *)a)->start,
                     ((const struct quarry_range *)b)->start);
}

static void row_set_merge(struct row_set *s)
{
    size_t n = 0;
    if (s->count)
        qsort(s->ranges, s->count, sizeof(*s->ranges), row_set_compare);
    for (size_t i = 0; i < s->count; i++) {
        struct quarry_range *last = n ? &s->ranges[n - 1] : NULL;
        const struct quarry_range *r = &s->ranges[i];
        if (!last || (last->end.len && slice_cmp(r->start, last->end) > 0))
            s->ranges[n++] = *r;
        else if (last->end.len &&
                 (r->end.len == 0 || slice_cmp(r->end, last->end) > 0))
            last->end = r->end;
    }
    s->count = n;
}

void row_set_init(struct row_set *s, const struct quarry_read_options *opts)
{
    size_t ranges = opts ? opts->range_count : 0;
    size_t keys = opts ? opts->key_count : 0;
    PRE(ranges == 0 || opts->ranges);
    *s = (struct row_set){.count = 0};
    arena_init(&s->arena);
    s->ranges = mem_zalloc(ranges + keys + 1, sizeof(*s->ranges));
    for (size_t i = 0; i < ranges; i++)
        row_set_add(s, (struct quarry_range){
                           arena_dup(&s->arena, opts->ranges[i].start),
                           arena_dup(&s->arena, opts->ranges[i].end)});
    for (size_t i = 0; i < keys; i++)
        row_set_add(s, range_of_key(s, opts->keys[i]));
    if (ranges + keys == 0)
        row_set_add(s, (struct quarry_range){SLICE_EMPTY, SLICE_EMPTY});
    row_set_merge(s);
}

void row_set_close(struct row_set *s)
{
    mem_free(s->ranges);
    arena_close(&s->arena);
    *s = (struct row_set){.count = 0};
}

/* The first range that ends behind @from. */
static size_t row_set_find(const struct row_set *s, struct slice from)
{
    size_t low = 0;
    size_t high = s->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct slice end = s->ranges[middle].end;
        if (end.len == 0 || slice_cmp(end, from) > 0)
            high = middle;
        else
            low = middle + 1;
    }
    POST(low <= s->count);
    return low;
}

bool row_set_next(const struct row_set *s, struct slice from, struct slice *row)
{
    size_t i = row_set_find(s, from);
    if (i == s->count)
        return false;
    *row = slice_cmp(s->ranges[i].start, from) > 0 ? s->ranges[i].start : from;
    return true;
}

size_t row_set_part(const struct row_set *s,
                    struct slice from,
                    struct slice end,
                    size_t bytes,
                    struct quarry_range *out,
                    size_t max,
                    struct slice *stop)
{
    size_t used = 0;
    size_t n = 0;
    for (size_t i = row_set_find(s, from); i < s->count; i++) {
        struct quarry_range r = s->ranges[i];
        if (end.len && slice_cmp(r.start, end) >= 0)
            break;
        used += r.start.len + r.end.len;
        if (n == max || (n > 0 && used > bytes)) {
            *stop = r.start;
            return n;
        }
        if (slice_cmp(r.start, from) < 0)
            r.start = from;
        if (end.len && (r.end.len == 0 || slice_cmp(r.end, end) > 0))
            r.end = end;
        out[n++] = r;
    }
    *stop = end;
    return n;
}
