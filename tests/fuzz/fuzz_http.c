/* Any bytes taken as an HTTP message: its parts lie inside it, and no body is
 * made longer than allowed. Taken as a form, a path, cookies or a host, they
 * are decoded to UTF-8 without NUL, or refused. */
#include <stdlib.h>
#include <string.h>

#include "base/core/text.h"
#include "base/http/http_form.h"
#include "base/http/http_host.h"
#include "mapreduce/warc/archived_http.h"
#include "mapreduce/warc/date.h"
#include "mapreduce/warc/digest.h"

static void inside(struct slice part, struct slice all)
{
    if (part.len &&
        (part.data < all.data || part.data + part.len > all.data + all.len))
        abort();
}

static void check_text(const char *text)
{
    if (!utf8_valid(slice_str(text)))
        abort();
}

static void decode_request(struct slice all)
{
    struct http_form form;
    struct http_segments path;
    char *text = malloc(all.len + 1);
    if (!text)
        return;
    memcpy(text, all.data, all.len);
    text[all.len] = '\0';
    if (http_form_parse(all, &form, NULL) == 0)
        for (size_t i = 0; i < form.count; i++) {
            check_text(form.fields[i].name);
            check_text(form.fields[i].value);
        }
    http_form_close(&form);
    if (http_segments_parse(all, &path, NULL) == 0)
        for (size_t i = 0; i < path.count; i++)
            check_text(path.at[i]);
    http_segments_close(&path);
    inside(http_cookie(text, "a"), slice_make(text, all.len));
    (void)http_host_is_ours(text, "n1,[::1]");
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct http_decoder *d;
    static struct http_message m;
    const size_t most = (size_t)1 << 20;
    struct slice all = slice_make(data, size);
    struct slice payload;
    struct slice body;
    struct digest digest;
    int64_t us;
    int64_t span;
    volatile char sink = 0;
    if (!d)
        d = http_decoder_new();
    decode_request(all);
    http_parse(all, &m);
    inside(m.head, all);
    inside(m.raw_body, all);
    for (size_t i = 0; i < m.header_count; i++) {
        inside(m.headers[i].name, all);
        inside(m.headers[i].value, all);
        inside(http_charset(m.headers[i].value), all);
        date_parse_http(m.headers[i].value, &us);
        date_parse_log(m.headers[i].value, &us);
        if (date_parse_span(m.headers[i].value, &us, &span) && span <= 0)
            abort();
        digest_parse(m.headers[i].value, &digest);
    }
    http_decode(d, &m, most, &payload, &body);
    if (payload.len > most + size || body.len > most)
        abort();
    for (size_t i = 0; i < body.len; i += 4096)
        sink ^= body.data[i];
    return 0;
}
