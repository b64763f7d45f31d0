/* Inside of the gateway: what the handlers of its methods share.
 *
 * A handler (grpc_handler) gets the gateway as its context. Handlers of the
 * data API are in data_*.c, those of the admin APIs in admin_*.c; gateway.c has
 * the table of all.
 */
#ifndef BIGTABLE_GATEWAY_SERVICE_H
#define BIGTABLE_GATEWAY_SERVICE_H

#include "bigtable/gateway/grpc.h"
#include "bigtable/gateway/names.h"
#include "bigtable/quarry.h"

struct app_profile_cache;
struct api_auth;
struct fiber;
struct principal_views;
struct row_batch_pool;
struct workers;

struct gateway {
    struct world *world;   /* Borrowed. */
    struct quarry *quarry; /* Borrowed; acts for who calls. */
    struct quarry *own;    /* Borrowed; acts for the gateway itself: what the
                              API keeps beside tables is read so. */
    char *home;            /* Owned, as all below. */
    struct workers *workers;
    struct row_batch_pool *batches;
    struct app_profile_cache *profiles;
    struct grpc_server *server;
    struct api_auth *auth;         /* NULL: nobody has to say who it is. */
    struct principal_views *views; /* Of callers. */
    struct fiber *reloading;       /* Of tokens; NULL: none. */
};

/* From this size on, a request is work for another thread. */
#define SERVICE_HEAVY_BYTES ((size_t)256 << 10)

/* Open the table that a request names ("projects/…/tables/T"). *@out is owned:
 * quarry_table_close(). Parks. Errors: ERR_INVALID, ERR_NOTFOUND. */
MUST_CHECK int service_open_table(struct gateway *g,
                                  struct slice name,
                                  struct quarry_table **out,
                                  struct err *err);

/* The store's name for it alone. ERR_INVALID. */
MUST_CHECK int service_store_name(struct gateway *g,
                                  struct slice name,
                                  char out[STORE_NAME_BYTES],
                                  struct err *err);
/* What the store knows of it: quarry_table_info_free(). Parks. ERR_NOTFOUND. */
MUST_CHECK int service_describe(struct gateway *g,
                                const char *store_name,
                                struct quarry_table_info **out,
                                struct err *err);

/* Run fn(arg): here, or on another thread when the request of @call is large.
 * Parks. */
void service_run(struct gateway *g,
                 const struct grpc_call *call,
                 void (*fn)(void *arg),
                 void *arg);

/* ERR_INVALID: the request is not the message it should be. */
MUST_CHECK int service_bad_request(struct err *err);
/* Send one message whose bytes are those of @b behind its header, and end. */
MUST_CHECK int service_reply_empty(struct grpc_call *call, struct err *err);

/* The message Timestamp {seconds 1, nanos 2} as field @number. */
void service_put_time(struct buf *out, unsigned number, int64_t us);

/* Milliseconds of the wall clock, in µs: the API's clock. */
int64_t service_now_us(struct gateway *g);

/* --- google.bigtable.v2 -------------------------------------------------- */

int data_read_rows(void *ctx, struct grpc_call *call, struct err *err);
int data_mutate_row(void *ctx, struct grpc_call *call, struct err *err);
void data_mutate_row_many(void *ctx,
                          struct grpc_call *const *calls,
                          size_t count);
int data_mutate_rows(void *ctx, struct grpc_call *call, struct err *err);
int data_check_and_mutate(void *ctx, struct grpc_call *call, struct err *err);
int data_read_modify_write(void *ctx, struct grpc_call *call, struct err *err);
int data_sample_row_keys(void *ctx, struct grpc_call *call, struct err *err);
int data_ping_and_warm(void *ctx, struct grpc_call *call, struct err *err);

/* --- grpc.health.v1 ------------------------------------------------------ */

int health_check(void *ctx, struct grpc_call *call, struct err *err);
int health_watch(void *ctx, struct grpc_call *call, struct err *err);

/* --- grpc.reflection.v1, v1alpha ------------------------------------------ */

/* grpc_each. */
int reflection_answer(void *ctx,
                      struct slice request,
                      struct buf *out,
                      struct err *err);

#endif /* BIGTABLE_GATEWAY_SERVICE_H */
