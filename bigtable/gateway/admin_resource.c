/* Messages under names: create, get, update, delete. A resource is a message of
 * the registry, without its name; an update reads it, merges the request into
 * it and replaces it on condition that it is unchanged.
 */
#include "bigtable/gateway/admin_resource.h"

#include "base/core/pb.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/resource_registry.h"

/* The handlers below serve all kinds, because their requests and messages agree
 * on the numbers of these fields. */
enum {
    REQUEST_NAME = PB_GetInstanceRequest_name,
    UPDATE_RESOURCE = PB_PartialUpdateInstanceRequest_instance,
    UPDATE_MASK = PB_PartialUpdateInstanceRequest_update_mask,
    FIELD_NAME = PB_Instance_name,
};

#define SAME(a, b) STATIC_ASSERT((int)PB_##a == (int)PB_##b, #a " and " #b)
SAME(GetClusterRequest_name, GetInstanceRequest_name);
SAME(GetAppProfileRequest_name, GetInstanceRequest_name);
SAME(DeleteClusterRequest_name, GetInstanceRequest_name);
SAME(DeleteAppProfileRequest_name, GetInstanceRequest_name);
SAME(PartialUpdateClusterRequest_cluster,
     PartialUpdateInstanceRequest_instance);
SAME(UpdateAppProfileRequest_app_profile,
     PartialUpdateInstanceRequest_instance);
SAME(PartialUpdateClusterRequest_update_mask,
     PartialUpdateInstanceRequest_update_mask);
SAME(UpdateAppProfileRequest_update_mask,
     PartialUpdateInstanceRequest_update_mask);
SAME(Cluster_name, Instance_name);
SAME(AppProfile_name, Instance_name);
#undef SAME

static void key_of(const struct resource_kind *k,
                   const struct resource_name *name,
                   struct buf *out)
{
    admin_key(out, name->instance, k->word, name->id);
}

void resource_put(struct buf *out,
                  const struct resource_kind *k,
                  const struct resource_name *name,
                  struct slice message)
{
    admin_put_name(out, FIELD_NAME, name->project, name->instance, k->word,
                   name->id);
    buf_append_slice(out, message);
}

int resource_get(struct gateway *g,
                 const struct resource_kind *k,
                 const struct resource_name *name,
                 struct buf *out,
                 struct err *err)
{
    struct buf key = BUF_INIT;
    bool found;
    int rc;
    key_of(k, name, &key);
    rc = registry_get(g->own, buf_slice(&key), out, &found, err);
    if (rc == 0 && !found && !k->implied(g, name, out))
        rc = err_set(err, ERR_NOTFOUND, "%s not found: %s", k->type,
                     buf_cstr(&key));
    buf_close(&key);
    return rc;
}

int resource_settle(struct gateway *g,
                    const struct resource_kind *k,
                    struct slice given,
                    struct buf *out,
                    struct err *err)
{
    struct buf translated = BUF_INIT;
    struct buf settled = BUF_INIT;
    int rc = pb_is_message(given) ? 0 : service_bad_request(err);
    if (rc == 0 && k->translate)
        k->translate(given, &translated);
    if (rc == 0)
        rc = message_settle(k->fields,
                            k->translate ? buf_slice(&translated) : given,
                            &settled, err);
    if (rc == 0)
        rc = k->complete(g, buf_slice(&settled), true, out, err);
    buf_close(&translated);
    buf_close(&settled);
    return rc;
}

int resource_create(struct gateway *g,
                    const struct resource_kind *k,
                    const struct resource_name *name,
                    struct slice given,
                    struct err *err)
{
    struct buf key = BUF_INIT;
    struct buf kept = BUF_INIT;
    int rc = instance_id_check(name->instance, err);
    if (rc == 0 && *k->word)
        rc = instance_id_check(name->id, err);
    if (rc == 0)
        rc = resource_settle(g, k, given, &kept, err);
    key_of(k, name, &key);
    if (rc == 0)
        rc = registry_add(g->quarry, buf_slice(&key), buf_slice(&kept), err);
    buf_close(&key);
    buf_close(&kept);
    return rc;
}

int resource_handle_get(struct gateway *g,
                        const struct resource_kind *k,
                        struct grpc_call *call,
                        struct err *err)
{
    struct resource_name name;
    struct buf kept = BUF_INIT;
    struct buf *b = grpc_scratch(call);
    int rc = resource_name_parse_kind(pb_find(grpc_request(call), REQUEST_NAME),
                                      k->word, &name, err);
    if (rc == 0)
        rc = resource_get(g, k, &name, &kept, err);
    if (rc == 0)
        resource_put(b, k, &name, buf_slice(&kept));
    buf_close(&kept);
    return rc ? rc : grpc_send(call, b, err);
}

/* Append @old as @update changes it. */
static int admin_resource_merge(struct gateway *g,
                                const struct resource_kind *k,
                                struct slice old,
                                struct slice update,
                                struct slice mask,
                                struct buf *out,
                                struct err *err)
{
    struct buf translated = BUF_INIT;
    struct buf merged = BUF_INIT;
    int rc = pb_is_message(update) ? 0 : service_bad_request(err);
    if (rc == 0 && k->translate)
        k->translate(update, &translated);
    if (rc == 0)
        rc = message_merge(k->fields, old,
                           k->translate ? buf_slice(&translated) : update, mask,
                           &merged, err);
    if (rc == 0)
        rc = k->complete(g, buf_slice(&merged), false, out, err);
    buf_close(&translated);
    buf_close(&merged);
    return rc;
}

/* Merge @update into the resource that is kept or implied; @out gets the
 * result. ERR_ABORTED: it was changed meanwhile. */
static int merge_kept(struct gateway *g,
                      const struct resource_kind *k,
                      const struct resource_name *name,
                      struct slice update,
                      struct slice mask,
                      struct buf *out,
                      struct err *err)
{
    struct buf key = BUF_INIT;
    struct buf old = BUF_INIT;
    bool found;
    int rc;
    key_of(k, name, &key);
    rc = registry_get(g->own, buf_slice(&key), &old, &found, err);
    if (rc == 0 && !found)
        rc = resource_get(g, k, name, &old, err);
    if (rc == 0)
        rc =
            admin_resource_merge(g, k, buf_slice(&old), update, mask, out, err);
    if (rc == 0)
        rc = registry_replace(g->quarry, buf_slice(&key), buf_slice(&old),
                              found, buf_slice(out), err);
    buf_close(&key);
    buf_close(&old);
    return rc;
}

/* As merge_kept(), and @out gets the whole message, with its name. */
static int admin_resource_update(struct gateway *g,
                                 const struct resource_kind *k,
                                 struct slice resource,
                                 struct slice mask,
                                 struct buf *out,
                                 struct err *err)
{
    struct resource_name name;
    struct buf kept = BUF_INIT;
    int rc = resource_name_parse_kind(pb_find(resource, FIELD_NAME), k->word,
                                      &name, err);
    if (rc == 0)
        rc = merge_kept(g, k, &name, resource, mask, &kept, err);
    if (rc == 0)
        resource_put(out, k, &name, buf_slice(&kept));
    buf_close(&kept);
    return rc;
}

int resource_handle_update(struct gateway *g,
                           const struct resource_kind *k,
                           struct grpc_call *call,
                           struct err *err)
{
    struct slice request = grpc_request(call);
    struct slice mask = pb_find(request, UPDATE_MASK);
    struct buf message = BUF_INIT;
    int rc = mask.len ? admin_resource_update(g, k,
                                              pb_find(request, UPDATE_RESOURCE),
                                              mask, &message, err)
                      : err_set(err, ERR_INVALID, "the update mask is empty");
    if (rc == 0)
        rc = admin_reply_operation(g, call, k->type, k->update_metadata,
                                   buf_slice(&message), err);
    buf_close(&message);
    return rc;
}

int resource_replace(struct gateway *g,
                     const struct resource_kind *k,
                     struct slice resource,
                     struct buf *out,
                     struct err *err)
{
    return admin_resource_update(g, k, resource, SLICE_EMPTY, out, err);
}

int resource_handle_delete(struct gateway *g,
                           const struct resource_kind *k,
                           struct grpc_call *call,
                           struct err *err)
{
    struct resource_name name;
    struct buf ignored = BUF_INIT;
    struct buf key = BUF_INIT;
    int rc = resource_name_parse_kind(pb_find(grpc_request(call), REQUEST_NAME),
                                      k->word, &name, err);
    if (rc == 0)
        rc = resource_get(g, k, &name, &ignored, err);
    if (rc == 0) {
        key_of(k, &name, &key);
        rc = registry_remove(g->quarry, buf_slice(&key), err);
    }
    buf_close(&key);
    buf_close(&ignored);
    return rc ? rc : service_reply_empty(call, err);
}
