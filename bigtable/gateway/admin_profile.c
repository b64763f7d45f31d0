/* The instance admin API: app profiles. They are kept; all calls are served the
 * same way.
 *
 *     CreateAppProfileRequest    parent 1, app_profile_id 2, app_profile 3
 *     ListAppProfilesResponse    app_profiles 1
 *     AppProfile                 name 1, etag 2, description 3, routing 5 or 6,
 *                                priority 7, data_boost 10, isolation 11
 */
#include <string.h>

#include "base/core/panic.h"
#include "bigtable/gateway/admin_resource.h"
#include "bigtable/gateway/pb.h"
#include "bigtable/gateway/registry.h"

enum profile_field {
    PROFILE_DESCRIPTION = 3,
    PROFILE_MULTI_CLUSTER = 5,
    PROFILE_SINGLE_CLUSTER = 6,
};

#define DEFAULT_ID "default"

/* Every instance has the profile "default"; it is listed where it is alone. */
static bool implied_profile(struct gateway *g,
                            const struct resource_name *name,
                            struct buf *out)
{
    (void)g;
    if (!slice_eq_str(name->id, DEFAULT_ID))
        return false;
    pb_put_bytes(out, PROFILE_MULTI_CLUSTER, SLICE_EMPTY);
    return true;
}

static const struct admin_field profile_fields[] = {
    {"description", PROFILE_DESCRIPTION},
    {"multi_cluster_routing_use_any", PROFILE_MULTI_CLUSTER},
    {"single_cluster_routing", PROFILE_SINGLE_CLUSTER},
    {"priority", 7},
    {"data_boost_isolation_read_only", 10},
    {"standard_isolation", 11},
};

const struct resource_kind app_profile_kind = {
    .type = "AppProfile",
    .word = "appProfiles",
    .update_metadata = "UpdateAppProfileMetadata",
    .fields = profile_fields,
    .field_count = ARRAY_LEN(profile_fields),
    .implied = implied_profile,
};

int admin_create_app_profile(void *ctx, struct grpc_call *call, struct err *err)
{
    struct gateway *g = ctx;
    struct slice request = grpc_request(call);
    struct slice message = pb_find(request, 3);
    struct resource_name name;
    struct buf *b = grpc_scratch(call);
    struct buf kept = BUF_INIT;
    int rc = resource_name_parse_kind(pb_find(request, 1), "", &name, err);
    name.id = pb_find(request, 2);
    if (rc == 0)
        rc = resource_create(g, &app_profile_kind, &name, message, err);
    if (rc == 0)
        rc = resource_get(g, &app_profile_kind, &name, &kept, err);
    if (rc == 0)
        resource_put(b, &app_profile_kind, &name, buf_slice(&kept));
    buf_close(&kept);
    return rc ? rc : grpc_send(call, b, err);
}

int admin_get_app_profile(void *ctx, struct grpc_call *call, struct err *err)
{
    return resource_handle_get(ctx, &app_profile_kind, call, err);
}

struct listing {
    struct resource_name name;
    struct buf *out;
    size_t prefix_bytes;
    size_t count;
};

static void
put_profile(struct listing *l, struct slice id, struct slice message)
{
    size_t opened = pb_open(l->out, 1);
    l->name.id = id;
    resource_put(l->out, &app_profile_kind, &l->name, message);
    pb_close(l->out, opened);
    l->count++;
}

static int visit_profile(void *ctx,
                         struct slice key,
                         struct slice message,
                         struct err *err)
{
    struct listing *l = ctx;
    (void)err;
    put_profile(l, slice_sub(key, l->prefix_bytes, key.len), message);
    return 0;
}

int admin_list_app_profiles(void *ctx, struct grpc_call *call, struct err *err)
{
    struct gateway *g = ctx;
    struct listing l = {.out = grpc_scratch(call)};
    struct buf text = BUF_INIT;
    int rc = resource_name_parse_kind(pb_find(grpc_request(call), 1), "",
                                      &l.name, err);
    if (rc == 0) {
        admin_key(&text, l.name.instance, "appProfiles", SLICE_EMPTY);
        l.prefix_bytes = text.len;
        rc = registry_each(g->quarry, buf_slice(&text), visit_profile, &l, err);
    }
    buf_clear(&text);
    if (rc == 0 && l.count == 0) {
        l.name.id = SLICE_LIT(DEFAULT_ID);
        (void)implied_profile(g, &l.name, &text);
        put_profile(&l, SLICE_LIT(DEFAULT_ID), buf_slice(&text));
    }
    buf_close(&text);
    return rc ? rc : grpc_send(call, l.out, err);
}

int admin_update_app_profile(void *ctx, struct grpc_call *call, struct err *err)
{
    return resource_handle_update(ctx, &app_profile_kind, call, err);
}

int admin_delete_app_profile(void *ctx, struct grpc_call *call, struct err *err)
{
    return resource_handle_delete(ctx, &app_profile_kind, call, err);
}
