/* Executing a command: first the caches that know what it will change, then the
 * cell. See server.h. */
#include "base/core/panic.h"
#include "chubby-lite/path.h"
#include "chubby-lite/server_state.h"

/* Instances of the nodes a command will change. */
struct touched {
    uint64_t *instances; /* Owned. */
    size_t count;
    size_t cap;
};

static void touch(struct touched *t, const struct node *n)
{
    if (t->count == t->cap) {
        t->cap = t->cap * 2 + 8;
        t->instances = mem_realloc(t->instances, t->cap * sizeof(uint64_t));
    }
    t->instances[t->count++] = n->instance;
}

/* @n may go, and with it what is ephemeral above; a parent loses a child. */
static void touch_chain(struct touched *t, const struct node *n)
{
    touch(t, n);
    while (n->parent) {
        n = n->parent;
        touch(t, n);
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

    if (!(c->flags & CHUBBY_CREATE) || path_check(c->path, NULL) ||
        c->path.len == 1 || node_find(cell_root(s->cell), c->path))
        return;
    path_split(c->path, &above, &name);
    n = node_find(cell_root(s->cell), above);
    if (n)
        touch(t, n);
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

    if (c->operation == CHUBBY_OP_OPEN)
        touch_created(s, c, t);
    if (c->operation == CHUBBY_OP_SESSION_CLOSE ||
        c->operation == CHUBBY_OP_SESSION_EXPIRE)
        touch_session(s, c->session, t);
    h = handle_find(cell_sessions(s->cell), c->handle);
    if (!h || !h->node || h->session->id != c->session)
        return;
    if (c->operation == CHUBBY_OP_WRITE)
        touch(t, h->node);
    if (c->operation == CHUBBY_OP_DELETE ||
        (c->operation == CHUBBY_OP_CLOSE && h->node->is_ephemeral))
        touch_chain(t, h->node);
}

/* --- who may cache
 * ------------------------------------------------------------ */

bool server__may_cache(const struct chubby_server *s, uint64_t instance)
{
    return !hash_map_get(&s->changing, hash_key_u64(&instance));
}

static void mark(struct chubby_server *s, const struct touched *t)
{
    size_t i;

    for (i = 0; i < t->count; i++)
        hash_map_put(&s->changing, hash_key_u64(&t->instances[i]), NULL)
            ->number++;
}

static void unmark(struct chubby_server *s, const struct touched *t)
{
    size_t i;

    for (i = 0; i < t->count; i++) {
        union hash_value *v =
            hash_map_get(&s->changing, hash_key_u64(&t->instances[i]));
        if (--v->number == 0)
            hash_map_remove(&s->changing, hash_key_u64(&t->instances[i]), NULL);
    }
}

/* --- invalidation
 * --------------------------------------------------------------- */

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
                          : bell_wait(&l->bell, 0, err);
    lease_unref(l);
    return code;
}

/* A session that may have something of @t cached: tell it. True if it must be
 * waited for, until it has heard *@number. */
static bool tell(struct chubby_server *s,
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
static void forget(struct lease *l, const struct touched *t)
{
    for (size_t i = 0; i < t->count; i++)
        lease_uncache(l, t->instances[i]);
}

/* Have every cache but that of @self drop what @t says. */
static int invalidate(struct chubby_server *s,
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
            tell(s, l, t, &waits[count].number))
            waits[count++].lease = lease_ref(l);
    }
    /* All are told before the first is waited for. */
    for (i = 0; i < count; i++) {
        if (!code)
            code = wait_heard(s, waits[i].lease, waits[i].number, err);
        if (!code)
            forget(waits[i].lease, t);
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
    bell_ring(&l->bell);
}

int server__execute(struct chubby_server *s,
                    struct chubby_command *c,
                    struct buf *answer,
                    struct err *err)
{
    struct touched t = {NULL, 0, 0};
    struct buf bytes = BUF_INIT;
    uint64_t term = s->term;
    int code;

    if (c->operation == CHUBBY_OP_SESSION_CLOSE)
        note_closing(s, c->session);
    find_touched(s, c, &t);
    mark(s, &t);
    code = invalidate(s, c->session, &t, err);
    if (!code && s->term != term)
        code = replica_not_leader(s->replica, err);
    if (!code) {
        c->now_us = server__now_us(s);
        chubby_command_put(c, &bytes);
        code = replica_propose(s->replica, buf_slice(&bytes), answer, err);
    }
    unmark(s, &t);
    mem_free(t.instances);
    buf_close(&bytes);
    return code;
}
