/* The admin APIs: google.bigtable.admin.v2, and the long-running operations
 * they answer with, which are always done.
 *
 * Instances, clusters, app profiles and tables' extras are kept as the clients'
 * own messages, without their names, field by field as the rules of
 * message_fields.h say.
 */
#ifndef BIGTABLE_GATEWAY_ADMIN_H
#define BIGTABLE_GATEWAY_ADMIN_H

#include "bigtable/gateway/api_service.h"

/* Append "projects/P/instances/I[/kind/id]" as field @number. */
void admin_put_name(struct buf *out,
                    unsigned number,
                    struct slice project,
                    struct slice instance,
                    const char *kind,
                    struct slice id);

/* The registry's key for the resource: its name without the project. */
void admin_key(struct buf *out,
               struct slice instance,
               const char *kind,
               struct slice id);

/* Make the backup @id, which expires at @expires_us, of the table @source
 * (@source_text is its name) in the cluster @cluster of its instance. Parks.
 * ERR_NOTFOUND. */
MUST_CHECK int admin_backup_make(struct gateway *g,
                                 const struct resource_name *source,
                                 struct slice source_text,
                                 struct slice cluster,
                                 struct slice id,
                                 int64_t expires_us,
                                 struct err *err);
/* Remove the backups and snapshots of all instances that have expired. Parks.
 */
MUST_CHECK int admin_backup_expire_all(struct gateway *g, struct err *err);

/* Answer with an Operation that is done, with @message (of @type, a short name
 * like "Instance", with its name in field 1) as its response. It is kept for a
 * day. Parks. */
MUST_CHECK int admin_reply_operation(struct gateway *g,
                                     struct grpc_call *call,
                                     const char *type,
                                     const char *metadata_type,
                                     struct slice message,
                                     struct err *err);

/* The same with @metadata, the message of @metadata_type. */
MUST_CHECK int admin_reply_operation_with(struct gateway *g,
                                          struct grpc_call *call,
                                          const char *type,
                                          const char *metadata_type,
                                          struct slice metadata,
                                          struct slice message,
                                          struct err *err);

/* Keep an operation that is done without a result, of the resource @resource,
 * for a day; append its name to @name. Parks. */
MUST_CHECK int admin_keep_operation(struct gateway *g,
                                    struct slice resource,
                                    const char *metadata_type,
                                    struct slice metadata,
                                    struct buf *name,
                                    struct err *err);

/* Clusters of the instance @name, for ListClusters and a table's states: called
 * for each, at least once. */
typedef void (*admin_cluster_cb)(void *ctx,
                                 struct slice id,
                                 struct slice message);
MUST_CHECK int admin_each_cluster(struct gateway *g,
                                  struct slice instance,
                                  admin_cluster_cb cb,
                                  void *ctx,
                                  struct err *err);

/* --- methods ------------------------------------------------------------- */

#define ADMIN_METHODS(X)                                                       \
    X(create_table)                                                            \
    X(list_tables)                                                             \
    X(get_table)                                                               \
    X(update_table)                                                            \
    X(delete_table)                                                            \
    X(undelete_table)                                                          \
    X(modify_column_families)                                                  \
    X(drop_row_range)                                                          \
    X(generate_consistency_token)                                              \
    X(check_consistency)                                                       \
    X(create_instance)                                                         \
    X(get_instance)                                                            \
    X(list_instances)                                                          \
    X(update_instance)                                                         \
    X(partial_update_instance)                                                 \
    X(delete_instance)                                                         \
    X(create_cluster)                                                          \
    X(get_cluster)                                                             \
    X(list_clusters)                                                           \
    X(update_cluster)                                                          \
    X(partial_update_cluster)                                                  \
    X(delete_cluster)                                                          \
    X(create_app_profile)                                                      \
    X(get_app_profile)                                                         \
    X(list_app_profiles)                                                       \
    X(update_app_profile)                                                      \
    X(delete_app_profile)                                                      \
    X(get_iam_policy)                                                          \
    X(set_iam_policy)                                                          \
    X(test_iam_permissions)                                                    \
    X(create_backup)                                                           \
    X(get_backup)                                                              \
    X(list_backups)                                                            \
    X(update_backup)                                                           \
    X(delete_backup)                                                           \
    X(copy_backup)                                                             \
    X(restore_table)                                                           \
    X(snapshot_table)                                                          \
    X(get_snapshot)                                                            \
    X(list_snapshots)                                                          \
    X(delete_snapshot)                                                         \
    X(create_table_from_snapshot)                                              \
    X(list_nothing)                                                            \
    X(create_authorized_view)                                                  \
    X(get_authorized_view)                                                     \
    X(list_authorized_views)                                                   \
    X(update_authorized_view)                                                  \
    X(delete_authorized_view)                                                  \
    X(create_logical_view)                                                     \
    X(get_logical_view)                                                        \
    X(list_logical_views)                                                      \
    X(update_logical_view)                                                     \
    X(delete_logical_view)                                                     \
    X(create_materialized_view)                                                \
    X(get_materialized_view)                                                   \
    X(list_materialized_views)                                                 \
    X(update_materialized_view)                                                \
    X(delete_materialized_view)                                                \
    X(create_schema_bundle)                                                    \
    X(get_schema_bundle)                                                       \
    X(list_schema_bundles)                                                     \
    X(update_schema_bundle)                                                    \
    X(delete_schema_bundle)                                                    \
    X(get_operation)                                                           \
    X(list_operations)                                                         \
    X(cancel_operation)                                                        \
    X(delete_operation)

#define X(name)                                                                \
    int admin_##name(void *ctx, struct grpc_call *call, struct err *err);
ADMIN_METHODS(X)
#undef X

#endif /* BIGTABLE_GATEWAY_ADMIN_H */
