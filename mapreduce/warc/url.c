/* URIs: split, resolved, normalised, turned into row keys. Resolution is RFC
 * 3986; everything it forbids but crawls contain is treated as browsers do. */
#include "mapreduce/warc/url.h"

#include <string.h>

#include "base/core/panic.h"
#include "mapreduce/warc/archived_http.h"

static bool is_alpha(char c)
{
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* --- parts --------------------------------------------------------------- */

static size_t scheme_length(struct slice s)
{
    size_t n = 0;
    if (s.len == 0 || !is_alpha(s.data[0]))
        return 0;
    while (n < s.len &&
           (is_alpha(s.data[n]) || is_digit(s.data[n]) || s.data[n] == '+' ||
            s.data[n] == '-' || s.data[n] == '.'))
        n++;
    return n < s.len && s.data[n] == ':' ? n : 0;
}

static void split_authority(struct slice a, struct url *u)
{
    size_t at = a.len;
    size_t colon;
    while (at > 0 && a.data[at - 1] != '@')
        at--;
    if (at > 0) {
        u->userinfo = slice_sub(a, 0, at - 1);
        a = slice_sub(a, at, a.len);
    }
    colon = a.len;
    while (colon > 0 && is_digit(a.data[colon - 1]))
        colon--;
    if (colon > 0 && a.data[colon - 1] == ':') {
        u->port = slice_sub(a, colon, a.len);
        a = slice_sub(a, 0, colon - 1);
    }
    u->host = a;
}

void url_split(struct slice s, struct url *u)
{
    size_t n = scheme_length(s);
    size_t i;
    *u = (struct url){
        SLICE_EMPTY, SLICE_EMPTY, SLICE_EMPTY, SLICE_EMPTY, SLICE_EMPTY,
        SLICE_EMPTY, SLICE_EMPTY, false,       false,       false,
    };
    if (n) {
        u->scheme = slice_sub(s, 0, n);
        s = slice_sub(s, n + 1, s.len);
    }
    i = slice_find_byte(s, '#');
    if (i < s.len) {
        u->fragment = slice_sub(s, i + 1, s.len);
        u->has_fragment = true;
        s = slice_sub(s, 0, i);
    }
    i = slice_find_byte(s, '?');
    if (i < s.len) {
        u->query = slice_sub(s, i + 1, s.len);
        u->has_query = true;
        s = slice_sub(s, 0, i);
    }
    if (s.len >= 2 && s.data[0] == '/' && s.data[1] == '/') {
        s = slice_sub(s, 2, s.len);
        i = slice_find_byte(s, '/');
        split_authority(slice_sub(s, 0, i), u);
        u->has_authority = true;
        s = slice_sub(s, i, s.len);
    }
    u->path = s;
}

void url_join(const struct url *u, struct buf *out)
{
    if (u->scheme.len) {
        buf_append_slice(out, u->scheme);
        buf_append_byte(out, ':');
    }
    if (u->has_authority) {
        buf_append_str(out, "//");
        if (u->userinfo.len) {
            buf_append_slice(out, u->userinfo);
            buf_append_byte(out, '@');
        }
        buf_append_slice(out, u->host);
        if (u->port.len) {
            buf_append_byte(out, ':');
            buf_append_slice(out, u->port);
        }
    }
    buf_append_slice(out, u->path);
    if (u->has_query) {
        buf_append_byte(out, '?');
        buf_append_slice(out, u->query);
    }
    if (u->has_fragment) {
        buf_append_byte(out, '#');
        buf_append_slice(out, u->fragment);
    }
}

/* --- resolution ---------------------------------------------------------- */

/* Drop "." and ".." segments from the path @b[from..] in place (RFC 3986,
 * 5.2.4). Bytes before @from stay untouched. */
static void remove_dots(struct buf *b, size_t from)
{
    PRE(from <= b->len);
    size_t root = from + (b->len > from && b->data[from] == '/');
    size_t to = root;
    size_t i = root;
    while (i < b->len) {
        const char *slash = memchr(b->data + i, '/', b->len - i);
        size_t next = slash ? (size_t)(slash - b->data) + 1 : b->len;
        size_t n = next - i - (slash != NULL);
        const char *seg = b->data + i;
        if (n == 2 && seg[0] == '.' && seg[1] == '.') {
            to -= to > root; /* The '/' that ends the segment before. */
            while (to > root && b->data[to - 1] != '/')
                to--;
        } else if (n != 1 || seg[0] != '.') {
            memmove(b->data + to, seg, next - i);
            to += next - i;
        }
        i = next;
    }
    b->len = to;
}

static bool has_dot_segment(struct slice path)
{
    for (size_t i = 0; i + 1 < path.len; i++)
        if (path.data[i] == '/' && path.data[i + 1] == '.')
            return true;
    return path.len && path.data[0] == '.';
}

static void append_path(struct buf *out, struct slice path)
{
    size_t from = out->len;
    buf_append_slice(out, path);
    if (has_dot_segment(path))
        remove_dots(out, from);
}

/* Base path up to its last '/', then the reference's. */
static void
append_merged(struct buf *out, const struct url *base, struct slice ref)
{
    size_t from = out->len;
    size_t n = base->path.len;
    while (n > 0 && base->path.data[n - 1] != '/')
        n--;
    if (base->has_authority && base->path.len == 0)
        buf_append_byte(out, '/');
    buf_append_slice(out, slice_sub(base->path, 0, n));
    buf_append_slice(out, ref);
    if (has_dot_segment(slice_sub(buf_slice(out), from, out->len)))
        remove_dots(out, from);
}

static void
append_origin(struct buf *out, struct slice scheme, const struct url *authority)
{
    struct url u = *authority;
    u.scheme = scheme;
    u.path = SLICE_EMPTY;
    u.has_query = u.has_fragment = false;
    url_join(&u, out);
}

void url_resolve(const struct url *base, struct slice ref, struct buf *out)
{
    struct url r;
    struct url tail = {.path = SLICE_EMPTY};
    url_split(ref, &r);
    append_origin(out, r.scheme.len ? r.scheme : base->scheme,
                  r.scheme.len || r.has_authority ? &r : base);
    tail.query = r.query;
    tail.has_query = r.has_query;
    tail.fragment = r.fragment;
    tail.has_fragment = r.has_fragment;
    if (r.scheme.len || r.has_authority ||
        (r.path.len && r.path.data[0] == '/')) {
        append_path(out, r.path);
    } else if (r.path.len) {
        append_merged(out, base, r.path);
    } else {
        buf_append_slice(out, base->path);
        if (!r.has_query) {
            tail.query = base->query;
            tail.has_query = base->has_query;
        }
    }
    url_join(&tail, out);
}

/* --- one form ------------------------------------------------------------ */

static void append_lower(struct buf *out, struct slice s)
{
    char *p = buf_extend(out, s.len);
    for (size_t i = 0; i < s.len; i++)
        p[i] = (char)(s.data[i] >= 'A' && s.data[i] <= 'Z' ? s.data[i] | 0x20
                                                           : s.data[i]);
}

/* Bytes that browsers escape in paths and queries. */
static bool must_escape(unsigned char c)
{
    return c <= 0x20 || c >= 0x7f || c == '"' || c == '<' || c == '>' ||
           c == '`';
}

static void append_escaped(struct buf *out, struct slice s)
{
    static const char hex[] = "0123456789ABCDEF";
    size_t done = 0;
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.data[i];
        if (LIKELY(!must_escape(c)))
            continue;
        buf_append(out, s.data + done, i - done);
        done = i + 1;
        buf_append_byte(out, '%');
        buf_append_byte(out, hex[c >> 4]);
        buf_append_byte(out, hex[c & 15]);
    }
    buf_append(out, s.data + done, s.len - done);
}

/* A copy of @s in @clean without tabs and line ends, if it has any. */
static struct slice without_breaks(struct slice s, struct buf *clean)
{
    size_t i = 0;
    while (i < s.len && s.data[i] != '\t' && s.data[i] != '\n' &&
           s.data[i] != '\r')
        i++;
    if (i == s.len)
        return s;
    buf_clear(clean);
    for (i = 0; i < s.len; i++)
        if (s.data[i] != '\t' && s.data[i] != '\n' && s.data[i] != '\r')
            buf_append_byte(clean, s.data[i]);
    return buf_slice(clean);
}

static struct slice trim_controls(struct slice s)
{
    while (s.len && (unsigned char)s.data[0] <= ' ')
        s = slice_sub(s, 1, s.len);
    while (s.len && (unsigned char)s.data[s.len - 1] <= ' ')
        s = slice_sub(s, 0, s.len - 1);
    return s;
}

static const struct {
    const char *scheme;
    const char *port;
} default_ports[] = {
    {"http", "80"}, {"https", "443"}, {"ftp", "21"},
    {"ws", "80"},   {"wss", "443"},   {"gopher", "70"},
};

static bool is_default_port(struct slice scheme, struct slice port)
{
    while (port.len > 1 && port.data[0] == '0')
        port = slice_sub(port, 1, port.len);
    for (size_t i = 0; i < ARRAY_LEN(default_ports); i++)
        if (http_slice_is(scheme, default_ports[i].scheme))
            return slice_eq_str(port, default_ports[i].port);
    return false;
}

static bool is_good_host(struct slice h)
{
    for (size_t i = 0; i < h.len; i++) {
        unsigned char c = (unsigned char)h.data[i];
        if (c <= ' ' || c == 0x7f || c == '/' || c == '\\' || c == '<' ||
            c == '>' || c == '"' || c == '?' || c == '#' ||
            (c == ':' && h.data[0] != '['))
            return false;
    }
    return h.len > 0;
}

/* "file:///path": a URI with an authority that may be empty. */
static bool has_no_host(const struct url *u)
{
    return u->has_authority && u->host.len == 0 && u->userinfo.len == 0 &&
           u->port.len == 0 && http_slice_is(u->scheme, "file");
}

static void append_authority(const struct url *u, struct buf *out)
{
    struct slice host = u->host;
    while (host.len > 1 && host.data[host.len - 1] == '.')
        host = slice_sub(host, 0, host.len - 1);
    buf_append_str(out, "//");
    if (u->userinfo.len) {
        append_escaped(out, u->userinfo);
        buf_append_byte(out, '@');
    }
    append_lower(out, host);
    if (u->port.len && !is_default_port(u->scheme, u->port)) {
        buf_append_byte(out, ':');
        buf_append_slice(out, u->port);
    }
}

bool url_normalise(struct slice s, struct buf *out)
{
    struct buf clean = BUF_INIT;
    size_t start = out->len;
    struct url u;
    bool ok;
    s = without_breaks(trim_controls(s), &clean);
    url_split(s, &u);
    ok = u.scheme.len && s.len <= URL_BYTES_MAX &&
         (!u.has_authority || is_good_host(u.host) || has_no_host(&u));
    if (ok) {
        append_lower(out, u.scheme);
        buf_append_byte(out, ':');
        if (u.has_authority) {
            append_authority(&u, out);
            if (u.path.len == 0) {
                buf_append_byte(out, '/');
            } else {
                size_t from = out->len;
                append_escaped(out, u.path);
                if (has_dot_segment(u.path))
                    remove_dots(out, from);
            }
        } else {
            append_escaped(out, u.path);
        }
        if (u.has_query) {
            buf_append_byte(out, '?');
            append_escaped(out, u.query);
        }
        ok = out->len - start <= URL_BYTES_MAX;
    }
    if (!ok)
        out->len = start;
    buf_close(&clean);
    return ok;
}

/* --- row keys ------------------------------------------------------------ */

bool url_escape_whole(struct slice s, struct buf *out)
{
    struct buf clean = BUF_INIT;
    size_t start = out->len;
    struct url u;
    bool ok;
    s = without_breaks(trim_controls(s), &clean);
    url_split(s, &u);
    ok = u.scheme.len && s.len > u.scheme.len + 1 && s.len <= URL_BYTES_MAX;
    if (ok)
        append_escaped(out, s);
    if (out->len - start > URL_BYTES_MAX) {
        out->len = start;
        ok = false;
    }
    buf_close(&clean);
    return ok;
}

bool url_is_ip(struct slice host)
{
    size_t dots = 0;
    if (host.len && host.data[0] == '[')
        return true;
    for (size_t i = 0; i < host.len; i++) {
        if (host.data[i] == '.')
            dots++;
        else if (!is_digit(host.data[i]))
            return false;
    }
    return dots == 3;
}

void url_reverse_host(struct slice host, struct buf *out)
{
    size_t end = host.len;
    if (url_is_ip(host)) {
        buf_append_slice(out, host);
        return;
    }
    buf_reserve(out, host.len + 1);
    for (size_t i = host.len; i-- > 0;) {
        if (host.data[i] != '.')
            continue;
        buf_append(out, host.data + i + 1, end - i - 1);
        buf_append_byte(out, '.');
        end = i;
    }
    buf_append(out, host.data, end);
}

bool url_row_key(struct slice normalised, struct buf *out)
{
    struct url u;
    bool web;
    url_split(normalised, &u);
    if (!u.scheme.len)
        return false;
    if (!u.has_authority || has_no_host(&u)) {
        if (!slice_eq_str(u.scheme, "dns") || !is_good_host(u.path)) {
            buf_append_slice(out, normalised);
            return true;
        }
        url_reverse_host(u.path, out);
        buf_append_str(out, ":dns");
        return true;
    }
    web = slice_eq_str(u.scheme, "http") || slice_eq_str(u.scheme, "https");
    url_reverse_host(u.host, out);
    if (!web) {
        buf_append_byte(out, ':');
        buf_append_slice(out, u.scheme);
    }
    if (u.port.len) {
        buf_append_byte(out, ':');
        buf_append_slice(out, u.port);
    }
    buf_append_slice(out, u.path);
    if (u.has_query) {
        buf_append_byte(out, '?');
        buf_append_slice(out, u.query);
    }
    return true;
}

bool url_key(struct slice uri, struct buf *out)
{
    struct buf norm = BUF_INIT;
    bool ok = url_normalise(uri, &norm) && url_row_key(buf_slice(&norm), out);
    buf_close(&norm);
    return ok;
}

struct slice url_key_host(struct slice key)
{
    size_t n = 0;
    if (key.len && key.data[0] == '[')
        n = slice_find_byte(key, ']');
    while (n < key.len && key.data[n] != '/' && key.data[n] != ':' &&
           key.data[n] != '?')
        n++;
    return slice_sub(key, 0, n);
}

/* ":ftp" or ":8080" at the start of *@s, without its colon, cut off. */
static struct slice take_colon_part(struct slice *s)
{
    struct slice part;
    size_t n = 1;
    if (s->len == 0 || s->data[0] != ':')
        return SLICE_EMPTY;
    while (n < s->len && s->data[n] != ':' && s->data[n] != '/' &&
           s->data[n] != '?')
        n++;
    part = slice_sub(*s, 1, n);
    *s = slice_sub(*s, n, s->len);
    return part;
}

/* @key put together again, whether or not it is a valid URI. */
static void guess_uri(struct slice key, struct buf *out)
{
    struct slice host = url_key_host(key);
    struct slice rest = slice_sub(key, host.len, key.len);
    struct slice scheme = take_colon_part(&rest);
    struct slice port = SLICE_EMPTY;
    if (scheme.len && is_digit(scheme.data[0])) {
        port = scheme;
        scheme = SLICE_LIT("http");
    } else if (scheme.len == 0) {
        scheme = SLICE_LIT("http");
    } else {
        port = take_colon_part(&rest);
    }
    buf_printf(out, "%.*s:%s", SLICE_ARG(scheme),
               slice_eq_str(scheme, "dns") ? "" : "//");
    url_reverse_host(host, out);
    if (port.len)
        buf_printf(out, ":%.*s", SLICE_ARG(port));
    buf_append_slice(out, rest);
}

void url_of_row_key(struct slice key, struct buf *out)
{
    struct buf back = BUF_INIT;
    size_t start = out->len;
    guess_uri(key, out);
    /* "urn:x:y" and "mailto:a@b" are their own keys. */
    if (!url_key(slice_make(out->data + start, out->len - start), &back) ||
        !slice_eq(buf_slice(&back), key)) {
        out->len = start;
        buf_append_slice(out, key);
    }
    buf_close(&back);
}
