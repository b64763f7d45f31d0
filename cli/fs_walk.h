/* Entries of directories, and the files that a pattern names.
 *
 * Threads: one, a fiber's where the target is a cluster.
 */
#ifndef CLI_FS_WALK_H
#define CLI_FS_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "gfs-lite/fs.h"
#include "gfs-lite/gfs.h"

struct fs_command;

/* Deepest tree that is walked: the recursions' bound. */
#define FS_TREE_DEPTH_MAX 64

struct fs_entry {
    const char *path; /* Borrowed during the visit. */
    const char *name; /* Its last part. */
    struct fs_info info;
    const struct gfs_stat *stat; /* NULL: the target is a directory. */
};

typedef int (*fs_entry_fn)(void *ctx,
                           const struct fs_entry *e,
                           struct err *err);

/* Call @visit for each entry of the directory @path, by name. A cluster tells a
 * thousand of them in one answer; files that are being written are asked for
 * one by one. Entries that go meanwhile are left out. Parks. Errors: of the
 * file system; that of @visit, which ends it. */
MUST_CHECK int fs_each_entry(struct fs *fs,
                             const char *path,
                             fs_entry_fn visit,
                             void *ctx,
                             struct err *err);

/* @path itself as an entry. @stat is where what a cluster says is kept. */
MUST_CHECK int fs_entry_of(struct fs *fs,
                           const char *path,
                           struct gfs_stat *stat,
                           struct fs_entry *out,
                           struct err *err);

/* @name in @dir, into @out, which is cleared before. */
struct buf;
void fs_join(const char *dir, const char *name, struct buf *out);

/* Owned: fs_paths_close(). */
struct fs_paths {
    char **list; /* Below the root. */
    size_t count;
};

/* The paths that words [@first, @end) of @c name. A word with *, ? or [ in it
 * is a pattern, unless a file has just this name: it stands for all paths that
 * match it, part by part; a backslash takes the meaning from the next byte, and
 * names that begin with a dot are matched by a dot alone. Parks. Errors:
 * ERR_NOTFOUND: nothing matches. */
MUST_CHECK int fs_paths_of_words(const struct fs_command *c,
                                 size_t first,
                                 size_t end,
                                 struct fs_paths *out,
                                 struct err *err);
void fs_paths_close(struct fs_paths *p);

#endif /* CLI_FS_WALK_H */
