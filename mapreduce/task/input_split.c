/* Splits as data: the growing list that a planner fills, their encoding in task
 * specs and journals, and the words messages use for them. Decoded
 * bytes come from files and peers: a range that ends before it begins is
 * malformed. */
#include "mapreduce/task/input_split.h"

#include "base/core/coding.h"
#include "base/core/panic.h"

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
    PRE(path != NULL);
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
    PRE(s->path != NULL);
    PRE(s->begin <= s->end); /* INV-1 */
    buf_put_varint(out, s->input);
    buf_put_varint(out, (uint64_t)s->compression);
    buf_put_u8(out, s->unindexed);
    buf_put_lslice(out, slice_str(s->path));
    buf_put_lslice(out, slice_str(s->snapshot ? s->snapshot : ""));
    buf_put_varint(out, s->begin);
    buf_put_varint(out, s->end);
    buf_put_lslice(out, buf_slice(&s->first_row));
    buf_put_lslice(out, buf_slice(&s->end_row));
    buf_put_varint(out, s->bytes);
    for (size_t i = 0; i < INPUT_MACHINES_MAX; i++)
        buf_put_lslice(out, slice_str(s->machines[i] ? s->machines[i] : ""));
}

void input_split_decode(struct input_split *s, struct cursor *in)
{
    uint64_t compression;
    struct slice path;
    struct slice then;
    *s = (struct input_split){.input = (unsigned)cursor_varint(in)};
    compression = cursor_varint(in);
    if (compression > BYTES_ZSTD)
        in->bad = true;
    else
        s->compression = (enum byte_compression)compression;
    s->unindexed = cursor_u8(in) != 0;
    path = cursor_lslice(in);
    s->path = mem_strndup(path.data, path.len);
    then = cursor_lslice(in);
    if (then.len > 0)
        s->snapshot = mem_strndup(then.data, then.len);
    s->begin = cursor_varint(in);
    s->end = cursor_varint(in);
    buf_append_slice(&s->first_row, cursor_lslice(in));
    buf_append_slice(&s->end_row, cursor_lslice(in));
    s->bytes = cursor_varint(in);
    in->bad = in->bad || s->begin > s->end;
    for (size_t i = 0; i < INPUT_MACHINES_MAX; i++) {
        struct slice name = cursor_lslice(in);
        char *machine = mem_strndup(name.data, name.len);
        if (name.len > 0)
            input_split_place(s, machine);
        mem_free(machine);
    }
}

void input_split_close(struct input_split *s)
{
    mem_free(s->path);
    mem_free(s->snapshot);
    buf_close(&s->first_row);
    buf_close(&s->end_row);
    for (size_t i = 0; i < INPUT_MACHINES_MAX; i++)
        mem_free(s->machines[i]);
    *s = (struct input_split){.path = NULL};
}

void input_split_place(struct input_split *s, const char *machine)
{
    PRE(machine != NULL);
    for (size_t i = 0; i < INPUT_MACHINES_MAX; i++) {
        if (s->machines[i] && strcmp(s->machines[i], machine) == 0)
            return;
        if (!s->machines[i]) {
            s->machines[i] = mem_strdup(machine);
            return;
        }
    }
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
