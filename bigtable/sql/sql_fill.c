/* Conversion of keys, cells and values to DuckDB's types. Bytes that are not
 * UTF-8 never reach a VARCHAR: DuckDB relies on that.
 */
#include "bigtable/sql/sql_fill.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/text.h"
#include "bigtable/sql/sql_relation.h"

#define NUMBER_BYTES_MAX 64

void sql_fill_begin(struct sql_output *outputs,
                    size_t count,
                    duckdb_data_chunk batch)
{
    for (size_t i = 0; i < count; i++) {
        struct sql_output *o = &outputs[i];
        o->vector = duckdb_data_chunk_get_vector(batch, i);
        o->data = duckdb_vector_get_data(o->vector);
        o->map_length = 0;
        if (o->column && o->column->type == SQL_MAP) {
            duckdb_vector entries = duckdb_list_vector_get_child(o->vector);
            o->map_keys = duckdb_struct_vector_get_child(entries, 0);
            o->map_values = duckdb_struct_vector_get_child(entries, 1);
        }
    }
}

void sql_fill_end(struct sql_output *outputs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (outputs[i].column && outputs[i].column->type == SQL_MAP)
            duckdb_list_vector_set_size(outputs[i].vector,
                                        outputs[i].map_length);
}

/* --- values -------------------------------------------------------------- */

static int not_of_type(const struct sql_column *c,
                       const struct quarry_row *row,
                       const char *what,
                       const char *hint,
                       struct err *err)
{
    struct buf text = BUF_INIT;
    text_put_escaped(&text, slice_sub(row->key, 0, 200), 0);
    err_set(err, ERR_INVALID, "row %s, column %s: %s", buf_cstr(&text), c->name,
            what);
    err_hint(err, "%s", hint);
    buf_close(&text);
    return ERR_INVALID;
}

static int put_text(duckdb_vector vector,
                    const struct sql_column *c,
                    const struct quarry_row *row,
                    struct slice s,
                    uint64_t at,
                    struct err *err)
{
    if (!utf8_valid(s))
        return not_of_type(c, row, "not UTF-8",
                           c->source == SQL_FROM_COLUMN
                               ? "declare it as family:qualifier::BLOB"
                               : "read it with quarry('…', binary := true)",
                           err);
    duckdb_vector_assign_string_element_len(vector, at, s.data, s.len);
    return 0;
}

static int put_bytes(duckdb_vector vector,
                     const struct sql_column *c,
                     const struct quarry_row *row,
                     bool text,
                     struct slice s,
                     uint64_t at,
                     struct err *err)
{
    if (text)
        return put_text(vector, c, row, s, at, err);
    duckdb_vector_assign_string_element_len(vector, at, s.data, s.len);
    return 0;
}

static int put_decimal(const struct sql_output *o,
                       const struct quarry_row *row,
                       struct slice s,
                       uint64_t at,
                       struct err *err)
{
    char text[NUMBER_BYTES_MAX];
    char *end = text;
    int64_t whole;
    if (o->column->type == SQL_BIGINT && !text_parse_i64(s, &whole, NULL)) {
        ((int64_t *)o->data)[at] = whole;
        return 0;
    }
    if (o->column->type == SQL_DOUBLE && s.len > 0 && s.len < sizeof(text)) {
        memcpy(text, s.data, s.len);
        text[s.len] = '\0';
        ((double *)o->data)[at] = strtod(text, &end);
        if (end == text + s.len)
            return 0;
    }
    return not_of_type(o->column, row, "not a decimal number",
                       "INT64 and FLOAT64 are numbers of 8 bytes", err);
}

static int put_binary_number(const struct sql_output *o,
                             const struct quarry_row *row,
                             struct slice s,
                             uint64_t at,
                             struct err *err)
{
    uint64_t n = 0;
    if (s.len != 8)
        return not_of_type(o->column, row, "a number has 8 bytes",
                           "BIGINT and DOUBLE are decimal numbers", err);
    for (size_t i = 0; i < 8; i++)
        n = n << 8 | (unsigned char)s.data[i];
    memcpy((char *)o->data + at * sizeof(n), &n, sizeof(n));
    return 0;
}

static int put_value(const struct sql_output *o,
                     const struct quarry_row *row,
                     struct slice s,
                     uint64_t at,
                     struct err *err)
{
    switch (o->column->type) {
    case SQL_TEXT: return put_text(o->vector, o->column, row, s, at, err);
    case SQL_BIGINT:
    case SQL_DOUBLE: return put_decimal(o, row, s, at, err);
    case SQL_INT64:
    case SQL_FLOAT64: return put_binary_number(o, row, s, at, err);
    case SQL_BYTES:
    case SQL_TIME:
    case SQL_MAP: break;
    }
    duckdb_vector_assign_string_element_len(o->vector, at, s.data, s.len);
    return 0;
}

static void put_null(const struct sql_output *o, uint64_t at)
{
    duckdb_vector_ensure_validity_writable(o->vector);
    duckdb_validity_set_row_invalid(duckdb_vector_get_validity(o->vector), at);
}

/* --- columns ------------------------------------------------------------- */

static bool is_of_column(const struct sql_column *c,
                         const struct quarry_cell *cell)
{
    return slice_eq(cell->qualifier, c->qualifier) &&
           slice_eq(cell->family, c->family);
}

/* The newest value of one column, or null. Rows are much alike: the place of
 * the cell in the last one is tried first. */
static int put_column(struct sql_output *o,
                      const struct quarry_row *row,
                      uint64_t at,
                      struct err *err)
{
    size_t i = o->place < row->cell_count ? o->place : 0;
    if (i && (!is_of_column(o->column, &row->cells[i]) ||
              is_of_column(o->column, &row->cells[i - 1])))
        i = 0;
    for (; i < row->cell_count; i++)
        if (is_of_column(o->column, &row->cells[i])) {
            o->place = i;
            return put_value(o, row, row->cells[i].value, at, err);
        }
    put_null(o, at);
    return 0;
}

static bool is_text_vector(duckdb_vector vector)
{
    duckdb_logical_type type = duckdb_vector_get_column_type(vector);
    bool out = duckdb_get_type_id(type) == DUCKDB_TYPE_VARCHAR;
    duckdb_destroy_logical_type(&type);
    return out;
}

static int map_room(struct sql_output *o, uint64_t more, struct err *err)
{
    if (duckdb_list_vector_reserve(o->vector, o->map_length + more) ==
        DuckDBSuccess)
        return 0;
    return err_set(err, ERR_NOMEM, "no memory for %llu columns of a batch",
                   (unsigned long long)more);
}

/* All columns of a family, with their newest values. */
static int put_family(struct sql_output *o,
                      const struct quarry_row *row,
                      uint64_t at,
                      struct err *err)
{
    duckdb_list_entry entry = {o->map_length, 0};
    const struct quarry_cell *last = NULL;
    const bool text_keys = is_text_vector(o->map_keys);
    const bool text_values = is_text_vector(o->map_values);
    int rc = map_room(o, row->cell_count, err);
    for (size_t i = 0; rc == 0 && i < row->cell_count; i++) {
        const struct quarry_cell *cell = &row->cells[i];
        if (!slice_eq(cell->family, o->column->family) ||
            (last && slice_eq(last->qualifier, cell->qualifier)))
            continue;
        last = cell;
        rc = put_bytes(o->map_keys, o->column, row, text_keys, cell->qualifier,
                       o->map_length, err);
        if (rc == 0)
            rc = put_bytes(o->map_values, o->column, row, text_values,
                           cell->value, o->map_length, err);
        o->map_length++;
    }
    entry.length = o->map_length - entry.offset;
    ((duckdb_list_entry *)o->data)[at] = entry;
    return rc;
}

/* One more version of the entry at hand, in the list that is its value. */
static int put_version(struct sql_output *o,
                       const struct quarry_row *row,
                       const struct quarry_cell *cell,
                       struct err *err)
{
    const uint64_t at = duckdb_list_vector_get_size(o->map_values);
    duckdb_vector versions;
    duckdb_list_entry *entry;
    if (duckdb_list_vector_reserve(o->map_values, at + 1) != DuckDBSuccess ||
        duckdb_list_vector_set_size(o->map_values, at + 1) != DuckDBSuccess)
        return err_set(err, ERR_NOMEM, "no memory for the versions of a batch");
    versions = duckdb_list_vector_get_child(o->map_values);
    entry = &((duckdb_list_entry *)duckdb_vector_get_data(
        o->map_values))[o->map_length - 1];
    entry->length = at + 1 - entry->offset;
    ((duckdb_timestamp *)duckdb_vector_get_data(
        duckdb_struct_vector_get_child(versions, 0)))[at]
        .micros = cell->timestamp_us;
    versions = duckdb_struct_vector_get_child(versions, 1);
    return put_bytes(versions, o->column, row, is_text_vector(versions),
                     cell->value, at, err);
}

/* A family as a map of all versions. */
static int put_history(struct sql_output *o,
                       const struct quarry_row *row,
                       uint64_t at,
                       struct err *err)
{
    duckdb_list_entry entry = {o->map_length, 0};
    const struct quarry_cell *last = NULL;
    const bool text_keys = is_text_vector(o->map_keys);
    int rc = map_room(o, row->cell_count, err);
    for (size_t i = 0; rc == 0 && i < row->cell_count; i++) {
        const struct quarry_cell *cell = &row->cells[i];
        if (!slice_eq(cell->family, o->column->family))
            continue;
        if (!last || !slice_eq(last->qualifier, cell->qualifier)) {
            rc = put_bytes(o->map_keys, o->column, row, text_keys,
                           cell->qualifier, o->map_length, err);
            ((duckdb_list_entry *)duckdb_vector_get_data(
                o->map_values))[o->map_length++] = (duckdb_list_entry){
                duckdb_list_vector_get_size(o->map_values), 0};
        }
        last = cell;
        if (rc == 0)
            rc = put_version(o, row, cell, err);
    }
    entry.length = o->map_length - entry.offset;
    ((duckdb_list_entry *)o->data)[at] = entry;
    return rc;
}

static int put_output(struct sql_output *o,
                      const struct quarry_row *row,
                      const struct quarry_cell *cell,
                      uint64_t at,
                      struct err *err)
{
    switch (o->column->source) {
    case SQL_FROM_KEY: return put_value(o, row, row->key, at, err);
    case SQL_FROM_FAMILY:
        return o->column->history ? put_history(o, row, at, err)
                                  : put_family(o, row, at, err);
    case SQL_FROM_COLUMN: return put_column(o, row, at, err);
    case SQL_FROM_CELL_NAME: return put_value(o, row, cell->family, at, err);
    case SQL_FROM_CELL_QUALIFIER:
        return put_value(o, row, cell->qualifier, at, err);
    case SQL_FROM_CELL_VALUE: return put_value(o, row, cell->value, at, err);
    case SQL_FROM_CELL_TIME:
        ((duckdb_timestamp *)o->data)[at].micros = cell->timestamp_us;
        break;
    }
    return 0;
}

int sql_fill_row(struct sql_output *outputs,
                 size_t count,
                 const struct quarry_row *row,
                 const struct quarry_cell *cell,
                 uint64_t at,
                 struct err *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++)
        if (outputs[i].column)
            rc = put_output(&outputs[i], row, cell, at, err);
    return rc;
}
