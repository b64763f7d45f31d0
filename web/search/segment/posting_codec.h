/* Postings as bytes: documents, weights, frequencies, positions.
 *
 *     block     = deltas, weights, frequencies      of 1 to 128 postings
 *       fewer than POSTING_SHORT_MAX postings: each is delta varint, weight u8,
 *       frequency varint
 *     deltas, frequencies = bits u8, exceptions u8, packed values of `bits`
 *                 bits each, exceptions × (index u8, high bits varint)
 *     weights   = least u8, bits u8, packed (weight - least)
 *     positions = for each posting its gaps, Rice coded, one after the other,
 *                 bits from the least; zero bits up to a byte at the block's
 * end
 *
 * A delta is that to the document before, less one; a frequency is stored less
 * one. Most values of a block fit few bits; the rest are exceptions (patched
 * frame of reference: Zukowski et al. 2006). A Rice parameter follows from the
 * document's length and the frequency alone, so that it is not stored: near the
 * least bits there are for words strewn at random (Witten, Moffat, Bell 1999).
 *
 * Bytes come from files: functions that read refuse what does not fit, and
 * never look behind the end. Pure.
 */
#ifndef WEB_SEARCH_SEGMENT_POSTING_CODEC_H
#define WEB_SEARCH_SEGMENT_POSTING_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/macros.h"
#include "base/core/slice.h"

struct buf;
struct cursor;

#define POSTING_BLOCK_MAX 128
#define POSTING_SHORT_MAX 8
/* Positions are below it: no document has as many words. */
#define POSTING_POSITION_MAX (UINT32_C(1) << 28)

/* Append @count documents (strictly ascending from @base on), weights and
 * frequencies (at least 1). */
void posting_block_put(struct buf *out,
                       uint32_t base,
                       const uint32_t *docs,
                       const uint8_t *weights,
                       const uint32_t *frequencies,
                       size_t count);
/* Read a block of @count postings; documents are below @doc_end. False: it is
 * damaged. */
MUST_CHECK bool posting_block_get(struct cursor *c,
                                  uint32_t base,
                                  uint32_t doc_end,
                                  size_t count,
                                  uint32_t *docs,
                                  uint8_t *weights,
                                  uint32_t *frequencies);

/* --- positions ----------------------------------------------------------- */

struct bit_writer {
    struct buf *out; /* Borrowed. */
    uint64_t bits;
    unsigned count; /* Of bits that are not in @out yet; below 8. */
};

/* Append the ascending @positions of a posting, below @length, that of its
 * document. */
void positions_put(struct bit_writer *w,
                   uint32_t length,
                   const uint32_t *positions,
                   size_t count);
void bit_writer_end(struct bit_writer *w);

struct bit_reader {
    const unsigned char *p;
    const unsigned char *end;
    uint64_t bits;
    unsigned count;
    bool bad; /* Sticky. */
};

void bit_reader_init(struct bit_reader *r, struct slice bytes);
/* Read what positions_put() wrote; @out may be NULL to skip them. False: it is
 * damaged; @r->bad is set, too. */
bool positions_get(struct bit_reader *r,
                   uint32_t length,
                   size_t count,
                   uint32_t *out);

#endif /* WEB_SEARCH_SEGMENT_POSTING_CODEC_H */
