/* A server of the cell: the state machine's functions for base/replica, the RPC
 * methods, opening and closing.
 */
#include "chubby-lite/server.h"

#include "base/core/panic.h"
#include "base/rpc/rpc.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "chubby-lite/server_state.h"

/* How long the table of holders is used. */
#define HOLDERS_NS       UINT64_C(1000000000)
#define LEASE_MS_DEFAULT 12000

/* --- the machine --------------------------------------------------------- */

/* Keep the leases in step with the sessions. */
static void follow_sessions(struct chubby_server *s, struct slice bytes)
{
    struct chubby_command c;

    PRE(s->term); /* INV-1 */
    if (chubby_command_get(bytes, &c, NULL))
        return;
    if (!session_find(cell_sessions(s->cell), c.session))
        lease_remove(&s->leases, c.session);
    else if (c.operation == CHUBBY_OP_SESSION_OPEN)
        server__start_lease(s, c.session);
}

static void chubby_server_apply(void *ctx,
                                uint64_t index,
                                struct slice command,
                                struct buf *reply)
{
    struct chubby_server *s = ctx;

    (void)index;
    cell_apply(s->cell, command, reply);
    if (s->term) {
        follow_sessions(s, command);
        server__wake_waits(s);
    }
}

static void chubby_server_save(void *ctx, struct buf *out)
{
    struct chubby_server *s = ctx;

    cell_save(s->cell, out);
}

static int chubby_server_load(void *ctx, struct slice image, struct err *err)
{
    struct chubby_server *s = ctx;

    return cell_load(s->cell, image, err);
}

static void chubby_server_lead(void *ctx, bool leading, uint64_t term)
{
    struct chubby_server *s = ctx;

    PRE(term > 0);
    s->term = leading ? term : 0;
    s->base_us = cell_now_us(s->cell);
    s->base_ns = world_mono_ns(s->world);
    server__end_leases(s);
    if (leading)
        server__begin_leases(s);
    server__wake_all_waits(s);
    wait_queue_wake(&s->tick);
}

static void on_event(void *ctx, const struct handle *h, enum chubby_event event)
{
    struct chubby_server *s = ctx;
    struct lease *l;

    if (!s->term)
        return;
    PRE(event != 0);
    l = lease_find(&s->leases, h->session->id);
    if (l)
        lease_notify(l, CHUBBY_NEWS_EVENT, h->id, (unsigned)event);
}

uint64_t server__now_us(const struct chubby_server *s)
{
    uint64_t now_ns = world_mono_ns(s->world);

    INVARIANT(now_ns >= s->base_ns);
    return s->base_us + (now_ns - s->base_ns) / 1000;
}

int server__check_leader(struct chubby_server *s, struct err *err)
{
    INVARIANT(s->term || s->leases.leases.count == 0); /* INV-1 */
    return s->term && !s->closing ? 0 : replica_not_leader(s->replica, err);
}

int server__check_session(struct chubby_server *s,
                          const struct rpc_call *call,
                          uint64_t id,
                          struct err *err)
{
    const struct session *session = session_find(cell_sessions(s->cell), id);

    if (session && !slice_eq_str(call->principal, session->principal))
        return err_set(err, ERR_DENIED, "the session is another's");
    return 0; /* The state machine refuses one that does not exist. */
}

/* --- methods ------------------------------------------------------------- */

/* The command of @call; the server fills in the principal and the lease. */
static int get_command(struct chubby_server *s,
                       struct rpc_call *call,
                       struct chubby_command *c,
                       struct err *err)
{
    int rc = server__check_leader(s, err);

    if (!rc)
        rc = chubby_command_get(call->body, c, err);
    if (!rc && c->operation != CHUBBY_OP_SESSION_OPEN)
        rc = server__check_session(s, call, c->session, err);
    if (!rc && c->operation == CHUBBY_OP_SESSION_EXPIRE)
        rc = err_set(err, ERR_DENIED, "sessions expire by themselves");
    if (rc)
        return rc;
    c->principal = call->principal;
    if (c->operation == CHUBBY_OP_SESSION_OPEN &&
        (c->lock_delay_ms == 0 || c->lock_delay_ms > s->lease_ms))
        c->lock_delay_ms = s->lease_ms; /* Its lease. */
    POST(c->operation != CHUBBY_OP_SESSION_EXPIRE);
    POST(c->operation != CHUBBY_OP_SESSION_OPEN ||
         c->lock_delay_ms <= s->lease_ms);
    return 0;
}

int server__handle_execute(void *ctx, struct rpc_call *call, struct err *err)
{
    struct chubby_server *s = ctx;
    struct chubby_command c;
    struct buf path = BUF_INIT;
    int rc = get_command(s, call, &c, err);

    if (!rc) {
        server__put_path(s, &c, &path);
        rc = server__execute(s, &c, call->reply_body, err);
    }
    if (!rc && c.operation == CHUBBY_OP_SESSION_OPEN)
        log_debug(s->world, "lock", "session opened by=%.*s lease_ms=%u",
                  SLICE_ARG(call->principal), (unsigned)c.lock_delay_ms);
    if (!rc)
        server__audit(s, call, &c, buf_slice(&path));
    buf_close(&path);
    return rc;
}

int server__handle_acquire(void *ctx, struct rpc_call *call, struct err *err)
{
    struct chubby_server *s = ctx;
    struct chubby_command c;
    struct buf path = BUF_INIT;
    int rc = get_command(s, call, &c, err);

    if (!rc && (c.operation != CHUBBY_OP_ACQUIRE || c.sequence))
        rc = err_set(err, ERR_INVALID, "no command to acquire a lock");
    if (!rc) {
        server__put_path(s, &c, &path);
        rc = server__acquire(s, &c, call->reply_body, err);
        log_debug(s->world, "lock", "acquire session=%llx path=%.*s code=%d",
                  (unsigned long long)c.session, SLICE_ARG(buf_slice(&path)),
                  rc);
    }
    if (!rc)
        server__audit(s, call, &c, buf_slice(&path));
    buf_close(&path);
    return rc;
}

static void put_children(const struct node *n, struct buf *out)
{
    size_t i;

    codec_put_array(out, (uint32_t)n->child_count);
    for (i = 0; i < n->child_count; i++)
        codec_put_str(out, slice_str(n->children[i]->name));
}

/* Answer @q about @h; bytes that do not exist yet are made in @scratch. */
static int chubby_server_look(const struct chubby_query *q,
                              const struct handle *h,
                              struct buf *scratch,
                              struct chubby_view *v,
                              struct err *err)
{
    const struct node *n = h->node;

    PRE(n);
    PRE(scratch->len == 0);
    node_stat(n, &v->stat);
    switch (q->kind) {
    case CHUBBY_READ_CONTENTS: v->bytes = buf_slice(&n->contents); return 0;
    case CHUBBY_READ_CHILDREN:
        if (!n->is_directory)
            return err_set(err, ERR_INVALID, "a file has no children");
        put_children(n, scratch);
        break;
    case CHUBBY_READ_SEQUENCER:
        if (cell_sequencer(h, scratch, err))
            return ERR_INVALID;
        break;
    case CHUBBY_READ_STAT: break;
    }
    v->bytes = buf_slice(scratch);
    return 0;
}

int server__handle_read(void *ctx, struct rpc_call *call, struct err *err)
{
    struct chubby_server *s = ctx;
    struct chubby_query q;
    struct chubby_view v = {.cacheable = false};
    struct buf scratch = BUF_INIT;
    struct handle *h;
    struct lease *l;
    int rc = server__check_leader(s, err);

    if (!rc)
        rc = chubby_query_get(call->body, &q, err);
    if (!rc)
        rc = replica_read_barrier(s->replica, err);
    if (!rc)
        rc = server__check_session(s, call, q.session, err);
    if (!rc)
        rc = cell_handle(s->cell, q.session, q.handle,
                         q.kind == CHUBBY_READ_SEQUENCER ? 0u : CHUBBY_READ, &h,
                         err);
    if (!rc)
        rc = chubby_server_look(&q, h, &scratch, &v, err);
    if (!rc) {
        l = lease_find(&s->leases, q.session);
        v.cacheable = l && !(h->flags & CHUBBY_UNCACHED) &&
                      q.kind <= CHUBBY_READ_CHILDREN &&
                      server__may_cache(s, v.stat.instance);
        INVARIANT(!v.cacheable || s->term); /* INV-1 */
        if (v.cacheable)
            lease_cache(l, v.stat.instance);
        chubby_view_put(&v, call->reply_body);
    }
    buf_close(&scratch);
    return rc;
}

int server__handle_check(void *ctx, struct rpc_call *call, struct err *err)
{
    struct chubby_server *s = ctx;
    struct chubby_check q;
    int rc = server__check_leader(s, err);

    if (!rc)
        rc = chubby_check_get(call->body, &q, err);
    if (!rc)
        rc = replica_read_barrier(s->replica, err);
    return rc ? rc : cell_check_sequencer(s->cell, q.sequencer, err);
}

int server__handle_keep_alive(void *ctx, struct rpc_call *call, struct err *err)
{
    return server__keep_alive(ctx, call, err);
}

static const struct rpc_method methods[] = {CHUBBY_METHODS(RPC_METHOD_ROW)};

/* --- life ---------------------------------------------------------------- */

int chubby_server_open(struct world *w,
                       struct rpc_server *rpc,
                       const struct chubby_server_options *opts,
                       struct chubby_server **out,
                       struct err *err)
{
    struct chubby_server *s = mem_zalloc(1, sizeof(*s));
    struct replica_machine machine = {s, chubby_server_apply,
                                      chubby_server_save, chubby_server_load,
                                      chubby_server_lead};
    struct replica_options replica = opts->replica;
    int rc;

    s->world = w;
    s->rpc = rpc;
    s->lease_ms = opts->lease_ms ? opts->lease_ms : LEASE_MS_DEFAULT;
    s->may_look = opts->may_look;
    s->may_look_ctx = opts->may_look_ctx;
    s->cell = cell_new(on_event, s);
    lease_table_init(&s->leases);
    hash_map_init(&s->changing, HASH_KEYS_COPIED);
    hash_map_init(&s->holders, HASH_KEYS_COPIED);
    TAILQ_INIT(&s->claims);
    TAILQ_INIT(&s->waits);
    LIST_INIT(&s->tick);
    LIST_INIT(&s->idle);
    replica.method = CHUBBY_REPLICA_METHOD;
    rc = replica_open(w, rpc, &machine, &replica, &s->replica, err);
    if (rc) {
        err_wrap(err, "lock service");
        chubby_server_close(s);
        return rc;
    }
    rpc_server_add(rpc, methods, ARRAY_LEN(methods), s);
    s->clock = fiber_start(loop_self(), "lock-clock", server__clock, s);
    *out = s;
    return 0;
}

static void wake_all_leases(struct chubby_server *s)
{
    struct hash_slot *slot;
    size_t at = 0;

    while ((slot = hash_map_next(&s->leases.leases, &at))) {
        struct lease *l = slot->value.pointer;
        INVARIANT(!l->gone); /* INV-4 of lease.h */
        wait_queue_wake(&l->waiters);
    }
}

void chubby_server_close(struct chubby_server *s)
{
    if (!s)
        return;
    s->closing = true;
    wait_queue_wake(&s->tick);
    wake_all_leases(s);
    if (s->clock)
        fiber_join(s->clock);
    /* A command may have ended, and have begun to settle, after the clock. */
    while (s->busy_count > 0)
        wait_queue_park(&s->idle);
    INVARIANT(s->probe_count == 0);                            /* INV-3 */
    INVARIANT(TAILQ_EMPTY(&s->waits) == (s->wait_count == 0)); /* INV-4 */
    replica_close(s->replica);
    lease_table_close(&s->leases);
    hash_map_close(&s->changing);
    hash_map_close(&s->holders);
    cell_free(s->cell);
    mem_free(s);
}

int chubby_server_health(const struct chubby_server *s, struct err *err)
{
    return replica_health(s->replica, err);
}

struct replica *chubby_server_replica(struct chubby_server *s)
{
    return s->replica;
}

static void find_holders(struct chubby_server *s)
{
    const struct session_table *t = cell_sessions(s->cell);
    const struct hash_slot *slot;
    size_t at = 0;
    hash_map_clear(&s->holders);
    while ((slot = hash_map_next(&t->handles, &at)) != NULL) {
        const struct handle *h = slot->value.pointer;
        INVARIANT(h->node || h->holding == CHUBBY_FREE);
        if (h->holding != CHUBBY_FREE)
            hash_map_put(&s->holders, slice_str(h->session->principal), NULL);
    }
}

bool chubby_server_has_holder(struct chubby_server *s, struct slice principal)
{
    uint64_t now = world_mono_ns(s->world);
    INVARIANT(now >= s->holders_ns);
    if (s->holders_ns == 0 || now - s->holders_ns > HOLDERS_NS) {
        find_holders(s);
        s->holders_ns = now;
    }
    return hash_map_get(&s->holders, principal) != NULL;
}

void chubby_server_get_stats(const struct chubby_server *s,
                             struct chubby_server_stats *out)
{
    const struct session_table *t = cell_sessions(s->cell);

    *out = (struct chubby_server_stats){
        .session_count = t->sessions.count,
        .session_limit = CELL_SESSIONS_MAX,
        .handle_count = t->handles.count,
        .node_count = s->cell->node_count,
        .waiting_count = s->wait_count,
        .lease_count = s->leases.leases.count,
    };
}
