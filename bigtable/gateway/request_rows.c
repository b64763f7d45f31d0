/* RowSet and RowRange. Keys and ends of ranges point into the request; only an
 * end that has to change its kind (open start, closed end) is copied, with a
 * zero byte appended, which makes the next possible key. An empty end is no
 * end.
 */
#include "bigtable/gateway/request_rows.h"

#include "base/core/panic.h"
#include "base/core/pb.h"
#include "bigtable/gateway/api_fields.h"

/* Elements that an array begins with. */
#define FIRST_COUNT 4

void request_rows_init(struct request_rows *r)
{
    *r = (struct request_rows){.keys = NULL};
    arena_init(&r->made);
}

void request_rows_close(struct request_rows *r)
{
    mem_free(r->keys);
    mem_free(r->ranges);
    arena_close(&r->made);
}

/* Make room for one more of @count items of @size bytes: an array is full when
 * its count is a power of two. */
static void *request_rows_grow(void *items, size_t count, size_t size)
{
    if (count == 0)
        return mem_realloc(items, FIRST_COUNT * size);
    if (count >= FIRST_COUNT && (count & (count - 1)) == 0)
        return mem_realloc(items, 2 * count * size);
    return items;
}

static void add_key(struct request_rows *r, struct slice key)
{
    r->keys = request_rows_grow(r->keys, r->key_count, sizeof(*r->keys));
    r->keys[r->key_count++] = key;
}

/* The key that follows @key immediately. */
static struct slice request_rows_successor(struct request_rows *r,
                                           struct slice key)
{
    char *p = arena_alloc(&r->made, key.len + 1);
    if (key.len)
        memcpy(p, key.data, key.len);
    p[key.len] = '\0';
    return slice_make(p, key.len + 1);
}

/* ERR_INVALID if @range ends before it starts. */
static int check_order(const struct quarry_range *range, struct err *err)
{
    if (range->end.len == 0 || slice_cmp(range->start, range->end) <= 0)
        return 0;
    return err_set(err, ERR_INVALID, "a row range that ends before it starts");
}

static void add_range(struct request_rows *r, const struct quarry_range *range)
{
    if (range->end.len && slice_cmp(range->start, range->end) >= 0)
        return; /* An empty range: no row. */
    r->ranges =
        request_rows_grow(r->ranges, r->range_count, sizeof(*r->ranges));
    r->ranges[r->range_count++] = *range;
}

static int
parse_range(struct request_rows *r, struct slice bytes, struct err *err)
{
    struct cursor c = cursor_make(bytes);
    struct quarry_range range = {SLICE_EMPTY, SLICE_EMPTY};
    struct pb_field f;
    bool start_open = false;
    bool end_closed = false;
    int rc;
    while (pb_next(&c, &f)) {
        if (f.wire != PB_BYTES)
            continue;
        if (f.number == PB_RowRange_start_key_closed ||
            f.number == PB_RowRange_start_key_open) {
            range.start = f.bytes;
            start_open = f.number == PB_RowRange_start_key_open;
        } else if (f.number == PB_RowRange_end_key_open ||
                   f.number == PB_RowRange_end_key_closed) {
            range.end = f.bytes;
            end_closed = f.number == PB_RowRange_end_key_closed;
        }
    }
    if (c.bad)
        return err_set(err, ERR_INVALID, "not a RowRange");
    rc = check_order(&range, err);
    if (rc)
        return rc;
    if (start_open && range.start.len)
        range.start = request_rows_successor(r, range.start);
    if (end_closed && range.end.len)
        range.end = request_rows_successor(r, range.end);
    add_range(r, &range);
    return 0;
}

int request_rows_parse(struct request_rows *r,
                       struct slice bytes,
                       struct err *err)
{
    struct cursor c = cursor_make(bytes);
    struct pb_field f;
    bool any = false;
    int rc = 0;
    while (rc == 0 && pb_next(&c, &f)) {
        if (pb_is_bytes(&f, PB_RowSet_row_keys)) {
            any = true;
            if (f.bytes.len == 0)
                return err_set(err, ERR_INVALID, "Row keys must be non-empty");
            add_key(r, f.bytes);
        } else if (pb_is_bytes(&f, PB_RowSet_row_ranges)) {
            any = true;
            rc = parse_range(r, f.bytes, err);
        }
    }
    if (rc == 0 && c.bad)
        rc = err_set(err, ERR_INVALID, "not a RowSet");
    r->none = any && r->key_count == 0 && r->range_count == 0;
    return rc;
}
