/* Records of TSV, JSON and CSV into cells. Escapes of TSV and base64 of JSON
 * and CSV are decoded, so that what `quarry export` writes gives the same
 * bytes.
 */
#include "mapreduce/ingest/cell_parser.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/core/base64.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "bigtable/quarry.h"

#define TSV_FIELDS 4

void cell_parser_init(struct cell_parser *p, enum cell_form form)
{
    *p = (struct cell_parser){.form = form};
}

void cell_parser_close(struct cell_parser *p)
{
    for (size_t i = 0; i < CELL_FIELDS; i++)
        buf_close(&p->fields[i]);
    buf_close(&p->room);
    json_decref(p->object);
    p->object = NULL;
}

enum cell_form cell_form_of(struct slice line)
{
    if (slice_eq_str(line, CELL_CSV_HEADER))
        return CELLS_CSV;
    if (slice_find_byte(line, '\t') == line.len &&
        slice_starts_with(line, SLICE_LIT("{")))
        return CELLS_JSON;
    return CELLS_TSV;
}

/* --- what all forms share ------------------------------------------------ */

static int bad_record(struct cell_parser *p, const char *what)
{
    snprintf(p->why, sizeof(p->why), "%s", what);
    return ERR_INVALID;
}

static int take_family(struct cell_parser *p, struct slice name)
{
    if (name.len == 0 || name.len >= sizeof(p->family) ||
        memchr(name.data, '\0', name.len))
        return bad_record(p, "its family has no possible name");
    memcpy(p->family, name.data, name.len);
    p->family[name.len] = '\0';
    p->cell.family = p->family;
    return ERR_OK;
}

static int take_time(struct cell_parser *p, struct slice text)
{
    p->cell.timestamp_us = QUARRY_NOW;
    if (text.len > 0 && text_parse_i64(text, &p->cell.timestamp_us, NULL))
        return bad_record(p, "its time is no number of µs");
    return ERR_OK;
}

/* --- TSV ----------------------------------------------------------------- */

static int split_tsv(struct cell_parser *p, struct slice line)
{
    for (size_t i = 0; i < TSV_FIELDS; i++) {
        bool last = i + 1 == TSV_FIELDS;
        size_t n = last ? line.len : slice_find_byte(line, '\t');
        if (!last && n == line.len)
            return bad_record(p, "fewer than four fields");
        buf_clear(&p->fields[i]);
        text_unescape_loose(&p->fields[i], slice_sub(line, 0, n));
        line = slice_sub(line, MIN_OF(n + 1, line.len), line.len);
    }
    return ERR_OK;
}

static int take_tsv(struct cell_parser *p, struct slice line)
{
    struct slice column;
    size_t n;
    int rc = split_tsv(p, line);
    if (rc)
        return rc;
    column = buf_slice(&p->fields[1]);
    n = slice_find_byte(column, ':');
    if (n == column.len)
        return bad_record(p, "its column is not FAMILY:QUALIFIER");
    rc = take_family(p, slice_sub(column, 0, n));
    if (!rc)
        rc = take_time(p, buf_slice(&p->fields[2]));
    p->cell.row = buf_slice(&p->fields[0]);
    p->cell.qualifier = slice_sub(column, n + 1, column.len);
    p->cell.value = buf_slice(&p->fields[3]);
    return rc;
}

/* --- JSON ---------------------------------------------------------------- */

/* The bytes of field @name of @object, or of NAME_base64, into @out. */
static int json_field(struct cell_parser *p,
                      const json_t *object,
                      const char *name,
                      struct buf *out)
{
    char long_name[32];
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
    snprintf(p->why, sizeof(p->why), "neither a string \"%s\" nor \"%s\"", name,
             long_name);
    return ERR_INVALID;
}

static int take_json_row(struct cell_parser *p, struct slice line)
{
    json_error_t why;
    PRE(p->form == CELLS_JSON);
    json_decref(p->object);
    p->next_cell = 0;
    p->object = json_loadb(line.data, line.len, JSON_ALLOW_NUL, &why);
    if (!json_is_object(p->object))
        return bad_record(p, p->object ? "not a JSON object" : why.text);
    if (!json_is_array(json_object_get(p->object, "cells")))
        return bad_record(p, "a row without \"cells\"");
    return json_field(p, p->object, "row", &p->fields[0]);
}

/* The next cell of the row at hand; false when it has no more. */
static bool take_json_cell(struct cell_parser *p, int *code)
{
    const json_t *cells = json_object_get(p->object, "cells");
    const json_t *cell = json_array_get(cells, p->next_cell);
    const json_t *time = json_object_get(cell, "timestamp_us");
    PRE(p->form == CELLS_JSON);
    if (!cell)
        return false;
    p->next_cell++;
    *code = json_field(p, cell, "family", &p->fields[1]);
    if (!*code)
        *code = json_field(p, cell, "qualifier", &p->fields[2]);
    if (!*code)
        *code = json_field(p, cell, "value", &p->fields[4]);
    if (!*code && !json_is_integer(time))
        *code = bad_record(p, "a cell without \"timestamp_us\"");
    if (!*code)
        *code = take_family(p, buf_slice(&p->fields[1]));
    p->cell.timestamp_us = json_integer_value(time);
    p->cell.row = buf_slice(&p->fields[0]);
    p->cell.qualifier = buf_slice(&p->fields[2]);
    p->cell.value = buf_slice(&p->fields[4]);
    return true;
}

/* --- CSV ----------------------------------------------------------------- */

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

static int take_csv(struct cell_parser *p, struct slice record)
{
    size_t at = 0;
    int rc = ERR_OK;
    PRE(p->form == CELLS_CSV);
    for (size_t i = 0; i < CELL_FIELDS && !rc; i++) {
        if (at > record.len)
            rc = bad_record(p, "fewer than five fields");
        else
            at = csv_field_at(record, at, &p->fields[i]);
        if (!rc && !undo_base64(&p->fields[i], &p->room))
            rc = bad_record(p, "broken base64");
    }
    if (!rc)
        rc = take_family(p, buf_slice(&p->fields[1]));
    if (!rc)
        rc = take_time(p, buf_slice(&p->fields[3]));
    p->cell.row = buf_slice(&p->fields[0]);
    p->cell.qualifier = buf_slice(&p->fields[2]);
    p->cell.value = buf_slice(&p->fields[4]);
    return rc;
}

/* --- any ----------------------------------------------------------------- */

int cell_parser_take(struct cell_parser *p,
                     struct slice record,
                     const char **why)
{
    int rc = ERR_OK;
    *why = p->why;
    switch (p->form) {
    case CELLS_JSON: return take_json_row(p, record);
    case CELLS_CSV: rc = take_csv(p, record); break;
    case CELLS_TSV: rc = take_tsv(p, record); break;
    case CELLS_UNKNOWN: PRE(p->form != CELLS_UNKNOWN); break;
    }
    p->have = rc == ERR_OK;
    return rc;
}

bool cell_parser_next(struct cell_parser *p,
                      struct quarry_bulk_cell *cell,
                      int *code,
                      const char **why)
{
    bool have;
    *code = ERR_OK;
    *why = p->why;
    if (p->form == CELLS_JSON)
        have = take_json_cell(p, code) && !*code;
    else
        have = p->have;
    p->have = false;
    if (have)
        *cell = p->cell;
    return have;
}
