/* Codecs: how the payload of a block is compressed, by the number that is
 * stored in the block's trailer.
 *
 * A codec is one file (codec_zstd.c) that defines its operations, and one line
 * of BLOCK_CODECS with a number that is only appended. Its compression is the
 * setting of a locality group (row/compression.h); all codecs of one
 * compression share the contexts of its encoder and decoder.
 *
 * Threads: operations are immutable; a context is for one thread at a time.
 */
#ifndef BIGTABLE_SSTABLE_SSTABLE_CODEC_H
#define BIGTABLE_SSTABLE_SSTABLE_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/row/compression.h"

struct dictionary;

/* Needs of a block beside its own bytes. */
enum block_need {
    BLOCK_NEEDS_NOTHING,
    BLOCK_NEEDS_DICTIONARY, /* That of its table. */
    BLOCK_NEEDS_REFERENCE   /* Another block of its table. */
};

/* These, for one block; what it does not need is not looked at. */
struct block_context {
    const struct dictionary *dictionary;
    struct slice reference; /* The other block, decoded. */
};

/* X(constant, number in files, operations). Number 0 is a block as it is. */
#define BLOCK_CODECS(X)                                                        \
    X(BLOCK_ZSTD, 1, block_codec_zstd)                                         \
    X(BLOCK_ZSTD_DICTIONARY, 2, block_codec_zstd_dictionary)                   \
    X(BLOCK_ZSTD_REFERENCE, 3, block_codec_zstd_reference)

#define BLOCK_CODEC_CONSTANT(constant, number, ops) constant = (number),

enum block_codec {
    BLOCK_RAW = 0,
    BLOCK_CODECS(BLOCK_CODEC_CONSTANT)
};

#undef BLOCK_CODEC_CONSTANT

struct block_codec_ops {
    enum compression compression; /* Of the groups whose blocks it writes. */
    enum block_need need;
    void *(*encoder_new)(void); /* Owned. */
    void (*encoder_free)(void *encoder);
    size_t (*bound)(size_t raw_bytes); /* Room that compress() may need. */
    /* Compress @raw at @level; returns the bytes at @to, or 0 when that fails.
     * @context has what the codec needs. */
    size_t (*compress)(void *encoder,
                       struct slice raw,
                       int level,
                       const struct block_context *context,
                       char *to,
                       size_t room);
    void *(*decoder_new)(void); /* Owned. */
    void (*decoder_free)(void *decoder);
    /* Expand @stored into exactly @raw_bytes at @to. The bytes may come from a
     * damaged file: ERR_CORRUPT. */
    int (*expand)(void *decoder,
                  struct slice stored,
                  const struct block_context *context,
                  char *to,
                  size_t raw_bytes,
                  struct err *err);
};

/* The operations of codec @number; NULL for BLOCK_RAW and unknown numbers. */
const struct block_codec_ops *block_codec_ops(unsigned number);
/* The codec of @compression for blocks with @need; BLOCK_RAW if there is none.
 */
enum block_codec block_codec_find(enum compression compression,
                                  enum block_need need);

#endif /* BIGTABLE_SSTABLE_SSTABLE_CODEC_H */
