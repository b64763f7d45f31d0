/* One record of comma-separated values cut into fields (RFC 4180, and what
 * writers make of it: text after a closing quote belongs to the field). */
#include "mapreduce/ingest/csv_fields.h"

#include <string.h>

#include "base/core/panic.h"

void csv_fields_close(struct csv_fields *f)
{
    mem_free(f->ends);
    buf_close(&f->text);
    *f = (struct csv_fields){0};
}

static void end_field(struct csv_fields *f)
{
    if (f->count == f->cap) {
        f->cap = f->cap ? f->cap * 2 : 32;
        f->ends = mem_realloc(f->ends, f->cap * sizeof(*f->ends));
    }
    f->ends[f->count++] = f->text.len;
}

/* The quoted part of a field, after its opening quote. Returns its end. */
static size_t take_quoted(struct csv_fields *f, struct slice s, size_t i)
{
    while (i < s.len) {
        size_t n = i + slice_find_byte(slice_sub(s, i, s.len), '"');
        buf_append_slice(&f->text, slice_sub(s, i, n));
        i = n + 1;
        if (i >= s.len || s.data[i] != '"')
            return i;
        buf_append_byte(&f->text, '"');
        i++;
    }
    return s.len;
}

void csv_split(struct csv_fields *f, struct slice record, char separator)
{
    size_t i = 0;
    f->count = 0;
    buf_clear(&f->text);
    for (;;) {
        size_t n;
        if (i < record.len && record.data[i] == '"')
            i = take_quoted(f, record, i + 1);
        if (i > record.len)
            i = record.len;
        n = i + slice_find_byte(slice_sub(record, i, record.len), separator);
        buf_append_slice(&f->text, slice_sub(record, i, n));
        end_field(f);
        if (n >= record.len)
            return;
        i = n + 1;
    }
}

struct slice csv_field(const struct csv_fields *f, size_t i)
{
    size_t begin;
    if (i >= f->count)
        return SLICE_EMPTY;
    begin = i ? f->ends[i - 1] : 0;
    return slice_sub(buf_slice(&f->text), begin, f->ends[i]);
}

bool csv_ends_open(struct slice line, bool open)
{
    const char *p = line.data;
    const char *end = line.data + line.len;
    while (line.len && (p = memchr(p, '"', (size_t)(end - p))) != NULL) {
        open = !open;
        p++;
    }
    return open;
}

char csv_guess_separator(struct slice record)
{
    static const char candidates[] = ",;\t|";
    size_t counts[4] = {0};
    size_t best = 0;
    bool quoted = false;
    for (size_t i = 0; i < record.len; i++) {
        const char *c;
        if (record.data[i] == '"')
            quoted = !quoted;
        c = quoted || record.data[i] == '\0'
                ? NULL
                : strchr(candidates, record.data[i]);
        if (c)
            counts[c - candidates]++;
    }
    for (size_t k = 1; k < 4; k++)
        if (counts[k] > counts[best])
            best = k;
    return candidates[best];
}
