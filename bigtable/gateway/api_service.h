/* The gateway from the inside: what the handlers of its methods share.
 *
 * A handler (grpc_handler) gets the gateway as its context. Handlers of the
 * data API are in data_*.c, those of the admin APIs in admin_*.c; gateway.c has
 * the table of all methods.
 */
#ifndef BIGTABLE_GATEWAY_API_SERVICE_H
#define BIGTABLE_GATEWAY_API_SERVICE_H

#include "bigtable/gateway/grpc.h"
#include "bigtable/gateway/resource_names.h"
#include "bigtable/quarry.h"

struct app_profile_cache;
struct gsql_engine;
struct query_pool;
struct api_auth;
struct fiber;
struct principal_views;
struct response_params_cache;
struct row_batch_pool;
struct workers;

struct gateway {
    struct world *world;   /* Borrowed. */
    struct quarry *quarry; /* Borrowed; has the rights of the caller. */
    struct quarry *own;    /* Borrowed; has the rights of the gateway, which
                              reads the registry with them. */
    char *home;            /* Owned, as all below. */
    struct workers *workers;
    struct row_batch_pool *batches;
    struct app_profile_cache *profiles;
    struct response_params_cache *params;
    struct query_pool *queries; /* That run. */
    struct gsql_engine *engine; /* Borrowed; NULL: no queries. */
    struct grpc_server *server;
    struct api_auth *auth;         /* NULL: callers are not authenticated. */
    struct principal_views *views; /* One for each caller. */
    struct fiber *reloading;       /* Reloads the tokens; NULL: none. */
    struct fiber *scheduling;      /* Makes backups that are due. */
    unsigned *change_streams;      /* Open ones, of all callers. */
};

/* A request of at least this size is handled on a worker thread. */
#define SERVICE_HEAVY_BYTES ((size_t)256 << 10)

/* Open the table that a request names ("projects/…/tables/T"). *@out is owned:
 * quarry_table_close(). Parks. Errors: ERR_INVALID, ERR_NOTFOUND. */
MUST_CHECK int service_open_table(struct gateway *g,
                                  struct slice name,
                                  struct quarry_table **out,
                                  struct err *err);

/* Write the store's name of that table. ERR_INVALID. */
MUST_CHECK int service_store_name(struct gateway *g,
                                  struct slice name,
                                  char out[STORE_NAME_BYTES],
                                  struct err *err);
/* Describe the table that the store calls @store_name; *@out is owned:
 * quarry_table_info_free(). Parks. ERR_NOTFOUND. */
MUST_CHECK int service_describe(struct gateway *g,
                                const char *store_name,
                                struct quarry_table_info **out,
                                struct err *err);

/* Run fn(arg): here, or on a worker thread if the request of @call is large.
 * Parks. */
void service_run(struct gateway *g,
                 const struct grpc_call *call,
                 void (*fn)(void *arg),
                 void *arg);

/* The error for a request that is malformed: ERR_INVALID. */
MUST_CHECK int service_bad_request(struct err *err);
/* Send an empty message, as the only one. Parks. Errors: as grpc_send(). */
MUST_CHECK int service_reply_empty(struct grpc_call *call, struct err *err);

/* Append @us as a message Timestamp in field @number. */
void service_put_time(struct buf *out, unsigned number, int64_t us);

/* Read @message, a Timestamp or a Duration that is not negative, in µs; @field
 * names it in the error. ERR_INVALID. */
MUST_CHECK int service_time_us(struct slice message,
                               const char *field,
                               int64_t *us,
                               struct err *err);

/* The wall clock in µs, cut to milliseconds as the API's timestamps are. */
int64_t service_now_us(struct gateway *g);

/* All methods that are served, sorted by path and so by service. Static. */
const struct grpc_method *gateway_methods(size_t *count);
/* The name of the service that @method belongs to, without slashes. Borrowed.
 */
struct slice gateway_service_of(const struct grpc_method *method);

/* --- google.bigtable.v2 --------------------------------------------------
 * Handlers, as grpc.h describes them. */

int data_read_rows(void *ctx, struct grpc_call *call, struct err *err);
int data_mutate_row(void *ctx, struct grpc_call *call, struct err *err);
void data_mutate_row_many(void *ctx,
                          struct grpc_call *const *calls,
                          size_t count);
int data_mutate_rows(void *ctx, struct grpc_call *call, struct err *err);
int data_check_and_mutate(void *ctx, struct grpc_call *call, struct err *err);
int data_read_modify_write(void *ctx, struct grpc_call *call, struct err *err);
int data_generate_partitions(void *ctx,
                             struct grpc_call *call,
                             struct err *err);
int data_read_change_stream(void *ctx, struct grpc_call *call, struct err *err);
int data_sample_row_keys(void *ctx, struct grpc_call *call, struct err *err);
int data_ping_and_warm(void *ctx, struct grpc_call *call, struct err *err);
int data_prepare_query(void *ctx, struct grpc_call *call, struct err *err);
int data_execute_query(void *ctx, struct grpc_call *call, struct err *err);

/* --- grpc.health.v1 ------------------------------------------------------
 * Handlers. data_mutate_row_many() above is a grpc_many_handler. */

int health_check(void *ctx, struct grpc_call *call, struct err *err);
int health_watch(void *ctx, struct grpc_call *call, struct err *err);

/* --- grpc.reflection.v1, v1alpha ----------------------------------------- */

/* A grpc_each: answer one question about the services. */
int reflection_answer(void *ctx,
                      struct slice request,
                      struct buf *out,
                      struct err *err);

#endif /* BIGTABLE_GATEWAY_API_SERVICE_H */
