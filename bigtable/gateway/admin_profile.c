/* The instance admin API: app profiles. What they say about routing is kept and
 * given back; what they allow is checked (app_profile.h).
 *
 *     CreateAppProfileRequest    parent 1, app_profile_id 2, app_profile 3
 *     ListAppProfilesResponse    app_profiles 1
 *     AppProfile                 name 1, etag 2, description 3, routing 5 or 6,
 *                                priority 7 (the old way to say 11),
 *                                data_boost_isolation_read_only 10,
 *                                standard_isolation 11
 */
#include <string.h>

#include "base/core/panic.h"
#include "bigtable/gateway/admin_resource.h"
#include "bigtable/gateway/app_profile.h"
#include "bigtable/gateway/pb.h"
#include "bigtable/gateway/registry.h"

enum profile_field {
    PROFILE_DESCRIPTION = 3,
    PROFILE_MULTI_CLUSTER = 5,
    PROFILE_SINGLE_CLUSTER = 6,
    PROFILE_PRIORITY = 7,
    PROFILE_DATA_BOOST = 10,
    PROFILE_STANDARD = 11,
};

/* Fields of which only one is set. */
enum profile_oneof {
    ONEOF_ROUTING = 1,
    ONEOF_ISOLATION,
};

#define DEFAULT_ID APP_PROFILE_DEFAULT

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

static const struct message_field multi_cluster_fields[] = {
    {"cluster_ids", 1, PB_BYTES, FIELD_KEPT, NULL, 0},
    {"row_affinity", 3, PB_BYTES, FIELD_KEPT, NULL, 0},
};

static const struct message_type multi_cluster_type = {
    "MultiClusterRoutingUseAny", multi_cluster_fields,
    ARRAY_LEN(multi_cluster_fields)};

static const struct message_field single_cluster_fields[] = {
    {"cluster_id", 1, PB_BYTES, FIELD_KEPT, NULL, 0},
    {"allow_transactional_writes", 2, PB_VARINT, FIELD_KEPT, NULL, 0},
};

static const struct message_type single_cluster_type = {
    "SingleClusterRouting", single_cluster_fields,
    ARRAY_LEN(single_cluster_fields)};

static const struct message_field standard_fields[] = {
    {"priority", 1, PB_VARINT, FIELD_KEPT, NULL, 0},
};

static const struct message_type standard_type = {
    "StandardIsolation", standard_fields, ARRAY_LEN(standard_fields)};

static const struct message_field data_boost_fields[] = {
    {"compute_billing_owner", 1, PB_VARINT, FIELD_KEPT, NULL, 0},
};

static const struct message_type data_boost_type = {
    "DataBoostIsolationReadOnly", data_boost_fields,
    ARRAY_LEN(data_boost_fields)};

static const struct message_field profile_fields[] = {
    {"name", 1, PB_BYTES, FIELD_OUTPUT, NULL, 0},
    {"etag", 2, PB_BYTES, FIELD_OUTPUT, NULL, 0},
    {"description", PROFILE_DESCRIPTION, PB_BYTES, FIELD_KEPT, NULL, 0},
    {"multi_cluster_routing_use_any", PROFILE_MULTI_CLUSTER, PB_BYTES,
     FIELD_KEPT, &multi_cluster_type, ONEOF_ROUTING},
    {"single_cluster_routing", PROFILE_SINGLE_CLUSTER, PB_BYTES, FIELD_KEPT,
     &single_cluster_type, ONEOF_ROUTING},
    {"standard_isolation", PROFILE_STANDARD, PB_BYTES, FIELD_KEPT,
     &standard_type, ONEOF_ISOLATION},
    {"data_boost_isolation_read_only", PROFILE_DATA_BOOST, PB_BYTES, FIELD_KEPT,
     &data_boost_type, ONEOF_ISOLATION},
    /* By its name in masks alone: see translate_profile(). */
    {"priority", PROFILE_STANDARD, PB_BYTES, FIELD_KEPT, NULL, ONEOF_ISOLATION},
};

static const struct message_type profile_type = {"AppProfile", profile_fields,
                                                 ARRAY_LEN(profile_fields)};

static void put_priority(struct buf *out, uint64_t priority)
{
    size_t opened = pb_open(out, PROFILE_STANDARD);
    pb_put_integer(out, 1, (int64_t)priority);
    pb_close(out, opened);
}

/* As the API demands: `priority` sets `standard_isolation.priority`. */
static void translate_profile(struct slice given, struct buf *out)
{
    uint64_t priority = pb_find_integer(given, PROFILE_PRIORITY);
    pb_copy_fields(out, given, PROFILE_PRIORITY, false);
    if (priority)
        put_priority(out, priority);
}

static int complete_profile(struct gateway *g,
                            struct slice message,
                            bool is_new,
                            struct buf *out,
                            struct err *err)
{
    bool has_single = pb_has_field(message, PROFILE_SINGLE_CLUSTER);
    (void)g;
    (void)is_new;
    if (!has_single && !pb_has_field(message, PROFILE_MULTI_CLUSTER))
        return err_set(err, ERR_INVALID,
                       "AppProfile: no routing policy (set "
                       "multi_cluster_routing_use_any or "
                       "single_cluster_routing)");
    if (has_single &&
        pb_find(pb_find(message, PROFILE_SINGLE_CLUSTER), 1).len == 0)
        return err_set(err, ERR_INVALID,
                       "AppProfile.single_cluster_routing: no cluster_id");
    buf_append_slice(out, message);
    return 0;
}

const struct resource_kind app_profile_kind = {
    .type = "AppProfile",
    .word = "appProfiles",
    .update_metadata = "UpdateAppProfileMetadata",
    .fields = &profile_type,
    .has_etag = true,
    .field_description = 3,
    .implied = implied_profile,
    .translate = translate_profile,
    .complete = complete_profile,
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
    app_profile_cache_forget(g->profiles);
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
        rc = registry_each(g->own, buf_slice(&text), visit_profile, &l, err);
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
    struct gateway *g = ctx;
    int rc = resource_handle_update(g, &app_profile_kind, call, err);
    app_profile_cache_forget(g->profiles);
    return rc;
}

int admin_delete_app_profile(void *ctx, struct grpc_call *call, struct err *err)
{
    struct gateway *g = ctx;
    int rc = resource_handle_delete(g, &app_profile_kind, call, err);
    app_profile_cache_forget(g->profiles);
    return rc;
}
