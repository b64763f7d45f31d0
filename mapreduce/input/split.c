/* Splits as data: a growing array, their bytes, their names in messages. */
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "mapreduce/input/input.h"

void input_splits_init(struct input_splits *s)
{
    *s = (struct input_splits){NULL, 0, 0};
}

void input_splits_close(struct input_splits *s)
{
    for (size_t i = 0; i < s->count; i++)
        input_split_close(&s->at[i]);
    mem_free(s->at);
    input_splits_init(s);
}

struct input_split *
input_splits_add(struct input_splits *s, unsigned input, const char *path)
{
    struct input_split *n;
    if (s->count == s->cap) {
        s->cap = MAX_OF(16, 2 * s->cap);
        s->at = mem_realloc(s->at, s->cap * sizeof(*s->at));
    }
    n = &s->at[s->count++];
    *n = (struct input_split){.input = input, .path = mem_strdup(path)};
    return n;
}

void input_split_encode(const struct input_split *s, struct buf *out)
{
    buf_put_varint(out, s->input);
    buf_put_varint(out, (uint64_t)s->packing);
    buf_put_u8(out, s->unindexed);
    buf_put_lslice(out, slice_str(s->path));
    buf_put_varint(out, s->begin);
    buf_put_varint(out, s->end);
    buf_put_lslice(out, buf_slice(&s->first_row));
    buf_put_lslice(out, buf_slice(&s->end_row));
    buf_put_varint(out, s->bytes);
}

void input_split_decode(struct input_split *s, struct cursor *in)
{
    uint64_t packing;
    struct slice path;
    *s = (struct input_split){.input = (unsigned)cursor_varint(in)};
    packing = cursor_varint(in);
    if (packing > INPUT_ZSTD)
        in->bad = true;
    else
        s->packing = (enum input_packing)packing;
    s->unindexed = cursor_u8(in) != 0;
    path = cursor_lslice(in);
    s->path = mem_strndup(path.data, path.len);
    s->begin = cursor_varint(in);
    s->end = cursor_varint(in);
    buf_append_slice(&s->first_row, cursor_lslice(in));
    buf_append_slice(&s->end_row, cursor_lslice(in));
    s->bytes = cursor_varint(in);
}

void input_split_close(struct input_split *s)
{
    mem_free(s->path);
    buf_close(&s->first_row);
    buf_close(&s->end_row);
    s->path = NULL;
}

void input_split_describe(const struct input_split *s, struct buf *out)
{
    buf_append_str(out, s->path);
    if (s->first_row.len > 0)
        buf_printf(out, ", rows from \"%.*s\"",
                   (int)MIN_OF(s->first_row.len, (size_t)80),
                   s->first_row.data);
    else if (s->end > 0 && s->begin > 0)
        buf_printf(out, ", bytes %llu to %llu", (unsigned long long)s->begin,
                   (unsigned long long)s->end);
}
