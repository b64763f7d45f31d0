/* Bytes of an SSTable, shared by its writer, its reader and the dumper.
 *
 *     table   = { block } footer
 *     block   = payload codec crc
 *     codec   = 1 byte, enum block_codec (sstable_codec.h)
 *     crc     = CRC32C of payload and codec, little-endian
 *     footer  = top handle, properties handle, dictionary handle,
 *               reserved (8 zero bytes), version (le32),
 *               CRC32C of all that precedes it in the footer, magic
 *
 * A payload is what the codec says; decoded, it is one of
 *     data block   entries, see block.h
 *     index block  a block whose keys are separators and whose values are
 *                  handles of data blocks; the block of key k is the first one
 *                  whose separator is greater than k
 *     filter       bits of a Bloom filter, see bloom.h
 *     top          a block of one entry a partition: its key is the last key of
 *                  the partition, exactly; its value names the partition's
 *                  index block, its filter (length 0: none) and counts its
 *                  data blocks
 *     properties   { tag varint, length varint, bytes }; readers skip unknown
 *                  tags
 *     dictionary   of zstd; stored raw
 *
 * Blocks lie in the order data…, with the filter and the index of a partition
 * behind its last data block, then dictionary, properties and top. The example
 * in docs/formats.md takes one apart.
 */
#ifndef BIGTABLE_SSTABLE_SSTABLE_FORMAT_H
#define BIGTABLE_SSTABLE_SSTABLE_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "bigtable/sstable/sstable_codec.h"

#define SSTABLE_MAGIC   UINT64_C(0x5453537972726151) /* "QarrySST" */
#define SSTABLE_VERSION UINT32_C(1)
/* Encrypted: a sealing lies before the footer, see sealing.h. */
#define SSTABLE_VERSION_SEALED UINT32_C(2)
#define SSTABLE_FOOTER_BYTES   ((size_t)72)
#define BLOCK_TRAILER_BYTES    ((size_t)5)

/* Offsets inside the footer. A later version may give the handles another
 * meaning; length, version, CRC and magic stay where they are. */
enum {
    FOOTER_TOP_AT = 0,
    FOOTER_PROPERTIES_AT = 16,
    FOOTER_DICTIONARY_AT = 32,
    FOOTER_RESERVED_AT = 48,
    FOOTER_VERSION_AT = 56,
    FOOTER_CRC_AT = 60,
    FOOTER_MAGIC_AT = 64,
};

STATIC_ASSERT(FOOTER_MAGIC_AT + 8 == SSTABLE_FOOTER_BYTES, "the magic is last");
STATIC_ASSERT(FOOTER_CRC_AT == FOOTER_VERSION_AT + 4, "CRC behind version");

/* Largest block before compression: the largest value, its key, and change. */
#define BLOCK_BYTES_MAX ((uint32_t)((1u << 30) + (1u << 20)))

/* Largest table: what a handle's offset may point at. */
#define SSTABLE_BYTES_MAX (UINT64_C(1) << 48)

/* zstd makes at most 128 KiB of 4 bytes; a handle that claims more is damaged.
 */
#define BLOCK_EXPANSION_MAX UINT64_C(40000)

/* Where a block is. stored_bytes 0 means that there is none. */
struct block_handle {
    uint64_t offset;
    uint32_t stored_bytes; /* Payload as stored, without the trailer. */
    uint32_t raw_bytes;    /* Decoded. */
};

/* Room block_handle_put() may need. */
#define BLOCK_HANDLE_BYTES_MAX ((size_t)20)

/* Write @h at @p as three varints; returns the end. */
char *block_handle_put(char *p, const struct block_handle *h);

/* Read one. Sets c->bad when it is malformed or does not lie in a file of
 * @file_bytes. */
void block_handle_get(struct cursor *c,
                      uint64_t file_bytes,
                      struct block_handle *h);

/* Five bytes behind a payload: the codec and the CRC over both. @crc is that of
 * the payload. */
void block_trailer_put(char *p, enum block_codec codec, uint32_t payload_crc);

/* Check the trailer behind @stored_bytes of payload at @p; *@codec is set.
 * Errors: ERR_CORRUPT. */
MUST_CHECK int block_trailer_check(const char *p,
                                   size_t stored_bytes,
                                   enum block_codec *codec,
                                   struct err *err);

struct sstable_footer {
    struct block_handle top;
    struct block_handle properties;
    struct block_handle dictionary;
    bool is_sealed; /* The file is encrypted. */
};

/* Append the SSTABLE_FOOTER_BYTES of @f. */
void sstable_footer_append(struct buf *out, const struct sstable_footer *f);

/* Decode the last SSTABLE_FOOTER_BYTES of a file of @file_bytes.
 * Errors: ERR_CORRUPT; ERR_UNSUPPORTED for a version this code does not know.
 */
MUST_CHECK int sstable_footer_parse(const char *p,
                                    uint64_t file_bytes,
                                    struct sstable_footer *f,
                                    struct err *err);

/* One entry of the top block. */
struct partition_entry {
    struct block_handle index;
    struct block_handle filter; /* stored_bytes 0: no filter. */
    uint32_t block_count;       /* Data blocks it lists. */
};

/* Append @e, an entry of the index of partitions, to @out. */
void partition_entry_append(struct buf *out, const struct partition_entry *e);
/* Read an entry that lies within a file of @file_bytes. ERR_CORRUPT. */
MUST_CHECK int partition_entry_parse(struct slice value,
                                     uint64_t file_bytes,
                                     struct partition_entry *e,
                                     struct err *err);

#endif /* BIGTABLE_SSTABLE_SSTABLE_FORMAT_H */
