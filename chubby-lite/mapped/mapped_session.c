/* A session: its beginning, the renewals of its lease, its end. The
 * first session of a cluster makes the tree that all values are in.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "chubby-lite/etcd/etcd_store.h"
#include "chubby-lite/lock_service.h"
#include "chubby-lite/mapped/mapped.h"
#include "chubby-lite/mapped/mapped_state.h"
#ifdef QUARRY_HAVE_ZOOKEEPER
#include "chubby-lite/zookeeper/zookeeper_store.h"
#endif

#define LEASE_MS_DEFAULT    12000
#define GRACE_MS_DEFAULT    45000
#define CACHE_BYTES_DEFAULT ((uint64_t)4 << 20)
#define GOODBYE_NS          UINT64_C(2000000000)
/* Between renewals that fail. */
#define PAUSE_NS UINT64_C(50000000)
/* How long the first renewals may take. */
#define BEGIN_TRIES 100

static const struct chubby_ops mapped_ops;

/* --- state --------------------------------------------------------------- */

void mapped__notify(struct mapped *m,
                    struct mapped_handle *h,
                    enum chubby_event event)
{
    if (m->on_event && !m->closing)
        m->on_event(m->ctx, h ? &h->base : NULL, event);
}

void mapped__set_state(struct mapped *m, enum mapped_session_state state)
{
    if (m->state == state || m->state == MAPPED_EXPIRED)
        return; /* INV-1 */
    m->state = state;
    wait_queue_wake(&m->changed);
    wait_queue_wake(&m->dirty);
    mapped__notify(m, NULL,
                   state == MAPPED_SAFE       ? CHUBBY_EVENT_SAFE
                   : state == MAPPED_JEOPARDY ? CHUBBY_EVENT_JEOPARDY
                                              : CHUBBY_EVENT_EXPIRED);
}

bool mapped__is_safe(const struct mapped *m)
{
    return m->state == MAPPED_SAFE && world_mono_ns(m->world) < m->deadline_ns;
}

uint64_t mapped__hasty_ns(const struct mapped *m)
{
    return world_mono_ns(m->world) + GOODBYE_NS;
}

static bool is_safe(const struct chubby *base)
{
    return mapped__is_safe((const struct mapped *)base);
}

int mapped__wait_safe(struct mapped *m, struct err *err)
{
    int rc = 0;

    while (!rc && m->state == MAPPED_JEOPARDY)
        rc = wait_queue_wait(&m->changed, 0, err);
    if (!rc && m->state == MAPPED_EXPIRED)
        rc = err_set(err, ERR_CLOSED,
                     "the session with the lock service has expired");
    return rc;
}

/* --- the lease ----------------------------------------------------------- */

/* The lease is over, or the grace period, when it is time. */
static void mapped_age(struct mapped *m)
{
    uint64_t now = world_mono_ns(m->world);

    if (now < m->deadline_ns)
        return;
    mapped__set_state(m, MAPPED_JEOPARDY);
    if (now - m->deadline_ns >= (uint64_t)m->grace_ms * 1000000)
        mapped__set_state(m, MAPPED_EXPIRED);
}

/* Renew the lease; it counts from before the request. */
static int mapped_renew(struct mapped *m, struct err *err)
{
    uint64_t sent_ns = world_mono_ns(m->world);
    uint64_t until_ns = sent_ns + m->store->lease_ms * UINT64_C(500000);
    uint64_t deadline = fiber_deadline();
    int rc;

    /* Not past the end of the lease, of which somebody must be told. */
    if (m->deadline_ns > sent_ns)
        until_ns = MIN_OF(until_ns, m->deadline_ns);
    if (deadline)
        until_ns = MIN_OF(until_ns, deadline);
    (void)fiber_set_deadline(until_ns);
    rc = m->store->ops->renew(m->store, err);
    (void)fiber_set_deadline(deadline);
    if (rc == 0) {
        INVARIANT(m->store->usable_us < (uint64_t)m->store->lease_ms * 1000);
        m->deadline_ns =
            MAX_OF(m->deadline_ns, sent_ns + m->store->usable_us * 1000);
        if (world_mono_ns(m->world) < m->deadline_ns)
            mapped__set_state(m, MAPPED_SAFE);
    }
    return rc;
}

static void mapped_keep_loop(void *arg)
{
    struct mapped *m = arg;

    while (m->state != MAPPED_EXPIRED) {
        uint64_t begun_ns = world_mono_ns(m->world);
        int rc = mapped_renew(m, NULL);
        uint64_t pause_ns = rc ? PAUSE_NS : m->store->renew_us * 1000;
        uint64_t next_ns = begun_ns + pause_ns;
        if (rc == ERR_CLOSED)
            mapped__set_state(m, MAPPED_EXPIRED);
        mapped_age(m);
        if (fiber_check(NULL) == ERR_CANCELLED)
            break;
        if (rc)
            next_ns = world_mono_ns(m->world) + pause_ns;
        (void)fiber_set_deadline(next_ns);
        (void)!fiber_park_checked(NULL);
        (void)fiber_set_deadline(0);
        if (fiber_check(NULL) == ERR_CANCELLED)
            break;
    }
    mapped__set_state(m, MAPPED_EXPIRED);
}

/* --- what everything is below -------------------------------------------- */

/* One value, unless it is there. The store's answers may be lost: no matter. */
static int make_value(struct mapped *m,
                      const char *path,
                      struct slice value,
                      bool of_session,
                      struct err *err)
{
    const struct coordination_op op = {.kind = COORDINATION_CREATE,
                                       .path = path,
                                       .value = value,
                                       .version = COORDINATION_ANY,
                                       .of_session = of_session};
    int rc = ERR_UNAVAILABLE;

    for (int i = 0; i < BEGIN_TRIES && rc == ERR_UNAVAILABLE; i++) {
        rc = m->store->ops->commit(m->store, &op, 1, NULL, err);
        if (rc == ERR_ABORTED)
            return 0;
        if (rc == ERR_UNAVAILABLE) {
            world_sleep_us(m->world, PAUSE_NS / 1000);
            if (fiber_check(err))
                return fiber_check(err);
        }
    }
    if (rc)
        err_wrap(err, "make %s", path);
    return rc;
}

static int make_below(struct mapped *m,
                      const char *name,
                      struct slice value,
                      struct err *err)
{
    struct buf path = BUF_INIT;
    int rc;

    buf_printf(&path, "%s/%s", m->root, name);
    rc = make_value(m, buf_cstr(&path), value, false, err);
    buf_close(&path);
    return rc;
}

/* The root's own directories. */
static int make_root_path(struct mapped *m, struct err *err)
{
    char *path = mem_strdup(m->root);
    int rc = 0;

    for (char *slash = strchr(path + 1, '/'); slash && !rc;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        rc = make_value(m, path, SLICE_EMPTY, false, err);
        *slash = '/';
    }
    if (!rc)
        rc = make_value(m, path, SLICE_EMPTY, false, err);
    mem_free(path);
    return rc;
}

/* The record of the root is made last, and says that all is there. The
 * directory /acl always is, as in our own cell. */
static int make_tree(struct mapped *m, struct err *err)
{
    static const struct mapped_record directory = {.is_directory = true};
    static const struct lock_state_record free_lock = {.generation = 0};
    struct coordination_stat stat;
    struct buf record = BUF_INIT;
    struct buf lock = BUF_INIT;
    struct buf path = BUF_INIT;
    int rc;

    buf_printf(&path, "%s/%%r", m->root);
    rc = mapped__get(m, buf_cstr(&path), 0, NULL, &stat, err);
    if (rc != ERR_NOTFOUND)
        goto there;
    mapped_record_put(&directory, &record);
    lock_state_record_put(&free_lock, &lock);
    rc = make_root_path(m, err);
    if (!rc)
        rc = make_below(m, "%s", SLICE_EMPTY, err);
    if (!rc)
        rc = make_below(m, "%j", SLICE_EMPTY, err);
    if (!rc)
        rc = make_below(m, "%k", buf_slice(&lock), err);
    if (!rc)
        rc = make_below(m, "acl%d", SLICE_EMPTY, err);
    if (!rc)
        rc = make_below(m, "acl%k", buf_slice(&lock), err);
    if (!rc)
        rc = make_below(m, "acl", buf_slice(&record), err);
    if (!rc)
        rc = make_below(m, "%r", buf_slice(&record), err);
there:
    buf_close(&record);
    buf_close(&lock);
    buf_close(&path);
    return rc;
}

/* The session's own values. */
static int make_session(struct mapped *m,
                        const struct chubby_options *opts,
                        struct err *err)
{
    const struct mapped_session_record r = {
        m->store->lease_ms, slice_str(opts->address ? opts->address : "")};
    struct coordination_stat stat;
    struct buf sessions = BUF_INIT;
    struct buf journals = BUF_INIT;
    int rc;

    buf_printf(&sessions, "%s/%%s", m->root);
    buf_printf(&journals, "%s/%%j", m->root);
    m->beat = mapped__session_path(buf_cstr(&sessions), m->store->session);
    m->journal = mapped__session_path(buf_cstr(&journals), m->store->session);
    mapped_session_record_put(&r, &m->beat_record);
    rc = make_value(m, m->beat, buf_slice(&m->beat_record), true, err);
    if (!rc)
        rc = make_value(m, m->journal, SLICE_LIT("0"), true, err);
    if (!rc) {
        m->store->beat_path = m->beat;
        m->store->beat_value = buf_slice(&m->beat_record);
        rc = mapped__get(m, m->journal, COORDINATION_FRESH, NULL, &stat, err);
    }
    if (!rc)
        m->journal_version = stat.version;
    buf_close(&sessions);
    buf_close(&journals);
    return rc;
}

/* --- beginning and end --------------------------------------------------- */

static struct mapped *
mapped_new(struct world *w, const char *root, const struct chubby_options *opts)
{
    struct mapped *m = mem_zalloc(1, sizeof(*m));

    m->base.ops = &mapped_ops;
    m->world = w;
    m->on_event = opts->on_event;
    m->ctx = opts->ctx;
    m->root = mem_strdup(root);
    m->grace_ms = opts->grace_ms ? opts->grace_ms : GRACE_MS_DEFAULT;
    m->cache_bytes_max =
        opts->cache_bytes ? opts->cache_bytes : CACHE_BYTES_DEFAULT;
    /* Nobody relies on the session before the first renewal. */
    m->state = MAPPED_SAFE;
    rand_init(&m->random, world_random(w));
    LIST_INIT(&m->changed);
    LIST_INIT(&m->dirty);
    LIST_INIT(&m->turn);
    LIST_INIT(&m->nodes);
    LIST_INIT(&m->waiters);
    return m;
}

static void mapped_free(struct mapped *m, bool is_lost)
{
    PRE(LIST_EMPTY(&m->nodes) && LIST_EMPTY(&m->waiters));
    if (m->store)
        m->store->ops->close(m->store, is_lost);
    buf_close(&m->beat_record);
    mem_free(m->beat);
    mem_free(m->journal);
    mem_free(m->root);
    mem_free(m);
}

static int open_store(struct mapped *m,
                      const struct coordination_ops *ops,
                      void *where,
                      const struct chubby_options *opts,
                      struct err *err)
{
    const struct coordination_options o = {
        .lease_ms = opts->lease_ms  ? opts->lease_ms
                    : opts->address ? CHUBBY_SERVER_LEASE_MS
                                    : LEASE_MS_DEFAULT,
        .on_event = mapped__on_event,
        .ctx = m};
    int rc = ops->open(m->world, where, &o, &m->store, err);

    if (rc)
        m->store = NULL;
    else
        INVARIANT(m->store->session != 0 &&
                  m->store->renew_us < m->store->usable_us &&
                  m->store->usable_us < (uint64_t)m->store->lease_ms * 1000);
    return rc;
}

static void mapped_session_succeed(struct mapped *m,
                                   const struct coordination_ops *ops,
                                   void *where,
                                   const char *memo)
{
    char note[CHUBBY_NOTE_BYTES_MAX];

    if (chubby__read_memo(m->world, memo, note))
        ops->end(m->world, where, note);
    m->store->ops->note(m->store, note);
    chubby__write_memo(m->world, memo, note);
}

static int first_renewal(struct mapped *m, struct err *err)
{
    int rc = ERR_UNAVAILABLE;

    for (int i = 0; i < BEGIN_TRIES && !mapped__is_safe(m); i++) {
        if (i > 0)
            world_sleep_us(m->world, PAUSE_NS / 1000);
        rc = fiber_check(err);
        if (rc == 0)
            rc = mapped_renew(m, err);
        if (rc != 0 && rc != ERR_UNAVAILABLE && rc != ERR_DEADLINE)
            break;
        rc = rc ? ERR_UNAVAILABLE : 0;
    }
    return rc;
}

int mapped_connect_store(struct world *w,
                         const struct coordination_ops *ops,
                         void *where,
                         const char *root,
                         const struct chubby_options *opts,
                         struct chubby **out,
                         struct err *err)
{
    struct mapped *m = mapped_new(w, root, opts);
    int rc = open_store(m, ops, where, opts, err);

    if (rc)
        goto fail;
    if (opts->memo)
        mapped_session_succeed(m, ops, where, opts->memo);
    rc = make_tree(m, err);
    if (!rc)
        rc = make_session(m, opts, err);
    if (!rc)
        rc = first_renewal(m, err);
    if (rc)
        goto fail;
    m->keeper = fiber_start(loop_self(), "lock-keeper", mapped_keep_loop, m);
    m->watcher =
        fiber_start(loop_self(), "lock-watcher", mapped__watch_loop, m);
    *out = &m->base;
    return 0;

fail:
    err_wrap(err, "connect to the lock service");
    m->closing = true;
    mapped_free(m, false);
    return rc;
}

static void mapped_disconnect(struct chubby *base)
{
    struct mapped *m = mapped__session(base);
    bool is_lost = m->state == MAPPED_EXPIRED;

    m->closing = true;
    fiber_cancel(m->keeper);
    fiber_cancel(m->watcher);
    fiber_join(m->keeper);
    fiber_join(m->watcher);
    mapped_free(m, is_lost);
}

/* --- services ------------------------------------------------------------ */

static int find_ops(const struct lock_service *s,
                    const struct coordination_ops **out,
                    struct err *err)
{
#ifdef QUARRY_HAVE_ZOOKEEPER
    if (s->kind == LOCK_SERVICE_ZOOKEEPER)
        *out = &zookeeper_store_ops;
#endif
    if (s->kind == LOCK_SERVICE_ETCD)
        *out = &etcd_store_ops;
    if (*out)
        return 0;
    PRE(s->kind != LOCK_SERVICE_OWN);
    err_set(err, ERR_UNSUPPORTED, "this program was built without ZooKeeper");
    err_hint(err,
             "scripts/deps zookeeper installs what it needs; then build it "
             "again");
    return ERR_UNSUPPORTED;
}

int mapped_connect(struct world *w,
                   const char *text,
                   const struct chubby_options *opts,
                   struct chubby **out,
                   struct err *err)
{
    const struct coordination_ops *ops = NULL;
    struct lock_service s;
    int rc = lock_service_parse(slice_str(text), &s, err);

    if (!rc)
        rc = find_ops(&s, &ops, err);
    if (!rc)
        rc = mapped_connect_store(w, ops, &s, s.root, opts, out, err);
    lock_service_close(&s);
    return rc;
}

void mapped_end_session(struct world *w, const char *text, const char *note)
{
    const struct coordination_ops *ops = NULL;
    struct lock_service s;

    if (lock_service_parse(slice_str(text), &s, NULL) == 0 &&
        find_ops(&s, &ops, NULL) == 0)
        ops->end(w, &s, note);
    lock_service_close(&s);
}

/* --- rights -------------------------------------------------------------- */

static int mapped_set_acl(struct chubby_handle *h,
                          const char *read,
                          const char *write,
                          const char *change,
                          struct err *err)
{
    (void)read;
    (void)write;
    (void)change;
    return err_set(err, ERR_UNSUPPORTED,
                   "%s: a lock service that others run does not know the lists "
                   "in /acl; it has rights of its own",
                   h->path);
}

static const struct chubby_ops mapped_ops = {
    .disconnect = mapped_disconnect,
    .is_safe = is_safe,
    .open = mapped__open,
    .close = mapped__close,
    .read = mapped__read,
    .is_cached = mapped__is_cached,
    .get_stat = mapped__get_stat,
    .list = mapped__list_names,
    .write = mapped__write,
    .set_acl = mapped_set_acl,
    .remove = mapped__remove,
    .acquire = mapped__acquire,
    .try_acquire = mapped__try_acquire,
    .release = mapped__release,
    .sequencer = mapped__sequencer,
    .check_sequencer = mapped__check_sequencer,
    .list_sessions = mapped__list_sessions,
    .list_entries = mapped__list_entries,
};
