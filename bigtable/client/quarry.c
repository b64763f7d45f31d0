/* quarry.h: opens targets, and passes each call to the operation of its target.
 *
 * `t->ops->apply` is embedded_apply() (embedded/embedded_write.c) for a
 * directory and cluster_apply() (cluster/cluster_write.c) for a cluster, and so
 * for every other name: target_ops.def lists them with their files.
 */
#include <string.h>

#include "base/core/panic.h"
#include "base/rpc/rpc.h"
#include "base/runtime/world.h"
#include "bigtable/client/async.h"
#include "bigtable/client/client.h"
#include "bigtable/client/cluster/cluster_client.h"
#include "bigtable/client/embedded/embedded.h"
#include "bigtable/client/reverse_scan.h"
#include "bigtable/client/table_info.h"
#include "bigtable/index/index_write.h"
#include "bigtable/quarry_access.h"
#include "bigtable/row/index_set.h"
#include "bigtable/row/schema.h"
#include "bigtable/txn/txn_settle.h"

#define FILE_SCHEME "file:"

/* --- opening ------------------------------------------------------------- */

/* Is @target "host:port", or a list of them with commas? */
static bool is_cluster(const char *target)
{
    const char *colon = strrchr(target, ':');
    return colon && colon[1] >= '0' && colon[1] <= '9';
}

static int open_target(struct quarry *q,
                       const char *target,
                       const struct quarry_options *opts,
                       struct err *err)
{
    if (strncmp(target, FILE_SCHEME, strlen(FILE_SCHEME)) == 0 &&
        target[strlen(FILE_SCHEME)] != '\0')
        return embedded_target_open(q, target + strlen(FILE_SCHEME), opts, err);
    if (is_cluster(target))
        return cluster_target_open(q, target, opts, err);
    err_set(err, ERR_INVALID, "\"%s\" is not a target", target);
    if (target[0] == '/' || target[0] == '.')
        err_hint(err, "a directory is file:%s", target);
    err_hint(err, "file:DIR names a store in a directory, HOST:PORT a server "
                  "of a cluster");
    return ERR_INVALID;
}

int quarry_open(const char *target,
                const struct quarry_options *opts,
                struct quarry **out,
                struct err *err)
{
    static const struct quarry_options defaults = {.cache_bytes = 0};
    struct quarry *q = mem_zalloc(1, sizeof(*q));
    int rc;
    PRE(target != NULL);
    *out = NULL;
    if (!opts)
        opts = &defaults;
    q->owns_world = opts->world == NULL;
    q->world = opts->world ? opts->world : world_real_new();
    rc = open_target(q, target, opts, err);
    POST(rc || q->ops);
    if (rc)
        quarry_close(q);
    else
        *out = q;
    return rc;
}

void quarry_close(struct quarry *q)
{
    if (!q)
        return;
    index_tables_close(q);
    if (q->ops)
        q->ops->target_close(q);
    if (q->owns_world)
        world_free(q->world);
    mem_free(q);
}

int quarry_as(struct quarry *q,
              const char *principal,
              struct quarry **out,
              struct err *err)
{
    struct quarry *view;
    *out = NULL;
    if (!rpc_name_is_valid(slice_str(principal)))
        return err_set(err, ERR_INVALID, "'%s' is no principal", principal);
    view = mem_zalloc(1, sizeof(*view));
    view->ops = q->ops;
    view->world = q->world;
    view->store = q->store;
    view->oracle = q->oracle;
    view->async = q->async;
    view->is_view = true;
    view->ops->target_view(q, view, principal);
    *out = view;
    return 0;
}

/* --- the store as a whole ------------------------------------------------ */

int quarry_flush(struct quarry *q, struct err *err)
{
    return q->ops->flush(q, err);
}

int quarry_pin(struct quarry *q, struct err *err)
{
    return q->ops->pin(q, err);
}

void quarry_unpin(struct quarry *q)
{
    q->ops->unpin(q);
}

void quarry_drain(struct quarry *q)
{
    async_pool_drain(q->async);
}

int quarry_parallel_for(struct quarry *q,
                        size_t count,
                        parallel_fn fn,
                        void *ctx,
                        struct err *err)
{
    return count ? q->ops->parallel_for(q, count, fn, ctx, err) : 0;
}

int quarry_timestamps(struct quarry *q,
                      uint32_t count,
                      int64_t *first,
                      struct err *err)
{
    PRE(count > 0 && count <= QUARRY_TIMESTAMPS_MAX);
    return q->ops->timestamps(q, count, first, err);
}

bool quarry_is_directory(const struct quarry *q)
{
    return q->store != NULL;
}

const char *quarry_principal(const struct quarry *q)
{
    return q->ops->target_principal(q);
}

struct world *quarry_world(struct quarry *q)
{
    return q->world;
}

size_t quarry_counters(struct quarry *q,
                       struct quarry_counter out[QUARRY_COUNTERS_MAX])
{
    return q->ops->counters(q, out);
}

/* --- tables -------------------------------------------------------------- */

static int build_schema(struct schema *s,
                        const struct quarry_family_spec *families,
                        size_t family_count,
                        const struct quarry_group_spec *groups,
                        size_t group_count,
                        struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < group_count && rc == 0; i++)
        rc =
            schema_group(s, slice_str(groups[i].name)) && i == 0
                ? schema_update_group(s, groups[i].name, groups[i].options, err)
                : schema_add_group(s, groups[i].name, groups[i].options, err);
    for (size_t i = 0; i < family_count && rc == 0; i++)
        rc = schema_add_family(s, families[i].name, families[i].options, err);
    return rc ? rc : schema_check_hidden(s, err);
}

int quarry_table_create(struct quarry *q,
                        const char *name,
                        const struct quarry_family_spec *families,
                        size_t family_count,
                        const struct quarry_group_spec *groups,
                        size_t group_count,
                        struct err *err)
{
    return quarry_table_create_with_changes(q, name, families, family_count,
                                            groups, group_count, NULL, err);
}

int quarry_table_create_with_changes(struct quarry *q,
                                     const char *name,
                                     const struct quarry_family_spec *families,
                                     size_t family_count,
                                     const struct quarry_group_spec *groups,
                                     size_t group_count,
                                     const char *changes,
                                     struct err *err)
{
    struct schema *s = schema_new();
    int rc = build_schema(s, families, family_count, groups, group_count, err);
    if (rc == 0 && changes)
        rc = schema_set_changes(s, changes, err);
    if (rc == 0)
        rc = q->ops->table_create(q, name, s, err);
    if (rc)
        err_wrap(err, "create table %s", name);
    schema_free(s);
    return rc;
}

int quarry_table_drop(struct quarry *q, const char *name, struct err *err)
{
    struct index_set *indexes = NULL;
    int rc = index_take_set(q, name, &indexes);
    if (rc == 0)
        rc = q->ops->table_drop(q, name, err);
    if (rc == 0)
        index_drop_tables(q, indexes);
    index_set_unref(indexes);
    return rc;
}

int quarry_table_alter(struct quarry *q,
                       const char *name,
                       const struct quarry_alter *changes,
                       size_t change_count,
                       struct err *err)
{
    return q->ops->table_alter(q, name, changes, change_count, err);
}

int quarry_table_list_all(struct quarry *q,
                          char ***names,
                          size_t *count,
                          struct err *err)
{
    return q->ops->table_list(q, names, count, err);
}

int quarry_table_list(struct quarry *q,
                      char ***names,
                      size_t *count,
                      struct err *err)
{
    size_t kept = 0;
    int rc = quarry_table_list_all(q, names, count, err);
    for (size_t i = 0; rc == 0 && i < *count; i++) {
        if ((*names)[i][0] == '.')
            mem_free((*names)[i]);
        else
            (*names)[kept++] = (*names)[i];
    }
    if (rc == 0)
        *count = kept;
    return rc;
}

void quarry_names_free(char **names, size_t count)
{
    world_names_free(names, count);
}

int quarry_table_open(struct quarry *q,
                      const char *name,
                      struct quarry_table **out,
                      struct err *err)
{
    struct quarry_table t = {.ops = q->ops, .quarry = q};
    int rc = q->ops->table_open(&t, name, err);
    *out = NULL;
    if (rc)
        return rc;
    *out = mem_alloc(sizeof(t));
    **out = t;
    return 0;
}

void quarry_table_close(struct quarry_table *t)
{
    if (!t)
        return;
    t->ops->table_release(t);
    mem_free(t);
}

const char *quarry_table_name(const struct quarry_table *t)
{
    return t->ops->table_name(t);
}

int quarry_table_check_family(struct quarry_table *t,
                              const char *family,
                              struct err *err)
{
    return t->ops->table_check_family(t, family, err);
}

int quarry_table_describe(struct quarry *q,
                          const char *name,
                          struct quarry_table_info **out,
                          struct err *err)
{
    int rc;
    *out = NULL;
    rc = q->ops->table_describe(q, name, out, err);
    if (rc == 0)
        table_info_hide(*out);
    return rc;
}

int quarry_table_split(struct quarry *q,
                       const char *name,
                       struct slice row,
                       struct err *err)
{
    return q->ops->table_split(q, name, row, err);
}

int quarry_table_move_tablet(struct quarry *q,
                             const char *name,
                             struct slice row,
                             const char *server,
                             struct quarry_move *out,
                             struct err *err)
{
    return q->ops->table_move_tablet(q, name, row, server, out, err);
}

int quarry_table_compact(struct quarry *q, const char *name, struct err *err)
{
    return q->ops->table_compact(q, name, SLICE_EMPTY, SLICE_EMPTY, err);
}

int quarry_table_compact_rows(struct quarry *q,
                              const char *name,
                              struct slice start,
                              struct slice end,
                              struct err *err)
{
    return q->ops->table_compact(q, name, start, end, err);
}

int quarry_table_drop_rows(struct quarry *q,
                           const char *name,
                           struct slice start,
                           struct slice end,
                           struct err *err)
{
    int rc = q->ops->table_drop_rows(q, name, start, end, err);
    return rc == ERR_CONFLICT ? index_drop_rows(q, name, start, end, err) : rc;
}

int quarry_table_split_points(struct quarry_table *t,
                              size_t parts,
                              struct slice **keys,
                              size_t *count,
                              struct err *err)
{
    return t->ops->table_split_points(t, parts, keys, count, err);
}

/* --- writing ------------------------------------------------------------- */

int quarry_apply(struct quarry_table *t,
                 const struct quarry_mutation *m,
                 const struct quarry_write_options *opts,
                 struct err *err)
{
    /* embedded_apply() or cluster_apply(). */
    int rc = t->ops->apply(t, m, opts, err);
    return UNLIKELY(rc == ERR_CONFLICT) ? index_apply(t, m, opts, err) : rc;
}

int quarry_apply_batch(struct quarry_table *t,
                       struct quarry_mutation *const *mutations,
                       size_t count,
                       const struct quarry_write_options *opts,
                       size_t *failed_index,
                       struct err *err)
{
    size_t failed = 0;
    int rc = t->ops->apply_batch(t, mutations, count, opts, &failed, err);
    if (UNLIKELY(rc == ERR_CONFLICT))
        return index_apply_batch(t, mutations, failed, count, opts,
                                 failed_index, err);
    if (rc && failed_index)
        *failed_index = failed;
    return rc;
}

int quarry_apply_each(struct quarry_table *t,
                      struct quarry_mutation *const *mutations,
                      size_t count,
                      const struct quarry_write_options *opts,
                      int *codes,
                      struct err *err)
{
    int rc = t->ops->apply_each(t, mutations, count, opts, codes, err);
    bool indexed = false;
    for (size_t i = 0; rc && i < count; i++)
        indexed |= codes[i] == ERR_CONFLICT;
    return indexed ? index_apply_each(t, mutations, count, opts, codes, err)
                   : rc;
}

enum write_durability durability_of(const struct quarry_write_options *opts)
{
    switch (opts ? opts->durability : QUARRY_SYNCED) {
    case QUARRY_SYNCED: return WRITE_SYNCED;
    case QUARRY_LOGGED: return WRITE_LOGGED;
    case QUARRY_DEFERRED: return WRITE_DEFERRED;
    }
    return WRITE_SYNCED;
}

static int settle_row(struct quarry_table *t,
                      struct slice row,
                      const struct quarry_filter *filter,
                      struct err *err)
{
    return table_must_settle(t, filter) ? txn_settle_row(t, row, err) : 0;
}

static int settle_rows(struct quarry_table *t,
                       const struct quarry_read_options *opts,
                       struct err *err)
{
    return table_must_settle(t, opts ? opts->filter : NULL)
               ? txn_settle_rows(t, opts, err)
               : 0;
}

int quarry_check_and_mutate(struct quarry_table *t,
                            struct slice row,
                            const struct quarry_filter *predicate,
                            const struct quarry_mutation *if_true,
                            const struct quarry_mutation *if_false,
                            const struct quarry_write_options *opts,
                            bool *matched,
                            struct err *err)
{
    int rc = settle_row(t, row, predicate, err);
    if (rc)
        return rc;
    rc = t->ops->check_and_mutate(t, row, predicate, if_true, if_false, opts,
                                  matched, err);
    if (UNLIKELY(rc == ERR_CONFLICT))
        return index_check_and_mutate(t, row, predicate, if_true, if_false,
                                      opts, matched, err);
    return rc;
}

int quarry_read_modify_write(struct quarry_table *t,
                             struct slice row,
                             const struct quarry_rmw_rule *rules,
                             size_t rule_count,
                             const struct quarry_write_options *opts,
                             struct quarry_row **out,
                             struct err *err)
{
    int rc = settle_row(t, row, NULL, err);
    if (rc)
        return rc;
    rc = t->ops->read_modify_write(t, row, rules, rule_count, opts, out, err);
    if (UNLIKELY(rc == ERR_CONFLICT))
        return index_read_modify_write(t, row, rules, rule_count, opts, out,
                                       err);
    return rc;
}

/* --- reading ------------------------------------------------------------- */

int quarry_read_row(struct quarry_table *t,
                    struct slice row,
                    const struct quarry_read_options *opts,
                    struct quarry_row **out,
                    struct err *err)
{
    int rc = settle_row(t, row, opts ? opts->filter : NULL, err);
    *out = NULL;
    /* embedded_read_row() or cluster_read_row(). */
    return rc ? rc : t->ops->read_row(t, row, opts, out, err);
}

int quarry_read_rows(struct quarry_table *t,
                     const struct slice *keys,
                     size_t count,
                     const struct quarry_read_options *opts,
                     struct quarry_row **rows,
                     struct err *err)
{
    int rc = table_must_settle(t, opts ? opts->filter : NULL)
                 ? txn_settle_keys(t, keys, count, err)
                 : 0;
    memset(rows, 0, count * sizeof(*rows));
    if (rc == 0)
        rc = t->ops->read_rows(t, keys, count, opts, rows, err);
    for (size_t i = 0; rc && i < count; i++) {
        quarry_row_free(rows[i]);
        rows[i] = NULL;
    }
    return rc;
}

void quarry_row_free(struct quarry_row *r)
{
    mem_free(r);
}

int quarry_get(struct quarry_table *t,
               struct slice row,
               const char *family,
               struct slice qualifier,
               struct buf *value,
               bool *found,
               struct err *err)
{
    int rc = settle_row(t, row, NULL, err);
    if (rc) {
        buf_clear(value);
        *found = false;
        return rc;
    }
    return t->ops->get(t, row, family, qualifier, value, found, err);
}

int quarry_scan(struct quarry_table *t,
                const struct quarry_read_options *opts,
                struct quarry_scanner **out,
                struct err *err)
{
    int rc;
    *out = NULL;
    if (opts && opts->reversed)
        return reverse_scan(t, opts, out, err);
    rc = settle_rows(t, opts, err);
    return rc ? rc : t->ops->scan(t, opts, out, err);
}

int quarry_scanner_next(struct quarry_scanner *s,
                        const struct quarry_row **row,
                        struct err *err)
{
    return s->ops->scanner_next(s, row, err);
}

void quarry_scanner_close(struct quarry_scanner *s)
{
    if (s)
        s->ops->scanner_close(s);
}

int quarry_run_program(struct quarry_table *t,
                       const struct quarry_read_options *opts,
                       struct saw_run *run,
                       uint64_t *row_count,
                       struct err *err)
{
    int rc;
    if (opts && opts->reversed)
        return err_set(err, ERR_UNSUPPORTED,
                       "programs that end in tables take rows in ascending "
                       "order alone");
    rc = settle_rows(t, opts, err);
    return rc ? rc : t->ops->run_program(t, opts, run, row_count, err);
}
