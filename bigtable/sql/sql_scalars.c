/* Each function is one over a value; the loop over a batch is shared. NULL
 * gives NULL.
 */
#include "bigtable/sql/sql_scalars.h"

#include <math.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/text.h"

/* A batch's vectors, the row at hand, and room for texts. */
struct scalar_batch {
    void *in;
    duckdb_vector out;
    void *out_data;
    idx_t row;
    struct buf text;
};

/* Compute the row at hand; NULL, or what is wrong. */
typedef const char *(*scalar_fn)(struct scalar_batch *b);

static struct slice bytes_in(const struct scalar_batch *b)
{
    duckdb_string_t *s = &((duckdb_string_t *)b->in)[b->row];
    return slice_make(duckdb_string_t_data(s), duckdb_string_t_length(*s));
}

static void put_bytes_out(struct scalar_batch *b)
{
    duckdb_vector_assign_string_element_len(
        b->out, b->row, b->text.data ? b->text.data : "", b->text.len);
}

static const char *to_latin1(struct scalar_batch *b)
{
    const struct slice s = bytes_in(b);
    for (size_t i = 0; i < s.len; i++) {
        const unsigned char c = (unsigned char)s.data[i];
        if (c >= 0x80)
            buf_append_byte(&b->text, (char)(0xc0 | c >> 6));
        buf_append_byte(&b->text, (char)(c >= 0x80 ? 0x80 | (c & 63) : c));
    }
    put_bytes_out(b);
    return NULL;
}

static const char *from_latin1(struct scalar_batch *b)
{
    const struct slice s = bytes_in(b);
    for (size_t i = 0; i < s.len; i++) {
        const unsigned char c = (unsigned char)s.data[i];
        if (c < 0x80) {
            buf_append_byte(&b->text, (char)c);
        } else if ((c == 0xc2 || c == 0xc3) && i + 1 < s.len) {
            i++;
            buf_append_byte(&b->text, (char)((c & 3) << 6 | (s.data[i] & 63)));
        } else {
            return "a character that is no byte";
        }
    }
    put_bytes_out(b);
    return NULL;
}

static bool take_number(const struct scalar_batch *b, size_t bytes, uint64_t *v)
{
    const struct slice s = bytes_in(b);
    *v = 0;
    for (size_t i = 0; i < s.len && i < bytes; i++)
        *v = *v << 8 | (unsigned char)s.data[i];
    return s.len == bytes;
}

static const char *to_eight(struct scalar_batch *b)
{
    uint64_t v;
    if (!take_number(b, sizeof(v), &v))
        return "TO_INT64 and TO_FLOAT64 take 8 bytes";
    memcpy((char *)b->out_data + b->row * sizeof(v), &v, sizeof(v));
    return NULL;
}

static const char *to_float32(struct scalar_batch *b)
{
    uint64_t v;
    uint32_t bits;
    if (!take_number(b, sizeof(bits), &v))
        return "TO_FLOAT32 takes 4 bytes";
    bits = (uint32_t)v;
    memcpy((char *)b->out_data + b->row * sizeof(bits), &bits, sizeof(bits));
    return NULL;
}

/* "0x" and up to 16 digits. */
static bool parse_hex(struct slice s, int64_t *out)
{
    uint64_t v = 0;
    for (size_t i = 2; i < s.len; i++) {
        const char c = (char)(s.data[i] | 0x20);
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
        v = v << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    *out = (int64_t)v;
    return s.len > 2 && s.len <= 18 && v <= INT64_MAX;
}

static const char *parse_int64(struct scalar_batch *b)
{
    const struct slice s = slice_trim(bytes_in(b));
    int64_t *out = &((int64_t *)b->out_data)[b->row];
    const bool hex = slice_starts_with(s, SLICE_LIT("0x")) ||
                     slice_starts_with(s, SLICE_LIT("0X"));
    if (hex ? !parse_hex(s, out) : text_parse_i64(s, out, NULL) != 0)
        return "Bad INT64 value: not a whole number";
    return NULL;
}

static const char *sql_scalars_divisor(struct scalar_batch *b)
{
    const double v = ((double *)b->in)[b->row];
    ((double *)b->out_data)[b->row] = v;
    return v < 0 || v > 0 || isnan(v) ? NULL : "division by zero";
}

static const char *whole_divisor(struct scalar_batch *b)
{
    const int64_t v = ((int64_t *)b->in)[b->row];
    ((int64_t *)b->out_data)[b->row] = v;
    return v ? NULL : "division by zero";
}

static const struct scalar {
    const char *name;
    duckdb_type in;
    duckdb_type out;
    scalar_fn fn;
} scalars[] = {
    {"quarry_latin1", DUCKDB_TYPE_BLOB, DUCKDB_TYPE_VARCHAR, to_latin1},
    {"quarry_unlatin1", DUCKDB_TYPE_VARCHAR, DUCKDB_TYPE_BLOB, from_latin1},
    {"quarry_int64", DUCKDB_TYPE_BLOB, DUCKDB_TYPE_BIGINT, to_eight},
    {"quarry_float64", DUCKDB_TYPE_BLOB, DUCKDB_TYPE_DOUBLE, to_eight},
    {"quarry_float32", DUCKDB_TYPE_BLOB, DUCKDB_TYPE_FLOAT, to_float32},
    {"quarry_parse_int64", DUCKDB_TYPE_VARCHAR, DUCKDB_TYPE_BIGINT,
     parse_int64},
    {"quarry_divisor", DUCKDB_TYPE_DOUBLE, DUCKDB_TYPE_DOUBLE,
     sql_scalars_divisor},
    {"quarry_whole_divisor", DUCKDB_TYPE_BIGINT, DUCKDB_TYPE_BIGINT,
     whole_divisor},
};

static void run_scalar(duckdb_function_info info,
                       duckdb_data_chunk input,
                       duckdb_vector out)
{
    const struct scalar *f = duckdb_scalar_function_get_extra_info(info);
    duckdb_vector in = duckdb_data_chunk_get_vector(input, 0);
    uint64_t *valid = duckdb_vector_get_validity(in);
    const idx_t count = duckdb_data_chunk_get_size(input);
    struct scalar_batch b = {.in = duckdb_vector_get_data(in),
                             .out = out,
                             .out_data = duckdb_vector_get_data(out)};
    const char *why = NULL;
    for (b.row = 0; b.row < count && !why; b.row++) {
        if (valid && !duckdb_validity_row_is_valid(valid, b.row)) {
            duckdb_vector_ensure_validity_writable(out);
            duckdb_validity_set_row_invalid(duckdb_vector_get_validity(out),
                                            b.row);
            continue;
        }
        buf_clear(&b.text);
        why = f->fn(&b);
    }
    if (why)
        duckdb_scalar_function_set_error(info, why);
    buf_close(&b.text);
}

static int
register_scalar(duckdb_connection c, const struct scalar *s, struct err *err)
{
    duckdb_scalar_function f = duckdb_create_scalar_function();
    duckdb_logical_type in = duckdb_create_logical_type(s->in);
    duckdb_logical_type out = duckdb_create_logical_type(s->out);
    duckdb_state state;
    duckdb_scalar_function_set_name(f, s->name);
    duckdb_scalar_function_add_parameter(f, in);
    duckdb_scalar_function_set_return_type(f, out);
    duckdb_scalar_function_set_extra_info(f, (void *)(uintptr_t)s, NULL);
    duckdb_scalar_function_set_function(f, run_scalar);
    state = duckdb_register_scalar_function(c, f);
    duckdb_destroy_scalar_function(&f);
    duckdb_destroy_logical_type(&in);
    duckdb_destroy_logical_type(&out);
    if (state == DuckDBSuccess)
        return 0;
    return err_set(err, ERR_INVALID, "DuckDB does not take the function %s()",
                   s->name);
}

int sql_scalars_register(duckdb_connection connection, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < ARRAY_LEN(scalars); i++)
        rc = register_scalar(connection, &scalars[i], err);
    return rc;
}
