/* Any bytes taken as an HTTP message: its parts lie inside it, and no body is
 * made longer than allowed. */
#include <stdlib.h>
#include <string.h>

#include "mapreduce/warc/archived_http.h"
#include "mapreduce/warc/date.h"
#include "mapreduce/warc/digest.h"

static void inside(struct slice part, struct slice all)
{
    if (part.len &&
        (part.data < all.data || part.data + part.len > all.data + all.len))
        abort();
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
