/* One HTTP request on one connection, which is kept for the next.
 *
 * Threads: one a connection, a plain one: everything blocks it.
 */
#ifndef BASE_OBJECTS_OBJECT_REQUEST_H
#define BASE_OBJECTS_OBJECT_REQUEST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct object_connection;

/* Of an ETag, with its quotes and the NUL. */
#define OBJECT_ETAG_BYTES 160

struct object_request {
    const char *method;
    const char *url;
    const struct buf *headers; /* Lines "Name: value", each with its NUL. */
    struct slice body;
    void *dst; /* For the bytes of a 200 or 206; NULL: answer.body. */
    size_t dst_bytes;
    size_t body_max;         /* Of answer.body: more is an error. */
    bool follow;             /* Redirections. */
    bool once;               /* On a new connection: on one that was used
                                libcurl repeats it by itself. */
    struct buf *location;    /* Where one leads, if not followed; NULL: not
                                wanted. */
    const char *authority;   /* File of certificates to trust, or NULL. */
    const atomic_bool *stop; /* Gives up soon when true; NULL: never. */
};

struct object_reply {
    long status; /* 0: none came. */
    char etag[OBJECT_ETAG_BYTES];
    char request_id[80];
    char region[64];
    uint64_t content_bytes; /* UINT64_MAX: not said. */
    uint64_t range_begin;   /* Of Content-Range; UINT64_MAX: not said. */
    uint64_t whole_bytes;   /* Likewise. */
    uint64_t modified_us;   /* 0: not said. */
    uint64_t date_us;       /* The server's clock; 0: not said. */
    uint64_t retry_us;      /* Retry-After; 0: not said. */
    char token[80];         /* x-amz-meta-quarry-put. */
    size_t got;             /* Bytes in dst. */
    struct buf body;
    /* Internal: where bytes go. */
    const struct object_request *request;
    bool overflow;
    bool headers_ended;
};

/* Owned. Errors: ERR_UNSUPPORTED. */
MUST_CHECK int object_connection_open(struct object_connection **out,
                                      struct err *err);
void object_connection_close(struct object_connection *c); /* NULL: nothing. */

/* Send @r and take the answer, whatever its status. The caller closes
 * @reply->body in any case. Errors: ERR_UNAVAILABLE: none came, or not all of
 * it; ERR_DENIED: the server's certificate; ERR_CANCELLED: by `stop`;
 * ERR_CORRUPT: more came than there is room for. */
MUST_CHECK int object_connection_send(struct object_connection *c,
                                      const struct object_request *r,
                                      struct object_reply *reply,
                                      struct err *err);

#endif /* BASE_OBJECTS_OBJECT_REQUEST_H */
