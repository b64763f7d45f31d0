/* HDFS as a file system: hdfs_fs.c has names, hdfs_writer.c files that are
 * written, hdfs_recover.c taking them from their writers. Included by these and
 * by remote_fs.c.
 */
#ifndef GFS_LITE_HDFS_HDFS_FS_H
#define GFS_LITE_HDFS_HDFS_FS_H

#include "base/objects/webhdfs_client.h"
#include "gfs-lite/fs_ops.h"

struct hdfs_fs {
    struct fs base;
    struct webhdfs_client *client; /* Owned. */
};

/* A file system over @c, which it owns from now on. Owned: fs_close(). */
struct fs *hdfs_fs_new(struct world *w, struct webhdfs_client *c);

static inline struct webhdfs_client *hdfs_fs_client(struct fs *fs)
{
    return ((struct hdfs_fs *)fs)->client;
}

/* ERR_INVALID unless @path can be a name of HDFS; the root is one. */
MUST_CHECK int hdfs_fs_check(struct fs *fs, const char *path, struct err *err);

/* A new name in the directory of @path, which begins with ".quarry-" and ends
 * with @suffix. Owned. */
char *hdfs_fs_beside(struct fs *fs, const char *path, const char *suffix);

/* Make the file at @part of @data, and say which inode it is. */
MUST_CHECK int hdfs_fs_make_part(struct fs *fs,
                                 const char *part,
                                 struct slice data,
                                 unsigned replication,
                                 uint64_t *id,
                                 struct err *err);

/* Implementations of fs.h. They park. */
int hdfs_fs_create(struct fs *fs,
                   const char *path,
                   const struct fs_write_options *opts,
                   struct fs_writer **out,
                   struct err *err);
int hdfs_fs_append(struct fs_writer *w,
                   const void *data,
                   size_t len,
                   struct err *err);
int hdfs_fs_flush(struct fs_writer *w, struct err *err);
void hdfs_fs_writer_close(struct fs_writer *w);
int hdfs_fs_recover(struct fs *fs,
                    const char *path,
                    uint64_t *length,
                    struct err *err);

#endif /* GFS_LITE_HDFS_HDFS_FS_H */
