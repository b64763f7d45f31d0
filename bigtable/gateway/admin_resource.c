/* Messages under names: make, get, update, delete. */
#include "bigtable/gateway/admin_resource.h"

#include "bigtable/gateway/pb.h"
#include "bigtable/gateway/registry.h"

#define FIELD_NAME 1

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
    rc = registry_get(g->quarry, buf_slice(&key), out, &found, err);
    if (rc == 0 && !found && !k->implied(g, name, out))
        rc = err_set(err, ERR_NOTFOUND, "%s not found: %s", k->type,
                     buf_cstr(&key));
    buf_close(&key);
    return rc;
}

int resource_create(struct gateway *g,
                    const struct resource_kind *k,
                    const struct resource_name *name,
                    struct slice message,
                    struct err *err)
{
    struct buf key = BUF_INIT;
    struct buf kept = BUF_INIT;
    int rc = instance_id_check(name->instance, err);
    if (rc == 0 && *k->word)
        rc = instance_id_check(name->id, err);
    if (rc == 0 && !pb_is_message(message))
        rc = service_bad_request(err);
    pb_copy_fields(&kept, message, FIELD_NAME, false);
    key_of(k, name, &key);
    if (rc == 0)
        rc = registry_add(g->quarry, buf_slice(&key), buf_slice(&kept), err);
    buf_close(&key);
    buf_close(&kept);
    return rc;
}

static int put_kept(struct gateway *g,
                    const struct resource_kind *k,
                    const struct resource_name *name,
                    struct slice message,
                    struct err *err)
{
    struct buf key = BUF_INIT;
    int rc;
    key_of(k, name, &key);
    rc = registry_put(g->quarry, buf_slice(&key), message, err);
    buf_close(&key);
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
    int rc = resource_name_parse_kind(pb_find(grpc_request(call), 1), k->word,
                                      &name, err);
    if (rc == 0)
        rc = resource_get(g, k, &name, &kept, err);
    if (rc == 0)
        resource_put(b, k, &name, buf_slice(&kept));
    buf_close(&kept);
    return rc ? rc : grpc_send(call, b, err);
}

/* Merge into what is kept; @out is the whole message, with its name. */
static int update(struct gateway *g,
                  const struct resource_kind *k,
                  struct slice resource,
                  struct slice mask,
                  struct buf *out,
                  struct err *err)
{
    struct resource_name name;
    struct buf old = BUF_INIT;
    struct buf merged = BUF_INIT;
    int rc = resource_name_parse_kind(pb_find(resource, FIELD_NAME), k->word,
                                      &name, err);
    if (rc == 0)
        rc = resource_get(g, k, &name, &old, err);
    if (rc == 0)
        rc = admin_merge(buf_slice(&old), resource, mask, k->fields,
                         k->field_count, &merged, err);
    if (rc == 0)
        rc = put_kept(g, k, &name, buf_slice(&merged), err);
    if (rc == 0)
        resource_put(out, k, &name, buf_slice(&merged));
    buf_close(&old);
    buf_close(&merged);
    return rc;
}

int resource_handle_update(struct gateway *g,
                           const struct resource_kind *k,
                           struct grpc_call *call,
                           struct err *err)
{
    struct slice request = grpc_request(call);
    struct slice mask = pb_find(request, 2);
    struct buf message = BUF_INIT;
    int rc = mask.len ? update(g, k, pb_find(request, 1), mask, &message, err)
                      : err_set(err, ERR_INVALID, "the update mask is empty");
    if (rc == 0)
        rc = admin_reply_operation(call, k->type, k->update_metadata,
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
    return update(g, k, resource, SLICE_EMPTY, out, err);
}

int resource_handle_delete(struct gateway *g,
                           const struct resource_kind *k,
                           struct grpc_call *call,
                           struct err *err)
{
    struct resource_name name;
    struct buf ignored = BUF_INIT;
    struct buf key = BUF_INIT;
    int rc = resource_name_parse_kind(pb_find(grpc_request(call), 1), k->word,
                                      &name, err);
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
