/* The role `master`: of all processes that have it, the one that holds the lock
 * assigns tablets to tablet servers. Translates the configuration into options;
 * bigtable/master does the rest.
 */
#include "base/core/buf.h"
#include "base/core/conf.h"
#include "base/core/panic.h"
#include "base/metrics/metrics.h"
#include "base/rpc/roles.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "bigtable/master/master.h"
#include "bigtable/quarry.h"
#include "bigtable/wire/metadata.h"
#include "cli/role.h"
#include "gfs-lite/gfs.h"

#define SECTION "master"
/* A call of METADATA that takes longer is tried again by the master. */
#define METADATA_TIMEOUT_US UINT64_C(20000000)
/* To say goodbye to the cluster, which may be gone already. */
#define LEAVE_US UINT64_C(2000000)
#define CLOSE_US UINT64_C(300000)

extern const struct role master_role;

struct master_host {
    struct world *world;
    const struct rpc_security *security;
    char *cell;
    char *memo;                  /* Of its session with the lock service, */
    char *client_memo;           /* of its client's. */
    char *address;               /* Of this process. */
    struct fs *fs;               /* Owned. */
    struct cluster_roles *roles; /* Owned. */
    struct master *master;       /* Owned. */
};

/* Times of the section, and sizes. */
static int
read_options(struct conf *c, struct master_options *o, struct err *err)
{
    const struct {
        const char *name;
        uint64_t *value;
    } times[] = {
        {"status", &o->status_us},   {"silent", &o->silent_us},
        {"order", &o->order_us},     {"balance", &o->balance_us},
        {"still", &o->still_us},     {"reread", &o->reread_us},
        {"garbage", &o->garbage_us}, {"garbage-age", &o->garbage_age_us},
        {"merge", &o->merge_us},     {"merge-age", &o->merge_age_us},
    };

    uint64_t lease_us = 0;
    int rc = 0;
    for (size_t i = 0; i < ARRAY_LEN(times) && rc == 0; i++)
        rc = conf_get_duration(c, SECTION, times[i].name, times[i].value, err);
    if (rc == 0)
        rc = conf_get_duration(c, SECTION, "lease", &lease_us, err);
    if (rc == 0)
        rc = conf_get_bytes(c, SECTION, "merge-bytes", &o->merge_bytes, err);
    o->lease_ms = (uint32_t)(lease_us / 1000);
    return rc;
}

static int open_client(void *ctx, struct quarry **out, struct err *err)
{
    const struct master_host *h = ctx;
    const struct quarry_options o = {.world = h->world,
                                     .security = h->security,
                                     .memo = h->client_memo,
                                     .address = h->address,
                                     .timeout_us = METADATA_TIMEOUT_US};
    return quarry_open(h->cell, &o, out, err);
}

static void host_free(struct master_host *h)
{
    master_close(h->master);
    cluster_roles_free(h->roles);
    fs_close(h->fs);
    mem_free(h->cell);
    mem_free(h->memo);
    mem_free(h->address);
    mem_free(h->client_memo);
    mem_free(h);
}

static int
master_role_open(const struct role_env *env, void **out, struct err *err)
{
    struct master_host *h = mem_zalloc(1, sizeof(*h));
    const struct gfs_options files = {.namenodes = env->cell,
                                      .path = BIGTABLE_FS_ROOT,
                                      .name = env->address,
                                      .security = env->security};
    struct master_options o = {.address = env->address,
                               .cell = env->lock_servers,
                               .cell_count = env->lock_server_count,
                               .security = env->security,
                               .metrics = env->metrics,
                               .open_client = open_client,
                               .ctx = h};
    int rc = read_options(env->conf, &o, err);
    *h = (struct master_host){.world = env->world,
                              .security = env->security,
                              .cell = mem_strdup(env->cell),
                              .memo = role_memo(env, "master"),
                              .client_memo = role_memo(env, "master-client"),
                              .address = mem_strdup(env->address)};
    o.memo = h->memo;
    o.version = env->versions.max;
    h->roles = cluster_roles_new(env->security, env->trusted);
    o.roles = h->roles;
    if (rc == 0)
        rc = fs_gfs_open(env->world, &files, &h->fs, err);
    o.fs = h->fs;
    o.master_keys = env->master_keys;
    if (rc == 0)
        rc = master_open(env->world, env->server, &o, &h->master, err);
    if (rc) {
        host_free(h);
        h = NULL;
    }
    *out = h;
    return rc;
}

static int master_role_started(void *role, struct err *err)
{
    struct master_host *h = role;
    (void)err;
    master_start(h->master);
    return 0;
}

static void put_quotas(const struct master *m, struct buf *out)
{
    uint64_t tables, over;
    master_count_quotas(m, &tables, &over);
    if (tables)
        buf_printf(out, " quotas=%llu over-quota=%llu",
                   (unsigned long long)tables, (unsigned long long)over);
}

static void master_role_status(void *role, struct buf *out)
{
    const struct master_host *h = role;
    struct master_status s;
    if (!master_get_status(h->master, &s)) {
        buf_append_str(out, "master=no");
    } else {
        buf_printf(out,
                   "master=yes ready=%s servers=%llu tables=%llu tablets=%llu "
                   "metadata=%llu unassigned=%llu moving=%llu recovering=%llu",
                   s.ready ? "yes" : "no", (unsigned long long)s.servers,
                   (unsigned long long)s.tables, (unsigned long long)s.tablets,
                   (unsigned long long)master_count_metadata(h->master),
                   (unsigned long long)s.unassigned,
                   (unsigned long long)s.moving,
                   (unsigned long long)s.recovering_logs);
        put_quotas(h->master, out);
    }
}

static void master_role_gather(void *role, struct metric_set *out)
{
    const struct master_host *h = role;
    struct master_status s;
    uint64_t quotas, over;
    bool is_master = master_get_status(h->master, &s);
    metric_put(out, METRIC_master_active, NULL, is_master);
    if (!is_master)
        return;
    master_count_quotas(h->master, &quotas, &over);
    metric_put(out, METRIC_master_ready, NULL, s.ready);
    metric_put(out, METRIC_master_servers, NULL, (double)s.servers);
    metric_put(out, METRIC_master_tables, NULL, (double)s.tables);
    metric_put(out, METRIC_master_tablets, NULL, (double)s.tablets);
    metric_put(out, METRIC_master_metadata_tablets, NULL,
               (double)master_count_metadata(h->master));
    metric_put(out, METRIC_master_unassigned_tablets, NULL,
               (double)s.unassigned);
    metric_put(out, METRIC_master_moving_tablets, NULL, (double)s.moving);
    metric_put(out, METRIC_master_recovering_logs, NULL,
               (double)s.recovering_logs);
    metric_put(out, METRIC_master_quota_tables, NULL, (double)quotas);
    metric_put(out, METRIC_master_over_quota_tables, NULL, (double)over);
}

static int master_role_health(void *role, struct err *err)
{
    const struct master_host *h = role;
    return master_health(h->master, err);
}

static uint64_t set_deadline(const struct master_host *h, uint64_t us)
{
    return fiber_set_deadline(world_mono_ns(h->world) + us * 1000);
}

static void master_role_stopping(void *role)
{
    struct master_host *h = role;
    uint64_t before = set_deadline(h, LEAVE_US);
    master_stop(h->master);
    fs_hurry(h->fs);
    (void)fiber_set_deadline(before);
}

static void master_role_close(void *role)
{
    uint64_t before = set_deadline(role, CLOSE_US);
    host_free(role);
    (void)fiber_set_deadline(before);
}

const struct role master_role = {
    .name = "master",
    .help = "assigns tablets to tablet servers; one of all holds the lock",
    .open = master_role_open,
    .started = master_role_started,
    .status = master_role_status,
    .gather = master_role_gather,
    .health = master_role_health,
    .stopping = master_role_stopping,
    .close = master_role_close,
};
