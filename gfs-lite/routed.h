/* One file system made of two: paths below some directories go to one, all
 * others to the other. With it a server that acts for a principal reaches the
 * files that the principal names with his rights, and its own with its own.
 *
 *     fs_gfs_open(w, &as_somebody, &theirs, &err)
 *     fs = fs_routed_new(own, theirs, trees)
 *     … fs_open(fs, path, …) …
 *     fs_close(fs)
 *
 * For servers that act for principals: mapreduce/attempt, mapreduce/cluster and
 * cli/attempts.c.
 *
 * Threads: those of the two.
 */
#ifndef GFS_LITE_ROUTED_H
#define GFS_LITE_ROUTED_H

struct fs;

/* @own, for files in @trees (first parts of paths; they end with NULL), is
 * borrowed, as @trees is; @theirs is closed with it. Owned: fs_close(). A
 * rename from one to the other is refused: ERR_DENIED. */
struct fs *
fs_routed_new(struct fs *own, struct fs *theirs, const char *const *trees);

#endif /* GFS_LITE_ROUTED_H */
