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

/* --- the dialect --------------------------------------------------------- */

/* Records of the head that are examined. */
#define DIALECT_RECORDS_MAX 100

/* How the records look when they are cut at one character. */
struct dialect {
    size_t counts[DIALECT_RECORDS_MAX]; /* Fields of each. */
    size_t records;
    bool ends_open; /* Inside of quotes. */
};

static void dialect_add(struct dialect *d, size_t fields, size_t bytes)
{
    if (bytes > 0 && d->records < DIALECT_RECORDS_MAX)
        d->counts[d->records++] = fields;
}

/* Count the fields of each record of @head. Quotes count where a field begins
 * with one. The last record counts if @whole. */
static void
dialect_look(struct dialect *d, struct slice head, char separator, bool whole)
{
    bool quoted = false;
    bool at_start = true;
    size_t fields = 1;
    size_t begin = 0;
    *d = (struct dialect){.records = 0};
    for (size_t i = 0; i < head.len && d->records < DIALECT_RECORDS_MAX; i++) {
        char c = head.data[i];
        if (c == '"' && (at_start || quoted)) {
            quoted = !quoted;
            at_start = quoted || at_start;
            continue;
        }
        if (!quoted && c == '\n') {
            dialect_add(d, fields, i - begin);
            fields = 1;
            begin = i + 1;
        } else if (!quoted && c == separator) {
            fields++;
        }
        at_start = !quoted && (c == separator || c == '\n');
    }
    d->ends_open = quoted;
    if (whole || d->records == 0)
        dialect_add(d, fields, head.len - begin);
}

/* Records with the number of fields that most have; 0: most have one. */
static size_t dialect_agreeing(const struct dialect *d, size_t *fields)
{
    size_t best = 0;
    for (size_t i = 0; i < d->records; i++) {
        size_t same = 0;
        for (size_t k = 0; k < d->records; k++)
            same += d->counts[k] == d->counts[i];
        if (same > best) {
            best = same;
            *fields = d->counts[i];
        }
    }
    return best && *fields > 1 ? best : 0;
}

bool csv_sniff_separator(struct slice head, bool whole, char *separator)
{
    static const char candidates[] = ",;\t|";
    size_t best_share = 0;
    size_t best_fields = 0;
    for (const char *c = candidates; *c; c++) {
        struct dialect d;
        size_t fields = 0;
        size_t share;
        dialect_look(&d, head, *c, whole);
        if (d.records == 0 || (whole && d.ends_open))
            continue;
        share = dialect_agreeing(&d, &fields) * 100 / d.records;
        if (share > best_share ||
            (share == best_share && fields > best_fields)) {
            best_share = share;
            best_fields = fields;
            *separator = *c;
        }
    }
    return best_share >= 80;
}
