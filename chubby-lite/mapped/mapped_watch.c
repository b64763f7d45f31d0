/* Watches: events of the store mark nodes, and one fiber looks at them
 * again, tells handles what has changed, and drops what is cached when somebody
 * wants to change it.
 */
#include <string.h>

#include "base/core/arena.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "chubby-lite/mapped/mapped_state.h"

/* --- marks --------------------------------------------------------------- */

static void wake_watcher(struct mapped *m)
{
    m->has_dirty = true;
    wait_queue_wake(&m->dirty);
}

void mapped__soil(struct mapped_node *n)
{
    PRE(n->refs > 0); /* INV-4 */
    n->record_dirty = n->lock_dirty = n->list_dirty = true;
    wake_watcher(n->session);
}

static void mark_path(struct mapped *m, const char *path)
{
    struct mapped_node *n;

    PRE(m->store);
    LIST_FOREACH(n, &m->nodes, link) {
        bool is_record = strcmp(n->record, path) == 0;
        bool is_lock = strcmp(n->at.lock, path) == 0;
        bool is_list = n->is_directory && strcmp(n->at.children, path) == 0;
        n->record_dirty |= is_record;
        n->lock_dirty |= is_lock;
        n->list_dirty |= is_list;
        if (is_record || is_lock || is_list)
            wake_watcher(m);
    }
}

static void wake_waiters(struct mapped *m, const char *path)
{
    struct path_waiter *w;

    LIST_FOREACH(w, &m->waiters, link)
        for (size_t i = 0; i < w->count && !w->hit; i++)
            w->hit = !path || strcmp(w->paths[i], path) == 0;
    wait_queue_wake(&m->changed);
}

void mapped__on_event(void *ctx,
                      enum coordination_event event,
                      const char *path)
{
    struct mapped *m = ctx;
    struct mapped_node *n;

    switch (event) {
    case COORDINATION_CHANGED:
        mark_path(m, path);
        wake_waiters(m, path);
        break;
    case COORDINATION_MOVED:
        LIST_FOREACH(n, &m->nodes, link)
            mapped__soil(n);
        wake_waiters(m, NULL);
        mapped__notify(m, NULL, CHUBBY_EVENT_FAILOVER);
        break;
    case COORDINATION_ENDED: mapped__set_state(m, MAPPED_EXPIRED); break;
    }
}

/* --- looking again ------------------------------------------------------- */

static void
tell_handles(struct mapped_node *n, enum chubby_event event, bool subscribed)
{
    struct mapped_handle *h;

    PRE(n->refs > 0); /* INV-4 */
    LIST_FOREACH(h, &n->handles, link)
        if (!subscribed || (h->events & event))
            mapped__notify(n->session, h, event);
}

static void tell_gone(struct mapped_node *n)
{
    PRE(n->refs > 0); /* INV-4 */
    n->gone = true;
    if (n->gone_told)
        return;
    n->gone_told = true;
    tell_handles(n, CHUBBY_EVENT_INVALID, false);
}

static int watch_record(struct mapped_node *n)
{
    struct coordination_stat stat;
    struct mapped_record r;
    struct buf bytes = BUF_INIT;
    int rc = mapped__get(n->session, n->record, COORDINATION_WATCH, &bytes,
                         &stat, NULL);

    PRE(n->refs > 0); /* INV-4 */
    if (rc == ERR_NOTFOUND || (!rc && stat.created != n->instance)) {
        tell_gone(n);
        rc = 0;
    } else if (!rc && n->is_directory) {
        if (n->list_version != (uint64_t)stat.version)
            tell_handles(n, CHUBBY_EVENT_CHILDREN, true);
        n->list_version = (uint64_t)stat.version;
    } else if (!rc && mapped_record_get(buf_slice(&bytes), &r, NULL) == 0) {
        if (n->content_generation != r.content_generation)
            tell_handles(n, CHUBBY_EVENT_CONTENT, true);
        n->content_generation = r.content_generation;
    }
    buf_close(&bytes);
    return rc;
}

static void tell_conflict(struct mapped_node *n)
{
    struct mapped_handle *h;

    PRE(n->refs > 0); /* INV-4 */
    LIST_FOREACH(h, &n->handles, link)
        if (h->holding != CHUBBY_FREE && (h->events & CHUBBY_EVENT_CONFLICT))
            mapped__notify(n->session, h, CHUBBY_EVENT_CONFLICT);
}

static int watch_lock(struct mapped_node *n)
{
    struct lock_state_record s;
    struct arena a;
    int64_t version;
    int rc;

    PRE(n->refs > 0); /* INV-4 */
    if (!n->lock_watched)
        return 0;
    arena_init(&a);
    rc = mapped__lock_state(n->session, n->at.lock, COORDINATION_WATCH, &a, &s,
                            &version, NULL);
    if (!rc) {
        if (s.generation > n->lock_generation)
            tell_handles(n, CHUBBY_EVENT_LOCKED, true);
        if (s.wanted != n->wanted)
            tell_conflict(n);
        n->lock_generation = s.generation;
        n->wanted = s.wanted;
    }
    /* The session that drains waits for this. */
    if (n->registered && (rc || s.draining))
        mapped__uncache(n);
    arena_close(&a);
    return rc == ERR_NOTFOUND || rc == ERR_CORRUPT ? 0 : rc;
}

static int watch_list(struct mapped_node *n)
{
    char **names;
    size_t count;
    int rc;

    PRE(n->refs > 0); /* INV-4 */
    if (!n->list_watched)
        return 0;
    rc = mapped__list(n->session, n->at.children, COORDINATION_WATCH, &names,
                      &count, NULL);
    if (!rc) {
        chubby_names_free(names, count);
        tell_handles(n, CHUBBY_EVENT_CHILDREN, true);
    }
    return rc == ERR_NOTFOUND ? 0 : rc;
}

static int watch_node(struct mapped_node *n)
{
    bool record = n->record_dirty;
    bool lock = n->lock_dirty;
    bool list = n->list_dirty;
    int rc = 0;

    PRE(n->refs > 0); /* INV-4 */
    /* An event that comes meanwhile marks it again. */
    n->record_dirty = n->lock_dirty = n->list_dirty = false;
    if (lock) /* First: others wait for it. */
        rc = watch_lock(n);
    if (record && !rc)
        rc = watch_record(n);
    if (list && !rc)
        rc = watch_list(n);
    return rc;
}

static struct mapped_node *find_dirty(const struct mapped *m)
{
    struct mapped_node *n;

    PRE(m->store);
    LIST_FOREACH(n, &m->nodes, link)
        if (n->record_dirty || n->lock_dirty || n->list_dirty)
            return n;
    return NULL;
}

static int watch_dirty(struct mapped *m)
{
    struct mapped_node *n;
    int rc = 0;

    PRE(m->store);
    m->has_dirty = false;
    while (!rc && (n = find_dirty(m))) {
        n->refs++;
        rc = watch_node(n);
        if (rc)
            n->record_dirty = n->lock_dirty = n->list_dirty = true;
        mapped__node_unref(n);
    }
    return rc;
}

void mapped__watch_loop(void *arg)
{
    struct mapped *m = arg;

    while (m->state != MAPPED_EXPIRED && fiber_check(NULL) == 0) {
        int rc =
            m->has_dirty ? watch_dirty(m) : wait_queue_wait(&m->dirty, 0, NULL);
        if (rc == ERR_CANCELLED || rc == ERR_CLOSED)
            return;
        INVARIANT(rc == 0 || rc == ERR_DEADLINE || rc < 0);
    }
}
