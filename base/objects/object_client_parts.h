/* Shared by the client's files: object_client.c opens and closes it,
 * object_call.c sends a request until it has an outcome, object_calls.c knows
 * the requests. Included by these only.
 */
#ifndef BASE_OBJECTS_OBJECT_CLIENT_PARTS_H
#define BASE_OBJECTS_OBJECT_CLIENT_PARTS_H

#include "base/objects/object_client.h"
#include "base/objects/request_pool.h"
#include "base/objects/sigv4.h"
#include "base/runtime/sync.h"

/* Headers of a request that an operation adds. */
#define CALL_HEADERS_MAX 4

/* A request as an operation describes it, without signature and retries. */
struct object_call {
    const char *method;
    const char *key;   /* NULL: the bucket. */
    const char *query; /* By name, encoded; "": none. */
    struct sigv4_header headers[CALL_HEADERS_MAX]; /* By name. */
    size_t header_count;
    struct slice body;
    void *dst;
    size_t dst_bytes;
    size_t body_max; /* 0: OBJECT_ANSWER_BYTES_MAX. */
    bool exclusive;  /* 412 means that it exists. */
    const atomic_bool *stop;
};

/* Does the server honour If-None-Match? Some ignore it, and replace. */
enum object_conditions {
    CONDITIONS_UNKNOWN,
    CONDITIONS_HONOURED,
    CONDITIONS_IGNORED,
};

struct object_client {
    struct world *world; /* Borrowed. */
    struct object_settings settings;
    enum object_scheme scheme;
    char *place; /* The bucket, or host and port. */
    char *name;  /* "s3://bucket". */
    struct request_pool pool;
    atomic_uint_fast64_t read_bytes;
    atomic_uint_fast64_t written_bytes;
    atomic_int conditions;   /* enum object_conditions. */
    struct mutex keys_mutex; /* Of what follows; held while a command runs. */
    struct object_keys keys;
    bool has_keys;
    char region[64];
    int64_t clock_offset_us; /* The server's clock less ours. */
};

/* Send @call until it has an outcome. Blocks the thread, one of the client's.
 * The caller closes @reply->body in any case. Errors: see object_client.h. */
MUST_CHECK int object_call_run(struct object_client *c,
                               struct object_connection *connection,
                               const struct object_call *call,
                               struct object_reply *reply,
                               struct err *err);
/* The same from anywhere. Parks. */
MUST_CHECK int object_call(struct object_client *c,
                           const struct object_call *call,
                           struct object_reply *reply,
                           struct err *err);

/* Read a range on a thread of the client. */
int object_get_run(struct object_client *c,
                   struct object_connection *connection,
                   struct object_read *r,
                   struct err *err);

#endif /* BASE_OBJECTS_OBJECT_CLIENT_PARTS_H */
