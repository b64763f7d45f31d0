/* `import jsonl`: one object per line. Fields of nested objects become "a.b";
 * arrays stay JSON text; null is no cell. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "mapreduce/ingest/table_rows.h"

/* Objects nested deeper stay JSON text. */
#define DEPTH_MAX 32

struct jsonl {
    struct run *run;
    size_t index;
    struct buf key;
    struct buf column;
    struct buf value;
};

static int append_piece(const char *p, size_t n, void *ctx)
{
    buf_append(ctx, p, n);
    return 0;
}

/* A value as the bytes of a cell, appended to @out. */
static void append_value(struct buf *out, const json_t *v)
{
    switch (json_typeof(v)) {
    case JSON_STRING:
        buf_append(out, json_string_value(v), json_string_length(v));
        break;
    case JSON_INTEGER:
        buf_printf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
        break;
    case JSON_TRUE: buf_append_str(out, "true"); break;
    case JSON_FALSE: buf_append_str(out, "false"); break;
    case JSON_NULL: break;
    case JSON_REAL:
    case JSON_ARRAY:
    case JSON_OBJECT:
        json_dump_callback(v, append_piece, out,
                           JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);
        break;
    }
}

/* The cells of @object, their names appended to j->column[..at]. */
static void put_object(struct jsonl *j,
                       json_t *object,
                       int depth,
                       struct run_batch *batch,
                       struct quarry_mutation *m,
                       int64_t us)
{
    size_t at = j->column.len;
    const char *name;
    json_t *v;
    json_object_foreach(object, name, v) {
        buf_truncate(&j->column, at);
        buf_append_str(&j->column, name);
        if (json_is_object(v) && depth < DEPTH_MAX && json_object_size(v)) {
            buf_append_byte(&j->column, '.');
            put_object(j, v, depth + 1, batch, m, us);
        } else if (!json_is_null(v) && j->column.len <= COLUMN_BYTES_MAX) {
            buf_clear(&j->value);
            append_value(&j->value, v);
            run_batch_set(batch, m, j->run->opts.family, buf_slice(&j->column),
                          us, buf_slice(&j->value));
        }
    }
    buf_truncate(&j->column, at);
}

static json_t *key_of(const struct jsonl *j, json_t *object)
{
    json_t *v;
    if (j->run->opts.key)
        return json_object_get(object, j->run->opts.key);
    v = json_object_get(object, "id");
    return v ? v : json_object_get(object, "key");
}

static int put_row(struct jsonl *j,
                   json_t *object,
                   const struct run_line *line,
                   struct run_batch *batch,
                   struct err *err)
{
    const struct ingest_options *o = &j->run->opts;
    struct quarry_mutation *m;
    json_t *key = key_of(j, object);
    int64_t us = 0;
    int rc;
    buf_clear(&j->key);
    if (key)
        append_value(&j->key, key);
    if (j->key.len == 0 || j->key.len > ROW_KEY_BYTES_MAX) {
        run_refuse(j->run, j->index, line, true,
                   key ? "key empty or over 64 KiB, line skipped"
                       : "no key field, line skipped");
        return 0;
    }
    if (o->time_field) {
        json_t *t = json_object_get(object, o->time_field);
        buf_clear(&j->value);
        if (t)
            append_value(&j->value, t);
        if (!field_time(buf_slice(&j->value), &us))
            run_refuse(j->run, j->index, line, false,
                       "no time in the time field, stored at 0");
    }
    rc = run_batch_row(batch, buf_slice(&j->key), 0, &m, err);
    if (rc)
        return rc;
    buf_clear(&j->column);
    put_object(j, object, 0, batch, m, us);
    return 0;
}

static int take_line(void *ctx,
                     const struct run_line *line,
                     struct run_batch *batch,
                     struct err *err)
{
    struct jsonl *j = ctx;
    json_error_t where;
    json_t *object;
    int rc = 0;
    if (slice_trim(line->text).len == 0)
        return 0;
    batch->counts.records++;
    object =
        json_loadb(line->text.data, line->text.len, JSON_ALLOW_NUL, &where);
    if (!json_is_object(object)) {
        char text[220];
        snprintf(text, sizeof(text), "%s, line skipped",
                 object ? "not a JSON object" : where.text);
        run_refuse(j->run, j->index, line, true, text);
    } else {
        rc = put_row(j, object, line, batch, err);
    }
    json_decref(object);
    return rc;
}

static int read_file(struct run *run, size_t index, struct err *err)
{
    struct jsonl j = {.run = run, .index = index};
    int rc = import_lines(run, index, take_line, &j, err);
    buf_close(&j.key);
    buf_close(&j.column);
    buf_close(&j.value);
    return rc;
}

int ingest_jsonl(const struct ingest_job *job,
                 struct ingest_report *report,
                 struct err *err)
{
    return import_rows(job, NULL, read_file, report, err);
}
