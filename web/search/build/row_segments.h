/* Rows of a table become segments: their documents are inverted in memory, and
 * written when they have the room that they may take, and at the end.
 *
 * Threads: one. Functions that return an int park.
 */
#ifndef WEB_SEARCH_BUILD_ROW_SEGMENTS_H
#define WEB_SEARCH_BUILD_ROW_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct quarry_row;
struct row_segments;
struct segment_writer;

#define ROW_SEGMENTS_ROOM_BYTES ((size_t)256 << 20)

struct row_segments_options {
    size_t room_bytes; /* Of postings; 0: ROW_SEGMENTS_ROOM_BYTES. */
    /* Begin a segment: *@out is freed by the caller. */
    int (*begin)(void *ctx, struct segment_writer **out, struct err *err);
    /* The segment that was begun last is complete. */
    int (*end)(void *ctx, const struct segment_writer *w, struct err *err);
    void *ctx;
};

/* *@out is owned. Errors: those of row_document_reader_new(). */
MUST_CHECK int row_segments_new(const struct row_segments_options *opts,
                                struct row_segments **out,
                                struct err *err);
void row_segments_free(struct row_segments *r); /* NULL is allowed. */

/* Add @row, with its pages; keys ascend. @known: older segments have it, and
 * what they have is hidden even if it has no documents. */
MUST_CHECK int row_segments_put(struct row_segments *r,
                                const struct quarry_row *row,
                                bool known,
                                struct err *err);
/* Hide what older segments have of the row @key, which is gone. */
MUST_CHECK int
row_segments_remove(struct row_segments *r, struct slice key, struct err *err);
/* Write what is in memory. */
MUST_CHECK int row_segments_flush(struct row_segments *r, struct err *err);

/* Since it was made. */
uint64_t row_segments_documents(const struct row_segments *r);
uint64_t row_segments_words(const struct row_segments *r);

#endif /* WEB_SEARCH_BUILD_ROW_SEGMENTS_H */
