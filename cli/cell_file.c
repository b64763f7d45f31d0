/* Lines of TSV, JSON and CSV into cells; the first line tells the format.
 * Errors name file and line. Escapes of TSV and base64 of JSON and CSV are
 * decoded, so that what `quarry export` writes gives the same bytes.
 */
#include "cli/cell_file.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "bigtable/quarry.h"
#include "cli/text_form.h"

#define TSV_FIELDS 4

static int
bad_line(const struct cell_file *f, const char *what, struct err *err)
{
    PRE(what);
    err_set(err, ERR_INVALID, "%s: line %" PRIu64 ": %s", f->lines.path,
            f->lines.line_count, what);
    err_hint(err, "a line is ROW, FAMILY:QUALIFIER, TIME in µs or nothing, and "
                  "VALUE, with tabs between them, or as quarry export writes "
                  "JSON and CSV");
    return ERR_INVALID;
}

int cell_file_open(struct cell_file *f, const char *path, struct err *err)
{
    *f = (struct cell_file){.form = CELLS_UNKNOWN};
    return line_reader_open(&f->lines, path, err);
}

void cell_file_close(struct cell_file *f)
{
    line_reader_close(&f->lines);
    for (size_t i = 0; i < CELL_FIELDS; i++)
        buf_close(&f->fields[i]);
    buf_close(&f->record);
    json_decref(f->object);
    f->object = NULL;
}

/* --- what all forms share ------------------------------------------------ */

static int take_family(struct cell_file *f,
                       struct slice name,
                       struct quarry_bulk_cell *c,
                       struct err *err)
{
    if (name.len >= sizeof(f->family) || memchr(name.data, '\0', name.len))
        return bad_line(f, "its family has no possible name", err);
    memcpy(f->family, name.data, name.len);
    f->family[name.len] = '\0';
    c->family = f->family;
    return ERR_OK;
}

static int take_time(struct cell_file *f,
                     struct slice text,
                     struct quarry_bulk_cell *c,
                     struct err *err)
{
    c->timestamp_us = QUARRY_NOW;
    if (text.len > 0 && text_parse_i64(text, &c->timestamp_us, NULL))
        return bad_line(f, "its time is no number of µs", err);
    return ERR_OK;
}

/* --- TSV ----------------------------------------------------------------- */

static int split_tsv(struct cell_file *f, struct slice line, struct err *err)
{
    for (size_t i = 0; i < TSV_FIELDS; i++) {
        bool last = i + 1 == TSV_FIELDS;
        size_t n = last ? line.len : slice_find_byte(line, '\t');
        if (!last && n == line.len)
            return bad_line(f, "fewer than four fields", err);
        buf_clear(&f->fields[i]);
        argument_unescape(&f->fields[i], slice_sub(line, 0, n));
        line = slice_sub(line, MIN_OF(n + 1, line.len), line.len);
    }
    return ERR_OK;
}

static int take_tsv(struct cell_file *f,
                    struct slice line,
                    struct quarry_bulk_cell *c,
                    struct err *err)
{
    struct slice column;
    size_t n;
    int rc = split_tsv(f, line, err);
    if (rc)
        return rc;
    column = buf_slice(&f->fields[1]);
    n = slice_find_byte(column, ':');
    if (n == column.len)
        return bad_line(f, "its column is not FAMILY:QUALIFIER", err);
    rc = take_family(f, slice_sub(column, 0, n), c, err);
    if (!rc)
        rc = take_time(f, buf_slice(&f->fields[2]), c, err);
    c->row = buf_slice(&f->fields[0]);
    c->qualifier = slice_sub(column, n + 1, column.len);
    c->value = buf_slice(&f->fields[3]);
    return rc;
}

/* --- JSON ---------------------------------------------------------------- */

/* The bytes of field @name of @object, or of NAME_base64, into @out. */
static int json_field(struct cell_file *f,
                      const json_t *object,
                      const char *name,
                      struct buf *out,
                      struct err *err)
{
    char long_name[32];
    char what[80];
    const json_t *v = json_object_get(object, name);
    buf_clear(out);
    if (json_is_string(v)) {
        buf_append(out, json_string_value(v), json_string_length(v));
        return ERR_OK;
    }
    snprintf(long_name, sizeof(long_name), "%s_base64", name);
    v = json_object_get(object, long_name);
    if (json_is_string(v) &&
        base64_decode(slice_make(json_string_value(v), json_string_length(v)),
                      out))
        return ERR_OK;
    snprintf(what, sizeof(what), "neither a string \"%s\" nor \"%s\"", name,
             long_name);
    return bad_line(f, what, err);
}

static int take_json_row(struct cell_file *f, struct slice line, struct err *e)
{
    json_error_t why;
    PRE(f->form == CELLS_JSON);
    json_decref(f->object);
    f->next_cell = 0;
    f->object = json_loadb(line.data, line.len, JSON_ALLOW_NUL, &why);
    if (!json_is_object(f->object))
        return bad_line(f, f->object ? "not a JSON object" : why.text, e);
    if (!json_is_array(json_object_get(f->object, "cells")))
        return bad_line(f, "a row without \"cells\"", e);
    return json_field(f, f->object, "row", &f->fields[0], e);
}

/* The next cell of the row at hand; false when it has no more. */
static bool take_json_cell(struct cell_file *f,
                           struct quarry_bulk_cell *c,
                           int *code,
                           struct err *err)
{
    const json_t *cells = json_object_get(f->object, "cells");
    const json_t *cell = json_array_get(cells, f->next_cell);
    const json_t *time = json_object_get(cell, "timestamp_us");
    PRE(f->form == CELLS_JSON);
    if (!cell)
        return false;
    f->next_cell++;
    *code = json_field(f, cell, "family", &f->fields[1], err);
    if (!*code)
        *code = json_field(f, cell, "qualifier", &f->fields[2], err);
    if (!*code)
        *code = json_field(f, cell, "value", &f->fields[4], err);
    if (!*code && !json_is_integer(time))
        *code = bad_line(f, "a cell without \"timestamp_us\"", err);
    if (!*code)
        *code = take_family(f, buf_slice(&f->fields[1]), c, err);
    c->timestamp_us = json_integer_value(time);
    c->row = buf_slice(&f->fields[0]);
    c->qualifier = buf_slice(&f->fields[2]);
    c->value = buf_slice(&f->fields[4]);
    return true;
}

/* --- CSV ----------------------------------------------------------------- */

static size_t count_quotes(struct slice s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++)
        n += s.data[i] == '"';
    return n;
}

/* A record ends where its quotes are closed, which may be lines on. */
static int whole_record(struct cell_file *f, struct slice line, struct err *err)
{
    size_t quotes = count_quotes(line);
    bool more = true;
    PRE(f->form == CELLS_CSV);
    buf_clear(&f->record);
    buf_append_slice(&f->record, line);
    while (quotes % 2) {
        int rc = line_reader_next(&f->lines, &line, &more, err);
        if (rc)
            return rc;
        if (!more)
            return bad_line(f, "the file ends inside of quotes", err);
        buf_append_byte(&f->record, '\n');
        buf_append_slice(&f->record, line);
        quotes += count_quotes(line);
    }
    return ERR_OK;
}

/* One field at @at; returns where the next one begins. */
static size_t csv_field_at(struct slice s, size_t at, struct buf *out)
{
    bool quoted = at < s.len && s.data[at] == '"';
    buf_clear(out);
    for (at += quoted; at < s.len; at++) {
        if (quoted && s.data[at] == '"') {
            if (at + 1 == s.len || s.data[at + 1] != '"') {
                quoted = false;
                continue;
            }
            at++;
        } else if (!quoted && s.data[at] == ',') {
            return at + 1;
        }
        buf_append_byte(out, s.data[at]);
    }
    POST(at >= s.len);
    return s.len + 1;
}

/* "base64:…" stands for bytes that are not UTF-8. */
static bool undo_base64(struct buf *field, struct buf *room)
{
    struct slice s = buf_slice(field);
    struct slice mark = SLICE_LIT(CSV_BASE64_MARK);
    if (!slice_starts_with(s, mark))
        return true;
    buf_clear(room);
    if (!base64_decode(slice_sub(s, mark.len, s.len), room))
        return false;
    buf_clear(field);
    buf_append_slice(field, buf_slice(room));
    return true;
}

static int take_csv(struct cell_file *f,
                    struct slice line,
                    struct quarry_bulk_cell *c,
                    struct err *err)
{
    struct buf room = BUF_INIT;
    struct slice record;
    size_t at = 0;
    int rc = whole_record(f, line, err);
    PRE(f->form == CELLS_CSV);
    if (rc)
        return rc;
    record = buf_slice(&f->record);
    for (size_t i = 0; i < CELL_FIELDS && !rc; i++) {
        if (at > record.len)
            rc = bad_line(f, "fewer than five fields", err);
        else
            at = csv_field_at(record, at, &f->fields[i]);
        if (!rc && !undo_base64(&f->fields[i], &room))
            rc = bad_line(f, "broken base64", err);
    }
    buf_close(&room);
    if (!rc)
        rc = take_family(f, buf_slice(&f->fields[1]), c, err);
    if (!rc)
        rc = take_time(f, buf_slice(&f->fields[3]), c, err);
    c->row = buf_slice(&f->fields[0]);
    c->qualifier = buf_slice(&f->fields[2]);
    c->value = buf_slice(&f->fields[4]);
    return rc;
}

/* --- any ----------------------------------------------------------------- */

/* JSON has no raw tab, TSV always has one. */
static enum cell_form form_of(struct slice line)
{
    if (slice_eq_str(line, CELL_CSV_HEADER))
        return CELLS_CSV;
    if (slice_find_byte(line, '\t') == line.len &&
        slice_starts_with(line, SLICE_LIT("{")))
        return CELLS_JSON;
    return CELLS_TSV;
}

static int take_line(struct cell_file *f,
                     struct slice line,
                     struct quarry_bulk_cell *c,
                     bool *have,
                     struct err *err)
{
    int rc = ERR_OK;
    bool first = f->form == CELLS_UNKNOWN;
    if (first)
        f->form = form_of(line);
    *have = false;
    INVARIANT(f->form != CELLS_UNKNOWN);
    switch (f->form) {
    case CELLS_CSV:
        if (first)
            return ERR_OK;
        *have = true;
        return take_csv(f, line, c, err);
    case CELLS_JSON:
        rc = take_json_row(f, line, err);
        if (!rc)
            *have = take_json_cell(f, c, &rc, err);
        return rc;
    case CELLS_UNKNOWN:
    case CELLS_TSV: break;
    }
    *have = true;
    return take_tsv(f, line, c, err);
}

int cell_file_next(struct cell_file *f,
                   struct quarry_bulk_cell *c,
                   bool *more,
                   struct err *err)
{
    struct slice line;
    bool have = false;
    int rc = ERR_OK;
    *more = true;
    if (f->form == CELLS_JSON && take_json_cell(f, c, &rc, err))
        return rc;
    while (!have) {
        rc = line_reader_next(&f->lines, &line, more, err);
        if (!rc && *more)
            rc = take_line(f, line, c, &have, err);
        if (rc || !*more)
            return rc;
    }
    return rc;
}
