/* The instance admin API: app profiles. Their routing policy is kept and given
 * back, though there is one cluster to route to; what they allow is enforced
 * (app_profile.h). `priority` is the older way to set
 * `standard_isolation.priority`, and is kept as that. As in the service, which
 * the clients' own tests show, a profile without an isolation gets the highest
 * priority, and none has an etag: of two updates the last one counts.
 */
#include <string.h>

#include "base/core/panic.h"
#include "base/core/pb.h"
#include "bigtable/gateway/admin_resource.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/app_profile.h"
#include "bigtable/gateway/resource_registry.h"

#define DEFAULT_ID APP_PROFILE_DEFAULT

static void put_priority(struct buf *out, uint64_t priority)
{
    size_t opened = pb_open(out, PB_AppProfile_standard_isolation);
    pb_put_integer(out, PB_StandardIsolation_priority, (int64_t)priority);
    pb_close(out, opened);
}

/* The clusters of an instance: how many, and the id of the last one. */
struct cluster_ids {
    size_t count;
    struct buf last;
};

static void take_cluster_id(void *ctx, struct slice id, struct slice message)
{
    struct cluster_ids *ids = ctx;
    (void)message;
    ids->count++;
    buf_clear(&ids->last);
    buf_append_slice(&ids->last, id);
}

/* Every instance has the profile "default". As in the service it routes to the
 * instance's only cluster, with transactions, or else to any. */
static bool implied_profile(struct gateway *g,
                            const struct resource_name *name,
                            struct buf *out)
{
    struct cluster_ids ids = {0, BUF_INIT};
    struct err ignored = ERR_INIT;
    if (!slice_eq_str(name->id, DEFAULT_ID))
        return false;
    if (admin_each_cluster(g, name->instance, take_cluster_id, &ids,
                           &ignored) == 0 &&
        ids.count == 1) {
        size_t opened = pb_open(out, PB_AppProfile_single_cluster_routing);
        pb_put_bytes(out, PB_SingleClusterRouting_cluster_id,
                     buf_slice(&ids.last));
        pb_put_integer(out, PB_SingleClusterRouting_allow_transactional_writes,
                       1);
        pb_close(out, opened);
    } else {
        pb_put_bytes(out, PB_AppProfile_multi_cluster_routing_use_any,
                     SLICE_EMPTY);
    }
    buf_close(&ids.last);
    put_priority(out, PB_AppProfile_Priority_PRIORITY_HIGH);
    return true;
}

static const struct message_rule multi_cluster_rules[] = {
    [PB_MultiClusterRoutingUseAny_cluster_ids] = {.rule = FIELD_KEPT},
    [PB_MultiClusterRoutingUseAny_row_affinity] = {.rule = FIELD_KEPT},
};

static const struct message_type multi_cluster_type =
    MESSAGE_TYPE(MultiClusterRoutingUseAny, multi_cluster_rules);

static const struct message_rule single_cluster_rules[] = {
    [PB_SingleClusterRouting_cluster_id] = {.rule = FIELD_KEPT},
    [PB_SingleClusterRouting_allow_transactional_writes] = {.rule = FIELD_KEPT},
};

static const struct message_type single_cluster_type =
    MESSAGE_TYPE(SingleClusterRouting, single_cluster_rules);

static const struct message_rule standard_rules[] = {
    [PB_StandardIsolation_priority] = {.rule = FIELD_KEPT},
};

static const struct message_type standard_type =
    MESSAGE_TYPE(StandardIsolation, standard_rules);

static const struct message_rule data_boost_rules[] = {
    [PB_DataBoostIsolationReadOnly_compute_billing_owner] = {.rule =
                                                                 FIELD_KEPT},
};

static const struct message_type data_boost_type =
    MESSAGE_TYPE(DataBoostIsolationReadOnly, data_boost_rules);

static const struct message_rule profile_rules[] = {
    [PB_AppProfile_name] = {.rule = FIELD_OUTPUT},
    [PB_AppProfile_etag] = {.rule = FIELD_OUTPUT},
    [PB_AppProfile_description] = {.rule = FIELD_KEPT},
    [PB_AppProfile_multi_cluster_routing_use_any] = {FIELD_KEPT,
                                                     &multi_cluster_type, 0},
    [PB_AppProfile_single_cluster_routing] = {FIELD_KEPT, &single_cluster_type,
                                              0},
    [PB_AppProfile_standard_isolation] = {FIELD_KEPT, &standard_type, 0},
    [PB_AppProfile_data_boost_isolation_read_only] = {FIELD_KEPT,
                                                      &data_boost_type, 0},
    [PB_AppProfile_priority] = {.rule = FIELD_KEPT,
                                .kept_as = PB_AppProfile_standard_isolation},
};

static const struct message_type profile_type =
    MESSAGE_TYPE(AppProfile, profile_rules);

/* As the API demands: `priority` sets `standard_isolation.priority`. */
static void translate_profile(struct slice given, struct buf *out)
{
    uint64_t priority = pb_find_integer(given, PB_AppProfile_priority);
    pb_copy_fields(out, given, PB_AppProfile_priority, false);
    if (priority)
        put_priority(out, priority);
}

static int complete_profile(struct gateway *g,
                            struct slice message,
                            bool is_new,
                            struct buf *out,
                            struct err *err)
{
    bool has_single =
        pb_has_field(message, PB_AppProfile_single_cluster_routing);
    (void)g;
    (void)is_new;
    if (!has_single &&
        !pb_has_field(message, PB_AppProfile_multi_cluster_routing_use_any))
        return err_set(err, ERR_INVALID,
                       "AppProfile: no routing policy (set "
                       "multi_cluster_routing_use_any or "
                       "single_cluster_routing)");
    if (has_single &&
        pb_find(pb_find(message, PB_AppProfile_single_cluster_routing),
                PB_SingleClusterRouting_cluster_id)
                .len == 0)
        return err_set(err, ERR_INVALID,
                       "AppProfile.single_cluster_routing: no cluster_id");
    buf_append_slice(out, message);
    if (!pb_has_field(message, PB_AppProfile_standard_isolation) &&
        !pb_has_field(message, PB_AppProfile_data_boost_isolation_read_only))
        put_priority(out, PB_AppProfile_Priority_PRIORITY_HIGH);
    return 0;
}

const struct resource_kind app_profile_kind = {
    .type = "AppProfile",
    .word = "appProfiles",
    .update_metadata = "UpdateAppProfileMetadata",
    .fields = &profile_type,
    .implied = implied_profile,
    .translate = translate_profile,
    .complete = complete_profile,
};

int admin_create_app_profile(void *ctx, struct grpc_call *call, struct err *err)
{
    struct gateway *g = ctx;
    struct slice request = grpc_request(call);
    struct slice message =
        pb_find(request, PB_CreateAppProfileRequest_app_profile);
    struct resource_name name;
    struct buf *b = grpc_scratch(call);
    struct buf kept = BUF_INIT;
    int rc = resource_name_parse_kind(
        pb_find(request, PB_CreateAppProfileRequest_parent), "", &name, err);
    name.id = pb_find(request, PB_CreateAppProfileRequest_app_profile_id);
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
    bool has_default; /* Somebody has changed it, so that it is kept. */
};

static void
put_profile(struct listing *l, struct slice id, struct slice message)
{
    size_t opened = pb_open(l->out, PB_ListAppProfilesResponse_app_profiles);
    l->name.id = id;
    resource_put(l->out, &app_profile_kind, &l->name, message);
    pb_close(l->out, opened);
    l->has_default |= slice_eq_str(id, DEFAULT_ID);
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
    int rc = resource_name_parse_kind(
        pb_find(grpc_request(call), PB_ListAppProfilesRequest_parent), "",
        &l.name, err);
    if (rc == 0) {
        admin_key(&text, l.name.instance, "appProfiles", SLICE_EMPTY);
        l.prefix_bytes = text.len;
        rc = registry_each(g->own, buf_slice(&text), visit_profile, &l, err);
    }
    buf_clear(&text);
    if (rc == 0 && !l.has_default) {
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
