/* From the stored bytes of a block to its contents, by the block's codec.
 *
 * A decoder owns contexts of codecs and a buffer for the stored bytes; making
 * one costs more than using it, so they are pooled.
 *
 * Threads: a pool is for any thread, a decoder for one at a time.
 */
#ifndef BIGTABLE_SSTABLE_DECODER_H
#define BIGTABLE_SSTABLE_DECODER_H

#include "base/core/buf.h"
#include "base/core/err.h"
#include "bigtable/sstable/sstable_format.h"

struct decoder_pool;
struct decoder;

/* Empty. Owned. */
struct decoder_pool *decoder_pool_new(void);
/* PRE: every decoder was given back. */
void decoder_pool_free(struct decoder_pool *p);

/* An idle decoder, or a new one; the caller's until decoder_give(). */
struct decoder *decoder_take(struct decoder_pool *p);
/* Keep @d for reuse, unless there are enough. */
void decoder_give(struct decoder_pool *p, struct decoder *d);

/* At least @bytes for the stored form of a block; borrowed until the next call
 * or decoder_give(). NULL when memory is short. */
MUST_CHECK char *decoder_room(struct decoder *d, size_t bytes);

/* Expand @stored into the @raw_bytes at @to. @context has what the codec needs;
 * its dictionary may be NULL. PRE: @codec is known (block_trailer_check()
 * checks). Errors: ERR_CORRUPT. */
MUST_CHECK int decoder_expand(struct decoder *d,
                              enum block_codec codec,
                              const struct block_context *context,
                              struct slice stored,
                              char *to,
                              size_t raw_bytes,
                              struct err *err);

#endif /* BIGTABLE_SSTABLE_DECODER_H */
