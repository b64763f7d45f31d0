/* Writes a segment: first all rows with their documents, then all terms with
 * their postings.
 *
 * Memory: about 20 bytes a document and the list of one term.
 *
 * Threads: one. All functions that return an int park; errors: those of
 * paged_writer_append(). After an error only segment_writer_free() may be
 * called.
 *
 * Invariants
 *     INV-1. Row keys and terms strictly ascend.
 *     INV-2. A posting's document is in the segment, and its positions lie
 *            within that document.
 */
#ifndef WEB_SEARCH_SEGMENT_SEGMENT_WRITER_H
#define WEB_SEARCH_SEGMENT_SEGMENT_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "web/search/segment/segment_format.h"

struct fs;
struct segment_writer;

/* Create the file @path. *@out is owned. Parks. Errors: those of
 * paged_writer_new(). */
MUST_CHECK int segment_writer_new(struct fs *fs,
                                  const char *path,
                                  struct segment_writer **out,
                                  struct err *err);
/* A segment whose bytes go to @sink, in order (paged_writer_to()). Owned. */
struct segment_writer *
segment_writer_to(int (*sink)(void *ctx, struct slice bytes, struct err *err),
                  void *ctx);
void segment_writer_free(struct segment_writer *w); /* NULL is allowed. */

/* Begin the row @key, copied. A row without documents hides what older segments
 * have of it. */
void segment_writer_row(struct segment_writer *w,
                        struct slice key,
                        uint64_t signature);
/* Add a document to the row; its number is returned. */
uint32_t segment_writer_document(struct segment_writer *w,
                                 const struct segment_document *d);
/* Begin the term @term, copied; one without postings is left out. */
MUST_CHECK int segment_writer_term(struct segment_writer *w,
                                   struct slice term,
                                   struct err *err);
/* Add a posting of the term: documents ascend, so do the @positions. */
void segment_writer_posting(struct segment_writer *w,
                            uint32_t document,
                            uint8_t weight,
                            const uint32_t *positions,
                            size_t position_count);
/* Write what is left, and sync. */
MUST_CHECK int segment_writer_finish(struct segment_writer *w, struct err *err);

/* Of what was written so far. */
uint64_t segment_writer_rows(const struct segment_writer *w);
uint64_t segment_writer_documents(const struct segment_writer *w);
uint64_t segment_writer_bytes(const struct segment_writer *w);

#endif /* WEB_SEARCH_SEGMENT_SEGMENT_WRITER_H */
