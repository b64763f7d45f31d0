/* Blocks of pairs: what record files and spills are made of.
 *
 *     block   = stored_bytes:u32 raw_bytes:u32 entry_count:u32 crc:u32 payload
 *     payload = entry*            when stored_bytes == raw_bytes
 *             | zstd(entry*)      otherwise, always smaller
 *     entry   = shared:varint suffix:varint value:varint
 *               the key's last `suffix` bytes, then the value's bytes
 *
 * If bit 31 of stored_bytes is set, the payload is a sealed unit of the above
 * (base/crypt/sealer.h), without associated data.
 *
 * Integers are little-endian; crc is CRC32C over the header's first 12 bytes
 * and the payload. `shared` leading bytes of a key are those of the key before;
 * it is 0 in the first entry, so that a block can be read alone. Documented in
 * docs/formats.md, "Record files".
 *
 * Builder and cursor: one thread each.
 */
#ifndef MAPREDUCE_RECORDS_PAIR_BLOCK_H
#define MAPREDUCE_RECORDS_PAIR_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/slice.h"

struct block_codec;

#define BLOCK_HEADER_BYTES 16
#define BLOCK_SEALED       (UINT32_C(1) << 31)
/* Payload at which writers close a block: zstd gains little above. */
#define BLOCK_BYTES ((size_t)128 << 10)
/* A single large value makes a large block; no header may ask for more. */
#define BLOCK_BYTES_MAX ((size_t)272 << 20)
/* Largest value of a pair. */
#define BLOCK_VALUE_BYTES_MAX ((size_t)256 << 20)

struct pair_block_builder {
    struct buf raw;      /* Entries so far. */
    struct buf last_key; /* The key of the last of them. */
    uint32_t count;
};

void pair_block_builder_init(struct pair_block_builder *b);
void pair_block_builder_close(struct pair_block_builder *b);
/* PRE: key and value within MR_KEY_BYTES_MAX, BLOCK_VALUE_BYTES_MAX. */
void pair_block_builder_add(struct pair_block_builder *b,
                            struct slice key,
                            struct slice value);
/* Append the block, header first, to @out and start the next one. */
void pair_block_builder_finish(struct pair_block_builder *b,
                               struct block_codec *codec,
                               struct buf *out);

struct pair_block_header {
    uint32_t stored_bytes;
    uint32_t raw_bytes;
    uint32_t entry_count;
    uint32_t crc;
    bool is_sealed;
};

/* Decode the BLOCK_HEADER_BYTES at @p. ERR_CORRUPT: impossible lengths. */
MUST_CHECK int pair_block_header_decode(const char *p,
                                        struct pair_block_header *h,
                                        struct err *err);
/* Verify the block (header, then payload, at @p) and put its entries into
 * @raw. ERR_CORRUPT, ERR_NOMEM. */
MUST_CHECK int pair_block_open(const char *p,
                               const struct pair_block_header *h,
                               struct block_codec *codec,
                               struct buf *raw,
                               struct err *err);

/* Walks the entries of an opened block. Invariant INV-1: left entries remain in
 * [p, end); it is 0 at the end (pair_cursor_next() keeps it). */
struct pair_cursor {
    const char *p;
    const char *end;
    struct buf key;     /* The current key; 8 zero bytes follow it. */
    struct slice value; /* Borrowed from the opened block. */
    uint32_t left;      /* Entries to come. */
};

void pair_cursor_init(struct pair_cursor *c);
void pair_cursor_close(struct pair_cursor *c);
void pair_cursor_start(struct pair_cursor *c,
                       struct slice raw,
                       uint32_t entry_count);
/* The next entry; *@more false after the last. ERR_CORRUPT. */
MUST_CHECK int
pair_cursor_next(struct pair_cursor *c, bool *more, struct err *err);

#endif /* MAPREDUCE_RECORDS_PAIR_BLOCK_H */
