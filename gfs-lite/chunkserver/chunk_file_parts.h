/* Shared by the files that implement chunk_file.h. Private to chunk_file*.c. */
#ifndef GFS_LITE_CHUNKSERVER_CHUNK_FILE_PARTS_H
#define GFS_LITE_CHUNKSERVER_CHUNK_FILE_PARTS_H

#include "base/core/slice.h"
#include "gfs-lite/chunkserver/chunk_file.h"

/* A change of the file, run on the loop or by the pool. */
struct file_job {
    struct chunk_file *file;
    struct slice data;
    const uint32_t *wanted_crc; /* Of the data; NULL: not known. */
    struct chunk_sums sums;     /* Checksums of the chunk with the data. */
    enum chunk_slot slot;
    struct chunk_tail tail;
    struct err *err;
    int rc;
};

/* The block that @offset is in. */
static inline uint32_t block_of(uint32_t offset)
{
    return offset / CHUNK_BLOCK_BYTES;
}

/* Does a chunk of @length end with a partial block? */
static inline bool ends_in_block(uint32_t length)
{
    return length % CHUNK_BLOCK_BYTES != 0;
}

/* Read exactly @len bytes of @file. ERR_CORRUPT: it is too short. Parks. */
MUST_CHECK int chunk_file__read_bytes(struct file *file,
                                      uint64_t at,
                                      void *dst,
                                      size_t len,
                                      struct err *err);
/* Read block @block of a chunk of @length whose partial block has the checksum
 * @tail_crc, and verify it. A read that fails is tried once more, because the
 * error may not have been the disk's. Parks. Errors: ERR_CORRUPT, ERR_IO. */
MUST_CHECK int chunk_file__read_block(struct chunk_file *f,
                                      uint32_t block,
                                      uint32_t length,
                                      uint32_t tail_crc,
                                      char *dst,
                                      struct err *err);

/* Write all @len bytes at @at. Parks. Errors: ERR_IO, ERR_FULL. */
MUST_CHECK int chunk_file__write_bytes(struct file *f,
                                       uint64_t at,
                                       const void *data,
                                       size_t len,
                                       struct err *err);

/* Compute checksums and tail of @job, which appends its data. ERR_CORRUPT: the
 * data differ from their checksum. */
MUST_CHECK int chunk_file__sum_up(struct file_job *job);
/* Write the records of @job, whose data is written, through the page cache:
 * they survive the end of the process. Parks. */
MUST_CHECK int chunk_file__write_records(const struct file_job *job);
/* Update the state by @job's append. */
void chunk_file__take_append(const struct file_job *job);
/* The job's tail is synced: the next sync uses the other slot. */
void chunk_file__take_sync(struct chunk_file *f);

/* Copy the checksums of blocks before @length that were written under a grant
 * to the server's table. */
MUST_CHECK int chunk_file__write_granted(struct chunk_file *f,
                                         uint32_t length,
                                         struct err *err);
/* Of a file just opened: revoke the grant that is found in it. @t describes the
 * bytes written under it (length 0: none), and f->table has their checksums. */
MUST_CHECK int chunk_file__find_grant(struct chunk_file *f,
                                      struct chunk_tail *t,
                                      struct err *err);

/* The file was changed through the page cache, or may have been. */
void chunk_file__forget_direct(struct chunk_file *f);
/* Close the descriptor past the page cache, if there is one. */
void chunk_file__close_direct(struct chunk_file *f);

#endif /* GFS_LITE_CHUNKSERVER_CHUNK_FILE_PARTS_H */
