/* The role `worker`: runs attempts of MapReduce jobs. Slots and capabilities
 * come from the configuration; so do the words of the command that attempts are
 * forked from (attempts.c). mapreduce/cluster does the rest.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/conf.h"
#include "base/core/panic.h"
#include "base/metrics/metrics.h"
#include "base/rpc/roles.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "cli/attempts.h"
#include "cli/role.h"
#include "cli/role_caps.h"
#include "cli/role_cell.h"
#include "gfs-lite/gfs.h"
#include "jobs/jobs.h"
#include "mapreduce/cluster/worker.h"

#define SECTION "worker"
/* To say goodbye to the cluster, which may be gone already. */
#define LEAVE_US UINT64_C(3000000)

extern const struct role worker_role;

struct worker_role_state {
    struct world *world;
    const struct rpc_security *security;
    char *cell;
    char *address;
    char *memo;
    char *directory;
    const char *command[2 + ATTEMPTS_WORDS];
    bool weak_sandbox;
    struct worker *worker; /* Owned. */
};

static int
read_options(struct conf *c, struct worker_options *o, struct err *err)
{
    uint64_t slots = 0;
    uint64_t lease_us = 0;
    uint64_t early = UINT64_MAX;
    int rc = conf_get_u64(c, SECTION, "slots", &slots, err);
    if (rc == 0)
        rc = conf_get_bytes(c, SECTION, "memory", &o->memory_bytes, err);
    if (rc == 0)
        rc = conf_get_duration(c, SECTION, "idle", &o->idle_us, err);
    if (rc == 0)
        rc = conf_get_duration(c, SECTION, "lease", &lease_us, err);
    if (rc == 0)
        rc = conf_get_bool(c, SECTION, "no-short-circuit", &o->no_short_circuit,
                           err);
    if (rc == 0)
        rc = conf_get_bytes(c, SECTION, "early", &early, err);
    if (rc == 0 && slots > 256)
        rc = err_set(err, ERR_INVALID, "[worker] slots: at most 256");
    o->no_early = early == 0;
    o->early_bytes = early == UINT64_MAX ? 0 : early;
    o->slots = (uint32_t)slots;
    o->lease_ms = (uint32_t)(lease_us / 1000);
    return rc;
}

static int
open_files(void *ctx, const char *principal, struct fs **out, struct err *err)
{
    const struct worker_role_state *h = ctx;
    const struct gfs_options o = {.namenodes = h->cell,
                                  .name = h->address,
                                  .security = h->security,
                                  .act_as = principal};
    return fs_gfs_open(h->world, &o, out, err);
}

static void fill_command(struct worker_role_state *h,
                         const struct role_env *env)
{
    static const char nothing[] = "";
    const char **c = h->command;
    c[0] = "/proc/self/exe";
    c[1] = ATTEMPTS_COMMAND;
    c += 2;
    c[ATTEMPTS_CELL] = h->cell;
    c[ATTEMPTS_CLUSTER] = env->cluster;
    c[ATTEMPTS_NAME] = env->name;
    c[ATTEMPTS_KEY] = env->key ? env->key : nothing;
    c[ATTEMPTS_CERTIFICATE] = env->certificate ? env->certificate : nothing;
    c[ATTEMPTS_CERTIFICATE_KEY] =
        env->certificate_key ? env->certificate_key : nothing;
    c[ATTEMPTS_AUTHORITY] = env->authority ? env->authority : nothing;
    c[ATTEMPTS_WEAK] = h->weak_sandbox ? "weak" : nothing;
    c[ATTEMPTS_SLOTS] = NULL;
}

/* Absolute: others on this machine open spills by their paths. */
static char *find_directory(const struct role_env *env)
{
    struct buf path = BUF_INIT;
    char here[4096];
    if (env->data[0] != '/' && getcwd(here, sizeof(here)))
        buf_printf(&path, "%s/", here);
    role_directory(env, SECTION, &path);
    return buf_take(&path);
}

static void state_free(struct worker_role_state *h)
{
    worker_close(h->worker);
    mem_free(h->cell);
    mem_free(h->address);
    mem_free(h->directory);
    mem_free(h->memo);
    mem_free(h);
}

static int
worker_role_open(const struct role_env *env, void **out, struct err *err)
{
    struct worker_role_state *h = mem_zalloc(1, sizeof(*h));
    struct worker_options o = {.cell = env->lock_servers,
                               .cell_count = env->lock_server_count,
                               .security = env->security,
                               .name = env->name,
                               .rack = env->rack,
                               .open_fs = open_files,
                               .files_have_owners =
                                   cluster_roles_are_proved(env->roles),
                               .ctx = h,
                               .command = h->command,
                               .find = jobs_find_job};
    int rc = read_options(env->conf, &o, err);
    if (rc == 0)
        rc = role_caps_read(env, &o.caps, err);
    h->world = env->world;
    h->security = env->security;
    h->cell = mem_strdup(env->cell);
    h->address = mem_strdup(env->address);
    h->directory = find_directory(env);
    h->memo = role_memo(env, "worker");
    if (rc == 0)
        rc = conf_get_bool(env->conf, SECTION, "weak-sandbox", &h->weak_sandbox,
                           err);
    o.memo = h->memo;
    o.directory = h->directory;
    fill_command(h, env);
    if (rc == 0)
        rc = worker_open(env->world, env->server, &o, &h->worker, err);
    if (rc) {
        state_free(h);
        h = NULL;
    }
    *out = h;
    return rc;
}

static int worker_role_started(void *role, struct err *err)
{
    struct worker_role_state *h = role;
    (void)err;
    worker_start(h->worker, h->address);
    return 0;
}

static void worker_role_status(void *role, struct buf *out)
{
    const struct worker_role_state *h = role;
    struct worker_stats s;
    worker_get_stats(h->worker, &s);
    buf_printf(
        out,
        "number=%016llx slots=%u busy=%u jobs=%u started=%llu "
        "fetched=%llu early=%llu served=%llu",
        (unsigned long long)s.number, s.slots, s.busy, s.jobs,
        (unsigned long long)s.started, (unsigned long long)s.fetched_bytes,
        (unsigned long long)s.early_bytes, (unsigned long long)s.served_bytes);
}

static void worker_role_gather(void *role, struct metric_set *out)
{
    const struct worker_role_state *h = role;
    struct worker_stats s;
    worker_get_stats(h->worker, &s);
    metric_put(out, METRIC_worker_slots, METRIC_LABELS("busy"), s.busy);
    metric_put(out, METRIC_worker_slots, METRIC_LABELS("idle"),
               s.slots - MIN_OF(s.busy, s.slots));
    metric_put(out, METRIC_worker_jobs, NULL, s.jobs);
    metric_put(out, METRIC_worker_attempts, NULL, (double)s.started);
    metric_put(out, METRIC_worker_fetched_bytes, NULL, (double)s.fetched_bytes);
    metric_put(out, METRIC_worker_early_bytes, NULL, (double)s.early_bytes);
    metric_put(out, METRIC_worker_served_bytes, NULL, (double)s.served_bytes);
}

static int worker_role_health(void *role, struct err *err)
{
    const struct worker_role_state *h = role;
    return worker_health(h->worker, err);
}

static void worker_role_stopping(void *role)
{
    struct worker_role_state *h = role;
    uint64_t before =
        fiber_set_deadline(world_mono_ns(h->world) + LEAVE_US * 1000);
    worker_stop(h->worker);
    (void)fiber_set_deadline(before);
}

static void worker_role_close(void *role)
{
    state_free(role);
}

const struct role worker_role = {
    .name = "worker",
    .help = "runs attempts of MapReduce jobs, and serves what they leave",
    .open = worker_role_open,
    .started = worker_role_started,
    .status = worker_role_status,
    .gather = worker_role_gather,
    .health = worker_role_health,
    .stopping = worker_role_stopping,
    .close = worker_role_close,
};
