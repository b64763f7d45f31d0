/* grpc.health.v1.Health, for load balancers and probes, which are not
 * authenticated. All services are up while the process is: a watch reports a
 * change only by ending with the server.
 */
#include "base/core/pb.h"
#include "base/runtime/fiber.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/api_service.h"

/* Is @name a service here, or "", the whole server? */
static bool is_served(struct slice name)
{
    size_t count;
    const struct grpc_method *methods = gateway_methods(&count);
    for (size_t i = 0; i < count; i++)
        if (slice_eq(gateway_service_of(&methods[i]), name))
            return true;
    return name.len == 0;
}

static int send_serving(struct grpc_call *call, struct err *err)
{
    struct buf *b = grpc_scratch(call);
    struct slice name;
    if (!pb_is_message(grpc_request(call)))
        return service_bad_request(err);
    name = pb_find(grpc_request(call), PB_HealthCheckRequest_service);
    if (!is_served(name))
        return err_set(err, ERR_NOTFOUND, "no service %.*s",
                       SLICE_ARG(slice_sub(name, 0, 200)));
    pb_put_integer(b, PB_HealthCheckResponse_status,
                   PB_HealthCheckResponse_ServingStatus_SERVING);
    return grpc_send(call, b, err);
}

int health_check(void *ctx, struct grpc_call *call, struct err *err)
{
    (void)ctx;
    return send_serving(call, err);
}

/* Waits until the end of the server cancels the call. */
int health_watch(void *ctx, struct grpc_call *call, struct err *err)
{
    int rc = send_serving(call, err);
    (void)ctx;
    while (rc == 0)
        rc = fiber_park_checked(err);
    return rc;
}
