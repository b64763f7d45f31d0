/* The instance admin API: clusters, on paper. Rows are where the store has
 * them; what a client says about clusters is kept and told to it again.
 *
 *     CreateClusterRequest    parent 1, cluster_id 2, cluster 3
 *     ListClustersResponse    clusters 1
 *     Cluster                 name 1, location 2, state 3, serve_nodes 4,
 *                             default_storage_type 5, encryption_config 6,
 *                             cluster_config 7
 *
 * An instance without clusters is said to have one, "ID-cluster".
 */
#include <string.h>

#include "base/core/panic.h"
#include "bigtable/gateway/admin_resource.h"
#include "bigtable/gateway/pb.h"
#include "bigtable/gateway/registry.h"

enum cluster_field {
    CLUSTER_LOCATION = 2,
    CLUSTER_STATE = 3,
    CLUSTER_NODES = 4,
    CLUSTER_STORAGE = 5,
    CLUSTER_CONFIG = 7,
};

#define STATE_READY    1
#define STORAGE_SSD    1
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

static const struct admin_field cluster_fields[] = {
    {"serve_nodes", CLUSTER_NODES},
    {"cluster_config", CLUSTER_CONFIG},
    {"default_storage_type", CLUSTER_STORAGE},
};

const struct resource_kind cluster_kind = {
    .type = "Cluster",
    .word = "clusters",
    .update_metadata = "UpdateClusterMetadata",
    .fields = cluster_fields,
    .field_count = ARRAY_LEN(cluster_fields),
    .implied = implied_cluster,
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
    rc = registry_each(g->quarry, buf_slice(&text), visit_cluster, &w, err);
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

int resource_create_cluster(struct gateway *g,
                            const struct resource_name *name,
                            struct slice message,
                            struct err *err)
{
    struct buf kept = BUF_INIT;
    int rc;
    pb_copy_fields(&kept, message, CLUSTER_STATE, false);
    pb_put_integer(&kept, CLUSTER_STATE, STATE_READY);
    if (pb_find_integer(message, CLUSTER_STORAGE) == 0)
        pb_put_integer(&kept, CLUSTER_STORAGE, STORAGE_SSD);
    rc = resource_create(g, &cluster_kind, name, buf_slice(&kept), err);
    buf_close(&kept);
    return rc;
}

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
        rc = resource_create_cluster(g, &name, pb_find(request, 3), err);
    if (rc == 0)
        rc = resource_get(g, &cluster_kind, &name, &kept, err);
    if (rc == 0) {
        resource_put(&message, &cluster_kind, &name, buf_slice(&kept));
        rc = admin_reply_operation(call, "Cluster", "CreateClusterMetadata",
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
        rc = registry_each(g->quarry, SLICE_LIT("instances/"), visit_any, &l,
                           err);
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
        rc = admin_reply_operation(call, "Cluster", "UpdateClusterMetadata",
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

int admin_delete_cluster(void *ctx, struct grpc_call *call, struct err *err)
{
    return resource_handle_delete(ctx, &cluster_kind, call, err);
}
