/* The file of a chunk on a chunk server, as its server writes it, and as a
 * reader on the same machine reads it by a passed descriptor. docs/formats.md
 * has the grammar. For gfs-lite, and for `quarry dump`.
 *
 *     0      identity: number, version, sealed or not, length; one sector
 *     512    tail record, written by a sync, even
 *     1024   tail record, written by a sync, odd
 *     1536   tail record, written by a flush
 *     4096   CRC32C of each whole block, and of the last one once sealed
 *     8192   grant to a writer of this machine; one sector
 *     8704   its tail record, even
 *     9216   its tail record, odd
 *     12288  its CRC32C of each whole block it wrote
 *     65536  the chunk's bytes
 *
 * The bytes begin after a hole, which takes no space, because a page cache with
 * large pages then holds each block in one page: writing a block costs two
 * thirds of a write across several.
 *
 * A tail record has the chunk's length and the checksum of its last, partial
 * block. A flush overwrites the record of the flush before it, a sync the older
 * of the two of syncs: whatever a power failure leaves of later writes, the
 * record of the last sync and the bytes that it describes are intact.
 *
 * While a grant is open, a writer of this machine appends to the file itself:
 * bytes, then checksums, then its tail record; then it checks that the grant is
 * still open, and only if so has it written. A server ends the grant in the
 * file and reads the tail record afterwards: so one of the two sees the other's
 * action. The server's own table stays as it was when the grant was given, and
 * its records are those of syncs; after the grant's base the writer's table
 * counts, until the grant is settled or the chunk sealed.
 */
#ifndef GFS_LITE_CHUNK_FORMAT_H
#define GFS_LITE_CHUNK_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "gfs-lite/namenode_command.h"

/* The magic of the file. */
#define CHUNK_MAGIC "QRCHUNK1"

#define CHUNK_BLOCK_BYTES  ((uint32_t)64 << 10)
#define CHUNK_BLOCKS_MAX   (GFS_CHUNK_BYTES / CHUNK_BLOCK_BYTES)
#define CHUNK_SECTOR_BYTES 512
#define CHUNK_TABLE_AT     4096
#define CHUNK_HEAD_BYTES   8192
#define CHUNK_GRANT_AT     8192
#define CHUNK_WRITER_AT    8704
#define CHUNK_SUMS_AT      12288
#define CHUNK_DATA_AT      65536

STATIC_ASSERT(CHUNK_TABLE_AT + CHUNK_BLOCKS_MAX * 4 <= CHUNK_HEAD_BYTES,
              "the checksums of all blocks have room in the head");
STATIC_ASSERT(CHUNK_GRANT_AT >= CHUNK_HEAD_BYTES &&
                  CHUNK_SUMS_AT >= CHUNK_WRITER_AT + 2 * CHUNK_SECTOR_BYTES &&
                  CHUNK_SUMS_AT + CHUNK_BLOCKS_MAX * 4 <= CHUNK_DATA_AT,
              "the areas of a writer overlap no others");
STATIC_ASSERT(CHUNK_DATA_AT % CHUNK_BLOCK_BYTES == 0,
              "blocks are aligned to large pages");

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

/* The grant of a writer of this machine, open or ended. */
struct chunk_grant {
    uint64_t number; /* Random: identifies the grant. */
    uint32_t base;   /* The chunk's length when it was given. */
    bool open;
};

/* The place of a writer's tail record @sequence: the last record stays intact
 * while the next is being written. */
static inline uint64_t chunk_writer_at(uint64_t sequence)
{
    return CHUNK_WRITER_AT + (sequence % 2) * CHUNK_SECTOR_BYTES;
}

/* Checksums of a chunk after an append. */
struct chunk_sums {
    uint32_t length; /* Of the chunk, */
    uint32_t crc;    /* of its last block, if it is not whole. */
    uint32_t first_block;
    uint32_t block_count; /* Blocks that became whole, from there on, and their
                             checksums. */
    uint32_t entries[CHUNK_BLOCKS_MAX];
};

/* Encode the identity. */
void chunk_identity_put(const struct chunk_identity *id,
                        char sector[CHUNK_SECTOR_BYTES]);
/* Decode it. Errors: ERR_CORRUPT, ERR_UNSUPPORTED (version of the format). */
MUST_CHECK int chunk_identity_get(const char sector[CHUNK_SECTOR_BYTES],
                                  struct chunk_identity *id,
                                  struct err *err);

/* Encode a tail record. */
void chunk_tail_put(const struct chunk_tail *t,
                    char sector[CHUNK_SECTOR_BYTES]);
/* Decode it. False: there is none. */
bool chunk_tail_get(const char sector[CHUNK_SECTOR_BYTES],
                    struct chunk_tail *t);

/* Encode a grant. */
void chunk_grant_put(const struct chunk_grant *g,
                     char sector[CHUNK_SECTOR_BYTES]);
/* Decode it. False: there is none. */
bool chunk_grant_get(const char sector[CHUNK_SECTOR_BYTES],
                     struct chunk_grant *g);

/* Append @data: s->length and s->crc become those of the chunk with them, and
 * entries of completed blocks are added. Returns the checksum of @data alone.
 */
uint32_t chunk_sums_add(struct chunk_sums *s, struct slice data);

/* Bytes of block @index of a chunk of @length. */
static inline uint32_t chunk_block_bytes(uint32_t length, uint32_t index)
{
    uint32_t left = length - index * CHUNK_BLOCK_BYTES;
    return MIN_OF(left, CHUNK_BLOCK_BYTES);
}

#endif /* GFS_LITE_CHUNK_FORMAT_H */
