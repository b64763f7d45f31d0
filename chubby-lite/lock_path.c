/* Paths of nodes are checked once, where a command enters the state machine;
 * the other functions rely on it.
 */
#include "chubby-lite/lock_path.h"

#include "base/core/panic.h"
#include "base/core/text.h"
#include "chubby-lite/chubby.h"

static int check_name(struct slice name, struct err *err)
{
    size_t i;

    if (name.len == 0)
        return err_set(err, ERR_INVALID, "a name between two '/' is empty");
    if (name.len > CHUBBY_NAME_BYTES_MAX)
        return err_set(err, ERR_INVALID, "a name has %zu bytes, more than %d",
                       name.len, CHUBBY_NAME_BYTES_MAX);
    if (slice_eq_str(name, ".") || slice_eq_str(name, ".."))
        return err_set(err, ERR_INVALID, "%.*s is no name of a node",
                       SLICE_ARG(name));
    for (i = 0; i < name.len; i++)
        if ((unsigned char)name.data[i] < 0x20 || name.data[i] == 0x7f)
            return err_set(err, ERR_INVALID, "a name has a control character");
    if (!utf8_valid(name))
        return err_set(err, ERR_INVALID, "a name is not UTF-8");
    return 0;
}

bool path_next(struct slice *rest, struct slice *name)
{
    size_t end = slice_find_byte(*rest, '/');

    if (rest->len == 0)
        return false;
    INVARIANT(end > 0); /* path_check() */
    *name = slice_sub(*rest, 0, end);
    *rest = slice_sub(*rest, end + 1, rest->len);
    return true;
}

int path_check(struct slice path, struct err *err)
{
    struct slice rest;
    size_t depth = 0;
    int rc;

    if (path.len == 0 || path.data[0] != '/')
        return err_set(err, ERR_INVALID, "a path begins with '/'");
    if (path.len > CHUBBY_PATH_BYTES_MAX)
        return err_set(err, ERR_INVALID, "a path has %zu bytes, more than %d",
                       path.len, CHUBBY_PATH_BYTES_MAX);
    if (path.len == 1)
        return 0;
    rest = slice_sub(path, 1, path.len);
    for (;;) {
        size_t end = slice_find_byte(rest, '/');
        rc = check_name(slice_sub(rest, 0, end), err);
        if (rc)
            return rc;
        if (++depth > CHUBBY_DEPTH_MAX)
            return err_set(err, ERR_INVALID, "a path has more than %d names",
                           CHUBBY_DEPTH_MAX);
        if (end == rest.len)
            return 0;
        rest = slice_sub(rest, end + 1, rest.len);
    }
}

void path_split(struct slice path, struct slice *above, struct slice *name)
{
    size_t at = path.len;

    PRE(path.len > 1);
    PRE(path.data[0] == '/');
    while (path.data[at - 1] != '/')
        at--;
    INVARIANT(at > 0);
    INVARIANT(at < path.len);
    *above = slice_sub(path, 0, at > 1 ? at - 1 : 1);
    *name = slice_sub(path, at, path.len);
}
