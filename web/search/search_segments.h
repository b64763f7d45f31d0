/* Segments of a search index made apart from it, by tasks of a job: rows of a
 * table in, streams of bytes out, which search_intake_segment() and
 * search_intake_bytes() take into the index. Needs neither files nor the table.
 *
 * A stream is cut into pieces of at most SEARCH_PIECE_BYTES, in order.
 *
 * Threads: one a maker.
 */
#ifndef WEB_SEARCH_SEARCH_SEGMENTS_H
#define WEB_SEARCH_SEARCH_SEGMENTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct quarry_row;
struct search_segments;

#define SEARCH_PIECE_BYTES ((size_t)1 << 20)

/* The next piece of segment number @segment, from 0 on. Borrowed. */
typedef void (*search_piece_fn)(void *ctx,
                                uint32_t segment,
                                struct slice piece);

/* A maker that keeps at most @memory_bytes of postings; 0: 256 MiB. *@out is
 * owned. Errors: those of ICU. */
MUST_CHECK int search_segments_new(size_t memory_bytes,
                                   search_piece_fn fn,
                                   void *ctx,
                                   struct search_segments **out,
                                   struct err *err);
void search_segments_free(struct search_segments *s); /* NULL is allowed. */
/* Add @row, which has all cells of the families of an index; keys ascend. */
MUST_CHECK int search_segments_put(struct search_segments *s,
                                   const struct quarry_row *row,
                                   struct err *err);
/* Hand out what is left. */
MUST_CHECK int search_segments_end(struct search_segments *s, struct err *err);
uint64_t search_segments_documents(const struct search_segments *s);
uint64_t search_segments_words(const struct search_segments *s);

#endif /* WEB_SEARCH_SEARCH_SEGMENTS_H */
