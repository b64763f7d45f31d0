/* A cluster as a target: opening and closing it and its views, calls on its
 * loop, calls of tablet servers, and its table of operations.
 *
 * Every caller shares the rule here for trying again: at once the first time
 * that a tablet has moved, above a rate after the time that the server told,
 * else after pauses that double and are partly random, so that the clients of a
 * server that died do not come back together.
 */
#include "bigtable/client/cluster/cluster_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/rpc/channel_set.h"
#include "base/rpc/security.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "bigtable/client/async.h"
#include "bigtable/client/cluster/locator.h"
#include "bigtable/client/cluster/lock_files.h"
#include "bigtable/client/cluster/shared_calls.h"

#define TIMEOUT_US_DEFAULT UINT64_C(60000000)
#define CONNECT_US_MAX     UINT64_C(15000000)
#define CLUSTER_NAME       "quarry"
#define PAUSE_US_MIN       UINT64_C(10000)
#define RETRY_US_MIN       UINT64_C(1000)
/* A tablet that moves, or whose server died, is served within seconds. */
#define PAUSE_US_SOON    UINT64_C(250000)
#define PAUSE_SOON_TRIES 30
#define PAUSE_US_MAX     UINT64_C(1000000)

/* --- calls on the loop --------------------------------------------------- */

struct visit {
    struct cluster *cluster;
    uint64_t deadline_ns; /* 0: none. */
    cluster_fn fn;
    void *arg;
    struct err *err;
    int rc;
};

static void run_visit(void *arg)
{
    struct visit *v = arg;
    uint64_t before = fiber_deadline();
    (void)fiber_set_deadline(v->deadline_ns);
    v->rc = v->fn(v->arg, v->err);
    (void)fiber_set_deadline(before);
}

int cluster_do(struct cluster *c,
               const char *name,
               uint64_t timeout_us,
               cluster_fn fn,
               void *arg,
               struct err *err)
{
    struct err mine; /* Large: not cleared where nobody will look. */
    struct visit v = {.cluster = c,
                      .deadline_ns = fiber_deadline(),
                      .fn = fn,
                      .arg = arg,
                      .err = err ? err : &mine};
    err_init(&mine);
    if (timeout_us == 0)
        timeout_us = c->timeout_us;
    if (timeout_us != CLUSTER_NO_TIMEOUT) {
        uint64_t ours = world_mono_ns(c->world) + timeout_us * 1000;
        if (v.deadline_ns == 0 || ours < v.deadline_ns)
            v.deadline_ns = ours;
    }
    if (fiber_self() && loop_self() == c->loop)
        run_visit(&v);
    else
        loop_call(c->loop, name, run_visit, &v);
    return v.rc;
}

/* --- trying again -------------------------------------------------------- */

bool retry_is_elsewhere(int rc, const struct err *err)
{
    return rc == ERR_NOTFOUND && err && err->detail == ERR_DETAIL_ELSEWHERE;
}

bool retry_is_rate(int rc, const struct err *err)
{
    return rc == ERR_EXHAUSTED && err && err->detail == ERR_DETAIL_RATE;
}

bool retry_is_of_use(int rc, const struct err *err)
{
    return rc == ERR_UNAVAILABLE || rc == ERR_CLOSED ||
           retry_is_elsewhere(rc, err) || retry_is_rate(rc, err);
}

/* How long to wait, at least as long as we were told. */
static uint64_t pause_of(struct retry *r, int rc, const struct err *err)
{
    uint64_t us = PAUSE_US_MIN << MIN_OF(r->tries, 7U);
    if (retry_is_rate(rc, err)) {
        us = MAX_OF(err->retry_us, RETRY_US_MIN);
        return us + world_random(r->cluster->world) % (us / 4 + 1);
    }
    us = MIN_OF(us, r->tries < PAUSE_SOON_TRIES ? PAUSE_US_SOON : PAUSE_US_MAX);
    return us / 2 + world_random(r->cluster->world) % (us / 2 + 1);
}

/* A try after others had no answer in time: that says little without them. */
static void explain_failure(const struct retry *r, int rc, struct err *err)
{
    if (rc == ERR_DEADLINE && r->tries && err)
        err_set(err, rc, "%s; the try before: %s", err_name(rc), r->why);
}

/* No more tries: what failed last is the failure, of a kind that may pass. */
static void give_up(const struct retry *r, int *rc, struct err *err)
{
    if (!retry_is_rate(*rc, err))
        *rc = ERR_UNAVAILABLE;
    if (err)
        err->code = *rc;
    err_wrap(err, "given up after %u tries", r->tries);
}

static uint64_t limit_us(const struct retry *r)
{
    uint64_t us = r->cluster->timeout_us;
    return r->is_change ? MIN_OF(us, CHANGE_RETRY_US) : us;
}

bool retry_again(struct retry *r, int *rc, struct err *err)
{
    struct world *w = r->cluster->world;
    uint64_t now = world_mono_ns(w);
    uint64_t deadline = fiber_deadline();
    uint64_t pause_us = pause_of(r, *rc, err);
    bool moved = retry_is_elsewhere(*rc, err);
    if (!retry_is_of_use(*rc, err)) {
        explain_failure(r, *rc, err);
        return false;
    }
    snprintf(r->why, sizeof(r->why), "%.199s", err ? err->text : "");
    if (r->tries == 0)
        r->until_ns = now + limit_us(r) * 1000;
    if (deadline == 0 || r->until_ns < deadline)
        deadline = r->until_ns;
    if (r->tries++ == 0 && moved)
        return true;
    r->cluster->counts->retries++;
    if (now + pause_us * 1000 >= deadline) {
        give_up(r, rc, err);
        return false;
    }
    world_sleep_us(w, pause_us);
    if (fiber_check(NULL) == ERR_CANCELLED) {
        *rc = err_set(err, ERR_CANCELLED, "cancelled");
        return false;
    }
    return true;
}

/* --- tablet servers ------------------------------------------------------ */

int tablet_call(struct cluster *c,
                struct location *l,
                uint32_t method,
                const struct rpc_call_options *opts,
                struct slice body,
                struct slice attachment,
                struct buf *reply,
                struct buf *reply_attachment,
                struct err *err)
{
    struct rpc_call_options o = {.act_as = SLICE_EMPTY};
    int rc;
    if (opts)
        o = *opts;
    if (c->as)
        o.act_as = slice_str(c->as);
    c->counts->calls++;
    c->counts->bytes_sent += body.len + attachment.len;
    rc = channel_set_call(c->channels, l->address, method, &o, body, attachment,
                          reply, reply_attachment, err);
    if (rc == 0) {
        c->counts->bytes_received +=
            (reply ? reply->len : 0) +
            (reply_attachment ? reply_attachment->len : 0);
        return 0;
    }
    if (retry_is_of_use(rc, err) && !retry_is_rate(rc, err))
        locator_forget(c->locator, l);
    if (rc == ERR_UNAVAILABLE || rc == ERR_CLOSED || rc == ERR_DEADLINE)
        err_wrap(err, "tablet server %.*s", SLICE_ARG(l->address));
    return rc;
}

/* --- closing ------------------------------------------------------------- */

static int close_on_loop(void *arg, struct err *err)
{
    struct cluster *c = arg;
    (void)err;
    cluster_tables_close(c);
    shared_calls_free(c->reads);
    shared_calls_free(c->writes);
    locator_free(c->locator);
    lock_file_free(c->root);
    lock_file_free(c->master);
    lock_files_close(c->files);
    channel_set_close(c->channels);
    return 0;
}

static void free_cluster(struct cluster *c)
{
    if (c->loop && cluster_do(c, "tables close", CLUSTER_NO_TIMEOUT,
                              close_on_loop, c, NULL))
        PANIC("closing does not fail");
    if (c->own_loop && c->loop) {
        loop_stop(c->loop);
        loop_join(c->loop);
        loop_free(c->loop);
    }
    rpc_security_free(c->own_security);
    mem_free(c->changes);
    mem_free(c->counts);
    stamp_calls_free(c->stamps);
    mem_free(c->as);
    mem_free(c->target);
    mem_free(c);
}

/* --- views --------------------------------------------------------------- */

/* Takes what is set for good when a client is opened, and nothing that calls
 * change meanwhile: those run on the loop, and this runs on any thread. */
void cluster_target_view(struct quarry *q, struct quarry *view, const char *as)
{
    const struct cluster *from = q->cluster;
    struct cluster *c = mem_zalloc(1, sizeof(*c));
    c->quarry = view;
    c->as = mem_strdup(as);
    c->main = from->main ? from->main : q->cluster;
    c->world = from->world;
    c->loop = from->loop;
    c->target = from->target;
    c->security = from->security;
    c->timeout_us = from->timeout_us;
    c->channels = from->channels;
    c->files = from->files;
    c->root = from->root;
    c->master = from->master;
    c->locator = from->locator;
    c->reads = from->reads;
    c->writes = from->writes;
    c->changes = from->changes;
    c->counts = from->counts;
    c->stamps = from->stamps;
    open_tables_init(&c->tables);
    view->cluster = c;
}

const char *cluster_target_principal(const struct quarry *q)
{
    const struct cluster *c = q->cluster;
    return c->as ? c->as : rpc_security_principal(c->security);
}

static int close_view_on_loop(void *arg, struct err *err)
{
    (void)err;
    cluster_tables_close(arg);
    return 0;
}

static void close_view(struct quarry *q)
{
    struct cluster *c = q->cluster;
    if (cluster_do(c, "view close", CLUSTER_NO_TIMEOUT, close_view_on_loop, c,
                   NULL))
        PANIC("closing does not fail");
    mem_free(c->as);
    mem_free(c);
}

void cluster_target_close(struct quarry *q)
{
    if (q->cluster && q->cluster->main) {
        close_view(q);
        return;
    }
    async_pool_free(q->async);
    if (q->cluster)
        free_cluster(q->cluster);
}

/* --- pins, which only a directory has ------------------------------------ */

int cluster_pin(struct quarry *q, struct err *err)
{
    (void)q;
    err_set(err, ERR_UNSUPPORTED,
            "a cluster has no directory whose state could be pinned");
    err_hint(err, "connect to the cluster to read it");
    return ERR_UNSUPPORTED;
}

void cluster_unpin(struct quarry *q)
{
    (void)q;
}

static const struct target_ops cluster_ops = {
#define OP(type, name, parameters) .name = cluster_##name,
#define OP_OF_CLUSTER              OP
#include "bigtable/client/target_ops.def"
};

/* --- opening ------------------------------------------------------------- */

struct opening {
    struct cluster *cluster;
    const char *target;
    const struct quarry_options *opts;
};

static int open_on_loop(void *arg, struct err *err)
{
    const struct opening *o = arg;
    struct cluster *c = o->cluster;
    struct rpc_channel_options channels = {
        .security = c->security,
        /* A server that comes back should be found soon. */
        .backoff_max_us = 500000,
        .connect_timeout_us = 2000000,
        /* Its tablets may be served elsewhere by then. */
        .connect_wait_us = 500000,
    };
    struct lock_files_options files = {.servers = o->target,
                                       .security = c->security,
                                       .memo = o->opts->memo,
                                       .address = o->opts->address};
    int rc;
    c->channels = channel_set_new(&channels);
    c->reads = shared_calls_new(c, &cluster_read_kind);
    c->writes = shared_calls_new(c, &cluster_write_kind);
    change_ids_init(c->changes, c->world);
    c->locator = locator_new(c, o->opts->location_count);
    rc = lock_files_open(c->world, &files, &c->files, err);
    if (rc)
        return rc;
    c->root = lock_file_new(c->files, BIGTABLE_LOCK_ROOT_TAB);
    c->master = lock_file_new(c->files, BIGTABLE_LOCK_MASTER);
    return 0;
}

/* Make the proof of our identity for the servers. */
static int cluster_prove(struct cluster *c,
                         const struct quarry_options *o,
                         struct err *err)
{
    const char *cluster = o->cluster ? o->cluster : CLUSTER_NAME;
    const char *name = o->principal ? o->principal : "quarry";
    c->security = o->security;
    if (o->security)
        return 0;
    if (o->certificate_file) {
        int rc;
        if (!o->certificate_key_file || !o->authority_file)
            return err_set(err, ERR_INVALID,
                           "a certificate needs its key and an authority");
        rc = rpc_security_tls(c->world, cluster, o->certificate_file,
                              o->certificate_key_file, o->authority_file,
                              &c->own_security, err);
        if (rc)
            return rc;
    } else if (o->key_file) {
        int rc = rpc_security_key(c->world, cluster, name, o->key_file,
                                  &c->own_security, err);
        if (rc)
            return rc;
    } else {
        c->own_security = rpc_security_none(cluster, name);
    }
    c->security = c->own_security;
    return 0;
}

static int start_loop(struct cluster *c, struct err *err)
{
    int rc = 0;
    c->own_loop = !fiber_self();
    c->loop = loop_self();
    if (c->own_loop) {
        rc = loop_new(c->world, "quarry client", &c->loop, err);
        if (rc == 0)
            loop_start(c->loop);
        else
            c->loop = NULL;
    }
    return rc;
}

static void hint_connect(int rc, struct err *err)
{
    /* A server closes the connection of a client with another key. */
    if (rc == ERR_DENIED || (err && err->detail == ERR_DETAIL_HUNG_UP))
        err_hint(err, "is it the cluster's key? name it by --key FILE, "
                      "$QUARRY_KEY, or key_file of quarry_options");
    else if (rc == ERR_UNAVAILABLE || rc == ERR_DEADLINE)
        err_hint(err, "do the servers run, with the role lock? see: "
                      "quarry cluster status");
}

int cluster_target_open(struct quarry *q,
                        const char *target,
                        const struct quarry_options *opts,
                        struct err *err)
{
    struct cluster *c = mem_zalloc(1, sizeof(*c));
    struct opening o = {c, target, opts};
    int rc;
    q->ops = &cluster_ops;
    q->cluster = c;
    c->quarry = q;
    if (opts->act_as)
        c->as = mem_strdup(opts->act_as);
    c->target = mem_strdup(target);
    c->changes = mem_zalloc(1, sizeof(*c->changes));
    c->counts = mem_zalloc(1, sizeof(*c->counts));
    c->stamps = stamp_calls_new();
    open_tables_init(&c->tables);
    c->world = q->world;
    c->timeout_us = opts->timeout_us ? opts->timeout_us : TIMEOUT_US_DEFAULT;
    rc = cluster_prove(c, opts, err);
    if (rc == 0)
        rc = start_loop(c, err);
    if (rc == 0)
        rc = cluster_do(c, "tables open", MIN_OF(c->timeout_us, CONNECT_US_MAX),
                        open_on_loop, &o, err);
    if (rc) {
        err_wrap(err, "cluster %s", target);
        hint_connect(rc, err);
        return rc;
    }
    q->async =
        async_pool_new(q->world, c->loop, opts->async_tasks, opts->async_calls);
    return 0;
}
