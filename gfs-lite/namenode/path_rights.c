/* The servers' paths, closed to other principals. Decided before a command is
 * proposed, because who is a server and who an administrator is known from
 * certificates and lists, which are not replicated state.
 */
#include "gfs-lite/namenode/path_rights.h"

#include <stddef.h>

#include "base/core/panic.h"
#include "base/rpc/roles.h"
#include "gfs-lite/namenode/catalog.h"
#include "gfs-lite/namenode/path.h"
#include "gfs-lite/namenode/permission.h"
#include "gfs-lite/namenode_command.h"

bool rights_bind(const struct rights_rules *r, struct slice principal)
{
    return r->roles &&
           (r->names_are_proved || cluster_roles_are_proved(r->roles)) &&
           !cluster_roles_has(r->roles, principal);
}

bool rights_bind_modes(const struct rights_rules *r, struct slice principal)
{
    return rights_bind(r, principal) &&
           !(r->lists && r->lists->is_administrator(r->lists_ctx, principal));
}

struct slice rights_owner(const struct rights_rules *r, struct slice principal)
{
    return !r->roles || cluster_roles_has(r->roles, principal) ? SLICE_EMPTY
                                                               : principal;
}

/* Does @path lead to the inode that @pattern names, or below it? */
static bool is_within(struct slice path, struct slice pattern)
{
    struct slice want = gfs_path_next(&pattern);
    while (want.len > 0) {
        struct slice have = gfs_path_next(&path);
        if (have.len == 0 ||
            (!slice_eq_str(want, "*") && !slice_eq(have, want)))
            return false;
        want = gfs_path_next(&pattern);
    }
    return true;
}

/* Does @path name a directory above @tree? */
static bool is_above(struct slice path, struct slice tree)
{
    struct slice part = gfs_path_next(&path);
    while (part.len > 0) {
        if (!slice_eq(part, gfs_path_next(&tree)))
            return false;
        part = gfs_path_next(&path);
    }
    return true;
}

static bool any_within(const char *const *patterns, struct slice path)
{
    for (; patterns && *patterns; patterns++)
        if (is_within(path, slice_str(*patterns)))
            return true;
    return false;
}

bool rights_is_watched(const struct rights_rules *r, struct slice path)
{
    return any_within(r->watched, path);
}

static bool any_above(const char *const *trees, struct slice path)
{
    for (; trees && *trees; trees++)
        if (is_above(path, slice_str(*trees)))
            return true;
    return false;
}

/* A removed file is in the trash below a directory of its own, with the path it
 * had: returns that path. */
static struct slice without_trash(struct slice path, bool *in_trash)
{
    struct slice rest = path;
    *in_trash = slice_eq_str(gfs_path_next(&rest), NAMESPACE_TRASH);
    if (!*in_trash)
        return path;
    (void)gfs_path_next(&rest);
    return rest;
}

static bool
is_allowed(const struct rights_rules *r, struct slice path, enum rights_use use)
{
    bool in_trash;
    struct slice rest = without_trash(path, &in_trash);
    bool changes = use == RIGHTS_CHANGE || use == RIGHTS_ALL_OF;
    if (changes && any_above(r->trees, rest))
        return false; /* It contains such a tree. */
    if (!any_within(r->trees, rest))
        return true;
    return !in_trash && (use == RIGHTS_LOOK || use == RIGHTS_ADD) &&
           any_within(r->boxes, rest);
}

int rights_check(const struct rights_rules *r,
                 struct slice principal,
                 struct slice path,
                 enum rights_use use,
                 struct err *err)
{
    static const char *const verbs[] = {
        [RIGHTS_LOOK] = "look into",    [RIGHTS_READ] = "read",
        [RIGHTS_ADD] = "make",          [RIGHTS_CHANGE] = "change",
        [RIGHTS_ALL_OF] = "use all of",
    };
    PRE(use <= RIGHTS_ALL_OF);
    if (!rights_bind(r, principal) || is_allowed(r, path, use))
        return 0;
    err_set(err, ERR_DENIED,
            "\"%.*s\" may not %s /%.*s: it is the servers' own",
            SLICE_ARG(principal), verbs[use], SLICE_ARG(path));
    err_hint(err, "rows of tables are read by quarry scan and quarry export, "
                  "jobs are seen by quarry job");
    return ERR_DENIED;
}

int rights_check_order(const struct rights_rules *r,
                       struct slice principal,
                       const char *what,
                       struct err *err)
{
    if (!rights_bind(r, principal))
        return 0;
    err_set(err, ERR_DENIED, "\"%.*s\" may not %s", SLICE_ARG(principal), what);
    err_hint(err, "those may who have a certificate of the cluster itself");
    return ERR_DENIED;
}

static int check_create(const struct rights_rules *r,
                        struct slice principal,
                        struct gfs_command *c,
                        struct err *err)
{
    bool in_box = any_within(r->trees, c->path);
    if (in_box && rights_bind(r, principal))
        c->flags |= GFS_EXCLUSIVE;
    return rights_check(r, principal, c->path,
                        in_box ? RIGHTS_ADD : RIGHTS_CHANGE, err);
}

static int check_both(const struct rights_rules *r,
                      struct slice principal,
                      const struct gfs_command *c,
                      struct err *err)
{
    int rc = rights_check(r, principal, c->path, RIGHTS_ALL_OF, err);
    return rc ? rc : rights_check(r, principal, c->to, RIGHTS_CHANGE, err);
}

int rights_check_command(const struct rights_rules *r,
                         struct slice principal,
                         struct gfs_command *c,
                         struct err *err)
{
    switch (c->op) {
    case GFS_OP_MKDIRS:
        return rights_check(r, principal, c->path, RIGHTS_ADD, err);
    case GFS_OP_CREATE: return check_create(r, principal, c, err);
    case GFS_OP_APPEND_OPEN:
    case GFS_OP_LOCK:
        return rights_check(r, principal, c->path, RIGHTS_CHANGE, err);
    case GFS_OP_RENAME:
    case GFS_OP_SNAPSHOT: return check_both(r, principal, c, err);
    case GFS_OP_REMOVE:
    case GFS_OP_SET_REPLICATION:
        return rights_check(r, principal, c->path, RIGHTS_ALL_OF, err);
    case GFS_OP_SET_MODE:
    case GFS_OP_SET_OWNER:
    case GFS_OP_GRANT:
        return rights_check(r, principal, c->path, RIGHTS_CHANGE, err);
    case GFS_OP_SET_QUOTA:
        return rights_check_order(r, principal, "set quotas", err);
    case GFS_OP_SESSION_OPEN:
    case GFS_OP_SESSION_CLOSE:
    case GFS_OP_UNLOCK:
    case GFS_OP_ALLOCATE:
    case GFS_OP_CLOSE:
    case GFS_OP_SETTLE: return 0; /* Of files that are open: by epoch. */
    case GFS_OP_FENCE:
    case GFS_OP_SEAL:
    case GFS_OP_SESSION_EXPIRE:
    case GFS_OP_TRASH_EXPIRE:
    case GFS_OP_SERVER_REGISTER:
    case GFS_OP_SERVER_STATE:
    case GFS_OP_REAP:
    case GFS_OP_COPY:
    case GFS_OP_REPLICATE: break;
    }
    return 0; /* Not a client's command: it is refused as such. */
}

/* --- whose command it is ------------------------------------------------- */

/* Files in boxes lie in directories of the servers, whose modes admit nobody:
 * boxes have their own rules. */
static bool goes_into_box(const struct rights_rules *r,
                          const struct gfs_command *c)
{
    return (c->op == GFS_OP_CREATE || c->op == GFS_OP_MKDIRS) &&
           any_within(r->boxes, c->path);
}

void rights_fill_command(const struct rights_rules *r,
                         struct slice principal,
                         uint32_t mask,
                         struct gfs_command *c,
                         struct buf *roles)
{
    PRE(c);
    PRE(roles->len == 0);
    bool checked = rights_bind_modes(r, principal);
    c->caller = rights_owner(r, principal);
    c->flags &= ~(uint32_t)GFS_CHECKED;
    if (c->op != GFS_OP_SET_MODE)
        c->mode = mask;
    if (c->op == GFS_OP_SET_OWNER)
        c->text = rights_owner(r, c->text);
    if (!checked || goes_into_box(r, c))
        return;
    c->flags |= GFS_CHECKED;
    if (r->lists)
        r->lists->put_roles(r->lists_ctx, principal, roles);
    POST(c->caller.len > 0);
    c->roles = buf_slice(roles);
}

/* A shared file belongs to no session: its writers are those who may write it.
 */
static int check_shared(const struct catalog *m,
                        const struct gfs_command *c,
                        struct err *err)
{
    const struct permission_caller who = {c->caller, c->roles};
    const struct inode *n = names_by_id(&m->names, c->file);
    return n ? permission_check(&m->names, &who, n, PERMISSION_WRITE, err) : 0;
}

int rights_check_session(const struct catalog *m,
                         const struct gfs_command *c,
                         struct err *err)
{
    const struct catalog_session *s = catalog_session(m, c->session);
    const struct open_file *o =
        c->file ? id_map_get(&m->names.open_files, c->file) : NULL;
    if (!(c->flags & GFS_CHECKED))
        return 0;
    if (s && !slice_eq_str(c->caller, s->principal))
        return err_set(err, ERR_DENIED, "the session is not \"%.*s\"'s",
                       SLICE_ARG(c->caller));
    if (!o || o->session == c->session)
        return 0;
    if (o->shared)
        return check_shared(m, c, err);
    return err_set(err, ERR_DENIED, "\"%.*s\" is not the writer of the file",
                   SLICE_ARG(c->caller));
}
