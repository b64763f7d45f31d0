/* Contents: read, kept while nobody wants to change them, and written once
 * nobody keeps what they were (mapped_state.h). A file is kept from its second
 * read through the same handle on: many are read once and closed.
 */
#include <string.h>

#include "base/core/arena.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "chubby-lite/mapped/mapped_state.h"

#define READS_BEFORE_CACHE 2

/* --- what is kept -------------------------------------------------------- */

static void drop_contents(struct mapped_node *n)
{
    struct mapped *m = n->session;

    PRE(n->refs > 0); /* INV-4 */
    n->cache_epoch++;
    if (!n->cached)
        return;
    INVARIANT(n->registered && m->cache_bytes >= n->contents.len); /* INV-2 */
    m->cache_bytes -= n->contents.len;
    n->cached = false;
    buf_close(&n->contents);
}

static int take_value_away(void *arg, bool fresh, struct err *err)
{
    struct mapped_node *n = arg;
    struct mapped *m = n->session;
    char *path = mapped__session_path(n->at.lock, m->store->session);
    const struct coordination_op op = {
        .kind = COORDINATION_DELETE, .path = path, .version = COORDINATION_ANY};
    struct coordination_stat stat;
    int rc =
        mapped__get(m, path, fresh ? COORDINATION_FRESH : 0, NULL, &stat, err);

    if (!rc)
        rc = mapped__commit(m, &op, 1, NULL, err);
    mem_free(path);
    return rc;
}

void mapped__uncache(struct mapped_node *n)
{
    int rc;

    PRE(n->refs > 0); /* INV-4 */
    drop_contents(n);
    if (!n->registered)
        return;
    n->uncaching++;
    rc = mapped__try(n->session, take_value_away, n, true, NULL);
    n->uncaching--;
    INVARIANT(!n->cached);
    if (rc == 0 || rc == ERR_NOTFOUND)
        n->registered = false;
}

static void keep_contents(struct mapped_node *n, struct slice contents)
{
    PRE(n->refs > 0);         /* INV-4 */
    INVARIANT(n->registered); /* INV-2 */
    drop_contents(n);
    buf_append_slice(&n->contents, contents);
    n->session->cache_bytes += contents.len;
    n->cached = true;
}

/* Say in the service that this session keeps what it has just looked at. */
static int put_own_value(struct mapped_node *n,
                         const struct mapped_look *l,
                         int64_t lock_version)
{
    char *path = mapped__session_path(n->at.lock, n->session->store->session);
    const struct coordination_op ops[] = {
        {.kind = COORDINATION_CHECK,
         .path = n->record,
         .version = l->stat.version},
        {.kind = COORDINATION_CHECK,
         .path = n->at.lock,
         .version = lock_version},
        {.kind = COORDINATION_CREATE, .path = path, .of_session = true},
        mapped__unremoved(n, l),
    };
    int rc = mapped__commit(n->session, ops, ARRAY_LEN(ops), NULL, NULL);

    PRE(n->refs > 0); /* INV-4 */
    mem_free(path);
    return rc;
}

/* Somebody who drained has died with it, or has given it up. */
static void undrain_dead(struct mapped_node *n,
                         const struct mapped_look *l,
                         struct lock_state_record *s,
                         int64_t lock_version)
{
    struct buf bytes = BUF_INIT;
    bool lives = true;

    PRE(n->refs > 0); /* INV-4 */
    if (mapped__lives(n->session, s->draining, 0, &lives, NULL) || lives)
        return;
    s->draining = 0;
    lock_state_record_put(s, &bytes);
    {
        const struct coordination_op ops[] = {
            {.kind = COORDINATION_SET,
             .path = n->at.lock,
             .value = buf_slice(&bytes),
             .version = lock_version},
            mapped__unremoved(n, l),
        };
        (void)!mapped__commit(n->session, ops, ARRAY_LEN(ops), NULL, NULL);
    }
    buf_close(&bytes);
}

/* Keep the contents of @n from now on, if nothing speaks against it. */
static void start_caching(struct mapped_node *n)
{
    struct mapped *m = n->session;
    uint64_t epoch = n->cache_epoch;
    struct lock_state_record s;
    struct mapped_look l = {.bytes = BUF_INIT};
    struct arena a;
    int64_t lock_version;
    int rc;

    PRE(n->refs > 0); /* INV-4 */
    if (n->registered || n->uncaching || n->writing || n->gone)
        return;
    n->registered = true;
    n->lock_watched = true;
    arena_init(&a);
    rc = mapped__lock_state(m, n->at.lock, COORDINATION_WATCH, &a, &s,
                            &lock_version, NULL);
    if (!rc)
        rc = mapped__look(n, 0, &l, NULL);
    if (!rc && s.draining)
        undrain_dead(n, &l, &s, lock_version);
    if (rc || s.draining ||
        m->cache_bytes + l.record.contents.len > m->cache_bytes_max) {
        n->registered = false;
    } else {
        rc = put_own_value(n, &l, lock_version);
        n->registered = rc != MAPPED_AGAIN;
        if (rc == 0 && epoch == n->cache_epoch && !n->writing)
            keep_contents(n, l.record.contents);
        else
            mapped__uncache(n);
    }
    mapped__look_close(&l);
    arena_close(&a);
}

/* --- reading ------------------------------------------------------------- */

bool mapped__is_cached(const struct chubby_handle *base)
{
    const struct mapped_handle *h = (const struct mapped_handle *)base;

    return h->node->cached && !(h->flags & CHUBBY_UNCACHED) && !h->node->gone &&
           mapped__is_safe(h->node->session);
}

static int fill_stat(struct mapped_node *n,
                     const struct mapped_look *l,
                     struct chubby_stat *out,
                     struct err *err)
{
    struct lock_state_record s;
    struct mapped_entries all;
    struct arena a;
    int64_t version;
    int rc;

    PRE(n->refs > 0); /* INV-4 */
    *out = (struct chubby_stat){
        .instance = n->instance,
        .content_generation = n->is_directory ? (uint64_t)l->stat.version
                                              : l->record.content_generation,
        .contents_bytes = l->record.contents.len,
        .checksum = crc32c(l->record.contents.data, l->record.contents.len),
        .is_directory = n->is_directory,
        .is_ephemeral = n->is_ephemeral};
    arena_init(&a);
    rc = mapped__lock_state(n->session, n->at.lock, 0, &a, &s, &version, err);
    if (!rc)
        out->lock_generation = s.generation;
    arena_close(&a);
    if (!rc && n->is_directory) {
        rc = mapped__entries(n->session, n->at.children, 0, &all, err);
        if (rc)
            return rc;
        for (size_t i = 0; i < all.count; i++)
            out->child_count += mapped__entry_is_there(&all.at[i]);
        mapped__entries_close(&all);
    }
    return rc;
}

static int read_node(struct mapped_handle *h,
                     struct buf *out,
                     struct chubby_stat *stat,
                     struct err *err)
{
    struct mapped_node *n = h->node;
    struct mapped_look l;
    int rc = mapped__look(n, COORDINATION_FRESH, &l, err);

    PRE(h->node->refs > 0); /* INV-4 */
    if (!rc && stat) {
        rc = fill_stat(n, &l, stat, err);
        if (rc == ERR_NOTFOUND)
            rc = err_set(err, rc, "%s: it was deleted", n->path);
    }
    if (!rc && out)
        buf_append_slice(out, l.record.contents);
    mapped__look_close(&l);
    return rc;
}

int mapped__read(struct chubby_handle *base,
                 struct buf *out,
                 struct chubby_stat *stat,
                 struct err *err)
{
    struct mapped_handle *h = mapped__handle(base);
    struct mapped_node *n = h->node;
    int rc;

    PRE(h->node->refs > 0); /* INV-4 */
    if (!(h->flags & CHUBBY_READ))
        return err_set(err, ERR_DENIED, "%s: not opened for reading",
                       h->base.path);
    if (!stat && mapped__is_cached(base)) {
        buf_append_slice(out, buf_slice(&n->contents));
        return 0;
    }
    n->refs++;
    rc = read_node(h, out, stat, err);
    if (!rc && !stat && !n->is_directory && !(h->flags & CHUBBY_UNCACHED) &&
        ++h->reads >= READS_BEFORE_CACHE)
        start_caching(n);
    mapped__node_unref(n);
    return rc;
}

int mapped__get_stat(struct chubby_handle *base,
                     struct chubby_stat *stat,
                     struct err *err)
{
    struct mapped_handle *h = mapped__handle(base);
    struct mapped_node *n = h->node;
    int rc;

    PRE(h->node->refs > 0); /* INV-4 */
    n->refs++;
    rc = read_node(h, NULL, stat, err);
    mapped__node_unref(n);
    return rc;
}

/* --- draining ------------------------------------------------------------ */

/* Mark the lock's state as draining, unless somebody has. */
static int begin_draining(struct mapped_node *n,
                          struct arena *a,
                          unsigned flags,
                          struct err *err)
{
    struct mapped *m = n->session;
    struct lock_state_record s;
    struct mapped_look l;
    struct buf bytes = BUF_INIT;
    int64_t version;
    int rc = mapped__look(n, flags, &l, err);

    PRE(n->refs > 0); /* INV-4 */
    if (!rc)
        rc = mapped__lock_state(m, n->at.lock, 0, a, &s, &version, err);
    if (rc == ERR_NOTFOUND && !n->gone)
        rc = MAPPED_AGAIN;
    if (!rc && !s.draining) {
        s.draining = m->store->session;
        lock_state_record_put(&s, &bytes);
        const struct coordination_op ops[] = {
            {.kind = COORDINATION_SET,
             .path = n->at.lock,
             .value = buf_slice(&bytes),
             .version = version},
            mapped__unremoved(n, &l),
        };
        rc = mapped__commit(m, ops, ARRAY_LEN(ops), NULL, err);
    }
    buf_close(&bytes);
    mapped__look_close(&l);
    return rc;
}

/* How many sessions keep the contents of @n? */
static int count_caches(struct mapped_node *n, size_t *count, struct err *err)
{
    char **names;
    int rc = mapped__list(n->session, n->at.lock, COORDINATION_WATCH, &names,
                          count, err);

    PRE(n->refs > 0); /* INV-4 */
    if (rc)
        return rc == ERR_NOTFOUND ? MAPPED_AGAIN : rc;
    chubby_names_free(names, *count);
    return 0;
}

/* Wait until nobody keeps them. */
static int wait_drained(struct mapped_node *n, struct err *err)
{
    struct mapped *m = n->session;
    struct path_waiter w = {.count = 0};
    size_t count = 1;
    int rc = 0;

    PRE(n->refs > 0); /* INV-4 */
    while (!rc) {
        mapped__wait_for(m, &w, n->at.lock);
        rc = count_caches(n, &count, err);
        if (rc || count == 0)
            break;
        rc = mapped__wait_change(m, &w, 0, err);
    }
    mapped__waiter_close(&w);
    return rc;
}

int mapped__drain(struct mapped_node *n,
                  struct arena *a,
                  struct lock_state_record *state,
                  int64_t *lock_version,
                  struct err *err)
{
    int rc;

    PRE(n->refs > 0); /* INV-4 */
    PRE(n->writing > 0);
    mapped__uncache(n);
    rc = begin_draining(n, a, 0, err);
    if (!rc)
        rc = wait_drained(n, err);
    if (!rc)
        rc = mapped__lock_state(n->session, n->at.lock, 0, a, state,
                                lock_version, err);
    if (rc == ERR_NOTFOUND)
        rc = n->gone ? rc : MAPPED_AGAIN;
    /* Another has finished, and ended it. */
    if (!rc && !state->draining)
        rc = MAPPED_AGAIN;
    return rc;
}

static int undrain_try(void *arg, bool fresh, struct err *err)
{
    struct mapped_node *n = arg;
    struct mapped *m = n->session;
    struct lock_state_record s;
    struct mapped_look l;
    struct buf bytes = BUF_INIT;
    struct arena a;
    int64_t version;
    int rc;

    arena_init(&a);
    rc = mapped__look(n, fresh ? COORDINATION_FRESH : 0, &l, err);
    if (!rc)
        rc = mapped__lock_state(m, n->at.lock, 0, &a, &s, &version, err);
    if (!rc && s.draining == m->store->session) {
        s.draining = 0;
        lock_state_record_put(&s, &bytes);
        const struct coordination_op ops[] = {
            {.kind = COORDINATION_SET,
             .path = n->at.lock,
             .value = buf_slice(&bytes),
             .version = version},
            mapped__unremoved(n, &l),
        };
        rc = mapped__commit(m, ops, ARRAY_LEN(ops), NULL, err);
    }
    buf_close(&bytes);
    mapped__look_close(&l);
    arena_close(&a);
    return rc;
}

static void mapped_cache_undrain(void *arg)
{
    struct mapped_node *n = arg;

    (void)fiber_set_deadline(mapped__hasty_ns(n->session));
    (void)!mapped__try(n->session, undrain_try, n, true, NULL);
}

void mapped__drained(struct mapped_node *n)
{
    PRE(n->refs > 0); /* INV-4 */
    /* Another call of this session needs it. */
    if (n->gone || n->writing > 1 || n->session->state == MAPPED_EXPIRED)
        return;
    fiber_join(
        fiber_start(loop_self(), "lock-undrain", mapped_cache_undrain, n));
}

/* --- writing ------------------------------------------------------------- */

struct writing {
    struct mapped_node *node;
    struct slice contents;
    uint64_t if_generation;
};

static int check_write(const struct writing *w,
                       const struct mapped_look *l,
                       struct err *err)
{
    if (w->node->is_directory)
        return err_set(err, ERR_INVALID, "a directory has no contents");
    if (w->if_generation && w->if_generation != l->record.content_generation)
        return err_set(err, ERR_ABORTED,
                       "the content generation is %llu, not %llu",
                       (unsigned long long)l->record.content_generation,
                       (unsigned long long)w->if_generation);
    return 0;
}

static int commit_write(const struct writing *w,
                        const struct mapped_look *l,
                        struct lock_state_record *state,
                        int64_t lock_version,
                        struct err *err)
{
    struct mapped_node *n = w->node;
    const struct mapped_record r = {.content_generation =
                                        l->record.content_generation + 1,
                                    .contents = w->contents};
    struct coordination_op ops[5];
    struct buf record = BUF_INIT;
    struct buf lock = BUF_INIT;
    size_t count = 0;
    int rc;

    state->draining = 0;
    mapped_record_put(&r, &record);
    lock_state_record_put(state, &lock);
    ops[count++] = (struct coordination_op){.kind = COORDINATION_SET,
                                            .path = n->record,
                                            .value = buf_slice(&record),
                                            .version = l->stat.version};
    ops[count++] = (struct coordination_op){.kind = COORDINATION_SET,
                                            .path = n->at.lock,
                                            .value = buf_slice(&lock),
                                            .version = lock_version};
    ops[count++] = mapped__unremoved(n, l);
    count += mapped__touch_above(n, ops + count);
    rc = mapped__commit(n->session, ops, count, NULL, err);
    buf_close(&record);
    buf_close(&lock);
    return rc;
}

static int write_try(void *arg, bool fresh, struct err *err)
{
    const struct writing *w = arg;
    struct lock_state_record state;
    struct mapped_look l;
    struct arena a;
    int64_t lock_version;
    int rc = mapped__look(w->node, fresh ? COORDINATION_FRESH : 0, &l, err);

    arena_init(&a);
    if (!rc)
        rc = check_write(w, &l, err);
    if (!rc)
        rc = mapped__drain(w->node, &a, &state, &lock_version, err);
    if (!rc)
        rc = commit_write(w, &l, &state, lock_version, err);
    arena_close(&a);
    mapped__look_close(&l);
    return rc;
}

int mapped__write(struct chubby_handle *base,
                  struct slice contents,
                  uint64_t if_generation,
                  struct err *err)
{
    struct mapped_handle *h = mapped__handle(base);
    struct mapped_node *n = h->node;
    struct writing w = {n, contents, if_generation};
    int rc;

    PRE(h->node->refs > 0); /* INV-4 */
    if (!(h->flags & CHUBBY_WRITE))
        return err_set(err, ERR_DENIED, "%s: not opened for writing",
                       h->base.path);
    if (contents.len > CHUBBY_CONTENTS_BYTES_MAX)
        return err_set(err, ERR_TOOBIG, "%s: a file has at most %zu bytes",
                       h->base.path, CHUBBY_CONTENTS_BYTES_MAX);
    n->refs++;
    n->writing++;
    rc = mapped__try(n->session, write_try, &w, false, err);
    if (rc)
        mapped__drained(n);
    n->writing--;
    mapped__node_unref(n);
    if (rc)
        err_wrap(err, "%s", h->base.path);
    return rc;
}
