/* Opening, closing and removing nodes. A node and the state of its lock are
 * made and removed together. An ephemeral file has a value of each session that
 * has it open; when the last is gone, by its owner's hand or with its session,
 * the file is there no more, and the first that sees it removes the rest.
 */
#include <string.h>

#include "base/core/arena.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "chubby-lite/lock_path.h"
#include "chubby-lite/mapped/mapped_state.h"

/* The record of every directory, whose version counts what changes in it. */
#define DIRECTORY_RECORD "q1 d 0\n"

/* Sessions that may have a file open that is removed. */
#define MARKERS_MAX 100

/* --- nodes --------------------------------------------------------------- */

static struct mapped_node *
find_node(const struct mapped *m, const char *path, uint64_t instance)
{
    struct mapped_node *n;

    PRE(m->store);
    LIST_FOREACH(n, &m->nodes, link)
        if (!n->gone && (!instance || n->instance == instance) &&
            strcmp(n->path, path) == 0)
            return n;
    return NULL;
}

static struct mapped_node *node_new(struct mapped *m, const char *path)
{
    struct mapped_node *n = mem_zalloc(1, sizeof(*n));

    PRE(m->store);
    n->session = m;
    n->path = mem_strdup(path);
    mapped_path_init(&n->at, m->root, slice_str(path), m->store->session);
    LIST_INIT(&n->handles);
    n->refs = 1;
    return n;
}

static void node_free(struct mapped_node *n)
{
    buf_close(&n->contents);
    mapped_path_close(&n->at);
    mem_free(n->path);
    mem_free(n);
}

void mapped__node_unref(struct mapped_node *n)
{
    PRE(n->refs > 0); /* INV-4 */
    PRE(n->refs > 0);
    if (--n->refs > 0)
        return;
    PRE(LIST_EMPTY(&n->handles)); /* INV-4 */
    LIST_REMOVE(n, link);
    node_free(n);
}

/* --- looking ------------------------------------------------------------- */

void mapped__look_close(struct mapped_look *l)
{
    buf_close(&l->bytes);
}

static int mapped_node_gone(struct mapped_node *n, struct err *err)
{
    PRE(n->refs > 0); /* INV-4 */
    n->gone = true;
    if (!n->gone_told)
        mapped__soil(n);
    return err_set(err, ERR_NOTFOUND, "%s: it was deleted", n->path);
}

int mapped__look(struct mapped_node *n,
                 unsigned flags,
                 struct mapped_look *out,
                 struct err *err)
{
    struct mapped *m = n->session;
    struct coordination_stat above = {.version = COORDINATION_ANY};
    int rc = 0;

    PRE(n->refs > 0); /* INV-4 */
    *out = (struct mapped_look){.bytes = BUF_INIT};
    if (n->gone)
        return mapped_node_gone(n, err);
    /* First: a removal between the two is found by the transaction. */
    if (n->at.above_children) {
        rc = mapped__get(m, n->at.above_children, flags & COORDINATION_FRESH,
                         NULL, &above, err);
        flags &= ~(unsigned)COORDINATION_FRESH;
    }
    if (!rc)
        rc = mapped__get(m, n->record, flags, &out->bytes, &out->stat, err);
    /* A session that has seen it does not see the time before. */
    if (rc == ERR_NOTFOUND || (!rc && out->stat.created != n->instance))
        return mapped_node_gone(n, err);
    out->above_version = above.version;
    if (!rc)
        rc = mapped_record_get(buf_slice(&out->bytes), &out->record, err);
    if (rc)
        err_wrap(err, "%s", n->path);
    return rc;
}

struct coordination_op mapped__unremoved(const struct mapped_node *n,
                                         const struct mapped_look *l)
{
    PRE(n->refs > 0); /* INV-4 */
    return (struct coordination_op){
        .kind = COORDINATION_CHECK,
        .path = n->at.above_children ? n->at.above_children : n->at.children,
        .version = l->above_version};
}

static size_t touch_above(const struct mapped_path *at,
                          struct coordination_op *ops)
{
    if (!at->above_record)
        return 0;
    ops[0] = (struct coordination_op){.kind = COORDINATION_SET,
                                      .path = at->above_record,
                                      .value = SLICE_LIT(DIRECTORY_RECORD),
                                      .version = COORDINATION_ANY};
    return 1;
}

size_t mapped__touch_above(const struct mapped_node *n,
                           struct coordination_op *ops)
{
    PRE(n->refs > 0); /* INV-4 */
    return touch_above(&n->at, ops);
}

/* --- opening ------------------------------------------------------------- */

struct opening {
    struct mapped *session;
    const char *path;
    unsigned flags;
    const struct chubby_open_options *opts;
    struct mapped_node *node; /* Not in the session's list yet. */
    struct mapped_node *out;  /* In it, and counted. */
};

/* @n is there, as its record says: may it be opened so? */
static int may_open(const struct opening *o,
                    const struct mapped_record *r,
                    struct err *err)
{
    PRE(o->node && !o->out);
    if (o->flags & CHUBBY_NEW)
        return err_set(err, ERR_EXISTS, "exists already");
    if ((o->flags & CHUBBY_DIRECTORY) && !r->is_directory)
        return err_set(err, ERR_INVALID, "it is a file");
    return 0;
}

/* Read the record at n->record, and watch it. */
static int take_record(struct opening *o, unsigned flags, struct err *err)
{
    struct mapped_node *n = o->node;
    struct coordination_stat stat;
    struct mapped_record r;
    struct buf bytes = BUF_INIT;
    int rc = mapped__get(o->session, n->record, flags | COORDINATION_WATCH,
                         &bytes, &stat, err);

    PRE(o->node && !o->out);
    if (!rc)
        rc = mapped_record_get(buf_slice(&bytes), &r, err);
    if (!rc) {
        n->instance = stat.created;
        n->is_directory = r.is_directory;
        n->content_generation = r.content_generation;
        n->list_version = (uint64_t)stat.version;
        rc = may_open(o, &r, err);
    }
    buf_close(&bytes);
    return rc;
}

/* Put the node into the session's list, or use one that is there. */
static void keep_node(struct opening *o)
{
    struct mapped_node *n = find_node(o->session, o->path, o->node->instance);

    PRE(o->node && !o->out);
    if (n) {
        n->refs++;
        o->out = n;
        return;
    }
    LIST_INSERT_HEAD(&o->session->nodes, o->node, link);
    o->out = o->node;
    o->node = NULL;
}

/* This session has the ephemeral file open, too: say so in a value of its own.
 * The record is written so that who sees nobody else does not remove it. */
static int enter_ephemeral(struct opening *o, bool has_marker, struct err *err)
{
    struct mapped_node *n = o->node;
    struct coordination_stat stat;
    struct mapped_record r;
    struct buf bytes = BUF_INIT;
    int rc = mapped__get(o->session, n->record, 0, &bytes, &stat, err);

    PRE(o->node && !o->out);
    if (rc == ERR_NOTFOUND)
        rc = MAPPED_AGAIN;
    if (!rc)
        rc = mapped_record_get(buf_slice(&bytes), &r, err);
    if (!rc)
        rc = may_open(o, &r, err);
    if (!rc) {
        const struct coordination_op ops[] = {
            {.kind = COORDINATION_SET,
             .path = n->record,
             .value = buf_slice(&bytes),
             .version = stat.version},
            {.kind = has_marker ? COORDINATION_SET : COORDINATION_CREATE,
             .path = n->at.marker,
             .version = COORDINATION_ANY,
             .of_session = true},
        };
        rc = mapped__commit(o->session, ops, ARRAY_LEN(ops), NULL, err);
    }
    buf_close(&bytes);
    if (!rc)
        rc = take_record(o, 0, err);
    return rc == ERR_NOTFOUND ? MAPPED_AGAIN : rc;
}

/* Does this session just stop having @path open? */
static bool is_leaving(const struct mapped *m, const char *path)
{
    const struct mapped_node *n;

    PRE(m->store);
    LIST_FOREACH(n, &m->nodes, link)
        if (n->leaving && strcmp(n->path, path) == 0)
            return true;
    return false;
}

/* Another handle of this session has it open. */
static bool share_node(struct opening *o)
{
    struct mapped_node *n = find_node(o->session, o->path, 0);

    PRE(o->node && !o->out);
    if (!n || !n->is_ephemeral)
        return false;
    n->refs++;
    o->out = n;
    return true;
}

static int check_creation(const struct opening *o, struct err *err)
{
    const struct chubby_open_options *p = o->opts;

    PRE(o->node && !o->out);
    if ((o->flags & CHUBBY_DIRECTORY) && (o->flags & CHUBBY_EPHEMERAL))
        return err_set(err, ERR_UNSUPPORTED,
                       "a lock service that others run has no ephemeral "
                       "directories");
    if ((p->acl_read && *p->acl_read) || (p->acl_write && *p->acl_write) ||
        (p->acl_change && *p->acl_change))
        return err_set(err, ERR_UNSUPPORTED,
                       "a lock service that others run does not know the lists "
                       "in /acl; it has rights of its own");
    if ((o->flags & CHUBBY_DIRECTORY) && p->contents.len > 0)
        return err_set(err, ERR_INVALID, "a directory has no contents");
    if (p->contents.len > CHUBBY_CONTENTS_BYTES_MAX)
        return err_set(err, ERR_TOOBIG, "a file has at most %zu bytes",
                       CHUBBY_CONTENTS_BYTES_MAX);
    return 0;
}

static size_t creation_ops(const struct opening *o,
                           struct slice record,
                           struct slice lock,
                           struct coordination_op *ops)
{
    const struct mapped_node *n = o->node;
    size_t count = 0;

    PRE(o->node && !o->out);
    ops[count++] = (struct coordination_op){
        .kind = COORDINATION_CREATE, .path = n->record, .value = record};
    ops[count++] = (struct coordination_op){
        .kind = COORDINATION_CREATE, .path = n->at.lock, .value = lock};
    if (n->is_directory)
        ops[count++] = (struct coordination_op){.kind = COORDINATION_CREATE,
                                                .path = n->at.children};
    if (n->is_ephemeral)
        ops[count++] = (struct coordination_op){.kind = COORDINATION_CREATE,
                                                .path = n->at.marker,
                                                .of_session = true};
    return count + touch_above(&n->at, ops + count);
}

static int create_node(struct opening *o, struct err *err)
{
    static const struct lock_state_record free_lock = {.generation = 0};
    struct mapped_node *n = o->node;
    struct coordination_op ops[8];
    struct coordination_stat stat;
    struct mapped_record r = {.is_directory = o->flags & CHUBBY_DIRECTORY,
                              /* First contents count as a write. */
                              .content_generation = o->opts->contents.len > 0,
                              .contents = o->opts->contents};
    struct buf record = BUF_INIT;
    struct buf lock = BUF_INIT;
    int rc = check_creation(o, err);

    PRE(o->node && !o->out);
    if (rc)
        return rc;
    n->is_directory = r.is_directory;
    n->is_ephemeral = o->flags & CHUBBY_EPHEMERAL;
    n->record = n->is_ephemeral ? n->at.ephemeral : n->at.record;
    n->content_generation = r.content_generation;
    mapped_record_put(&r, &record);
    lock_state_record_put(&free_lock, &lock);
    rc = mapped__commit(
        o->session, ops,
        creation_ops(o, buf_slice(&record), buf_slice(&lock), ops),
        &n->instance, err);
    buf_close(&record);
    buf_close(&lock);
    if (rc)
        return rc;
    /* Watch it. Somebody may have removed it already. */
    rc = mapped__get(o->session, n->record, COORDINATION_WATCH, NULL, &stat,
                     err);
    if (rc && rc != ERR_NOTFOUND)
        return rc;
    if (rc || stat.created != n->instance)
        n->gone = true;
    else
        n->list_version = (uint64_t)stat.version;
    return 0;
}

/* There is no directory above the node. */
static int refuse_above(struct opening *o, struct slice above, struct err *err)
{
    struct coordination_stat stat;
    int rc =
        mapped__get(o->session, o->node->at.above_record, 0, NULL, &stat, err);

    PRE(o->node && !o->out);
    if (rc == 0)
        return err_set(err, ERR_INVALID, "%.*s is a file", SLICE_ARG(above));
    return rc != ERR_NOTFOUND
               ? rc
               : err_set(err, ERR_NOTFOUND, "%.*s: no such directory",
                         SLICE_ARG(above));
}

/* Nothing is at the path of a permanent node. */
static int open_other(struct opening *o, struct err *err)
{
    struct mapped *m = o->session;
    struct mapped_node *n = o->node;
    struct mapped_entries all;
    const struct mapped_entry *e;
    struct slice above;
    struct slice name;
    bool has_marker = false;
    int rc;

    PRE(o->node && !o->out);
    if (is_leaving(m, o->path))
        return MAPPED_AGAIN;
    rc = mapped__entries(m, n->at.above_children, 0, &all, err);
    path_split(slice_str(o->path), &above, &name);
    if (rc == ERR_NOTFOUND)
        return refuse_above(o, above, err);
    if (rc)
        return rc;
    e = mapped__entry_find(&all, name);
    if (e && e->has_record) {
        rc = MAPPED_AGAIN; /* It was made meanwhile. */
    } else if (e && mapped__entry_is_there(e)) {
        size_t at = strlen(n->at.above_children) + 1;
        for (size_t i = 0; i < all.marker_count; i++)
            has_marker |= strcmp(all.markers[i], n->at.marker + at) == 0;
        n->record = n->at.ephemeral;
        n->is_ephemeral = true;
        if (has_marker && !(o->flags & CHUBBY_NEW) && share_node(o))
            rc = 0;
        else
            rc = enter_ephemeral(o, has_marker, err);
    } else if (!(o->flags & CHUBBY_CREATE)) {
        rc = err_set(err, ERR_NOTFOUND, "no such node");
    } else if (e && e->has_ephemeral) {
        mapped__sweep(m, slice_str(o->path));
        rc = MAPPED_AGAIN;
    } else {
        rc = create_node(o, err);
    }
    mapped__entries_close(&all);
    return rc;
}

static int open_try(void *arg, bool fresh, struct err *err)
{
    struct opening *o = arg;
    struct mapped_node *n = o->node;
    int rc;

    n->record = n->at.record;
    n->is_ephemeral = n->is_directory = n->gone = false;
    rc = take_record(o, fresh ? COORDINATION_FRESH : 0, err);
    if (rc == ERR_NOTFOUND && n->at.ephemeral)
        rc = open_other(o, err);
    if (!rc && !o->out)
        keep_node(o);
    return rc;
}

/* A handle learns of changes of the state that it has seen: look. */
static int watch_for(struct mapped_node *n, unsigned events, struct err *err)
{
    struct mapped *m = n->session;
    int rc = 0;

    PRE(n->refs > 0); /* INV-4 */
    if (n->gone)
        return 0;
    if ((events & (CHUBBY_EVENT_LOCKED | CHUBBY_EVENT_CONFLICT)) &&
        !n->lock_watched) {
        struct lock_state_record s;
        int64_t version;
        struct arena a;
        arena_init(&a);
        rc = mapped__lock_state(m, n->at.lock, COORDINATION_WATCH, &a, &s,
                                &version, err);
        if (!rc) {
            n->lock_watched = true;
            n->lock_generation = s.generation;
            n->wanted = s.wanted;
        }
        arena_close(&a);
    }
    if (!rc && (events & CHUBBY_EVENT_CHILDREN) && n->is_directory &&
        !n->list_watched) {
        char **names;
        size_t count;
        rc = mapped__list(m, n->at.children, COORDINATION_WATCH, &names, &count,
                          err);
        if (!rc) {
            n->list_watched = true;
            chubby_names_free(names, count);
        }
    }
    if (rc == ERR_NOTFOUND) { /* It was removed; an event says so. */
        mapped__soil(n);
        rc = 0;
    }
    return rc;
}

static struct mapped_handle *handle_new(const struct opening *o)
{
    struct mapped *m = o->session;
    struct mapped_handle *h = mem_zalloc(1, sizeof(*h));

    h->base = (struct chubby_handle){&m->base, mem_strdup(o->path)};
    h->node = o->out;
    h->id = ++m->handle_count;
    h->flags = o->flags;
    h->events = o->opts->events;
    h->lock_delay_ms = o->opts->lock_delay_ms;
    LIST_INSERT_HEAD(&o->out->handles, h, link);
    return h;
}

int mapped__open(struct chubby *base,
                 const char *path,
                 unsigned flags,
                 const struct chubby_open_options *opts,
                 struct chubby_handle **out,
                 struct err *err)
{
    struct opening o = {.session = mapped__session(base),
                        .path = path,
                        .flags = flags,
                        .opts = opts};
    int rc = path_check(slice_str(path), err);

    if (!rc && opts->lock_delay_ms > CHUBBY_LOCK_DELAY_MS_MAX)
        rc = err_set(err, ERR_INVALID, "a lock-delay is at most %d ms",
                     CHUBBY_LOCK_DELAY_MS_MAX);
    if (!rc) {
        o.node = node_new(o.session, path);
        rc = mapped__try(o.session, open_try, &o, true, err);
        if (o.node)
            node_free(o.node);
    }
    if (!rc) {
        struct mapped_handle *h = handle_new(&o);
        rc = watch_for(h->node, h->events, err);
        *out = &h->base;
        if (rc)
            mapped__close(&h->base);
        else if (h->node->gone)
            mapped__soil(h->node);
    }
    if (rc)
        err_wrap(err, "open %s", path);
    return rc;
}

/* --- closing ------------------------------------------------------------- */

struct leaving {
    struct mapped_node *node;
};

/* The session has the file open no more; if nobody has, the file goes. */
static int leave_try(void *arg, bool fresh, struct err *err)
{
    struct mapped_node *n = ((struct leaving *)arg)->node;
    struct mapped *m = n->session;
    struct coordination_op ops[6];
    struct coordination_stat stat;
    struct mapped_entries all;
    const struct mapped_entry *e;
    struct slice above;
    struct slice name;
    size_t count = 0;
    int rc = mapped__get(m, n->record, fresh ? COORDINATION_FRESH : 0, NULL,
                         &stat, err);

    if (rc == ERR_NOTFOUND || (!rc && stat.created != n->instance))
        return 0;
    if (!rc)
        rc = mapped__entries(m, n->at.above_children, 0, &all, err);
    if (rc)
        return rc == ERR_NOTFOUND ? 0 : rc;
    path_split(slice_str(n->path), &above, &name);
    e = mapped__entry_find(&all, name);
    ops[count++] = (struct coordination_op){.kind = COORDINATION_DELETE,
                                            .path = n->at.marker,
                                            .version = COORDINATION_ANY,
                                            .of_session = true};
    if (e && e->marker_count <= 1) {
        ops[count++] = (struct coordination_op){.kind = COORDINATION_DELETE,
                                                .path = n->record,
                                                .version = stat.version};
        ops[count++] = (struct coordination_op){.kind = COORDINATION_DELETE,
                                                .path = n->at.lock,
                                                .version = COORDINATION_ANY};
        ops[count++] = (struct coordination_op){.kind = COORDINATION_SET,
                                                .path = n->at.above_children,
                                                .version = COORDINATION_ANY};
        count += touch_above(&n->at, ops + count);
    }
    mapped__entries_close(&all);
    return mapped__commit(m, ops, count, NULL, err);
}

/* The end of a handle, in a fiber of its own: the caller's may have been
 * cancelled. */
struct closing {
    struct mapped_handle *handle;
    uint64_t until_ns;
};

static void close_handle(void *arg)
{
    const struct closing *c = arg;
    struct mapped_handle *h = c->handle;
    struct mapped_node *n = h->node;
    struct leaving l = {n};
    bool is_last = LIST_NEXT(h, link) == NULL && LIST_FIRST(&n->handles) == h;

    (void)fiber_set_deadline(c->until_ns);
    mapped__let_lock(h);
    if (!is_last)
        return;
    mapped__uncache(n);
    if (n->is_ephemeral && !n->gone) {
        n->leaving = true;
        (void)!mapped__try(n->session, leave_try, &l, true, NULL);
    }
}

void mapped__close(struct chubby_handle *base)
{
    struct mapped_handle *h = mapped__handle(base);
    struct mapped_node *n = h->node;
    struct mapped *m = n->session;
    bool is_lock = h->holding != CHUBBY_FREE || h->lock_doubt;
    struct closing c = {h, fiber_deadline()};

    PRE(h->node->refs > 0); /* INV-4 */
    if (m->state != MAPPED_EXPIRED &&
        (is_lock || n->registered || n->is_ephemeral)) {
        if (fiber_check(NULL) == ERR_CANCELLED)
            c.until_ns = mapped__hasty_ns(m);
        fiber_join(fiber_start(loop_self(), "lock-close", close_handle, &c));
    }
    LIST_REMOVE(h, link);
    mem_free(h->base.path);
    mem_free(h);
    mapped__node_unref(n);
}

/* --- removing ------------------------------------------------------------ */

/* A directory with children stays. */
static int check_children(struct mapped_node *n, struct err *err)
{
    struct mapped *m = n->session;
    struct mapped_entries all;
    size_t count = 0;
    size_t swept = 0;
    int rc = mapped__entries(m, n->at.children, 0, &all, err);

    PRE(n->refs > 0); /* INV-4 */
    if (rc)
        return rc == ERR_NOTFOUND ? MAPPED_AGAIN : rc;
    for (size_t i = 0; i < all.count; i++) {
        struct buf path = BUF_INIT;
        if (mapped__entry_is_there(&all.at[i])) {
            count++;
            continue;
        }
        buf_printf(&path, "%s/%s", n->path, all.at[i].name);
        mapped__sweep(m, buf_slice(&path));
        buf_close(&path);
        swept++;
    }
    mapped__entries_close(&all);
    if (count > 0)
        return err_set(err, ERR_BUSY, "the directory has %zu children", count);
    return swept ? MAPPED_AGAIN : 0;
}

/* Take the values of the sessions that have it open along. */
static int put_markers(struct mapped_node *n,
                       struct coordination_op *ops,
                       size_t *count,
                       struct mapped_entries *all,
                       char **paths,
                       struct err *err)
{
    size_t stem = strlen(n->at.record) + 2; /* "%o" */
    int rc = mapped__entries(n->session, n->at.above_children, 0, all, err);
    size_t found = 0;

    PRE(n->refs > 0); /* INV-4 */
    if (rc)
        return rc == ERR_NOTFOUND ? MAPPED_AGAIN : rc;
    for (size_t i = 0; i < all->marker_count; i++) {
        struct buf path = BUF_INIT;
        buf_printf(&path, "%s/%s", n->at.above_children, all->markers[i]);
        if (strncmp(buf_cstr(&path), n->at.marker, stem) != 0) {
            buf_close(&path);
            continue;
        }
        if (found == MARKERS_MAX) {
            buf_close(&path);
            return err_set(err, ERR_EXHAUSTED,
                           "more than %d sessions have it open", MARKERS_MAX);
        }
        paths[found] = buf_take(&path);
        ops[(*count)++] = (struct coordination_op){.kind = COORDINATION_DELETE,
                                                   .path = paths[found++],
                                                   .version = COORDINATION_ANY,
                                                   .of_session = true};
    }
    return 0;
}

static int commit_removal(struct mapped_node *n,
                          const struct mapped_look *l,
                          int64_t lock_version,
                          struct err *err)
{
    struct coordination_op ops[MAPPED_OPS_MAX];
    struct mapped_entries all = {.count = 0};
    char *paths[MARKERS_MAX] = {NULL};
    size_t count = 0;
    int rc = 0;

    PRE(n->refs > 0); /* INV-4 */
    ops[count++] = (struct coordination_op){.kind = COORDINATION_DELETE,
                                            .path = n->record,
                                            .version = l->stat.version};
    ops[count++] = (struct coordination_op){.kind = COORDINATION_DELETE,
                                            .path = n->at.lock,
                                            .version = lock_version};
    ops[count++] = (struct coordination_op){.kind = COORDINATION_SET,
                                            .path = n->at.above_children,
                                            .version = l->above_version};
    count += touch_above(&n->at, ops + count);
    if (n->is_directory)
        ops[count++] = (struct coordination_op){.kind = COORDINATION_DELETE,
                                                .path = n->at.children,
                                                .version = COORDINATION_ANY};
    if (n->is_ephemeral)
        rc = put_markers(n, ops, &count, &all, paths, err);
    if (!rc)
        rc = mapped__commit(n->session, ops, count, NULL, err);
    for (size_t i = 0; i < MARKERS_MAX; i++)
        mem_free(paths[i]);
    mapped__entries_close(&all);
    return rc;
}

static int remove_try(void *arg, bool fresh, struct err *err)
{
    struct mapped_node *n = arg;
    struct lock_state_record state;
    struct mapped_look l;
    struct arena a;
    int64_t lock_version = 0;
    int rc;

    arena_init(&a);
    rc = mapped__drain(n, &a, &state, &lock_version, err);
    if (!rc) {
        rc = mapped__look(n, fresh ? COORDINATION_FRESH : 0, &l, err);
        if (!rc && n->is_directory)
            rc = check_children(n, err);
        if (!rc)
            rc = commit_removal(n, &l, lock_version, err);
        mapped__look_close(&l);
    }
    arena_close(&a);
    return rc;
}

int mapped__remove(struct chubby_handle *base, struct err *err)
{
    struct mapped_handle *h = mapped__handle(base);
    struct mapped_node *n = h->node;
    int rc;

    PRE(h->node->refs > 0); /* INV-4 */
    if (!(h->flags & CHUBBY_WRITE))
        return err_set(err, ERR_DENIED, "%s: not opened for writing", n->path);
    if (!n->at.above_children ||
        (n->is_directory && strcmp(n->path, "/acl") == 0))
        return err_set(err, ERR_INVALID, "%s: this directory always is",
                       n->path);
    n->refs++;
    n->writing++;
    rc = mapped__try(n->session, remove_try, n, false, err);
    if (rc)
        mapped__drained(n);
    else
        mapped__soil(n);
    n->writing--;
    mapped__node_unref(n);
    if (rc)
        err_wrap(err, "%s", h->base.path);
    return rc;
}
