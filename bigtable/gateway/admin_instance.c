/* The instance admin API: instances.
 *
 * An instance exists once it was created, and while it has tables: a client
 * that never creates instances works all the same, as with Google's emulator.
 * The instance that holds the store's own tables always exists.
 */
#include <string.h>

#include "base/core/panic.h"
#include "base/core/pb.h"
#include "bigtable/gateway/admin_resource.h"
#include "bigtable/gateway/admin_view.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/backup_name.h"
#include "bigtable/gateway/change_config.h"
#include "bigtable/gateway/gateway.h"
#include "bigtable/gateway/kept_view.h"
#include "bigtable/gateway/resource_registry.h"
#include "bigtable/gateway/table_message.h"
#include "bigtable/gateway/workers.h"

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
    pb_put_bytes(out, PB_Instance_display_name, name->instance);
    pb_put_integer(out, PB_Instance_state, PB_Instance_State_READY);
    pb_put_integer(out, PB_Instance_type, PB_Instance_Type_PRODUCTION);
    return true;
}

static const struct message_rule instance_rules[] = {
    [PB_Instance_name] = {.rule = FIELD_OUTPUT},
    [PB_Instance_display_name] = {.rule = FIELD_KEPT},
    [PB_Instance_state] = {.rule = FIELD_OUTPUT},
    [PB_Instance_type] = {.rule = FIELD_KEPT},
    [PB_Instance_labels] = {.rule = FIELD_KEPT},
    [PB_Instance_create_time] = {.rule = FIELD_OUTPUT},
    [PB_Instance_satisfies_pzs] = {.rule = FIELD_OUTPUT},
    [PB_Instance_satisfies_pzi] = {.rule = FIELD_OUTPUT},
    [PB_Instance_tags] = {.rule = FIELD_FIXED},
    [PB_Instance_edition] = {.rule = FIELD_KEPT},
};

static const struct message_type instance_type =
    MESSAGE_TYPE(Instance, instance_rules);

static int complete_instance(struct gateway *g,
                             struct slice message,
                             bool is_new,
                             struct buf *out,
                             struct err *err)
{
    (void)err;
    pb_copy_fields(out, message, PB_Instance_state, false);
    if (pb_find_integer(message, PB_Instance_type) == 0)
        pb_put_integer(out, PB_Instance_type, PB_Instance_Type_PRODUCTION);
    pb_put_integer(out, PB_Instance_state, PB_Instance_State_READY);
    if (is_new)
        service_put_time(out, PB_Instance_create_time, service_now_us(g));
    return 0;
}

const struct resource_kind instance_kind = {
    .type = "Instance",
    .word = "",
    .update_metadata = "UpdateInstanceMetadata",
    .fields = &instance_type,
    .implied = implied_instance,
    .complete = complete_instance,
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

/* --- create -------------------------------------------------------------- */

/* Called for each of the clusters that come with an instance. */
typedef int (*given_cluster_cb)(struct gateway *g,
                                const struct resource_name *name,
                                struct slice message,
                                struct err *err);

static int check_cluster(struct gateway *g,
                         const struct resource_name *name,
                         struct slice message,
                         struct err *err)
{
    struct buf ignored = BUF_INIT;
    int rc = instance_id_check(name->id, err);
    if (rc == 0)
        rc = resource_settle(g, &cluster_kind, message, &ignored, err);
    buf_close(&ignored);
    return rc;
}

static int make_cluster(struct gateway *g,
                        const struct resource_name *name,
                        struct slice message,
                        struct err *err)
{
    return resource_create(g, &cluster_kind, name, message, err);
}

static int each_cluster(struct gateway *g,
                        const struct resource_name *instance,
                        struct slice request,
                        given_cluster_cb fn,
                        struct err *err)
{
    struct cursor c = cursor_make(request);
    struct pb_field f;
    int rc = 0;
    while (rc == 0 && pb_next(&c, &f)) {
        struct resource_name name = *instance;
        if (!pb_is_bytes(&f, PB_CreateInstanceRequest_clusters))
            continue;
        name.id = pb_find(f.bytes, PB_ClustersEntry_key);
        rc = fn(g, &name, pb_find(f.bytes, PB_ClustersEntry_value), err);
    }
    return rc;
}

/* The clusters are checked first, so that a bad one leaves no instance behind.
 */
static int admin_instance_create(struct gateway *g,
                                 struct slice request,
                                 struct buf *out,
                                 struct err *err)
{
    struct resource_name name = {
        .instance = pb_find(request, PB_CreateInstanceRequest_instance_id)};
    struct buf kept = BUF_INIT;
    int rc = pb_is_message(request) ? 0 : service_bad_request(err);
    if (rc == 0)
        rc = parse_project(pb_find(request, PB_CreateInstanceRequest_parent),
                           &name.project, err);
    if (rc == 0)
        rc = each_cluster(g, &name, request, check_cluster, err);
    if (rc == 0)
        rc = resource_create(
            g, &instance_kind, &name,
            pb_find(request, PB_CreateInstanceRequest_instance), err);
    if (rc == 0)
        rc = each_cluster(g, &name, request, make_cluster, err);
    if (rc == 0)
        rc = resource_get(g, &instance_kind, &name, &kept, err);
    if (rc == 0)
        resource_put(out, &instance_kind, &name, buf_slice(&kept));
    buf_close(&kept);
    return rc;
}

int admin_create_instance(void *ctx, struct grpc_call *call, struct err *err)
{
    struct buf message = BUF_INIT;
    int rc = admin_instance_create(ctx, grpc_request(call), &message, err);
    if (rc == 0)
        rc = admin_reply_operation(ctx, call, "Instance",
                                   "CreateInstanceMetadata",
                                   buf_slice(&message), err);
    buf_close(&message);
    return rc;
}

/* --- get, list, update --------------------------------------------------- */

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
    struct buf seen; /* "ID/ID/": the ids listed so far. */
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
    size_t opened = pb_open(l->out, PB_ListInstancesResponse_instances);
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
    int rc = parse_project(
        pb_find(grpc_request(call), PB_ListInstancesRequest_parent), &l.project,
        err);
    if (rc == 0)
        rc = registry_each(g->own, SLICE_LIT("instances/"), visit_instance, &l,
                           err);
    if (rc == 0)
        rc = list_implied(&l, err);
    buf_close(&l.seen);
    return rc ? rc : grpc_send(call, l.out, err);
}

/* --- delete -------------------------------------------------------------- */

struct removal {
    struct gateway *gateway;
    struct resource_name name;
    bool is_refused; /* It holds something that must not be deleted. */
    int rc;
    struct err *err;
};

/* Called for each table of the instance; any value but 0 ends the walk. */
typedef int (*own_table_cb)(struct removal *r,
                            struct slice id,
                            const char *store_name);

static int each_table(struct removal *r, own_table_cb fn)
{
    char **names;
    size_t count;
    int rc = quarry_table_list(r->gateway->quarry, &names, &count, r->err);
    if (rc)
        return rc;
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct slice id;
        if (strcmp(names[i], GATEWAY_TABLE) != 0 &&
            store_name_id(r->gateway->home, r->name.instance, names[i], &id))
            rc = fn(r, id, names[i]);
    }
    quarry_names_free(names, count);
    return rc;
}

static int
check_table(struct removal *r, struct slice id, const char *store_name)
{
    struct resource_name name = r->name;
    bool is_protected;
    bool is_streamed = false;
    int rc;
    name.id = id;
    rc = table_is_protected(r->gateway, &name, &is_protected, r->err);
    if (rc == 0)
        rc = change_config_is_on(r->gateway, store_name, &is_streamed, r->err);
    if (rc || (!is_protected && !is_streamed))
        return rc;
    r->is_refused = true;
    if (is_streamed)
        return err_set(r->err, ERR_DENIED,
                       "instance %.*s: its table %.*s keeps its changes for "
                       "change streams (clear its change_stream_config first)",
                       SLICE_ARG(r->name.instance), SLICE_ARG(id));
    return err_set(r->err, ERR_DENIED,
                   "instance %.*s: its table %.*s is protected from deletion",
                   SLICE_ARG(r->name.instance), SLICE_ARG(id));
}

static int
drop_table(struct removal *r, struct slice id, const char *store_name)
{
    int rc = quarry_table_drop(r->gateway->quarry, store_name, r->err);
    (void)id;
    return rc == ERR_NOTFOUND ? 0 : rc;
}

/* Check everything before anything is deleted. */
static int check_removal(struct removal *r)
{
    bool any = false;
    int rc = each_table(r, check_table);
    if (rc == 0)
        rc = backup_exists(r->gateway, r->name.instance, SLICE_EMPTY, &any,
                           r->err);
    if (rc || !any)
        return rc;
    r->is_refused = true;
    return err_set(r->err, ERR_DENIED,
                   "instance %.*s has backups (delete them first)",
                   SLICE_ARG(r->name.instance));
}

static void run_removal(void *arg)
{
    struct removal *r = arg;
    struct buf key = BUF_INIT;
    r->rc = kept_view_drop_all(r->gateway, r->name.instance, r->err);
    if (r->rc == 0)
        r->rc = check_removal(r);
    if (r->rc == 0)
        r->rc = each_table(r, drop_table);
    admin_key(&key, r->name.instance, "", SLICE_EMPTY);
    buf_append_byte(&key, '/');
    if (r->rc == 0)
        r->rc =
            registry_remove_all(r->gateway->quarry, buf_slice(&key), r->err);
    buf_truncate(&key, key.len - 1);
    if (r->rc == 0)
        r->rc = admin_views_forget(r->gateway, r->name.instance, SLICE_EMPTY,
                                   r->err);
    if (r->rc == 0)
        r->rc = registry_remove(r->gateway->quarry, buf_slice(&key), r->err);
    buf_close(&key);
}

int admin_delete_instance(void *ctx, struct grpc_call *call, struct err *err)
{
    struct gateway *g = ctx;
    struct removal r = {.gateway = g, .err = err};
    struct buf ignored = BUF_INIT;
    int rc = resource_name_parse_kind(
        pb_find(grpc_request(call), PB_DeleteInstanceRequest_name), "", &r.name,
        err);
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
    if (r.is_refused)
        grpc_set_code(call, GRPC_FAILED_PRECONDITION);
    return r.rc ? r.rc : service_reply_empty(call, err);
}
