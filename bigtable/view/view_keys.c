/* Keys of the rows of a view's own table, made of the parts that view_keys.h
 * lists. Keys are kept, so the hash and the order of the numbers in them
 * never change. */
#include "bigtable/view/view_keys.h"

#include "base/core/coding.h"
#include "base/core/hash.h"

/* Any number that is never changed: keys are kept. */
#define HASH_SEED UINT64_C(0x76696577)

void view_hash_digits(struct slice row, char digits[VIEW_HASH_DIGITS])
{
    uint64_t h = hash64(row.data, row.len, HASH_SEED);
    for (size_t i = 0; i < VIEW_HASH_DIGITS; i++)
        digits[i] = "0123456789abcdef"[(h >> (60 - 4 * i)) & 15];
}

static void key_begin(struct buf *out, enum view_key_kind kind)
{
    buf_clear(out);
    buf_append_byte(out, (char)kind);
}

static void key_put_be32(struct buf *out, uint32_t v)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        buf_put_u8(out, (uint8_t)(v >> shift));
}

void view_key_row(struct buf *out, struct slice row)
{
    key_begin(out, VIEW_KEY_ROW);
    buf_append_slice(out, row);
}

void view_key_group(struct buf *out, uint32_t table, struct slice key)
{
    key_begin(out, VIEW_KEY_GROUP);
    key_put_be32(out, table);
    buf_append_slice(out, key);
}

void view_key_parts(struct buf *out, uint64_t group)
{
    key_begin(out, VIEW_KEY_PART);
    buf_put_be64(out, group);
}

void view_key_part(struct buf *out,
                   uint64_t group,
                   const char *digits,
                   size_t digit_count,
                   struct slice row)
{
    view_key_parts(out, group);
    buf_append_slice(out, slice_make(digits, digit_count));
    buf_append_slice(out, row);
}

void view_key_node(struct buf *out,
                   uint64_t group,
                   unsigned level,
                   const char *digits,
                   size_t digit_count)
{
    key_begin(out, VIEW_KEY_NODE);
    buf_put_be64(out, group);
    buf_put_u8(out, (uint8_t)level);
    buf_append_slice(out, slice_make(digits, digit_count));
}

void view_key_due(struct buf *out, int64_t time_us, struct slice row)
{
    key_begin(out, VIEW_KEY_DUE);
    buf_put_be64(out, (uint64_t)time_us);
    buf_append_slice(out, row);
}
