/* An HTTP server: pages, forms and event streams for people, texts for
 * programs.
 *
 * It answers GET, HEAD and POST (of documents, others too), and knows no users:
 * its handler decides who may see what. Idle connections make room for others
 * (guests.h), requests under a foreign name are refused (http_host.h), and
 * every answer that is not a foreign document forbids browsers to load anything
 * from elsewhere or to show it in a frame. libmicrohttpd implements the
 * protocol; all calls of it are in this directory.
 *
 * Life of a request
 *     A thread of the library reads it, body included, and then suspends the
 *     connection. The handler runs on a fiber of the loop that opened the
 *     server, many at once. Its reply is sent by the library's thread. A reply
 *     that is a stream continues on the fiber of the handler, which writes
 *     piece by piece until it or the client ends.
 *
 * Threads: handlers and streams run on the loop that opened the server; all
 * functions here are for them. Only in the real world.
 *
 * Invariants
 *     INV-1. A connection is suspended only while its fiber runs: that fiber
 *            resumes it before it ends.
 *     INV-2. At most HTTP_STREAMS_MAX streams, HTTP_ADDRESS_STREAMS_MAX of one
 *            address; a stream holds no bytes but those its writer lends.
 *     INV-3. A request is freed after the library and the fiber have both
 *            released it.
 */
#ifndef BASE_HTTP_HTTP_H
#define BASE_HTTP_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/http/http_form.h"

struct http_request;
struct http_server;
struct http_stream;

/* Memory of one connection: its request line and headers must fit. */
#define HTTP_CONNECTION_BYTES ((size_t)32 << 10)
/* Bytes of a POST's body. */
#define HTTP_BODY_BYTES_MAX ((size_t)64 << 10)
/* Streams at once, and those of one address: fewer than its connections, so
 * that its pages are answered too. */
#define HTTP_STREAMS_MAX         64
#define HTTP_ADDRESS_STREAMS_MAX 24
/* A client that has not taken a piece of a stream after this is dropped. */
#define HTTP_STREAM_WRITE_US UINT64_C(20000000)

struct http_reply {
    unsigned status;          /* 200 unless changed. */
    const char *content_type; /* A literal; "text/plain; charset=utf-8"
                                 unless changed. NULL: none. */
    bool is_foreign;          /* Not a page of ours: none of the headers that
                                 protect those is added. */
    struct buf body;
    struct buf headers; /* By http_reply_header(). */
};

/* Fill @reply in for a request. May park; @request is borrowed. */
typedef void (*http_handler)(void *ctx,
                             const struct http_request *request,
                             struct http_reply *reply);
/* Write a stream, until it returns. It runs once for each http_stream_begin(),
 * and is cancelled when the client leaves or the server closes: wait by calls
 * that notice that. */
typedef void (*http_stream_fn)(void *ctx, struct http_stream *stream);

/* --- requests ------------------------------------------------------------ */

/* The client's address: "10.0.0.7:4711". Borrowed from @r, as all here. */
const char *http_peer(const struct http_request *r);
bool http_is_post(const struct http_request *r);
/* "GET" */
const char *http_method(const struct http_request *r);
/* The body as it was sent, of methods that have one. */
struct slice http_raw_body(const struct http_request *r);
/* The path as it was sent, without the query: "/tables/a%2Fb"; and its decoded
 * parts. */
const char *http_path(const struct http_request *r);
const struct http_segments *http_path_segments(const struct http_request *r);
/* The text behind the question mark: as it was sent ("" without), and decoded.
 */
const char *http_query_text(const struct http_request *r);
const struct http_form *http_query(const struct http_request *r);
/* The fields of a POST; none if its body is no form. */
const struct http_form *http_body(const struct http_request *r);
/* The value of the header @name of the request; NULL: it has none. Only before
 * the handler returns. */
const char *http_request_header(const struct http_request *r, const char *name);

/* --- replies ------------------------------------------------------------- */

/* Add a header, instead of the server's own of that name. @name is a literal.
 * PRE: @value is printable ASCII. */
void http_reply_header(struct http_reply *reply,
                       const char *name,
                       const char *value);
/* 303: see @path, by GET. */
void http_reply_redirect(struct http_reply *reply, const char *path);
/* Have @fn write the body once the handler has returned. False: there are too
 * many streams already; then nothing is changed. */
MUST_CHECK bool
http_stream_begin(const struct http_request *r, http_stream_fn fn, void *ctx);
/* Write @piece, which is borrowed while this runs. Parks until the library has
 * taken it. Errors: ERR_CLOSED (the client has left), ERR_DEADLINE (it takes
 * nothing), ERR_CANCELLED. */
MUST_CHECK int
http_stream_write(struct http_stream *s, struct slice piece, struct err *err);

/* --- the server ---------------------------------------------------------- */

/* Listen on @address ("127.0.0.1:7480", "[::1]:0") and answer with @handler
 * on fibers of this loop. @names (separated by commas, copied; may be NULL):
 * its names besides localhost and its address. PRE: on a fiber. *@out is
 * owned. Errors: ERR_INVALID (the address), ERR_BUSY (is in use),
 * ERR_DENIED, ERR_IO. */
MUST_CHECK int http_listen(const char *address,
                           const char *names,
                           http_handler handler,
                           void *ctx,
                           struct http_server **out,
                           struct err *err);

/* The same for a server of documents that are not its own. */
struct http_documents {
    bool is_proxy; /* Also answer requests for other hosts, as the clients of a
                      proxy send them: http_path() is "http://host/path". */
    size_t body_bytes_max; /* Also answer POST, PUT, PATCH, DELETE and OPTIONS,
                              with bodies up to this; 0: GET and HEAD alone. */
};

/* As http_listen(), but no form is read, and targets are the handler's to read:
 * neither path nor query is decoded, so that they may be any URL;
 * http_path_segments() and http_query() are empty. */
MUST_CHECK int http_listen_documents(const char *address,
                                     const char *names,
                                     const struct http_documents *documents,
                                     http_handler handler,
                                     void *ctx,
                                     struct http_server **out,
                                     struct err *err);
/* "host:port" with the port that was chosen. Borrowed. */
const char *http_address(const struct http_server *s);
/* Stop and free it after the running handlers have returned, and after the
 * streams, which are cancelled; their clients may get no answer. Parks. NULL is
 * allowed. */
void http_close(struct http_server *s);

#endif /* BASE_HTTP_HTTP_H */
