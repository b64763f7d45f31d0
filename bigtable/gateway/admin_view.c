/* Views and schema bundles in the admin APIs: authorized views and schema
 * bundles of tables, logical and materialized views of instances. All are
 * messages kept under names, and their requests agree on the numbers of their
 * fields, so one set of handlers serves the four kinds.
 *
 * Keys of the registry: "views/I/T/authorizedViews/V"; T is empty where the
 * view is the instance's.
 */
#include "bigtable/gateway/admin_view.h"

#include <inttypes.h>

#include "base/core/hash.h"
#include "base/core/panic.h"
#include "base/core/pb.h"
#include "bigtable/gateway/admin.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/kept_view.h"
#include "bigtable/gateway/message_fields.h"
#include "bigtable/gateway/resource_registry.h"
#include "bigtable/gateway/workers.h"

#define KEY_PREFIX "views/"
/* Of a page that the client does not bound. */
#define PAGE_MAX   1000
#define SAME(a, b) STATIC_ASSERT((int)PB_##a == (int)PB_##b, #a " and " #b)

/* The numbers that all kinds share. */
enum {
    CREATE_PARENT = PB_CreateAuthorizedViewRequest_parent,
    CREATE_ID = PB_CreateAuthorizedViewRequest_authorized_view_id,
    CREATE_VIEW = PB_CreateAuthorizedViewRequest_authorized_view,
    GET_NAME = PB_GetAuthorizedViewRequest_name,
    GET_VIEW = PB_GetAuthorizedViewRequest_view,
    LIST_PARENT = PB_ListAuthorizedViewsRequest_parent,
    LIST_SIZE = PB_ListAuthorizedViewsRequest_page_size,
    LIST_TOKEN = PB_ListAuthorizedViewsRequest_page_token,
    LIST_VIEW = PB_ListAuthorizedViewsRequest_view,
    LIST_VIEWS = PB_ListAuthorizedViewsResponse_authorized_views,
    LIST_NEXT = PB_ListAuthorizedViewsResponse_next_page_token,
    UPDATE_VIEW = PB_UpdateAuthorizedViewRequest_authorized_view,
    UPDATE_MASK = PB_UpdateAuthorizedViewRequest_update_mask,
    DELETE_NAME = PB_DeleteAuthorizedViewRequest_name,
    DELETE_ETAG = PB_DeleteAuthorizedViewRequest_etag,
    VIEW_NAME = PB_AuthorizedView_name,
    VIEW_ETAG = PB_AuthorizedView_etag,
};

SAME(CreateLogicalViewRequest_logical_view,
     CreateAuthorizedViewRequest_authorized_view);
SAME(CreateMaterializedViewRequest_materialized_view,
     CreateAuthorizedViewRequest_authorized_view);
SAME(CreateSchemaBundleRequest_schema_bundle,
     CreateAuthorizedViewRequest_authorized_view);
SAME(UpdateLogicalViewRequest_update_mask,
     UpdateAuthorizedViewRequest_update_mask);
SAME(UpdateMaterializedViewRequest_update_mask,
     UpdateAuthorizedViewRequest_update_mask);
SAME(UpdateSchemaBundleRequest_update_mask,
     UpdateAuthorizedViewRequest_update_mask);
SAME(ListLogicalViewsRequest_page_token, ListAuthorizedViewsRequest_page_token);
SAME(ListMaterializedViewsRequest_page_token,
     ListAuthorizedViewsRequest_page_token);
SAME(ListSchemaBundlesRequest_page_token,
     ListAuthorizedViewsRequest_page_token);
SAME(ListLogicalViewsResponse_next_page_token,
     ListAuthorizedViewsResponse_next_page_token);
SAME(ListMaterializedViewsResponse_next_page_token,
     ListAuthorizedViewsResponse_next_page_token);
SAME(ListSchemaBundlesResponse_next_page_token,
     ListAuthorizedViewsResponse_next_page_token);
SAME(DeleteLogicalViewRequest_etag, DeleteAuthorizedViewRequest_etag);
SAME(DeleteMaterializedViewRequest_etag, DeleteAuthorizedViewRequest_etag);
SAME(DeleteSchemaBundleRequest_etag, DeleteAuthorizedViewRequest_etag);
SAME(LogicalView_etag, AuthorizedView_etag);
SAME(MaterializedView_etag, AuthorizedView_etag);
SAME(SchemaBundle_etag, AuthorizedView_etag);
SAME(LogicalView_name, AuthorizedView_name);
SAME(MaterializedView_name, AuthorizedView_name);
SAME(SchemaBundle_name, AuthorizedView_name);

struct view_kind {
    const char *type; /* "AuthorizedView". */
    const char *word; /* "authorizedViews". */
    const char *create_metadata;
    const char *update_metadata;
    const struct message_type *fields;
    unsigned wanted;     /* A field that it must have, */
    const char *missing; /* and its name. */
    unsigned protection; /* The field deletion_protection; 0: it has none. */
    bool of_table;
};

/* --- kinds --------------------------------------------------------------- */

static const struct message_rule authorized_rules[] = {
    [PB_AuthorizedView_name] = {.rule = FIELD_OUTPUT},
    [PB_AuthorizedView_subset_view] = {.rule = FIELD_KEPT},
    [PB_AuthorizedView_etag] = {.rule = FIELD_OUTPUT},
    [PB_AuthorizedView_deletion_protection] = {.rule = FIELD_KEPT},
};
static const struct message_rule logical_rules[] = {
    [PB_LogicalView_name] = {.rule = FIELD_OUTPUT},
    [PB_LogicalView_query] = {.rule = FIELD_KEPT},
    [PB_LogicalView_etag] = {.rule = FIELD_OUTPUT},
    [PB_LogicalView_deletion_protection] = {.rule = FIELD_KEPT},
};
static const struct message_rule materialized_rules[] = {
    [PB_MaterializedView_name] = {.rule = FIELD_OUTPUT},
    [PB_MaterializedView_query] = {.rule = FIELD_FIXED},
    [PB_MaterializedView_etag] = {.rule = FIELD_OUTPUT},
    [PB_MaterializedView_deletion_protection] = {.rule = FIELD_KEPT},
};
static const struct message_rule bundle_rules[] = {
    [PB_SchemaBundle_name] = {.rule = FIELD_OUTPUT},
    [PB_SchemaBundle_proto_schema] = {.rule = FIELD_KEPT},
    [PB_SchemaBundle_etag] = {.rule = FIELD_OUTPUT},
};
static const struct message_type authorized_type =
    MESSAGE_TYPE(AuthorizedView, authorized_rules);
static const struct message_type logical_type =
    MESSAGE_TYPE(LogicalView, logical_rules);
static const struct message_type materialized_type =
    MESSAGE_TYPE(MaterializedView, materialized_rules);
static const struct message_type bundle_type =
    MESSAGE_TYPE(SchemaBundle, bundle_rules);

static const struct view_kind authorized_kind = {
    .type = "AuthorizedView",
    .word = "authorizedViews",
    .create_metadata = "CreateAuthorizedViewMetadata",
    .update_metadata = "UpdateAuthorizedViewMetadata",
    .fields = &authorized_type,
    .wanted = PB_AuthorizedView_subset_view,
    .missing = "subset_view",
    .protection = PB_AuthorizedView_deletion_protection,
    .of_table = true,
};
static const struct view_kind logical_kind = {
    .type = "LogicalView",
    .word = "logicalViews",
    .create_metadata = "CreateLogicalViewMetadata",
    .update_metadata = "UpdateLogicalViewMetadata",
    .fields = &logical_type,
    .wanted = PB_LogicalView_query,
    .missing = "query",
    .protection = PB_LogicalView_deletion_protection,
};
static const struct view_kind materialized_kind = {
    .type = "MaterializedView",
    .word = "materializedViews",
    .create_metadata = "CreateMaterializedViewMetadata",
    .update_metadata = "UpdateMaterializedViewMetadata",
    .fields = &materialized_type,
    .wanted = PB_MaterializedView_query,
    .missing = "query",
    .protection = PB_MaterializedView_deletion_protection,
};
static const struct view_kind bundle_kind = {
    .type = "SchemaBundle",
    .word = "schemaBundles",
    .create_metadata = "CreateSchemaBundleMetadata",
    .update_metadata = "UpdateSchemaBundleMetadata",
    .fields = &bundle_type,
    .wanted = PB_SchemaBundle_proto_schema,
    .missing = "proto_schema",
    .of_table = true,
};

/* --- names --------------------------------------------------------------- */

/* A view's name, or its parent's: then the id is empty. */
struct view_name {
    struct slice project;
    struct slice instance;
    struct slice table; /* Empty: it is the instance's. */
    struct slice id;
};

static int view_name_parse(const struct view_kind *k,
                           struct slice text,
                           bool parent,
                           struct view_name *out,
                           struct err *err)
{
    struct resource_name n;
    int rc = resource_name_parse(text, &n, err);
    struct slice word;
    bool good;
    if (rc)
        return rc;
    word = k->of_table ? n.sub_kind : n.kind;
    *out = (struct view_name){n.project, n.instance,
                              k->of_table ? n.id : SLICE_EMPTY,
                              k->of_table ? n.sub_id : n.id};
    good = k->of_table ? slice_eq_str(n.kind, "tables") : n.sub_kind.len == 0;
    good = good && (parent ? word.len == 0 : slice_eq_str(word, k->word));
    if (parent)
        out->id = SLICE_EMPTY;
    if (good)
        return 0;
    return err_set(
        err, ERR_INVALID, "\"%.*s\": expected projects/…/instances/…%s%s%s%s",
        SLICE_ARG(slice_sub(text, 0, 200)), k->of_table ? "/tables/…" : "",
        parent ? "" : "/", parent ? "" : k->word, parent ? "" : "/…");
}

static void
view_key(const struct view_kind *k, const struct view_name *n, struct buf *out)
{
    buf_printf(out, KEY_PREFIX "%.*s/%.*s/%s/%.*s", SLICE_ARG(n->instance),
               SLICE_ARG(n->table), k->word, SLICE_ARG(n->id));
}

static void put_view_name(const struct view_kind *k,
                          const struct view_name *n,
                          struct buf *out)
{
    struct buf text = BUF_INIT;
    buf_printf(&text, "projects/%.*s/instances/%.*s/", SLICE_ARG(n->project),
               SLICE_ARG(n->instance));
    if (k->of_table)
        buf_printf(&text, "tables/%.*s/", SLICE_ARG(n->table));
    buf_printf(&text, "%s/%.*s", k->word, SLICE_ARG(n->id));
    pb_put_bytes(out, VIEW_NAME, buf_slice(&text));
    buf_close(&text);
}

/* --- messages ------------------------------------------------------------ */

static void put_view_etag(struct slice kept, struct buf *out)
{
    buf_printf(out, "%016" PRIx64, hash64_slice(kept));
}

static int
check_view_etag(struct slice kept, struct slice given, struct err *err)
{
    struct buf etag = BUF_INIT;
    bool same;
    put_view_etag(kept, &etag);
    same = given.len == 0 || slice_eq(given, buf_slice(&etag));
    buf_close(&etag);
    return same ? 0
                : err_set(err, ERR_ABORTED,
                          "etag mismatch: it was changed meanwhile (get it and "
                          "try again)");
}

/* Append the message with its name, as much of it as @shown, a ResponseView,
 * says. */
static void put_view(const struct view_kind *k,
                     const struct view_name *n,
                     struct slice kept,
                     uint64_t shown,
                     struct buf *out)
{
    struct buf etag = BUF_INIT;
    put_view_name(k, n, out);
    if (shown == PB_AuthorizedView_ResponseView_NAME_ONLY)
        return;
    put_view_etag(kept, &etag);
    pb_put_bytes(out, VIEW_ETAG, buf_slice(&etag));
    buf_close(&etag);
    pb_copy_fields(out, kept, k->wanted, false);
    if (shown == PB_AuthorizedView_ResponseView_FULL)
        pb_copy_fields(out, kept, k->wanted, true);
}

static int get_kept(struct gateway *g,
                    const struct view_kind *k,
                    const struct view_name *n,
                    struct buf *kept,
                    struct err *err)
{
    struct buf key = BUF_INIT;
    bool found;
    int rc;
    PRE(k && kept);
    view_key(k, n, &key);
    rc = registry_get(g->own, buf_slice(&key), kept, &found, err);
    buf_close(&key);
    if (rc == 0 && !found)
        rc = err_set(err, ERR_NOTFOUND, "%s not found: %.*s", k->type,
                     SLICE_ARG(slice_sub(n->id, 0, 200)));
    return rc;
}

/* Does what the view is of exist, and has it the families that it names? */
static int check_parent(struct gateway *g,
                        const struct view_kind *k,
                        const struct view_name *n,
                        struct slice message,
                        struct err *err)
{
    struct slice subset = pb_find(message, PB_AuthorizedView_subset_view);
    struct cursor c = cursor_make(subset);
    char store_name[STORE_NAME_BYTES];
    struct quarry_table_info *info;
    struct pb_field f;
    int rc;
    if (!k->of_table)
        return 0;
    rc = store_name_make(g->home, n->instance, n->table, store_name, err);
    if (rc == 0)
        rc = service_describe(g, store_name, &info, err);
    if (rc)
        return rc;
    while (rc == 0 && k == &authorized_kind && pb_next(&c, &f)) {
        struct slice family = pb_find(f.bytes, PB_FamilySubsetsEntry_key);
        size_t i = 0;
        if (!pb_is_bytes(&f, PB_SubsetView_family_subsets))
            continue;
        while (i < info->family_count &&
               !slice_eq_str(family, info->families[i].name))
            i++;
        if (i == info->family_count)
            rc = err_set(err, ERR_INVALID,
                         "family_subsets: the table has no family \"%.*s\"",
                         SLICE_ARG(slice_sub(family, 0, 80)));
    }
    quarry_table_info_free(info);
    return rc || !c.bad ? rc : service_bad_request(err);
}

static int
check_message(const struct view_kind *k, struct slice message, struct err *err)
{
    if (k == &authorized_kind ? pb_has_field(message, k->wanted)
                              : pb_find(message, k->wanted).len > 0)
        return 0;
    return err_set(err, ERR_INVALID, "%s: %s is missing", k->type, k->missing);
}

/* --- handlers ------------------------------------------------------------ */

static int reply_view(struct gateway *g,
                      struct grpc_call *call,
                      const struct view_kind *k,
                      const struct view_name *n,
                      const char *metadata,
                      struct slice kept,
                      struct err *err)
{
    struct buf message = BUF_INIT;
    int rc;
    put_view(k, n, kept, PB_AuthorizedView_ResponseView_FULL, &message);
    rc = admin_reply_operation(g, call, k->type, metadata, buf_slice(&message),
                               err);
    buf_close(&message);
    return rc;
}

/* Keeping a view up to date, on another thread. */
struct keeping {
    struct gateway *gateway;
    const struct view_name *name;
    struct slice parent; /* "projects/…/instances/…" */
    struct slice query;
    int rc;
    struct err *err;
};

static void run_keep(void *arg)
{
    const struct keeping *k = arg;
    kept_view_create(k->gateway, k->parent, k->name->id, k->query);
}

static void run_forget(void *arg)
{
    struct keeping *k = arg;
    k->rc = kept_view_drop(k->gateway, k->name->instance, k->name->id, k->err);
}

static int view_create(struct gateway *g,
                       const struct view_kind *k,
                       struct grpc_call *call,
                       struct err *err)
{
    struct slice request = grpc_request(call);
    struct slice given = pb_find(request, CREATE_VIEW);
    struct view_name n;
    struct buf kept = BUF_INIT;
    struct buf key = BUF_INIT;
    int rc = view_name_parse(k, pb_find(request, CREATE_PARENT), true, &n, err);
    n.id = pb_find(request, CREATE_ID);
    if (rc == 0)
        rc = table_id_check(n.id, err);
    if (rc == 0)
        rc = message_settle(k->fields, given, &kept, err);
    if (rc == 0)
        rc = check_message(k, buf_slice(&kept), err);
    if (rc == 0)
        rc = check_parent(g, k, &n, buf_slice(&kept), err);
    if (rc == 0) {
        view_key(k, &n, &key);
        rc = registry_add(g->quarry, buf_slice(&key), buf_slice(&kept), err);
    }
    if (rc == 0 && k == &materialized_kind) {
        struct keeping keeping = {
            .gateway = g,
            .name = &n,
            .parent = pb_find(request, CREATE_PARENT),
            .query = pb_find(buf_slice(&kept), PB_MaterializedView_query)};
        workers_run(g->workers, run_keep, &keeping);
    }
    if (rc == 0)
        rc = reply_view(g, call, k, &n, k->create_metadata, buf_slice(&kept),
                        err);
    buf_close(&kept);
    buf_close(&key);
    return rc;
}

/* The ResponseView to show: @asked, or what stands for none. */
static uint64_t
shown_of(const struct view_kind *k, uint64_t asked, uint64_t by_default)
{
    if (k != &authorized_kind)
        return PB_AuthorizedView_ResponseView_FULL;
    return asked == PB_AuthorizedView_ResponseView_RESPONSE_VIEW_UNSPECIFIED
               ? by_default
               : asked;
}

static int view_get(struct gateway *g,
                    const struct view_kind *k,
                    struct grpc_call *call,
                    struct err *err)
{
    struct slice request = grpc_request(call);
    struct buf *b = grpc_scratch(call);
    struct buf kept = BUF_INIT;
    struct view_name n;
    int rc = view_name_parse(k, pb_find(request, GET_NAME), false, &n, err);
    if (rc == 0)
        rc = get_kept(g, k, &n, &kept, err);
    if (rc == 0)
        put_view(k, &n, buf_slice(&kept),
                 /* Clients (that for Go) that say nothing want the whole. */
                 shown_of(k, pb_find_integer(request, GET_VIEW),
                          PB_AuthorizedView_ResponseView_FULL),
                 b);
    buf_close(&kept);
    return rc ? rc : grpc_send(call, b, err);
}

struct view_listing {
    const struct view_kind *kind;
    struct view_name name;
    struct slice after; /* Ids up to this one were listed before. */
    uint64_t shown;
    size_t left;
    size_t prefix_bytes;
    struct buf last; /* Id of the last one listed. */
    struct buf *out;
    bool more;
};

static int
visit_view(void *ctx, struct slice key, struct slice message, struct err *err)
{
    struct view_listing *l = ctx;
    struct slice id = slice_sub(key, l->prefix_bytes, key.len);
    size_t opened;
    (void)err;
    PRE(key.len > l->prefix_bytes);
    if (slice_cmp(id, l->after) <= 0 || l->more)
        return 0;
    if (l->left == 0) {
        l->more = true;
        return 0;
    }
    l->left--;
    opened = pb_open(l->out, LIST_VIEWS);
    l->name.id = id;
    put_view(l->kind, &l->name, message, l->shown, l->out);
    pb_close(l->out, opened);
    buf_clear(&l->last);
    buf_append_slice(&l->last, id);
    return 0;
}

static int view_list(struct gateway *g,
                     const struct view_kind *k,
                     struct grpc_call *call,
                     struct err *err)
{
    struct slice request = grpc_request(call);
    int64_t size = (int32_t)pb_find_integer(request, LIST_SIZE);
    struct view_listing l = {
        .kind = k,
        .after = pb_find(request, LIST_TOKEN),
        .shown = shown_of(k, pb_find_integer(request, LIST_VIEW),
                          PB_AuthorizedView_ResponseView_NAME_ONLY),
        .left = size > 0 && size < PAGE_MAX ? (size_t)size : PAGE_MAX,
        .out = grpc_scratch(call)};
    struct buf prefix = BUF_INIT;
    int rc =
        view_name_parse(k, pb_find(request, LIST_PARENT), true, &l.name, err);
    if (rc == 0 && size < 0)
        rc = err_set(err, ERR_INVALID, "page_size must not be negative");
    if (rc == 0) {
        view_key(k, &l.name, &prefix);
        l.prefix_bytes = prefix.len;
        rc = registry_each(g->own, buf_slice(&prefix), visit_view, &l, err);
    }
    if (rc == 0 && l.more)
        pb_put_bytes(l.out, LIST_NEXT, buf_slice(&l.last));
    buf_close(&prefix);
    buf_close(&l.last);
    return rc ? rc : grpc_send(call, l.out, err);
}

static int view_update(struct gateway *g,
                       const struct view_kind *k,
                       struct grpc_call *call,
                       struct err *err)
{
    struct slice request = grpc_request(call);
    struct slice update = pb_find(request, UPDATE_VIEW);
    struct view_name n;
    struct buf old = BUF_INIT;
    struct buf merged = BUF_INIT;
    struct buf key = BUF_INIT;
    int rc = view_name_parse(k, pb_find(update, VIEW_NAME), false, &n, err);
    if (rc == 0)
        rc = get_kept(g, k, &n, &old, err);
    if (rc == 0)
        rc = check_view_etag(buf_slice(&old), pb_find(update, VIEW_ETAG), err);
    if (rc == 0)
        rc = message_merge(k->fields, buf_slice(&old), update,
                           pb_find(request, UPDATE_MASK), &merged, err);
    if (rc == 0)
        rc = check_message(k, buf_slice(&merged), err);
    if (rc == 0)
        rc = check_parent(g, k, &n, buf_slice(&merged), err);
    if (rc == 0) {
        view_key(k, &n, &key);
        rc = registry_replace(g->quarry, buf_slice(&key), buf_slice(&old), true,
                              buf_slice(&merged), err);
    }
    if (rc == 0)
        rc = reply_view(g, call, k, &n, k->update_metadata, buf_slice(&merged),
                        err);
    buf_close(&old);
    buf_close(&merged);
    buf_close(&key);
    return rc;
}

static int view_delete(struct gateway *g,
                       const struct view_kind *k,
                       struct grpc_call *call,
                       struct err *err)
{
    struct slice request = grpc_request(call);
    struct view_name n;
    struct buf kept = BUF_INIT;
    struct buf key = BUF_INIT;
    int rc = view_name_parse(k, pb_find(request, DELETE_NAME), false, &n, err);
    if (rc == 0)
        rc = get_kept(g, k, &n, &kept, err);
    if (rc == 0)
        rc = check_view_etag(buf_slice(&kept), pb_find(request, DELETE_ETAG),
                             err);
    if (rc == 0 && k->protection &&
        pb_find_integer(buf_slice(&kept), k->protection)) {
        grpc_set_code(call, GRPC_FAILED_PRECONDITION);
        rc = err_set(err, ERR_DENIED,
                     "%s %.*s is protected from deletion (unset its "
                     "deletion_protection first)",
                     k->type, SLICE_ARG(n.id));
    }
    if (rc == 0 && k == &materialized_kind) {
        struct keeping keeping = {.gateway = g, .name = &n, .err = err};
        workers_run(g->workers, run_forget, &keeping);
        rc = keeping.rc;
    }
    if (rc == 0) {
        view_key(k, &n, &key);
        rc = registry_remove(g->quarry, buf_slice(&key), err);
    }
    buf_close(&kept);
    buf_close(&key);
    return rc ? rc : service_reply_empty(call, err);
}

#define HANDLERS(name, names, kind)                                            \
    int admin_create_##name(void *ctx, struct grpc_call *call,                 \
                            struct err *err)                                   \
    {                                                                          \
        return view_create(ctx, &kind, call, err);                             \
    }                                                                          \
    int admin_get_##name(void *ctx, struct grpc_call *call, struct err *err)   \
    {                                                                          \
        return view_get(ctx, &kind, call, err);                                \
    }                                                                          \
    int admin_list_##names(void *ctx, struct grpc_call *call, struct err *err) \
    {                                                                          \
        return view_list(ctx, &kind, call, err);                               \
    }                                                                          \
    int admin_update_##name(void *ctx, struct grpc_call *call,                 \
                            struct err *err)                                   \
    {                                                                          \
        return view_update(ctx, &kind, call, err);                             \
    }                                                                          \
    int admin_delete_##name(void *ctx, struct grpc_call *call,                 \
                            struct err *err)                                   \
    {                                                                          \
        return view_delete(ctx, &kind, call, err);                             \
    }

HANDLERS(authorized_view, authorized_views, authorized_kind)
HANDLERS(logical_view, logical_views, logical_kind)
HANDLERS(materialized_view, materialized_views, materialized_kind)
HANDLERS(schema_bundle, schema_bundles, bundle_kind)

/* --- for others ---------------------------------------------------------- */

static int get_query(struct gateway *g,
                     const struct view_kind *k,
                     const struct view_name *n,
                     struct buf *query,
                     struct err *err)
{
    struct buf kept = BUF_INIT;
    int rc = get_kept(g, k, n, &kept, err);
    SAME(LogicalView_query, MaterializedView_query);
    if (rc == 0)
        buf_append_slice(query,
                         pb_find(buf_slice(&kept), PB_LogicalView_query));
    buf_close(&kept);
    return rc;
}

int admin_materialized_view_query(struct gateway *g,
                                  struct slice instance,
                                  struct slice id,
                                  struct buf *query,
                                  struct err *err)
{
    const struct view_name n = {.instance = instance, .id = id};
    return get_query(g, &materialized_kind, &n, query, err);
}

int admin_view_query(struct gateway *g,
                     struct slice instance,
                     struct slice id,
                     struct buf *query,
                     struct err *err)
{
    const struct view_name n = {.instance = instance, .id = id};
    int rc = get_query(g, &logical_kind, &n, query, err);
    if (rc == ERR_NOTFOUND)
        rc = get_query(g, &materialized_kind, &n, query, err);
    return rc;
}

int admin_authorized_view_get(struct gateway *g,
                              const struct resource_name *name,
                              struct buf *kept,
                              struct err *err)
{
    const struct view_name n = {name->project, name->instance, name->id,
                                name->sub_id};
    return get_kept(g, &authorized_kind, &n, kept, err);
}

int admin_views_forget(struct gateway *g,
                       struct slice instance,
                       struct slice table,
                       struct err *err)
{
    struct buf prefix = BUF_INIT;
    int rc;
    PRE(instance.len > 0);
    buf_printf(&prefix, KEY_PREFIX "%.*s/", SLICE_ARG(instance));
    if (table.len)
        buf_printf(&prefix, "%.*s/", SLICE_ARG(table));
    rc = registry_remove_all(g->own, buf_slice(&prefix), err);
    buf_close(&prefix);
    return rc;
}
