/* SPECs as data: as they were parsed, with the text of a program instead of the
 * name of its file, so that they mean the same on every machine. */
#include "mapreduce/task/spec.h"

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "mapreduce/job.h"

static void free_slice(struct slice s)
{
    mem_free((void *)(uintptr_t)s.data);
}

void spec_encode(const struct mr_spec *s, struct buf *out)
{
    PRE(s->kind < MR_SPEC_KINDS);
    buf_put_varint(out, (uint64_t)s->kind);
    buf_put_text(out, s->name);
    buf_put_text(out, s->path);
    buf_put_varint(out, s->column_count);
    for (size_t i = 0; i < s->column_count; i++)
        buf_put_text(out, s->columns[i]);
    buf_put_lslice(out, s->start);
    buf_put_lslice(out, s->end);
    buf_put_varint(out, s->versions);
    buf_put_zigzag(out, s->since_us);
    buf_put_zigzag(out, s->until_us);
    buf_put_zigzag(out, s->as_of_us);
    buf_put_u8(out, s->bulk);
    buf_put_u8(out, s->live);
    buf_put_u8(out, s->scratch);
    buf_put_u8(out, s->program != NULL);
    if (s->program)
        buf_put_lslice(out, slice_make(s->program, s->program_len));
}

static struct slice get_slice(struct cursor *in)
{
    struct slice s = cursor_lslice(in);
    return slice_make(mem_strndup(s.data, s.len), s.len);
}

void spec_decode(struct mr_spec *s, struct cursor *in)
{
    uint64_t kind = cursor_varint(in);
    in->bad |= kind >= MR_SPEC_KINDS;
    s->kind = in->bad ? MR_SPEC_FILE : (enum mr_spec_kind)kind;
    s->name = cursor_text(in);
    s->path = cursor_text(in);
    s->column_count = cursor_count(in, 1);
    s->columns = mem_zalloc(s->column_count + 1, sizeof(char *));
    for (size_t i = 0; i < s->column_count; i++)
        s->columns[i] = cursor_text(in);
    s->start = get_slice(in);
    s->end = get_slice(in);
    s->versions = (uint32_t)cursor_varint(in);
    s->since_us = cursor_zigzag(in);
    s->until_us = cursor_zigzag(in);
    s->as_of_us = cursor_zigzag(in);
    s->bulk = cursor_u8(in) != 0;
    s->live = cursor_u8(in) != 0;
    s->scratch = cursor_u8(in) != 0;
    if (cursor_u8(in)) {
        struct slice text = cursor_lslice(in);
        s->program = mem_strndup(text.data, text.len);
        s->program_len = text.len;
    }
}

void mr_spec_close(struct mr_spec *s)
{
    for (size_t i = 0; i < s->column_count; i++)
        mem_free(s->columns[i]);
    mem_free(s->columns);
    mem_free(s->name);
    mem_free(s->path);
    mem_free(s->program);
    free_slice(s->start);
    free_slice(s->end);
    *s = (struct mr_spec){.kind = MR_SPEC_FILE};
}
