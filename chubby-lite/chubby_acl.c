/* Access control lists: files below /acl with a principal a line, so that they
 * are changed, watched and protected as any other file (Chubby, OSDI 2006,
 * section 2.3).
 */
#include "base/core/panic.h"
#include "chubby-lite/cell_state.h"

/* Does a line of @list name @principal, or everybody? */
static bool acl_lists_principal(struct slice list, const char *principal)
{
    while (list.len > 0) {
        size_t end = slice_find_byte(list, '\n');
        struct slice line = slice_trim(slice_sub(list, 0, end));
        if (slice_eq_str(line, "*") ||
            (line.len > 0 && slice_eq_str(line, principal)))
            return true;
        list = slice_sub(list, end + 1, list.len);
    }
    return false;
}

int cell__allowed(const struct cell *c,
                  const char *principal,
                  struct slice acl,
                  struct err *err)
{
    const struct node *directory;
    const struct node *file;

    PRE(principal);
    PRE(c->root->is_directory);
    if (acl.len == 0)
        return 0;
    directory = node_child(c->root, SLICE_LIT("acl"));
    file = directory ? node_child(directory, acl) : NULL;
    if (!file || file->is_directory) {
        err_hint(err, "write the file /acl/%.*s", SLICE_ARG(acl));
        return err_set(err, ERR_DENIED,
                       "the access control list /acl/%.*s does not exist",
                       SLICE_ARG(acl));
    }
    if (acl_lists_principal(buf_slice(&file->contents), principal))
        return 0;
    return err_set(err, ERR_DENIED, "\"%s\" is not in /acl/%.*s", principal,
                   SLICE_ARG(acl));
}
