/* Forms of bytes: as arguments (\xNN, \n, \t, \r and \\ are decoded), as values
 * cut to a width (the same escapes), and in JSON and CSV, where bytes that are
 * not UTF-8 are in base64.
 */
#include "cli/text_form.h"

#include "base/core/buf.h"
#include "base/core/hex.h"
#include "base/core/panic.h"
#include "base/core/text.h"

/* The byte that the escape at @s (behind a backslash) stands for, and how many
 * characters it takes; 0 when it is none. */
static size_t read_escape(struct slice s, char *byte)
{
    static const char letters[] = "ntr\\";
    static const char bytes[] = "\n\t\r\\";
    const char *p;
    if (s.len == 0 || s.data[0] == '\0')
        return 0;
    if (s.data[0] == 'x' && s.len >= 3 && hex_value(s.data[1]) >= 0 &&
        hex_value(s.data[2]) >= 0) {
        *byte = (char)(hex_value(s.data[1]) * 16 + hex_value(s.data[2]));
        return 3;
    }
    p = strchr(letters, s.data[0]);
    if (!p)
        return 0;
    *byte = bytes[p - letters];
    return 1;
}

void argument_unescape(struct buf *out, struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        char byte = text.data[i];
        if (byte == '\\')
            i += read_escape(slice_sub(text, i + 1, text.len), &byte);
        buf_append_byte(out, byte);
    }
}

void text_put_cut(struct buf *out, struct slice s, size_t columns)
{
    size_t used = 0;
    size_t keep = out->len; /* Where the cut is made if it must be. */
    const char *end = s.data + s.len;
    for (const char *p = s.data; p < end;) {
        uint32_t code;
        size_t n = utf8_decode(p, end, &code);
        INVARIANT(n > 0);
        size_t before = out->len;
        text_put_escaped(out, slice_make(p, n), 0);
        used += utf8_columns(slice_sub(buf_slice(out), before, out->len));
        if (used > columns) {
            buf_truncate(out, keep);
            if (columns > 0)
                buf_append_str(out, "…");
            return;
        }
        if (used < columns)
            keep = out->len;
        p += n;
    }
}

void base64_put(struct buf *out, struct slice s)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";
    PRE(s.len == 0 || s.data);
    for (size_t i = 0; i < s.len; i += 3) {
        size_t left = s.len - i;
        uint32_t v = (uint32_t)(unsigned char)s.data[i] << 16;
        if (left > 1)
            v |= (uint32_t)(unsigned char)s.data[i + 1] << 8;
        if (left > 2)
            v |= (uint32_t)(unsigned char)s.data[i + 2];
        buf_append_byte(out, digits[v >> 18 & 63]);
        buf_append_byte(out, digits[v >> 12 & 63]);
        buf_append_byte(out, left > 1 ? digits[v >> 6 & 63] : '=');
        buf_append_byte(out, left > 2 ? digits[v & 63] : '=');
    }
}

static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool base64_decode(struct slice text, struct buf *out)
{
    uint32_t bits = 0;
    if (text.len % 4 != 0)
        return false;
    while (text.len > 0 && text.data[text.len - 1] == '=')
        text.len--;
    if (text.len % 4 == 1)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        int digit = base64_digit(text.data[i]);
        if (digit < 0)
            return false;
        bits = bits << 6 | (uint32_t)digit;
        if (i % 4 == 1)
            buf_append_byte(out, (char)(bits >> 4 & 0xff));
        else if (i % 4 == 2)
            buf_append_byte(out, (char)(bits >> 2 & 0xff));
        else if (i % 4 == 3)
            buf_append_byte(out, (char)(bits & 0xff));
    }
    return true;
}

void csv_put_bytes(struct buf *out, struct slice s)
{
    if (utf8_valid(s) && slice_find_byte(s, '\0') == s.len &&
        !slice_starts_with(s, SLICE_LIT(CSV_BASE64_MARK))) {
        text_put_csv(out, s);
        return;
    }
    buf_append_str(out, CSV_BASE64_MARK);
    base64_put(out, s);
}

void json_put_bytes(struct buf *out, const char *name, struct slice s)
{
    PRE(name);
    if (utf8_valid(s)) {
        buf_printf(out, "\"%s\": ", name);
        text_put_json(out, s);
        return;
    }
    buf_printf(out, "\"%s_base64\": \"", name);
    base64_put(out, s);
    buf_append_byte(out, '"');
}
