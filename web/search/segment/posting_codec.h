/* Postings as bytes: documents, frequencies, weights, positions.
 *
 *     block     = deltas values            of 128 postings
 *               | (documents values)       of fewer: one stream of bits
 *     deltas    = bits u8, exceptions u8, packed values of `bits` bits each,
 *                 exceptions × (index u8, high bits varint)
 *     documents = interpolated in [base, end of documents)
 *     values    = gamma(frequency)*, then gamma(1 + zigzag(weight - guess))*
 *     positions = for each posting: interpolated in [0, length)
 *
 * Streams of bits begin with the least bit of a byte, and end with zeros up to
 * a byte. A delta is that to the document before, less one; most of a block fit
 * few bits, the rest are exceptions (patched frame of reference: Zukowski et
 * al. 2006).
 *
 * Interpolated numbers ascend within known bounds: the middle one is written as
 * one of those it may be, then both halves, within the bounds that it gives
 * (Moffat, Stuiver 2000); that is near the least there is for words strewn at
 * random, and less where they come in clusters. Gamma codes: Elias 1975.
 *
 * A weight mostly follows from the frequency and the length of the document's
 * body: what is written is by how much it differs from that guess.
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
/* Positions are below it: no document has as many words. */
#define POSTING_POSITION_MAX (UINT32_C(1) << 28)

/* --- bits ---------------------------------------------------------------- */

struct bit_writer {
    struct buf *out; /* Borrowed. */
    uint64_t bits;
    unsigned count; /* Of bits that are not in @out yet; below 8. */
};

/* Fill the last byte. */
void bit_writer_end(struct bit_writer *w);

struct bit_reader {
    const unsigned char *p;
    const unsigned char *end;
    uint64_t bits;
    unsigned count;
    bool bad; /* Sticky. */
};

void bit_reader_init(struct bit_reader *r, struct slice bytes);
/* Is all read but the zeros of the last byte? */
bool bit_reader_at_end(struct bit_reader *r);

/* --- blocks -------------------------------------------------------------- */

/* The weight that a posting would have if all of its words were in the body,
 * which has @body_words (not the headings', whose words count more). A part of
 * the format: integers alone, so that it is the same everywhere. */
uint8_t posting_weight_guess(uint32_t frequency, uint32_t body_words);

/* Append @count documents, strictly ascending in [@base, @doc_end), with their
 * frequencies (at least 1) and their weights' differences from the guess. */
void posting_block_put(struct buf *out,
                       uint32_t base,
                       uint32_t doc_end,
                       const uint32_t *docs,
                       const uint32_t *frequencies,
                       const int8_t *differences,
                       size_t count);
/* Read the documents of a block of @count postings, which is all of @bytes;
 * they are below @doc_end. @r is left before the values. False: it is damaged.
 */
MUST_CHECK bool posting_docs_get(struct bit_reader *r,
                                 struct slice bytes,
                                 uint32_t base,
                                 uint32_t doc_end,
                                 size_t count,
                                 uint32_t *docs);
/* Read the values behind them, to the block's end. False: it is damaged. */
MUST_CHECK bool posting_values_get(struct bit_reader *r,
                                   size_t count,
                                   uint32_t *frequencies,
                                   int8_t *differences);

/* --- positions ----------------------------------------------------------- */

/* Append the ascending @positions of a posting, below @length, that of its
 * document. */
void positions_put(struct bit_writer *w,
                   uint32_t length,
                   const uint32_t *positions,
                   size_t count);
/* Read what positions_put() wrote; @out may be NULL to skip them. False: it is
 * damaged; @r->bad is set, too. */
bool positions_get(struct bit_reader *r,
                   uint32_t length,
                   size_t count,
                   uint32_t *out);

#endif /* WEB_SEARCH_SEGMENT_POSTING_CODEC_H */
