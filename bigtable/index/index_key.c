/* Keys of entries. Each value is
 *
 *     1                                 there is none
 *     2 byte… 0 1                       0 in it is 0 255
 *
 * so that values sort as their bytes do, absent ones first, and none is the
 * beginning of another.
 */
#include <string.h>

#include "base/core/panic.h"
#include "bigtable/index/index.h"

#define KEY_ABSENT  1
#define KEY_PRESENT 2
#define KEY_END     1
#define KEY_ZERO    ((char)255)

void index_place_close(struct index_place *p)
{
    buf_close(&p->row);
    buf_close(&p->qualifier);
}

bool index_place_eq(const struct index_place *a, const struct index_place *b)
{
    return slice_eq(buf_slice(&a->row), buf_slice(&b->row)) &&
           slice_eq(buf_slice(&a->qualifier), buf_slice(&b->qualifier));
}

void index_key_put_prefix(struct buf *out, struct slice prefix)
{
    buf_append_byte(out, KEY_PRESENT);
    for (size_t i = 0; i < prefix.len; i++) {
        buf_append_byte(out, prefix.data[i]);
        if (prefix.data[i] == '\0')
            buf_append_byte(out, KEY_ZERO);
    }
}

void index_key_put(struct buf *out, struct index_value v)
{
    if (!v.present) {
        buf_append_byte(out, KEY_ABSENT);
        return;
    }
    index_key_put_prefix(out, v.value);
    buf_append_byte(out, '\0');
    buf_append_byte(out, KEY_END);
}

bool index_key_skip(struct slice *key)
{
    size_t i = 1;
    if (key->len == 0)
        return false;
    if (key->data[0] == KEY_ABSENT) {
        *key = slice_sub(*key, 1, key->len);
        return true;
    }
    if (key->data[0] != KEY_PRESENT)
        return false;
    for (; i + 1 < key->len; i++) {
        if (key->data[i] != '\0')
            continue;
        if (key->data[++i] == KEY_END) {
            *key = slice_sub(*key, i + 1, key->len);
            return true;
        }
    }
    return false;
}

bool index_place_of(const struct index_def *d,
                    const struct index_value *values,
                    struct slice row,
                    struct index_place *out)
{
    bool all = true;
    PRE(out->row.len == 0);
    if (!values[0].present)
        return false;
    for (size_t i = 0; i < d->column_count; i++) {
        index_key_put(&out->row, values[i]);
        all &= values[i].present;
    }
    buf_append_slice(d->unique && all ? &out->qualifier : &out->row, row);
    return true;
}

bool index_place_row(const struct index_def *d,
                     struct slice entry_row,
                     struct slice qualifier,
                     struct slice *row)
{
    PRE(d->column_count > 0);
    for (size_t i = 0; i < d->column_count; i++)
        if (!index_key_skip(&entry_row))
            return false;
    *row = qualifier.len ? qualifier : entry_row;
    return row->len > 0 && (qualifier.len == 0 || entry_row.len == 0);
}

bool index_place_is_claim(const struct index_place *p)
{
    return p->qualifier.len > 0;
}
