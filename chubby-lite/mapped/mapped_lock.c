/* Locks: the state of a lock is one value, changed by compare-and-swap. It
 * names its holders by their sessions; one whose session is dead holds it no
 * more, and who sees that closes the lock for the delay that the holder asked
 * for (Chubby, OSDI 2006, section 2.4).
 *
 * The delay ends by the wall clocks of machines, which are taken to agree
 * within a second. It guards what checks no sequencer; sequencers do not depend
 * on it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "chubby-lite/lock_path.h"
#include "chubby-lite/mapped/mapped_state.h"

int mapped__lock_state(struct mapped *m,
                       const char *path,
                       unsigned flags,
                       struct arena *a,
                       struct lock_state_record *out,
                       int64_t *version,
                       struct err *err)
{
    struct coordination_stat stat;
    struct buf bytes = BUF_INIT;
    int rc = mapped__get(m, path, flags, &bytes, &stat, err);

    PRE(m->store);
    if (!rc)
        rc = lock_state_record_get(buf_slice(&bytes), a, out, err);
    if (!rc)
        *version = stat.version;
    else if (rc == ERR_CORRUPT)
        err_wrap(err, "%s", path);
    buf_close(&bytes);
    return rc;
}

/* --- holders ------------------------------------------------------------- */

static struct lock_holder *find_own(const struct mapped_handle *h,
                                    const struct lock_state_record *s)
{
    uint64_t own = h->node->session->store->session;

    PRE(h->node->refs > 0); /* INV-4 */
    for (size_t i = 0; i < s->count; i++)
        if (s->holders[i].session == own && s->holders[i].handle == h->id)
            return &s->holders[i];
    return NULL;
}

static void take_out(struct lock_state_record *s, size_t at)
{
    PRE(at < s->count);
    memmove(&s->holders[at], &s->holders[at + 1],
            (s->count - at - 1) * sizeof(*s->holders));
    if (--s->count == 0)
        s->mode = CHUBBY_FREE;
}

int mapped__bury_holders(struct mapped *m,
                         struct lock_state_record *s,
                         unsigned flags,
                         struct path_waiter *w,
                         bool *changed,
                         struct err *err)
{
    uint64_t now_us = world_now_us(m->world);
    int rc = 0;

    PRE(m->store);
    *changed = false;
    for (size_t i = 0; i < s->count && !rc;) {
        struct lock_holder *h = &s->holders[i];
        bool lives = h->session == m->store->session;
        if (!lives) {
            struct buf sessions = BUF_INIT;
            char *path;
            buf_printf(&sessions, "%s/%%s", m->root);
            path = mapped__session_path(buf_cstr(&sessions), h->session);
            if (w)
                mapped__wait_for(m, w, path);
            rc = mapped__lives(m, h->session, flags, &lives, err);
            mem_free(path);
            buf_close(&sessions);
        }
        if (rc || lives) {
            i++;
            continue;
        }
        s->closed_until_us =
            MAX_OF(s->closed_until_us, now_us + (uint64_t)h->delay_ms * 1000);
        take_out(s, i);
        *changed = true;
    }
    return rc;
}

/* --- acquiring ----------------------------------------------------------- */

struct locking {
    struct mapped_handle *handle;
    enum chubby_lock mode;
    bool waits;
    bool has_asked;    /* Its holders know. */
    uint64_t until_us; /* The lock is closed until then; 0: it is held. */
    struct path_waiter waiter;
};

static int commit_state(struct mapped_node *n,
                        const struct mapped_look *l,
                        const struct lock_state_record *s,
                        int64_t version,
                        struct err *err)
{
    struct buf bytes = BUF_INIT;
    int rc;

    PRE(n->refs > 0); /* INV-4 */
    lock_state_record_put(s, &bytes);
    {
        const struct coordination_op ops[] = {
            {.kind = COORDINATION_SET,
             .path = n->at.lock,
             .value = buf_slice(&bytes),
             .version = version},
            mapped__unremoved(n, l),
        };
        rc = mapped__commit(n->session, ops, ARRAY_LEN(ops), NULL, err);
    }
    buf_close(&bytes);
    return rc;
}

/* Tell those holders that want to know. */
static int ask_holders(struct locking *k,
                       const struct mapped_look *l,
                       struct lock_state_record *s,
                       int64_t version,
                       struct err *err)
{
    bool any = false;
    int rc;

    PRE(k->handle->node->refs > 0); /* INV-4 */
    for (size_t i = 0; i < s->count; i++)
        any |= s->holders[i].hears_conflict;
    if (!any || k->has_asked)
        return 0;
    s->wanted++;
    rc = commit_state(k->handle->node, l, s, version, err);
    k->has_asked |= rc == 0;
    /* A call that waits watches the state that it was before. */
    return rc == 0 && k->waits ? MAPPED_AGAIN : rc;
}

static int refuse_held(struct locking *k,
                       const struct mapped_look *l,
                       struct lock_state_record *s,
                       int64_t version,
                       struct err *err)
{
    int rc = ask_holders(k, l, s, version, err);

    PRE(k->handle->node->refs > 0); /* INV-4 */
    k->until_us = 0;
    return rc ? rc
              : err_set(
                    err, ERR_BUSY, "the lock is held by session %" PRIx64 "%s",
                    s->holders[0].session, s->count > 1 ? " and others" : "");
}

static int refuse_closed(struct locking *k,
                         const struct mapped_look *l,
                         const struct lock_state_record *s,
                         bool changed,
                         int64_t version,
                         struct err *err)
{
    uint64_t now_us = world_now_us(k->handle->node->session->world);
    /* Until when it is closed must be the same for all who ask. */
    int rc = changed ? commit_state(k->handle->node, l, s, version, err) : 0;

    PRE(k->handle->node->refs > 0); /* INV-4 */
    k->until_us = s->closed_until_us;
    return rc ? rc
              : err_set(err, ERR_BUSY,
                        "the lock's last holder failed; its delay has %" PRIu64
                        " ms to go",
                        (k->until_us - MIN_OF(now_us, k->until_us) + 999) /
                            1000);
}

static int take_lock(struct locking *k,
                     const struct mapped_look *l,
                     struct lock_state_record *s,
                     int64_t version,
                     struct err *err)
{
    struct mapped_handle *h = k->handle;
    int rc;

    PRE(k->handle->node->refs > 0); /* INV-4 */
    if (s->count == LOCK_HOLDERS_MAX)
        return err_set(err, ERR_EXHAUSTED, "the lock has %d holders",
                       LOCK_HOLDERS_MAX);
    if (s->mode == CHUBBY_FREE)
        s->generation++;
    s->mode = k->mode;
    s->holders[s->count++] = (struct lock_holder){
        .session = h->node->session->store->session,
        .handle = h->id,
        .delay_ms = h->lock_delay_ms,
        .hears_conflict = h->events & CHUBBY_EVENT_CONFLICT};
    h->lock_doubt = true;
    rc = commit_state(h->node, l, s, version, err);
    if (rc == MAPPED_AGAIN)
        h->lock_doubt = false;
    return rc;
}

static int decide_lock(struct locking *k,
                       const struct mapped_look *l,
                       struct lock_state_record *s,
                       int64_t version,
                       bool changed,
                       struct err *err)
{
    struct mapped *m = k->handle->node->session;

    PRE(k->handle->node->refs > 0); /* INV-4 */
    if (find_own(k->handle, s))
        return s->mode == k->mode
                   ? 0
                   : err_set(err, ERR_INVALID,
                             "the handle holds the lock in the other mode: "
                             "release it first");
    if (s->mode == CHUBBY_EXCLUSIVE ||
        (s->mode == CHUBBY_SHARED && k->mode == CHUBBY_EXCLUSIVE))
        return refuse_held(k, l, s, version, err);
    if (s->closed_until_us > world_now_us(m->world))
        return refuse_closed(k, l, s, changed, version, err);
    return take_lock(k, l, s, version, err);
}

static int acquire_try(void *arg, bool fresh, struct err *err)
{
    struct locking *k = arg;
    struct mapped_node *n = k->handle->node;
    struct mapped *m = n->session;
    unsigned watch = k->waits ? COORDINATION_WATCH : 0;
    struct lock_state_record s;
    struct mapped_look l;
    struct arena a;
    bool changed = false;
    int64_t version;
    int rc;

    mapped__waiter_close(&k->waiter);
    if (k->waits) {
        mapped__wait_for(m, &k->waiter, n->at.lock);
        mapped__wait_for(m, &k->waiter, n->record);
    }
    arena_init(&a);
    rc = mapped__look(n, fresh ? COORDINATION_FRESH : 0, &l, err);
    if (!rc)
        rc = mapped__lock_state(m, n->at.lock, watch, &a, &s, &version, err);
    if (rc == ERR_NOTFOUND && !n->gone)
        rc = MAPPED_AGAIN;
    if (!rc)
        rc = mapped__bury_holders(m, &s, watch, k->waits ? &k->waiter : NULL,
                                  &changed, err);
    if (!rc)
        rc = decide_lock(k, &l, &s, version, changed, err);
    mapped__look_close(&l);
    arena_close(&a);
    return rc;
}

/* PRE: the last try found the lock taken. */
static int wait_turn(struct locking *k, struct err *err)
{
    struct mapped *m = k->handle->node->session;
    uint64_t now_us = world_now_us(m->world);
    uint64_t until_ns = 0;

    PRE(k->handle->node->refs > 0); /* INV-4 */
    if (k->until_us)
        until_ns = world_mono_ns(m->world) +
                   (k->until_us - MIN_OF(now_us, k->until_us) + 1000) * 1000;
    return mapped__wait_change(m, &k->waiter, until_ns, err);
}

static int lock_node(struct locking *k, struct err *err)
{
    struct mapped_handle *h = k->handle;
    struct mapped_node *n = h->node;
    bool doubt = h->lock_doubt;
    int rc;

    PRE(k->handle->node->refs > 0); /* INV-4 */
    if (!(h->flags & CHUBBY_WRITE))
        return err_set(err, ERR_DENIED, "%s: not opened for writing", n->path);
    if (k->mode != CHUBBY_SHARED && k->mode != CHUBBY_EXCLUSIVE)
        return err_set(err, ERR_INVALID, "no mode of a lock");
    n->refs++;
    for (;;) {
        struct err e = ERR_INIT;
        rc = mapped__try(n->session, acquire_try, k, false, &e);
        if (rc != ERR_BUSY || !k->waits) {
            if (rc)
                err_copy(err, &e);
            break;
        }
        rc = wait_turn(k, err);
        if (rc)
            break;
    }
    mapped__waiter_close(&k->waiter);
    if (rc == 0)
        h->holding = k->mode;
    if (rc == 0 || (rc == ERR_BUSY && !doubt))
        h->lock_doubt = false;
    mapped__node_unref(n);
    if (rc)
        err_wrap(err, "lock %s", h->base.path);
    return rc;
}

int mapped__acquire(struct chubby_handle *base,
                    enum chubby_lock mode,
                    struct err *err)
{
    struct locking k = {
        .handle = mapped__handle(base), .mode = mode, .waits = true};

    PRE(k.handle->node->refs > 0); /* INV-4 */
    return lock_node(&k, err);
}

int mapped__try_acquire(struct chubby_handle *base,
                        enum chubby_lock mode,
                        struct err *err)
{
    struct locking k = {.handle = mapped__handle(base), .mode = mode};

    PRE(k.handle->node->refs > 0); /* INV-4 */
    return lock_node(&k, err);
}

/* --- releasing ----------------------------------------------------------- */

static int release_try(void *arg, bool fresh, struct err *err)
{
    struct mapped_handle *h = arg;
    struct mapped_node *n = h->node;
    struct lock_state_record s;
    struct lock_holder *own;
    struct mapped_look l;
    struct arena a;
    int64_t version;
    int rc;

    arena_init(&a);
    rc = mapped__look(n, fresh ? COORDINATION_FRESH : 0, &l, err);
    if (!rc)
        rc = mapped__lock_state(n->session, n->at.lock, 0, &a, &s, &version,
                                err);
    if (rc == ERR_NOTFOUND && !n->gone)
        rc = MAPPED_AGAIN;
    if (!rc) {
        own = find_own(h, &s);
        if (own) {
            take_out(&s, (size_t)(own - s.holders));
            rc = commit_state(n, &l, &s, version, err);
        } else {
            rc = err_set(err, ERR_INVALID, "the handle does not hold the lock");
        }
    }
    mapped__look_close(&l);
    arena_close(&a);
    return rc;
}

int mapped__release(struct chubby_handle *base, struct err *err)
{
    struct mapped_handle *h = mapped__handle(base);
    struct mapped_node *n = h->node;
    int rc;

    PRE(h->node->refs > 0); /* INV-4 */
    if (h->holding == CHUBBY_FREE && !h->lock_doubt)
        return err_set(err, ERR_INVALID,
                       "%s: the handle does not hold the lock", h->base.path);
    n->refs++;
    h->lock_doubt = true;
    rc = mapped__try(n->session, release_try, h, false, err);
    if (rc == 0 || rc == ERR_INVALID || rc == ERR_NOTFOUND) {
        h->holding = CHUBBY_FREE;
        h->lock_doubt = false;
    }
    mapped__node_unref(n);
    if (rc)
        err_wrap(err, "%s", h->base.path);
    return rc;
}

void mapped__let_lock(struct mapped_handle *h)
{
    PRE(h->node->refs > 0); /* INV-4 */
    if ((h->holding != CHUBBY_FREE || h->lock_doubt) && !h->node->gone)
        (void)!mapped__try(h->node->session, release_try, h, false, NULL);
}

/* --- sequencers ---------------------------------------------------------- */

int mapped__sequencer(struct chubby_handle *base,
                      char text[CHUBBY_SEQUENCER_BYTES_MAX],
                      struct err *err)
{
    struct mapped_handle *h = mapped__handle(base);
    struct mapped_node *n = h->node;
    struct lock_state_record s;
    struct mapped_look l;
    struct arena a;
    int64_t version;
    int rc;

    PRE(h->node->refs > 0); /* INV-4 */
    n->refs++;
    arena_init(&a);
    rc = mapped__look(n, COORDINATION_FRESH, &l, err);
    if (!rc)
        rc = mapped__lock_state(n->session, n->at.lock, 0, &a, &s, &version,
                                err);
    if (!rc && !find_own(h, &s))
        rc = err_set(err, ERR_INVALID, "the handle does not hold the lock");
    if (!rc)
        snprintf(text, CHUBBY_SEQUENCER_BYTES_MAX,
                 "%c:%" PRIu64 ":%" PRIu64 ":%s",
                 s.mode == CHUBBY_EXCLUSIVE ? 'x' : 's', s.generation,
                 n->instance, n->path);
    mapped__look_close(&l);
    arena_close(&a);
    mapped__node_unref(n);
    if (rc)
        err_wrap(err, "%s", h->base.path);
    return rc;
}

/* A sequencer's parts; the path is borrowed. */
struct sequencer_parts {
    char mode;
    uint64_t generation;
    uint64_t instance;
    struct slice path;
};

static struct slice next_part(struct slice *rest)
{
    size_t end = slice_find_byte(*rest, ':');
    struct slice part = slice_sub(*rest, 0, end);

    *rest = slice_sub(*rest, end + 1, rest->len);
    return part;
}

static int
read_sequencer(struct slice text, struct sequencer_parts *out, struct err *err)
{
    struct slice rest = text;
    struct slice mode = next_part(&rest);

    if ((!slice_eq_str(mode, "x") && !slice_eq_str(mode, "s")) ||
        text_parse_u64(next_part(&rest), &out->generation, NULL) ||
        text_parse_u64(next_part(&rest), &out->instance, NULL) ||
        path_check(rest, NULL))
        return err_set(err, ERR_INVALID, "\"%.*s\" is no sequencer",
                       SLICE_ARG(text));
    out->mode = mode.data[0];
    out->path = rest;
    return 0;
}

/* Does the instance live, and is its lock held so? */
static int check_held(struct mapped *m,
                      const struct mapped_path *at,
                      const struct sequencer_parts *p,
                      bool *held,
                      struct err *err)
{
    struct coordination_stat stat;
    struct lock_state_record s;
    struct arena a;
    int64_t version;
    bool changed;
    int rc = mapped__get(m, at->record, COORDINATION_FRESH, NULL, &stat, err);

    PRE(m->store);
    *held = false;
    if (rc == ERR_NOTFOUND && at->ephemeral)
        rc = mapped__get(m, at->ephemeral, 0, NULL, &stat, err);
    if (rc || stat.created != p->instance)
        return rc == ERR_NOTFOUND ? 0 : rc;
    arena_init(&a);
    rc = mapped__lock_state(m, at->lock, 0, &a, &s, &version, err);
    if (!rc)
        rc = mapped__bury_holders(m, &s, 0, NULL, &changed, err);
    if (!rc)
        *held = s.generation == p->generation &&
                s.mode == (p->mode == 'x' ? CHUBBY_EXCLUSIVE : CHUBBY_SHARED);
    arena_close(&a);
    return rc == ERR_NOTFOUND ? 0 : rc;
}

int mapped__check_sequencer(struct chubby *base,
                            struct slice sequencer,
                            struct err *err)
{
    struct mapped *m = mapped__session(base);
    struct sequencer_parts p;
    struct mapped_path at;
    bool held = false;
    int rc = read_sequencer(sequencer, &p, err);

    if (rc)
        return rc;
    mapped_path_init(&at, m->root, p.path, m->store->session);
    rc = check_held(m, &at, &p, &held, err);
    mapped_path_close(&at);
    if (!rc && !held)
        rc = err_set(err, ERR_ABORTED,
                     "the lock of sequencer \"%.*s\" is not held any more",
                     SLICE_ARG(sequencer));
    return rc;
}
