/* Writing record files: keys and values in blocks, with an index at the end.
 *
 *     file   = magic:u64 block* index footer
 *     index  = (bytes:varint entries:varint)*     one pair a block, in order
 *     footer = index_offset:u64 block_count:u32 crc:u32 record_count:u64
 *              magic:u64
 *
 * Blocks are those of pair_block.h; crc is CRC32C of the index, the index
 * offset and the block count. Documented in docs/formats.md, "Record files".
 *
 * One thread. Errors are kept for record_writer_finish(), which parks.
 */
#ifndef MAPREDUCE_RECORDS_RECORD_WRITER_H
#define MAPREDUCE_RECORDS_RECORD_WRITER_H

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"
#include "mapreduce/records/block_codec.h"
#include "mapreduce/records/pair_block.h"
#include "mapreduce/records/stream_writer.h"

#define RECORD_FILE_MAGIC        UINT64_C(0x3144524f43455251) /* "QRECORD1" */
#define RECORD_FILE_FOOTER_BYTES 32

struct job_files;

struct record_writer {
    struct stream_writer out;
    struct block_codec codec;
    struct pair_block_builder block;
    struct buf stored;
    struct buf index;
    uint32_t block_count;
    uint64_t record_count;
};

MUST_CHECK int record_writer_open(struct record_writer *r,
                                  const struct job_files *files,
                                  const char *path,
                                  int level,
                                  struct err *err);
/* Append a pair. PRE: sizes within MR_KEY_BYTES_MAX and BLOCK_VALUE_BYTES_MAX.
 * Never fails: see record_writer_finish(). Parks when a buffer is full. */
void record_writer_add(struct record_writer *r,
                       struct slice key,
                       struct slice value);
/* Complete the file and, with @sync, flush it to the disk. Returns the first
 * error of all calls before. Parks. */
MUST_CHECK int
record_writer_finish(struct record_writer *r, bool sync, struct err *err);
void record_writer_close(struct record_writer *r); /* Also of a zeroed one. */

#endif /* MAPREDUCE_RECORDS_RECORD_WRITER_H */
