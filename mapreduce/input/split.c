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
    uint64_t packing;
    struct slice path;
    struct slice then;
    *s = (struct input_split){.input = (unsigned)cursor_varint(in)};
    packing = cursor_varint(in);
    if (packing > INPUT_ZSTD)
        in->bad = true;
    else
        s->packing = (enum input_packing)packing;
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
    for (size_t i = 0; i < INPUT_MACHINES_MAX; i++) {
        struct slice name = cursor_lslice(in);
        if (name.len > 0)
            s->machines[i] = mem_strndup(name.data, name.len);
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

int input_splits_locate(struct input_splits *s,
                        size_t first,
                        const struct job_files *files,
                        const char *path,
                        struct err *err)
{
    struct job_file *f = NULL;
    int code;
    if (!files->fs || first == s->count)
        return 0;
    code = job_file_open(files, path, &f, err);
    for (size_t i = first; i < s->count && code == 0; i++) {
        const char *names[INPUT_MACHINES_MAX];
        size_t n =
            job_file_locality(f, s->at[i].begin, s->at[i].end - s->at[i].begin,
                              names, INPUT_MACHINES_MAX);
        for (size_t k = 0; k < n; k++)
            input_split_place(&s->at[i], names[k]);
    }
    job_file_close(f);
    return code;
}

void input_split_place(struct input_split *s, const char *machine)
{
    for (size_t i = 0; i < INPUT_MACHINES_MAX; i++) {
        if (s->machines[i] && strcmp(s->machines[i], machine) == 0)
            return;
        if (!s->machines[i]) {
            s->machines[i] = mem_strdup(machine);
            return;
        }
    }
}

static bool has_machine(const struct input_split *s, const char *machine)
{
    for (size_t i = 0; i < INPUT_MACHINES_MAX && s->machines[i]; i++)
        if (strcmp(s->machines[i], machine) == 0)
            return true;
    return false;
}

/* Is @b the next piece of the file that @a is one of, with a machine that has
 * both? */
static bool can_join(const struct input_split *a, const struct input_split *b)
{
    bool anywhere = !a->machines[0] && !b->machines[0];
    for (size_t i = 0; i < INPUT_MACHINES_MAX && a->machines[i]; i++)
        anywhere = anywhere || has_machine(b, a->machines[i]);
    return anywhere && a->input == b->input && strcmp(a->path, b->path) == 0 &&
           a->packing == INPUT_PLAIN && b->packing == INPUT_PLAIN &&
           !a->unindexed && !b->unindexed && !a->snapshot && !b->snapshot &&
           a->end > a->begin && a->end == b->begin;
}

static void input_split_join(struct input_split *a, struct input_split *b)
{
    size_t kept = 0;
    a->end = b->end;
    a->bytes += b->bytes;
    for (size_t i = 0; i < INPUT_MACHINES_MAX; i++) {
        char *m = a->machines[i];
        a->machines[i] = NULL;
        if (m && has_machine(b, m))
            a->machines[kept++] = m;
        else
            mem_free(m);
    }
    input_split_close(b);
}

void input_splits_join(struct input_splits *s, uint64_t bytes)
{
    size_t kept = 0;
    for (size_t i = 1; i < s->count; i++) {
        struct input_split *last = &s->at[kept];
        if (last->bytes + s->at[i].bytes <= bytes + bytes / 8 &&
            can_join(last, &s->at[i]))
            input_split_join(last, &s->at[i]);
        else
            s->at[++kept] = s->at[i];
    }
    s->count = s->count ? kept + 1 : 0;
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
