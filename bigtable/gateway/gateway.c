/* Opens and closes the gateway, says who calls and with whose rights, and has
 * the table of the methods: a method is one line there, and
 * tests/unit/gateway/test_methods.c holds the table against the .proto files.
 */
#include "bigtable/gateway/gateway.h"

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/metrics/metrics.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "bigtable/gateway/admin.h"
#include "bigtable/gateway/api_auth.h"
#include "bigtable/gateway/api_service.h"
#include "bigtable/gateway/app_profile.h"
#include "bigtable/gateway/backup_schedule.h"
#include "bigtable/gateway/principal_views.h"
#include "bigtable/gateway/query_pool.h"
#include "bigtable/gateway/response_params.h"
#include "bigtable/gateway/row_batch.h"
#include "bigtable/gateway/workers.h"

#define WORKERS_DEFAULT 16
/* Between two reloads of the file of tokens. */
#define RELOAD_US    UINT64_C(5000000)
#define HOME_DEFAULT "quarry"

#define DATA       "/google.bigtable.v2.Bigtable/"
#define TABLES     "/google.bigtable.admin.v2.BigtableTableAdmin/"
#define INSTANCES  "/google.bigtable.admin.v2.BigtableInstanceAdmin/"
#define OPERATIONS "/google.longrunning.Operations/"
#define HEALTH     "/grpc.health.v1.Health/"
#define REFLECTION "/grpc.reflection."

/* Sorted by path. */
static const struct grpc_method methods[] = {
    {INSTANCES "CreateAppProfile", admin_create_app_profile},
    {INSTANCES "CreateCluster", admin_create_cluster},
    {INSTANCES "CreateInstance", admin_create_instance},
    {INSTANCES "CreateLogicalView", admin_create_logical_view},
    {INSTANCES "CreateMaterializedView", admin_create_materialized_view},
    {INSTANCES "DeleteAppProfile", admin_delete_app_profile},
    {INSTANCES "DeleteCluster", admin_delete_cluster},
    {INSTANCES "DeleteInstance", admin_delete_instance},
    {INSTANCES "DeleteLogicalView", admin_delete_logical_view},
    {INSTANCES "DeleteMaterializedView", admin_delete_materialized_view},
    {INSTANCES "GetAppProfile", admin_get_app_profile},
    {INSTANCES "GetCluster", admin_get_cluster},
    {INSTANCES "GetIamPolicy", admin_get_iam_policy},
    {INSTANCES "GetInstance", admin_get_instance},
    {INSTANCES "GetLogicalView", admin_get_logical_view},
    {INSTANCES "GetMaterializedView", admin_get_materialized_view},
    {INSTANCES "ListAppProfiles", admin_list_app_profiles},
    {INSTANCES "ListClusters", admin_list_clusters},
    {INSTANCES "ListHotTablets", admin_list_nothing},
    {INSTANCES "ListInstances", admin_list_instances},
    {INSTANCES "ListLogicalViews", admin_list_logical_views},
    {INSTANCES "ListMaterializedViews", admin_list_materialized_views},
    {INSTANCES "PartialUpdateCluster", admin_partial_update_cluster},
    {INSTANCES "PartialUpdateInstance", admin_partial_update_instance},
    {INSTANCES "SetIamPolicy", admin_set_iam_policy},
    {INSTANCES "TestIamPermissions", admin_test_iam_permissions},
    {INSTANCES "UpdateAppProfile", admin_update_app_profile},
    {INSTANCES "UpdateCluster", admin_update_cluster},
    {INSTANCES "UpdateInstance", admin_update_instance},
    {INSTANCES "UpdateLogicalView", admin_update_logical_view},
    {INSTANCES "UpdateMaterializedView", admin_update_materialized_view},
    {TABLES "CheckConsistency", admin_check_consistency},
    {TABLES "CopyBackup", admin_copy_backup},
    {TABLES "CreateAuthorizedView", admin_create_authorized_view},
    {TABLES "CreateBackup", admin_create_backup},
    {TABLES "CreateSchemaBundle", admin_create_schema_bundle},
    {TABLES "CreateTable", admin_create_table},
    {TABLES "CreateTableFromSnapshot", admin_create_table_from_snapshot},
    {TABLES "DeleteAuthorizedView", admin_delete_authorized_view},
    {TABLES "DeleteBackup", admin_delete_backup},
    {TABLES "DeleteSchemaBundle", admin_delete_schema_bundle},
    {TABLES "DeleteSnapshot", admin_delete_snapshot},
    {TABLES "DeleteTable", admin_delete_table},
    {TABLES "DropRowRange", admin_drop_row_range},
    {TABLES "GenerateConsistencyToken", admin_generate_consistency_token},
    {TABLES "GetAuthorizedView", admin_get_authorized_view},
    {TABLES "GetBackup", admin_get_backup},
    {TABLES "GetIamPolicy", admin_get_iam_policy},
    {TABLES "GetSchemaBundle", admin_get_schema_bundle},
    {TABLES "GetSnapshot", admin_get_snapshot},
    {TABLES "GetTable", admin_get_table},
    {TABLES "ListAuthorizedViews", admin_list_authorized_views},
    {TABLES "ListBackups", admin_list_backups},
    {TABLES "ListSchemaBundles", admin_list_schema_bundles},
    {TABLES "ListSnapshots", admin_list_snapshots},
    {TABLES "ListTables", admin_list_tables},
    {TABLES "ModifyColumnFamilies", admin_modify_column_families},
    {TABLES "RestoreTable", admin_restore_table},
    {TABLES "SetIamPolicy", admin_set_iam_policy},
    {TABLES "SnapshotTable", admin_snapshot_table},
    {TABLES "TestIamPermissions", admin_test_iam_permissions},
    {TABLES "UndeleteTable", admin_undelete_table},
    {TABLES "UpdateAuthorizedView", admin_update_authorized_view},
    {TABLES "UpdateBackup", admin_update_backup},
    {TABLES "UpdateSchemaBundle", admin_update_schema_bundle},
    {TABLES "UpdateTable", admin_update_table},
    {DATA "CheckAndMutateRow", data_check_and_mutate},
    {DATA "ExecuteQuery", data_execute_query},
    {DATA "GenerateInitialChangeStreamPartitions", data_generate_partitions},
    {DATA "MutateRow", data_mutate_row},
    {DATA "MutateRows", data_mutate_rows},
    {DATA "PingAndWarm", data_ping_and_warm},
    {DATA "PrepareQuery", data_prepare_query},
    {DATA "ReadChangeStream", data_read_change_stream},
    {DATA "ReadModifyWriteRow", data_read_modify_write},
    {DATA "ReadRows", data_read_rows},
    {DATA "SampleRowKeys", data_sample_row_keys},
    {OPERATIONS "CancelOperation", admin_cancel_operation},
    {OPERATIONS "DeleteOperation", admin_delete_operation},
    {OPERATIONS "GetOperation", admin_get_operation},
    {OPERATIONS "ListOperations", admin_list_operations},
    {OPERATIONS "WaitOperation", admin_get_operation},
    {HEALTH "Check", health_check},
    {HEALTH "Watch", health_watch},
    {REFLECTION "v1.ServerReflection/ServerReflectionInfo", NULL},
    {REFLECTION "v1alpha.ServerReflection/ServerReflectionInfo", NULL},
};

const struct grpc_method *gateway_methods(size_t *count)
{
    *count = ARRAY_LEN(methods);
    return methods;
}

struct slice gateway_service_of(const struct grpc_method *method)
{
    struct slice path = slice_str(method->path + 1);
    PRE(method->path[0] == '/');
    return slice_sub(path, 0, slice_find_byte(path, '/'));
}

/* --- callers ------------------------------------------------------------- */

static int gateway_authenticate(void *ctx,
                                struct slice certificate,
                                struct slice authorization,
                                char principal[GRPC_PRINCIPAL_BYTES],
                                struct err *err)
{
    const struct gateway *g = ctx;
    STATIC_ASSERT(GRPC_PRINCIPAL_BYTES == API_PRINCIPAL_BYTES, "names");
    return api_auth_check(g->auth, certificate, authorization, principal, err);
}

static int
gateway_enter(void *ctx, const char *principal, void **entered, struct err *err)
{
    struct gateway *g = ctx;
    struct gateway *view;
    int rc = principal_views_hold(g->views, principal, &view, err);
    if (rc == 0)
        *entered = view;
    return rc;
}

static void gateway_leave(void *ctx, void *entered)
{
    struct gateway *g = ctx;
    principal_views_release(g->views, entered);
}

/* Reload the tokens every few seconds, so that one removed from the file stops
 * working. */
static void run_reloading(void *arg)
{
    struct gateway *g = arg;
    while (fiber_check(NULL) == 0) {
        struct err err = ERR_INIT;
        world_sleep_us(g->world, RELOAD_US);
        if (fiber_check(NULL) == 0 && api_auth_reload(g->auth, &err))
            log_warn(g->world, "gateway", "tokens not read why=\"%s\"",
                     err.text);
    }
}

static int open_auth(struct gateway *g,
                     const struct gateway_options *opts,
                     struct err *err)
{
    const struct api_auth_options o = {.tokens = opts->tokens,
                                       .jwt_key = opts->jwt_key,
                                       .jwt_issuer = opts->jwt_issuer,
                                       .jwt_audience = opts->jwt_audience};
    int rc;
    if (!opts->tokens && !opts->jwt_key && !opts->certificates)
        return 0;
    rc = api_auth_open(g->world, &o, &g->auth, err);
    if (rc == 0 && opts->tokens)
        g->reloading =
            fiber_start(loop_self(), "gateway tokens", run_reloading, g);
    return rc;
}

int gateway_open(struct world *w,
                 struct quarry *q,
                 const struct gateway_options *opts,
                 struct gateway **out,
                 struct err *err)
{
    struct gateway *g = mem_zalloc(1, sizeof(*g));
    struct grpc_options grpc = {
        .methods = methods,
        .method_count = ARRAY_LEN(methods),
        .ctx = g,
        .metrics = opts->metrics,
        .together = opts->together ? data_mutate_row : NULL,
        .each = reflection_answer,
        .describe = response_params_describe,
        .handle_many = data_mutate_row_many,
        .buffered_bytes_max = opts->buffered_bytes_max,
        .tls = opts->tls,
    };
    int rc;
    g->world = w;
    g->quarry = q;
    g->own = q;
    g->home = mem_strdup(opts->home ? opts->home : HOME_DEFAULT);
    g->workers =
        workers_new(w, opts->workers ? opts->workers : WORKERS_DEFAULT);
    g->queries = query_pool_new(w, opts->queries);
    g->engine = opts->engine;
    g->batches = row_batch_pool_new();
    g->profiles = app_profile_cache_new();
    g->params = response_params_cache_new();
    g->change_streams = mem_zalloc(1, sizeof(*g->change_streams));
    rc = instance_id_check(slice_str(g->home), err);
    if (rc == 0)
        rc = open_auth(g, opts, err);
    if (g->auth) {
        g->views = principal_views_new(g);
        grpc.authenticate = gateway_authenticate;
        grpc.open_paths = HEALTH;
        grpc.enter = gateway_enter;
        grpc.leave = gateway_leave;
    }
    if (rc == 0)
        rc = grpc_server_open(w, opts->address, &grpc, &g->server, err);
    if (rc) {
        gateway_close(g);
        g = NULL;
    } else {
        g->scheduling =
            fiber_start(loop_self(), "gateway backups", backup_schedule_run, g);
    }
    *out = g;
    return rc;
}

const char *gateway_address(const struct gateway *g)
{
    return grpc_server_address(g->server);
}

void gateway_status(const struct gateway *g, struct buf *out)
{
    buf_printf(out, "bigtable-api=%s connections=%zu calls=%zu",
               gateway_address(g), grpc_server_connection_count(g->server),
               grpc_server_call_count(g->server));
}

void gateway_gather(const struct gateway *g, struct metric_set *out)
{
    metric_put(out, METRIC_gateway_connections, NULL,
               (double)grpc_server_connection_count(g->server));
    metric_put(out, METRIC_gateway_calls_running, NULL,
               (double)grpc_server_call_count(g->server));
}

static void end_fiber(struct fiber *f)
{
    if (!f)
        return;
    fiber_cancel(f);
    fiber_join(f);
}

void gateway_close(struct gateway *g)
{
    if (!g)
        return;
    grpc_server_close(g->server);
    end_fiber(g->reloading);
    end_fiber(g->scheduling);
    principal_views_free(g->views);
    api_auth_close(g->auth);
    query_pool_free(g->queries);
    workers_free(g->workers);
    row_batch_pool_free(g->batches);
    app_profile_cache_free(g->profiles);
    response_params_cache_free(g->params);
    PRE(*g->change_streams == 0);
    mem_free(g->change_streams);
    mem_free(g->home);
    mem_free(g);
}
