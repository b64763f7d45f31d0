/* Taking names of objects apart, and writing keys as parts of URLs. A key is
 * any bytes, so all but the unreserved characters of RFC 3986 are escaped;
 * what a server lists is unescaped again. */
#include "base/objects/object_name.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/hex.h"
#include "base/core/panic.h"

static const struct {
    const char *mark;
    enum object_scheme scheme;
} schemes[] = {
    {"s3://", OBJECT_S3},
    {"http://", OBJECT_HTTP},
    {"https://", OBJECT_HTTPS},
};

bool object_name_is(const char *text)
{
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        if (strncmp(text, schemes[i].mark, strlen(schemes[i].mark)) == 0)
            return true;
    return false;
}

static bool is_letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9');
}

/* Buckets and hosts have few kinds of bytes; a user's name before '@' is not
 * among them. */
static bool is_place(struct slice s, bool host)
{
    const char *more = host ? "-._:[]" : "-._";
    for (size_t i = 0; i < s.len; i++)
        if (!is_letter_or_digit(s.data[i]) &&
            (s.data[i] == '\0' || !strchr(more, s.data[i])))
            return false;
    return s.len > 0;
}

int object_name_parse(const char *text,
                      struct object_name *out,
                      struct err *err)
{
    struct slice rest = SLICE_EMPTY;
    size_t slash;
    *out = (struct object_name){.key = SLICE_EMPTY};
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
        size_t len = strlen(schemes[i].mark);
        if (strncmp(text, schemes[i].mark, len) == 0) {
            out->scheme = schemes[i].scheme;
            rest = slice_str(text + len);
        }
    }
    slash = slice_find_byte(rest, '/');
    out->place = slice_sub(rest, 0, slash);
    out->key = slice_sub(rest, slash + 1, rest.len);
    if (!is_place(out->place, out->scheme != OBJECT_S3))
        return err_set(err, ERR_INVALID,
                       "%s: not s3://BUCKET/KEY, nor http(s)://HOST/PATH",
                       text);
    if (out->place.len > OBJECT_PLACE_BYTES_MAX ||
        out->key.len > OBJECT_KEY_BYTES_MAX)
        return err_set(err, ERR_TOOBIG,
                       "%.80s…: over %d bytes of bucket or host, or %d of key",
                       text, OBJECT_PLACE_BYTES_MAX, OBJECT_KEY_BYTES_MAX);
    return 0;
}

void object_put_encoded(struct buf *out, struct slice s, bool slashes)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.data[i];
        if (is_letter_or_digit((char)c) || c == '-' || c == '.' || c == '_' ||
            c == '~' || (c == '/' && slashes)) {
            buf_append_byte(out, (char)c);
            continue;
        }
        buf_append_byte(out, '%');
        buf_append_byte(out, digits[c >> 4]);
        buf_append_byte(out, digits[c & 15]);
    }
}

void object_put_decoded(struct buf *out, struct slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c;
        if (s.data[i] == '%' && i + 2 < s.len &&
            hex_decode(s.data + i + 1, 1, &c)) {
            buf_append_byte(out, (char)c);
            i += 2;
        } else {
            /* Servers that encode keys of lists write a blank as a plus. */
            buf_append_byte(out, s.data[i] == '+' ? ' ' : s.data[i]);
        }
    }
}
