/* Access policies of the public API, and lists of resources that do not exist
 * here. A policy is kept and given back, and has no effect: access is
 * controlled by the store's own rights (quarry acl) and by the gateway's
 * authentication.
 */
#include "base/core/pb.h"
#include "bigtable/gateway/admin.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/resource_registry.h"

/* The real service sends this for a resource without a policy, and clients
 * compare. */
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
    int rc =
        policy_key(pb_find(grpc_request(call), PB_GetIamPolicyRequest_resource),
                   &key, err);
    if (rc == 0)
        rc = registry_get(g->own, buf_slice(&key), b, &found, err);
    if (rc == 0 && !found)
        pb_put_bytes(b, PB_Policy_etag, slice_make(NO_POLICY_ETAG, 3));
    buf_close(&key);
    return rc ? rc : grpc_send(call, b, err);
}

int admin_set_iam_policy(void *ctx, struct grpc_call *call, struct err *err)
{
    struct gateway *g = ctx;
    struct slice policy =
        pb_find(grpc_request(call), PB_SetIamPolicyRequest_policy);
    struct buf *b = grpc_scratch(call);
    struct buf kept = BUF_INIT;
    struct buf key = BUF_INIT;
    int rc =
        policy_key(pb_find(grpc_request(call), PB_SetIamPolicyRequest_resource),
                   &key, err);
    if (rc == 0 && !pb_is_message(policy))
        rc = service_bad_request(err);
    pb_copy_fields(&kept, policy, PB_Policy_etag, false);
    pb_put_bytes(&kept, PB_Policy_etag, SLICE_LIT("set"));
    if (rc == 0)
        rc = registry_put(g->quarry, buf_slice(&key), buf_slice(&kept), err);
    buf_append_slice(b, buf_slice(&kept));
    buf_close(&kept);
    buf_close(&key);
    return rc ? rc : grpc_send(call, b, err);
}

/* Grants every permission that the request lists. */
int admin_test_iam_permissions(void *ctx,
                               struct grpc_call *call,
                               struct err *err)
{
    struct cursor c = cursor_make(grpc_request(call));
    struct buf *b = grpc_scratch(call);
    struct pb_field f;
    (void)ctx;
    while (pb_next(&c, &f))
        if (pb_is_bytes(&f, PB_TestIamPermissionsRequest_permissions))
            pb_put_bytes(b, PB_TestIamPermissionsResponse_permissions, f.bytes);
    return c.bad ? service_bad_request(err) : grpc_send(call, b, err);
}

/* ListAuthorizedViews and the like: an empty list. */
int admin_list_nothing(void *ctx, struct grpc_call *call, struct err *err)
{
    (void)ctx;
    return service_reply_empty(call, err);
}
