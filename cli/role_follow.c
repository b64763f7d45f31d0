/* The role `follow`: hosts the followers of the cluster's tables, beside those
 * of the other processes that have it (bigtable/follow/follow.h).
 *
 * It works on a task of its own: what a follower does never holds up the
 * process's loop. A server that serves its own directory alone has nothing to
 * follow: `quarry follow run` is for directories.
 */
#include <stdatomic.h>

#include "base/core/buf.h"
#include "base/core/conf.h"
#include "base/core/panic.h"
#include "base/metrics/metrics.h"
#include "base/runtime/log.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/follow/follow.h"
#include "bigtable/quarry.h"
#include "cli/follow_kinds.h"
#include "cli/role.h"

/* Between tries to reach a cluster that is not up yet. */
#define RETRY_US UINT64_C(2000000)

extern const struct role follow_role;

struct follow_role_state {
    struct world *world;
    const struct rpc_security *security;
    char *cell; /* Owned, as the next two; NULL: nothing to follow. */
    char *memo;
    char *address;
    char *name;
    struct follow_kinds kinds;
    struct task *task; /* Owned; NULL: not started, or joined. */

    struct mutex mutex; /* Of what follows. */
    struct cond changed;
    bool stopping;
    struct follower_host *host; /* Of the task; NULL: not open yet. */
};

static bool wait_or_stop(struct follow_role_state *f, uint64_t us)
{
    bool stopping;
    mutex_lock(&f->mutex);
    if (!f->stopping && us)
        (void)cond_wait_us(&f->changed, &f->mutex, f->world, us);
    while (!us && !f->stopping)
        cond_wait(&f->changed, &f->mutex);
    stopping = f->stopping;
    mutex_unlock(&f->mutex);
    return stopping;
}

static void set_host(struct follow_role_state *f, struct follower_host *h)
{
    mutex_lock(&f->mutex);
    f->host = h;
    mutex_unlock(&f->mutex);
}

static int open_store(struct follow_role_state *f, struct quarry **q)
{
    const struct quarry_options o = {.world = f->world,
                                     .security = f->security,
                                     .memo = f->memo,
                                     .address = f->address};
    struct err err = ERR_INIT;
    int rc;
    do {
        rc = quarry_open(f->cell, &o, q, &err);
    } while (rc && !wait_or_stop(f, RETRY_US));
    return rc;
}

static void run_follow_task(void *arg)
{
    struct follow_role_state *f = arg;
    const struct follower_host_options o = {.name = f->name};
    struct follower_host *h = NULL;
    struct quarry *q = NULL;
    if (open_store(f, &q) == 0 &&
        follower_host_open(q, f->kinds.list, f->kinds.count, &o, &h, NULL) ==
            0) {
        set_host(f, h);
        (void)wait_or_stop(f, 0);
        set_host(f, NULL);
        follower_host_close(h);
    }
    quarry_close(q);
}

/* --- the role ------------------------------------------------------------ */

static void follow_role_stopping(void *role)
{
    struct follow_role_state *f = role;
    mutex_lock(&f->mutex);
    f->stopping = true;
    cond_broadcast(&f->changed);
    mutex_unlock(&f->mutex);
    if (f->task)
        task_join(f->task);
    f->task = NULL;
}

static void follow_role_close(void *role)
{
    struct follow_role_state *f = role;
    follow_role_stopping(f);
    mem_free(f->cell);
    mem_free(f->memo);
    mem_free(f->address);
    mem_free(f->name);
    cond_close(&f->changed);
    mutex_close(&f->mutex);
    mem_free(f);
}

static int
follow_role_open(const struct role_env *env, void **out, struct err *err)
{
    struct follow_role_state *f = mem_zalloc(1, sizeof(*f));
    bool alone = env->cell_count == 1 && env->cell_index == 0;
    struct observe_host allowed = {.weak_sandbox = false};
    int rc = conf_get_bool(env->conf, "follow", "weak-sandbox",
                           &allowed.weak_sandbox, err);
    follow_kinds_init(&f->kinds, &allowed);
    f->world = env->world;
    f->security = env->security;
    if (!alone || env->has_tablets)
        f->cell = mem_strdup(env->cell);
    f->memo = role_memo(env, "follow");
    f->address = mem_strdup(env->address);
    f->name = mem_strdup(env->name);
    mutex_init(&f->mutex);
    cond_init(&f->changed);
    if (rc) {
        follow_role_close(f);
        f = NULL;
    }
    *out = f;
    return rc;
}

static int follow_role_started(void *role, struct err *err)
{
    struct follow_role_state *f = role;
    (void)err;
    PRE(!f->task);
    if (f->cell)
        f->task = task_start(f->world, "follow", run_follow_task, f);
    return 0;
}

static void follow_role_status(void *role, struct buf *out)
{
    struct follow_role_state *f = role;
    if (!mutex_try_lock(&f->mutex))
        return;
    if (f->host)
        buf_printf(out, "running=%zu", follower_host_running(f->host));
    else
        buf_append_str(out, f->cell ? "waiting" : "off");
    mutex_unlock(&f->mutex);
}

static void follow_role_gather(void *role, struct metric_set *out)
{
    struct follow_role_state *f = role;
    if (!mutex_try_lock(&f->mutex))
        return;
    if (f->host)
        follower_host_gather(f->host, out);
    mutex_unlock(&f->mutex);
}

const struct role follow_role = {
    .name = "follow",
    .help = "runs what follows the changes of tables: observers, replication",
    .open = follow_role_open,
    .started = follow_role_started,
    .status = follow_role_status,
    .gather = follow_role_gather,
    .stopping = follow_role_stopping,
    .close = follow_role_close,
};
