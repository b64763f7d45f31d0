/* Executes a command: invalidates the caches that have nodes it will change,
 * then proposes it to the cell (Chubby, OSDI 2006, section 2.7).
 *
 * The nodes are found before caches are invalidated, which parks, as does the
 * proposal; names may be made and removed meanwhile. So a command claims the
 * names it counts on (claim.h) until it has been applied, and commands that
 * would make or remove them wait.
 */
#include "base/core/fault.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "chubby-lite/lock_path.h"
#include "chubby-lite/server_state.h"

/* Bound of one attempt to learn the outcome of a command. */
#define SETTLE_NS UINT64_C(1000000000)
#define RETRY_US  UINT64_C(10000)

/* Instances of the nodes that a command will change, and the claims that keep
 * this true. */
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
    INVARIANT(t->count < t->cap);
    t->instances[t->count++] = n->instance;
}

static void claim_node(struct touched *t, const struct node *n, bool exclusive)
{
    struct buf path = BUF_INIT;

    node_put_path(n, &path);
    claim_path(&t->claim, buf_slice(&path), exclusive);
    buf_close(&path);
}

/* @n may be removed, and with it ephemeral directories above; the parent loses
 * a child. */
static void touch_chain(struct touched *t, const struct node *n)
{
    PRE(!t->claim.held);
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

    PRE(c->operation == CHUBBY_OP_OPEN);
    PRE(!t->claim.held);
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

    PRE(!t->claim.held);
    if (!x)
        return;
    LIST_FOREACH(h, &x->handles, of_session) {
        INVARIANT(h->session == x); /* INV-1 of lock_session.h */
        if (h->node && h->node->is_ephemeral)
            touch_chain(t, h->node);
    }
}

static void find_touched(struct chubby_server *s,
                         const struct chubby_command *c,
                         struct touched *t)
{
    const struct handle *h;

    PRE(t->count == 0);
    PRE(t->claim.count == 0);
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
    POST(t->count == 0 || s->changing.count > 0); /* INV-2 */
}

static void server_change_unmark(struct chubby_server *s,
                                 const struct touched *t)
{
    size_t i;

    for (i = 0; i < t->count; i++) {
        union hash_value *v =
            hash_map_get(&s->changing, hash_key_u64(&t->instances[i]));
        INVARIANT(v);
        INVARIANT(v->number > 0); /* INV-2 */
        if (--v->number == 0)
            hash_map_remove(&s->changing, hash_key_u64(&t->instances[i]), NULL);
    }
}

/* --- invalidation -------------------------------------------------------- */

/* May session @id have cached @instance before this leader's term? */
static bool
may_have_cached(struct chubby_server *s, uint64_t id, uint64_t instance)
{
    const struct session *x = session_find(cell_sessions(s->cell), id);
    const struct handle *h;

    PRE(s->term > 0); /* INV-1: @id has a lease. */
    if (!x)
        return false;
    LIST_FOREACH(h, &x->handles, of_session)
        if (h->node && h->node->instance == instance &&
            !(h->flags & CHUBBY_UNCACHED))
            return true;
    return false;
}

/* Is its cache out of use? Also when its lease ran out (INV-1 of lease.h): of
 * two sessions that end at once, each might otherwise wait for the other. */
static bool is_over(const struct lease *l)
{
    return l->gone || l->closing || l->expired;
}

/* Wait until @l has confirmed this leader and heard news @number, or is over.
 * Not while the server closes: then no lease ends. */
static int wait_heard(const struct chubby_server *s,
                      struct lease *l,
                      uint64_t number,
                      struct err *err)
{
    int rc = 0;

    PRE(number <= l->news_number); /* INV-5 of lease.h */
    lease_ref(l);
    while (!rc && !is_over(l) && (l->heard < number || !l->confirmed))
        rc = s->closing ? err_set(err, ERR_CANCELLED, "the server is ending")
                        : wait_queue_wait(&l->waiters, 0, err);
    lease_unref(l);
    return rc;
}

/* Have the session drop what it may have of @t in its cache. True: wait until
 * it has heard *@number. */
static bool server_change_notify(struct chubby_server *s,
                                 struct lease *l,
                                 const struct touched *t,
                                 uint64_t *number)
{
    bool wait = false;
    uint64_t n;
    size_t i;

    PRE(!is_over(l));
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

/* @l has dropped everything of @t. */
static void server_change_forget(struct lease *l, const struct touched *t)
{
    for (size_t i = 0; i < t->count; i++)
        lease_uncache(l, t->instances[i]);
}

/* Have every cache but that of @self drop the nodes of @t. */
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
    int rc = 0;

    if (t->count == 0)
        return 0;
    waits = mem_alloc((s->leases.leases.count + 1) * sizeof(*waits));
    while ((slot = hash_map_next(&s->leases.leases, &at))) {
        struct lease *l = slot->value.pointer;
        if (l->session != self && !is_over(l) &&
            server_change_notify(s, l, t, &waits[count].number))
            waits[count++].lease = lease_ref(l);
        INVARIANT(count <= s->leases.leases.count);
    }
    /* All have their news before the first wait. */
    for (i = 0; i < count; i++) {
        if (!rc)
            rc = wait_heard(s, waits[i].lease, waits[i].number, err);
        if (!rc)
            server_change_forget(waits[i].lease, t);
        lease_unref(waits[i].lease);
    }
    mem_free(waits);
    return rc;
}

/* A client that closes its session caches nothing any more: commands need not
 * wait for it, in particular those of others that close at the same time. */
static void note_closing(struct chubby_server *s, uint64_t session)
{
    struct lease *l = lease_find(&s->leases, session);

    if (!l)
        return;
    INVARIANT(s->term > 0); /* INV-1 */
    l->closing = true;
    wait_queue_wake(&l->waiters);
}

/* Find the nodes that @c will change, and claim what this depends on. Parks. */
static int claim_touched(struct chubby_server *s,
                         const struct chubby_command *c,
                         struct touched *t,
                         struct err *err)
{
    int rc = 0;

    for (;;) {
        t->count = 0;
        claim_clear(&t->claim);
        find_touched(s, c, t);
        if (claim_take(&s->claims, &t->claim) ||
            fault_hit("chubby.touch_early"))
            return 0;
        rc = wait_queue_wait(&t->claim.waiters, 0, err);
        if (!rc)
            rc = server__check_leader(s, err);
        if (rc)
            return rc;
    }
}

static void release_touched(struct chubby_server *s, struct touched *t)
{
    server_change_unmark(s, t);
    claim_leave(&s->claims, &t->claim);
    mem_free(t->instances);
    mem_free(t);
}

/* A command whose outcome its proposer no longer waits for. */
struct unsettled {
    struct chubby_server *server;
    struct touched *touched;
    uint64_t term;
};

/* Propose a command that changes nothing: when it has been applied, each
 * earlier one has been applied or never will be. */
static int propose_nothing(struct chubby_server *s)
{
    struct chubby_command c = {.operation = CHUBBY_OP_SESSION_CLOSE};
    struct buf bytes = BUF_INIT;
    int rc;

    PRE(s->busy_count > 0); /* INV-3 */
    c.now_us = server__now_us(s);
    chubby_command_put(&c, &bytes);
    (void)fiber_set_deadline(world_mono_ns(s->world) + SETTLE_NS);
    rc = replica_propose(s->replica, buf_slice(&bytes), NULL, NULL);
    (void)fiber_set_deadline(0);
    buf_close(&bytes);
    return rc;
}

/* Another term begins with no caches, so that commands under way do not matter
 * to it (server.h). */
static void server_change_settle(void *arg)
{
    struct unsettled *u = arg;
    struct chubby_server *s = u->server;

    while (s->term == u->term && !s->closing && propose_nothing(s))
        world_sleep_us(s->world, RETRY_US);
    release_touched(s, u->touched);
    mem_free(u);
    INVARIANT(s->busy_count > 0); /* INV-3 */
    if (--s->busy_count == 0)
        wait_queue_wake(&s->idle);
}

static void start_settling(struct chubby_server *s, struct touched *t)
{
    struct unsettled *u = mem_alloc(sizeof(*u));

    PRE(!s->closing);
    *u = (struct unsettled){s, t, s->term};
    s->busy_count++;
    fiber_detach(
        fiber_start(loop_self(), "lock-settle", server_change_settle, u));
}

/* May a proposal that ended with @code still be applied? Not if this server
 * refused it. */
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
    int rc;

    c->now_us = server__now_us(s);
    chubby_command_put(c, &bytes);
    rc = replica_propose(s->replica, buf_slice(&bytes), answer, err);
    buf_close(&bytes);
    return rc;
}

int server__execute(struct chubby_server *s,
                    struct chubby_command *c,
                    struct buf *answer,
                    struct err *err)
{
    struct touched *t = mem_zalloc(1, sizeof(*t));
    uint64_t term = s->term;
    bool proposed = false;
    int rc;

    PRE(answer->len == 0);
    if (c->operation == CHUBBY_OP_SESSION_CLOSE)
        note_closing(s, c->session);
    claim_enter(&s->claims, &t->claim);
    rc = claim_touched(s, c, t, err);
    if (rc)
        t->count = 0;
    server_change_mark(s, t);
    if (!rc)
        rc = server_change_invalidate(s, c->session, t, err);
    if (!rc && s->term != term)
        rc = replica_not_leader(s->replica, err);
    if (!rc) {
        proposed = true;
        rc = server_change_propose(s, c, answer, err);
    }
    if (proposed && may_be_applied(rc) && s->term == term && !s->closing)
        start_settling(s, t);
    else
        release_touched(s, t);
    return rc;
}
