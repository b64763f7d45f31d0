/* Facts of a request beside its URL: the method and body that captures of
 * forms and of programs' calls are found by, and browsers' questions before. */
#include <string.h>

#include "base/core/macros.h"
#include "base/core/text.h"
#include "base/http/http.h"
#include "mapreduce/warc/method_query.h"
#include "mapreduce/warc/url.h"
#include "web/replay/replay_call.h"

/* Longer lists of headers are answered by "all". */
#define HEADER_LIST_BYTES_MAX 1000

struct slice replay_asked_url(struct replay_call *k)
{
    struct slice method = slice_str(http_method(k->request));
    const char *type = http_request_header(k->request, "Content-Type");
    struct buf query = BUF_INIT;
    struct buf whole = BUF_INIT;
    if (!k->is_other)
        return buf_slice(&k->url);
    method_query_put(method, slice_str(type ? type : ""),
                     http_raw_body(k->request), &query);
    method_query_url(buf_slice(&k->url), method, buf_slice(&query), &whole);
    buf_clear(&k->asked);
    if (!url_normalise(buf_slice(&whole), &k->asked)) {
        buf_clear(&k->asked);
        buf_append_slice(&k->asked, buf_slice(&k->url));
    }
    buf_close(&query);
    buf_close(&whole);
    return buf_slice(&k->asked);
}

void replay_allow_pages(struct replay_call *k)
{
    if (!k->is_archived)
        return;
    http_reply_header(k->reply, "Access-Control-Allow-Origin", "null");
    http_reply_header(k->reply, "Access-Control-Allow-Credentials", "true");
}

/* Names of headers and the commas between them. */
static bool is_header_list(const char *s)
{
    if (strlen(s) > HEADER_LIST_BYTES_MAX)
        return false;
    for (; *s; s++)
        if (*s <= ' ' ? *s != ' ' : *s >= 0x7f || strchr("\"(){}<>:;@[]\\", *s))
            return false;
    return true;
}

bool replay_preflight(struct replay_call *k)
{
    const char *headers;
    if (strcmp(http_method(k->request), "OPTIONS") != 0 || !k->is_archived ||
        !http_request_header(k->request, "Access-Control-Request-Method"))
        return false;
    headers = http_request_header(k->request, "Access-Control-Request-Headers");
    k->reply->status = 204;
    k->reply->is_foreign = true;
    replay_allow_pages(k);
    http_reply_header(k->reply, "Access-Control-Allow-Methods",
                      "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
    http_reply_header(k->reply, "Access-Control-Allow-Headers",
                      headers && is_header_list(headers) ? headers : "*");
    http_reply_header(k->reply, "Access-Control-Max-Age", "600");
    return true;
}

bool replay_range_of(const char *text, size_t len, size_t *from, size_t *to)
{
    struct slice s = slice_str(text);
    size_t dash;
    uint64_t first = 0;
    uint64_t last = 0;
    bool has_first, has_last;
    if (!slice_starts_with(s, SLICE_LIT("bytes=")))
        return false;
    s = slice_sub(s, 6, s.len);
    dash = slice_find_byte(s, '-');
    has_first = text_parse_u64(slice_sub(s, 0, dash), &first, NULL) == 0;
    has_last = text_parse_u64(slice_sub(s, dash + 1, s.len), &last, NULL) == 0;
    if (dash == s.len || (dash && !has_first) ||
        (dash + 1 < s.len && !has_last) || (!has_first && !has_last))
        return false;
    if (!has_first) {
        *from = last < len ? len - (size_t)last : 0;
        *to = len;
        return true;
    }
    if (has_last && last < first)
        return false;
    *from = first < len ? (size_t)first : len;
    *to = has_last && last < len ? (size_t)last + 1 : len;
    return true;
}
