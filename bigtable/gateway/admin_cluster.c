/* The instance admin API: clusters, on paper. Rows are where the store has
 * them; what a client says about clusters is kept and told to it again.
 *
 *     CreateClusterRequest    parent 1, cluster_id 2, cluster 3
 *     ListClustersResponse    clusters 1
 *     Cluster                 name 1, location 2, state 3, serve_nodes 4,
 *                             default_storage_type 5, encryption_config 6,
 *                             cluster_config 7, node_scaling_factor 9
 *     ClusterConfig           cluster_autoscaling_config 1 {limits 1 {min 1,
 *                             max 2}, targets 2 {cpu 2, storage 3}}
 *
 * An instance without clusters is said to have one, "ID-cluster".
 */
#include <string.h>

#include "base/core/panic.h"
#include "bigtable/gateway/admin_resource.h"
#include "bigtable/gateway/backup_name.h"
#include "bigtable/gateway/pb.h"
#include "bigtable/gateway/registry.h"

enum cluster_field {
    CLUSTER_LOCATION = 2,
    CLUSTER_STATE = 3,
    CLUSTER_NODES = 4,
    CLUSTER_STORAGE = 5,
    CLUSTER_CONFIG = 7,
    CLUSTER_SCALING_FACTOR = 9,
};

#define STATE_READY    1
#define STORAGE_SSD    1
#define STORAGE_HDD    2
#define SCALING_2X     2
#define IMPLIED_SUFFIX "-cluster"

static void put_implied(struct buf *out)
{
    pb_put_bytes(out, CLUSTER_LOCATION,
                 SLICE_LIT("projects/quarry/locations/local"));
    pb_put_integer(out, CLUSTER_STATE, STATE_READY);
    pb_put_integer(out, CLUSTER_NODES, 1);
    pb_put_integer(out, CLUSTER_STORAGE, STORAGE_SSD);
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

static const struct message_field limit_fields[] = {
    {"min_serve_nodes", 1, PB_VARINT, FIELD_KEPT, NULL, 0},
    {"max_serve_nodes", 2, PB_VARINT, FIELD_KEPT, NULL, 0},
};

static const struct message_type limit_type = {
    "AutoscalingLimits", limit_fields, ARRAY_LEN(limit_fields)};

static const struct message_field target_fields[] = {
    {"cpu_utilization_percent", 2, PB_VARINT, FIELD_KEPT, NULL, 0},
    {"storage_utilization_gib_per_node", 3, PB_VARINT, FIELD_KEPT, NULL, 0},
};

static const struct message_type target_type = {
    "AutoscalingTargets", target_fields, ARRAY_LEN(target_fields)};

static const struct message_field autoscaling_fields[] = {
    {"autoscaling_limits", 1, PB_BYTES, FIELD_KEPT, &limit_type, 0},
    {"autoscaling_targets", 2, PB_BYTES, FIELD_KEPT, &target_type, 0},
};

static const struct message_type autoscaling_type = {
    "ClusterAutoscalingConfig", autoscaling_fields,
    ARRAY_LEN(autoscaling_fields)};

static const struct message_field config_fields[] = {
    {"cluster_autoscaling_config", 1, PB_BYTES, FIELD_KEPT, &autoscaling_type,
     0},
};

static const struct message_type config_type = {"ClusterConfig", config_fields,
                                                ARRAY_LEN(config_fields)};

static const struct message_field cluster_fields[] = {
    {"name", 1, PB_BYTES, FIELD_OUTPUT, NULL, 0},
    {"location", CLUSTER_LOCATION, PB_BYTES, FIELD_FIXED, NULL, 0},
    {"state", CLUSTER_STATE, PB_VARINT, FIELD_OUTPUT, NULL, 0},
    {"serve_nodes", CLUSTER_NODES, PB_VARINT, FIELD_KEPT, NULL, 0},
    {"default_storage_type", CLUSTER_STORAGE, PB_VARINT, FIELD_FIXED, NULL, 0},
    {"encryption_config", 6, PB_BYTES, FIELD_REFUSED, NULL, 0},
    {"cluster_config", CLUSTER_CONFIG, PB_BYTES, FIELD_KEPT, &config_type, 0},
    {"node_scaling_factor", CLUSTER_SCALING_FACTOR, PB_VARINT, FIELD_FIXED,
     NULL, 0},
};

static const struct message_type cluster_type = {"Cluster", cluster_fields,
                                                 ARRAY_LEN(cluster_fields)};

static int bad_autoscaling(const char *what, struct err *err)
{
    return err_set(err, ERR_INVALID, "cluster_autoscaling_config: %s", what);
}

/* GiB a node; 0 stands for the least. */
static bool is_storage_target(uint64_t gib, bool is_hdd)
{
    uint64_t least = is_hdd ? 8192 : 2560;
    return gib == 0 || (gib >= least && gib <= 2 * least);
}

static int check_autoscaling(struct slice config, bool is_hdd, struct err *err)
{
    struct slice limits = pb_find(config, 1);
    struct slice targets = pb_find(config, 2);
    uint64_t min = pb_find_integer(limits, 1);
    uint64_t max = pb_find_integer(limits, 2);
    uint64_t cpu = pb_find_integer(targets, 2);
    if (min < 1 || max < min || max > INT32_MAX)
        return bad_autoscaling("min_serve_nodes must be at least 1, and "
                               "max_serve_nodes no less",
                               err);
    if (cpu < 10 || cpu > 80)
        return bad_autoscaling("cpu_utilization_percent must be 10 to 80", err);
    if (!is_storage_target(pb_find_integer(targets, 3), is_hdd))
        return bad_autoscaling("storage_utilization_gib_per_node must be 2560 "
                               "to 5120 (SSD) or 8192 to 16384 (HDD)",
                               err);
    return 0;
}

/* The nodes that a cluster is said to have: as many as were asked for, within
 * the limits of autoscaling, and at least one. */
static uint64_t nodes_of(struct slice message, struct slice autoscaling)
{
    struct slice limits = pb_find(autoscaling, 1);
    uint64_t nodes = MAX_OF(pb_find_integer(message, CLUSTER_NODES), 1);
    if (limits.len == 0)
        return nodes;
    nodes = MAX_OF(nodes, pb_find_integer(limits, 1));
    return MIN_OF(nodes, pb_find_integer(limits, 2));
}

static int complete_cluster(struct gateway *g,
                            struct slice message,
                            bool is_new,
                            struct buf *out,
                            struct err *err)
{
    struct slice autoscaling = pb_find(pb_find(message, CLUSTER_CONFIG), 1);
    uint64_t storage = pb_find_integer(message, CLUSTER_STORAGE);
    uint64_t nodes = pb_find_integer(message, CLUSTER_NODES);
    struct buf rest = BUF_INIT;
    int rc = 0;
    (void)g;
    (void)is_new;
    if (nodes > INT32_MAX)
        return err_set(err, ERR_INVALID, "serve_nodes must not be negative");
    if (autoscaling.len)
        rc = check_autoscaling(autoscaling, storage == STORAGE_HDD, err);
    if (rc)
        return rc;
    nodes = nodes_of(message, autoscaling);
    if (pb_find_integer(message, CLUSTER_SCALING_FACTOR) == SCALING_2X &&
        nodes % 2 != 0)
        return err_set(err, ERR_INVALID,
                       "node_scaling_factor 2X: %llu nodes are not in pairs",
                       (unsigned long long)nodes);
    pb_copy_fields(&rest, message, CLUSTER_STATE, false);
    pb_copy_fields(out, buf_slice(&rest), CLUSTER_NODES, false);
    buf_close(&rest);
    pb_put_integer(out, CLUSTER_STATE, STATE_READY);
    pb_put_integer(out, CLUSTER_NODES, (int64_t)nodes);
    if (storage == 0)
        pb_put_integer(out, CLUSTER_STORAGE, STORAGE_SSD);
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

/* --- all of an instance -----------------------------------------------------
 */

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

/* --- create -----------------------------------------------------------------
 */

int admin_create_cluster(void *ctx, struct grpc_call *call, struct err *err)
{
    struct gateway *g = ctx;
    struct slice request = grpc_request(call);
    struct resource_name name;
    struct buf message = BUF_INIT;
    struct buf kept = BUF_INIT;
    int rc = resource_name_parse_kind(pb_find(request, 1), "", &name, err);
    if (rc)
        return rc;
    rc = resource_get(g, &instance_kind, &name, &kept, err);
    buf_clear(&kept);
    name.id = pb_find(request, 2);
    if (rc == 0)
        rc = resource_create(g, &cluster_kind, &name, pb_find(request, 3), err);
    if (rc == 0)
        rc = resource_get(g, &cluster_kind, &name, &kept, err);
    if (rc == 0) {
        resource_put(&message, &cluster_kind, &name, buf_slice(&kept));
        rc = admin_reply_operation(g, call, "Cluster", "CreateClusterMetadata",
                                   buf_slice(&message), err);
    }
    buf_close(&message);
    buf_close(&kept);
    return rc;
}

/* --- get, list, update, delete ----------------------------------------------
 */

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
    size_t opened = pb_open(l->out, 1);
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
    int rc = resource_name_parse_kind(pb_find(grpc_request(call), 1), "",
                                      &l.name, err);
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
    int rc = resource_name_parse_kind(pb_find(grpc_request(call), 1),
                                      "clusters", &name, err);
    if (rc == 0)
        rc = resource_get(g, &cluster_kind, &name, &ignored, err);
    if (rc == 0)
        rc = check_deletion(g, call, &name, err);
    buf_close(&ignored);
    return rc ? rc : resource_handle_delete(g, &cluster_kind, call, err);
}
