/* Opening, writing and deleting nodes. Every change is checked whole before its
 * first step, so that a command that is refused changes nothing.
 */
#include <inttypes.h>

#include "base/core/panic.h"
#include "chubby-lite/cell_state.h"
#include "chubby-lite/lock_path.h"

void cell__notify(struct cell *c, struct node *n, enum chubby_event event)
{
    struct handle *h;

    PRE(event != 0);
    if (!c->on_event)
        return;
    LIST_FOREACH(h, &n->handles, of_node)
        if ((h->events & (unsigned)event) || event == CHUBBY_EVENT_INVALID)
            c->on_event(c->ctx, h, event);
}

void cell__notify_children(struct cell *c, struct node *n)
{
    PRE(!n || n->is_directory); /* INV-2 of node.h */
    if (n)
        cell__notify(c, n, CHUBBY_EVENT_CHILDREN);
}

/* --- opening ------------------------------------------------------------- */

static const unsigned access_of[ACL_KINDS] = {CHUBBY_READ, CHUBBY_WRITE,
                                              CHUBBY_CHANGE_ACL};

/* The list of kind @kind that a new child of @above would have. */
static struct slice
acl_of_new(const struct execution *x, const struct node *above, size_t kind)
{
    return x->command->has_acl[kind] ? x->command->acl[kind]
                                     : slice_str(above->acl[kind]);
}

/* May the session create a node below @above and open it as it asks? */
static int may_create(struct execution *x, const struct node *above)
{
    const char *who = x->session->principal;
    size_t i;
    int rc;

    PRE(above->is_directory);
    rc = cell__allowed(x->cell, who, slice_str(above->acl[ACL_WRITE]), x->err);
    for (i = 0; i < ACL_KINDS && !rc; i++)
        if (x->command->flags & access_of[i])
            rc = cell__allowed(x->cell, who, acl_of_new(x, above, i), x->err);
    return rc;
}

static int check_room(struct execution *x)
{
    struct cell *c = x->cell;

    PRE(c->node_count > 0);
    if (c->node_count >= CELL_NODES_MAX)
        return err_set(x->err, ERR_EXHAUSTED, "the cell has %" PRIu64 " nodes",
                       c->node_count);
    if (x->command->contents.len > CHUBBY_CONTENTS_BYTES_MAX)
        return err_set(x->err, ERR_TOOBIG, "a file has at most %zu bytes",
                       CHUBBY_CONTENTS_BYTES_MAX);
    if (c->contents_bytes + x->command->contents.len > CELL_CONTENTS_BYTES_MAX)
        return err_set(x->err, ERR_EXHAUSTED,
                       "the cell's files have %" PRIu64 " bytes",
                       c->contents_bytes);
    return 0;
}

static int cell_node_create(struct execution *x, struct node **out)
{
    struct slice above_path;
    struct slice name;
    struct node *above;
    struct node *n;
    bool is_directory = x->command->flags & CHUBBY_DIRECTORY;
    size_t i;
    int rc;

    path_split(x->command->path, &above_path, &name);
    above = node_find(x->cell->root, above_path);
    if (!above)
        return err_set(x->err, ERR_NOTFOUND, "%.*s: no such directory",
                       SLICE_ARG(above_path));
    if (!above->is_directory)
        return err_set(x->err, ERR_INVALID, "%.*s is a file",
                       SLICE_ARG(above_path));
    if (is_directory && x->command->contents.len > 0)
        return err_set(x->err, ERR_INVALID, "a directory has no contents");
    rc = check_room(x);
    if (!rc)
        rc = may_create(x, above);
    if (rc)
        return rc;
    n = node_add(above, name, is_directory);
    n->is_ephemeral = x->command->flags & CHUBBY_EPHEMERAL;
    n->instance = ++x->cell->instance_count;
    buf_append_slice(&n->contents, x->command->contents);
    /* First contents count as a write, so that a later write can demand that
     * they are still there. */
    n->content_generation = n->contents.len > 0;
    for (i = 0; i < ACL_KINDS; i++)
        node_set_acl(n, (enum acl_kind)i, acl_of_new(x, above, i));
    x->cell->node_count++;
    x->cell->contents_bytes += n->contents.len;
    INVARIANT(x->cell->node_count <= CELL_NODES_MAX);              /* INV-2 */
    INVARIANT(x->cell->contents_bytes <= CELL_CONTENTS_BYTES_MAX); /* INV-2 */
    node_check(above);
    above->content_generation++;
    cell__notify_children(x->cell, above);
    POST(n->parent == above);
    POST(n->instance > 0);
    x->answer->created = true;
    *out = n;
    return 0;
}

/* May the session open @n, which exists, as it asks? */
static int may_open(struct execution *x, const struct node *n)
{
    unsigned flags = x->command->flags;
    size_t i;
    int rc = 0;
    PRE(x->session);

    if (flags & CHUBBY_NEW)
        return err_set(x->err, ERR_EXISTS, "exists already");
    if ((flags & CHUBBY_DIRECTORY) && !n->is_directory)
        return err_set(x->err, ERR_INVALID, "it is a file");
    for (i = 0; i < ACL_KINDS && !rc; i++)
        if (flags & access_of[i])
            rc = cell__allowed(x->cell, x->session->principal,
                               slice_str(n->acl[i]), x->err);
    return rc;
}

static int check_open(struct execution *x)
{
    int rc = path_check(x->command->path, x->err);
    size_t i;
    PRE(x->session);

    if (rc)
        return rc;
    if (x->command->lock_delay_ms > CHUBBY_LOCK_DELAY_MS_MAX)
        return err_set(x->err, ERR_INVALID, "a lock-delay is at most %d ms",
                       CHUBBY_LOCK_DELAY_MS_MAX);
    if (x->session->handle_count >= SESSION_HANDLES_MAX)
        return err_set(x->err, ERR_EXHAUSTED,
                       "a session has at most %d handles", SESSION_HANDLES_MAX);
    for (i = 0; i < ACL_KINDS; i++)
        if (x->command->acl[i].len > CHUBBY_NAME_BYTES_MAX)
            return err_set(x->err, ERR_INVALID, "the name of a list is long");
    return 0;
}

int cell__open(struct execution *x)
{
    const struct chubby_command *c = x->command;
    struct node *n = NULL;
    struct handle *h;
    int rc;

    PRE(x->session);
    rc = check_open(x);
    if (rc)
        return rc;
    n = node_find(x->cell->root, c->path);
    if (n)
        rc = may_open(x, n);
    else if (c->flags & CHUBBY_CREATE)
        rc = cell_node_create(x, &n);
    else
        rc = err_set(x->err, ERR_NOTFOUND, "no such node");
    if (rc)
        return rc;
    h = handle_add(&x->cell->table, ++x->cell->handle_count, x->session, n);
    h->flags = c->flags & (CHUBBY_READ | CHUBBY_WRITE | CHUBBY_CHANGE_ACL |
                           CHUBBY_UNCACHED);
    h->events = c->events;
    h->lock_delay_ms = c->lock_delay_ms;
    POST(h->holding == CHUBBY_FREE);
    POST(h->node == n);
    x->answer->handle = h->id;
    node_stat(n, &x->answer->stat);
    return 0;
}

/* --- closing and deleting ------------------------------------------------ */

/* Remove leaf @n; its handles stay, without a node. */
static void cell_node_remove(struct cell *c, struct node *n)
{
    struct node *above = n->parent;
    struct handle *h;

    PRE(above);
    PRE(n->child_count == 0);
    INVARIANT(c->node_count > 0);                    /* INV-2 */
    INVARIANT(c->contents_bytes >= n->contents.len); /* INV-2 */
    cell__notify(c, n, CHUBBY_EVENT_INVALID);
    while ((h = LIST_FIRST(&n->handles)))
        handle_orphan(h);
    c->node_count--;
    c->contents_bytes -= n->contents.len;
    node_remove(n);
    above->content_generation++;
    cell__notify_children(c, above);
}

/* Remove @n and the directories above it, up to the first that is not ephemeral
 * or is in use. */
static void cell_node_remove_unused(struct cell *c, struct node *n)
{
    struct node *above;

    for (;
         n && n->is_ephemeral && n->child_count == 0 && LIST_EMPTY(&n->handles);
         n = above) {
        INVARIANT(n != c->root);
        above = n->parent;
        cell_node_remove(c, n);
    }
}

void cell__close_handle(struct cell *c, struct handle *h, bool failed)
{
    struct node *n = h->node;

    cell__unlock(c, h, failed);
    INVARIANT(h->holding == CHUBBY_FREE);
    handle_remove(&c->table, h);
    cell_node_remove_unused(c, n);
}

int cell__close(struct execution *x)
{
    struct handle *h = handle_find(&x->cell->table, x->command->handle);

    if (!h || h->session != x->session)
        return err_set(x->err, ERR_INVALID, "no such handle");
    INVARIANT(h->id == x->command->handle);
    cell__close_handle(x->cell, h, false);
    return 0;
}

int cell__delete(struct execution *x)
{
    struct handle *h;
    struct node *above;
    int rc;

    rc = cell_handle(x->cell, x->command->session, x->command->handle,
                     CHUBBY_WRITE, &h, x->err);
    if (rc)
        return rc;
    above = h->node->parent;
    if (!above || (!above->parent && h->node->is_directory &&
                   strcmp(h->node->name, "acl") == 0))
        return err_set(x->err, ERR_INVALID, "this directory always is");
    if (h->node->child_count > 0)
        return err_set(x->err, ERR_BUSY, "the directory has %zu children",
                       h->node->child_count);
    cell_node_remove(x->cell, h->node);
    POST(!h->node);
    cell_node_remove_unused(x->cell, above);
    return 0;
}

/* --- changing ------------------------------------------------------------ */

int cell__write(struct execution *x)
{
    const struct chubby_command *c = x->command;
    struct handle *h;
    struct node *n;
    int rc;

    rc = cell_handle(x->cell, c->session, c->handle, CHUBBY_WRITE, &h, x->err);
    if (!rc)
        rc = check_room(x);
    if (rc)
        return rc;
    n = h->node;
    node_stat(n, &x->answer->stat);
    if (n->is_directory)
        return err_set(x->err, ERR_INVALID, "a directory has no contents");
    if (c->has_generation && c->generation != n->content_generation)
        return err_set(x->err, ERR_ABORTED,
                       "the content generation is %" PRIu64 ", not %" PRIu64,
                       n->content_generation, c->generation);
    INVARIANT(x->cell->contents_bytes >= n->contents.len); /* INV-2 */
    x->cell->contents_bytes -= n->contents.len;
    buf_clear(&n->contents);
    buf_append_slice(&n->contents, c->contents);
    x->cell->contents_bytes += n->contents.len;
    n->content_generation++;
    cell__notify(x->cell, n, CHUBBY_EVENT_CONTENT);
    cell__notify_children(x->cell, n->parent);
    node_stat(n, &x->answer->stat);
    return 0;
}

int cell__set_acl(struct execution *x)
{
    const struct chubby_command *c = x->command;
    struct handle *h;
    size_t i;
    int rc;

    rc = cell_handle(x->cell, c->session, c->handle, CHUBBY_CHANGE_ACL, &h,
                     x->err);
    if (rc)
        return rc;
    for (i = 0; i < ACL_KINDS; i++)
        if (c->acl[i].len > CHUBBY_NAME_BYTES_MAX)
            return err_set(x->err, ERR_INVALID, "the name of a list is long");
    for (i = 0; i < ACL_KINDS; i++)
        if (c->has_acl[i])
            node_set_acl(h->node, (enum acl_kind)i, c->acl[i]);
    INVARIANT(h->node);
    h->node->acl_generation++;
    node_stat(h->node, &x->answer->stat);
    return 0;
}
