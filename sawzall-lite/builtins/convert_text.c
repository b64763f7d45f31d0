/* Strings to and from bytes, in the encodings the language knows: UTF-8,
 * latin-1, hexadecimal, the array literals and "unicode" escapes of the
 * published interpreter. Integers have encodings of their own
 * (convert_number.c). */
#include <string.h>
#include <strings.h>

#include "base/core/hex.h"
#include "sawzall-lite/builtins/convert_internal.h"
#include "sawzall-lite/builtins/private.h"

static const struct {
    const char *name;
    enum saw_encoding encoding;
} encodings[] = {
    {"UTF-8", SAW_ENCODING_UTF8},
    {"latin-1", SAW_ENCODING_LATIN1},
    {"hex", SAW_ENCODING_HEX},
    {"array-literal", SAW_ENCODING_LITERAL},
    {"unicode", SAW_ENCODING_UNICODE},
    {"fixed64-little", SAW_ENCODING_FIXED64_LITTLE},
    {"fixed64-big", SAW_ENCODING_FIXED64_BIG},
    {"fixed32-little", SAW_ENCODING_FIXED32_LITTLE},
    {"fixed32-big", SAW_ENCODING_FIXED32_BIG},
    {"varint", SAW_ENCODING_VARINT},
    {"zigzag", SAW_ENCODING_ZIGZAG},
    {"szl", SAW_ENCODING_FIXED64_BIG},
};

enum saw_encoding saw_encoding_find(struct slice name)
{
    for (size_t i = 0; i < ARRAY_LEN(encodings); i++) {
        if (name.len == strlen(encodings[i].name) &&
            strncasecmp(name.data, encodings[i].name, name.len) == 0)
            return encodings[i].encoding;
    }
    return SAW_ENCODING_NONE;
}

/* --- string to bytes ----------------------------------------------------- */

static enum saw_status
to_latin1(struct saw_ctx *ctx, const struct saw_str *s, union saw_slot *result)
{
    char *out = saw_alloc(ctx, s->chars);
    const char *p = s->data;
    const char *end = s->data + s->len;
    size_t n = 0;
    if (!out)
        return SAW_FAIL;
    while (p < end) {
        size_t len;
        uint32_t c = saw_utf8_decode(p, end, &len);
        if (c > 255)
            return saw_undef(ctx,
                             "character out of range converting to latin-1");
        out[n++] = (char)c;
        p += len;
    }
    return saw_give_text(saw_bytes_of(ctx, slice_make(out, n)), result);
}

static enum saw_status
from_hex(struct saw_ctx *ctx, const struct saw_str *s, union saw_slot *result)
{
    size_t n = s->len / 2;
    char *out;
    if (s->chars & 1)
        return saw_undef(ctx, "odd number of characters for hex conversion");
    out = saw_alloc(ctx, n);
    if (!out)
        return SAW_FAIL;
    if (!hex_decode(s->data, n, (unsigned char *)out))
        return saw_undef(ctx, "illegal hex value converting string to bytes");
    return saw_give_text(saw_bytes_of(ctx, slice_make(out, n)), result);
}

enum saw_status saw_text_to_bytes(struct saw_ctx *ctx,
                                  const struct saw_conversion *c,
                                  union saw_slot v,
                                  union saw_slot *result)
{
    if (c->encoding == SAW_ENCODING_UTF8)
        return saw_give_text(saw_bytes_of(ctx, saw_str_slice(v.s)), result);
    if (c->encoding == SAW_ENCODING_LATIN1)
        return to_latin1(ctx, v.s, result);
    if (c->encoding == SAW_ENCODING_HEX)
        return from_hex(ctx, v.s, result);
    return saw_undef(ctx, "unknown encoding for string to bytes");
}

/* --- bytes to string ----------------------------------------------------- */

/* Bytes at @p that become one U+FFFD: one, or the four of a code point beyond
 * the last. */
static size_t bad_utf8(const char *p, const char *end)
{
    const unsigned char *u = (const unsigned char *)p;
    bool beyond = end - p >= 4 && u[0] >= 0xf4 && u[0] < 0xf8 &&
                  (u[1] & 0xc0) == 0x80 && (u[2] & 0xc0) == 0x80 &&
                  (u[3] & 0xc0) == 0x80;

    return beyond ? 4 : 1;
}

/* Length of a UTF-8 character by its first byte, which may begin none. */
static size_t convert_length(unsigned char first)
{
    if (first < 0x80)
        return 1;
    if (first < 0xe0)
        return 2;
    return first < 0xf0 ? 3 : 4;
}

const struct saw_str *saw_string_repair(struct saw_ctx *ctx, struct slice s)
{
    struct buf *b = &ctx->scratch;
    const char *p = s.data;
    const char *end = s.data + s.len;

    buf_clear(b);
    while (p < end) {
        size_t n = convert_length((unsigned char)*p);
        size_t chars;
        if (*p != '\0' && n <= (size_t)(end - p) &&
            saw_utf8_check(slice_make(p, n), &chars)) {
            buf_append(b, p, n);
            p += n;
        } else {
            buf_append_str(b, "\xef\xbf\xbd");
            p += bad_utf8(p, end);
        }
    }
    return saw_string_dup(ctx, buf_slice(b));
}

static enum saw_status
from_latin1(struct saw_ctx *ctx, struct slice s, union saw_slot *result)
{
    char *out = saw_alloc(ctx, 2 * s.len);
    size_t n = 0;
    if (!out)
        return SAW_FAIL;
    for (size_t i = 0; i < s.len; i++)
        n += saw_utf8_encode((unsigned char)s.data[i], out + n);
    return saw_give_text(saw_string_of(ctx, slice_make(out, n), s.len), result);
}

static enum saw_status
to_hex(struct saw_ctx *ctx, struct slice s, union saw_slot *result)
{
    static const char digits[] = "0123456789abcdef";
    char *out = saw_alloc(ctx, 2 * s.len);
    if (!out)
        return SAW_FAIL;
    for (size_t i = 0; i < s.len; i++) {
        out[2 * i] = digits[(unsigned char)s.data[i] >> 4];
        out[2 * i + 1] = digits[(unsigned char)s.data[i] & 15];
    }
    return saw_give_text(
        saw_string_of(ctx, slice_make(out, 2 * s.len), 2 * s.len), result);
}

static enum saw_status
to_literal(struct saw_ctx *ctx, union saw_slot v, union saw_slot *result)
{
    struct buf *b = &ctx->scratch;
    buf_clear(b);
    saw_value_format(&saw_type_bytes, v, b);
    return saw_give_text(saw_string_dup(ctx, buf_slice(b)), result);
}

enum saw_status saw_bytes_to_text(struct saw_ctx *ctx,
                                  const struct saw_conversion *c,
                                  union saw_slot v,
                                  union saw_slot *result)
{
    struct slice s = saw_str_slice(v.s);
    size_t zero;
    size_t chars;

    if (c->encoding == SAW_ENCODING_HEX)
        return to_hex(ctx, s, result);
    if (c->encoding == SAW_ENCODING_LITERAL)
        return to_literal(ctx, v, result);
    if (c->encoding != SAW_ENCODING_UTF8 && c->encoding != SAW_ENCODING_LATIN1)
        return saw_undef(ctx,
                         "unknown encoding for conversion of bytes to string");
    zero = slice_find_byte(s, '\0');
    if (zero < s.len)
        return saw_undef(ctx,
                         "encountered 0 byte at index %zu converting from "
                         "bytes to string",
                         zero);
    if (c->encoding == SAW_ENCODING_LATIN1)
        return from_latin1(ctx, s, result);
    if (!saw_utf8_check(s, &chars))
        return saw_give_text(saw_string_repair(ctx, s), result);
    return saw_give_text(saw_string_of(ctx, s, chars), result);
}
