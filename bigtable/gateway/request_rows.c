/* RowSet and RowRange.
 *
 *     RowSet     row_keys 1, row_ranges 2
 *     RowRange   start_key_closed 1, start_key_open 2, end_key_open 3,
 *                end_key_closed 4; an empty or absent end is none
 */
#include "bigtable/gateway/request_rows.h"

#include "base/core/panic.h"
#include "bigtable/gateway/pb.h"

/* The first field of a repeated one makes room for so many. */
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

/* Room for one more of @count things of @size: their number is a power of two
 * whenever there is none. */
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

/* Keys in the order of a range that is not empty? */
static int check_order(const struct quarry_range *range, struct err *err)
{
    if (range->end.len == 0 || slice_cmp(range->start, range->end) <= 0)
        return 0;
    return err_set(err, ERR_INVALID, "a row range that ends before it starts");
}

static void add_range(struct request_rows *r, const struct quarry_range *range)
{
    if (range->end.len && slice_cmp(range->start, range->end) >= 0)
        return; /* Empty: no row. */
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
        if (f.number == 1 || f.number == 2) {
            range.start = f.bytes;
            start_open = f.number == 2;
        } else if (f.number == 3 || f.number == 4) {
            range.end = f.bytes;
            end_closed = f.number == 4;
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
        if (pb_is_bytes(&f, 1)) {
            any = true;
            if (f.bytes.len == 0)
                return err_set(err, ERR_INVALID, "row keys must not be empty");
            add_key(r, f.bytes);
        } else if (pb_is_bytes(&f, 2)) {
            any = true;
            rc = parse_range(r, f.bytes, err);
        }
    }
    if (rc == 0 && c.bad)
        rc = err_set(err, ERR_INVALID, "not a RowSet");
    r->none = any && r->key_count == 0 && r->range_count == 0;
    return rc;
}
