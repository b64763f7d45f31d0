/* What the files about a chunk's file share. Private to chunk_file*.c. */
#ifndef GFS_LITE_CHUNKSERVER_CHUNK_FILE_PARTS_H
#define GFS_LITE_CHUNKSERVER_CHUNK_FILE_PARTS_H

#include "base/core/slice.h"
#include "gfs-lite/chunkserver/chunk_file.h"

/* A change of the file. */
struct file_job {
    struct chunk_file *file;
    struct slice data;
    const uint32_t *wanted_crc; /* Of the data; NULL: not known. */
    struct chunk_sums sums;     /* Of the chunk with them. */
    enum chunk_slot slot;
    struct chunk_tail tail;
    struct err *err;
    int rc;
};

static inline uint32_t block_of(uint32_t offset)
{
    return offset / CHUNK_BLOCK_BYTES;
}

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
/* Read block @block, of a chunk of @length whose unfinished block has the
 * checksum @tail_crc, and compare its checksum. A read that is wrong once may
 * be right the next time: then it was not the disk. Parks. */
MUST_CHECK int chunk_file__read_block(struct chunk_file *f,
                                      uint32_t block,
                                      uint32_t length,
                                      uint32_t tail_crc,
                                      char *dst,
                                      struct err *err);

MUST_CHECK int chunk_file__write_bytes(struct file *f,
                                       uint64_t at,
                                       const void *data,
                                       size_t len,
                                       struct err *err);

/* Fill in checksums and tail of @job, which appends its data. ERR_CORRUPT: they
 * are not what was wanted. */
MUST_CHECK int chunk_file__sum_up(struct file_job *job);
/* The records of @job, whose data is written, for a process that ends. Parks.
 */
MUST_CHECK int chunk_file__write_records(const struct file_job *job);
/* What @job appended is there. */
void chunk_file__take_append(const struct file_job *job);
/* The job's tail is synced. */
void chunk_file__take_sync(struct chunk_file *f);

/* The checksums of blocks before @length that came under a grant, to where the
 * server's are. */
MUST_CHECK int chunk_file__write_granted(struct chunk_file *f,
                                         uint32_t length,
                                         struct err *err);
/* Of a file just opened: end the grant that is found in it, and let @t say what
 * came under it; length 0: nothing. Its checksums are in f->table then. */
MUST_CHECK int chunk_file__find_grant(struct chunk_file *f,
                                      struct chunk_tail *t,
                                      struct err *err);

/* The file was changed through the page cache, or may have been. */
void chunk_file__forget_direct(struct chunk_file *f);
void chunk_file__close_direct(struct chunk_file *f);

#endif /* GFS_LITE_CHUNKSERVER_CHUNK_FILE_PARTS_H */
