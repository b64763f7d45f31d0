/* grpc.health.v1.Health: is this server up? For load balancers and probes,
 * which do not say who they are. */
#include "base/runtime/fiber.h"
#include "bigtable/gateway/pb.h"
#include "bigtable/gateway/service.h"

#define SERVING 1

static const char *const services[] = {
    "",
    "google.bigtable.admin.v2.BigtableInstanceAdmin",
    "google.bigtable.admin.v2.BigtableTableAdmin",
    "google.bigtable.v2.Bigtable",
    "google.longrunning.Operations",
    "grpc.health.v1.Health",
    "grpc.reflection.v1.ServerReflection",
    "grpc.reflection.v1alpha.ServerReflection",
};

static bool is_served(struct slice name)
{
    for (size_t i = 0; i < ARRAY_LEN(services); i++)
        if (slice_eq_str(name, services[i]))
            return true;
    return false;
}

static int send_serving(struct grpc_call *call, struct err *err)
{
    struct buf *b = grpc_scratch(call);
    struct slice name;
    if (!pb_is_message(grpc_request(call)))
        return service_bad_request(err);
    name = pb_find(grpc_request(call), 1);
    if (!is_served(name))
        return err_set(err, ERR_NOTFOUND, "no service %.*s",
                       SLICE_ARG(slice_sub(name, 0, 200)));
    pb_put_integer(b, 1, SERVING);
    return grpc_send(call, b, err);
}

int health_check(void *ctx, struct grpc_call *call, struct err *err)
{
    (void)ctx;
    return send_serving(call, err);
}

/* It changes only once, with the end of the server, which ends the call. */
int health_watch(void *ctx, struct grpc_call *call, struct err *err)
{
    int rc = send_serving(call, err);
    (void)ctx;
    while (rc == 0)
        rc = fiber_park_checked(err);
    return rc;
}
