/* A small HTTP server: pages and metrics for people and scrapers.
 *
 * It answers only GET and HEAD, keeps no state between requests and knows no
 * users: opening it to other machines is a decision of the administrator. Idle
 * connections make room for others (guests.h), requests under a foreign name
 * are refused (http_host.h), and every answer forbids browsers to load anything
 * from elsewhere or to show it in a frame. libmicrohttpd implements the
 * protocol; all calls of it are in http.c.
 *
 * Threads: requests arrive on a thread of the library, one at a time, and are
 * answered on a fiber of the loop that opened the server. Only in the real
 * world.
 */
#ifndef BASE_HTTP_HTTP_H
#define BASE_HTTP_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"

struct http_request;
struct http_server;

/* Memory of one connection: its request line and headers must fit. */
#define HTTP_CONNECTION_BYTES ((size_t)32 << 10)

struct http_reply {
    unsigned status;          /* 200 unless changed. */
    const char *content_type; /* A literal; "text/plain; charset=utf-8"
                                 unless changed. */
    struct buf body;
};

/* Fill @reply in for a request. May park; @request is borrowed. */
typedef void (*http_handler)(void *ctx,
                             const struct http_request *request,
                             struct http_reply *reply);

/* The client's address: "10.0.0.7:4711". Borrowed from @r. */
const char *http_peer(const struct http_request *r);
/* The path without the query: "/vars". */
const char *http_path(const struct http_request *r);
/* The value of the header @name of the request; NULL: it has none. Borrowed. */
const char *http_request_header(const struct http_request *r, const char *name);

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
/* "host:port" with the port that was chosen. Borrowed. */
const char *http_address(const struct http_server *s);
/* Stop and free it after the running handlers have returned; their clients
 * may get no answer. Parks. NULL is allowed. */
void http_close(struct http_server *s);

#endif /* BASE_HTTP_HTTP_H */
