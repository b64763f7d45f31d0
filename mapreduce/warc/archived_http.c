/* Start line and headers of an HTTP message, read leniently: crawlers store
 * what servers sent, and servers send anything. Lines that are not headers stay
 * in the head alone. */
#include "mapreduce/warc/archived_http.h"

#include <string.h>

bool http_slice_is(struct slice s, const char *lower)
{
    size_t i = 0;
    for (; i < s.len; i++) {
        char c = s.data[i];
        if (c >= 'A' && c <= 'Z')
            c = (char)(c | 0x20);
        if (lower[i] == '\0' || c != lower[i])
            return false;
    }
    return lower[i] == '\0';
}

/* --- start line ---------------------------------------------------------- */

static struct slice warc_http_word(struct slice *s)
{
    size_t i = 0;
    size_t n;
    while (i < s->len && (s->data[i] == ' ' || s->data[i] == '\t'))
        i++;
    n = i;
    while (n < s->len && s->data[n] != ' ' && s->data[n] != '\t')
        n++;
    {
        struct slice w = slice_sub(*s, i, n);
        *s = slice_sub(*s, n, s->len);
        return w;
    }
}

static bool starts_http(struct slice s)
{
    return s.len >= 5 && http_slice_is(slice_sub(s, 0, 4), "http") &&
           (s.data[4] == '/' || s.data[4] == ' ');
}

/* "HTTP/1.1 200 OK", also without a reason or with an odd version. */
static bool status_line(struct slice line, struct http_message *m)
{
    struct slice code;
    if (!starts_http(line))
        return false;
    m->version = warc_http_word(&line);
    code = warc_http_word(&line);
    m->status = 0;
    for (size_t i = 0; i < code.len && i < 3; i++) {
        if (code.data[i] < '0' || code.data[i] > '9')
            break;
        m->status = m->status * 10 + (code.data[i] - '0');
    }
    m->reason = slice_trim(line);
    return true;
}

/* "GET /path HTTP/1.1" */
static bool request_line(struct slice line, struct http_message *m)
{
    size_t n = 0;
    size_t cut = line.len;
    while (n < line.len && line.data[n] >= 'A' && line.data[n] <= 'Z')
        n++;
    if (n < 3 || n > 20 || n == line.len || line.data[n] != ' ')
        return false;
    while (cut > n && line.data[cut - 1] != ' ')
        cut--;
    if (!starts_http(slice_sub(line, cut, line.len)))
        return false;
    m->is_request = true;
    m->method = slice_sub(line, 0, n);
    m->version = slice_sub(line, cut, line.len);
    m->target = slice_trim(slice_sub(line, n, cut));
    return true;
}

/* --- headers ------------------------------------------------------------- */

static bool take_line(struct slice *s, struct slice *line)
{
    size_t n = slice_find_byte(*s, '\n');
    bool ends = n < s->len;
    size_t end = n;
    while (end > 0 && s->data[end - 1] == '\r')
        end--;
    *line = slice_sub(*s, 0, end);
    *s = slice_sub(*s, ends ? n + 1 : n, s->len);
    return ends;
}

static void header_line(struct http_message *m, struct slice line)
{
    size_t colon = slice_find_byte(line, ':');
    if (line.data[0] == ' ' || line.data[0] == '\t' || colon == line.len ||
        colon == 0 || m->header_count == HTTP_HEADER_COUNT_MAX)
        return; /* Junk stays in the head alone. */
    m->headers[m->header_count++] = (struct http_header){
        slice_trim(slice_sub(line, 0, colon)),
        slice_trim(slice_sub(line, colon + 1, line.len)),
    };
}

static bool parse_one(struct slice block, struct http_message *m)
{
    struct slice rest = block;
    struct slice line;
    m->is_request = false;
    m->status = 0;
    m->version = m->reason = m->method = m->target = m->head = SLICE_EMPTY;
    m->raw_body = block;
    m->header_count = 0;
    if (!starts_http(block) &&
        !(block.len && block.data[0] >= 'A' && block.data[0] <= 'Z'))
        return false;
    take_line(&rest, &line);
    if (!status_line(line, m) && !request_line(line, m))
        return false;
    for (;;) {
        struct slice before = rest;
        bool ends = take_line(&rest, &line);
        if (line.len == 0) {
            m->head = slice_sub(block, 0, block.len - before.len);
            break;
        }
        header_line(m, line);
        if (!ends) {
            m->head = block;
            break;
        }
    }
    m->raw_body = rest;
    return true;
}

bool http_parse(struct slice block, struct http_message *m)
{
    bool ok = parse_one(block, m);
    /* Some crawlers keep interim answers ("100 Continue") before the final one.
     */
    while (ok && m->status >= 100 && m->status < 200 && m->status != 101 &&
           starts_http(m->raw_body)) {
        struct slice rest = m->raw_body;
        ok = parse_one(rest, m);
    }
    return ok;
}

static bool masked_name(struct slice s, const char *lower)
{
    static const char *const masks[] = {"x-crawl-", "x-crawler-"};
    for (size_t i = 0; i < 2; i++) {
        size_t n = strlen(masks[i]);
        if (s.len > n && http_slice_is(slice_sub(s, 0, n), masks[i]) &&
            http_slice_is(slice_sub(s, n, s.len), lower))
            return true;
    }
    return false;
}

bool http_header(const struct http_message *m,
                 const char *name,
                 struct slice *value)
{
    for (size_t i = 0; i < m->header_count; i++) {
        if (http_slice_is(m->headers[i].name, name)) {
            *value = m->headers[i].value;
            return true;
        }
    }
    for (size_t i = 0; i < m->header_count; i++) {
        if (masked_name(m->headers[i].name, name)) {
            *value = m->headers[i].value;
            return true;
        }
    }
    return false;
}

/* --- media types --------------------------------------------------------- */

struct slice http_media_type(struct slice content_type)
{
    size_t n = 0;
    content_type = slice_trim(content_type);
    while (n < content_type.len && !strchr("; \t,", content_type.data[n]))
        n++;
    return slice_sub(content_type, 0, n);
}

struct slice http_charset(struct slice content_type)
{
    for (size_t i = 0; i + 8 < content_type.len; i++) {
        struct slice v;
        size_t n = 0;
        if (!http_slice_is(slice_sub(content_type, i, i + 8), "charset="))
            continue;
        v = slice_sub(content_type, i + 8, content_type.len);
        if (v.len && (v.data[0] == '"' || v.data[0] == '\''))
            v = slice_sub(v, 1, v.len);
        while (n < v.len && n < 64 && v.data[n] > ' ' &&
               !strchr("\"';,>/", v.data[n]))
            n++;
        return slice_sub(v, 0, n);
    }
    return SLICE_EMPTY;
}
