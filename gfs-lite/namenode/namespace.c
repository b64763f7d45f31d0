/* The tree of names: lookup, making, moving, and the counters of directories.
 * Every change detaches or attaches whole subtrees by their weights, so that a
 * rename of a million files touches only the directories above it.
 */
#include "gfs-lite/namenode/namespace.h"

#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "gfs-lite/namenode/path.h"

/* --- counting ------------------------------------------------------------ */

struct weight names_weigh(const struct inode *n)
{
    const struct directory *d = n->u.directory;
    if (!n->is_directory)
        return (struct weight){1, 1, inode_bytes(n)};
    return (struct weight){1 + d->entry_count, d->file_count, d->bytes};
}

void names_add_weight(struct inode *parent, struct weight w)
{
    for (; parent; parent = parent->parent) {
        PRE(parent->is_directory); /* INV-6 */
        parent->u.directory->entry_count += w.entries;
        parent->u.directory->file_count += w.files;
        parent->u.directory->bytes += w.bytes;
    }
}

void names_take_weight(struct inode *parent, struct weight w)
{
    PRE(parent);
    PRE(parent->u.directory->entry_count >= w.entries); /* INV-3 */
    PRE(parent->u.directory->file_count >= w.files);
    PRE(parent->u.directory->bytes >= w.bytes);
    names_add_weight(parent,
                     (struct weight){0 - w.entries, 0 - w.files, 0 - w.bytes});
}

/* May @w be added below @parent? Directories at and above @except contain it
 * already. */
static int check_quota(const struct inode *parent,
                       struct weight w,
                       const struct inode *except,
                       struct err *err)
{
    PRE(!parent || parent->is_directory);
    for (; parent && parent != except; parent = parent->parent) {
        const struct directory *d = parent->u.directory;
        int rc = 0;
        if (d->entry_quota && d->entry_count + w.entries > d->entry_quota)
            rc = err_set(err, ERR_EXHAUSTED,
                         "quota of %llu files and directories",
                         (unsigned long long)d->entry_quota);
        else if (d->byte_quota && d->bytes + w.bytes > d->byte_quota)
            rc = err_set(err, ERR_EXHAUSTED, "quota of %llu bytes",
                         (unsigned long long)d->byte_quota);
        if (rc) {
            inode_wrap_error(parent, err);
            return rc;
        }
    }
    return 0;
}

int names_check_room(const struct inode *parent,
                     const struct inode *n,
                     struct err *err)
{
    return check_quota(parent, names_weigh(n), NULL, err);
}

/* --- how deep ------------------------------------------------------------ */

static unsigned depth_of(const struct inode *n)
{
    unsigned depth = 0;
    for (; n->parent; n = n->parent)
        depth++;
    return depth;
}

int names_check_depth(const struct inode *n, struct slice to, struct err *err)
{
    unsigned depth = gfs_path_depth(to);
    unsigned below = n->is_directory ? n->u.directory->level_count : 0;
    if (depth + below <= GFS_DEPTH_MAX || depth <= depth_of(n))
        return 0;
    err_set(err, ERR_INVALID,
            "/%.*s: too deep: names below it would have %u parts",
            SLICE_ARG(slice_sub(to, 0, 80)), depth + below);
    err_hint(err, "a path has at most %d", GFS_DEPTH_MAX);
    return ERR_INVALID;
}

static void reserve_levels(struct directory *d, uint32_t count)
{
    uint32_t cap = d->level_cap;
    PRE(d->levels || d->level_cap == 0);
    if (count <= cap)
        return;
    cap = MAX_OF(count, 2 * cap);
    d->levels = mem_realloc(d->levels, cap * sizeof(*d->levels));
    memset(d->levels + d->level_cap, 0,
           (cap - d->level_cap) * sizeof(*d->levels));
    d->level_cap = cap;
    POST(d->level_cap >= count);
}

void names_count_levels(struct inode *parent, const struct inode *n, bool in)
{
    const struct directory *own = n->is_directory ? n->u.directory : NULL;
    uint32_t below = own ? own->level_count : 0;
    uint32_t one = in ? 1 : UINT32_MAX;
    for (uint32_t at = 0; parent; parent = parent->parent, at++) {
        struct directory *d = parent->u.directory;
        reserve_levels(d, at + 1 + below);
        INVARIANT(in || d->levels[at] > 0); /* INV-3 */
        d->levels[at] += one;
        for (uint32_t i = 0; i < below; i++)
            d->levels[at + 1 + i] += one * own->levels[i];
        INVARIANT(d->level_count <= d->level_cap);
        d->level_count = MAX_OF(d->level_count, at + 1 + below);
        while (d->level_count && d->levels[d->level_count - 1] == 0)
            d->level_count--;
    }
}

/* --- linking ------------------------------------------------------------- */

void names_attach(struct names *ns, struct inode *parent, struct inode *n)
{
    PRE(!n->parent);
    PRE(parent->is_directory); /* INV-6 */
    n->parent = parent;
    inode_entries_add(&parent->u.directory->entries, n);
    names_add_weight(parent, names_weigh(n));
    names_count_levels(parent, n, true);
    if (!id_map_get(&ns->inodes, n->id))
        id_map_put(&ns->inodes, n);
}

void names_detach(struct inode *n)
{
    PRE(n->parent);
    names_take_weight(n->parent, names_weigh(n));
    names_count_levels(n->parent, n, false);
    inode_entries_remove(&n->parent->u.directory->entries, n);
    n->parent = NULL;
}

static struct inode *make_entry(struct names *ns,
                                struct inode *parent,
                                struct slice name,
                                bool is_directory,
                                uint64_t time_us)
{
    struct inode *n = inode_new(ns->next_id++, name, is_directory, time_us);
    INVARIANT(n->id < ns->next_id);
    n->mode = (uint8_t)(n->mode & ~ns->maker.mask);
    owners_give(&ns->owners, n, ns->maker.owner);
    names_attach(ns, parent, n);
    parent->modified_us = time_us;
    return n;
}

/* --- life ---------------------------------------------------------------- */

void names_init(struct names *ns)
{
    *ns = (struct names){.next_id = 1};
    chunk_map_init(&ns->chunks);
    owners_init(&ns->owners);
    ns->root = inode_new(ns->next_id++, SLICE_EMPTY, true, 0);
    ns->root->mode = GFS_MODE_ROOT;
    id_map_put(&ns->inodes, ns->root);
    ns->doomed = inode_new(0, SLICE_EMPTY, true, 0);
    POST(ns->root->id == 1);
    POST(ns->doomed->id == 0);
}

void names_close(struct names *ns)
{
    mem_free(ns->copy.to);
    ns->copy = (struct tree_copy){.source = NULL};
    while (names_has_doomed(ns))
        names_reap(ns);
    inode_free(ns->doomed);
    names_destroy(ns, ns->root);
    INVARIANT(ns->inodes.count == 0);
    id_map_close(&ns->inodes);
    id_map_close_all(&ns->open_files);
    id_map_close_all(&ns->locks);
    grants_close(&ns->grants);
    owners_close(&ns->owners);
    chunk_map_close(&ns->chunks);
}

int names_make_as(struct names *ns,
                  struct slice principal,
                  uint32_t mask,
                  struct err *err)
{
    ns->maker.mask = (uint8_t)(mask & GFS_MODE_DIRECTORY);
    return owners_number(&ns->owners, principal, &ns->maker.owner, err);
}

/* --- looking ------------------------------------------------------------- */

static int not_found(struct slice path, struct err *err)
{
    return err_set(err, ERR_NOTFOUND, "/%.*s: no such file or directory",
                   SLICE_ARG(path));
}

int names_find(const struct names *ns,
               struct slice path,
               struct inode **out,
               struct err *err)
{
    struct slice rest = path;
    struct slice part;
    struct inode *n = ns->root;
    int rc = gfs_path_check(path, err);
    *out = NULL;
    if (rc)
        return rc;
    while ((part = gfs_path_next(&rest)).len) {
        n = n->is_directory ? inode_entries_find(n->u.directory->entries, part)
                            : NULL;
        if (!n)
            return not_found(path, err);
    }
    POST(n);
    *out = n;
    return 0;
}

struct inode *names_by_id(const struct names *ns, uint64_t id)
{
    struct inode *n = id_map_get(&ns->inodes, id);
    INVARIANT(!n || n->id == id);
    return n && names_is_below(n, ns->root) ? n : NULL;
}

int names_writer(const struct names *ns,
                 uint64_t id,
                 uint64_t epoch,
                 struct inode **file,
                 struct open_file **open,
                 struct err *err)
{
    *file = names_by_id(ns, id);
    *open = id_map_get(&ns->open_files, id);
    INVARIANT(!*open || (*open)->id == id);
    if (!*file || (*file)->is_directory)
        return err_set(err, ERR_NOTFOUND, "the file has been removed");
    if (*open && (*open)->epoch == epoch)
        return 0;
    err_set(err, ERR_ABORTED, "this writer's lease has ended");
    inode_wrap_error(*file, err);
    return ERR_ABORTED;
}

/* --- making -------------------------------------------------------------- */

static int not_a_directory(const struct inode *n, struct err *err)
{
    err_set(err, ERR_INVALID, "is not a directory");
    inode_wrap_error(n, err);
    return ERR_INVALID;
}

int names_mkdirs(struct names *ns,
                 struct slice path,
                 uint64_t time_us,
                 struct inode **out,
                 struct err *err)
{
    struct inode *n = ns->root;
    struct slice part;
    int rc = gfs_path_check(path, err);
    *out = NULL;
    while (rc == 0 && (part = gfs_path_next(&path)).len) {
        struct inode *next = inode_entries_find(n->u.directory->entries, part);
        if (!next) {
            rc = names_check_still(ns, n, err);
            if (rc == 0)
                rc = check_quota(n, (struct weight){1, 0, 0}, NULL, err);
            if (rc == 0)
                next = make_entry(ns, n, part, true, time_us);
        } else if (!next->is_directory) {
            rc = not_a_directory(next, err);
        }
        n = next;
    }
    POST(rc || n->is_directory);
    if (rc == 0)
        *out = n;
    return rc;
}

/* The directory that is to hold the last part of @path; missing directories are
 * made if @make. */
static int find_parent(struct names *ns,
                       struct slice path,
                       bool make,
                       uint64_t time_us,
                       struct inode **parent,
                       struct slice *name,
                       struct err *err)
{
    struct slice above;
    int rc = gfs_path_check(path, err);
    if (rc)
        return rc;
    *name = gfs_path_last(path, &above);
    if (name->len == 0)
        return err_set(err, ERR_INVALID, "\"/%.*s\" is the root",
                       SLICE_ARG(path));
    if (make)
        return names_mkdirs(ns, above, time_us, parent, err);
    rc = names_find(ns, above, parent, err);
    INVARIANT(rc || *parent);
    if (rc == 0 && !(*parent)->is_directory)
        rc = not_a_directory(*parent, err);
    return rc;
}

int names_create(struct names *ns,
                 struct slice path,
                 bool exclusive,
                 uint8_t replication,
                 uint64_t time_us,
                 struct inode **out,
                 struct err *err)
{
    struct inode *parent;
    struct inode *old;
    struct slice name;
    int rc = find_parent(ns, path, true, time_us, &parent, &name, err);
    *out = NULL;
    if (rc)
        return rc;
    old = inode_entries_find(parent->u.directory->entries, name);
    if (old && exclusive)
        return err_set(err, ERR_EXISTS, "/%.*s exists", SLICE_ARG(path));
    if (old && old->is_directory)
        return err_set(err, ERR_INVALID, "/%.*s: is a directory",
                       SLICE_ARG(path));
    rc = names_check_still(ns, parent, err);
    if (rc == 0 && !old)
        rc = check_quota(parent, (struct weight){1, 1, 0}, NULL, err);
    if (rc)
        return rc;
    if (old) {
        names_detach(old);
        names_dispose(ns, old);
    }
    *out = make_entry(ns, parent, name, false, time_us);
    INVARIANT((*out)->parent == parent);
    (*out)->replication = replication;
    return 0;
}

/* --- moving and removing ------------------------------------------------- */

bool names_is_below(const struct inode *n, const struct inode *above)
{
    while (n && n != above)
        n = n->parent;
    return n != NULL;
}

/* May @n replace @old (NULL: nothing is there)? */
static int check_replace(const struct inode *n,
                         const struct inode *old,
                         struct slice to,
                         struct err *err)
{
    if (!old)
        return 0;
    if (n->is_directory != old->is_directory)
        return err_set(err, ERR_INVALID, "/%.*s: %s", SLICE_ARG(to),
                       old->is_directory ? "is a directory"
                                         : "is not a directory");
    if (old->is_directory && old->u.directory->entries)
        return err_set(err, ERR_EXISTS, "/%.*s: is not empty", SLICE_ARG(to));
    return 0;
}

static struct inode *common_ancestor(struct inode *a, const struct inode *b)
{
    while (a && !names_is_below(b, a))
        a = a->parent;
    POST(a); /* The root is above both. */
    return a;
}

void names_move(struct names *ns,
                struct inode *n,
                struct inode *parent,
                struct slice name,
                uint64_t time_us)
{
    PRE(n->parent);
    PRE(parent->is_directory);
    n->parent->modified_us = time_us;
    names_detach(n);
    inode_rename(n, name);
    names_attach(ns, parent, n);
    POST(n->parent == parent);
    parent->modified_us = time_us;
}

int names_rename(struct names *ns,
                 struct slice from,
                 struct slice to,
                 uint64_t time_us,
                 struct err *err)
{
    struct inode *n;
    struct inode *parent;
    struct inode *old;
    struct slice name;
    int rc = names_find(ns, from, &n, err);
    if (rc == 0)
        rc = find_parent(ns, to, false, time_us, &parent, &name, err);
    if (rc)
        return rc;
    if (n == ns->root || names_is_below(parent, n))
        return err_set(err, ERR_INVALID, "/%.*s: cannot move below itself",
                       SLICE_ARG(from));
    old = inode_entries_find(parent->u.directory->entries, name);
    if (old == n)
        return 0;
    rc = check_replace(n, old, to, err);
    if (rc == 0)
        rc = names_check_depth(n, to, err);
    if (rc == 0)
        rc = names_check_still(ns, n->parent, err);
    if (rc == 0)
        rc = names_check_still(ns, parent, err);
    if (rc == 0)
        rc = check_quota(parent, names_weigh(n),
                         common_ancestor(n->parent, parent), err);
    if (rc)
        return rc;
    if (old) {
        names_detach(old);
        names_dispose(ns, old);
    }
    INVARIANT(!names_is_below(parent, n)); /* INV-6 */
    names_move(ns, n, parent, name, time_us);
    return 0;
}
