/* Bodies of requests as queries, to the byte as pywb writes them: archives and
 * their indexes are made by its rules. */
#include "mapreduce/warc/method_query.h"

#include <string.h>
#include <strings.h>

#include "base/core/base64.h"
#include "base/core/hex.h"
#include "base/core/macros.h"
#include "base/core/text.h"
#include "mapreduce/warc/archived_http.h"
#include "mapreduce/warc/json_query.h"

#define MARK      "__wb_method="
#define POST_DATA "__wb_post_data="
/* Longer boundaries are none (RFC 2046: 70). */
#define BOUNDARY_BYTES_MAX 200

bool method_is_other(struct slice method)
{
    return method.len && !slice_eq_str(method, "GET");
}

/* --- forms --------------------------------------------------------------- */

/* Append the bytes that @s stands for in a form. */
static void put_unescaped(struct slice s, struct buf *out)
{
    for (size_t i = 0; i < s.len; i++) {
        int high = i + 2 < s.len ? hex_value(s.data[i + 1]) : -1;
        int low = i + 2 < s.len ? hex_value(s.data[i + 2]) : -1;
        if (s.data[i] == '%' && high >= 0 && low >= 0) {
            buf_append_byte(out, (char)(high * 16 + low));
            i += 2;
        } else {
            buf_append_byte(out, s.data[i] == '+' ? ' ' : s.data[i]);
        }
    }
}

/* The bytes from @p on that U+FFFD stands for together: the longest beginning
 * of a character (Unicode, 3.9: maximal subparts), else one. */
static size_t broken_length(const char *p, const char *end)
{
    unsigned char c = (unsigned char)*p;
    size_t want = 2u + (c >= 0xe0) + (c >= 0xf0);
    unsigned char low = 0x80;
    unsigned char high = 0xbf;
    size_t n = 1;
    if (c == 0xe0 || c == 0xf0)
        low = c == 0xe0 ? 0xa0 : 0x90;
    if (c == 0xed || c == 0xf4)
        high = c == 0xed ? 0x9f : 0x8f;
    if (c < 0xc2 || c > 0xf4)
        return 1;
    for (; n < want && p + n < end; n++) {
        unsigned char next = (unsigned char)p[n];
        if (next < (n == 1 ? low : 0x80) || next > (n == 1 ? high : 0xbf))
            break;
    }
    return n;
}

/* Append @s with U+FFFD for what is no UTF-8. */
static void put_utf8(struct slice s, struct buf *out)
{
    const char *end = s.data + s.len;
    for (const char *p = s.data; p < end;) {
        char bytes[4];
        uint32_t code;
        size_t n = utf8_decode(p, end, &code);
        if (n == 1 && (unsigned char)*p >= 0x80)
            n = broken_length(p, end);
        p += n;
        buf_append(out, bytes, utf8_encode(bytes, code));
    }
}

static void put_binary(struct slice body, struct buf *out)
{
    buf_append_str(out, POST_DATA);
    /* As much as can be in the query, of whole groups. */
    base64_put(out, slice_sub(body, 0, METHOD_QUERY_MAX / 4 * 3 + 3));
}

static void put_form(struct slice body, struct buf *out)
{
    struct buf plain = BUF_INIT;
    if (!utf8_valid(body)) {
        put_binary(body, out);
        return;
    }
    put_unescaped(body, &plain);
    put_utf8(buf_slice(&plain), out);
    buf_close(&plain);
}

/* --- multipart ----------------------------------------------------------- */

/* The value of the parameter @name of a header, its quotes taken off. */
static struct slice header_parameter(struct slice header, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i + n < header.len; i++) {
        struct slice rest = slice_sub(header, i + n, header.len);
        char before = i ? header.data[i - 1] : ';';
        if (strncasecmp(header.data + i, name, n) != 0 || rest.data[0] != '=' ||
            !strchr("; \t", before))
            continue;
        rest = slice_sub(rest, 1, rest.len);
        if (slice_starts_with(rest, SLICE_LIT("\""))) {
            rest = slice_sub(rest, 1, rest.len);
            return slice_sub(rest, 0, slice_find_byte(rest, '"'));
        }
        return slice_trim(slice_sub(rest, 0, slice_find_byte(rest, ';')));
    }
    return SLICE_EMPTY;
}

/* Where @what begins in @s; its length: nowhere. */
static size_t find_text(struct slice s, struct slice what)
{
    for (size_t i = 0; i + what.len <= s.len; i++) {
        i += slice_find_byte(slice_sub(s, i, s.len), what.data[0]);
        if (i + what.len <= s.len &&
            memcmp(s.data + i, what.data, what.len) == 0)
            return i;
    }
    return s.len;
}

/* The length of the part's head at the front of @part, with its blank line; 0:
 * it has none. */
static size_t head_length(struct slice part)
{
    size_t n = find_text(part, SLICE_LIT("\r\n\r\n"));
    if (n < part.len)
        return n + 4;
    n = find_text(part, SLICE_LIT("\n\n"));
    return n < part.len ? n + 2 : 0;
}

static void put_part(struct slice part, size_t began, struct buf *out)
{
    size_t n = head_length(part);
    struct slice head = slice_sub(part, 0, n);
    struct slice value = slice_sub(part, n, part.len);
    size_t at = find_text(head, SLICE_LIT("isposition:"));
    if (n == 0 || at == head.len)
        return;
    head = slice_sub(head, at, head.len);
    head = slice_sub(head, 0, slice_find_byte(head, '\n'));
    if (out->len > began)
        buf_append_byte(out, '&');
    json_query_escape(header_parameter(head, "name"), out);
    buf_append_byte(out, '=');
    json_query_escape(value, out);
}

static void put_multipart(struct slice type, struct slice body, struct buf *out)
{
    struct slice name = header_parameter(type, "boundary");
    struct buf line = BUF_INIT;
    size_t began = out->len;
    struct slice rest = body;
    if (name.len == 0 || name.len > BOUNDARY_BYTES_MAX) {
        put_binary(body, out);
        return;
    }
    buf_printf(&line, "--%.*s", SLICE_ARG(name));
    rest =
        slice_sub(rest, find_text(rest, buf_slice(&line)) + line.len, rest.len);
    while (rest.len && !slice_starts_with(rest, SLICE_LIT("--")) &&
           out->len - began < METHOD_QUERY_MAX) {
        size_t n = find_text(rest, buf_slice(&line));
        struct slice part = slice_sub(rest, slice_find_byte(rest, '\n') + 1, n);
        /* The line's end before the boundary is of the boundary. */
        for (const char *p = "\n\r"; *p; p++)
            if (part.len && part.data[part.len - 1] == *p)
                part = slice_sub(part, 0, part.len - 1);
        put_part(part, began, out);
        rest = slice_sub(rest, n + line.len, rest.len);
    }
    buf_close(&line);
}

/* --- the query ----------------------------------------------------------- */

/* Drop what is behind the first METHOD_QUERY_MAX characters from @began on. */
static void cut_query(struct buf *out, size_t began)
{
    const char *end = out->data + out->len;
    const char *p = out->data + began;
    for (size_t n = 0; p < end && n < METHOD_QUERY_MAX; n++) {
        uint32_t code;
        p += utf8_decode(p, end, &code);
    }
    out->len = (size_t)(p - out->data);
}

void method_query_put(struct slice method,
                      struct slice type,
                      struct slice body,
                      struct buf *out)
{
    struct slice media = http_media_type(type);
    size_t began = out->len;
    if ((!slice_eq_str(method, "POST") && !slice_eq_str(method, "PUT")) ||
        body.len == 0)
        return;
    if (http_slice_is(media, "application/x-www-form-urlencoded"))
        put_form(body, out);
    else if (media.len > 10 && strncasecmp(media.data, "multipart/", 10) == 0)
        put_multipart(type, body, out);
    else if (http_slice_is(media, "application/json"))
        (void)json_query_put(body, METHOD_QUERY_MAX, out);
    else if (!http_slice_is(media, "text/plain") ||
             !json_query_put(body, METHOD_QUERY_MAX, out))
        put_binary(body, out);
    if (out->len > began)
        cut_query(out, began);
}

void method_query_url(struct slice url,
                      struct slice method,
                      struct slice query,
                      struct buf *out)
{
    buf_append_slice(out, url);
    buf_append_byte(out, slice_find_byte(url, '?') < url.len ? '&' : '?');
    buf_printf(out, MARK "%.*s", SLICE_ARG(method));
    if (query.len) {
        buf_append_byte(out, '&');
        buf_append_slice(out, query);
    }
}

struct slice method_query_of(struct slice url)
{
    size_t at = slice_find_byte(url, '?');
    while (at < url.len) {
        struct slice rest = slice_sub(url, at + 1, url.len);
        size_t n = slice_find_byte(rest, '&');
        if (slice_starts_with(rest, SLICE_LIT(MARK)))
            return slice_sub(rest, strlen(MARK), n);
        at += n + 1;
    }
    return SLICE_EMPTY;
}
