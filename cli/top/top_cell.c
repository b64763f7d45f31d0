/* Values as text in a column's width. Bytes from the cluster are made
 * printable first: a name must not be able to move the cursor of the terminal
 * that shows it. */
#include "cli/top/top_cell.h"

#include <math.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/text.h"

/* A double that becomes an integer stays below. */
#define NUMBER_MAX 9e18

static bool is_obeyed(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0xad || c == 0x61c ||
           (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2060 && c <= 0x206f) || c == 0xfeff;
}

void top_put_printable(struct buf *out, struct slice text)
{
    const char *p = text.data;
    const char *end = p + text.len;
    while (p < end) {
        uint32_t c;
        size_t n = utf8_decode(p, end, &c);
        bool is_broken = c == UTF8_REPLACEMENT && n == 1;
        if (is_broken || (is_obeyed(c) && c < 0x80))
            buf_printf(out, "\\x%02x", (unsigned)(unsigned char)*p);
        else if (is_obeyed(c))
            buf_printf(out, "\\u{%x}", (unsigned)c);
        else
            buf_append(out, p, n);
        p += n;
    }
}

/* The bytes of @text that fit into @columns. */
static size_t fitting_bytes(struct slice text, size_t columns, size_t *taken)
{
    const char *end = (const char *)text.data + text.len;
    size_t at = 0;
    *taken = 0;
    while (at < text.len) {
        uint32_t c;
        size_t n = utf8_decode((const char *)text.data + at, end, &c);
        size_t wide = utf8_columns(slice_sub(text, at, at + n));
        if (*taken + wide > columns)
            break;
        *taken += wide;
        at += n;
    }
    return at;
}

size_t
top_put_columns(struct buf *out, struct slice text, size_t columns, bool fill)
{
    size_t taken;
    size_t bytes = fitting_bytes(text, columns, &taken);
    if (bytes < text.len && columns > 0) {
        bytes = fitting_bytes(text, columns - 1, &taken);
        buf_append(out, text.data, bytes);
        buf_append_str(out, "…");
        taken++;
    } else {
        buf_append(out, text.data, bytes);
    }
    for (; fill && taken < columns; taken++)
        buf_append_byte(out, ' ');
    return taken;
}

static void put_rate(struct buf *out, double v)
{
    if (fabs(v) >= 0.05 && fabs(v) < 9.95)
        buf_printf(out, "%.1f", v);
    else
        text_put_count(out, (uint64_t)(fabs(v) + 0.5));
}

/* As short as a column of durations needs it. */
static void put_duration(struct buf *out, double us)
{
    if (us < 1000)
        buf_printf(out, "%.0fus", us);
    else if (us < 1e6)
        buf_printf(out, "%.1fms", us / 1e3);
    else if (us < 1e8)
        buf_printf(out, "%.1fs", us / 1e6);
    else
        text_put_duration(out, (uint64_t)us / 1000000 * 1000000);
}

static void put_roles(struct buf *out, const json_t *roles)
{
    size_t i;
    json_t *x;
    json_array_foreach(roles, i, x) {
        const char *name = json_string_value(json_object_get(x, "name"));
        const char *health = json_string_value(json_object_get(x, "health"));
        if (i)
            buf_append_byte(out, ' ');
        top_put_printable(out, slice_str(name ? name : "?"));
        if (json_is_true(json_object_get(x, "leads")))
            buf_append_byte(out, '*');
        if (health && strcmp(health, "well") != 0)
            buf_append_byte(out, '!');
    }
}

static void put_number(struct buf *out, double v, enum top_kind kind)
{
    if (!(fabs(v) < NUMBER_MAX))
        return;
    if (kind == TOP_RATE)
        put_rate(out, v);
    else if (kind == TOP_BYTES && v >= 0)
        text_put_bytes(out, (uint64_t)v);
    else if (kind == TOP_DURATION && v >= 0)
        put_duration(out, v);
    else if (kind == TOP_TIME)
        text_put_time(out, (int64_t)v / 1000000 * 1000000);
    else if (kind == TOP_NUMBER && v >= 0)
        text_put_count(out, (uint64_t)v);
    else
        buf_printf(out, "%.12g", v);
}

void top_put_cell(struct buf *out, const json_t *value, enum top_kind kind)
{
    if (kind == TOP_ROLES)
        put_roles(out, value);
    else if (json_is_string(value))
        top_put_printable(out, slice_make(json_string_value(value),
                                          json_string_length(value)));
    else if (json_is_number(value))
        put_number(out, json_number_value(value), kind);
    else if (json_is_boolean(value))
        buf_append_str(out, json_is_true(value) ? "yes" : "no");
    else if (json_is_array(value))
        buf_printf(out, "%zu", json_array_size(value));
}

enum top_kind top_kind_of(const char *field, const json_t *value)
{
    struct slice name = slice_str(field);
    if (!json_is_number(value))
        return TOP_TEXT;
    if (slice_ends_with(name, SLICE_LIT("_per_s")) ||
        slice_ends_with(name, SLICE_LIT("cores")))
        return TOP_RATE;
    if (slice_ends_with(name, SLICE_LIT("bytes")))
        return TOP_BYTES;
    if (slice_ends_with(name, SLICE_LIT("at_us")))
        return TOP_TIME;
    if (slice_ends_with(name, SLICE_LIT("_us")))
        return TOP_DURATION;
    return json_is_real(value) ? TOP_TEXT : TOP_NUMBER;
}
