/* The role `lock`: a server of the lock service's cell. Translates the
 * configuration into options; chubby-lite does the rest.
 */
#include "base/core/buf.h"
#include "base/core/conf.h"
#include "base/core/panic.h"
#include "base/metrics/metrics.h"
#include "base/rpc/roles.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "chubby-lite/server.h"
#include "cli/principal_lists.h"
#include "cli/role.h"
#include "cli/role_cell.h"

extern const struct role lock_role;

/* How long the master is waited for, the first time that somebody asks who is
 * not the cluster itself. */
#define LISTS_US UINT64_C(3000000)
#define LOOK_US  UINT64_C(50000)

struct lock_host {
    struct world *world;
    struct chubby_server *server;  /* Owned. */
    struct principal_lists *lists; /* NULL: names are not proved. Owned. */
    const struct cluster_roles *roles;
    bool stopping;
};

/* The cluster's processes may see everything, and administrators: their
 * list is asked of the master from the first question on. */
static bool lock_may_look(void *ctx, struct slice principal)
{
    struct lock_host *h = ctx;
    uint64_t end = world_mono_ns(h->world) + LISTS_US * 1000;
    if (!h->lists || cluster_roles_has(h->roles, principal))
        return true;
    if (!h->stopping)
        principal_lists_start(h->lists);
    while (!principal_lists_are_known(h->lists) && !h->stopping &&
           world_mono_ns(h->world) < end && fiber_check(NULL) == 0)
        world_sleep_us(h->world, LOOK_US);
    return principal_lists_is_administrator(h->lists, principal);
}

static void lock_host_free(struct lock_host *h)
{
    chubby_server_close(h->server);
    principal_lists_close(h->lists);
    mem_free(h);
}

static int lock_open(const struct role_env *env, void **out, struct err *err)
{
    struct lock_host *h = mem_zalloc(1, sizeof(*h));
    struct role_cell cell;
    struct chubby_server_options o = {.may_look = lock_may_look,
                                      .may_look_ctx = h};
    uint64_t lease_us = 0;
    int rc = role_cell_read(env, "lock", &cell, err);
    if (rc == 0)
        rc = conf_get_duration(env->conf, "lock", "lease", &lease_us, err);
    h->world = env->world;
    h->roles = env->roles;
    if (cluster_roles_are_proved(env->roles))
        h->lists = principal_lists_new(env);
    o.replica = cell.options;
    o.lease_ms = (uint32_t)(lease_us / 1000);
    if (rc == 0)
        rc = chubby_server_open(env->world, env->server, &o, &h->server, err);
    role_cell_close(&cell);
    if (rc) {
        lock_host_free(h);
        h = NULL;
    }
    *out = h;
    return rc;
}

static void lock_stopping(void *role)
{
    struct lock_host *h = role;
    h->stopping = true;
    if (h->lists)
        principal_lists_stop(h->lists);
}

static void lock_status(void *role, struct buf *out)
{
    const struct lock_host *h = role;
    struct replica_status s;
    struct chubby_server_stats stats;
    replica_get_status(chubby_server_replica(h->server), &s);
    chubby_server_get_stats(h->server, &stats);
    role_cell_status(&s, out);
    buf_printf(out, " sessions=%llu handles=%llu nodes=%llu waiting=%llu",
               (unsigned long long)stats.session_count,
               (unsigned long long)stats.handle_count,
               (unsigned long long)stats.node_count,
               (unsigned long long)stats.waiting_count);
}

static void lock_gather(void *role, struct metric_set *out)
{
    const struct lock_host *h = role;
    struct replica_status s;
    struct chubby_server_stats stats;
    replica_get_status(chubby_server_replica(h->server), &s);
    chubby_server_get_stats(h->server, &stats);
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
    const struct lock_host *h = role;
    return chubby_server_has_holder(h->server, slice_str(principal));
}

static int lock_health(void *role, struct err *err)
{
    const struct lock_host *h = role;
    return chubby_server_health(h->server, err);
}

static int lock_reload(void *role, struct err *err)
{
    const struct lock_host *h = role;
    return replica_take_master_key(chubby_server_replica(h->server), err);
}

static void lock_close(void *role)
{
    lock_host_free(role);
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
    .stopping = lock_stopping,
    .close = lock_close,
};
