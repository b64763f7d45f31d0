/* Shared by the handlers of all methods: from the API's names to the store's
 * tables, and the messages that several of them write.
 */
#include "bigtable/gateway/api_service.h"

#include "base/core/pb.h"
#include "base/runtime/world.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/workers.h"

#define US_PER_S INT64_C(1000000)
/* The bound of the message Duration: 10,000 years. */
#define SECONDS_MAX UINT64_C(315576000000)

int service_store_name(struct gateway *g,
                       struct slice name,
                       char out[STORE_NAME_BYTES],
                       struct err *err)
{
    struct resource_name parsed;
    int rc = resource_name_parse_kind(name, "tables", &parsed, err);
    return rc ? rc
              : store_name_make(g->home, parsed.instance, parsed.id, out, err);
}

static int no_table(struct slice name, struct err *err)
{
    return err_set(err, ERR_NOTFOUND, "table not found: %.*s",
                   SLICE_ARG(slice_sub(name, 0, 200)));
}

int service_open_table(struct gateway *g,
                       struct slice name,
                       struct quarry_table **out,
                       struct err *err)
{
    char store_name[STORE_NAME_BYTES];
    int rc = service_store_name(g, name, store_name, err);
    *out = NULL;
    if (rc)
        return rc;
    rc = quarry_table_open(g->quarry, store_name, out, err);
    if (rc == ERR_NOTFOUND) {
        *err = ERR_INIT;
        return no_table(name, err);
    }
    return rc;
}

int service_describe(struct gateway *g,
                     const char *store_name,
                     struct quarry_table_info **out,
                     struct err *err)
{
    int rc = quarry_table_describe(g->quarry, store_name, out, err);
    if (rc != ERR_NOTFOUND)
        return rc;
    *err = ERR_INIT;
    return no_table(slice_str(store_name), err);
}

void service_run(struct gateway *g,
                 const struct grpc_call *call,
                 void (*fn)(void *arg),
                 void *arg)
{
    if (grpc_request(call).len >= SERVICE_HEAVY_BYTES)
        workers_run(g->workers, fn, arg);
    else
        fn(arg);
}

int service_bad_request(struct err *err)
{
    return err_set(err, ERR_INVALID,
                   "the request is not a message of its kind");
}

int service_reply_empty(struct grpc_call *call, struct err *err)
{
    return grpc_send(call, grpc_scratch(call), err);
}

void service_put_time(struct buf *out, unsigned number, int64_t us)
{
    size_t opened = pb_open(out, number);
    pb_put_integer(out, PB_Timestamp_seconds, us / US_PER_S);
    pb_put_integer(out, PB_Timestamp_nanos, us % US_PER_S * 1000);
    pb_close(out, opened);
}

int service_time_us(struct slice message,
                    const char *field,
                    int64_t *us,
                    struct err *err)
{
    /* Negative ones are above, too. */
    uint64_t s = pb_find_integer(message, PB_Timestamp_seconds);
    uint64_t ns = pb_find_integer(message, PB_Timestamp_nanos);
    STATIC_ASSERT((int)PB_Timestamp_seconds == (int)PB_Duration_seconds &&
                      (int)PB_Timestamp_nanos == (int)PB_Duration_nanos,
                  "one function reads both");
    if (!pb_is_message(message) || s > SECONDS_MAX || ns >= 1000000000)
        return err_set(err, ERR_INVALID, "%s: not a time", field);
    *us = (int64_t)s * US_PER_S + (int64_t)ns / 1000;
    return 0;
}

int64_t service_now_us(struct gateway *g)
{
    return (int64_t)(world_now_us(g->world) / 1000 * 1000);
}
