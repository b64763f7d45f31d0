/* Cells as values of records, and back: the form of exports that keep every
 * version. The format is in docs/formats.md. */
#include "mapreduce/ingest/cell_record.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"

#define TIME_BYTES 8

void cell_record_put_head(struct buf *out, struct slice schema)
{
    buf_append_str(out, CELL_RECORD_MARK);
    buf_append_slice(out, schema);
}

bool cell_record_head(struct slice key,
                      struct slice value,
                      struct slice *schema)
{
    struct slice mark = SLICE_LIT(CELL_RECORD_MARK);
    if (key.len != 0 || !slice_starts_with(value, mark))
        return false;
    *schema = slice_sub(value, mark.len, value.len);
    return true;
}

void cell_record_put(struct buf *out, const struct quarry_bulk_cell *cell)
{
    struct slice family = slice_str(cell->family);
    char time[TIME_BYTES];
    PRE(family.len > 0 && family.len < CELL_RECORD_FAMILY_BYTES);
    buf_put_varint(out, family.len);
    buf_append_slice(out, family);
    buf_put_varint(out, cell->qualifier.len);
    buf_append_slice(out, cell->qualifier);
    put_le64(time, (uint64_t)cell->timestamp_us);
    buf_append(out, time, sizeof(time));
    buf_append_slice(out, cell->value);
}

/* Cut bytes with their length in front off @s; false: they are not there. */
static bool take_sized(struct slice *s, struct slice *out)
{
    uint64_t n;
    const char *end = s->data + s->len;
    const char *p = get_varint(s->data, end, &n);
    if (!p || n > (uint64_t)(end - p))
        return false;
    *out = slice_make(p, (size_t)n);
    *s = slice_make(p + n, (size_t)(end - p) - (size_t)n);
    return true;
}

bool cell_record_get(struct slice key,
                     struct slice value,
                     char family[CELL_RECORD_FAMILY_BYTES],
                     struct quarry_bulk_cell *out)
{
    struct slice name;
    if (key.len == 0 || value.len == 0 || !take_sized(&value, &name) ||
        value.len == 0 || !take_sized(&value, &out->qualifier) ||
        value.len < TIME_BYTES || name.len == 0 ||
        name.len >= CELL_RECORD_FAMILY_BYTES ||
        memchr(name.data, '\0', name.len))
        return false;
    memcpy(family, name.data, name.len);
    family[name.len] = '\0';
    out->row = key;
    out->family = family;
    out->timestamp_us = (int64_t)get_le64(value.data);
    out->value = slice_sub(value, TIME_BYTES, value.len);
    return true;
}
