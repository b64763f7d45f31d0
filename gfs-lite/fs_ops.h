/* The functions that an implementation of fs.h provides. Private to gfs-lite.
 *
 * Each implementation embeds the base structs below as its first member. Each
 * entry means the same as the function of that name in fs.h.
 */
#ifndef GFS_LITE_FS_OPS_H
#define GFS_LITE_FS_OPS_H

#include "gfs-lite/fs.h"

struct fs_ops {
    bool writes_whole; /* fs_writes_whole() */
    void (*close)(struct fs *fs);
    void (*hurry)(struct fs *fs); /* NULL: it never retries. */

    int (*create)(struct fs *fs,
                  const char *path,
                  const struct fs_write_options *opts,
                  struct fs_writer **out,
                  struct err *err);
    int (*append)(struct fs_writer *w,
                  const void *data,
                  size_t len,
                  struct err *err);
    int (*flush)(struct fs_writer *w, struct err *err);
    int (*sync)(struct fs_writer *w, struct err *err);
    int (*append_sync)(struct fs_writer *w, /* NULL: append, then sync. */
                       const void *data,
                       size_t len,
                       struct err *err);
    void (*writer_close)(struct fs_writer *w);
    int (*recover)(struct fs *fs,
                   const char *path,
                   uint64_t *length,
                   struct err *err);

    int (*open)(struct fs *fs,
                const char *path,
                struct fs_reader **out,
                struct err *err);
    int (*read_at)(struct fs_reader *r,
                   uint64_t offset,
                   void *dst,
                   size_t len,
                   size_t *got,
                   struct err *err);
    int (*read_once_at)(struct fs_reader *r,
                        uint64_t offset,
                        void *dst,
                        size_t len,
                        size_t *got,
                        struct err *err);
    int (*read_scan_at)(struct fs_reader *r, /* NULL: as read_at. */
                        uint64_t offset,
                        void *dst,
                        size_t len,
                        size_t *got,
                        struct err *err);
    enum fs_place (*read_place)(struct fs_reader *r, /* NULL: the disk. */
                                uint64_t offset,
                                uint64_t len);
    void (*prefetch)(struct fs_reader *r, uint64_t offset, uint64_t len);
    void (*reader_close)(struct fs_reader *r);
    size_t (*locality)(struct fs_reader *r,
                       uint64_t offset,
                       uint64_t len,
                       const char **machines,
                       size_t machines_max);

    int (*rename)(struct fs *fs,
                  const char *from,
                  const char *to,
                  struct err *err);
    int (*remove)(struct fs *fs, const char *path, struct err *err);
    int (*mkdirs)(struct fs *fs, const char *path, struct err *err);
    int (*remove_tree)(struct fs *fs, const char *path, struct err *err);
    int (*stat)(struct fs *fs,
                const char *path,
                struct fs_info *info,
                struct err *err);
    int (*sync_dir)(struct fs *fs, const char *path, struct err *err);
    int (*list)(struct fs *fs,
                const char *path,
                char ***names,
                size_t *count,
                struct err *err);
    int (*each)(struct fs *fs, /* NULL: by list and stat. */
                const char *path,
                fs_each_fn visit,
                void *ctx,
                struct err *err);
    int (*replace)(struct fs *fs, /* NULL: by create and rename. */
                   const char *path,
                   struct slice contents,
                   struct err *err);
    int (*publish)(struct fs *fs, /* NULL: by lock, stat and replace. */
                   const char *path,
                   struct slice contents,
                   struct err *err);
    int (*lock)(struct fs *fs,
                const char *path,
                struct fs_lock **out,
                struct err *err);
    void (*unlock)(struct fs_lock *l);
};

struct fs {
    const struct fs_ops *ops;
    struct world *world;     /* Borrowed. */
    struct keyring *keyring; /* Shared; NULL: none. */
};

struct fs_writer {
    struct fs *fs;
    uint64_t offset; /* Bytes appended. */
};

struct fs_reader {
    struct fs *fs;
    uint64_t size_bytes;
};

struct fs_lock {
    struct fs *fs;
};

/* Is @path within fs.h's bounds: relative, short enough, without ".."? */
bool fs__path_is_valid(const char *path);

#endif /* GFS_LITE_FS_OPS_H */
