/* Access policies, and lists of what there is none of.
 *
 *     GetIamPolicyRequest         resource 1
 *     SetIamPolicyRequest         resource 1, policy 2
 *     TestIamPermissionsRequest   resource 1, permissions 2
 *     TestIamPermissionsResponse  permissions 1
 *     Policy                      version 1, etag 3, bindings 4
 *
 * A policy is kept and given back; nothing is refused because of it: who may
 * reach the port may do everything.
 */
#include "bigtable/gateway/admin.h"
#include "bigtable/gateway/pb.h"
#include "bigtable/gateway/registry.h"

#define POLICY_ETAG 3
/* The service says so of a resource without a policy, and clients compare. */
#define NO_POLICY_ETAG "\x00\x20\x01"

static int policy_key(struct slice resource, struct buf *out, struct err *err)
{
    struct resource_name name;
    int rc = resource_name_parse(resource, &name, err);
    if (rc)
        return rc;
    buf_printf(out, "policies/%.*s",
               SLICE_ARG(slice_sub(resource,
                                   (size_t)(name.instance.data - resource.data),
                                   resource.len)));
    return 0;
}

int admin_get_iam_policy(void *ctx, struct grpc_call *call, struct err *err)
{
    struct gateway *g = ctx;
    struct buf *b = grpc_scratch(call);
    struct buf key = BUF_INIT;
    bool found = false;
    int rc = policy_key(pb_find(grpc_request(call), 1), &key, err);
    if (rc == 0)
        rc = registry_get(g->own, buf_slice(&key), b, &found, err);
    if (rc == 0 && !found)
        pb_put_bytes(b, POLICY_ETAG, slice_make(NO_POLICY_ETAG, 3));
    buf_close(&key);
    return rc ? rc : grpc_send(call, b, err);
}

int admin_set_iam_policy(void *ctx, struct grpc_call *call, struct err *err)
{
    struct gateway *g = ctx;
    struct slice policy = pb_find(grpc_request(call), 2);
    struct buf *b = grpc_scratch(call);
    struct buf kept = BUF_INIT;
    struct buf key = BUF_INIT;
    int rc = policy_key(pb_find(grpc_request(call), 1), &key, err);
    if (rc == 0 && !pb_is_message(policy))
        rc = service_bad_request(err);
    pb_copy_fields(&kept, policy, POLICY_ETAG, false);
    pb_put_bytes(&kept, POLICY_ETAG, SLICE_LIT("set"));
    if (rc == 0)
        rc = registry_put(g->quarry, buf_slice(&key), buf_slice(&kept), err);
    buf_append_slice(b, buf_slice(&kept));
    buf_close(&kept);
    buf_close(&key);
    return rc ? rc : grpc_send(call, b, err);
}

/* All that is asked for. */
int admin_test_iam_permissions(void *ctx,
                               struct grpc_call *call,
                               struct err *err)
{
    struct cursor c = cursor_make(grpc_request(call));
    struct buf *b = grpc_scratch(call);
    struct pb_field f;
    (void)ctx;
    while (pb_next(&c, &f))
        if (pb_is_bytes(&f, 2))
            pb_put_bytes(b, 1, f.bytes);
    return c.bad ? service_bad_request(err) : grpc_send(call, b, err);
}

/* ListAuthorizedViews and its like: there is nothing. */
int admin_list_nothing(void *ctx, struct grpc_call *call, struct err *err)
{
    (void)ctx;
    return service_reply_empty(call, err);
}
