/* A map attempt's output for the reducers: sorted runs, each cut by partition.
 *
 *     file   = magic run* index footer
 *     run    = segment*              one for each partition that has pairs
 *     segment= block*                pairs in the job's order
 *     index  = (partition:varint run:varint offset:varint bytes:varint
 *               pairs:varint)*
 *     footer = index_offset:u64 entries:u32 crc:u32 magic:u64
 *
 * crc is CRC32C of the index and of the footer's first 12 bytes. The index is
 * in order of the runs. Readers of partition p merge its segments; a segment of
 * an earlier run holds what was emitted earlier. Documented in docs/formats.md.
 *
 * One thread a writer; everything parks.
 */
#ifndef MAPREDUCE_SHUFFLE_SPILL_H
#define MAPREDUCE_SHUFFLE_SPILL_H

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"
#include "mapreduce/records/block_codec.h"
#include "mapreduce/records/pair_block.h"
#include "mapreduce/records/stream_writer.h"

struct world;

#define SPILL_MAGIC        UINT64_C(0x314c4c4950535251) /* "QRSPILL1" */
#define SPILL_FOOTER_BYTES 24

/* The pairs of one partition in one run. */
struct spill_segment {
    uint32_t partition;
    uint32_t run;
    uint64_t offset;
    uint64_t bytes;
    uint64_t pairs;
};

struct spill_writer {
    struct stream_writer out;
    struct pair_block_builder block;
    struct block_codec *codec; /* Borrowed. */
    struct buf stored;         /* The block being written. */
    struct spill_segment *segments;
    size_t segment_count;
    size_t segment_cap;
    uint32_t run_count;
    uint64_t raw_bytes; /* Of all blocks, before compression. */
};

/* Create the spill at @path; @codec is borrowed until the writer is closed.
 * Close it after failure too. Parks. */
MUST_CHECK int spill_writer_open(struct spill_writer *s,
                                 struct world *w,
                                 const char *path,
                                 struct block_codec *codec,
                                 struct err *err);
/* Start a new run: in it partitions ascend, and keys within a partition. PRE:
 * the writer is open. */
void spill_writer_start_run(struct spill_writer *s);
/* Append a pair to the run. Errors are kept for spill_writer_finish(). PRE: a
 * run was started; @partition is not below that of the pair before. Parks when
 * a buffer is full. */
void spill_writer_add(struct spill_writer *s,
                      uint32_t partition,
                      struct slice key,
                      struct slice value);
/* Write the index and close the file. Returns the first error of all adds.
 * Parks. */
MUST_CHECK int spill_writer_finish(struct spill_writer *s, struct err *err);
void spill_writer_close(struct spill_writer *s); /* Also of a zeroed one. */

/* Read the index of the spill at @path: *@segments is owned (mem_free).
 * ERR_CORRUPT, ERR_NOTFOUND. */
MUST_CHECK int spill_index_read(struct world *w,
                                const char *path,
                                struct spill_segment **segments,
                                size_t *count,
                                struct err *err);

#endif /* MAPREDUCE_SHUFFLE_SPILL_H */
