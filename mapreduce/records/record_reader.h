/* Reading record files (record_writer.h): all blocks, or a range of them.
 *
 * Invariant INV-1: the offset of the next block <= limit <= data_end
 * (record_reader_limit() and record_reader_salvage() keep it).
 *
 * One thread; everything but the index walk parks.
 */
#ifndef MAPREDUCE_RECORDS_RECORD_READER_H
#define MAPREDUCE_RECORDS_RECORD_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/slice.h"
#include "mapreduce/records/block_codec.h"
#include "mapreduce/records/pair_reader.h"

struct job_file;
struct job_files;

struct record_reader {
    struct job_file *file;
    char *path; /* For messages. Owned. */
    struct block_codec codec;
    struct pair_reader blocks;
    struct buf index; /* Its varints, without the footer. */
    uint32_t block_count;
    uint64_t record_count;
    uint64_t data_end;      /* The end of the blocks. */
    uint64_t limit;         /* The end of those to be read. */
    uint64_t block_records; /* Given out of the current block. */
    bool open;
};

/* Open the file and verify its index; reading starts at its first record.
 * ERR_CORRUPT: cut, damaged, or no record file at all. */
MUST_CHECK int record_reader_open(struct record_reader *r,
                                  const struct job_files *files,
                                  const char *path,
                                  struct err *err);
/* Open a file whose index is lost or damaged: blocks are read one after the
 * other, to the end of the file. ERR_CORRUPT: no record file at all. */
MUST_CHECK int record_reader_salvage(struct record_reader *r,
                                     const struct job_files *files,
                                     const char *path,
                                     struct err *err);
/* Also of a zeroed one, and after a failed open. */
void record_reader_close(struct record_reader *r);

/* Read only blocks in [begin, end), offsets that the index has. */
void record_reader_limit(struct record_reader *r, uint64_t begin, uint64_t end);

/* The next record; borrowed until the next call. ERR_CORRUPT names the file and
 * the offset of the block. */
MUST_CHECK int record_reader_next(struct record_reader *r,
                                  struct slice *key,
                                  struct slice *value,
                                  bool *more,
                                  struct err *err);

/* After ERR_CORRUPT of record_reader_next(): continue with the next block that
 * can be read, or the end. *@records were lost, as far as the index is known,
 * and *@bytes of the file skipped. */
MUST_CHECK int record_reader_resync(struct record_reader *r,
                                    uint64_t *records,
                                    uint64_t *bytes,
                                    struct err *err);

/* Walk the index: the next block's bytes and records. *@cursor is 0 at first;
 * false at the end. */
bool record_reader_block(const struct record_reader *r,
                         size_t *cursor,
                         uint64_t *bytes,
                         uint64_t *records);

#endif /* MAPREDUCE_RECORDS_RECORD_READER_H */
