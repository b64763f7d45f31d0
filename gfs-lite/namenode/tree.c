/* Walks over trees of files, and settings for all files of one. Walks need no
 * stack: the next inode is found from the last one, or, between commands, from
 * its path.
 */
#include "base/core/buf.h"
#include "base/core/panic.h"
#include "gfs-lite/namenode/namespace.h"
#include "gfs-lite/namenode/path.h"

/* The next inode in prefix order that is not below @n. */
static struct inode *next_beside(const struct inode *top, const struct inode *n)
{
    PRE(names_is_below(n, top));
    while (n != top) {
        struct inode *next =
            inode_entries_after(n->parent->u.directory->entries, inode_name(n));
        if (next)
            return next;
        n = n->parent;
    }
    return NULL;
}

struct inode *names_next(const struct inode *top, const struct inode *n)
{
    if (n->is_directory && n->u.directory->entries)
        return inode_entries_first(n->u.directory->entries);
    return next_beside(top, n);
}

struct inode *names_next_after(const struct names *ns,
                               const struct inode *top,
                               struct slice path)
{
    const struct inode *n = ns->root;
    struct inode *next = NULL;
    struct slice part;
    while ((part = gfs_path_next(&path)).len) {
        struct inode *child =
            n->is_directory ? inode_entries_find(n->u.directory->entries, part)
                            : NULL;
        if (!child)
            break;
        n = child;
    }
    if (!names_is_below(n, top))
        return NULL;
    if (part.len == 0)
        return names_next(top, n);
    if (n->is_directory)
        next = inode_entries_after(n->u.directory->entries, part);
    return next ? next : next_beside(top, n);
}

bool names_can_be_found(const struct inode *n)
{
    struct buf path = BUF_INIT;
    bool good;
    inode_put_path(n, &path);
    good = path.len > 0 && gfs_path_check(buf_slice(&path), NULL) == 0;
    buf_close(&path);
    return good;
}

/* Only open files have one; of several it is the file with the least number, so
 * that all members of a cell choose the same. */
struct inode *names_find_unsealed(const struct names *ns,
                                  const struct inode *top)
{
    struct inode *found = NULL;
    const struct open_file *o;
    size_t at = 0;
    while ((o = id_map_next(&ns->open_files, &at))) {
        struct inode *n = id_map_get(&ns->inodes, o->id);
        INVARIANT(n); /* An open file is not freed. */
        const struct chunk *last = inode_last_chunk(n);
        if (last && !last->sealed && (!found || n->id < found->id) &&
            names_is_below(n, top))
            found = n;
    }
    return found;
}

static void set_replication(struct inode *n, uint8_t replication)
{
    PRE(!n->is_directory);
    PRE(replication > 0);
    PRE(replication <= GFS_REPLICAS_MAX);
    n->replication = replication;
    for (uint32_t i = 0; i < n->chunk_count; i++) {
        struct chunk *c = inode_chunk(n, i);
        if (c->refs == 1 || replication > c->replication)
            c->replication = replication;
    }
}

int names_set_replication(struct names *ns,
                          struct slice path,
                          uint8_t replication,
                          struct slice after,
                          uint64_t most,
                          const struct inode **last,
                          struct err *err)
{
    struct inode *top;
    struct inode *n;
    uint64_t done = 0;
    PRE(most > 0);
    int rc = names_find(ns, path, &top, err);
    *last = NULL;
    if (rc == 0)
        rc = names_check_all_still(ns, top, err);
    if (rc)
        return rc;
    n = after.len ? names_next_after(ns, top, after) : top;
    for (; n && (done < most || !names_can_be_found(*last));
         n = names_next(top, n)) {
        if (!n->is_directory)
            set_replication(n, replication);
        done += names_work(n);
        *last = n;
    }
    if (!n)
        *last = NULL;
    return 0;
}

int names_set_quota(struct names *ns,
                    struct slice path,
                    uint64_t entries,
                    uint64_t bytes,
                    struct err *err)
{
    struct inode *n;
    int rc = names_find(ns, path, &n, err);
    if (rc)
        return rc;
    if (!n->is_directory)
        return err_set(err, ERR_INVALID, "/%.*s is not a directory",
                       SLICE_ARG(path));
    n->u.directory->entry_quota = entries;
    n->u.directory->byte_quota = bytes;
    return 0;
}
