/* What the files about a chunk's file share. Private to chunk_file*.c. */
#ifndef GFS_LITE_CHUNKSERVER_CHUNK_FILE_PARTS_H
#define GFS_LITE_CHUNKSERVER_CHUNK_FILE_PARTS_H

#include "gfs-lite/chunkserver/chunk_file.h"

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

#endif /* GFS_LITE_CHUNKSERVER_CHUNK_FILE_PARTS_H */
