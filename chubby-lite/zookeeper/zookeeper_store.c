/* ZooKeeper as a coordination store. Its library answers on threads of its own;
 * here, and nowhere else, an answer becomes the wake-up of a fiber on the loop
 * that asked.
 *
 * Reads. A server answers them from what it has, which may be old. A fresh
 * read stands behind a write of this session: requests of a session are
 * executed in order, and a write is answered by a majority. (sync() would not
 * do: a leader that has lost its majority, and does not know it yet, answers
 * it.)
 *
 * Lease. A renewal is such a write, too: a leader that has it acknowledged by a
 * majority is no leader of the past, and knew the session at that moment. How
 * long before that it last heard of the session is what must be subtracted. It
 * hears from its followers, with their answers to its pings, of the sessions
 * that have sent them anything since the ping before; it pings every half tick.
 * So what it knows may be older than the write by half a tick, and by the time
 * from one request of the session to the next, which is at most that between
 * two renewals. A session's timeout T is at least two ticks (minSessionTimeout
 * must not be set to less), half a tick is at most T/4, and renewals are T/8
 * apart: 3/8 of T are subtracted, and T/64 for the drift of two clocks. A
 * leader that takes over gives each session T from then on, which is later.
 *
 * Versions count within the life of a value, and begin at 0 (mapped_state.h).
 */
#ifdef QUARRY_HAVE_ZOOKEEPER

#include "chubby-lite/zookeeper/zookeeper_store.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "chubby-lite/lock_service.h"
#include "chubby-lite/wait_queue.h"
#include "chubby-lite/zookeeper/zookeeper_calls.h"

/* Shares of a session's timeout. */
#define RENEW_SHARE   8
#define SILENCE_SHARE 4 /* Half a tick, at most. */
#define DRIFT_SHARE   64
/* How long the first connection may take. */
#define CONNECT_NS UINT64_C(15000000000)
/* To end a session that another process has left. */
#define END_NS UINT64_C(5000000000)

static struct zookeeper_calls zk;
static struct mutex zk_loading; /* Loops load it at the same time. */
static bool zk_loaded;

struct zookeeper_store {
    struct coordination base;
    struct world *world;
    struct loop *loop;
    coordination_cb on_event;
    void *ctx;
    zhandle_t *handle;
    const struct ACL_vector *rights; /* Of what is made. */
    bool connected;                  /* Once, at least. */
    bool lost;   /* The session has ended, or was refused. */
    int refusal; /* Why; 0: it expired. */
    bool closing;
    /* Answers that the library owes, and events on their way to the loop. */
    unsigned owed;
    atomic_uint posted;
    struct wait_queue changed;
};

/* --- the library --------------------------------------------------------- */

static int need_zookeeper(struct err *err)
{
    int rc = 0;

    mutex_lock(&zk_loading);
    if (!zk_loaded)
        rc = zookeeper_calls_load(&zk, err);
    if (rc == 0 && !zk_loaded)
        zk.zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    zk_loaded |= rc == 0;
    mutex_unlock(&zk_loading);
    return rc;
}

/* The library would write to the standard error. Errors and events say what
 * matters. */
static void drop_line(const char *message)
{
    (void)message;
}

static int read_code(int rc, struct err *err)
{
    switch (rc) {
    case ZOK: return 0;
    case ZNONODE: return err_set(err, ERR_NOTFOUND, "no such node");
    case ZBADVERSION:
    case ZNODEEXISTS:
    case ZNOTEMPTY:
    case ZRUNTIMEINCONSISTENCY:
    case ZNOCHILDRENFOREPHEMERALS:
        return err_set(err, ERR_ABORTED, "%s", zk.zerror(rc));
    case ZSESSIONEXPIRED:
        return err_set(err, ERR_CLOSED, "ZooKeeper has ended the session");
    case ZNOAUTH:
    case ZAUTHFAILED:
    case ZINVALIDACL:
    case ZSESSIONCLOSEDREQUIRESASLAUTH:
        err_set(err, ERR_DENIED, "ZooKeeper: %s", zk.zerror(rc));
        err_hint(err, "see auth in docs/lock-services.md");
        return ERR_DENIED;
    case ZCONNECTIONLOSS:
    case ZOPERATIONTIMEOUT:
    case ZSESSIONMOVED:
    case ZTHROTTLEDOP:
    case ZINVALIDSTATE:
    case ZCLOSING:
        return err_set(err, ERR_UNAVAILABLE, "ZooKeeper: %s", zk.zerror(rc));
    default:
        return err_set(err, ERR_IO, "ZooKeeper: %s (%d)", zk.zerror(rc), rc);
    }
}

/* --- answers ------------------------------------------------------------- */

enum call_state {
    CALL_WAITS,
    CALL_ANSWERED,
    CALL_LEFT /* Nobody waits any more. */
};

/* A request, and its answer: written by the library's thread before it posts,
 * else used on the loop alone. */
struct call {
    struct zookeeper_store *store;
    struct fiber *fiber;
    enum call_state state;
    int rc;
    struct buf value;
    struct Stat stat;
    char **names;
    size_t name_count;
    /* Of a transaction: the library keeps pointers to these. */
    zoo_op_t *ops;
    zoo_op_result_t *results;
    struct Stat *stats;
    char *made; /* Where it puts the paths of what was made. */
    size_t op_count;
};

static struct call *call_new(struct zookeeper_store *s)
{
    struct call *c = mem_zalloc(1, sizeof(*c));

    c->store = s;
    c->fiber = fiber_self();
    return c;
}

static void call_free(struct call *c)
{
    buf_close(&c->value);
    chubby_names_free(c->names, c->name_count);
    mem_free(c->ops);
    mem_free(c->results);
    mem_free(c->stats);
    mem_free(c->made);
    mem_free(c);
}

static void pay_off(struct zookeeper_store *s)
{
    INVARIANT(s->owed > 0);
    if (--s->owed == 0)
        wait_queue_wake(&s->changed);
}

/* On the loop. */
static void finish_call(void *arg)
{
    struct call *c = arg;

    pay_off(c->store);
    if (c->state == CALL_LEFT) {
        call_free(c);
        return;
    }
    c->state = CALL_ANSWERED;
    fiber_wake(c->fiber);
}

/* The library has taken the request (@rc is ZOK) or refused it. Wait for its
 * answer. On an error @c is freed. */
static int call_wait(struct call *c, int rc, struct err *err)
{
    if (rc != ZOK) {
        rc = read_code(rc, err);
        call_free(c);
        return rc;
    }
    c->store->owed++;
    while (c->state == CALL_WAITS) {
        rc = fiber_park_checked(err);
        if (rc && c->state == CALL_WAITS) {
            c->state = CALL_LEFT;
            return rc;
        }
    }
    rc = read_code(c->rc, err);
    if (rc)
        call_free(c);
    return rc;
}

/* On the library's thread. */
static void post_call(struct call *c, int rc)
{
    c->rc = rc;
    loop_post(c->store->loop, finish_call, c);
}

static void on_done(int rc, const void *data)
{
    struct call *c;

    memcpy(&c, &data, sizeof(c));
    post_call(c, rc);
}

static void on_value(int rc,
                     const char *value,
                     int bytes,
                     const struct Stat *stat,
                     const void *data)
{
    struct call *c;

    memcpy(&c, &data, sizeof(c));
    if (rc == ZOK) {
        buf_append(&c->value, value, bytes > 0 ? (size_t)bytes : 0);
        c->stat = *stat;
    }
    post_call(c, rc);
}

static void on_set(int rc, const struct Stat *stat, const void *data)
{
    (void)stat;
    on_done(rc, data);
}

static void
on_names(int rc, const struct String_vector *names, const void *data)
{
    struct call *c;

    memcpy(&c, &data, sizeof(c));
    if (rc == ZOK) {
        c->names = mem_zalloc((size_t)names->count + 1, sizeof(char *));
        for (int32_t i = 0; i < names->count; i++)
            c->names[c->name_count++] = mem_strdup(names->data[i]);
    }
    post_call(c, rc);
}

/* --- events -------------------------------------------------------------- */

/* An event on its way to the loop. */
struct notice {
    struct zookeeper_store *store;
    int type;
    int state;
    char *path; /* Owned. */
};

static void take_session_event(struct zookeeper_store *s, int state)
{
    if (state == *zk.ZOO_CONNECTED_STATE) {
        bool again = s->connected;
        s->connected = true;
        if (again && !s->closing)
            s->on_event(s->ctx, COORDINATION_MOVED, NULL);
    } else if (state == *zk.ZOO_EXPIRED_SESSION_STATE ||
               state == *zk.ZOO_AUTH_FAILED_STATE) {
        s->lost = true;
        if (state == *zk.ZOO_AUTH_FAILED_STATE)
            s->refusal = ZAUTHFAILED;
        if (!s->closing)
            s->on_event(s->ctx, COORDINATION_ENDED, NULL);
    }
    wait_queue_wake(&s->changed);
}

/* On the loop. */
static void take_notice(void *arg)
{
    struct notice *n = arg;
    struct zookeeper_store *s = n->store;

    if (n->type == *zk.ZOO_SESSION_EVENT)
        take_session_event(s, n->state);
    else if (!s->closing && n->type != *zk.ZOO_NOTWATCHING_EVENT)
        s->on_event(s->ctx, COORDINATION_CHANGED, n->path);
    mem_free(n->path);
    mem_free(n);
    atomic_fetch_sub(&s->posted, 1);
    wait_queue_wake(&s->changed);
}

/* On the library's thread. Watches get the events of the session as well, which
 * the store's own watcher has. */
static void post_notice(zhandle_t *handle,
                        int type,
                        int state,
                        const char *path,
                        struct zookeeper_store *s)
{
    struct notice *n;

    (void)handle;
    n = mem_zalloc(1, sizeof(*n));
    *n = (struct notice){s, type, state, mem_strdup(path ? path : "")};
    atomic_fetch_add(&s->posted, 1);
    loop_post(s->loop, take_notice, n);
}

static void on_session_event(zhandle_t *handle,
                             int type,
                             int state,
                             const char *path,
                             void *ctx)
{
    if (type == *zk.ZOO_SESSION_EVENT)
        post_notice(handle, type, state, path, ctx);
}

static void on_watch_event(zhandle_t *handle,
                           int type,
                           int state,
                           const char *path,
                           void *ctx)
{
    if (type != *zk.ZOO_SESSION_EVENT)
        post_notice(handle, type, state, path, ctx);
}

/* --- requests ------------------------------------------------------------ */

static struct zookeeper_store *store_of(struct coordination *base)
{
    return (struct zookeeper_store *)base;
}

/* ERR_CLOSED once the session has ended; the library would say that the
 * connection is lost. */
static int check_session(const struct zookeeper_store *s, struct err *err)
{
    PRE(s->base.ops == &zookeeper_store_ops);
    if (!s->lost)
        return 0;
    return s->refusal
               ? read_code(s->refusal, err)
               : err_set(err, ERR_CLOSED, "ZooKeeper has ended the session");
}

/* Ask for a write that this session's later requests stand behind; its own
 * answer does not matter. */
static int put_barrier(struct zookeeper_store *s, struct err *err)
{
    struct call *c;
    int rc;

    PRE(s->base.ops == &zookeeper_store_ops);
    if (!s->base.beat_path)
        return 0;
    c = call_new(s);
    c->state = CALL_LEFT;
    rc = zk.zoo_aset(s->handle, s->base.beat_path, s->base.beat_value.data,
                     (int)s->base.beat_value.len, -1, on_set, c);
    if (rc == ZOK) {
        s->owed++;
        return 0;
    }
    call_free(c);
    return read_code(rc, err);
}

static int zookeeper_renew(struct coordination *base, struct err *err)
{
    struct zookeeper_store *s = store_of(base);
    struct call *c;
    int rc = check_session(s, err);

    PRE(s->handle && !s->closing);
    PRE(base->beat_path);
    if (rc)
        return rc;
    c = call_new(s);
    rc =
        call_wait(c,
                  zk.zoo_aset(s->handle, base->beat_path, base->beat_value.data,
                              (int)base->beat_value.len, -1, on_set, c),
                  err);
    if (rc == 0)
        call_free(c);
    /* Only the end of the session takes its values away. */
    return rc == ERR_NOTFOUND ? ERR_CLOSED : rc;
}

static int zookeeper_get(struct coordination *base,
                         const char *path,
                         unsigned flags,
                         struct buf *value,
                         struct coordination_stat *stat,
                         struct err *err)
{
    struct zookeeper_store *s = store_of(base);
    struct call *c;
    int rc = check_session(s, err);

    PRE(s->handle && !s->closing);
    if (!rc && (flags & COORDINATION_FRESH))
        rc = put_barrier(s, err);
    if (rc)
        return rc;
    c = call_new(s);
    rc = call_wait(
        c,
        zk.zoo_awget(s->handle, path,
                     flags & COORDINATION_WATCH ? on_watch_event : NULL, s,
                     on_value, c),
        err);
    if (rc)
        return rc;
    *stat = (struct coordination_stat){.created = (uint64_t)c->stat.czxid,
                                       .modified = (uint64_t)c->stat.mzxid,
                                       .version = c->stat.version};
    if (value)
        buf_append_slice(value, buf_slice(&c->value));
    call_free(c);
    return 0;
}

static int zookeeper_list(struct coordination *base,
                          const char *path,
                          unsigned flags,
                          char ***names,
                          size_t *count,
                          struct err *err)
{
    struct zookeeper_store *s = store_of(base);
    struct call *c;
    int rc = check_session(s, err);

    PRE(s->handle && !s->closing);
    if (!rc && (flags & COORDINATION_FRESH))
        rc = put_barrier(s, err);
    if (rc)
        return rc;
    c = call_new(s);
    rc = call_wait(c,
                   zk.zoo_awget_children(
                       s->handle, path,
                       flags & COORDINATION_WATCH ? on_watch_event : NULL, s,
                       on_names, c),
                   err);
    if (rc)
        return rc;
    *names = c->names;
    *count = c->name_count;
    c->names = NULL;
    c->name_count = 0;
    call_free(c);
    return 0;
}

static void put_op(struct call *c,
                   size_t i,
                   const struct coordination_op *op,
                   const struct ACL_vector *rights)
{
    const char *data = op->value.data ? op->value.data : "";
    int version = (int)op->version;

    switch (op->kind) {
    case COORDINATION_CHECK:
        zk.zoo_check_op_init(&c->ops[i], op->path, version);
        break;
    case COORDINATION_CREATE:
        zk.zoo_create_op_init(&c->ops[i], op->path, data, (int)op->value.len,
                              rights,
                              op->of_session ? 1 : 0, /* ZOO_EPHEMERAL */
                              c->made, 1);
        break;
    case COORDINATION_SET:
        zk.zoo_set_op_init(&c->ops[i], op->path, data, (int)op->value.len,
                           version, &c->stats[i]);
        break;
    case COORDINATION_DELETE:
        zk.zoo_delete_op_init(&c->ops[i], op->path, version);
        break;
    }
}

static int zookeeper_commit(struct coordination *base,
                            const struct coordination_op *ops,
                            size_t count,
                            uint64_t *revision,
                            struct err *err)
{
    struct zookeeper_store *s = store_of(base);
    struct call *c;
    int rc = check_session(s, err);

    PRE(s->handle && !s->closing);
    PRE(count > 0);
    if (rc)
        return rc;
    c = call_new(s);
    c->op_count = count;
    c->ops = mem_zalloc(count, sizeof(*c->ops));
    c->results = mem_zalloc(count, sizeof(*c->results));
    c->stats = mem_zalloc(count, sizeof(*c->stats));
    c->made = mem_zalloc(1, 1);
    for (size_t i = 0; i < count; i++)
        put_op(c, i, &ops[i], s->rights);
    rc = call_wait(
        c, zk.zoo_amulti(s->handle, (int)count, c->ops, c->results, on_done, c),
        err);
    if (rc == ERR_NOTFOUND) /* Of what is changed, or of the path above. */
        rc = err_set(err, ERR_ABORTED, "no such node");
    if (rc)
        return rc;
    for (size_t i = 0; i < count && revision; i++)
        if (ops[i].kind == COORDINATION_SET)
            *revision = (uint64_t)c->stats[i].mzxid;
    call_free(c);
    return 0;
}

/* --- beginning and end --------------------------------------------------- */

/* The library looks names up and joins threads: on a thread that may wait. */
struct opening {
    struct zookeeper_store *store;
    const char *servers;
    int timeout_ms;
    const clientid_t *id;
    zhandle_t *handle;
};

static void init_handle(void *arg)
{
    struct opening *o = arg;

    o->handle =
        zk.zookeeper_init2(o->servers, on_session_event, o->timeout_ms, o->id,
                           o->store, ZOO_NO_LOG_CLIENTENV, drop_line);
}

static void close_handle(void *arg)
{
    zk.zookeeper_close(arg);
}

static int give_auth(struct zookeeper_store *s,
                     const struct lock_service *where,
                     struct err *err)
{
    struct buf auth = BUF_INIT;
    struct call *c;
    int rc = lock_service_read_auth(s->world, where, &auth, err);

    PRE(s->base.ops == &zookeeper_store_ops);
    if (rc == 0 && auth.len > 0) {
        s->rights = zk.ZOO_CREATOR_ALL_ACL;
        c = call_new(s);
        rc = call_wait(c,
                       zk.zoo_add_auth(s->handle, "digest", auth.data,
                                       (int)auth.len, on_done, c),
                       err);
        if (rc == 0)
            call_free(c);
    }
    buf_close(&auth);
    return rc;
}

static void free_store(struct zookeeper_store *s)
{
    s->closing = true;
    if (s->handle)
        offload(close_handle, s->handle);
    /* Its threads are gone; what they have posted uses the store. */
    while (s->owed > 0 || atomic_load(&s->posted) > 0)
        wait_queue_park(&s->changed);
    mem_free(s);
}

static int wait_connected(struct zookeeper_store *s,
                          uint64_t until_ns,
                          const char *servers,
                          struct err *err)
{
    int rc = 0;

    while (!rc && !s->connected && !s->lost)
        rc = wait_queue_wait(&s->changed, until_ns, err);
    if (rc == ERR_DEADLINE)
        return err_set(err, ERR_UNAVAILABLE, "no ZooKeeper answers at %s",
                       servers);
    return rc ? rc : check_session(s, err);
}

static struct zookeeper_store *store_new(struct world *w)
{
    struct zookeeper_store *s = mem_zalloc(1, sizeof(*s));

    s->base.ops = &zookeeper_store_ops;
    s->world = w;
    s->loop = loop_self();
    s->rights = zk.ZOO_OPEN_ACL_UNSAFE;
    LIST_INIT(&s->changed);
    return s;
}

/* The session and the timeout that the service has granted. */
static void take_session(struct zookeeper_store *s)
{
    uint64_t us;

    PRE(s->base.ops == &zookeeper_store_ops);
    s->base.session = (uint64_t)zk.zoo_client_id(s->handle)->client_id;
    s->base.lease_ms = (uint32_t)zk.zoo_recv_timeout(s->handle);
    us = (uint64_t)s->base.lease_ms * 1000;
    s->base.renew_us = us / RENEW_SHARE;
    s->base.usable_us =
        us - us / RENEW_SHARE - us / SILENCE_SHARE - us / DRIFT_SHARE;
    POST(s->base.usable_us + us / SILENCE_SHARE + s->base.renew_us < us);
}

static int zookeeper_open(struct world *w,
                          void *where,
                          const struct coordination_options *opts,
                          struct coordination **out,
                          struct err *err)
{
    const struct lock_service *service = where;
    struct zookeeper_store *s;
    struct opening o = {.servers = service->servers,
                        .timeout_ms = (int)opts->lease_ms};
    int rc = need_zookeeper(err);

    if (rc)
        return rc;
    s = store_new(w);
    s->on_event = opts->on_event;
    s->ctx = opts->ctx;
    o.store = s;
    offload(init_handle, &o);
    s->handle = o.handle;
    if (!s->handle)
        rc = err_set(err, ERR_UNAVAILABLE,
                     "no address of ZooKeeper is known of %s", o.servers);
    if (!rc)
        rc = wait_connected(s, world_mono_ns(w) + CONNECT_NS, o.servers, err);
    if (!rc)
        rc = give_auth(s, service, err);
    if (rc) {
        free_store(s);
        return rc;
    }
    take_session(s);
    *out = &s->base;
    return 0;
}

static void zookeeper_store_close(struct coordination *base, bool is_lost)
{
    PRE(base->ops == &zookeeper_store_ops);
    (void)is_lost; /* The library knows. */
    free_store(store_of(base));
}

/* --- sessions of others -------------------------------------------------- */

static void zookeeper_note(const struct coordination *base,
                           char note[CHUBBY_NOTE_BYTES_MAX])
{
    const struct zookeeper_store *s = (const struct zookeeper_store *)base;
    const clientid_t *id = zk.zoo_client_id(s->handle);
    size_t at =
        (size_t)snprintf(note, CHUBBY_NOTE_BYTES_MAX,
                         "zookeeper %016" PRIx64 " ", (uint64_t)id->client_id);

    for (size_t i = 0; i < sizeof(id->passwd); i++)
        at += (size_t)snprintf(note + at, CHUBBY_NOTE_BYTES_MAX - at, "%02x",
                               (unsigned char)id->passwd[i]);
}

static bool read_note(const char *note, clientid_t *out)
{
    unsigned long long session;
    char password[2 * sizeof(out->passwd) + 1];

    if (sscanf(note, "zookeeper %16llx %32[0-9a-f]", &session, password) != 2 ||
        strlen(password) != 2 * sizeof(out->passwd))
        return false;
    out->client_id = (int64_t)session;
    for (size_t i = 0; i < sizeof(out->passwd); i++) {
        char digits[3] = {password[2 * i], password[2 * i + 1], '\0'};
        out->passwd[i] = (char)strtoul(digits, NULL, 16);
    }
    return true;
}

static void
ignore_event(void *ctx, enum coordination_event event, const char *path)
{
    (void)ctx;
    (void)event;
    (void)path;
}

/* A session may be taken over, and closed, by all who know its password. */
static void zookeeper_end(struct world *w, void *where, const char *note)
{
    const struct lock_service *service = where;
    struct zookeeper_store *s;
    clientid_t id;
    struct opening o = {
        .servers = service->servers, .timeout_ms = 10000, .id = &id};

    if (need_zookeeper(NULL) || !read_note(note, &id))
        return;
    s = store_new(w);
    s->on_event = ignore_event;
    o.store = s;
    offload(init_handle, &o);
    s->handle = o.handle;
    if (s->handle)
        (void)!wait_connected(s, world_mono_ns(w) + END_NS, o.servers, NULL);
    free_store(s);
}

const struct coordination_ops zookeeper_store_ops = {
    .name = "zookeeper",
    .open = zookeeper_open,
    .close = zookeeper_store_close,
    .renew = zookeeper_renew,
    .get = zookeeper_get,
    .list = zookeeper_list,
    .commit = zookeeper_commit,
    .note = zookeeper_note,
    .end = zookeeper_end,
};

#else

/* A file of C has at least one declaration. */
struct zookeeper_store;

#endif
