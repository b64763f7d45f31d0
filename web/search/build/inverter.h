/* Turns documents into postings: words come in document by document, and go out
 * term by term into a segment.
 *
 * Weights are given here, once and for all (word_weights.h): a search only adds
 * them up.
 *
 * Memory: inverter_bytes(); the caller flushes in time.
 *
 * Threads: one. Nothing here parks but inverter_flush().
 *
 * Invariants
 *     INV-1. Between documents no term has occurrences.
 *     INV-2. Documents of a term ascend in its chain.
 */
#ifndef WEB_SEARCH_BUILD_INVERTER_H
#define WEB_SEARCH_BUILD_INVERTER_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "web/search/build/word_weights.h"
#include "web/search/segment/segment_format.h"

struct inverter;
struct segment_writer;

struct inverter *inverter_new(void);
void inverter_free(struct inverter *v); /* NULL is allowed. */

/* Begin the row @key; keys ascend. */
void inverter_row(struct inverter *v, struct slice key, uint64_t signature);
/* Add a word of the document that is under way; positions ascend. @count: how
 * often it is counted, at least once. An empty @term only makes its field
 * longer. */
void inverter_word(struct inverter *v,
                   struct slice term,
                   uint32_t position,
                   enum word_kind kind,
                   float count);
/* The document is complete; @d is copied. */
void inverter_document(struct inverter *v, const struct segment_document *d);

uint64_t inverter_rows(const struct inverter *v);
uint64_t inverter_words(const struct inverter *v); /* Since it was made. */
size_t inverter_bytes(const struct inverter *v);

/* Write all to @w, which is empty, and be empty. Parks. Errors: those of the
 * writer. */
MUST_CHECK int
inverter_flush(struct inverter *v, struct segment_writer *w, struct err *err);

#endif /* WEB_SEARCH_BUILD_INVERTER_H */
