/* The sort key of web archives' indexes. Follows the canonicaliser of the
 * Internet Archive step by step, since a lookup fails if one rule differs. */
#include "mapreduce/warc/surt.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/hex.h"
#include "base/core/panic.h"
#include "mapreduce/warc/archived_http.h"
#include "mapreduce/warc/url.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* --- escapes ------------------------------------------------------------- */

/* Decode %xx until there is none left, in place: escapes of escapes too. Each
 * round shortens the text, and examines only what the last one changed. */
static void surt_unescape(struct buf *b, size_t from)
{
    PRE(from <= b->len);
    size_t to = from;
    for (size_t i = from; i < b->len; i++) {
        b->data[to++] = b->data[i];
        /* A '%' may just have become complete, by the byte it was decoded to.
         */
        while (to >= from + 3 && b->data[to - 3] == '%' &&
               hex_value(b->data[to - 2]) >= 0 &&
               hex_value(b->data[to - 1]) >= 0) {
            b->data[to - 3] = (char)(hex_value(b->data[to - 2]) << 4 |
                                     hex_value(b->data[to - 1]));
            to -= 2;
        }
    }
    b->len = to;
}

static void surt_escape(struct buf *b, size_t from)
{
    static const char digits[] = "0123456789ABCDEF";
    struct buf out = BUF_INIT;
    for (size_t i = from; i < b->len; i++) {
        unsigned char c = (unsigned char)b->data[i];
        if (c > 0x20 && c < 0x7f && c != '#' && c != '%') {
            buf_append_byte(&out, (char)c);
            continue;
        }
        buf_append_byte(&out, '%');
        buf_append_byte(&out, digits[c >> 4]);
        buf_append_byte(&out, digits[c & 15]);
    }
    b->len = from;
    buf_append_slice(b, buf_slice(&out));
    buf_close(&out);
}

static void surt_lower(struct buf *b, size_t from)
{
    for (size_t i = from; i < b->len; i++)
        if (b->data[i] >= 'A' && b->data[i] <= 'Z')
            b->data[i] = (char)(b->data[i] | 0x20);
}

/* --- session ids --------------------------------------------------------- */

static size_t run_of(struct slice s, size_t at, bool letters_only)
{
    size_t n = at;
    while (n < s.len &&
           (((s.data[n] | 0x20) >= 'a' && (s.data[n] | 0x20) <= 'z') ||
            (!letters_only && is_digit(s.data[n]))))
        n++;
    return n - at;
}

enum session {
    SESSION_JAVA,
    SESSION_PHP,
    SESSION_SID,
    SESSION_ASP,
    SESSION_COLDFUSION,
    SESSION_COUNT
};

/* "cfid=…&cftoken=…" at the start of @s. */
static size_t coldfusion_length(struct slice s)
{
    size_t n;
    size_t value;
    if (!http_slice_is(slice_sub(s, 0, 5), "cfid="))
        return 0;
    n = slice_find_byte(s, '&');
    if (n == 5 || !http_slice_is(slice_sub(s, n + 1, n + 9), "cftoken="))
        return 0;
    value = n + 9;
    n = value + slice_find_byte(slice_sub(s, value, s.len), '&');
    return n > value ? n : 0;
}

/* Length of the session argument of @kind at the start of @s ("sid=" and 32
 * characters, …), 0 when there is none. */
static size_t session_length(struct slice s, enum session kind)
{
    static const char *const names[] = {"jsessionid=", "phpsessid=", "sid="};
    size_t n;
    if (kind == SESSION_COLDFUSION)
        return coldfusion_length(s);
    if (kind == SESSION_ASP)
        return http_slice_is(slice_sub(s, 0, 12), "aspsessionid") &&
                       run_of(s, 12, true) == 8 && s.len > 20 &&
                       s.data[20] == '=' && run_of(s, 21, true) >= 24
                   ? 21 + 24
                   : 0;
    n = strlen(names[kind]);
    return http_slice_is(slice_sub(s, 0, n), names[kind]) &&
                   run_of(s, n, false) >= 32
               ? n + 32
               : 0;
}

/* Drop the last session argument of each kind from the query @b[from..]. */
static void strip_query_session(struct buf *b, size_t from)
{
    for (int kind = 0; kind < SESSION_COUNT; kind++) {
        for (size_t i = b->len; i-- > from;) {
            struct slice s = slice_sub(buf_slice(b), i, b->len);
            size_t n = session_length(s, (enum session)kind);
            if (n == 0 || (n < s.len && s.data[n] != '&'))
                continue;
            n += n < s.len; /* The '&' after it. */
            memmove(b->data + i, b->data + i + n, b->len - i - n);
            b->len -= n;
            break;
        }
    }
}

/* Drop ";jsessionid=…" from the end of the path @b[from..]. */
static void strip_path_session(struct buf *b, size_t from)
{
    for (size_t i = from; i < b->len; i++) {
        struct slice s = slice_sub(buf_slice(b), i, b->len);
        size_t n;
        if (b->data[i] != ';')
            continue;
        s = slice_sub(s, 1, s.len);
        n = http_slice_is(slice_sub(s, 0, 11), "jsessionid=")
                ? session_length(s, SESSION_JAVA)
                : 0;
        if (n == 0 || n != s.len)
            continue;
        b->len = i;
        return;
    }
}

/* Drop "(24 characters)/" of ASP.NET from the path @b[from..]. */
static void strip_aspx_session(struct buf *b, size_t from)
{
    struct slice s = slice_sub(buf_slice(b), from, b->len);
    bool aspx = false;
    for (size_t i = 0; i + 5 <= s.len; i++)
        aspx |= http_slice_is(slice_sub(s, i, i + 5), ".aspx");
    for (size_t i = 0; aspx && i + 27 <= s.len; i++) {
        size_t k = i + 1;
        if (s.data[i] != '(' || i == 0 || s.data[i - 1] != '/')
            continue;
        if (run_of(s, k, false) != 24) {
            /* "(A(24 characters)F(…))/" */
            while (k + 26 <= s.len && run_of(s, k, true) == 1 &&
                   s.data[k + 1] == '(' && run_of(s, k + 2, false) == 24 &&
                   s.data[k + 26] == ')')
                k += 27;
        } else {
            k += 24;
        }
        if (k == i + 1 || k + 1 >= s.len || s.data[k] != ')' ||
            s.data[k + 1] != '/')
            continue;
        memmove(b->data + from + i, b->data + from + k + 2, s.len - k - 2);
        b->len -= k + 2 - i;
        return;
    }
}

/* --- parts --------------------------------------------------------------- */

static void put_host(struct slice host, struct buf *out)
{
    struct buf h = BUF_INIT;
    size_t end;
    size_t start = 0;
    buf_append_slice(&h, host);
    buf_reserve(&h, 1); /* Allocates, even for no host. */
    surt_unescape(&h, 0);
    surt_lower(&h, 0);
    while (h.len && h.data[h.len - 1] == '.')
        h.len--;
    if (h.len > 4 && memcmp(h.data, "www", 3) == 0) {
        size_t n = 3;
        while (n < h.len && is_digit(h.data[n]))
            n++;
        if (n < h.len && h.data[n] == '.')
            start = n + 1;
    }
    end = h.len;
    if (url_is_ip(slice_sub(buf_slice(&h), start, h.len))) {
        buf_append(out, h.data + start, h.len - start);
        end = start;
    } else {
        for (size_t i = h.len; i-- > start;) {
            if (h.data[i] != '.')
                continue;
            if (end > i + 1) {
                buf_append(out, h.data + i + 1, end - i - 1);
                buf_append_byte(out, ',');
            }
            end = i;
        }
        buf_append(out, h.data + start, end - start);
    }
    buf_close(&h);
}

/* Resolve dot segments and collapse slashes of @b[from..] in place. */
static void tidy_path(struct buf *b, size_t from)
{
    PRE(from <= b->len);
    size_t to = from;
    size_t i = from;
    while (i < b->len) {
        size_t n = i;
        size_t len;
        while (n < b->len && b->data[n] != '/')
            n++;
        len = n - i;
        if (len == 2 && b->data[i] == '.' && b->data[i + 1] == '.') {
            to -= to > from; /* The '/' before. */
            while (to > from && b->data[to - 1] != '/')
                to--;
        } else if (len && !(len == 1 && b->data[i] == '.')) {
            memmove(b->data + to, b->data + i, len);
            to += len;
            if (n < b->len)
                b->data[to++] = '/';
        }
        i = n + 1;
    }
    b->len = to;
}

static void put_path(struct slice path, struct buf *out)
{
    size_t from;
    buf_append_byte(out, '/');
    from = out->len;
    buf_append_slice(out, path.len ? slice_sub(path, 1, path.len) : path);
    surt_unescape(out, from);
    tidy_path(out, from);
    surt_escape(out, from);
    surt_lower(out, from);
    strip_path_session(out, from);
    strip_aspx_session(out, from - 1);
    if (out->len > from && out->data[out->len - 1] == '/')
        out->len--;
}

/* By name, then value; an argument without '=' before one with an empty value.
 */
static int by_argument(const void *a, const void *b)
{
    struct slice x = *(const struct slice *)a;
    struct slice y = *(const struct slice *)b;
    size_t m = slice_find_byte(x, '=');
    size_t n = slice_find_byte(y, '=');
    int c = slice_cmp(slice_sub(x, 0, m), slice_sub(y, 0, n));
    return c ? c : slice_cmp(slice_sub(x, m, x.len), slice_sub(y, n, y.len));
}

static void put_query(struct slice query, struct buf *out)
{
    struct buf q = BUF_INIT;
    struct slice *args;
    struct slice rest;
    size_t count = 1;
    buf_append_slice(&q, query);
    surt_unescape(&q, 0);
    surt_escape(&q, 0);
    surt_lower(&q, 0);
    strip_query_session(&q, 0);
    for (size_t i = 0; i < q.len; i++)
        count += q.data[i] == '&';
    args = mem_alloc(count * sizeof(*args));
    rest = buf_slice(&q);
    for (size_t i = 0; i < count; i++) {
        size_t n = slice_find_byte(rest, '&');
        args[i] = slice_sub(rest, 0, n);
        rest = slice_sub(rest, n + 1, rest.len);
    }
    qsort(args, count, sizeof(*args), by_argument);
    for (size_t i = 0; i < count && q.len; i++) {
        buf_append_byte(out, i ? '&' : '?');
        buf_append_slice(out, args[i]);
    }
    mem_free(args);
    buf_close(&q);
}

static bool is_opaque(struct slice scheme)
{
    static const char *const schemes[] = {"dns",    "warcinfo", "filedesc",
                                          "mailto", "urn",      "metadata",
                                          "whois",  "data",     "javascript"};
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        if (http_slice_is(scheme, schemes[i]))
            return true;
    return false;
}

void surt_key(struct slice uri, struct buf *out)
{
    struct buf clean = BUF_INIT;
    struct url u;
    uri = slice_trim(uri);
    for (size_t i = 0; i < uri.len; i++)
        if (uri.data[i] != '\t' && uri.data[i] != '\r' && uri.data[i] != '\n')
            buf_append_byte(&clean, uri.data[i]);
    url_split(buf_slice(&clean), &u);
    if (!u.has_authority && is_opaque(u.scheme)) {
        buf_append_slice(out, buf_slice(&clean));
        buf_close(&clean);
        return;
    }
    if (!u.has_authority) {
        struct buf http = BUF_INIT;
        buf_append_str(&http, "http://");
        buf_append_slice(&http, buf_slice(&clean));
        buf_close(&clean);
        clean = http;
        url_split(buf_slice(&clean), &u);
    }
    put_host(u.host, out);
    if (u.port.len &&
        !slice_eq_str(u.port, http_slice_is(u.scheme, "https")  ? "443"
                              : http_slice_is(u.scheme, "http") ? "80"
                                                                : "")) {
        buf_append_byte(out, ':');
        buf_append_slice(out, u.port);
    }
    buf_append_byte(out, ')');
    put_path(u.path, out);
    if (u.query.len)
        put_query(u.query, out);
    buf_close(&clean);
}
