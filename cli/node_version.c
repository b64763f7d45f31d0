/* Follows the cluster's version. A session of its own waits for changes of the
 * file in the lock service, so that a cluster at rest is not disturbed. A new
 * version is noted in the directory before it counts: a program that does not
 * speak it is refused at its start, also while nobody else can be asked.
 */
#include "cli/node_version.h"

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "bigtable/wire/metadata.h"
#include "chubby-lite/chubby.h"
#include "cli/role.h"

/* Between tries while there is no file, or no lock service: the first, and the
 * longest. Masters of the first version do not make the file, and each look is
 * a command of the cell. */
#define AGAIN_MIN_US UINT64_C(250000)
#define AGAIN_MAX_US UINT64_C(10000000)
/* To say goodbye. */
#define CLOSE_US UINT64_C(300000)
/* A number and an end of a line. */
#define FILE_BYTES_MAX 32

struct node_version {
    const struct role_env *env;
    struct version_range range;
    uint32_t known;
    struct err refusal; /* Of `known`. */
    char *path;         /* Of the file. */
    char *memo;
    struct fiber *fiber;
    struct chubby *chubby;
    bool changed; /* An event came. */
};

/* --- the file in the directory ------------------------------------------- */

static int read_note(struct node_version *v, struct err *err)
{
    char bytes[FILE_BYTES_MAX];
    struct file *f;
    size_t got = 0;
    int rc = file_open(v->env->world, v->path, FILE_READ, &f, NULL);
    PRE(v->known == 1);
    if (rc == ERR_NOTFOUND)
        return 0;
    if (rc)
        return err_set(err, rc, "%s cannot be opened", v->path);
    rc = file_read_at(f, 0, bytes, sizeof(bytes), &got, err);
    file_close(f);
    if (rc == 0)
        rc = cluster_version_get(slice_make(bytes, got), &v->known, err);
    if (rc)
        err_wrap(err, "%s", v->path);
    return rc;
}

static int write_note(struct node_version *v, uint32_t version, struct err *err)
{
    struct world *w = v->env->world;
    struct buf text = BUF_INIT;
    struct buf partial = BUF_INIT;
    struct file *f;
    struct slice part;
    int rc;
    PRE(version > v->known); /* INV-1 */
    cluster_version_put(version, &text);
    buf_printf(&partial, "%s.new", v->path);
    part = buf_slice(&text);
    rc = file_open(w, buf_cstr(&partial),
                   FILE_WRITE | FILE_CREATE | FILE_TRUNCATE, &f, err);
    if (rc == 0) {
        rc = file_write_synced(f, 0, &part, 1, err);
        file_close(f);
    }
    if (rc == 0)
        rc = world_rename(w, buf_cstr(&partial), v->path, err);
    if (rc == 0)
        rc = world_sync_dir(w, v->env->data, err);
    buf_close(&text);
    buf_close(&partial);
    return rc;
}

/* --- the file in the lock service ---------------------------------------- */

static void node_version_learn(struct node_version *v, uint32_t version)
{
    struct err err = ERR_INIT;
    if (version <= v->known)
        return;
    if (write_note(v, version, &err))
        log_warn(v->env->world, "server",
                 "cluster-version not noted why=\"%s\"", err.text);
    v->known = version;
    log_info(v->env->world, "server", "cluster at version=%u", version);
    (void)!cluster_version_check(v->range, version, &v->refusal);
}

static void
on_event(void *ctx, struct chubby_handle *h, enum chubby_event event)
{
    struct node_version *v = ctx;
    (void)h;
    (void)event;
    v->changed = true;
    if (v->fiber)
        fiber_wake(v->fiber);
}

static int connect_session(struct node_version *v, struct err *err)
{
    const struct role_env *env = v->env;
    const struct chubby_options o = {.servers = env->lock_servers,
                                     .server_count = env->lock_server_count,
                                     .security = env->security,
                                     .memo = v->memo,
                                     .address = env->address,
                                     .on_event = on_event,
                                     .ctx = v};
    PRE(!v->chubby);
    return chubby_connect(env->world, &o, &v->chubby, err);
}

/* Read the file at each change, until the session or the fiber ends. */
static int
follow_file(struct node_version *v, struct chubby_handle *h, struct err *err)
{
    struct buf text = BUF_INIT;
    int rc = 0;
    while (rc == 0) {
        uint32_t version;
        v->changed = false;
        buf_clear(&text);
        rc = chubby_read(h, &text, NULL, err);
        if (rc == 0)
            rc = cluster_version_get(buf_slice(&text), &version, err);
        if (rc == 0)
            node_version_learn(v, version);
        while (rc == 0 && !v->changed)
            rc = fiber_park_checked(err);
    }
    buf_close(&text);
    return rc;
}

/* One session, until it ends; ERR_NOTFOUND: there is no file. */
static int follow_session(struct node_version *v, struct err *err)
{
    const struct chubby_open_options o = {.events = CHUBBY_EVENT_CONTENT};
    struct chubby_handle *h;
    int rc = v->chubby ? 0 : connect_session(v, err);
    if (rc == 0)
        rc = chubby_open(v->chubby, BIGTABLE_LOCK_VERSION, CHUBBY_READ, &o, &h,
                         err);
    if (rc)
        return rc;
    rc = follow_file(v, h, err);
    chubby_close(h);
    return rc;
}

static void drop_session(struct node_version *v)
{
    uint64_t before =
        fiber_set_deadline(world_mono_ns(v->env->world) + CLOSE_US * 1000);
    chubby_disconnect(v->chubby);
    v->chubby = NULL;
    (void)fiber_set_deadline(before);
}

static void run_follower(void *arg)
{
    struct node_version *v = arg;
    uint64_t again_us = AGAIN_MIN_US;
    while (fiber_check(NULL) == 0) {
        struct err err = ERR_INIT;
        if (follow_session(v, &err) != ERR_NOTFOUND && fiber_check(NULL) == 0)
            drop_session(v);
        if (fiber_check(NULL) == 0)
            world_sleep_us(v->env->world, again_us);
        again_us = MIN_OF(again_us * 2, AGAIN_MAX_US);
    }
}

/* --- life ---------------------------------------------------------------- */

int node_version_open(const struct role_env *env,
                      uint64_t limit,
                      struct node_version **out,
                      struct err *err)
{
    struct node_version *v;
    struct buf path = BUF_INIT;
    int rc;
    *out = NULL;
    if (limit == 0)
        limit = CLUSTER_VERSION_MAX;
    if (limit < CLUSTER_VERSION_MIN || limit > CLUSTER_VERSION_MAX)
        return err_set(err, ERR_INVALID,
                       "cluster-version-max: this program speaks %d to %d",
                       CLUSTER_VERSION_MIN, CLUSTER_VERSION_MAX);
    v = mem_zalloc(1, sizeof(*v));
    v->env = env;
    v->known = 1;
    v->range = cluster_version_range((uint32_t)limit);
    buf_printf(&path, "%s/" NODE_VERSION_FILE, env->data);
    v->path = buf_take(&path);
    v->memo = role_memo(env, "version");
    rc = read_note(v, err);
    if (rc == 0)
        rc = cluster_version_check(v->range, v->known, err);
    if (rc) {
        node_version_close(v);
        v = NULL;
    }
    *out = v;
    return rc;
}

void node_version_start(struct node_version *v)
{
    PRE(!v->fiber);
    v->fiber = fiber_start(loop_self(), "cluster version", run_follower, v);
}

void node_version_stop(struct node_version *v)
{
    if (!v || !v->fiber)
        return;
    fiber_cancel(v->fiber);
    fiber_join(v->fiber);
    v->fiber = NULL;
    drop_session(v); /* A fiber that is cancelled can say nothing more. */
}

void node_version_close(struct node_version *v)
{
    if (!v)
        return;
    node_version_stop(v);
    mem_free(v->path);
    mem_free(v->memo);
    mem_free(v);
}

const uint32_t *node_version_known(const struct node_version *v)
{
    POST(v->known >= 1);
    return &v->known;
}

struct version_range node_version_range(const struct node_version *v)
{
    return v->range;
}

int node_version_health(const struct node_version *v, struct err *err)
{
    return err_copy(err, &v->refusal);
}
