/* The role `tablet`: serves the tablets that the master assigns to it.
 * Translates the configuration into options; the tablet server opens the
 * cluster's file system, its keys and its client by the functions given here.
 */
#include "base/core/buf.h"
#include "base/core/conf.h"
#include "base/core/panic.h"
#include "base/metrics/metrics.h"
#include "base/rpc/roles.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "bigtable/tablet_server/tablet_server.h"
#include "bigtable/wire/metadata.h"
#include "cli/role.h"
#include "gfs-lite/gfs.h"

#define SECTION "tablet"
/* Of METADATA: what takes longer is tried again. */
#define METADATA_TIMEOUT_US UINT64_C(20000000)
/* To say goodbye to the cluster, which may be gone already. */
#define LEAVE_US UINT64_C(3000000)
/* Then what is left is closed; what cannot be told is found out by others. */
#define CLOSE_US UINT64_C(300000)

extern const struct role tablet_role;

struct tablet_host {
    struct world *world;
    const struct rpc_security *security;
    struct master_keys *master_keys; /* Borrowed; NULL: none. */
    char *cell;
    char *address;
    char *memo;                   /* Of its session with the lock service, */
    char *client_memo;            /* of its client's. */
    struct cluster_roles *roles;  /* Owned. */
    struct tablet_server *server; /* Owned. */
};

/* The section's sizes and times. */
static int
read_options(struct conf *c, struct tablet_server_options *o, struct err *err)
{
    const struct {
        const char *name;
        uint64_t *value;
    } sizes[] = {
        {"cache", &o->cache_bytes}, {"memtables", &o->memtable_bytes},
        {"split", &o->split_bytes}, {"log-segment", &o->log_segment_bytes},
        {"log", &o->log_bytes},     {"requests", &o->request_bytes},
    };

    uint64_t lease_us = 0;
    int rc = 0;
    for (size_t i = 0; i < ARRAY_LEN(sizes) && rc == 0; i++)
        rc = conf_get_bytes(c, SECTION, sizes[i].name, sizes[i].value, err);
    if (rc == 0)
        rc = conf_get_duration(c, SECTION, "lease", &lease_us, err);
    if (rc == 0)
        rc = conf_get_duration(c, SECTION, "log-slow", &o->log_slow_us, err);
    o->lease_ms = (uint32_t)(lease_us / 1000);
    return rc;
}

static int open_files(void *ctx, struct fs **out, struct err *err)
{
    const struct tablet_host *h = ctx;
    const struct gfs_options o = {.namenodes = h->cell,
                                  .path = BIGTABLE_FS_ROOT,
                                  .name = h->address,
                                  .security = h->security};
    int rc = fs_gfs_open(h->world, &o, out, err);
    if (rc == 0)
        rc = fs_open_keyring(*out, BIGTABLE_KEYS, h->master_keys, false, err);
    if (rc == 0 && h->master_keys && !fs_keyring(*out))
        rc = err_set(err, ERR_UNAVAILABLE,
                     "the master has made no keys yet to encrypt with");
    if (rc) {
        fs_close(*out);
        *out = NULL;
        err_wrap(err, "keys of tables");
    }
    return rc;
}

static int open_client(void *ctx, struct quarry **out, struct err *err)
{
    const struct tablet_host *h = ctx;
    const struct quarry_options o = {.world = h->world,
                                     .security = h->security,
                                     .memo = h->client_memo,
                                     .address = h->address,
                                     .timeout_us = METADATA_TIMEOUT_US};
    return quarry_open(h->cell, &o, out, err);
}

static void host_free(struct tablet_host *h)
{
    tablet_server_close(h->server);
    cluster_roles_free(h->roles);
    mem_free(h->cell);
    mem_free(h->address);
    mem_free(h->memo);
    mem_free(h->client_memo);
    mem_free(h);
}

static int
tablet_role_open(const struct role_env *env, void **out, struct err *err)
{
    struct tablet_host *h = mem_zalloc(1, sizeof(*h));
    struct tablet_server_options o = {.cell = env->lock_servers,
                                      .cell_count = env->lock_server_count,
                                      .security = env->security,
                                      .open_fs = open_files,
                                      .open_client = open_client,
                                      .ctx = h};
    int rc = read_options(env->conf, &o, err);
    h->world = env->world;
    h->security = env->security;
    h->master_keys = env->master_keys;
    h->roles = cluster_roles_new(env->security, env->trusted);
    o.roles = h->roles;
    o.metrics = env->metrics;
    h->cell = mem_strdup(env->cell);
    h->address = mem_strdup(env->address);
    h->memo = role_memo(env, "tablet");
    h->client_memo = role_memo(env, "tablet-client");
    o.memo = h->memo;
    if (rc == 0)
        rc = tablet_server_open(env->world, env->server, &o, &h->server, err);
    if (rc) {
        host_free(h);
        h = NULL;
    }
    *out = h;
    return rc;
}

static int tablet_role_started(void *role, struct err *err)
{
    struct tablet_host *h = role;
    (void)err;
    tablet_server_start(h->server, h->address);
    return 0;
}

static void tablet_role_status(void *role, struct buf *out)
{
    const struct tablet_host *h = role;
    struct tablet_server_stats s;
    tablet_server_get_stats(h->server, &s);
    buf_printf(out,
               "number=%llu ready=%s tablets=%llu memory=%llu log=%llu "
               "reads=%llu writes=%llu lost=%llu",
               (unsigned long long)s.number, s.is_ready ? "yes" : "no",
               (unsigned long long)s.tablets,
               (unsigned long long)s.memory_bytes,
               (unsigned long long)s.log_bytes, (unsigned long long)s.reads,
               (unsigned long long)s.writes, (unsigned long long)s.lost);
}

static void tablet_role_gather(void *role, struct metric_set *out)
{
    const struct tablet_host *h = role;
    tablet_server_gather(h->server, out);
}

static int tablet_role_health(void *role, struct err *err)
{
    const struct tablet_host *h = role;
    return tablet_server_health(h->server, err);
}

static uint64_t set_deadline(const struct tablet_host *h, uint64_t us)
{
    return fiber_set_deadline(world_mono_ns(h->world) + us * 1000);
}

static void tablet_role_stopping(void *role)
{
    struct tablet_host *h = role;
    uint64_t before = set_deadline(h, LEAVE_US);
    tablet_server_stop(h->server);
    (void)fiber_set_deadline(before);
}

static void tablet_role_leaving(void *role)
{
    struct tablet_host *h = role;
    uint64_t before = set_deadline(h, LEAVE_US);
    tablet_server_leave(h->server);
    (void)fiber_set_deadline(before);
}

static void tablet_role_close(void *role)
{
    uint64_t before = set_deadline(role, CLOSE_US);
    host_free(role);
    (void)fiber_set_deadline(before);
}

const struct role tablet_role = {
    .name = "tablet",
    .help = "a tablet server: serves rows of tables",
    .open = tablet_role_open,
    .started = tablet_role_started,
    .status = tablet_role_status,
    .gather = tablet_role_gather,
    .health = tablet_role_health,
    .stopping = tablet_role_stopping,
    .leaving = tablet_role_leaving,
    .close = tablet_role_close,
};
