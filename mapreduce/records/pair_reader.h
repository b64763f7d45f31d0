/* A run of blocks in a file, read forward pair by pair.
 *
 * The bytes come through one buffer in large aligned pieces, bypassing the page
 * cache when asked.
 *
 * Invariant INV-1: begin <= filled <= cap, and offset <= end (pair_reader.c
 * keeps it).
 *
 * One thread; next() and open_block() park.
 */
#ifndef MAPREDUCE_RECORDS_PAIR_READER_H
#define MAPREDUCE_RECORDS_PAIR_READER_H

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"
#include "mapreduce/records/pair_block.h"

struct block_codec;
struct job_file;

struct pair_reader {
    struct job_file *file; /* Borrowed. */
    struct block_codec *codec;
    uint64_t offset; /* Of the next byte to read from the file. */
    uint64_t end;    /* Of the run. */
    char *buf;       /* Aligned. Owned. */
    size_t cap;
    size_t begin; /* [begin, filled) is unread. */
    size_t filled;
    size_t read_bytes; /* How much to read at a time. */
    struct buf raw;    /* The open block. */
    struct pair_cursor cursor;
    uint64_t block_offset; /* Where the open block begins. */
    bool started;          /* A block was opened. */
};

/* Read [offset, end) of @file, @read_bytes (rounded up to 4096) at a time. */
void pair_reader_init(struct pair_reader *r,
                      struct job_file *file,
                      uint64_t offset,
                      uint64_t end,
                      size_t read_bytes,
                      struct block_codec *codec);
void pair_reader_close(struct pair_reader *r);

/* The next pair, in r->cursor; *@more false at the end. ERR_CORRUPT names the
 * offset of the block; pair_reader_open_block() then continues after it, unless
 * its header was damaged. Parks. */
MUST_CHECK int
pair_reader_next(struct pair_reader *r, bool *more, struct err *err);

/* Open the next block, dropping the rest of the current one. Parks. */
MUST_CHECK int
pair_reader_open_block(struct pair_reader *r, bool *more, struct err *err);

static inline struct slice pair_reader_key(const struct pair_reader *r)
{
    return slice_make(r->cursor.key.data, r->cursor.key.len);
}

static inline struct slice pair_reader_value(const struct pair_reader *r)
{
    return r->cursor.value;
}

#endif /* MAPREDUCE_RECORDS_PAIR_READER_H */
