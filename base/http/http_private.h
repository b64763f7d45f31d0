/* Requests and servers, for the files of this directory alone. */
#ifndef BASE_HTTP_HTTP_PRIVATE_H
#define BASE_HTTP_HTTP_PRIVATE_H

#include <microhttpd.h>

#include "base/http/http.h"
#include "base/runtime/sync.h"

#define HTTP_ADDRESS_BYTES 300

struct http_guests;

struct http_server {
    struct MHD_Daemon *daemon;
    struct loop *loop; /* Where handlers run. */
    http_handler handler;
    void *ctx;
    char *names;       /* Owned. */
    bool is_documents; /* http_listen_documents() */
    bool is_proxy;
    bool takes_methods; /* Documents by POST and others. */
    size_t body_bytes_max;
    struct http_guests *guests;
    struct fiber *sweeping;
    char address[HTTP_ADDRESS_BYTES];

    struct mutex mutex;           /* Guards all below, and what requests say. */
    struct cond idle;             /* `running` became empty. */
    struct http_request *running; /* Those that have a fiber. */
    size_t streams;
    bool is_closing;
};

/* The reply that continues. Guarded by the server's mutex. */
struct http_stream {
    http_stream_fn fn; /* NULL: it is no stream. */
    void *ctx;
    struct slice piece; /* Still to be taken; lent by the writer. */
    struct cond taken;  /* `piece` became empty, or the client left. */
    bool is_suspended;  /* The library waits for a piece. */
    bool is_ended;      /* The writer has returned. */
    bool has_left;      /* The client, or HEAD: there is none. */
};

enum http_stage {
    HTTP_READING,  /* Its body. */
    HTTP_HANDLING, /* On a fiber; the connection is suspended. */
    HTTP_HANDLED,  /* The reply is complete, or a stream begins. */
};

struct http_request {
    struct http_server *server;
    struct MHD_Connection *connection;
    void *guest;  /* In server->guests, until the connection ends. */
    char *target; /* Path, NUL, query. Owned. */
    const char *query_text;
    struct http_segments segments;
    struct http_form query;
    struct http_form form;
    struct buf body;
    const char *method; /* One of the names in http.c. */
    char peer[HTTP_ADDRESS_BYTES];
    bool has_headers; /* All of them. */
    bool is_head;
    bool is_post;
    bool is_too_big; /* Its body. */
    struct http_reply reply;

    /* Guarded by the server's mutex. */
    enum http_stage stage;
    unsigned references;
    struct fiber *fiber;       /* While it runs. */
    struct http_request *next; /* In server->running. */
    struct http_request *prev;
    struct http_stream stream;
};

/* Drop a reference; the last one frees. Any thread. */
void http_request_unref(struct http_request *r);
/* The client has left, or the answer is complete. On the library's thread. */
void http_stream_leave(struct http_request *r);
/* The response that is read from the stream, or NULL. */
struct MHD_Response *http_stream_response(struct http_request *r);
/* Run the stream of @r to its end. Parks. */
void http_stream_run(struct http_request *r);

#endif /* BASE_HTTP_HTTP_PRIVATE_H */
