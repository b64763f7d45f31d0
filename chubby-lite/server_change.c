/* Executing a command: first the caches that know what it will change, then the
 * cell. See server.h.
 *
 * What a command will change is worked out before caches are told of it, which
 * parks, as does the proposal; names may come and go meanwhile. So a command
 * claims the names it counts on (claim.h) until it has been applied, and those
 * that would make or remove them wait.
 */
#include "base/core/fault.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "chubby-lite/path.h"
#include "chubby-lite/server_state.h"

/* An attempt to learn what became of a command waits so long at most. */
#define SETTLE_NS UINT64_C(1000000000)
#define RETRY_US  UINT64_C(10000)

/* Instances of the nodes a command will change, and what that counts on. */
struct touched {
    uint64_t *instances; /* Owned. */
    size_t count;
    size_t cap;
    struct claim claim;
};

static void server_change_touch(struct touched *t, const struct node *n)
{
    if (t->count == t->cap) {
        t->cap = t->cap * 2 + 8;
        t->instances = mem_realloc(t->instances, t->cap * sizeof(uint64_t));
    }
    t->instances[t->count++] = n->instance;
}

static void claim_node(struct touched *t, const struct node *n, bool exclusive)
{
    struct buf path = BUF_INIT;

    node_put_path(n, &path);
    claim_path(&t->claim, buf_slice(&path), exclusive);
    buf_close(&path);
}

/* @n may go, and with it what is ephemeral above; a parent loses a child. */
static void touch_chain(struct touched *t, const struct node *n)
{
    server_change_touch(t, n);
    claim_node(t, n, true);
    while (n->parent) {
        n = n->parent;
        server_change_touch(t, n);
        claim_node(t, n, n->is_ephemeral);
        if (!n->is_ephemeral)
            break;
    }
}

static void touch_created(struct chubby_server *s,
                          const struct chubby_command *c,
                          struct touched *t)
{
    struct slice above;
    struct slice name;
    const struct node *n;
    bool exists;

    if (!(c->flags & CHUBBY_CREATE) || path_check(c->path, NULL) ||
        c->path.len == 1)
        return;
    exists = node_find(cell_root(s->cell), c->path) != NULL;
    claim_path(&t->claim, c->path, !exists);
    if (exists)
        return;
    path_split(c->path, &above, &name);
    claim_path(&t->claim, above, false);
    n = node_find(cell_root(s->cell), above);
    if (n)
        server_change_touch(t, n);
}

static void
touch_session(struct chubby_server *s, uint64_t session, struct touched *t)
{
    const struct session *x = session_find(cell_sessions(s->cell), session);
    const struct handle *h;

    if (!x)
        return;
    LIST_FOREACH(h, &x->handles, of_session)
    if (h->node && h->node->is_ephemeral)
        touch_chain(t, h->node);
}

static void find_touched(struct chubby_server *s,
                         const struct chubby_command *c,
                         struct touched *t)
{
    const struct handle *h;

    if (c->operation == CHUBBY_OP_OPEN) {
        claim_session(&t->claim, c->session, false);
        touch_created(s, c, t);
    }
    if (c->operation == CHUBBY_OP_SESSION_CLOSE ||
        c->operation == CHUBBY_OP_SESSION_EXPIRE) {
        claim_session(&t->claim, c->session, true);
        touch_session(s, c->session, t);
    }
    h = handle_find(cell_sessions(s->cell), c->handle);
    if (!h || !h->node || h->session->id != c->session)
        return;
    if (c->operation == CHUBBY_OP_WRITE)
        server_change_touch(t, h->node);
    if (c->operation == CHUBBY_OP_DELETE ||
        (c->operation == CHUBBY_OP_CLOSE && h->node->is_ephemeral))
        touch_chain(t, h->node);
}

/* --- who may cache ------------------------------------------------------- */

bool server__may_cache(const struct chubby_server *s, uint64_t instance)
{
    return !hash_map_get(&s->changing, hash_key_u64(&instance));
}

static void server_change_mark(struct chubby_server *s, const struct touched *t)
{
    size_t i;

    for (i = 0; i < t->count; i++)
        hash_map_put(&s->changing, hash_key_u64(&t->instances[i]), NULL)
            ->number++;
}

static void server_change_unmark(struct chubby_server *s,
                                 const struct touched *t)
{
    size_t i;

    for (i = 0; i < t->count; i++) {
        union hash_value *v =
            hash_map_get(&s->changing, hash_key_u64(&t->instances[i]));
        if (--v->number == 0)
            hash_map_remove(&s->changing, hash_key_u64(&t->instances[i]), NULL);
    }
}

/* --- invalidation -------------------------------------------------------- */

/* May session @id have cached @instance before this leader came? */
static bool
may_have_cached(struct chubby_server *s, uint64_t id, uint64_t instance)
{
    const struct session *x = session_find(cell_sessions(s->cell), id);
    const struct handle *h;

    if (!x)
        return false;
    LIST_FOREACH(h, &x->handles, of_session)
    if (h->node && h->node->instance == instance &&
        !(h->flags & CHUBBY_UNCACHED))
        return true;
    return false;
}

/* Is what it has cached of no use any more? Also where its lease ran out (I1):
 * of two that die at once each might else wait for the other. */
static bool is_over(const struct lease *l)
{
    return l->gone || l->closing || l->expired;
}

/* Wait until @l has heard number @number of its news, or of this leader, or is
 * over. Not while the server is closed: no lease ends any more. */
static int wait_heard(const struct chubby_server *s,
                      struct lease *l,
                      uint64_t number,
                      struct err *err)
{
    int code = 0;

    lease_ref(l);
    while (!code && !is_over(l) && (l->heard < number || !l->confirmed))
        code = s->closing ? err_set(err, ERR_CANCELLED, "the server is ending")
                          : wait_queue_wait(&l->waiters, 0, err);
    lease_unref(l);
    return code;
}

/* A session that may have something of @t cached: tell it. True if it must be
 * waited for, until it has heard *@number. */
static bool server_change_notify(struct chubby_server *s,
                                 struct lease *l,
                                 const struct touched *t,
                                 uint64_t *number)
{
    bool wait = false;
    uint64_t n;
    size_t i;

    *number = 0;
    for (i = 0; i < t->count; i++) {
        n = lease_uncache(l, t->instances[i]);
        *number = MAX_OF(*number, n);
        if (n ||
            (!l->confirmed && may_have_cached(s, l->session, t->instances[i])))
            wait = true;
    }
    return wait;
}

/* @l has heard all it was told of @t. */
static void server_change_forget(struct lease *l, const struct touched *t)
{
    for (size_t i = 0; i < t->count; i++)
        lease_uncache(l, t->instances[i]);
}

/* Have every cache but that of @self drop what @t says. */
static int server_change_invalidate(struct chubby_server *s,
                                    uint64_t self,
                                    const struct touched *t,
                                    struct err *err)
{
    struct {
        struct lease *lease;
        uint64_t number;
    } *waits = NULL;

    size_t count = 0;
    size_t i;
    struct hash_slot *slot;
    size_t at = 0;
    int code = 0;

    if (t->count == 0)
        return 0;
    waits = mem_alloc((s->leases.leases.count + 1) * sizeof(*waits));
    while ((slot = hash_map_next(&s->leases.leases, &at))) {
        struct lease *l = slot->value.pointer;
        if (l->session != self && !is_over(l) &&
            server_change_notify(s, l, t, &waits[count].number))
            waits[count++].lease = lease_ref(l);
    }
    /* All are told before the first is waited for. */
    for (i = 0; i < count; i++) {
        if (!code)
            code = wait_heard(s, waits[i].lease, waits[i].number, err);
        if (!code)
            server_change_forget(waits[i].lease, t);
        lease_unref(waits[i].lease);
    }
    mem_free(waits);
    return code;
}

/* Nobody waits for a client that has said goodbye, least of all others that do
 * so at the same time. */
static void note_closing(struct chubby_server *s, uint64_t session)
{
    struct lease *l = lease_find(&s->leases, session);

    if (!l)
        return;
    l->closing = true;
    wait_queue_wake(&l->waiters);
}

/* Work out what @c will change, and see to it that this stays so. Parks. */
static int claim_touched(struct chubby_server *s,
                         const struct chubby_command *c,
                         struct touched *t,
                         struct err *err)
{
    int code = 0;

    for (;;) {
        t->count = 0;
        claim_clear(&t->claim);
        find_touched(s, c, t);
        if (claim_take(&s->claims, &t->claim) ||
            fault_hit("chubby.touch_early"))
            return 0;
        code = wait_queue_wait(&t->claim.waiters, 0, err);
        if (!code)
            code = server__check_leader(s, err);
        if (code)
            return code;
    }
}

static void release_touched(struct chubby_server *s, struct touched *t)
{
    server_change_unmark(s, t);
    claim_leave(&s->claims, &t->claim);
    mem_free(t->instances);
    mem_free(t);
}

/* A command whose proposer was told to wait no longer. */
struct unsettled {
    struct chubby_server *server;
    struct touched *touched;
    uint64_t term;
};

/* A command that changes nothing: when it has been applied, all that were
 * proposed before have been, or never will be. */
static int propose_nothing(struct chubby_server *s)
{
    struct chubby_command c = {.operation = CHUBBY_OP_SESSION_CLOSE};
    struct buf bytes = BUF_INIT;
    int code;

    c.now_us = server__now_us(s);
    chubby_command_put(&c, &bytes);
    (void)fiber_set_deadline(world_mono_ns(s->world) + SETTLE_NS);
    code = replica_propose(s->replica, buf_slice(&bytes), NULL, NULL);
    (void)fiber_set_deadline(0);
    buf_close(&bytes);
    return code;
}

/* Another term begins with no caches: what was under way does not matter to it
 * (server.h). */
static void server_change_settle(void *arg)
{
    struct unsettled *u = arg;
    struct chubby_server *s = u->server;

    while (s->term == u->term && !s->closing && propose_nothing(s))
        world_sleep_us(s->world, RETRY_US);
    release_touched(s, u->touched);
    mem_free(u);
    if (--s->busy_count == 0)
        wait_queue_wake(&s->idle);
}

static void start_settling(struct chubby_server *s, struct touched *t)
{
    struct unsettled *u = mem_alloc(sizeof(*u));

    *u = (struct unsettled){s, t, s->term};
    s->busy_count++;
    fiber_detach(
        fiber_start(loop_self(), "lock-settle", server_change_settle, u));
}

/* May a proposal that ended with @code yet be applied? Not if it was refused
 * where it was made. */
static bool may_be_applied(int code)
{
    return code && code != ERR_TOOBIG && code != ERR_BUSY;
}

static int server_change_propose(struct chubby_server *s,
                                 struct chubby_command *c,
                                 struct buf *answer,
                                 struct err *err)
{
    struct buf bytes = BUF_INIT;
    int code;

    c->now_us = server__now_us(s);
    chubby_command_put(c, &bytes);
    code = replica_propose(s->replica, buf_slice(&bytes), answer, err);
    buf_close(&bytes);
    return code;
}

int server__execute(struct chubby_server *s,
                    struct chubby_command *c,
                    struct buf *answer,
                    struct err *err)
{
    struct touched *t = mem_zalloc(1, sizeof(*t));
    uint64_t term = s->term;
    bool proposed = false;
    int code;

    if (c->operation == CHUBBY_OP_SESSION_CLOSE)
        note_closing(s, c->session);
    claim_enter(&s->claims, &t->claim);
    code = claim_touched(s, c, t, err);
    if (code)
        t->count = 0;
    server_change_mark(s, t);
    if (!code)
        code = server_change_invalidate(s, c->session, t, err);
    if (!code && s->term != term)
        code = replica_not_leader(s->replica, err);
    if (!code) {
        proposed = true;
        code = server_change_propose(s, c, answer, err);
    }
    if (proposed && may_be_applied(code) && s->term == term && !s->closing)
        start_settling(s, t);
    else
        release_touched(s, t);
    return code;
}
