/* Shared by the local file system's files: local.c has names, local_writer.c
 * writes, local_reader.c reads. Included by these three only.
 */
#ifndef GFS_LITE_LOCAL_H
#define GFS_LITE_LOCAL_H

#include <stdatomic.h>

#include <bsd/sys/queue.h>

#include "base/core/hash_map.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "gfs-lite/fs_ops.h"

/* Bytes of one buffer of a streaming writer; at 1 MiB a direct write costs what
 * the disk costs, and no more. */
#define STREAM_BUFFER_BYTES ((size_t)1 << 20)

/* Readers may have this part of the process's descriptors open at a time. */
#define OPEN_PART 2
#define OPEN_MIN  8u

/* Idle buffers kept: a flush and a compaction per CPU of a small machine. */
#define STREAM_BUFFER_IDLE_MAX 8

struct local_reader;
struct stream_buffer;

struct local_fs {
    struct fs base;
    char *root;         /* Owned, without a final '/'. */
    struct mutex mutex; /* Of what follows: writers are on any thread. */
    struct stream_buffer *idle;
    size_t idle_count;
    struct hash_map
        kept; /* Directories whose names are durable: local_sync_name(). */
    unsigned open_max; /* Readers keep fewer files open, about. */
    atomic_uint open_count;
    struct mutex list_mutex; /* Of the list. Taken after a reader's mutex. */
    TAILQ_HEAD(, local_reader)
    readers; /* With an open file, in the order in
                which the hand meets them. */
};

/* Memory aligned for direct I/O. */
struct stream_buffer {
    struct stream_buffer *next; /* In the idle list. */
    char *data;                 /* STREAM_BUFFER_BYTES, aligned. */
};

/* An idle buffer, or a new one. Owned. */
struct stream_buffer *stream_buffer_take(struct local_fs *fs);
/* Give it back. */
void stream_buffer_give(struct local_fs *fs, struct stream_buffer *b);

/* Full name of @path, owned: mem_free(). ERR_INVALID when it is absolute, holds
 * ".." or is too long. */
MUST_CHECK int
local_path(struct local_fs *fs, const char *path, char **out, struct err *err);

/* Make the name of the file @path and of its directory durable: the process
 * that made it may have been killed before it synced that. A process that makes
 * a directory has synced those above it. */
MUST_CHECK int
local_sync_name(struct local_fs *fs, const char *path, struct err *err);

static inline struct local_fs *local_fs(struct fs *fs)
{
    return (struct local_fs *)fs;
}

/* Implementations of fs.h by local_writer.c and local_reader.c. They park. */
int local_create(struct fs *fs,
                 const char *path,
                 const struct fs_write_options *opts,
                 struct fs_writer **out,
                 struct err *err);
int local_append(struct fs_writer *base,
                 const void *data,
                 size_t len,
                 struct err *err);
int local_flush(struct fs_writer *base, struct err *err);
int local_sync(struct fs_writer *base, struct err *err);
void local_writer_close(struct fs_writer *base);
int local_open(struct fs *fs,
               const char *path,
               struct fs_reader **out,
               struct err *err);
int local_read_at(struct fs_reader *base,
                  uint64_t offset,
                  void *dst,
                  size_t len,
                  size_t *got,
                  struct err *err);
int local_read_once_at(struct fs_reader *base,
                       uint64_t offset,
                       void *dst,
                       size_t len,
                       size_t *got,
                       struct err *err);
int local_read_scan_at(struct fs_reader *base,
                       uint64_t offset,
                       void *dst,
                       size_t len,
                       size_t *got,
                       struct err *err);
enum fs_place
local_read_place(struct fs_reader *base, uint64_t offset, uint64_t len);
void local_prefetch(struct fs_reader *base, uint64_t offset, uint64_t len);
void local_reader_close(struct fs_reader *base);
size_t local_locality(struct fs_reader *base,
                      uint64_t offset,
                      uint64_t len,
                      const char **machines,
                      size_t machines_max);

/* The directory part of @path (owned), or "" for one in the root. */
char *local_parent(const char *path);

#endif /* GFS_LITE_LOCAL_H */
