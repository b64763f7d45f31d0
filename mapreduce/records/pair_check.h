/* Verifies blocks of pairs that arrive in pieces of any length: complete, and
 * with the checksums they were written with. For bytes that are stored now and
 * merged later.
 *
 * Invariant INV-1: header_bytes <= BLOCK_HEADER_BYTES, and left is 0 while the
 * header is incomplete (pair_check_feed() keeps it).
 *
 * One thread. Nothing here parks.
 */
#ifndef MAPREDUCE_RECORDS_PAIR_CHECK_H
#define MAPREDUCE_RECORDS_PAIR_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"
#include "mapreduce/records/pair_block.h"

/* Zeroed, it expects the first block. */
struct pair_check {
    char header[BLOCK_HEADER_BYTES]; /* Of the block at hand, */
    size_t header_bytes;             /* as many as have arrived. */
    uint32_t left;                   /* Of its payload. */
    uint32_t crc;
    uint32_t want;
};

/* Check @bytes, which follow those given before. ERR_CORRUPT. */
MUST_CHECK int
pair_check_feed(struct pair_check *c, struct slice bytes, struct err *err);
/* The run ends here. ERR_CORRUPT: it was cut inside a block. */
MUST_CHECK int pair_check_end(const struct pair_check *c, struct err *err);

#endif /* MAPREDUCE_RECORDS_PAIR_CHECK_H */
