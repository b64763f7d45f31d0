/* Paths, part by part. */
#ifndef GFS_LITE_NAMENODE_PATH_H
#define GFS_LITE_NAMENODE_PATH_H

#include "base/core/err.h"
#include "base/core/slice.h"

/* Errors: ERR_INVALID: absolute, "..", a NUL, too long or too deep. */
MUST_CHECK int gfs_path_check(struct slice path, struct err *err);
/* Of how many parts that count? */
unsigned gfs_path_depth(struct slice path);
/* Cut the first part that counts off *@path; empty at the end. */
struct slice gfs_path_next(struct slice *path);
/* The last part that counts, and in *@parent what is before it. */
struct slice gfs_path_last(struct slice path, struct slice *parent);

#endif /* GFS_LITE_NAMENODE_PATH_H */
