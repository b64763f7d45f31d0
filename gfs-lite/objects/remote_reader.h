/* Reading a file that a server has, in ranges: the reader of the file systems
 * of objects.h.
 *
 * Blocks of 4 MiB are fetched in parallel ahead of a reader who reads from
 * front to back, and exact ranges for one who jumps.
 *
 * Threads: any. Reads park.
 */
#ifndef GFS_LITE_OBJECTS_REMOTE_READER_H
#define GFS_LITE_OBJECTS_REMOTE_READER_H

#include "base/objects/object_client.h" /* object_read */
#include "gfs-lite/fs_ops.h"

/* Where the bytes come from. */
struct remote_source {
    void (*start)(void *ctx, struct object_read *r); /* object_read_start() */
    void *ctx;                                       /* Borrowed. */
};

/* A reader of the file @key (copied) of @size_bytes, in the version @etag
 * (copied, ""; any). Owned: remote_reader_close(). */
struct fs_reader *remote_reader_new(struct fs *fs,
                                    const char *key,
                                    const char *etag,
                                    uint64_t size_bytes,
                                    struct remote_source source);

/* Implementations of fs.h. */
int remote_reader_read_at(struct fs_reader *r,
                          uint64_t offset,
                          void *dst,
                          size_t len,
                          size_t *got,
                          struct err *err);
enum fs_place
remote_reader_place(struct fs_reader *r, uint64_t offset, uint64_t len);
void remote_reader_prefetch(struct fs_reader *r, uint64_t offset, uint64_t len);
void remote_reader_close(struct fs_reader *r);
/* The servers are elsewhere. */
size_t remote_reader_locality(struct fs_reader *r,
                              uint64_t offset,
                              uint64_t len,
                              const char **machines,
                              size_t machines_max);

#endif /* GFS_LITE_OBJECTS_REMOTE_READER_H */
