/* Blocks of pairs that pass by in pieces of any length: are they whole, and as
 * they were written? For bytes that are stored and merged later.
 *
 * One thread.
 */
#ifndef MAPREDUCE_RECORDS_PAIR_CHECK_H
#define MAPREDUCE_RECORDS_PAIR_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"
#include "mapreduce/records/pair_block.h"

/* Zeroed, it waits for the first block. */
struct pair_check {
    char header[BLOCK_HEADER_BYTES]; /* Of the open block, */
    size_t header_bytes;             /* as far as it came. */
    uint32_t left;                   /* Of its payload. */
    uint32_t crc;
    uint32_t want;
};

/* More bytes. ERR_CORRUPT. */
MUST_CHECK int
pair_check_feed(struct pair_check *c, struct slice bytes, struct err *err);
/* A run ends here. ERR_CORRUPT: it was cut inside a block. */
MUST_CHECK int pair_check_end(const struct pair_check *c, struct err *err);

#endif /* MAPREDUCE_RECORDS_PAIR_CHECK_H */
