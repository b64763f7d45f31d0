/* Sequential writing of one file bypassing the page cache, through one recycled
 * buffer: spills, record files and text parts are written with it. A page cache
 * write costs ten times the CPU of a direct one, and nothing written here is
 * read again soon by the same process.
 *
 * Invariants
 *
 *     INV-1. len <= cap.
 *     INV-2. code, once set, stays, and nothing is written after it.
 *     Both are kept by stream_writer.c.
 *
 * One thread. Append, finish and flush park.
 */
#ifndef MAPREDUCE_RECORDS_STREAM_WRITER_H
#define MAPREDUCE_RECORDS_STREAM_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"

struct file;
struct fs_writer;
struct job_files;

#define STREAM_WRITER_BYTES ((size_t)1 << 20)

struct stream_writer {
    struct file *file;         /* Of the world, or */
    struct fs_writer *fs_file; /* of a cell. */
    char *path;                /* For messages. Owned. */
    char *buf;                 /* Aligned for direct I/O. Owned. */
    size_t cap;
    size_t len;       /* Bytes in buf. */
    uint64_t written; /* Bytes in the file. */
    int code;         /* The first error; sticky. */
    struct err err;   /* Its text. */
};

/* Create or empty the file @path. On failure @s is as zeroed. Parks. */
MUST_CHECK int stream_writer_open(struct stream_writer *s,
                                  const struct job_files *files,
                                  const char *path,
                                  struct err *err);

/* Slow path of stream_writer_append. */
void stream_writer_spill(struct stream_writer *s, const char *data, size_t len);

/* Append @len bytes. Never fails: the first error is kept for
 * stream_writer_finish(). Parks when the buffer is full. */
static inline void
stream_writer_append(struct stream_writer *s, const void *data, size_t len)
{
    if (LIKELY(len < s->cap - s->len)) {
        if (len > 0)
            memcpy(s->buf + s->len, data, len);
        s->len += len;
    } else {
        stream_writer_spill(s, (const char *)data, len);
    }
}

/* Bytes appended so far. */
static inline uint64_t stream_writer_offset(const struct stream_writer *s)
{
    return s->written + s->len;
}

/* Write the buffered bytes and, with @sync, flush them to the disk; then close.
 * Returns the first error of all appends. Parks. */
MUST_CHECK int
stream_writer_finish(struct stream_writer *s, bool sync, struct err *err);

/* Close without completing; the file stays as it is. Allowed after finish, and
 * for a zeroed struct. */
void stream_writer_close(struct stream_writer *s);

#endif /* MAPREDUCE_RECORDS_STREAM_WRITER_H */
