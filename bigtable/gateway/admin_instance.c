/* The instance admin API: instances.
 *
 *     CreateInstanceRequest    parent 1, instance_id 2, instance 3, clusters 4
 *     ListInstancesResponse    instances 1
 *     Instance                 name 1, display_name 2, state 3, type 4,
 *                              labels 5
 *
 * An instance is there once it was created, and while it has tables: whoever
 * never speaks of instances gets along, as with an emulator. The instance of
 * the store's own tables is always there.
 */
#include <string.h>

#include "base/core/panic.h"
#include "bigtable/gateway/admin_resource.h"
#include "bigtable/gateway/gateway.h"
#include "bigtable/gateway/pb.h"
#include "bigtable/gateway/registry.h"
#include "bigtable/gateway/workers.h"

enum instance_field {
    INSTANCE_DISPLAY_NAME = 2,
    INSTANCE_STATE = 3,
    INSTANCE_TYPE = 4,
    INSTANCE_LABELS = 5,
};

#define STATE_READY     1
#define TYPE_PRODUCTION 1

static bool has_tables(struct gateway *g, struct slice instance)
{
    char **names;
    size_t count;
    bool any = slice_eq_str(instance, g->home);
    if (quarry_table_list(g->quarry, &names, &count, NULL))
        return any;
    for (size_t i = 0; i < count && !any; i++) {
        struct slice id;
        any = store_name_id(g->home, instance, names[i], &id);
    }
    quarry_names_free(names, count);
    return any;
}

static bool implied_instance(struct gateway *g,
                             const struct resource_name *name,
                             struct buf *out)
{
    if (!has_tables(g, name->instance))
        return false;
    pb_put_bytes(out, INSTANCE_DISPLAY_NAME, name->instance);
    pb_put_integer(out, INSTANCE_STATE, STATE_READY);
    pb_put_integer(out, INSTANCE_TYPE, TYPE_PRODUCTION);
    return true;
}

static const struct admin_field instance_fields[] = {
    {"display_name", INSTANCE_DISPLAY_NAME},
    {"type", INSTANCE_TYPE},
    {"labels", INSTANCE_LABELS},
};

const struct resource_kind instance_kind = {
    .type = "Instance",
    .word = "",
    .update_metadata = "UpdateInstanceMetadata",
    .fields = instance_fields,
    .field_count = ARRAY_LEN(instance_fields),
    .implied = implied_instance,
};

/* "projects/P". */
static int parse_project(struct slice text, struct slice *out, struct err *err)
{
    struct slice prefix = SLICE_LIT("projects/");
    *out = slice_sub(text, prefix.len, text.len);
    if (slice_starts_with(text, prefix) && out->len &&
        slice_find_byte(*out, '/') == out->len)
        return 0;
    return err_set(err, ERR_INVALID, "\"%.*s\" is not the name of a project",
                   SLICE_ARG(slice_sub(text, 0, 200)));
}

/* --- create -----------------------------------------------------------------
 */

/* The client's message with what the service adds. */
static void complete(struct slice given, struct buf *out)
{
    pb_copy_fields(out, given, INSTANCE_STATE, false);
    if (pb_find_integer(given, INSTANCE_TYPE) == 0)
        pb_put_integer(out, INSTANCE_TYPE, TYPE_PRODUCTION);
    pb_put_integer(out, INSTANCE_STATE, STATE_READY);
}

static int create_clusters(struct gateway *g,
                           const struct resource_name *instance,
                           struct slice request,
                           struct err *err)
{
    struct cursor c = cursor_make(request);
    struct pb_field f;
    int rc = 0;
    while (rc == 0 && pb_next(&c, &f)) {
        struct resource_name name = *instance;
        if (!pb_is_bytes(&f, 4))
            continue;
        name.id = pb_find(f.bytes, 1);
        rc = resource_create_cluster(g, &name, pb_find(f.bytes, 2), err);
    }
    return rc;
}

static int create(struct gateway *g,
                  struct slice request,
                  struct buf *out,
                  struct err *err)
{
    struct resource_name name = {.instance = pb_find(request, 2)};
    struct buf message = BUF_INIT;
    int rc = pb_is_message(request) ? 0 : service_bad_request(err);
    if (rc == 0)
        rc = parse_project(pb_find(request, 1), &name.project, err);
    complete(pb_find(request, 3), &message);
    if (rc == 0)
        rc =
            resource_create(g, &instance_kind, &name, buf_slice(&message), err);
    if (rc == 0)
        rc = create_clusters(g, &name, request, err);
    if (rc == 0)
        resource_put(out, &instance_kind, &name, buf_slice(&message));
    buf_close(&message);
    return rc;
}

int admin_create_instance(void *ctx, struct grpc_call *call, struct err *err)
{
    struct buf message = BUF_INIT;
    int rc = create(ctx, grpc_request(call), &message, err);
    if (rc == 0)
        rc = admin_reply_operation(call, "Instance", "CreateInstanceMetadata",
                                   buf_slice(&message), err);
    buf_close(&message);
    return rc;
}

/* --- get, list, update ------------------------------------------------------
 */

int admin_get_instance(void *ctx, struct grpc_call *call, struct err *err)
{
    return resource_handle_get(ctx, &instance_kind, call, err);
}

int admin_partial_update_instance(void *ctx,
                                  struct grpc_call *call,
                                  struct err *err)
{
    return resource_handle_update(ctx, &instance_kind, call, err);
}

int admin_update_instance(void *ctx, struct grpc_call *call, struct err *err)
{
    struct buf *b = grpc_scratch(call);
    int rc = resource_replace(ctx, &instance_kind, grpc_request(call), b, err);
    return rc ? rc : grpc_send(call, b, err);
}

struct listing {
    struct gateway *gateway;
    struct slice project;
    struct buf *out;
    struct buf seen; /* "/ID/ID/": those that are in. */
};

static bool is_seen(const struct listing *l, struct slice id)
{
    struct slice rest = buf_slice(&l->seen);
    while (rest.len) {
        size_t at = slice_find_byte(rest, '/');
        if (slice_eq(slice_sub(rest, 0, at), id))
            return true;
        rest = slice_sub(rest, at + 1, rest.len);
    }
    return false;
}

static void
put_instance(struct listing *l, struct slice id, struct slice message)
{
    const struct resource_name name = {.project = l->project, .instance = id};
    size_t opened = pb_open(l->out, 1);
    resource_put(l->out, &instance_kind, &name, message);
    pb_close(l->out, opened);
    buf_append_slice(&l->seen, id);
    buf_append_byte(&l->seen, '/');
}

static int visit_instance(void *ctx,
                          struct slice key,
                          struct slice message,
                          struct err *err)
{
    struct slice id = slice_sub(key, strlen("instances/"), key.len);
    (void)err;
    if (slice_find_byte(id, '/') == id.len)
        put_instance(ctx, id, message);
    return 0;
}

static void put_implied(struct listing *l, struct slice id)
{
    const struct resource_name name = {.instance = id};
    struct buf message = BUF_INIT;
    if (instance_id_check(id, NULL) == 0 && !is_seen(l, id) &&
        implied_instance(l->gateway, &name, &message))
        put_instance(l, id, buf_slice(&message));
    buf_close(&message);
}

/* The instances of tables whose name begins with one. */
static int list_implied(struct listing *l, struct err *err)
{
    char **names;
    size_t count;
    int rc = quarry_table_list(l->gateway->quarry, &names, &count, err);
    if (rc)
        return rc;
    put_implied(l, slice_str(l->gateway->home));
    for (size_t i = 0; i < count; i++) {
        struct slice name = slice_str(names[i]);
        size_t at = slice_find_byte(name, '.');
        if (at < name.len)
            put_implied(l, slice_sub(name, 0, at));
    }
    quarry_names_free(names, count);
    return 0;
}

int admin_list_instances(void *ctx, struct grpc_call *call, struct err *err)
{
    struct gateway *g = ctx;
    struct listing l = {.gateway = g, .out = grpc_scratch(call)};
    int rc = parse_project(pb_find(grpc_request(call), 1), &l.project, err);
    if (rc == 0)
        rc = registry_each(g->quarry, SLICE_LIT("instances/"), visit_instance,
                           &l, err);
    if (rc == 0)
        rc = list_implied(&l, err);
    buf_close(&l.seen);
    return rc ? rc : grpc_send(call, l.out, err);
}

/* --- delete -----------------------------------------------------------------
 */

struct removal {
    struct gateway *gateway;
    struct resource_name name;
    int rc;
    struct err *err;
};

static int drop_tables(struct removal *r)
{
    char **names;
    size_t count;
    int rc = quarry_table_list(r->gateway->quarry, &names, &count, r->err);
    if (rc)
        return rc;
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct slice id;
        if (strcmp(names[i], GATEWAY_TABLE) == 0 ||
            !store_name_id(r->gateway->home, r->name.instance, names[i], &id))
            continue;
        rc = quarry_table_drop(r->gateway->quarry, names[i], r->err);
        if (rc == ERR_NOTFOUND)
            rc = 0;
    }
    quarry_names_free(names, count);
    return rc;
}

static void run_removal(void *arg)
{
    struct removal *r = arg;
    struct buf key = BUF_INIT;
    r->rc = drop_tables(r);
    admin_key(&key, r->name.instance, "", SLICE_EMPTY);
    buf_append_byte(&key, '/');
    if (r->rc == 0)
        r->rc =
            registry_remove_all(r->gateway->quarry, buf_slice(&key), r->err);
    buf_truncate(&key, key.len - 1);
    if (r->rc == 0)
        r->rc = registry_remove(r->gateway->quarry, buf_slice(&key), r->err);
    buf_close(&key);
}

int admin_delete_instance(void *ctx, struct grpc_call *call, struct err *err)
{
    struct gateway *g = ctx;
    struct removal r = {.gateway = g, .err = err};
    struct buf ignored = BUF_INIT;
    int rc = resource_name_parse_kind(pb_find(grpc_request(call), 1), "",
                                      &r.name, err);
    if (rc == 0)
        rc = resource_get(g, &instance_kind, &r.name, &ignored, err);
    buf_close(&ignored);
    if (rc == 0 && slice_eq_str(r.name.instance, g->home)) {
        grpc_set_code(call, GRPC_FAILED_PRECONDITION);
        rc = err_set(err, ERR_DENIED,
                     "instance %s holds the store's own tables", g->home);
    }
    if (rc)
        return rc;
    workers_run(g->workers, run_removal, &r);
    return r.rc ? r.rc : service_reply_empty(call, err);
}
