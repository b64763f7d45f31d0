/* Removal: small things at once, trees little by little (GFS 4.4, lazy garbage
 * collection).
 *
 * A tree leaves the names in one step, whatever its size, and waits below
 * ns->doomed, where no path leads and no number is found (names_by_id()). Later
 * commands free it in steps of bounded size, so that none delays others.
 */
#include <stdio.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "gfs-lite/namenode/namespace.h"
#include "gfs-lite/namenode/path.h"

/* --- freeing ------------------------------------------------------------- */

static void forget_open_file(struct names *ns, uint64_t id)
{
    struct open_file *o = id_map_get(&ns->open_files, id);
    if (o)
        names_drop_ahead(ns, o);
}

static void forget_item(struct id_map *m, uint64_t id)
{
    void *item = id_map_get(m, id);
    if (!item)
        return;
    id_map_remove(m, id);
    mem_free(item);
}

/* Free one inode that is in no directory and has no entries. */
static void removal_release(struct names *ns, struct inode *n)
{
    while (!n->is_directory && n->chunk_count) {
        struct chunk *c = inode_last_chunk(n);
        inode_drop_chunk(n);
        chunk_map_unref(&ns->chunks, c);
    }
    forget_open_file(ns, n->id);
    forget_item(&ns->open_files, n->id);
    forget_item(&ns->locks, n->id);
    if (id_map_get(&ns->inodes, n->id) == n)
        grants_forget(&ns->grants, n->id);
    owners_give(&ns->owners, n, 0);
    id_map_remove(&ns->inodes, n->id);
    INVARIANT(!id_map_get(&ns->open_files, n->id));
    inode_free(n);
}

/* Iterative, so that no depth overflows the stack. */
void names_destroy(struct names *ns, struct inode *top)
{
    struct inode *n = top;
    bool done = false;
    PRE(!top->parent);
    while (!done) {
        struct inode *up = n->parent;
        if (n->is_directory && n->u.directory->entries) {
            n = n->u.directory->entries;
            continue;
        }
        done = n == top;
        if (!done)
            inode_entries_remove(&up->u.directory->entries, n);
        removal_release(ns, n);
        n = up;
    }
}

/* --- the doomed ---------------------------------------------------------- */

/* Named by its number, which is unique among the doomed. */
void names_doom(struct names *ns, struct inode *n)
{
    char name[24];
    PRE(!n->parent);
    snprintf(name, sizeof(name), "%llu", (unsigned long long)n->id);
    inode_rename(n, slice_str(name));
    names_attach(ns, ns->doomed, n);
}

void names_dispose(struct names *ns, struct inode *n)
{
    PRE(!n->parent);
    bool is_small = n->is_directory ? !n->u.directory->entries
                                    : n->chunk_count <= NAMES_STEP_MAX;
    if (is_small)
        names_destroy(ns, n);
    else
        names_doom(ns, n);
}

/* An inode without entries in the tree @n. */
static struct inode *find_leaf(struct inode *n)
{
    while (n->is_directory && n->u.directory->entries)
        n = n->u.directory->entries;
    return n;
}

/* Drop at most @most chunks of a file; returns how many. */
static unsigned
removal_shorten(struct names *ns, struct inode *file, unsigned most)
{
    struct weight before = names_weigh(file);
    unsigned count = 0;
    for (; count < most && file->chunk_count; count++) {
        struct chunk *c = inode_last_chunk(file);
        inode_drop_chunk(file);
        chunk_map_unref(&ns->chunks, c);
    }
    names_take_weight(file->parent, before);
    POST(count <= most);
    names_add_weight(file->parent, names_weigh(file));
    return count;
}

/* One of the doomed, but not the copy that is being made. */
static struct inode *find_doomed(const struct names *ns)
{
    struct inode *n = ns->doomed->u.directory->entries;
    if (n && n == ns->copy.top)
        n = n->left ? n->left : n->right;
    POST(!n || n != ns->copy.top); /* INV-5 */
    return n;
}

bool names_has_doomed(const struct names *ns)
{
    return find_doomed(ns) != NULL;
}

void names_reap(struct names *ns)
{
    unsigned left = NAMES_STEP_MAX;
    struct inode *top;
    while (left && (top = find_doomed(ns))) {
        struct inode *n = find_leaf(top);
        if (!n->is_directory && n->chunk_count > 1) {
            left -= removal_shorten(ns, n, left);
            continue;
        }
        INVARIANT(n->parent); /* INV-6 */
        names_detach(n);
        names_destroy(ns, n);
        left--;
    }
}

/* --- removing ------------------------------------------------------------ */

static void remove_inode(struct names *ns, struct inode *n, uint64_t time_us)
{
    PRE(n != ns->root);
    PRE(n->parent);
    n->parent->modified_us = time_us;
    names_detach(n);
    names_dispose(ns, n);
}

/* Replace the root by an empty one; the old one is doomed with all below it. */
static void remove_all(struct names *ns, uint64_t time_us)
{
    struct inode *old = ns->root;
    struct inode *root = inode_new(old->id, SLICE_EMPTY, true, time_us);
    root->u.directory->entry_quota = old->u.directory->entry_quota;
    root->u.directory->byte_quota = old->u.directory->byte_quota;
    root->mode = old->mode;
    owners_give(&ns->owners, root, old->owner);
    id_map_remove(&ns->inodes, old->id);
    id_map_put(&ns->inodes, root);
    ns->root = root;
    old->id = ns->next_id++;
    POST(ns->root->id != old->id);
    names_doom(ns, old);
}

int names_remove(struct names *ns,
                 struct slice path,
                 bool tree,
                 uint64_t time_us,
                 struct err *err)
{
    struct inode *n;
    int rc = names_find(ns, path, &n, err);
    if (rc)
        return rc;
    if (n->is_directory && !tree)
        return err_set(err, ERR_INVALID, "/%.*s: is a directory",
                       SLICE_ARG(path));
    rc = names_check_all_still(ns, n, err);
    if (rc)
        return rc;
    if (n != ns->root)
        remove_inode(ns, n, time_us);
    else if (n->u.directory->entries)
        remove_all(ns, time_us);
    return 0;
}

/* --- the trash ----------------------------------------------------------- */

static struct inode *trash_of(const struct names *ns)
{
    struct inode *t = inode_entries_find(ns->root->u.directory->entries,
                                         SLICE_LIT(NAMESPACE_TRASH));
    return t && t->is_directory ? t : NULL;
}

/* Files below it may be deeper than paths allow; they return with it. */
static int
check_in_trash(struct slice path, struct slice there, struct err *err)
{
    if (gfs_path_check(there, NULL) == 0)
        return 0;
    err_set(err, ERR_INVALID, "/%.*s: too deep or too long for the trash",
            SLICE_ARG(slice_sub(path, 0, 80)));
    err_hint(err, "--skip-trash removes it for good");
    return ERR_INVALID;
}

int names_discard(struct names *ns,
                  struct slice path,
                  uint64_t time_us,
                  struct err *err)
{
    struct buf to = BUF_INIT;
    struct inode *n;
    struct inode *parent;
    struct slice above;
    struct slice name;
    int rc = names_find(ns, path, &n, err);
    if (rc)
        return rc;
    if (n == ns->root || (trash_of(ns) && names_is_below(n, trash_of(ns))))
        return names_remove(ns, path, true, time_us, err);
    rc = names_check_still(ns, n->parent, err);
    if (rc)
        return rc;
    /* The number makes removals at one instant distinct. */
    buf_printf(&to, "%s/%020llu-%llu/", NAMESPACE_TRASH,
               (unsigned long long)time_us, (unsigned long long)n->id);
    name = gfs_path_last(path, &above);
    buf_append_slice(&to, above);
    buf_append_slice(&to, name);
    rc = check_in_trash(path, buf_slice(&to), err);
    gfs_path_last(buf_slice(&to), &above);
    if (rc == 0)
        rc = names_mkdirs(ns, above, time_us, &parent, err);
    if (rc == 0)
        names_move(ns, n, parent, inode_name(n), time_us);
    buf_close(&to);
    return rc;
}

/* The oldest thing in the trash, if it is from before @before_us and not being
 * copied. */
static struct inode *removal_expired(const struct names *ns, uint64_t before_us)
{
    const struct inode *trash = trash_of(ns);
    struct inode *n =
        trash ? inode_entries_first(trash->u.directory->entries) : NULL;
    char limit[32];
    snprintf(limit, sizeof(limit), "%020llu", (unsigned long long)before_us);
    return n && slice_cmp(inode_name(n), slice_str(limit)) < 0 &&
                   names_check_all_still(ns, n, NULL) == 0
               ? n
               : NULL;
}

bool names_trash_is_due(const struct names *ns, uint64_t before_us)
{
    return removal_expired(ns, before_us) != NULL;
}

void names_empty_trash(struct names *ns, uint64_t before_us)
{
    struct inode *n;
    for (unsigned i = 0;
         i < NAMES_STEP_MAX && (n = removal_expired(ns, before_us)); i++)
        remove_inode(ns, n, before_us);
}
