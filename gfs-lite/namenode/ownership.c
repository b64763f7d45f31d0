/* Changes of owners, modes and grants. permission.c decides who may make them;
 * nothing changes below a tree that is being copied.
 */
#include "base/core/fault.h"
#include "base/core/panic.h"
#include "gfs-lite/namenode/namespace.h"

/* The inode at @path, unless it is being copied. */
static int find_still(const struct names *ns,
                      struct slice path,
                      struct inode **out,
                      struct err *err)
{
    int rc = names_find(ns, path, out, err);
    return rc ? rc : names_check_still(ns, *out, err);
}

int names_set_mode(struct names *ns,
                   struct slice path,
                   uint32_t mode,
                   struct err *err)
{
    struct inode *n;
    int rc = find_still(ns, path, &n, err);
    if (rc)
        return rc;
    if (!n->is_directory && (mode & GFS_STICKY))
        return err_set(err, ERR_INVALID,
                       "/%.*s: a file is not sticky, directories are",
                       SLICE_ARG(path));
    n->mode = (uint8_t)(mode & GFS_MODE_MAX);
    POST(n->is_directory || !(n->mode & GFS_STICKY));
    return 0;
}

int names_set_owner(struct names *ns,
                    struct slice path,
                    struct slice owner,
                    struct err *err)
{
    struct inode *n;
    uint16_t number;
    int rc = find_still(ns, path, &n, err);
    if (rc == 0 && owner.len)
        rc = grants_check_principal(owner, err);
    if (rc == 0)
        rc = owners_number(&ns->owners, owner, &number, err);
    if (rc || number == n->owner)
        return rc;
    if (!fault_hit("gfs.keep_grants"))
        grants_drop_owners(&ns->grants, n);
    owners_give(&ns->owners, n, number);
    POST(n->owner == number);
    return 0;
}

int names_grant(struct names *ns,
                struct slice path,
                struct slice principal,
                uint64_t rights,
                bool take,
                bool by_owner,
                struct err *err)
{
    struct inode *n;
    int rc = find_still(ns, path, &n, err);
    if (rc == 0)
        rc = grants_check_principal(principal, err);
    if (rc)
        return rc;
    if (rights == 0 || rights > (GFS_GRANT_READ | GFS_GRANT_WRITE))
        return err_set(err, ERR_INVALID,
                       "the rights to a path are read and write");
    if (!take)
        return grants_add(&ns->grants, n, principal, (uint8_t)rights, by_owner,
                          err);
    grants_take(&ns->grants, n, principal, (uint8_t)rights);
    return 0;
}
