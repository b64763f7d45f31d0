/* `import csv`: comma-separated values, RFC 4180: fields in quotes hold
 * separators, doubled quotes and line ends. */
#include <stdio.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/panic.h"
#include "mapreduce/ingest/csv_fields.h"
#include "mapreduce/ingest/table_rows.h"
#include "mapreduce/ingest/text_check.h"

/* A quoted field that stays open for longer was never closed. */
#define RECORD_BYTES_MAX ((size_t)4 << 20)

/* The first line of what `quarry export` writes. */
#define EXPORT_HEADER "row,family,qualifier,timestamp_us,value"

/* Columns in a key at most. */
#define KEY_COUNT_MAX 16

struct csv {
    struct run *run;
    size_t index;
    char separator;
    bool started;
    struct buf record;     /* A record over several lines, so far. */
    struct run_line begin; /* Its first line; raw is of no use. */
    size_t mark_bytes;     /* Before its text: a mark of UTF-8. */
    uint64_t open_lines;   /* Its lines after the first. */
    bool open;             /* It waits for a closing quote. */

    struct csv_fields fields;
    struct arena names_arena;
    struct slice *names; /* Of the columns; grown by number. */
    size_t name_count;
    size_t name_cap;
    size_t header_count;        /* Columns the header names. */
    size_t keys[KEY_COUNT_MAX]; /* Columns of the row key. */
    size_t key_count;           /* 0: the number of the record. */
    uint64_t number;            /* Of the current record, from 1. */
    struct buf key;
    size_t time; /* Column of the time; SIZE_MAX: none. */
};

/* A quote that nobody closed has swallowed lines, which are lost as well. */
static void
lose_record(struct csv *c, const char *what, struct run_counts *counts)
{
    c->begin.raw = buf_slice(&c->record);
    run_refuse(c->run, c->index, &c->begin, true, what);
    run_lost(c->run, c->open_lines);
    counts->records += c->open_lines + 1;
    c->open = false;
}

static void csv_damage(struct csv *c,
                       const struct run_line *line,
                       bool lost,
                       const char *what)
{
    run_refuse(c->run, c->index, line, lost, what);
}

/* --- columns ------------------------------------------------------------- */

/* Have a name for column @i: its number unless the header gives one. */
static struct slice csv_column(struct csv *c, size_t i)
{
    while (c->name_count <= i) {
        char text[24];
        int n = snprintf(text, sizeof(text), "%zu", c->name_count + 1);
        if (c->name_count == c->name_cap) {
            c->name_cap = c->name_cap ? c->name_cap * 2 : 32;
            c->names = mem_realloc(c->names, c->name_cap * sizeof(*c->names));
        }
        c->names[c->name_count++] =
            arena_dup(&c->names_arena, slice_make(text, (size_t)n));
    }
    return c->names[i];
}

static void take_header(struct csv *c)
{
    c->header_count = c->fields.count;
    for (size_t i = 0; i < c->fields.count; i++) {
        struct slice name = slice_trim(csv_field(&c->fields, i));
        csv_column(c, i);
        if (name.len && name.len <= COLUMN_BYTES_MAX)
            c->names[i] = arena_dup(&c->names_arena, name);
    }
}

/* The column called @name, or of that number from 1. */
static bool find_column(struct csv *c, struct slice name, size_t *at)
{
    size_t n = 0;
    for (size_t i = 0; i < c->name_count; i++) {
        if (slice_eq(c->names[i], name)) {
            *at = i;
            return true;
        }
    }
    for (size_t i = 0; i < name.len; i++) {
        if (name.data[i] < '0' || name.data[i] > '9' || n > 100000)
            return false;
        n = n * 10 + (size_t)(name.data[i] - '0');
    }
    *at = n - 1;
    return n > 0;
}

static int no_column(struct csv *c, struct slice name, struct err *err)
{
    struct buf b = BUF_INIT;
    int rc;
    for (size_t i = 0; i < c->name_count && i < 40; i++)
        buf_printf(&b, "%s%.*s", i ? ", " : "", SLICE_ARG(c->names[i]));
    rc = err_set(err, ERR_INVALID, "no column \"%.*s\"", SLICE_ARG(name));
    err_hint(err, "there are %.200s", buf_cstr(&b));
    buf_close(&b);
    return rc;
}

/* Find the columns of the row key, as the options name them. */
static int find_keys(struct csv *c, struct err *err)
{
    const char *spec = c->run->opts.key;
    struct slice s;
    c->key_count = 0;
    if (spec && strcmp(spec, "#") == 0)
        return 0;
    c->key_count = 1;
    c->keys[0] = 0;
    if (!spec || find_column(c, slice_str(spec), &c->keys[0]))
        return 0;
    c->key_count = 0;
    for (s = slice_str(spec); s.len && c->key_count < KEY_COUNT_MAX;) {
        size_t n = slice_find_byte(s, ',');
        struct slice name = slice_trim(slice_sub(s, 0, n));
        if (!find_column(c, name, &c->keys[c->key_count++]))
            return no_column(c, name, err);
        s = slice_sub(s, n + 1, s.len);
    }
    return 0;
}

/* The first record: separator, header, and where key and time are. */
static int csv_start(struct csv *c, struct slice record, struct err *err)
{
    const struct ingest_options *o = &c->run->opts;
    c->started = true;
    if (!c->separator)
        c->separator = csv_guess_separator(record);
    csv_split(&c->fields, record, c->separator);
    if (o->header && !o->key && slice_eq_str(record, EXPORT_HEADER)) {
        err_set(err, ERR_INVALID, "an export of cells, a line each");
        err_hint(err, "quarry load brings it back; with --key row, lines "
                      "become rows");
        return ERR_INVALID;
    }
    if (o->header)
        take_header(c);
    else
        csv_column(c, c->fields.count - 1);
    c->time = SIZE_MAX;
    if (o->time_field && !find_column(c, slice_str(o->time_field), &c->time))
        return no_column(c, slice_str(o->time_field), err);
    return find_keys(c, err);
}

/* --- rows ---------------------------------------------------------------- */

static struct slice make_key(struct csv *c)
{
    PRE(c->key_count <= KEY_COUNT_MAX);
    if (c->key_count == 1)
        return csv_field(&c->fields, c->keys[0]);
    buf_clear(&c->key);
    if (c->key_count == 0)
        buf_printf(&c->key, "%012llu", (unsigned long long)c->number);
    for (size_t i = 0; i < c->key_count; i++) {
        if (i)
            buf_append_byte(&c->key, '/');
        buf_append_slice(&c->key, csv_field(&c->fields, c->keys[i]));
    }
    return buf_slice(&c->key);
}

/* A lone key column is not repeated as a cell, unless it is all there is. */
static bool is_cell(const struct csv *c, size_t i)
{
    return c->key_count != 1 || i != c->keys[0] || c->fields.count == 1;
}

static int put_row(struct csv *c,
                   const struct run_line *line,
                   struct run_batch *batch,
                   struct err *err)
{
    struct quarry_mutation *m;
    struct slice key = make_key(c);
    int64_t us = 0;
    int rc;
    if (key.len == 0 || key.len > ROW_KEY_BYTES_MAX) {
        csv_damage(c, line, true,
                   key.len ? "key over 64 KiB, line skipped"
                           : "empty key, line skipped");
        return 0;
    }
    if (c->time != SIZE_MAX && !field_time(csv_field(&c->fields, c->time), &us))
        csv_damage(c, line, false, "no time in the time field, stored at 0");
    if (c->run->opts.header && c->fields.count != c->header_count)
        csv_damage(c, line, false, "not as many fields as the header");
    rc = run_batch_row(batch, key, 0, &m, err);
    for (size_t i = 0; i < c->fields.count && rc == 0; i++)
        if (is_cell(c, i))
            run_batch_set(batch, m, c->run->opts.family, csv_column(c, i), us,
                          csv_field(&c->fields, i));
    return rc;
}

static int put_record(struct csv *c,
                      const struct run_line *record,
                      struct run_batch *batch,
                      struct err *err)
{
    if (!c->started) {
        int rc = csv_start(c, record->text, err);
        if (rc || c->run->opts.header)
            return rc;
    }
    batch->counts.records++;
    c->number++;
    csv_split(&c->fields, record->text, c->separator);
    return put_row(c, record, batch, err);
}

/* @line continues the record, or begins one that is not over. False: so does
 * the next line. */
static bool gather_record(struct csv *c, const struct run_line *line, bool odd)
{
    buf_append_slice(&c->record, line->raw);
    c->open = odd;
    return !odd || c->record.len >= RECORD_BYTES_MAX;
}

/* The record gathered, without the end of its last line. */
static struct run_line csv_gathered(const struct csv *c,
                                    const struct run_line *last)
{
    struct run_line whole = c->begin;
    whole.raw = buf_slice(&c->record);
    /* A mark of UTF-8 is in front of the first line alone. */
    whole.text = slice_sub(whole.raw, whole.number == 1 ? c->mark_bytes : 0,
                           whole.raw.len - (last->raw.len - last->text.len));
    return whole;
}

static int take_line(void *ctx,
                     const struct run_line *line,
                     struct run_batch *batch,
                     struct err *err)
{
    struct csv *c = ctx;
    bool odd = csv_ends_open(line->text, c->open);
    struct run_line whole;
    if (!odd && !c->open)
        return line->text.len ? put_record(c, line, batch, err) : 0;
    if (!c->open) {
        c->begin = *line;
        c->mark_bytes = (size_t)(line->text.data - line->raw.data);
        c->open_lines = 0;
        buf_clear(&c->record);
    } else {
        c->open_lines++;
    }
    if (!gather_record(c, line, odd))
        return 0;
    if (c->open) {
        lose_record(c, "quote never closed; what follows up to 4 MiB skipped",
                    &batch->counts);
        return 0;
    }
    whole = csv_gathered(c, line);
    return put_record(c, &whole, batch, err);
}

/* The separator of the fields, as the beginning of the file shows: its first
 * record alone may hold more of another character. */
static int sniff_separator(struct csv *c, struct err *err)
{
    struct run_lines *lines;
    struct slice head;
    int rc;
    c->separator = c->run->opts.separator;
    if (c->separator)
        return 0;
    rc = run_lines_open(c->run, c->index, &lines, err);
    if (rc)
        return rc;
    run_lines_mute(lines);
    rc = run_lines_head(lines, &head, err);
    if (!rc &&
        !csv_sniff_separator(head, head.len < TEXT_CHECK_BYTES, &c->separator))
        c->separator = '\0';
    run_lines_close(lines);
    return rc;
}

static int read_file(struct run *run, size_t index, struct err *err)
{
    struct csv c = {.run = run, .index = index};
    struct run_counts rest = {.records = 0};
    int rc;
    arena_init(&c.names_arena);
    rc = sniff_separator(&c, err);
    if (rc == 0)
        rc = import_lines(run, index, take_line, &c, err);
    if (rc == 0 && c.open) {
        lose_record(&c, "quote never closed; the rest of the file skipped",
                    &rest);
        rc = run_count(run, &rest, err);
    }
    csv_fields_close(&c.fields);
    arena_close(&c.names_arena);
    buf_close(&c.record);
    buf_close(&c.key);
    mem_free(c.names);
    return rc;
}

int ingest_csv(const struct ingest_job *job,
               struct ingest_report *report,
               struct err *err)
{
    return import_rows(job, NULL, read_file, report, err);
}
