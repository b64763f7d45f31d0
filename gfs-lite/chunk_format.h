/* A chunk's file on a chunk server: what its server writes, and what a reader
 * on the same machine is handed the descriptor of. docs/formats.md has the
 * grammar.
 *
 *     0      identity: number, version, sealed or not, length; one sector
 *     512    tail record, written by a sync, even
 *     1024   tail record, written by a sync, odd
 *     1536   tail record, written by a flush
 *     4096   CRC32C of each whole block, and of the last one once sealed
 *     65536  the chunk's bytes
 *
 * The bytes begin so late, behind a hole that takes no space, because a page
 * cache with large pages then holds each block in one of them: writing a block
 * costs two thirds of what it does across several.
 *
 * A tail record says how long the chunk is and what the checksum of its last,
 * unfinished block is up to there. A flush overwrites the record of the flush
 * before it, a sync the older of the two of syncs: whatever a loss of power
 * leaves of later writes, the record of the last sync and the bytes it speaks
 * of are there.
 */
#ifndef GFS_LITE_CHUNK_FORMAT_H
#define GFS_LITE_CHUNK_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "gfs-lite/command.h"

/* What the file begins with. */
#define CHUNK_MAGIC "QRCHUNK1"

#define CHUNK_BLOCK_BYTES  ((uint32_t)64 << 10)
#define CHUNK_BLOCKS_MAX   (GFS_CHUNK_BYTES / CHUNK_BLOCK_BYTES)
#define CHUNK_SECTOR_BYTES 512
#define CHUNK_TABLE_AT     4096
#define CHUNK_HEAD_BYTES   8192
#define CHUNK_DATA_AT      65536

STATIC_ASSERT(CHUNK_TABLE_AT + CHUNK_BLOCKS_MAX * 4 <= CHUNK_HEAD_BYTES,
              "the checksums of all blocks have room in the head");
STATIC_ASSERT(CHUNK_DATA_AT % CHUNK_BLOCK_BYTES == 0,
              "a block lies where a large page may");

enum chunk_slot {
    CHUNK_SLOT_SYNC_EVEN = 1, /* Number of the sector. */
    CHUNK_SLOT_SYNC_ODD = 2,
    CHUNK_SLOT_FLUSH = 3,
};

struct chunk_identity {
    uint64_t handle;
    uint32_t version;
    bool sealed;
    uint32_t length; /* Of a sealed one. */
};

struct chunk_tail {
    uint64_t sequence; /* Greater: later. */
    uint32_t length;
    uint32_t crc; /* Of the bytes from the last block's beginning on. */
};

void chunk_identity_put(const struct chunk_identity *id,
                        char sector[CHUNK_SECTOR_BYTES]);
/* Errors: ERR_CORRUPT, ERR_UNSUPPORTED (version of the format). */
MUST_CHECK int chunk_identity_get(const char sector[CHUNK_SECTOR_BYTES],
                                  struct chunk_identity *id,
                                  struct err *err);

void chunk_tail_put(const struct chunk_tail *t,
                    char sector[CHUNK_SECTOR_BYTES]);
/* False: there is none. */
bool chunk_tail_get(const char sector[CHUNK_SECTOR_BYTES],
                    struct chunk_tail *t);

/* Bytes of block @index of a chunk of @length. */
static inline uint32_t chunk_block_bytes(uint32_t length, uint32_t index)
{
    uint32_t left = length - index * CHUNK_BLOCK_BYTES;
    return MIN_OF(left, CHUNK_BLOCK_BYTES);
}

#endif /* GFS_LITE_CHUNK_FORMAT_H */
