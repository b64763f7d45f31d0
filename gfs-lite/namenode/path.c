/* Paths, part by part. Nothing is copied: parts are slices of the path, and
 * empty parts and "." are skipped while walking.
 */
#include "gfs-lite/namenode/path.h"

#include "base/core/panic.h"
#include "gfs-lite/namenode_command.h"

static bool path_counts_part(struct slice part)
{
    return part.len > 0 && !slice_eq_str(part, ".");
}

struct slice gfs_path_next(struct slice *path)
{
    while (path->len) {
        size_t end = slice_find_byte(*path, '/');
        struct slice part = slice_sub(*path, 0, end);
        *path = slice_sub(*path, end + 1, path->len);
        if (path_counts_part(part))
            return part;
    }
    return SLICE_EMPTY;
}

struct slice gfs_path_last(struct slice path, struct slice *parent)
{
    struct slice rest = path;
    struct slice last = SLICE_EMPTY;
    struct slice part;
    *parent = SLICE_EMPTY;
    while ((part = gfs_path_next(&rest)).len) {
        last = part;
        *parent = slice_make(path.data, (size_t)(part.data - path.data));
    }
    POST(parent->len + last.len <= path.len);
    return last;
}

unsigned gfs_path_depth(struct slice path)
{
    unsigned depth = 0;
    while (gfs_path_next(&path).len)
        depth++;
    return depth;
}

static int bad_path(struct slice path, const char *why, struct err *err)
{
    return err_set(err, ERR_INVALID, "bad file name \"%.*s\": %s",
                   SLICE_ARG(slice_sub(path, 0, 80)), why);
}

int gfs_path_check(struct slice path, struct err *err)
{
    struct slice rest = path;
    struct slice part;
    unsigned depth = 0;
    if (path.len > GFS_PATH_BYTES_MAX)
        return bad_path(path, "too long", err);
    if (path.len && path.data[0] == '/')
        return bad_path(path, "absolute", err);
    if (slice_find_byte(path, '\0') < path.len)
        return bad_path(path, "it has a NUL", err);
    while ((part = gfs_path_next(&rest)).len) {
        if (slice_eq_str(part, ".."))
            return bad_path(path, "it has \"..\"", err);
        if (part.len > GFS_NAME_BYTES_MAX)
            return bad_path(path, "a part is too long", err);
        if (++depth > GFS_DEPTH_MAX)
            return bad_path(path, "too deep", err);
    }
    return 0;
}
