/* Some segments as one: what counts of them, in one list a term. */
#ifndef WEB_SEARCH_SEGMENT_SEGMENT_MERGE_H
#define WEB_SEARCH_SEGMENT_SEGMENT_MERGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct index_part;
struct segment_writer;

/* Write the rows of @parts that are not hidden, with their documents, to @w,
 * which is empty. Rows that were removed (their signature is 0) are written
 * only if @keep_empty: while older segments may have them. Parks. Errors: those
 * of reading and writing. */
MUST_CHECK int segment_merge(const struct index_part *parts,
                             size_t count,
                             bool keep_empty,
                             struct segment_writer *w,
                             struct err *err);

#endif /* WEB_SEARCH_SEGMENT_SEGMENT_MERGE_H */
