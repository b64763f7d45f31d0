/* Decisions by owners, modes and grants. A refusal names the first inode on the
 * way that lacks a right, and its owner, who can give it.
 */
#include "gfs-lite/namenode/permission.h"

#include "base/core/buf.h"
#include "base/core/fault.h"
#include "base/core/panic.h"
#include "gfs-lite/namenode/namespace.h"
#include "gfs-lite/namenode/path.h"
#include "gfs-lite/namenode_command.h"

#define OWNER_SHIFT 3
#define ALL_BITS    (PERMISSION_READ | PERMISSION_WRITE | PERMISSION_PASS)

/* --- one inode ----------------------------------------------------------- */

static bool permission_owns(const struct names *ns,
                            const struct permission_caller *who,
                            const struct inode *n)
{
    return n->owner &&
           slice_eq(owners_name(&ns->owners, n->owner), who->principal);
}

static unsigned grant_bits(const struct names *ns,
                           const struct permission_caller *who,
                           const struct inode *n)
{
    unsigned rights = grants_rights(&ns->grants, n, who->principal, who->roles);
    unsigned bits = 0;
    if (rights & GFS_GRANT_READ)
        bits |= PERMISSION_READ;
    if (rights & GFS_GRANT_WRITE)
        bits |= PERMISSION_WRITE;
    return rights && n->is_directory ? bits | PERMISSION_PASS : bits;
}

unsigned permission_bits(const struct names *ns,
                         const struct permission_caller *who,
                         const struct inode *n)
{
    unsigned mode =
        permission_owns(ns, who, n) ? n->mode >> OWNER_SHIFT : n->mode;
    PRE(who);
    return (mode & ALL_BITS) | grant_bits(ns, who, n);
}

void permission_put_mode(unsigned mode, char out[8])
{
    PRE(mode <= GFS_MODE_MAX);
    static const char letters[] = "rwxrwx";
    for (unsigned i = 0; i < 6; i++)
        out[i] = letters[i];
    for (unsigned i = 0; i < 6; i++)
        if (!(mode & (GFS_OWNER_READ >> i)))
            out[i] = '-';
    out[6] = mode & GFS_STICKY ? 't' : '\0';
    out[7] = '\0';
}

/* --- refusals ------------------------------------------------------------ */

static void
put_owner(const struct names *ns, const struct inode *n, struct buf *out)
{
    struct slice owner = owners_name(&ns->owners, n->owner);
    char mode[8];
    permission_put_mode(n->mode, mode);
    if (owner.len)
        buf_printf(out, "%.*s's, %s", SLICE_ARG(owner), mode);
    else
        buf_printf(out, "the servers', %s", mode);
}

static int permission_deny(const struct names *ns,
                           const struct permission_caller *who,
                           const struct inode *n,
                           const char *verb,
                           struct err *err)
{
    struct buf path = BUF_INIT;
    struct buf owner = BUF_INIT;
    inode_put_path(n, &path);
    put_owner(ns, n, &owner);
    err_set(err, ERR_DENIED, "\"%.*s\" may not %s /%.200s: it is %s",
            SLICE_ARG(who->principal), verb, buf_cstr(&path), buf_cstr(&owner));
    err_hint(err, "its owner can: quarry fs chmod, quarry acl grant --path");
    buf_close(&path);
    buf_close(&owner);
    return ERR_DENIED;
}

static const char *verb_of(const struct inode *n, unsigned lacks)
{
    if (lacks & PERMISSION_WRITE)
        return n->is_directory ? "make or remove names in" : "write";
    if (lacks & PERMISSION_READ)
        return n->is_directory ? "list" : "read";
    return "pass through";
}

/* --- paths --------------------------------------------------------------- */

/* The deepest directory or file of @path that exists. *@whole: it is the one
 * that the path names. */
static const struct inode *
find_last(const struct names *ns, struct slice path, bool *whole)
{
    const struct inode *n = ns->root;
    struct slice part;
    while ((part = gfs_path_next(&path)).len) {
        const struct inode *next =
            n->is_directory ? inode_entries_find(n->u.directory->entries, part)
                            : NULL;
        if (!next) {
            *whole = false;
            return n;
        }
        n = next;
    }
    *whole = true;
    POST(n);
    return n;
}

/* May @who pass through all directories above @n? A grant of one of them leads
 * there, whatever is above it. */
static int check_above(const struct names *ns,
                       const struct permission_caller *who,
                       const struct inode *n,
                       struct err *err)
{
    if (fault_hit("gfs.skip_path_check"))
        return 0;
    for (const struct inode *up = n->parent; up; up = up->parent) {
        if (grant_bits(ns, who, up))
            return 0;
        if (!(permission_bits(ns, who, up) & PERMISSION_PASS))
            return permission_deny(ns, who, up, "pass through", err);
    }
    return 0;
}

int permission_check(const struct names *ns,
                     const struct permission_caller *who,
                     const struct inode *n,
                     unsigned bits,
                     struct err *err)
{
    PRE(!(bits & ~(unsigned)ALL_BITS));
    unsigned has = permission_bits(ns, who, n);
    if (bits & ~has)
        return permission_deny(ns, who, n, verb_of(n, bits & ~has), err);
    /* A grant that covers it needs no other right above. */
    if (!(bits & ~grant_bits(ns, who, n)) && grant_bits(ns, who, n))
        return 0;
    return check_above(ns, who, n, err);
}

int permission_check_look(const struct names *ns,
                          const struct permission_caller *who,
                          struct slice path,
                          struct err *err)
{
    bool whole;
    const struct inode *n = find_last(ns, path, &whole);
    if (gfs_path_check(path, NULL))
        return 0;
    return permission_check(
        ns, who, n, whole || !n->is_directory ? 0 : PERMISSION_PASS, err);
}

static int check_own(const struct names *ns,
                     const struct permission_caller *who,
                     const struct inode *n,
                     const char *verb,
                     struct err *err)
{
    if (!permission_owns(ns, who, n))
        return permission_deny(ns, who, n, verb, err);
    return check_above(ns, who, n, err);
}

/* May @who write and pass through @directory? */
static int check_change(const struct names *ns,
                        const struct permission_caller *who,
                        const struct inode *directory,
                        struct err *err)
{
    return permission_check(ns, who, directory,
                            PERMISSION_WRITE | PERMISSION_PASS, err);
}

/* Does a sticky directory keep @who from removing @n? */
static bool is_kept(const struct names *ns,
                    const struct permission_caller *who,
                    const struct inode *n)
{
    const struct inode *dir = n->parent;
    INVARIANT(!dir || dir->is_directory);
    return dir && (dir->mode & GFS_STICKY) && !permission_owns(ns, who, dir) &&
           !permission_owns(ns, who, n);
}

/* @n is removed or renamed. */
static int check_leave(const struct names *ns,
                       const struct permission_caller *who,
                       const struct inode *n,
                       struct err *err)
{
    const struct inode *dir = n->parent;
    int rc;
    if (!dir)
        return permission_deny(ns, who, n, "remove", err);
    rc = check_change(ns, who, dir, err);
    if (rc == 0 && is_kept(ns, who, n))
        rc = permission_deny(ns, who, n, "remove or rename", err);
    return rc;
}

/* May something be made at @path, where nothing is, or, if @replaces, in place
 * of what is there? */
static int check_place(const struct names *ns,
                       const struct permission_caller *who,
                       struct slice path,
                       bool replaces,
                       struct err *err)
{
    bool whole;
    const struct inode *n = find_last(ns, path, &whole);
    if (!whole && n->is_directory)
        return check_change(ns, who, n, err);
    if (!replaces)
        return permission_check(ns, who, n, 0, err);
    return check_leave(ns, who, n, err);
}

/* --- commands ------------------------------------------------------------ */

static int check_create(const struct names *ns,
                        const struct permission_caller *who,
                        const struct gfs_command *c,
                        struct err *err)
{
    bool replaces = !(c->flags & GFS_EXCLUSIVE);
    bool whole;
    const struct inode *n = find_last(ns, c->path, &whole);
    int rc = check_place(ns, who, c->path, replaces, err);
    if (rc == 0 && whole && replaces)
        rc = permission_check(ns, who, n, PERMISSION_WRITE, err);
    return rc;
}

static int check_lock(const struct names *ns,
                      const struct permission_caller *who,
                      const struct gfs_command *c,
                      struct err *err)
{
    bool whole;
    const struct inode *n = find_last(ns, c->path, &whole);
    return whole ? permission_check(ns, who, n, PERMISSION_WRITE, err)
                 : check_place(ns, who, c->path, false, err);
}

/* Check the inode at c->path, if it exists. */
static int check_found(const struct names *ns,
                       const struct permission_caller *who,
                       const struct gfs_command *c,
                       struct err *err)
{
    bool whole;
    const struct inode *n = find_last(ns, c->path, &whole);
    unsigned read = PERMISSION_READ | (n->is_directory ? PERMISSION_PASS : 0u);
    if (!whole)
        return permission_check_look(ns, who, c->path, err);
    switch ((int)c->op) {
    case GFS_OP_APPEND_OPEN:
    case GFS_OP_SET_REPLICATION:
        return permission_check(ns, who, n, PERMISSION_WRITE, err);
    case GFS_OP_REMOVE:
    case GFS_OP_RENAME: return check_leave(ns, who, n, err);
    case GFS_OP_SNAPSHOT: return permission_check(ns, who, n, read, err);
    case GFS_OP_SET_MODE: return check_own(ns, who, n, "set the mode of", err);
    case GFS_OP_SET_OWNER: return check_own(ns, who, n, "give away", err);
    case GFS_OP_GRANT: return check_own(ns, who, n, "give rights to", err);
    default: return 0;
    }
}

int permission_check_command(const struct names *ns,
                             const struct gfs_command *c,
                             struct err *err)
{
    const struct permission_caller who = {c->caller, c->roles};
    PRE(c->flags & GFS_CHECKED);
    int rc;
    if (gfs_path_check(c->path, NULL) || gfs_path_check(c->to, NULL))
        return 0; /* The command itself reports it. */
    switch ((int)c->op) {
    case GFS_OP_MKDIRS: return check_place(ns, &who, c->path, false, err);
    case GFS_OP_CREATE: return check_create(ns, &who, c, err);
    case GFS_OP_LOCK: return check_lock(ns, &who, c, err);
    case GFS_OP_RENAME:
    case GFS_OP_SNAPSHOT:
        rc = check_found(ns, &who, c, err);
        return rc ? rc
                  : check_place(ns, &who, c->to, c->op == GFS_OP_RENAME, err);
    case GFS_OP_APPEND_OPEN:
    case GFS_OP_REMOVE:
    case GFS_OP_SET_REPLICATION:
    case GFS_OP_SET_MODE:
    case GFS_OP_SET_OWNER:
    case GFS_OP_GRANT: return check_found(ns, &who, c, err);
    default: return 0; /* Commands of open files: path_rights.h. */
    }
}

/* --- trees --------------------------------------------------------------- */

/* Do other grants hold at @to? Grants of common ancestors hold as before. */
static bool changes_grants(const struct names *ns, const struct gfs_command *c)
{
    bool whole;
    const struct inode *from = find_last(ns, c->path, &whole);
    const struct inode *to = find_last(ns, c->to, &whole);
    INVARIANT(from);
    INVARIANT(to);
    while (to && !names_is_below(from, to)) {
        if (grants_of(&ns->grants, to))
            return true;
        to = to->parent;
    }
    /* An inode that is replaced does not count; a tree that loses grants is
     * shown to fewer. */
    return false;
}

bool permission_needs_tree(const struct names *ns,
                           const struct gfs_command *c,
                           unsigned *file_bits,
                           unsigned *directory_bits)
{
    *file_bits = 0;
    *directory_bits = 0;
    switch ((int)c->op) {
    case GFS_OP_REMOVE:
        *directory_bits = ALL_BITS;
        return (c->flags & GFS_TREE) && !(c->flags & GFS_TRASH);
    case GFS_OP_SET_REPLICATION: *file_bits = PERMISSION_WRITE; return true;
    case GFS_OP_RENAME:
    case GFS_OP_SNAPSHOT:
        *file_bits = PERMISSION_READ;
        *directory_bits = PERMISSION_READ | PERMISSION_PASS;
        return ns->grants.count && changes_grants(ns, c);
    default: return false;
    }
}

int permission_check_inode(const struct names *ns,
                           const struct permission_caller *who,
                           const struct inode *n,
                           unsigned file_bits,
                           unsigned directory_bits,
                           struct err *err)
{
    unsigned bits = n->is_directory ? directory_bits : file_bits;
    unsigned lacks = bits & ~permission_bits(ns, who, n);
    if ((directory_bits & PERMISSION_WRITE) && is_kept(ns, who, n))
        return permission_deny(ns, who, n, "remove", err);
    if (n->is_directory && !n->u.directory->entries)
        return 0;
    return lacks ? permission_deny(ns, who, n, verb_of(n, lacks), err) : 0;
}
