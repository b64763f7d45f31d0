/* Shared by the file system over objects: object_fs.c has names,
 * object_writer.c files. remote_fs.c opens it.
 */
#ifndef GFS_LITE_OBJECTS_OBJECT_FS_H
#define GFS_LITE_OBJECTS_OBJECT_FS_H

#include "base/objects/object_client.h"
#include "gfs-lite/fs_ops.h"

struct object_fs {
    struct fs base;
    struct object_client *client; /* Owned. */
};

static inline struct object_client *object_fs_client(struct fs *fs)
{
    return ((struct object_fs *)fs)->client;
}

/* ERR_INVALID unless @path can be a key: see fs__path_is_valid(); and not the
 * root. */
MUST_CHECK int
object_fs_check(struct fs *fs, const char *path, struct err *err);
/* ERR_UNSUPPORTED unless @fs is a bucket. */
MUST_CHECK int
object_fs_needs_s3(struct fs *fs, const char *what, struct err *err);

/* Implementations of fs.h. They park. */
int object_fs_create(struct fs *fs,
                     const char *path,
                     const struct fs_write_options *opts,
                     struct fs_writer **out,
                     struct err *err);
int object_fs_append(struct fs_writer *w,
                     const void *data,
                     size_t len,
                     struct err *err);
int object_fs_flush(struct fs_writer *w, struct err *err);
int object_fs_sync(struct fs_writer *w, struct err *err);
void object_fs_writer_close(struct fs_writer *w);

/* A file system over @c, which it owns from now on. Owned: fs_close(). */
struct fs *object_fs_new(struct world *w, struct object_client *c);
bool object_fs_is(const struct fs *fs);

#endif /* GFS_LITE_OBJECTS_OBJECT_FS_H */
