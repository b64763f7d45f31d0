/* etcd as a coordination store: values are keys, a session is a lease, a
 * transaction is one of etcd's, whose conditions are on revisions and versions.
 *
 * Reads. A fresh read is etcd's linearizable one, for which the leader asks a
 * majority whether it still leads. Another is answered by the server from what
 * it has; when that is older than what this session has seen, it is asked again
 * as a fresh one.
 *
 * Lease. Only the leader counts the time of leases, and a leader that takes
 * over gives each its whole time from then on. A server answers a renewal when
 * it takes itself for the leader, without asking a majority; one that has been
 * deposed and does not know it renews nothing. So a renewal here is two calls
 * to one server: the lease's, and after it a fresh read of a value of the
 * session. Both answers say the term that the server was in. When they are the
 * same, the leader of that term was leader when it renewed the lease: the read
 * was confirmed after it by a majority in this term, and a majority that has
 * elected another before would have been in a later one. Every later leader
 * takes over after that moment, and so ends the lease no earlier than its time
 * after the renewal was sent. The drift of two clocks is
 * subtracted.
 *
 * (Releases from before 2024 may break this: a leader that is stopped for
 * longer than a lease, and continues, ends leases that its successor has
 * renewed. A session watches its own value,
 * and learns that at once.)
 */
#include "chubby-lite/etcd/etcd_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "chubby-lite/etcd/etcd_link.h"
#include "chubby-lite/etcd/etcd_message.h"
#include "chubby-lite/etcd/etcd_watch.h"
#include "chubby-lite/lock_service.h"

/* Shares of a session's time. */
#define RENEW_SHARE 6
#define DRIFT_SHARE 64
#define TRY_SHARE   4
/* A try, whatever the session's time is. */
#define TRY_NS_MIN UINT64_C(500000000)
#define TRY_NS_MAX UINT64_C(3000000000)
/* How long the beginning of a session may take, and between its tries. */
#define OPEN_NS       UINT64_C(15000000000)
#define OPEN_PAUSE_US 50000
/* To say goodbye; to end a session that another process has left. */
#define GOODBYE_NS UINT64_C(1000000000)
#define END_NS     UINT64_C(5000000000)

struct etcd_store {
    struct coordination base;
    struct world *world;
    coordination_cb on_event;
    void *ctx;
    char *root;
    struct etcd_link *link;
    struct etcd_watches *watches;
    uint64_t seen; /* The newest revision of an answer. */
    bool lost;     /* The session has ended. */
    bool closing;
};

static struct etcd_store *store_of(struct coordination *base)
{
    PRE(base->ops == &etcd_store_ops);
    return (struct etcd_store *)base;
}

static int lose_session(struct etcd_store *s, struct err *err)
{
    bool is_new = !s->lost;

    s->lost = true;
    if (is_new && !s->closing)
        s->on_event(s->ctx, COORDINATION_ENDED, NULL);
    return err_set(err, ERR_CLOSED, "etcd has ended the session");
}

static int check_session(const struct etcd_store *s, struct err *err)
{
    return s->lost ? err_set(err, ERR_CLOSED, "etcd has ended the session") : 0;
}

/* --- events -------------------------------------------------------------- */

static void on_watch(void *ctx, enum etcd_watch_kind kind, const char *path)
{
    struct etcd_store *s = ctx;

    if (s->closing)
        return;
    if (kind == ETCD_WATCH_END)
        (void)!lose_session(s, NULL);
    else
        s->on_event(s->ctx, COORDINATION_CHANGED, path);
}

static void on_moved(void *ctx)
{
    struct etcd_store *s = ctx;

    if (!s->closing && s->watches)
        s->on_event(s->ctx, COORDINATION_MOVED, NULL);
}

/* --- reading ------------------------------------------------------------- */

/* Is what a server has at @revision older than what this session has seen? */
static bool is_old(const struct etcd_store *s, uint64_t revision)
{
    return revision < s->seen || revision < etcd_watches_revision(s->watches);
}

static int etcd_get_once(struct etcd_store *s,
                         const char *path,
                         bool fresh,
                         struct buf *reply,
                         struct etcd_header *h,
                         struct etcd_value *v,
                         struct err *err)
{
    struct buf key = BUF_INIT;
    struct buf request = BUF_INIT;
    int rc;

    etcd_put_key(s->root, path, &key);
    etcd_put_get(buf_slice(&key), !fresh, &request);
    rc = etcd_link_call(s->link, "/etcdserverpb.KV/Range", buf_slice(&request),
                        reply, err);
    if (!rc)
        rc = etcd_get_value(buf_slice(reply), h, v, err);
    if (!rc && v->found && !slice_eq(v->key, buf_slice(&key)))
        rc = err_set(err, ERR_CORRUPT, "etcd: an answer about another key");
    buf_close(&key);
    buf_close(&request);
    return rc;
}

static int etcd_get(struct coordination *base,
                    const char *path,
                    unsigned flags,
                    struct buf *value,
                    struct coordination_stat *stat,
                    struct err *err)
{
    struct etcd_store *s = store_of(base);
    struct buf reply = BUF_INIT;
    bool fresh = flags & COORDINATION_FRESH;
    struct etcd_header h;
    struct etcd_value v;
    int rc = check_session(s, err);

    if (!rc)
        rc = etcd_get_once(s, path, fresh, &reply, &h, &v, err);
    if (!rc && !fresh && is_old(s, h.revision))
        rc = etcd_get_once(s, path, true, &reply, &h, &v, err);
    if (!rc) {
        s->seen = MAX_OF(s->seen, h.revision);
        if (!v.found)
            rc = err_set(err, ERR_NOTFOUND, "no such value");
    }
    if (!rc) {
        *stat = (struct coordination_stat){
            .created = v.created, .version = v.version, .modified = v.modified};
        if (value)
            buf_append_slice(value, v.value);
        if (flags & COORDINATION_WATCH)
            etcd_watches_add(s->watches, ETCD_WATCH_VALUE, path, h.revision);
    }
    buf_close(&reply);
    return rc;
}

static int etcd_list_once(struct etcd_store *s,
                          const char *path,
                          bool fresh,
                          struct etcd_header *h,
                          char ***names,
                          size_t *count,
                          struct err *err)
{
    struct buf key = BUF_INIT;
    struct buf begin = BUF_INIT;
    struct buf end = BUF_INIT;
    struct buf request = BUF_INIT;
    struct buf reply = BUF_INIT;
    int rc;

    etcd_put_key(s->root, path, &key);
    etcd_put_children(path, &begin, &end);
    etcd_put_list(buf_slice(&key), buf_slice(&begin), buf_slice(&end), !fresh,
                  &request);
    rc = etcd_link_call(s->link, "/etcdserverpb.KV/Txn", buf_slice(&request),
                        &reply, err);
    if (!rc)
        rc = etcd_get_names(buf_slice(&reply), buf_slice(&begin), h, names,
                            count, err);
    buf_close(&key);
    buf_close(&begin);
    buf_close(&end);
    buf_close(&request);
    buf_close(&reply);
    return rc;
}

static int etcd_list(struct coordination *base,
                     const char *path,
                     unsigned flags,
                     char ***names,
                     size_t *count,
                     struct err *err)
{
    struct etcd_store *s = store_of(base);
    bool fresh = flags & COORDINATION_FRESH;
    struct etcd_header h = {.revision = UINT64_MAX};
    int rc = check_session(s, err);

    if (!rc)
        rc = etcd_list_once(s, path, fresh, &h, names, count, err);
    if ((!rc || rc == ERR_NOTFOUND) && !fresh && is_old(s, h.revision)) {
        if (!rc)
            chubby_names_free(*names, *count);
        rc = etcd_list_once(s, path, true, &h, names, count, err);
    }
    if (!rc || (rc == ERR_NOTFOUND && h.revision != UINT64_MAX))
        s->seen = MAX_OF(s->seen, h.revision);
    if (!rc && (flags & COORDINATION_WATCH))
        etcd_watches_add(s->watches, ETCD_WATCH_LIST, path, h.revision);
    return rc;
}

/* --- changing ------------------------------------------------------------ */

/* Keys are flat: what is above the root needs no value, and has none. */
static bool is_above_root(const struct etcd_store *s, const char *path)
{
    size_t len = strlen(path);

    return strncmp(path, s->root, len) == 0 && s->root[len] == '/';
}

static int etcd_commit(struct coordination *base,
                       const struct coordination_op *ops,
                       size_t count,
                       uint64_t *revision,
                       struct err *err)
{
    struct etcd_store *s = store_of(base);
    struct buf request = BUF_INIT;
    struct buf reply = BUF_INIT;
    struct etcd_header h;
    bool made = false;
    int rc = check_session(s, err);

    PRE(count > 0);
    if (!rc && is_above_root(s, ops[0].path))
        return err_set(err, ERR_ABORTED, "%s always is", ops[0].path);
    if (!rc)
        rc = etcd_put_transaction(s->root, ops, count, base->session, &request,
                                  err);
    if (!rc)
        rc = etcd_link_call(s->link, "/etcdserverpb.KV/Txn",
                            buf_slice(&request), &reply, err);
    if (rc == ERR_NOTFOUND) /* The lease, to which a value was to be bound. */
        rc = lose_session(s, err);
    if (!rc)
        rc = etcd_get_outcome(buf_slice(&reply), &h, &made, err);
    if (!rc) {
        s->seen = MAX_OF(s->seen, h.revision);
        if (!made)
            rc = err_set(err, ERR_ABORTED, "something was not as expected");
        else if (revision)
            *revision = h.revision;
    }
    buf_close(&request);
    buf_close(&reply);
    return rc;
}

/* --- the lease ----------------------------------------------------------- */

static int lease_call(struct etcd_store *s,
                      const char *path,
                      const struct buf *request,
                      struct etcd_header *h,
                      uint64_t *lease,
                      uint64_t *ttl_s,
                      struct err *err)
{
    struct buf reply = BUF_INIT;
    int rc = etcd_link_call(s->link, path, buf_slice(request), &reply, err);

    if (!rc)
        rc = etcd_get_lease(buf_slice(&reply), h, lease, ttl_s, err);
    buf_close(&reply);
    return rc;
}

/* A fresh read of the session's value; of the root while it has none. */
static int
read_beat(struct etcd_store *s, struct etcd_header *h, struct err *err)
{
    const char *path = s->base.beat_path ? s->base.beat_path : s->root;
    struct buf reply = BUF_INIT;
    struct etcd_value v;
    int rc = etcd_get_once(s, path, true, &reply, h, &v, err);

    buf_close(&reply);
    if (rc)
        return rc;
    s->seen = MAX_OF(s->seen, h->revision);
    if (!v.found && s->base.beat_path)
        return lose_session(s, err);
    /* Each time: where the stream breaks, the watch begins again from here,
     * which etcd has not compacted away. */
    if (v.found && s->base.beat_path)
        etcd_watches_add(s->watches, ETCD_WATCH_END, path, h->revision);
    return 0;
}

static int etcd_renew(struct coordination *base, struct err *err)
{
    struct etcd_store *s = store_of(base);
    struct etcd_header renewed;
    struct etcd_header read;
    struct buf request = BUF_INIT;
    uint64_t lease = 0;
    uint64_t ttl_s = 0;
    int rc = check_session(s, err);

    etcd_put_lease(base->session, &request);
    if (!rc)
        rc = lease_call(s, "/etcdserverpb.Lease/LeaseKeepAlive", &request,
                        &renewed, &lease, &ttl_s, err);
    buf_close(&request);
    if (rc == ERR_NOTFOUND ||
        (!rc && (lease != base->session || ttl_s * 1000 < base->lease_ms)))
        rc = lose_session(s, err);
    if (!rc)
        rc = read_beat(s, &read, err);
    if (!rc && (read.term != renewed.term || read.term == 0))
        rc = err_set(err, ERR_UNAVAILABLE,
                     "etcd: another server leads since the renewal");
    return rc;
}

/* --- beginning and end --------------------------------------------------- */

static struct etcd_store *store_new(struct world *w,
                                    const struct coordination_options *opts,
                                    const char *root)
{
    struct etcd_store *s = mem_zalloc(1, sizeof(*s));

    s->base.ops = &etcd_store_ops;
    s->world = w;
    s->on_event = opts->on_event;
    s->ctx = opts->ctx;
    s->root = mem_strdup(root);
    return s;
}

static void free_store(struct etcd_store *s)
{
    s->closing = true;
    etcd_watches_free(s->watches);
    etcd_link_close(s->link);
    mem_free(s->root);
    mem_free(s);
}

static int open_link(struct etcd_store *s,
                     const struct lock_service *service,
                     uint32_t lease_ms,
                     struct err *err)
{
    uint64_t try_ns = (uint64_t)lease_ms * 1000000 / TRY_SHARE;
    const struct etcd_link_options o = {
        .try_ns = MIN_OF(MAX_OF(try_ns, TRY_NS_MIN), TRY_NS_MAX),
        .on_moved = on_moved,
        .ctx = s};

    return etcd_link_open(s->world, service, &o, &s->link, err);
}

/* Ask for a lease. One that was granted without an answer ends by itself. */
static int grant_lease(struct etcd_store *s, uint32_t lease_ms, struct err *err)
{
    uint64_t until_ns = world_mono_ns(s->world) + OPEN_NS;
    struct etcd_header h;
    struct buf request = BUF_INIT;
    uint64_t ttl_s = 0;
    struct err e;
    int rc;

    etcd_put_grant((lease_ms + 999) / 1000, &request);
    for (;;) {
        err_init(&e);
        rc = lease_call(s, "/etcdserverpb.Lease/LeaseGrant", &request, &h,
                        &s->base.session, &ttl_s, &e);
        if (rc != ERR_UNAVAILABLE || world_mono_ns(s->world) > until_ns)
            break;
        world_sleep_us(s->world, OPEN_PAUSE_US);
        rc = fiber_check(err);
        if (rc)
            break;
    }
    buf_close(&request);
    if (!rc && (ttl_s == 0 || ttl_s > UINT32_MAX / 1000))
        rc = err_set(&e, ERR_CORRUPT, "etcd: a lease of %" PRIu64 " s", ttl_s);
    s->base.lease_ms = rc ? 0 : (uint32_t)ttl_s * 1000;
    if (rc == ERR_UNAVAILABLE)
        return err_set(err, rc, "no etcd answers at %s: %s",
                       etcd_link_servers(s->link), e.text);
    return rc ? err_copy(err, &e) : 0;
}

static int etcd_open(struct world *w,
                     void *where,
                     const struct coordination_options *opts,
                     struct coordination **out,
                     struct err *err)
{
    const struct lock_service *service = where;
    struct etcd_store *s = store_new(w, opts, service->root);
    uint64_t us;
    int rc = open_link(s, service, opts->lease_ms, err);

    if (!rc)
        rc = grant_lease(s, opts->lease_ms, err);
    if (rc) {
        free_store(s);
        return rc;
    }
    us = (uint64_t)s->base.lease_ms * 1000;
    s->base.renew_us = us / RENEW_SHARE;
    s->base.usable_us = us - us / DRIFT_SHARE;
    s->watches = etcd_watches_new(w, s->link, s->root, on_watch, s);
    *out = &s->base;
    return 0;
}

/* In a fiber of its own: the caller's may have been cancelled. */
struct revocation {
    struct etcd_link *link;
    uint64_t lease;
    uint64_t until_ns;
    struct world *world;
};

static void revoke_lease(void *arg)
{
    const struct revocation *r = arg;
    struct buf request = BUF_INIT;
    struct buf reply = BUF_INIT;
    int rc = ERR_UNAVAILABLE;

    (void)fiber_set_deadline(r->until_ns);
    etcd_put_lease(r->lease, &request);
    while (rc == ERR_UNAVAILABLE && fiber_check(NULL) == 0) {
        rc = etcd_link_call(r->link, "/etcdserverpb.Lease/LeaseRevoke",
                            buf_slice(&request), &reply, NULL);
        if (rc == ERR_UNAVAILABLE)
            world_sleep_us(r->world, OPEN_PAUSE_US);
    }
    buf_close(&request);
    buf_close(&reply);
}

static void run_revocation(struct world *w,
                           struct etcd_link *l,
                           uint64_t lease,
                           uint64_t ns)
{
    struct revocation r = {l, lease, world_mono_ns(w) + ns, w};

    fiber_join(fiber_start(loop_self(), "etcd-revoke", revoke_lease, &r));
}

static void etcd_close(struct coordination *base, bool is_lost)
{
    struct etcd_store *s = store_of(base);

    s->closing = true;
    etcd_watches_free(s->watches);
    s->watches = NULL;
    if (!is_lost && !s->lost)
        run_revocation(s->world, s->link, base->session, GOODBYE_NS);
    free_store(s);
}

/* --- sessions of others -------------------------------------------------- */

static void etcd_note(const struct coordination *base,
                      char note[CHUBBY_NOTE_BYTES_MAX])
{
    snprintf(note, CHUBBY_NOTE_BYTES_MAX, "etcd %016" PRIx64, base->session);
}

/* A lease may be revoked by all who may write. */
static void etcd_end(struct world *w, void *where, const char *note)
{
    const struct lock_service *service = where;
    const struct etcd_link_options o = {.try_ns = TRY_NS_MIN};
    struct etcd_link *link;
    uint64_t lease;

    if (sscanf(note, "etcd %16" SCNx64, &lease) != 1 || lease == 0 ||
        lease > INT64_MAX || etcd_link_open(w, service, &o, &link, NULL))
        return;
    run_revocation(w, link, lease, END_NS);
    etcd_link_close(link);
}

const struct coordination_ops etcd_store_ops = {
    .name = "etcd",
    .open = etcd_open,
    .close = etcd_close,
    .renew = etcd_renew,
    .get = etcd_get,
    .list = etcd_list,
    .commit = etcd_commit,
    .note = etcd_note,
    .end = etcd_end,
};
