/* What the parts of the local file system share: local.c knows names,
 * local_writer.c writes, local_reader.c reads. Included by these three only.
 */
#ifndef GFS_LITE_LOCAL_H
#define GFS_LITE_LOCAL_H

#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "gfs-lite/fs.h"

/* Bytes of one buffer of a streaming writer; at 1 MiB a direct write costs what
 * the disk costs, and no more. */
#define STREAM_BUFFER_BYTES ((size_t)1 << 20)

/* Idle buffers kept: a flush and a compaction per CPU of a small machine. */
#define STREAM_BUFFER_IDLE_MAX 8

struct stream_buffer;

struct fs {
    struct world *world; /* Borrowed. */
    char *root;          /* Owned, without a final '/'. */
    struct mutex mutex;  /* Of the idle list: writers are on any thread. */
    struct stream_buffer *idle;
    size_t idle_count;
};

/* Memory aligned for direct I/O. */
struct stream_buffer {
    struct stream_buffer *next; /* In the idle list. */
    char *data;                 /* STREAM_BUFFER_BYTES, aligned. */
};

struct stream_buffer *stream_buffer_take(struct fs *fs);
void stream_buffer_give(struct fs *fs, struct stream_buffer *b);

/* Full name of @path, owned: mem_free(). ERR_INVALID when it is absolute, holds
 * ".." or is too long. */
MUST_CHECK int
local_path(struct fs *fs, const char *path, char **out, struct err *err);

/* The directory part of @path (owned), or "" for one in the root. */
char *local_parent(const char *path);

#endif /* GFS_LITE_LOCAL_H */
