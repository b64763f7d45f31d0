/* Every value is written by its type's cast, so that DuckDB does not guess
 * one: a number without it would have 32 bits, or be a DECIMAL. The parentheses
 * keep a subscript that follows from being read as a part of the type.
 */
#include "bigtable/googlesql/gsql_literal.h"

#include <inttypes.h>
#include <math.h>

#include "base/core/buf.h"

void gsql_put_bytes(struct buf *out, struct slice s)
{
    static const char hex[] = "0123456789ABCDEF";
    buf_append_str(out, "('");
    for (size_t i = 0; i < s.len; i++) {
        const unsigned char c = (unsigned char)s.data[i];
        buf_append(out, "\\x", 2);
        buf_append_byte(out, hex[c >> 4]);
        buf_append_byte(out, hex[c & 15]);
    }
    buf_append_str(out, "'::BLOB)");
}

static bool is_plain(struct slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.data[i] < ' ' || s.data[i] > '~')
            return false;
    return true;
}

void gsql_put_string(struct buf *out, struct slice s)
{
    if (!is_plain(s)) {
        buf_append_str(out, "decode(");
        gsql_put_bytes(out, s);
        buf_append_byte(out, ')');
        return;
    }
    buf_append_str(out, "('");
    for (size_t i = 0; i < s.len; i++) {
        if (s.data[i] == '\'')
            buf_append_byte(out, '\'');
        buf_append_byte(out, s.data[i]);
    }
    buf_append_str(out, "'::VARCHAR)");
}

void gsql_put_int64(struct buf *out, int64_t v)
{
    buf_printf(out, "('%" PRId64 "'::BIGINT)", v);
}

void gsql_put_float64(struct buf *out, double v)
{
    if (isfinite(v))
        buf_printf(out, "('%.17g'::DOUBLE)", v);
    else
        buf_printf(out, "('%s'::DOUBLE)",
                   isnan(v) ? "nan"
                   : v > 0  ? "inf"
                            : "-inf");
}

void gsql_put_field_name(struct buf *out, struct slice name, size_t index)
{
    if (name.len == 0 || !is_plain(name)) {
        buf_printf(out, "\"_field_%zu\"", index + 1);
        return;
    }
    buf_append_byte(out, '"');
    for (size_t i = 0; i < name.len; i++) {
        if (name.data[i] == '"')
            buf_append_byte(out, '"');
        buf_append_byte(out, name.data[i]);
    }
    buf_append_byte(out, '"');
}
