/* Values of vectors. Numbers, texts and nested values are written here; dates,
 * intervals, decimals and the other scalar types by DuckDB's own cast.
 */
#include "bigtable/sql/sql_batch.h"

#include <inttypes.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "bigtable/sql/sql_batch_of.h"

/* Types are nested by statements, and not deeper than their parser allows. */
#define SQL_NESTED_MAX 200

/* --- vectors ------------------------------------------------------------- */

static void open_vector(struct sql_vector *v, duckdb_vector vector, int depth);

static void open_child(struct sql_vector *v, duckdb_vector child, int depth)
{
    v->child_count = 1;
    v->children = mem_zalloc(1, sizeof(*v->children));
    open_vector(v->children, child, depth + 1);
}

static void open_struct(struct sql_vector *v, int depth)
{
    v->child_count = v->id == DUCKDB_TYPE_UNION
                         ? duckdb_union_type_member_count(v->type) + 1
                         : duckdb_struct_type_child_count(v->type);
    v->children = mem_zalloc(v->child_count + 1, sizeof(*v->children));
    for (size_t i = 0; i < v->child_count; i++)
        open_vector(&v->children[i],
                    duckdb_struct_vector_get_child(v->vector, i), depth + 1);
}

static void open_vector(struct sql_vector *v, duckdb_vector vector, int depth)
{
    v->vector = vector;
    v->type = duckdb_vector_get_column_type(vector);
    v->id = duckdb_get_type_id(v->type);
    v->data = duckdb_vector_get_data(vector);
    v->validity = duckdb_vector_get_validity(vector);
    if (depth >= SQL_NESTED_MAX)
        v->id = DUCKDB_TYPE_INVALID;
    else if (v->id == DUCKDB_TYPE_LIST || v->id == DUCKDB_TYPE_MAP)
        open_child(v, duckdb_list_vector_get_child(vector), depth);
    else if (v->id == DUCKDB_TYPE_ARRAY)
        open_child(v, duckdb_array_vector_get_child(vector), depth);
    else if (v->id == DUCKDB_TYPE_STRUCT || v->id == DUCKDB_TYPE_UNION)
        open_struct(v, depth);
}

static void close_vector(struct sql_vector *v)
{
    for (size_t i = 0; i < v->child_count; i++)
        close_vector(&v->children[i]);
    mem_free(v->children);
    duckdb_destroy_logical_type(&v->type);
}

void sql_batch_open(struct sql_batch *b, duckdb_data_chunk chunk)
{
    b->column_count = duckdb_data_chunk_get_column_count(chunk);
    b->row_count = duckdb_data_chunk_get_size(chunk);
    b->columns = mem_zalloc(b->column_count + 1, sizeof(*b->columns));
    for (size_t i = 0; i < b->column_count; i++)
        open_vector(&b->columns[i], duckdb_data_chunk_get_vector(chunk, i), 0);
}

void sql_batch_close(struct sql_batch *b)
{
    for (size_t i = 0; i < b->column_count; i++)
        close_vector(&b->columns[i]);
    mem_free(b->columns);
}

static bool is_null(const struct sql_vector *v, size_t row)
{
    return v->validity && !duckdb_validity_row_is_valid(v->validity, row);
}

static struct slice bytes_at(const struct sql_vector *v, size_t row)
{
    duckdb_string_t *s = &((duckdb_string_t *)v->data)[row];
    return slice_make(duckdb_string_t_data(s), duckdb_string_t_length(*s));
}

static bool has_bytes(const struct sql_vector *v)
{
    return v->id == DUCKDB_TYPE_VARCHAR || v->id == DUCKDB_TYPE_BLOB;
}

/* --- scalars ------------------------------------------------------------- */

static duckdb_value decimal_value(const struct sql_vector *v, size_t row)
{
    duckdb_decimal d = {.width = duckdb_decimal_width(v->type),
                        .scale = duckdb_decimal_scale(v->type)};
    const duckdb_type inside = duckdb_decimal_internal_type(v->type);
    int64_t small = 0;
    if (inside == DUCKDB_TYPE_HUGEINT) {
        d.value = ((duckdb_hugeint *)v->data)[row];
        return duckdb_create_decimal(d);
    }
    if (inside == DUCKDB_TYPE_SMALLINT)
        small = ((int16_t *)v->data)[row];
    else if (inside == DUCKDB_TYPE_INTEGER)
        small = ((int32_t *)v->data)[row];
    else
        small = ((int64_t *)v->data)[row];
    d.value.lower = (uint64_t)small;
    d.value.upper = small < 0 ? -1 : 0;
    return duckdb_create_decimal(d);
}

/* In vectors, the first bit is turned, so that they sort as signed numbers. */
static duckdb_value uuid_value(const struct sql_vector *v, size_t row)
{
    const duckdb_hugeint h = ((duckdb_hugeint *)v->data)[row];
    const duckdb_uhugeint u = {.lower = h.lower,
                               .upper = (uint64_t)h.upper ^ UINT64_C(1) << 63};
    return duckdb_create_uuid(u);
}

static duckdb_value bits_value(const struct sql_vector *v, size_t row)
{
    const struct slice s = bytes_at(v, row);
    char *copy = mem_strndup(s.data, s.len);
    duckdb_bit bits = {.data = (uint8_t *)copy, .size = s.len};
    duckdb_value out = duckdb_create_bit(bits);
    mem_free(copy);
    return out;
}

#define AT(type) (((type *)v->data)[row])

/* Types whose text is DuckDB's own: name, function, type in a vector. */
#define SQL_OWN_TEXTS(X)                                                       \
    X(HUGEINT, hugeint, duckdb_hugeint)                                        \
    X(UHUGEINT, uhugeint, duckdb_uhugeint)                                     \
    X(FLOAT, float, float)                                                     \
    X(DOUBLE, double, double)                                                  \
    X(DATE, date, duckdb_date)                                                 \
    X(TIME, time, duckdb_time)                                                 \
    X(TIME_TZ, time_tz_value, duckdb_time_tz)                                  \
    X(TIMESTAMP, timestamp, duckdb_timestamp)                                  \
    X(TIMESTAMP_TZ, timestamp_tz, duckdb_timestamp)                            \
    X(TIMESTAMP_S, timestamp_s, duckdb_timestamp_s)                            \
    X(TIMESTAMP_MS, timestamp_ms, duckdb_timestamp_ms)                         \
    X(TIMESTAMP_NS, timestamp_ns, duckdb_timestamp_ns)                         \
    X(INTERVAL, interval, duckdb_interval)

/* A value for DuckDB's own cast to text; NULL: there is none. */
static duckdb_value scalar_value(const struct sql_vector *v, size_t row)
{
    switch ((int)v->id) {
#define X(id, make, type)                                                      \
    case DUCKDB_TYPE_##id: return duckdb_create_##make(AT(type));
        SQL_OWN_TEXTS(X)
#undef X
    case DUCKDB_TYPE_DECIMAL: return decimal_value(v, row);
    case DUCKDB_TYPE_UUID: return uuid_value(v, row);
    case DUCKDB_TYPE_BIT: return bits_value(v, row);
    default: return NULL;
    }
}

#define SQL_WHOLES(X)                                                          \
    X(TINYINT, int8_t, PRId8)                                                  \
    X(SMALLINT, int16_t, PRId16)                                               \
    X(INTEGER, int32_t, PRId32)                                                \
    X(BIGINT, int64_t, PRId64)                                                 \
    X(UTINYINT, uint8_t, PRIu8)                                                \
    X(USMALLINT, uint16_t, PRIu16)                                             \
    X(UINTEGER, uint32_t, PRIu32)                                              \
    X(UBIGINT, uint64_t, PRIu64)

/* A whole number or a truth value; false: it is neither. */
static bool put_whole(const struct sql_vector *v, size_t row, struct buf *out)
{
    switch ((int)v->id) {
#define X(id, type, format)                                                    \
    case DUCKDB_TYPE_##id: buf_printf(out, "%" format, AT(type)); return true;
        SQL_WHOLES(X)
#undef X
    case DUCKDB_TYPE_BOOLEAN:
        buf_append_str(out, AT(bool) ? "true" : "false");
        return true;
    default: return false;
    }
}

static void put_enum(const struct sql_vector *v, size_t row, struct buf *out)
{
    const duckdb_type inside = duckdb_enum_internal_type(v->type);
    const idx_t at = inside == DUCKDB_TYPE_UTINYINT    ? AT(uint8_t)
                     : inside == DUCKDB_TYPE_USMALLINT ? AT(uint16_t)
                                                       : AT(uint32_t);
    char *name = duckdb_enum_dictionary_value(v->type, at);
    buf_append_str(out, name ? name : "");
    duckdb_free(name);
}

/* Any scalar as text. */
static void put_scalar(const struct sql_vector *v, size_t row, struct buf *out)
{
    duckdb_value value;
    char *text;
    if (has_bytes(v)) {
        buf_append_slice(out, bytes_at(v, row));
        return;
    }
    if (put_whole(v, row, out))
        return;
    if (v->id == DUCKDB_TYPE_ENUM) {
        put_enum(v, row, out);
        return;
    }
    value = scalar_value(v, row);
    text = value ? duckdb_get_varchar(value) : NULL;
    buf_append_str(out, text ? text : "?");
    duckdb_free(text);
    duckdb_destroy_value(&value);
}

/* --- nested -------------------------------------------------------------- */

typedef void (*put_fn)(const struct sql_vector *v, size_t row, struct buf *out);

/* The elements of a list, an array or a map. */
static void elements_of(const struct sql_vector *v,
                        size_t row,
                        size_t *first,
                        size_t *count)
{
    if (v->id == DUCKDB_TYPE_ARRAY) {
        *count = duckdb_array_type_array_size(v->type);
        *first = row * *count;
    } else {
        *first = AT(duckdb_list_entry).offset;
        *count = AT(duckdb_list_entry).length;
    }
}

static void
put_list(const struct sql_vector *v, size_t row, put_fn each, struct buf *out)
{
    size_t first, count;
    elements_of(v, row, &first, &count);
    buf_append_byte(out, '[');
    for (size_t i = 0; i < count; i++) {
        buf_append_str(out, i ? ", " : "");
        each(v->children, first + i, out);
    }
    buf_append_byte(out, ']');
}

static char *member_name(const struct sql_vector *v, size_t i)
{
    return duckdb_struct_type_child_name(v->type, i);
}

/* The member of a union that is set: its tag is the first child. */
static const struct sql_vector *union_member(const struct sql_vector *v,
                                             size_t row)
{
    const size_t tag = ((uint8_t *)v->children[0].data)[row];
    return &v->children[tag + 1 < v->child_count ? tag + 1 : 0];
}

static void
text_of_value(const struct sql_vector *v, size_t row, struct buf *out);

static void
put_text_map(const struct sql_vector *v, size_t row, struct buf *out)
{
    size_t first, count;
    elements_of(v, row, &first, &count);
    buf_append_byte(out, '{');
    for (size_t i = 0; i < count; i++) {
        buf_append_str(out, i ? ", " : "");
        text_of_value(&v->children->children[0], first + i, out);
        buf_append_byte(out, '=');
        text_of_value(&v->children->children[1], first + i, out);
    }
    buf_append_byte(out, '}');
}

static void
put_text_struct(const struct sql_vector *v, size_t row, struct buf *out)
{
    buf_append_byte(out, '{');
    for (size_t i = 0; i < v->child_count; i++) {
        char *name = member_name(v, i);
        buf_printf(out, "%s'%s': ", i ? ", " : "", name);
        duckdb_free(name);
        text_of_value(&v->children[i], row, out);
    }
    buf_append_byte(out, '}');
}

static void
text_of_value(const struct sql_vector *v, size_t row, struct buf *out)
{
    if (is_null(v, row))
        buf_append_str(out, "NULL");
    else if (v->id == DUCKDB_TYPE_LIST || v->id == DUCKDB_TYPE_ARRAY)
        put_list(v, row, text_of_value, out);
    else if (v->id == DUCKDB_TYPE_MAP)
        put_text_map(v, row, out);
    else if (v->id == DUCKDB_TYPE_STRUCT)
        put_text_struct(v, row, out);
    else if (v->id == DUCKDB_TYPE_UNION)
        text_of_value(union_member(v, row), row, out);
    else
        put_scalar(v, row, out);
}

/* --- JSON ---------------------------------------------------------------- */

static void put_base64(struct buf *out, struct slice s)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < s.len; i += 3) {
        uint32_t n = 0;
        for (size_t k = 0; k < 3; k++)
            n = n << 8 |
                (i + k < s.len ? (unsigned char)s.data[i + k] : UINT32_C(0));
        buf_append_byte(out, digits[n >> 18]);
        buf_append_byte(out, digits[n >> 12 & 63]);
        buf_append_byte(out, i + 1 < s.len ? digits[n >> 6 & 63] : '=');
        buf_append_byte(out, i + 2 < s.len ? digits[n & 63] : '=');
    }
}

static void put_json_bytes(struct buf *out, struct slice s)
{
    if (utf8_valid(s)) {
        text_put_json(out, s);
        return;
    }
    buf_append_str(out, "\"base64:");
    put_base64(out, s);
    buf_append_byte(out, '"');
}

static bool is_number(const struct sql_vector *v)
{
    switch ((int)v->id) {
    case DUCKDB_TYPE_FLOAT:
    case DUCKDB_TYPE_DOUBLE:
    case DUCKDB_TYPE_DECIMAL:
    case DUCKDB_TYPE_HUGEINT:
    case DUCKDB_TYPE_UHUGEINT: return true;
    default:
        return v->id >= DUCKDB_TYPE_TINYINT && v->id <= DUCKDB_TYPE_UBIGINT;
    }
}

/* A number, or as a string: neither "nan" nor "inf" is JSON. */
static void
put_json_scalar(const struct sql_vector *v, size_t row, struct buf *out)
{
    struct buf text = BUF_INIT;
    put_scalar(v, row, &text);
    if ((is_number(v) && !strpbrk(buf_cstr(&text), "nN")) ||
        v->id == DUCKDB_TYPE_BOOLEAN)
        buf_append_slice(out, buf_slice(&text));
    else
        put_json_bytes(out, buf_slice(&text));
    buf_close(&text);
}

static void
json_of_value(const struct sql_vector *v, size_t row, struct buf *out);

/* Names of members are strings, whatever the keys of a map are. */
static void
put_json_name(const struct sql_vector *v, size_t row, struct buf *out)
{
    struct buf text = BUF_INIT;
    text_of_value(v, row, &text);
    put_json_bytes(out, buf_slice(&text));
    buf_append_str(out, ": ");
    buf_close(&text);
}

static void
put_json_map(const struct sql_vector *v, size_t row, struct buf *out)
{
    size_t first, count;
    elements_of(v, row, &first, &count);
    buf_append_byte(out, '{');
    for (size_t i = 0; i < count; i++) {
        buf_append_str(out, i ? ", " : "");
        put_json_name(&v->children->children[0], first + i, out);
        json_of_value(&v->children->children[1], first + i, out);
    }
    buf_append_byte(out, '}');
}

static void
put_json_struct(const struct sql_vector *v, size_t row, struct buf *out)
{
    buf_append_byte(out, '{');
    for (size_t i = 0; i < v->child_count; i++) {
        char *name = member_name(v, i);
        buf_append_str(out, i ? ", " : "");
        put_json_bytes(out, slice_str(name));
        buf_append_str(out, ": ");
        duckdb_free(name);
        json_of_value(&v->children[i], row, out);
    }
    buf_append_byte(out, '}');
}

static void
json_of_value(const struct sql_vector *v, size_t row, struct buf *out)
{
    if (is_null(v, row))
        buf_append_str(out, "null");
    else if (v->id == DUCKDB_TYPE_LIST || v->id == DUCKDB_TYPE_ARRAY)
        put_list(v, row, json_of_value, out);
    else if (v->id == DUCKDB_TYPE_MAP)
        put_json_map(v, row, out);
    else if (v->id == DUCKDB_TYPE_STRUCT)
        put_json_struct(v, row, out);
    else if (v->id == DUCKDB_TYPE_UNION)
        json_of_value(union_member(v, row), row, out);
    else
        put_json_scalar(v, row, out);
}

/* --- the batch ----------------------------------------------------------- */

size_t sql_batch_row_count(const struct sql_batch *b)
{
    return b->row_count;
}

static const struct sql_vector *column_of(const struct sql_batch *b,
                                          size_t column)
{
    PRE(column < b->column_count);
    return &b->columns[column];
}

bool sql_batch_is_null(const struct sql_batch *b, size_t column, size_t row)
{
    return is_null(column_of(b, column), row);
}

bool sql_batch_bytes(const struct sql_batch *b,
                     size_t column,
                     size_t row,
                     struct slice *out)
{
    const struct sql_vector *v = column_of(b, column);
    if (!has_bytes(v) || is_null(v, row))
        return false;
    *out = bytes_at(v, row);
    return true;
}

void sql_batch_text(const struct sql_batch *b,
                    size_t column,
                    size_t row,
                    struct buf *out)
{
    const struct sql_vector *v = column_of(b, column);
    if (!is_null(v, row))
        text_of_value(v, row, out);
}

void sql_batch_json(const struct sql_batch *b,
                    size_t column,
                    size_t row,
                    struct buf *out)
{
    json_of_value(column_of(b, column), row, out);
}

size_t sql_batch_map_size(const struct sql_batch *b, size_t column, size_t row)
{
    const struct sql_vector *v = column_of(b, column);
    if (v->id != DUCKDB_TYPE_MAP || !has_bytes(&v->children->children[0]))
        return SIZE_MAX;
    return is_null(v, row) ? 0 : AT(duckdb_list_entry).length;
}

void sql_batch_map_entry(const struct sql_batch *b,
                         size_t column,
                         size_t row,
                         size_t entry,
                         struct slice *key,
                         struct slice *value,
                         bool *null)
{
    const struct sql_vector *v = column_of(b, column);
    const struct sql_vector *pair = v->children->children;
    const size_t at = AT(duckdb_list_entry).offset + entry;
    PRE(entry < AT(duckdb_list_entry).length);
    *key = bytes_at(&pair[0], at);
    *null = is_null(&pair[1], at) || !has_bytes(&pair[1]);
    *value = *null ? SLICE_EMPTY : bytes_at(&pair[1], at);
}
