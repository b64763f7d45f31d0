/* Bytes made printable, and back: C escapes, JSON strings and CSV fields;
 * and the suggestion for a misspelt name. Bytes that are not UTF-8 never
 * reach a terminal or a JSON reader unescaped. */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/hex.h"
#include "base/core/text.h"

/* --- C escapes ----------------------------------------------------------- */

/* True for code points that a terminal shows as they are. */
static bool is_printable(uint32_t code)
{
    return code >= 0x20 && code != 0x7f && (code < 0x80 || code >= 0xa0) &&
           code != 0x2028 && code != 0x2029;
}

static void put_control(struct buf *b, unsigned char c)
{
    switch (c) {
    case '\n': buf_append_str(b, "\\n"); break;
    case '\r': buf_append_str(b, "\\r"); break;
    case '\t': buf_append_str(b, "\\t"); break;
    default: buf_printf(b, "\\x%02x", c); break;
    }
}

void text_put_escaped(struct buf *b, struct slice s, char quote)
{
    const char *end = s.data + s.len;
    uint32_t code;
    size_t n;
    for (const char *p = s.data; p < end; p += n) {
        n = utf8_decode(p, end, &code);
        if (*p == '\\' || (quote && *p == quote)) {
            buf_append_byte(b, '\\');
            buf_append_byte(b, *p);
        } else if ((n == 1 && (unsigned char)*p >= 0x80) ||
                   !is_printable(code)) {
            for (size_t i = 0; i < n; i++)
                put_control(b, (unsigned char)p[i]);
        } else {
            buf_append(b, p, n);
        }
    }
}

/* Parse @count hexadecimal digits at @p; false when they are missing. */
static bool get_hex(const char *p, const char *end, size_t count, uint32_t *out)
{
    uint32_t v = 0;
    if ((size_t)(end - p) < count)
        return false;
    for (size_t i = 0; i < count; i++) {
        int d = hex_value(p[i]);
        if (d < 0)
            return false;
        v = v << 4 | (uint32_t)d;
    }
    *out = v;
    return true;
}

/* Append what the escape at @p (which follows the backslash) stands for;
 * returns the bytes it takes, 0 when it is broken. */
static size_t unescape_one(const char *p, const char *end, struct buf *out)
{
    static const char letters[] = "nrt0abfve\\\"'";
    static const char bytes[] = "\n\r\t\0\a\b\f\v\x1b\\\"'";
    const char *at;
    char utf8[4];
    uint32_t code;
    if (p == end)
        return 0;
    if (*p == 'x' && get_hex(p + 1, end, 2, &code)) {
        buf_append_byte(out, (char)(unsigned char)code);
        return 3;
    }
    if (*p == 'u' && get_hex(p + 1, end, 4, &code)) {
        buf_append(out, utf8, utf8_encode(utf8, code));
        return 5;
    }
    at = *p ? strchr(letters, *p) : NULL;
    if (!at)
        return 0;
    buf_append_byte(out, bytes[at - letters]);
    return 1;
}

int text_unescape(struct slice s, struct buf *out, struct err *err)
{
    const char *end = s.data + s.len;
    size_t n;
    for (const char *p = s.data; p < end; p += n) {
        n = 1;
        if (*p != '\\') {
            buf_append_byte(out, *p);
            continue;
        }
        n = 1 + unescape_one(p + 1, end, out);
        if (n == 1)
            return err_set(
                err, ERR_INVALID, "unknown escape at byte %zu of \"%.*s\"",
                (size_t)(p - s.data), (int)MIN_OF(s.len, (size_t)80), s.data);
    }
    return 0;
}

/* The byte that the escape at @s (behind a backslash) stands for, and how many
 * characters it takes; 0 when it is none. */
static size_t read_loose_escape(struct slice s, char *byte)
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

void text_unescape_loose(struct buf *out, struct slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        char byte = s.data[i];
        if (byte == '\\')
            i += read_loose_escape(slice_sub(s, i + 1, s.len), &byte);
        buf_append_byte(out, byte);
    }
}

/* --- JSON and CSV -------------------------------------------------------- */

static void put_json_code(struct buf *b, uint32_t code)
{
    char utf8[4];
    switch (code) {
    case '"': buf_append_str(b, "\\\""); break;
    case '\\': buf_append_str(b, "\\\\"); break;
    case '\n': buf_append_str(b, "\\n"); break;
    case '\r': buf_append_str(b, "\\r"); break;
    case '\t': buf_append_str(b, "\\t"); break;
    default:
        if (code < 0x20 || code == 0x7f)
            buf_printf(b, "\\u%04x", code);
        else
            buf_append(b, utf8, utf8_encode(utf8, code));
        break;
    }
}

void text_put_json(struct buf *b, struct slice s)
{
    uint32_t code;
    buf_append_byte(b, '"');
    for (size_t at = 0; at < s.len;) {
        at += utf8_decode(s.data + at, s.data + s.len, &code);
        put_json_code(b, code);
    }
    buf_append_byte(b, '"');
}

static bool needs_quotes(struct slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.data[i] && strchr(",\"\r\n", s.data[i]))
            return true;
    return s.len > 0 && (s.data[0] == ' ' || s.data[s.len - 1] == ' ');
}

void text_put_csv(struct buf *b, struct slice s)
{
    if (!needs_quotes(s)) {
        buf_append_slice(b, s);
        return;
    }
    buf_append_byte(b, '"');
    for (size_t i = 0; i < s.len; i++) {
        if (s.data[i] == '"')
            buf_append_byte(b, '"');
        buf_append_byte(b, s.data[i]);
    }
    buf_append_byte(b, '"');
}

/* --- misspelt names ------------------------------------------------------ */

/* Longest name compared; bounds the three rows of the distance table, which
 * are on the stack. */
#define NAME_BYTES_MAX 63

/* One row of the edit distance (with swaps of neighbours) between the first
 * @i bytes of @a and all prefixes of @b. */
static void distance_row(struct slice a,
                         struct slice b,
                         size_t i,
                         const unsigned *two_up,
                         const unsigned *up,
                         unsigned *row)
{
    row[0] = (unsigned)i;
    for (size_t j = 1; j <= b.len; j++) {
        unsigned best = up[j - 1] + (a.data[i - 1] != b.data[j - 1]);
        best = MIN_OF(best, up[j] + 1);
        best = MIN_OF(best, row[j - 1] + 1);
        if (i > 1 && j > 1 && a.data[i - 1] == b.data[j - 2] &&
            a.data[i - 2] == b.data[j - 1])
            best = MIN_OF(best, two_up[j - 2] + 1);
        row[j] = best;
    }
}

static unsigned edit_distance(struct slice a, struct slice b)
{
    unsigned rows[3][NAME_BYTES_MAX + 1];
    for (size_t j = 0; j <= b.len; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a.len; i++)
        distance_row(a, b, i, rows[(i + 1) % 3], rows[(i - 1) % 3],
                     rows[i % 3]);
    return rows[a.len % 3][b.len];
}

const char *
text_nearest(struct slice word, const char *const *names, size_t count)
{
    const char *best = NULL;
    unsigned best_distance = (unsigned)MAX_OF(word.len / 3, (size_t)1) + 1;
    if (word.len > NAME_BYTES_MAX)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        struct slice name = slice_str(names[i]);
        unsigned d;
        if (name.len > NAME_BYTES_MAX)
            continue;
        d = edit_distance(word, name);
        if (d < best_distance) {
            best_distance = d;
            best = names[i];
        }
    }
    return best;
}
