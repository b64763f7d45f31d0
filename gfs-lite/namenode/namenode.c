/* A namenode: its life, its state machine under base/replica, and leadership.
 * Images are built and freed beside the loop, because a million files take
 * longer than a heartbeat.
 */
#include "gfs-lite/namenode/namenode.h"

#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "gfs-lite/namenode/namenode_state.h"

#define SESSION_US_DEFAULT      UINT64_C(60000000)
#define SERVER_DEAD_US_DEFAULT  UINT64_C(10000000)
#define TRASH_US_DEFAULT        (UINT64_C(72) * 3600 * 1000000)
#define COPY_TIMEOUT_US_DEFAULT UINT64_C(60000000)
#define COPIES_MAX_DEFAULT      16
#define SCAN_US_DEFAULT         UINT64_C(5000000)
#define FULL_REPORT_US_DEFAULT  UINT64_C(600000000)
#define REST_US                 UINT64_C(100)
#define SHARED_IDLE_US_DEFAULT  UINT64_C(600000000)
#define PROOF_TURN_US_DEFAULT   (UINT64_C(45) * 60 * 1000000)

/* --- the machine --------------------------------------------------------- */

/* The leader deletes the replicas of a freed chunk at their servers (GFS 4.4).
 */
static void on_chunk_freed(void *ctx, const struct chunk *c)
{
    struct namenode *nn = ctx;
    if (!nn->leading_since_ns)
        return;
    PRE(c->refs == 0);
    PRE(c->replica_count <= GFS_REPLICAS_MAX);
    for (unsigned i = 0; i < c->replica_count; i++)
        chunk_server_add_delete(&nn->servers, c->replicas[i], c->handle,
                                c->pending);
}

static void namenode_apply(void *ctx,
                           uint64_t index,
                           struct slice command,
                           struct buf *reply)
{
    struct namenode *nn = ctx;
    PRE(index > nn->catalog.applied);
    catalog_apply(&nn->catalog, index, command, reply);
}

static void namenode_save(void *ctx, struct buf *out)
{
    struct namenode *nn = ctx;
    catalog_save(&nn->catalog, out);
}

static int namenode_load(void *ctx, struct slice image, struct err *err)
{
    struct namenode *nn = ctx;
    int rc = catalog_load(&nn->catalog, image, err);
    catalog_watch(&nn->catalog, on_chunk_freed, nn);
    return rc;
}

/* --- images, built beside the loop --------------------------------------- */

static int
namenode_build(void *ctx, struct slice image, void **state, struct err *err)
{
    struct catalog *c = mem_alloc(sizeof(*c));
    int rc;
    (void)ctx;
    catalog_init(c);
    rc = catalog_load(c, image, err);
    if (rc) {
        catalog_close(c);
        mem_free(c);
        return rc;
    }
    *state = c;
    return 0;
}

static void drop_state(void *arg)
{
    catalog_close(arg);
    mem_free(arg);
}

struct dropping {
    struct namenode *nn;
    struct catalog *old;
};

static void run_dropping(void *arg)
{
    struct dropping *d = arg;
    struct namenode *nn = d->nn;
    PRE(nn->helpers > 0);
    offload(drop_state, d->old);
    mem_free(d);
    namenode_end_helper(nn);
}

/* Replaces the catalog; the old one is freed beside the loop. */
static void namenode_adopt(void *ctx, void *state)
{
    struct namenode *nn = ctx;
    struct dropping *d = mem_alloc(sizeof(*d));
    struct catalog *fresh = state;
    struct catalog now = *fresh;
    *d = (struct dropping){nn, fresh};
    *fresh = nn->catalog;
    nn->catalog = now;
    catalog_watch(&nn->catalog, on_chunk_freed, nn);
    nn->helpers++;
    fiber_detach(fiber_start(loop_self(), "drop state", run_dropping, d));
}

/* A leader's own knowledge begins empty. */
static void namenode_reset(struct namenode *nn)
{
    PRE(nn->leading_since_ns); /* INV-1 */
    size_t at = 0;
    struct chunk *c;
    while ((c = id_map_next(&nn->catalog.names.chunks.by_handle, &at))) {
        c->replica_count = 0;
        c->busy = false;
    }
    id_map_close_all(&nn->sessions);
    id_map_close_all(&nn->shared);
    id_map_close_all(&nn->blocked);
    id_map_close_all(&nn->copies);
    repair_queue_close(&nn->repairs);
    repair_queue_init(&nn->repairs);
    chunk_servers_reset(&nn->servers);
    chunk_servers_follow(&nn->servers, &nn->catalog);
    POST(nn->copies.count == 0); /* INV-2: no chunk is busy. */
    nn->scan_due_ns = 0;
}

static void namenode_set_leading(void *ctx, bool leading, uint64_t term)
{
    struct namenode *nn = ctx;
    INVARIANT(term >= nn->term); /* INV-5 */
    nn->term = term;
    nn->leading_since_ns = leading ? world_mono_ns(nn->world) : 0;
    nn->under_since_us = 0;
    nn->lost_since_us = 0;
    if (leading) {
        namenode_reset(nn);
        namenode_begin_keys(nn);
    }
    log_info(nn->world, "namenode", "%s at term %llu",
             leading ? "leads" : "does not lead any more",
             (unsigned long long)term);
}

/* --- leading ------------------------------------------------------------- */

int namenode_lead(const struct namenode *nn, struct err *err)
{
    if (nn->stopping)
        return err_set(err, ERR_UNAVAILABLE, "the namenode is stopping");
    if (replica_is_leader(nn->replica) && nn->leading_since_ns)
        return 0;
    return replica_not_leader(nn->replica, err);
}

int namenode_lead_now(struct namenode *nn, struct err *err)
{
    int rc = namenode_lead(nn, err);
    if (rc == 0)
        rc = replica_read_barrier(nn->replica, err);
    return rc ? rc : namenode_lead(nn, err);
}

int namenode_propose(struct namenode *nn,
                     struct gfs_command *c,
                     struct gfs_result *r,
                     struct buf *reply,
                     struct err *err)
{
    struct buf bytes = BUF_INIT;
    PRE(c->op);
    int rc = namenode_lead(nn, err);
    if (rc)
        return rc;
    c->time_us = world_now_us(nn->world);
    gfs_command_put(c, &bytes);
    rc = replica_propose(nn->replica, buf_slice(&bytes), reply, err);
    buf_close(&bytes);
    POST(rc || reply->len > 0);
    if (rc == 0)
        rc = gfs_result_get(buf_slice(reply), r, err);
    if (rc == 0 && r->code) {
        rc = err_set(err, r->code, "%.*s", SLICE_ARG(r->text));
        if (r->hint.len)
            err_hint(err, "%.*s", SLICE_ARG(r->hint));
    }
    return rc;
}

void namenode_rest(const struct namenode *nn)
{
    world_sleep_us(nn->world, REST_US);
}

bool namenode_is_leader(const struct namenode *nn)
{
    return namenode_lead(nn, NULL) == 0;
}

void namenode_get_status(const struct namenode *nn, struct replica_status *out)
{
    replica_get_status(nn->replica, out);
}

int namenode_take_master_key(struct namenode *nn, struct err *err)
{
    return replica_take_master_key(nn->replica, err);
}

int namenode_health(const struct namenode *nn, struct err *err)
{
    return replica_health(nn->replica, err);
}

bool namenode_in_safe_mode(const struct namenode *nn)
{
    struct safe_mode_view v = {
        .since_us = (world_mono_ns(nn->world) - nn->leading_since_ns) / 1000};
    const struct chunk_map *m = &nn->catalog.names.chunks;
    size_t at = 0;
    const struct chunk *c;
    if (v.since_us >= SAFE_MODE_US_MAX)
        return false;
    for (size_t i = 0; i < nn->servers.count; i++)
        if (nn->catalog.servers[i].state != GFS_SERVER_GONE) {
            v.servers++;
            v.servers_heard += nn->servers.servers[i].reported;
        }
    INVARIANT(v.servers_heard <= v.servers);
    if (v.servers_heard >= v.servers)
        return false;
    /* Of all chunks, including open ones: the tolerance is a share of them. The
     * walk ends once more than that are missing. */
    v.chunks = m->by_handle.count;
    v.chunks_seen = v.chunks;
    while ((c = id_map_next(&m->by_handle, &at)))
        if (c->sealed && c->replica_count == 0) {
            v.chunks_seen--;
            if (safe_mode_holds(&v))
                return true;
        }
    return safe_mode_holds(&v);
}

bool namenode_is_early(const struct namenode *nn)
{
    uint64_t now = world_mono_ns(nn->world);
    for (size_t i = 0; i < nn->servers.count; i++)
        if (nn->catalog.servers[i].state != GFS_SERVER_GONE &&
            !nn->servers.servers[i].reported)
            return namenode_in_safe_mode(nn) ||
                   now - nn->leading_since_ns <
                       nn->options.server_dead_us * 1000;
    return false;
}

void namenode_touch(struct namenode *nn, struct id_map *m, uint64_t id)
{
    struct last_use *u = id_map_get(m, id);
    if (!u) {
        u = mem_zalloc(1, sizeof(*u));
        u->id = id;
        id_map_put(m, u);
    }
    INVARIANT(u->id == id);
    INVARIANT(u->used_ns <= world_mono_ns(nn->world));
    u->used_ns = world_mono_ns(nn->world);
}

uint64_t
namenode_silent_us(struct namenode *nn, const struct id_map *m, uint64_t id)
{
    const struct last_use *u = id_map_get(m, id);
    uint64_t since = u ? u->used_ns : nn->leading_since_ns;
    uint64_t now = world_mono_ns(nn->world);
    return now > since ? (now - since) / 1000 : 0;
}

/* --- life ---------------------------------------------------------------- */

static void set_default(uint64_t *v, uint64_t otherwise)
{
    if (*v == 0)
        *v = otherwise;
}

static void set_defaults(struct namenode_options *o)
{
    set_default(&o->session_us, SESSION_US_DEFAULT);
    set_default(&o->server_dead_us, SERVER_DEAD_US_DEFAULT);
    set_default(&o->trash_us, TRASH_US_DEFAULT);
    set_default(&o->copy_timeout_us, COPY_TIMEOUT_US_DEFAULT);
    set_default(&o->scan_us, SCAN_US_DEFAULT);
    set_default(&o->full_report_us, FULL_REPORT_US_DEFAULT);
    set_default(&o->shared_idle_us, SHARED_IDLE_US_DEFAULT);
    set_default(&o->proof_turn_us, PROOF_TURN_US_DEFAULT);
    set_default(&o->copy_step, NAMES_STEP_MAX);
    if (o->copies_max == 0)
        o->copies_max = COPIES_MAX_DEFAULT;
}

static void add_methods(struct namenode *nn, struct rpc_server *server)
{
    static const struct rpc_method methods[] = {
        NAMENODE_METHODS(RPC_METHOD_ROW)};
    rpc_server_add(server, methods, ARRAY_LEN(methods), nn);
}

int namenode_open(struct world *w,
                  struct rpc_server *server,
                  const struct namenode_options *opts,
                  struct namenode **out,
                  struct err *err)
{
    struct namenode *nn = mem_zalloc(1, sizeof(*nn));
    struct replica_machine machine = {.ctx = nn,
                                      .apply = namenode_apply,
                                      .save = namenode_save,
                                      .load = namenode_load,
                                      .lead = namenode_set_leading};
    static const struct replica_aside aside = {namenode_build, namenode_adopt};
    struct replica_options replica = *opts->replica;
    int rc;
    *out = NULL;
    nn->world = w;
    nn->options = *opts;
    set_defaults(&nn->options);
    catalog_init(&nn->catalog);
    PRE(opts->replica);
    catalog_watch(&nn->catalog, on_chunk_freed, nn);
    repair_queue_init(&nn->repairs);
    mutex_init(&nn->lock);
    cond_init(&nn->recovered);
    nn->peers = peers_new(opts->replica->security);
    replica.aside = &aside;
    rc = replica_open(w, server, &machine, &replica, &nn->replica, err);
    nn->options.replica = NULL; /* The caller's. */
    if (rc) {
        namenode_close(nn);
        return rc;
    }
    add_methods(nn, server);
    nn->maintenance =
        fiber_start(loop_self(), "namenode", namenode_run_maintenance, nn);
    *out = nn;
    return 0;
}

void namenode_end_helper(struct namenode *nn)
{
    PRE(nn->helpers > 0); /* INV-4 */
    nn->helpers--;
    if (nn->closer && nn->helpers == 0)
        fiber_wake(nn->closer);
}

void namenode_close(struct namenode *nn)
{
    if (!nn)
        return;
    nn->stopping = true;
    if (nn->maintenance) {
        fiber_cancel(nn->maintenance);
        fiber_join(nn->maintenance);
    }
    nn->closer = fiber_self();
    while (nn->helpers)
        fiber_park();
    replica_close(nn->replica);
    while (nn->helpers) /* Fibers that it started meanwhile. */
        fiber_park();
    INVARIANT(nn->helpers == 0);          /* INV-4 */
    INVARIANT(nn->recoveries.count == 0); /* INV-3 */
    peers_close(nn->peers);
    nn->leading_since_ns = 0;
    id_map_close_all(&nn->sessions);
    id_map_close_all(&nn->shared);
    id_map_close_all(&nn->blocked);
    id_map_close_all(&nn->copies);
    id_map_close(&nn->recoveries);
    repair_queue_close(&nn->repairs);
    chunk_servers_close(&nn->servers);
    catalog_close(&nn->catalog);
    mutex_close(&nn->lock);
    cond_close(&nn->recovered);
    mem_free(nn);
}
