/* Copies of trees that share chunks, made step by step (GFS 3.4, snapshot).
 *
 * Names below the source do not change until the copy is complete
 * (names_check_still()), so that a walk over them, a part in each command, sees
 * them as they were at the beginning. Writers need not wait: all chunks are
 * sealed when the copy begins, and chunks added meanwhile have greater numbers
 * and are not copied.
 */
#include "base/core/panic.h"
#include "gfs-lite/namenode/namespace.h"
#include "gfs-lite/namenode/path.h"

/* --- keeping still ------------------------------------------------------- */

static int is_copied(const struct names *ns, struct err *err)
{
    PRE(names_is_copying(ns));
    err_set(err, ERR_UNAVAILABLE, "a snapshot of it is being made");
    inode_wrap_error(ns->copy.source, err);
    return ERR_UNAVAILABLE;
}

int names_check_still(const struct names *ns,
                      const struct inode *n,
                      struct err *err)
{
    if (names_is_copying(ns) && names_is_below(n, ns->copy.source))
        return is_copied(ns, err);
    return 0;
}

int names_check_all_still(const struct names *ns,
                          const struct inode *n,
                          struct err *err)
{
    if (names_is_copying(ns) && names_is_below(ns->copy.source, n))
        return is_copied(ns, err);
    return names_check_still(ns, n, err);
}

/* --- one inode ----------------------------------------------------------- */

/* A copy of @n alone, in no directory, as @n was when the copy began. */
static struct inode *copy_one(struct names *ns, const struct inode *n)
{
    const struct tree_copy *k = &ns->copy;
    struct inode *copy =
        inode_new(ns->next_id++, inode_name(n), n->is_directory,
                  MIN_OF(n->modified_us, k->time_us));
    copy->replication = n->replication;
    copy->mode = n->mode;
    owners_give(&ns->owners, copy, n->owner);
    grants_copy(&ns->grants, n, copy);
    for (uint32_t i = 0; !n->is_directory && i < n->chunk_count; i++) {
        struct chunk *c = inode_chunk(n, i);
        if (c->handle >= k->chunk_limit)
            break;
        INVARIANT(c->sealed); /* Only sealed chunks are shared. */
        c->refs++;
        inode_add_chunk(copy, c);
    }
    return copy;
}

/* --- the beginning ------------------------------------------------------- */

/* The directory for the new name @to. */
static int find_place(struct names *ns,
                      const struct inode *source,
                      struct slice to,
                      uint64_t time_us,
                      struct inode **parent,
                      struct slice *name,
                      struct err *err)
{
    struct inode *there;
    struct slice above;
    int rc = names_find(ns, to, &there, err);
    if (rc == 0)
        return err_set(err, ERR_EXISTS, "/%.*s exists", SLICE_ARG(to));
    if (rc != ERR_NOTFOUND)
        return rc;
    rc = names_check_depth(source, to, err);
    if (rc)
        return rc;
    *name = gfs_path_last(to, &above);
    rc = names_mkdirs(ns, above, time_us, parent, err);
    for (const struct inode *n = *parent; rc == 0 && n; n = n->parent)
        if (n == source)
            rc = err_set(err, ERR_INVALID, "/%.*s is inside of what it copies",
                         SLICE_ARG(to));
    return rc;
}

int names_copy_begin(struct names *ns,
                     struct slice from,
                     struct slice to,
                     uint64_t time_us,
                     uint64_t *busy,
                     struct err *err)
{
    struct inode *n;
    struct inode *open;
    struct inode *parent = NULL;
    struct slice name;
    int rc = names_find(ns, from, &n, err);
    *busy = 0;
    if (rc)
        return rc;
    if (names_is_copying(ns))
        return is_copied(ns, err);
    open = names_find_unsealed(ns, n);
    if (open) {
        *busy = open->id;
        err_set(err, ERR_BUSY, "it is being written");
        inode_wrap_error(open, err);
        return ERR_BUSY;
    }
    rc = find_place(ns, n, to, time_us, &parent, &name, err);
    if (rc == 0)
        rc = names_check_room(parent, n, err);
    if (rc)
        return rc;
    ns->copy = (struct tree_copy){.source = n,
                                  .at = n,
                                  .chunk_limit = ns->chunks.next_handle,
                                  .time_us = time_us,
                                  .to = mem_strndup(to.data, to.len)};
    ns->copy.top = copy_one(ns, n);
    ns->copy.last = ns->copy.top;
    names_doom(ns, ns->copy.top);
    POST(names_is_copying(ns));
    return 0;
}

/* --- steps --------------------------------------------------------------- */

/* The directory of the copy of @n, the next inode: from the last one copied and
 * its copy up to the directory that @n is in. */
static struct inode *place_of(const struct tree_copy *k, const struct inode *n)
{
    const struct inode *dir = k->at;
    struct inode *copy = k->last;
    for (; dir != n->parent; dir = dir->parent)
        copy = copy->parent;
    POST(copy);
    POST(copy->is_directory); /* INV-6 */
    return copy;
}

static void copy_some(struct names *ns, uint64_t most)
{
    struct tree_copy *k = &ns->copy;
    uint64_t done = 0;
    struct inode *n;
    while (done < most && (n = names_next(k->source, k->at))) {
        struct inode *copy = copy_one(ns, n);
        INVARIANT(copy->id < ns->next_id);
        names_attach(ns, place_of(k, n), copy);
        k->at = n;
        k->last = copy;
        done += names_work(n);
    }
}

/* The copy is complete: give it its name, if the name is still free. */
static int
name_snapshot_end(struct names *ns, uint64_t time_us, struct err *err)
{
    struct tree_copy k = ns->copy;
    struct inode *parent = NULL;
    struct slice name;
    int rc;
    ns->copy = (struct tree_copy){.source = NULL};
    rc =
        find_place(ns, k.source, slice_str(k.to), time_us, &parent, &name, err);
    if (rc == 0)
        rc = names_check_room(parent, k.top, err);
    if (rc == 0)
        names_move(ns, k.top, parent, name, time_us);
    mem_free(k.to);
    return rc;
}

int names_copy_step(struct names *ns,
                    uint64_t most,
                    uint64_t time_us,
                    struct err *err)
{
    const struct tree_copy *k = &ns->copy;
    PRE(names_is_copying(ns));
    PRE(most > 0);
    copy_some(ns, most);
    return names_next(k->source, k->at) ? 0
                                        : name_snapshot_end(ns, time_us, err);
}

/* --- checking ------------------------------------------------------------ */

struct inode *names_copy_last(const struct names *ns)
{
    const struct tree_copy *k = &ns->copy;
    const struct inode *n = k->source;
    struct inode *copy = k->top;
    PRE(k->source);
    PRE(k->top);
    while (n && copy && n->is_directory == copy->is_directory &&
           (n == k->source || slice_eq(inode_name(n), inode_name(copy)))) {
        if (n == k->at)
            return names_next(k->top, copy) ? NULL : copy;
        n = names_next(k->source, n);
        copy = names_next(k->top, copy);
    }
    return NULL;
}
