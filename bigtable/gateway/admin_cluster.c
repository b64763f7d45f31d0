/* The instance admin API: clusters, on paper. Rows are where the store has
 * them; what a client sets of a cluster is kept and given back, and checked as
 * the real service checks it, so that clients that manage clusters run
 * unchanged.
 *
 * An instance without clusters appears to have one, "ID-cluster".
 */
#include <string.h>

#include "base/core/panic.h"
#include "base/core/pb.h"
#include "bigtable/gateway/admin_resource.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/backup_name.h"
#include "bigtable/gateway/resource_registry.h"

#define IMPLIED_SUFFIX "-cluster"

static void put_implied(struct buf *out)
{
    pb_put_bytes(out, PB_Cluster_location,
                 SLICE_LIT("projects/quarry/locations/local"));
    pb_put_integer(out, PB_Cluster_state, PB_Cluster_State_READY);
    pb_put_integer(out, PB_Cluster_serve_nodes, 1);
    pb_put_integer(out, PB_Cluster_default_storage_type, PB_StorageType_SSD);
}

static bool implied_cluster(struct gateway *g,
                            const struct resource_name *name,
                            struct buf *out)
{
    struct slice suffix = SLICE_LIT(IMPLIED_SUFFIX);
    struct buf ignored = BUF_INIT;
    bool good = slice_ends_with(name->id, suffix) &&
                slice_eq(slice_sub(name->id, 0, name->id.len - suffix.len),
                         name->instance) &&
                instance_kind.implied(g, name, &ignored);
    buf_close(&ignored);
    if (good)
        put_implied(out);
    return good;
}

static const struct message_rule limit_rules[] = {
    [PB_AutoscalingLimits_min_serve_nodes] = {.rule = FIELD_KEPT},
    [PB_AutoscalingLimits_max_serve_nodes] = {.rule = FIELD_KEPT},
};

static const struct message_type limit_type =
    MESSAGE_TYPE(AutoscalingLimits, limit_rules);

static const struct message_rule target_rules[] = {
    [PB_AutoscalingTargets_cpu_utilization_percent] = {.rule = FIELD_KEPT},
    [PB_AutoscalingTargets_storage_utilization_gib_per_node] = {.rule =
                                                                    FIELD_KEPT},
};

static const struct message_type target_type =
    MESSAGE_TYPE(AutoscalingTargets, target_rules);

static const struct message_rule autoscaling_rules[] = {
    [PB_ClusterAutoscalingConfig_autoscaling_limits] = {FIELD_KEPT, &limit_type,
                                                        0},
    [PB_ClusterAutoscalingConfig_autoscaling_targets] = {FIELD_KEPT,
                                                         &target_type, 0},
};

static const struct message_type autoscaling_type =
    MESSAGE_TYPE(ClusterAutoscalingConfig, autoscaling_rules);

static const struct message_rule config_rules[] = {
    [PB_ClusterConfig_cluster_autoscaling_config] = {FIELD_KEPT,
                                                     &autoscaling_type, 0},
};

static const struct message_type config_type =
    MESSAGE_TYPE(ClusterConfig, config_rules);

static const struct message_rule cluster_rules[] = {
    [PB_Cluster_name] = {.rule = FIELD_OUTPUT},
    [PB_Cluster_location] = {.rule = FIELD_FIXED},
    [PB_Cluster_state] = {.rule = FIELD_OUTPUT},
    [PB_Cluster_serve_nodes] = {.rule = FIELD_KEPT},
    [PB_Cluster_default_storage_type] = {.rule = FIELD_FIXED},
    [PB_Cluster_encryption_config] = {.rule = FIELD_REFUSED},
    [PB_Cluster_cluster_config] = {FIELD_KEPT, &config_type, 0},
    [PB_Cluster_node_scaling_factor] = {.rule = FIELD_FIXED},
};

static const struct message_type cluster_type =
    MESSAGE_TYPE(Cluster, cluster_rules);

static int bad_autoscaling(const char *what, struct err *err)
{
    return err_set(err, ERR_INVALID, "cluster_autoscaling_config: %s", what);
}

/* The least target of storage, in GiB a node. */
static uint64_t least_storage(bool is_hdd)
{
    return is_hdd ? 8192 : 2560;
}

/* 0 stands for the least. */
static bool is_storage_target(uint64_t gib, bool is_hdd)
{
    uint64_t least = least_storage(is_hdd);
    return gib == 0 || (gib >= least && gib <= 2 * least);
}

static int check_autoscaling(struct slice config, bool is_hdd, struct err *err)
{
    struct slice limits =
        pb_find(config, PB_ClusterAutoscalingConfig_autoscaling_limits);
    struct slice targets =
        pb_find(config, PB_ClusterAutoscalingConfig_autoscaling_targets);
    uint64_t min =
        pb_find_integer(limits, PB_AutoscalingLimits_min_serve_nodes);
    uint64_t max =
        pb_find_integer(limits, PB_AutoscalingLimits_max_serve_nodes);
    uint64_t cpu =
        pb_find_integer(targets, PB_AutoscalingTargets_cpu_utilization_percent);
    uint64_t gib = pb_find_integer(
        targets, PB_AutoscalingTargets_storage_utilization_gib_per_node);
    if (min < 1 || max < min || max > INT32_MAX)
        return bad_autoscaling("min_serve_nodes must be at least 1, and "
                               "max_serve_nodes no less",
                               err);
    if (cpu < 10 || cpu > 80)
        return bad_autoscaling("cpu_utilization_percent must be 10 to 80", err);
    if (!is_storage_target(gib, is_hdd))
        return bad_autoscaling("storage_utilization_gib_per_node must be 2560 "
                               "to 5120 (SSD) or 8192 to 16384 (HDD)",
                               err);
    return 0;
}

/* The number of nodes that a cluster appears to have, at least one: the number
 * requested, of which autoscaling leaves its most, and makes its least of a new
 * cluster. A least that is raised later adds no nodes, as in the service, where
 * load does. */
static uint64_t
nodes_of(struct slice message, struct slice autoscaling, bool is_new)
{
    struct slice limits =
        pb_find(autoscaling, PB_ClusterAutoscalingConfig_autoscaling_limits);
    uint64_t nodes =
        MAX_OF(pb_find_integer(message, PB_Cluster_serve_nodes), 1);
    if (limits.len == 0)
        return nodes;
    if (is_new)
        nodes = MAX_OF(
            nodes,
            pb_find_integer(limits, PB_AutoscalingLimits_min_serve_nodes));
    return MIN_OF(
        nodes, pb_find_integer(limits, PB_AutoscalingLimits_max_serve_nodes));
}

/* Append the cluster_config of @autoscaling, with a target of storage. */
static void
put_autoscaling(struct slice autoscaling, bool is_hdd, struct buf *out)
{
    struct buf targets = BUF_INIT;
    struct buf inner = BUF_INIT;
    struct buf config = BUF_INIT;
    buf_append_slice(
        &targets,
        pb_find(autoscaling, PB_ClusterAutoscalingConfig_autoscaling_targets));
    if (pb_find_integer(
            buf_slice(&targets),
            PB_AutoscalingTargets_storage_utilization_gib_per_node) == 0)
        pb_put_integer(&targets,
                       PB_AutoscalingTargets_storage_utilization_gib_per_node,
                       (int64_t)least_storage(is_hdd));
    pb_copy_fields(&inner, autoscaling,
                   PB_ClusterAutoscalingConfig_autoscaling_targets, false);
    pb_put_bytes(&inner, PB_ClusterAutoscalingConfig_autoscaling_targets,
                 buf_slice(&targets));
    pb_put_bytes(&config, PB_ClusterConfig_cluster_autoscaling_config,
                 buf_slice(&inner));
    pb_put_bytes(out, PB_Cluster_cluster_config, buf_slice(&config));
    buf_close(&targets);
    buf_close(&inner);
    buf_close(&config);
}

/* Append @message, checked, as it is kept: it is ready, and has @nodes. */
static void keep_cluster(struct slice message,
                         struct slice autoscaling,
                         uint64_t nodes,
                         struct buf *out)
{
    uint64_t storage =
        pb_find_integer(message, PB_Cluster_default_storage_type);
    struct buf most = BUF_INIT;
    struct buf rest = BUF_INIT;
    pb_copy_fields(&most, message, PB_Cluster_state, false);
    pb_copy_fields(&rest, buf_slice(&most), PB_Cluster_cluster_config, false);
    pb_copy_fields(out, buf_slice(&rest), PB_Cluster_serve_nodes, false);
    buf_close(&most);
    buf_close(&rest);
    if (autoscaling.len)
        put_autoscaling(autoscaling, storage == PB_StorageType_HDD, out);
    pb_put_integer(out, PB_Cluster_state, PB_Cluster_State_READY);
    pb_put_integer(out, PB_Cluster_serve_nodes, (int64_t)nodes);
    if (storage == 0)
        pb_put_integer(out, PB_Cluster_default_storage_type,
                       PB_StorageType_SSD);
}

static int complete_cluster(struct gateway *g,
                            struct slice message,
                            bool is_new,
                            struct buf *out,
                            struct err *err)
{
    struct slice autoscaling =
        pb_find(pb_find(message, PB_Cluster_cluster_config),
                PB_ClusterConfig_cluster_autoscaling_config);
    bool is_hdd = pb_find_integer(message, PB_Cluster_default_storage_type) ==
                  PB_StorageType_HDD;
    uint64_t nodes = pb_find_integer(message, PB_Cluster_serve_nodes);
    int rc = 0;
    (void)g;
    if (nodes > INT32_MAX)
        return err_set(err, ERR_INVALID, "serve_nodes must not be negative");
    if (autoscaling.len)
        rc = check_autoscaling(autoscaling, is_hdd, err);
    if (rc)
        return rc;
    nodes = nodes_of(message, autoscaling, is_new);
    if (pb_find_integer(message, PB_Cluster_node_scaling_factor) ==
            PB_Cluster_NodeScalingFactor_NODE_SCALING_FACTOR_2X &&
        nodes % 2 != 0)
        return err_set(err, ERR_INVALID,
                       "node_scaling_factor 2X: %llu nodes are not in pairs",
                       (unsigned long long)nodes);
    keep_cluster(message, autoscaling, nodes, out);
    return 0;
}

const struct resource_kind cluster_kind = {
    .type = "Cluster",
    .word = "clusters",
    .update_metadata = "UpdateClusterMetadata",
    .fields = &cluster_type,
    .implied = implied_cluster,
    .complete = complete_cluster,
};

/* --- all of an instance -------------------------------------------------- */

struct walk {
    size_t prefix_bytes;
    size_t count;
    admin_cluster_cb cb;
    void *ctx;
};

static int visit_cluster(void *ctx,
                         struct slice key,
                         struct slice message,
                         struct err *err)
{
    struct walk *w = ctx;
    (void)err;
    w->count++;
    w->cb(w->ctx, slice_sub(key, w->prefix_bytes, key.len), message);
    return 0;
}

int admin_each_cluster(struct gateway *g,
                       struct slice instance,
                       admin_cluster_cb cb,
                       void *ctx,
                       struct err *err)
{
    struct walk w = {.cb = cb, .ctx = ctx};
    struct buf text = BUF_INIT;
    int rc;
    admin_key(&text, instance, "clusters", SLICE_EMPTY);
    w.prefix_bytes = text.len;
    rc = registry_each(g->own, buf_slice(&text), visit_cluster, &w, err);
    buf_clear(&text);
    if (rc == 0 && w.count == 0) {
        struct buf message = BUF_INIT;
        buf_printf(&text, "%.*s" IMPLIED_SUFFIX, SLICE_ARG(instance));
        put_implied(&message);
        cb(ctx, buf_slice(&text), buf_slice(&message));
        buf_close(&message);
    }
    buf_close(&text);
    return rc;
}

/* --- create -------------------------------------------------------------- */

/* Append @kept as it is shown to who has created it: with the number of nodes
 * that was asked for in @given, none where autoscaling finds it. */
static void put_as_asked(struct slice kept, struct slice given, struct buf *out)
{
    uint64_t asked = pb_find_integer(given, PB_Cluster_serve_nodes);
    pb_copy_fields(out, kept, PB_Cluster_serve_nodes, false);
    if (asked)
        pb_put_integer(out, PB_Cluster_serve_nodes, (int64_t)asked);
}

int admin_create_cluster(void *ctx, struct grpc_call *call, struct err *err)
{
    struct gateway *g = ctx;
    struct slice request = grpc_request(call);
    struct slice given = pb_find(request, PB_CreateClusterRequest_cluster);
    struct resource_name name;
    struct buf message = BUF_INIT;
    struct buf kept = BUF_INIT;
    struct buf shown = BUF_INIT;
    int rc = resource_name_parse_kind(
        pb_find(request, PB_CreateClusterRequest_parent), "", &name, err);
    if (rc)
        return rc;
    rc = resource_get(g, &instance_kind, &name, &kept, err);
    buf_clear(&kept);
    name.id = pb_find(request, PB_CreateClusterRequest_cluster_id);
    if (rc == 0)
        rc = resource_create(g, &cluster_kind, &name, given, err);
    if (rc == 0)
        rc = resource_get(g, &cluster_kind, &name, &kept, err);
    if (rc == 0) {
        put_as_asked(buf_slice(&kept), given, &shown);
        resource_put(&message, &cluster_kind, &name, buf_slice(&shown));
        rc = admin_reply_operation(g, call, "Cluster", "CreateClusterMetadata",
                                   buf_slice(&message), err);
    }
    buf_close(&message);
    buf_close(&shown);
    buf_close(&kept);
    return rc;
}

/* --- get, list, update, delete ------------------------------------------- */

int admin_get_cluster(void *ctx, struct grpc_call *call, struct err *err)
{
    return resource_handle_get(ctx, &cluster_kind, call, err);
}

struct listing {
    struct resource_name name;
    struct buf *out;
};

static void put_cluster(void *ctx, struct slice id, struct slice message)
{
    struct listing *l = ctx;
    size_t opened = pb_open(l->out, PB_ListClustersResponse_clusters);
    l->name.id = id;
    resource_put(l->out, &cluster_kind, &l->name, message);
    pb_close(l->out, opened);
}

static int
visit_any(void *ctx, struct slice key, struct slice message, struct err *err)
{
    struct listing *l = ctx;
    struct resource_name n;
    struct buf full = BUF_INIT;
    (void)err;
    buf_printf(&full, "projects/p/%.*s", SLICE_ARG(key));
    if (resource_name_parse(buf_slice(&full), &n, NULL) == 0 &&
        slice_eq_str(n.kind, "clusters")) {
        l->name.instance = n.instance;
        put_cluster(l, n.id, message);
    }
    buf_close(&full);
    return 0;
}

/* Of one instance, or with "instances/-" of all. */
int admin_list_clusters(void *ctx, struct grpc_call *call, struct err *err)
{
    struct gateway *g = ctx;
    struct listing l = {.out = grpc_scratch(call)};
    struct buf ignored = BUF_INIT;
    int rc = resource_name_parse_kind(
        pb_find(grpc_request(call), PB_ListClustersRequest_parent), "", &l.name,
        err);
    if (rc == 0 && slice_eq_str(l.name.instance, "-")) {
        rc = registry_each(g->own, SLICE_LIT("instances/"), visit_any, &l, err);
    } else if (rc == 0) {
        rc = resource_get(g, &instance_kind, &l.name, &ignored, err);
        if (rc == 0)
            rc = admin_each_cluster(g, l.name.instance, put_cluster, &l, err);
    }
    buf_close(&ignored);
    return rc ? rc : grpc_send(call, l.out, err);
}

/* The request is the cluster itself; the answer an operation. */
int admin_update_cluster(void *ctx, struct grpc_call *call, struct err *err)
{
    struct buf message = BUF_INIT;
    int rc =
        resource_replace(ctx, &cluster_kind, grpc_request(call), &message, err);
    if (rc == 0)
        rc =
            admin_reply_operation(ctx, call, "Cluster", "UpdateClusterMetadata",
                                  buf_slice(&message), err);
    buf_close(&message);
    return rc;
}

int admin_partial_update_cluster(void *ctx,
                                 struct grpc_call *call,
                                 struct err *err)
{
    return resource_handle_update(ctx, &cluster_kind, call, err);
}

static void count_cluster(void *ctx, struct slice id, struct slice message)
{
    size_t *count = ctx;
    (void)id;
    (void)message;
    ++*count;
}

/* An instance keeps its last cluster, and a cluster that has backups stays. */
static int check_deletion(struct gateway *g,
                          struct grpc_call *call,
                          const struct resource_name *name,
                          struct err *err)
{
    size_t count = 0;
    bool has_backups = false;
    int rc = admin_each_cluster(g, name->instance, count_cluster, &count, err);
    if (rc == 0)
        rc = backup_exists(g, name->instance, name->id, &has_backups, err);
    if (rc || (count > 1 && !has_backups))
        return rc;
    grpc_set_code(call, GRPC_FAILED_PRECONDITION);
    if (has_backups)
        return err_set(err, ERR_DENIED,
                       "cluster %.*s has backups (delete them first)",
                       SLICE_ARG(name->id));
    return err_set(err, ERR_DENIED,
                   "cluster %.*s is the last one of its instance (delete the "
                   "instance)",
                   SLICE_ARG(name->id));
}

int admin_delete_cluster(void *ctx, struct grpc_call *call, struct err *err)
{
    struct gateway *g = ctx;
    struct resource_name name;
    struct buf ignored = BUF_INIT;
    int rc = resource_name_parse_kind(
        pb_find(grpc_request(call), PB_DeleteClusterRequest_name), "clusters",
        &name, err);
    if (rc == 0)
        rc = resource_get(g, &cluster_kind, &name, &ignored, err);
    if (rc == 0)
        rc = check_deletion(g, call, &name, err);
    buf_close(&ignored);
    return rc ? rc : resource_handle_delete(g, &cluster_kind, call, err);
}
