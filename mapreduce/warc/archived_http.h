/* An HTTP message as crawlers store it: parsed leniently, body decoded.
 *
 * Crawlers record what servers really sent, and some record something else: a
 * body already dechunked or decompressed under headers that still declare the
 * coding, header lines without a colon, no reason phrase, bare LF, an extra
 * blank line. Each coding is tried, and when the bytes contradict it the body
 * is used as it is.
 *
 * Threads: one at a time a parser. Nothing waits.
 */
#ifndef MAPREDUCE_WARC_ARCHIVED_HTTP_H
#define MAPREDUCE_WARC_ARCHIVED_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/macros.h"
#include "base/core/slice.h"

/* Header lines beyond these are kept in http_message.head alone. */
#define HTTP_HEADER_COUNT_MAX 256

struct http_header {
    struct slice name;
    struct slice value; /* Unfolded values are not joined: first line only. */
};

struct http_message {
    bool is_request;
    int status;           /* 0: there is none (HTTP/0.9, or a request). */
    struct slice version; /* "HTTP/1.1" */
    struct slice reason;
    struct slice method; /* Requests. */
    struct slice target;
    struct slice head;     /* Start line and headers, without the blank line. */
    struct slice raw_body; /* As stored. */
    struct http_header headers[HTTP_HEADER_COUNT_MAX];
    size_t header_count;
};

/* Split @block. False: it does not start like HTTP, and all of it is raw_body.
 * Slices are borrowed from @block. */
bool http_parse(struct slice block, struct http_message *m);

/* The first header of that name, in any case, or one that a crawl's publisher
 * masked as "X-Crawl-NAME" or "X-Crawler-NAME"; false: absent. */
bool http_header(const struct http_message *m,
                 const char *name,
                 struct slice *value);

/* Findings of decoding a body; or'ed. */
enum http_decode_flags {
    HTTP_DECHUNKED = 1,
    HTTP_DECODED = 2,   /* At least one content coding was decoded. */
    HTTP_CHUNK_LIE = 4, /* The header declares chunks, the body has none. */
    HTTP_CODING_LIE =
        8,         /* The header names a coding that the body does not have. */
    HTTP_CUT = 16, /* The body ends too early: decoded up to there. */
    HTTP_TOO_BIG = 32,        /* Cut at the limit given. */
    HTTP_UNKNOWN_CODING = 64, /* Not decoded: the body is as stored. */
};

struct http_decoder; /* Buffers and tables, for reuse between bodies. */

struct http_decoder *http_decoder_new(void);
void http_decoder_free(struct http_decoder *d); /* NULL is allowed. */

/* Decode transfer and content codings of @m, into at most @bytes_max. *@payload
 * is the body after the transfer coding (which WARC-Payload-Digest covers),
 * *@body after the content codings too; both are borrowed from @m's block or,
 * until the next call, from @d. Returns flags. */
unsigned http_decode(struct http_decoder *d,
                     const struct http_message *m,
                     size_t bytes_max,
                     struct slice *payload,
                     struct slice *body);

/* "text/html" of "text/HTML; charset=x", in the case as written; and its
 * charset or "". */
struct slice http_media_type(struct slice content_type);
struct slice http_charset(struct slice content_type);
/* Case-insensitive comparison of ASCII. */
bool http_slice_is(struct slice s, const char *lower);

#endif /* MAPREDUCE_WARC_ARCHIVED_HTTP_H */
