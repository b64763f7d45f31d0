/* A directory of any file system, by its name: where something is kept that
 * others read, as a backup. Public.
 *
 *     DIR, file:DIR      of this machine
 *     gfs://HOST:PORT,…/PATH   of a cluster
 *     s3://BUCKET/PREFIX, and the others of objects.h
 *
 * Threads: as the file system's.
 */
#ifndef GFS_LITE_FS_LOCATION_H
#define GFS_LITE_FS_LOCATION_H

#include "base/core/err.h"
#include "base/core/macros.h"

struct buf;
struct fs;
struct rpc_security;
struct world;

struct fs_location {
    struct fs *fs; /* Owned. */
    char *name;    /* As it was given, without slashes at the end. Owned. */
    char *path;    /* Of it below the root of `fs`: empty, or ended by '/'.
                      Owned. */
};

/* Open the place @name. @security (NULL: none) is borrowed, for gfs://;
 * settings come from @variable, as getenv(). A missing directory is made when a
 * file is written. fs_location_close() after success. Parks. Errors: those of
 * fs_open_target() and fs_remote_open(). */
MUST_CHECK int fs_location_open(struct world *w,
                                const char *name,
                                const struct rpc_security *security,
                                const char *(*variable)(const char *name),
                                struct fs_location *out,
                                struct err *err);
void fs_location_close(struct fs_location *p); /* Zeros are allowed. */
/* The path of @name in @p, replacing what @out holds; borrowed from it. */
const char *fs_location_path(const struct fs_location *p,
                             const char *name,
                             struct buf *out);

#endif /* GFS_LITE_FS_LOCATION_H */
