/* Copies that share chunks, and what is set for a tree of files at once. */
#include "base/core/panic.h"
#include "gfs-lite/namenode/namespace.h"
#include "gfs-lite/namenode/path.h"

struct inode *names_next(const struct inode *top, const struct inode *n)
{
    if (n->is_directory && n->u.directory->entries)
        return inode_entries_first(n->u.directory->entries);
    while (n != top) {
        struct inode *next =
            inode_entries_after(n->parent->u.directory->entries, inode_name(n));
        if (next)
            return next;
        n = n->parent;
    }
    return NULL;
}

struct inode *names_find_unsealed(struct inode *top)
{
    for (struct inode *n = top; n; n = names_next(top, n)) {
        const struct chunk *last = n->is_directory ? NULL : inode_last_chunk(n);
        if (last && !last->sealed)
            return n;
    }
    return NULL;
}

/* A copy of @n alone, in no directory. */
static struct inode *
copy_one(struct names *ns, const struct inode *n, struct slice name)
{
    struct inode *copy =
        inode_new(ns->next_id++, name, n->is_directory, n->modified_us);
    copy->replication = n->replication;
    for (uint32_t i = 0; !n->is_directory && i < n->chunk_count; i++) {
        struct chunk *c = inode_chunk(n, i);
        c->refs++;
        inode_add_chunk(copy, c);
    }
    return copy;
}

/* Copy the tree @top below @parent. The walk over the source leads; `into` is
 * the copy of the directory it is in. */
static void copy_tree(struct names *ns,
                      struct inode *top,
                      struct inode *parent,
                      struct slice name)
{
    struct inode *into = copy_one(ns, top, name);
    struct inode *at = top;
    struct inode *n;
    names_attach(ns, parent, into);
    while ((n = names_next(top, at))) {
        struct inode *copy = copy_one(ns, n, inode_name(n));
        struct inode *dir = at;
        /* From `at` up to the directory that n is in. */
        while (dir != n->parent) {
            if (dir->is_directory)
                into = into->parent;
            dir = dir->parent;
        }
        names_attach(ns, into, copy);
        if (n->is_directory)
            into = copy;
        at = n;
    }
}

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
    *name = gfs_path_last(to, &above);
    rc = names_mkdirs(ns, above, time_us, parent, err);
    for (const struct inode *n = *parent; rc == 0 && n; n = n->parent)
        if (n == source)
            rc = err_set(err, ERR_INVALID, "/%.*s is inside of what it copies",
                         SLICE_ARG(to));
    return rc;
}

int names_snapshot(struct names *ns,
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
    open = names_find_unsealed(n);
    if (open) {
        *busy = open->id;
        err_set(err, ERR_BUSY, "it is being written");
        inode_wrap_error(open, err);
        return ERR_BUSY;
    }
    rc = find_place(ns, n, to, time_us, &parent, &name, err);
    if (rc == 0)
        rc = names_check_room(parent, n, err);
    if (rc == 0)
        copy_tree(ns, n, parent, name);
    return rc;
}

static void set_replication(struct inode *n, uint8_t replication)
{
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
                          struct err *err)
{
    struct inode *top;
    int rc = names_find(ns, path, &top, err);
    for (struct inode *n = top; n; n = names_next(top, n))
        if (!n->is_directory)
            set_replication(n, replication);
    return rc;
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

/* --- invariants -------------------------------------------------------- */

static void check_directory(const struct inode *n)
{
    struct directory sum = {.entries = NULL};
    for (struct inode *e = inode_entries_first(n->u.directory->entries); e;
         e = inode_entries_after(n->u.directory->entries, inode_name(e))) {
        INVARIANT(e->parent == n);
        sum.entry_count++;
        sum.file_count += !e->is_directory;
        sum.bytes += e->is_directory ? e->u.directory->bytes : inode_bytes(e);
        sum.entry_count += e->is_directory ? e->u.directory->entry_count : 0;
        sum.file_count += e->is_directory ? e->u.directory->file_count : 0;
    }
    INVARIANT(sum.entry_count == n->u.directory->entry_count); /* I3 */
    INVARIANT(sum.file_count == n->u.directory->file_count);
    INVARIANT(sum.bytes == n->u.directory->bytes);
}

/* Check what is below and with @top, but not @except; count it. */
static void check_tree(const struct names *ns,
                       const struct inode *top,
                       const struct inode *except,
                       uint64_t *inodes,
                       uint64_t *refs)
{
    for (const struct inode *n = top; n; n = names_next(top, n)) {
        if (n->is_directory)
            check_directory(n);
        if (n == except)
            continue;
        (*inodes)++;
        INVARIANT(id_map_get(&ns->inodes, n->id) == n);
        for (uint32_t i = 0; !n->is_directory && i < n->chunk_count; i++) {
            const struct chunk *c = inode_chunk(n, i);
            INVARIANT(chunk_map_get(&ns->chunks, c->handle) == c);
            INVARIANT(c->sealed || (i == n->chunk_count - 1 && c->refs == 1 &&
                                    id_map_get(&ns->open_files, n->id)));
            (*refs)++;
        }
    }
}

void names_check(const struct names *ns)
{
    uint64_t inodes = 0;
    uint64_t refs = 0;
    size_t at = 0;
    const struct open_file *o;
    const struct chunk *c;
    check_tree(ns, ns->root, NULL, &inodes, &refs);
    check_tree(ns, ns->doomed, ns->doomed, &inodes, &refs);
    INVARIANT(inodes == ns->inodes.count);
    while ((o = id_map_next(&ns->open_files, &at)))
        refs += o->next != NULL;
    at = 0;
    while ((c = id_map_next(&ns->chunks.by_handle, &at)))
        refs -= c->refs; /* I1 */
    INVARIANT(refs == 0);
}
