/* Paths, part by part. A part counts unless it is empty or ".". */
#ifndef GFS_LITE_NAMENODE_PATH_H
#define GFS_LITE_NAMENODE_PATH_H

#include "base/core/err.h"
#include "base/core/slice.h"

/* Is @path one that the file system can have? ERR_INVALID: absolute, "..", a
 * NUL, too long or too deep. */
MUST_CHECK int gfs_path_check(struct slice path, struct err *err);
/* The number of parts that count. */
unsigned gfs_path_depth(struct slice path);
/* Cut the first part that counts off *@path and return it; empty at the end. */
struct slice gfs_path_next(struct slice *path);
/* The last part that counts; *@parent is the path before it. Both borrow from
 * @path. */
struct slice gfs_path_last(struct slice path, struct slice *parent);

#endif /* GFS_LITE_NAMENODE_PATH_H */
