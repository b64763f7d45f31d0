/* Files of policies in the lock service, and the access list that guards
 * everything below /bigtable from principals outside the cluster. */
#include "bigtable/master/policy_file.h"

#include "base/core/ignore_result.h"
#include "base/core/panic.h"
#include "base/rpc/roles.h"
#include "bigtable/master/lock_state.h"
#include "bigtable/master/master_term.h"
#include "bigtable/master/policies.h"

/* Name of the list, in /acl, of those who may change what is below /bigtable.
 */
#define GUARD "bigtable"

int policy_file_read(struct master_term *r,
                     uint64_t table,
                     struct policy_file *f,
                     struct err *err)
{
    char path[POLICY_PATH_BYTES];
    int rc;

    PRE(r->chubby);
    *f = (struct policy_file){.bytes = BUF_INIT};
    policy_path(table, path);
    rc = lock_state_read(r->chubby, path, &f->bytes, &f->generation, err);
    if (rc == ERR_NOTFOUND)
        rc = 0;
    if (rc == 0)
        rc = table_policy_get(buf_slice(&f->bytes), &f->policy, err);
    if (rc)
        err_wrap(err, "%s", path);
    f->had_access = f->policy.has_access;
    return rc;
}

void policy_file_close(struct policy_file *f)
{
    buf_close(&f->bytes);
}

int policy_file_write(struct master_term *r,
                      uint64_t table,
                      const struct policy_file *f,
                      struct err *err)
{
    char path[POLICY_PATH_BYTES];
    struct buf b = BUF_INIT;
    int rc;
    PRE(f->generation == 0 || f->bytes.len > 0 || !f->had_access); /* INV-1 */
    policy_path(table, path);
    table_policy_put(&f->policy, &b);
    rc = lock_state_write(r->chubby, path, buf_slice(&b), f->generation, err);
    /* It was made, or removed, since it was read. */
    if ((rc == ERR_EXISTS && f->generation == 0) ||
        (rc == ERR_NOTFOUND && f->generation != 0))
        rc = ERR_ABORTED;
    buf_close(&b);
    return rc;
}

void policy_file_remove(struct master_term *r, uint64_t table)
{
    char path[POLICY_PATH_BYTES];
    PRE(table > 0);
    policy_path(table, path);
    /* It is not there; or it stays, unused, because numbers of tables are not
     * used again. */
    IGNORE_RESULT(lock_state_remove(r->chubby, path, NULL));
}

/* --- the guard ----------------------------------------------------------- */

static int guard_node(struct chubby *c,
                      const char *path,
                      bool *is_directory,
                      struct err *err)
{
    struct chubby_handle *h;
    struct chubby_stat stat = {.is_directory = false};
    int rc =
        chubby_open(c, path, CHUBBY_READ | CHUBBY_CHANGE_ACL, NULL, &h, err);

    PRE(path[0] == '/');
    if (rc)
        return rc;
    rc = chubby_set_acl(h, NULL, GUARD, GUARD, err);
    if (rc == 0)
        rc = chubby_get_stat(h, &stat, err);
    *is_directory = stat.is_directory;
    chubby_close(h);
    return rc;
}

static int guard_children(struct chubby *c, const char *path, struct err *err);

/* Guard @path and all below it; a node that is removed meanwhile needs no
 * guard. */
static int
policy_file_guard(struct chubby *c, const char *path, struct err *err)
{
    bool is_directory;
    int rc = guard_node(c, path, &is_directory, err);
    if (rc == 0 && is_directory)
        rc = guard_children(c, path, err);
    return rc == ERR_NOTFOUND ? 0 : rc;
}

/* Recurses through two levels, which is all there are. */
static int guard_children(struct chubby *c, const char *path, struct err *err)
{
    struct chubby_handle *h;
    char **names = NULL;
    size_t count = 0;
    int rc = chubby_open(c, path, CHUBBY_READ, NULL, &h, err);
    if (rc)
        return rc;
    rc = chubby_list(h, &names, &count, err);
    chubby_close(h);
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct buf child = BUF_INIT;
        buf_printf(&child, "%s/%s", path, names[i]);
        rc = policy_file_guard(c, buf_cstr(&child), err);
        buf_close(&child);
    }
    chubby_names_free(names, count);
    return rc;
}

/* Make sure that the list has the contents @text; *@is_new: it was made. */
static int
write_guard(struct chubby *c, struct slice text, bool *is_new, struct err *err)
{
    const struct chubby_open_options o = {.contents = text};
    struct chubby_handle *h;
    struct buf there = BUF_INIT;
    int rc = chubby_open(c, "/acl/" GUARD,
                         CHUBBY_READ | CHUBBY_WRITE | CHUBBY_CHANGE_ACL |
                             CHUBBY_CREATE | CHUBBY_NEW,
                         &o, &h, err);
    *is_new = rc == 0;
    if (rc == ERR_EXISTS)
        rc = chubby_open(c, "/acl/" GUARD, CHUBBY_READ | CHUBBY_WRITE, NULL, &h,
                         err);
    if (rc)
        return rc;
    rc = chubby_read(h, &there, NULL, err);
    if (rc == 0 && !slice_eq(buf_slice(&there), text))
        rc = chubby_write(h, text, 0, err);
    if (rc == 0 && *is_new)
        rc = chubby_set_acl(h, NULL, GUARD, GUARD, err);
    buf_close(&there);
    chubby_close(h);
    return rc;
}

int policies_prepare(struct chubby *c,
                     const struct cluster_roles *roles,
                     struct err *err)
{
    struct buf names = BUF_INIT;
    struct chubby_handle *h = NULL;
    bool is_new = false;
    int rc = chubby_open(c, BIGTABLE_LOCK_POLICIES,
                         CHUBBY_READ | CHUBBY_CREATE | CHUBBY_DIRECTORY, NULL,
                         &h, err);
    chubby_close(h);
    if (rc || !cluster_roles_are_proved(roles))
        return rc;
    cluster_roles_put(roles, &names);
    rc = write_guard(c, buf_slice(&names), &is_new, err);
    /* Nodes that are made later inherit the guard of their directory. */
    if (rc == 0 && is_new)
        rc = policy_file_guard(c, BIGTABLE_LOCK_ROOT, err);
    buf_close(&names);
    /* A lock service that others run has rights of its own. */
    return rc == ERR_UNSUPPORTED ? 0 : rc;
}
