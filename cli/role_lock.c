/* The role `lock`: a server of the lock service's cell. Translates the
 * configuration into options; chubby-lite does the rest.
 */
#include "base/core/buf.h"
#include "base/core/conf.h"
#include "base/metrics/metrics.h"
#include "chubby-lite/server.h"
#include "cli/role.h"
#include "cli/role_cell.h"

extern const struct role lock_role;

static int lock_open(const struct role_env *env, void **out, struct err *err)
{
    struct role_cell cell;
    struct chubby_server_options o = {.lease_ms = 0};
    struct chubby_server *s = NULL;
    uint64_t lease_us = 0;
    int rc = role_cell_read(env, "lock", &cell, err);
    if (rc == 0)
        rc = conf_get_duration(env->conf, "lock", "lease", &lease_us, err);
    o.replica = cell.options;
    o.lease_ms = (uint32_t)(lease_us / 1000);
    if (rc == 0)
        rc = chubby_server_open(env->world, env->server, &o, &s, err);
    role_cell_close(&cell);
    *out = s;
    return rc;
}

static void lock_status(void *role, struct buf *out)
{
    struct replica_status s;
    struct chubby_server_stats stats;
    replica_get_status(chubby_server_replica(role), &s);
    chubby_server_get_stats(role, &stats);
    role_cell_status(&s, out);
    buf_printf(out, " sessions=%llu handles=%llu nodes=%llu waiting=%llu",
               (unsigned long long)stats.session_count,
               (unsigned long long)stats.handle_count,
               (unsigned long long)stats.node_count,
               (unsigned long long)stats.waiting_count);
}

static void lock_gather(void *role, struct metric_set *out)
{
    struct replica_status s;
    struct chubby_server_stats stats;
    replica_get_status(chubby_server_replica(role), &s);
    chubby_server_get_stats(role, &stats);
    role_cell_gather(&s, lock_role.name, out);
    metric_put(out, METRIC_lock_sessions, NULL, (double)stats.session_count);
    metric_put(out, METRIC_lock_sessions_limit, NULL,
               (double)stats.session_limit);
    metric_put(out, METRIC_lock_handles, NULL, (double)stats.handle_count);
    metric_put(out, METRIC_lock_nodes, NULL, (double)stats.node_count);
    metric_put(out, METRIC_lock_waiting, NULL, (double)stats.waiting_count);
    metric_put(out, METRIC_lock_leases, NULL, (double)stats.lease_count);
}

static bool lock_has_holder(void *role, const char *principal)
{
    return chubby_server_has_holder(role, slice_str(principal));
}

static int lock_health(void *role, struct err *err)
{
    return chubby_server_health(role, err);
}

static int lock_reload(void *role, struct err *err)
{
    return replica_take_master_key(chubby_server_replica(role), err);
}

static void lock_close(void *role)
{
    chubby_server_close(role);
}

const struct role lock_role = {
    .name = "lock",
    .help = "a lock server of the cell",
    .open = lock_open,
    .status = lock_status,
    .gather = lock_gather,
    .has_holder = lock_has_holder,
    .health = lock_health,
    .reload = lock_reload,
    .close = lock_close,
};
