/* The role `jobs`: of all processes that have it, the one that holds the lock
 * is the job master, which runs jobs on the cell's workers. Translates the
 * configuration into options; mapreduce/cluster does the rest.
 */
#include "base/core/buf.h"
#include "base/core/conf.h"
#include "base/core/panic.h"
#include "base/metrics/metrics.h"
#include "base/rpc/roles.h"
#include "bigtable/quarry.h"
#include "bigtable/quarry_access.h"
#include "cli/cmd_job.h"
#include "cli/role.h"
#include "cli/role_caps.h"
#include "gfs-lite/gfs.h"
#include "jobs/jobs.h"
#include "mapreduce/cluster/job_master.h"

#define SECTION "jobs"
/* Of the tables, which quarry encryption rotates. */
#define KEYS_PATH "bigtable/KEYS"
#define KEYS_DIR  "bigtable/keys"

extern const struct role jobs_role;

struct jobs_host {
    struct world *world;
    struct fs *fs; /* Owned. */
    char *cell;    /* Owned. */
    struct quarry_options store;
    const struct cluster_roles *roles; /* Borrowed. */
    struct quarry *tables; /* For lists of rights; NULL: not opened yet. */
    char *memo;
    struct job_master *master; /* Owned. */
};

static int
read_options(struct conf *c, struct job_master_options *o, struct err *err)
{
    uint64_t lease_us = 0;
    uint64_t running = 0;
    uint64_t history = 0;
    int rc = conf_get_duration(c, SECTION, "lease", &lease_us, err);
    if (rc == 0)
        rc = conf_get_u64(c, SECTION, "running", &running, err);
    if (rc == 0)
        rc = conf_get_u64(c, SECTION, "history", &history, err);
    o->lease_ms = (uint32_t)(lease_us / 1000);
    o->running_max = (uint32_t)running;
    o->history_max = (uint32_t)history;
    return rc;
}

/* Administrators are those whom the list of the cluster names; while it cannot
 * be asked, the cluster itself. Parks. */
static bool is_administrator(void *ctx, struct slice who)
{
    struct jobs_host *h = ctx;
    struct quarry_options o = h->store;
    bool is = false;
    if (cluster_roles_has(h->roles, who))
        return true;
    o.world = h->world;
    if (!h->tables && quarry_open(h->cell, &o, &h->tables, NULL))
        h->tables = NULL;
    return h->tables &&
           quarry_acl_is_administrator(h->tables, who, &is, NULL) == 0 && is;
}

static int
open_files(void *ctx, const char *principal, struct fs **out, struct err *err)
{
    const struct jobs_host *h = ctx;
    const struct gfs_options o = {.namenodes = h->cell,
                                  .name = "job master",
                                  .security = h->store.security,
                                  .act_as = principal};
    return fs_gfs_open(h->world, &o, out, err);
}

static void host_free(struct jobs_host *h)
{
    job_master_close(h->master);
    quarry_close(h->tables);
    fs_close(h->fs);
    mem_free(h->cell);
    mem_free(h->memo);
    mem_free(h);
}

static int
jobs_role_open(const struct role_env *env, void **out, struct err *err)
{
    struct jobs_host *h = mem_zalloc(1, sizeof(*h));
    const struct gfs_options files = {.namenodes = env->cell,
                                      .name = env->address,
                                      .rack = env->rack,
                                      .security = env->security};
    struct job_master_options o = {.address = env->address,
                                   .cell = env->lock_servers,
                                   .metrics = env->metrics,
                                   .cell_count = env->lock_server_count,
                                   .security = env->security,
                                   .store_options = &h->store,
                                   .encrypts = env->master_keys != NULL,
                                   .master_keys = env->master_keys,
                                   .keys_path = KEYS_PATH,
                                   .keys_dir = KEYS_DIR,
                                   .find = jobs_find_job,
                                   .is_administrator = is_administrator,
                                   .ctx = h,
                                   .is_driver = job_run_is_driver,
                                   .drive = job_run_drive};
    int rc = read_options(env->conf, &o, err);
    if (rc == 0)
        rc = role_caps_read(env, &o.caps, err);
    h->roles = env->roles;
    o.roles = env->roles;
    if (cluster_roles_are_proved(env->roles))
        o.open_fs = open_files;
    h->world = env->world;
    h->store =
        (struct quarry_options){.security = env->security, .must_exist = true};
    h->cell = mem_strdup(env->cell);
    h->memo = role_memo(env, "jobs");
    o.memo = h->memo;
    o.target = h->cell;
    if (rc == 0)
        rc = fs_gfs_open(env->world, &files, &h->fs, err);
    o.fs = h->fs;
    if (rc == 0)
        rc = job_master_open(env->world, env->server, &o, &h->master, err);
    if (rc) {
        host_free(h);
        h = NULL;
    }
    *out = h;
    return rc;
}

static int jobs_role_started(void *role, struct err *err)
{
    struct jobs_host *h = role;
    (void)err;
    job_master_start(h->master);
    return 0;
}

static void jobs_role_status(void *role, struct buf *out)
{
    const struct jobs_host *h = role;
    struct job_master_status s;
    job_master_get_status(h->master, &s);
    if (!s.is_master)
        buf_append_str(out, "master=no");
    else
        buf_printf(out,
                   "master=yes running=%u waiting=%u ended=%llu workers=%u "
                   "slots=%u busy=%u",
                   s.running, s.waiting, (unsigned long long)s.ended, s.workers,
                   s.slots, s.busy);
    job_master_put_jobs(h->master, out);
}

static void jobs_role_gather(void *role, struct metric_set *out)
{
    const struct jobs_host *h = role;
    struct job_master_status s;
    job_master_get_status(h->master, &s);
    metric_put(out, METRIC_jobs_active, NULL, s.is_master);
    if (!s.is_master)
        return;
    metric_put(out, METRIC_jobs_running, NULL, s.running);
    metric_put(out, METRIC_jobs_waiting, NULL, s.waiting);
    metric_put(out, METRIC_jobs_stalled, NULL, s.stalled);
    metric_put(out, METRIC_jobs_workers, NULL, s.workers);
    metric_put(out, METRIC_jobs_slots, METRIC_LABELS("busy"), s.busy);
    metric_put(out, METRIC_jobs_slots, METRIC_LABELS("idle"),
               s.slots - MIN_OF(s.busy, s.slots));
}

static void jobs_role_stopping(void *role)
{
    struct jobs_host *h = role;
    fs_hurry(h->fs);
    job_master_stop(h->master);
}

static void jobs_role_close(void *role)
{
    host_free(role);
}

const struct role jobs_role = {
    .name = "jobs",
    .help = "runs MapReduce jobs on the workers; one of all holds the lock",
    .open = jobs_role_open,
    .started = jobs_role_started,
    .status = jobs_role_status,
    .gather = jobs_role_gather,
    .stopping = jobs_role_stopping,
    .close = jobs_role_close,
};
