/* Rights to whole trees: the leader examines a tree before it has the command
 * executed, and lets other fibers run meanwhile. Files added to a part of the
 * tree that was examined already are not seen; a caller who lists and removes
 * one by one does not see them either.
 */
#include "base/core/panic.h"
#include "gfs-lite/namenode/namenode_state.h"
#include "gfs-lite/namenode/permission.h"

struct tree_check {
    struct namenode *nn;
    const struct gfs_command *command;
    struct permission_caller who;
    unsigned file_bits;
    unsigned directory_bits;
    struct buf last; /* Path of the last inode that was examined. */
};

/* Examine a step of it. *@more: continue after k->last. */
static int check_some(struct tree_check *k, bool *more, struct err *err)
{
    const struct names *ns = &k->nn->catalog.names;
    const struct inode *last = NULL;
    struct inode *top;
    const struct inode *n;
    uint64_t done = 0;
    int rc = names_find(ns, k->command->path, &top, NULL);
    *more = false;
    if (rc)
        return 0; /* The command itself reports it. */
    n = k->last.len ? names_next_after(ns, top, buf_slice(&k->last)) : top;
    for (; n && rc == 0 &&
           (done < k->nn->options.copy_step || !names_can_be_found(last));
         n = names_next(top, n)) {
        rc = permission_check_inode(ns, &k->who, n, k->file_bits,
                                    k->directory_bits, err);
        last = n;
        done++;
    }
    *more = n != NULL;
    buf_clear(&k->last);
    if (n)
        inode_put_path(last, &k->last);
    return rc;
}

int namenode_check_tree(struct namenode *nn,
                        const struct gfs_command *c,
                        struct err *err)
{
    struct tree_check k = {
        .nn = nn, .command = c, .who = {c->caller, c->roles}, .last = BUF_INIT};
    bool more = true;
    int rc = 0;
    PRE(c->path.len <= GFS_PATH_BYTES_MAX);
    if (!(c->flags & GFS_CHECKED) ||
        !permission_needs_tree(&nn->catalog.names, c, &k.file_bits,
                               &k.directory_bits))
        return 0;
    while (rc == 0 && more) {
        rc = check_some(&k, &more, err);
        if (rc == 0 && more) {
            namenode_rest(nn);
            rc = namenode_lead(nn, err);
        }
    }
    buf_close(&k.last);
    return rc;
}
