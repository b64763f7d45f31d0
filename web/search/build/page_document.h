/* The documents of a row of a Webtable: its captures as text, each with the
 * row's URL, anchors and rank.
 *
 * A capture is a time at which the row has http: or meta: cells, as each import
 * writes them; it is a document if it was answered with success (or is a
 * resource) and is HTML, plain text, or has a text that somebody made of it
 * (contents:text of WET). Captures in a row that say the same are one document.
 *
 * Threads: one reader, one thread. Nothing waits.
 */
#ifndef WEB_SEARCH_BUILD_PAGE_DOCUMENT_H
#define WEB_SEARCH_BUILD_PAGE_DOCUMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct inverter;
struct page_fields;
struct quarry_row;
struct row_document_reader;
struct word_breaker;

/* Owned: row_document_reader_free(). Errors: those of word_breaker_new(). */
MUST_CHECK int row_document_reader_new(struct row_document_reader **out,
                                       struct err *err);
void row_document_reader_free(struct row_document_reader *r); /* NULL is ok. */

/* Put @row, with all of its cells, into @v. Returns how many documents it has;
 * with none nothing is put in unless @keep, which hides older segments' part of
 * it, and remembers its signature. */
uint32_t row_documents_put(struct row_document_reader *r,
                           const struct quarry_row *row,
                           bool keep,
                           struct inverter *v);

/* A hash of all cells but those of contents:, whose captures have cells of
 * other families, too: where it differs, the row must be read again. */
uint64_t row_signature(const struct quarry_row *row);
/* May the row have documents, by all cells but contents:? */
bool row_has_pages(const struct quarry_row *row);

/* Read the capture of @row at @time_us into @fields, as it was indexed. False:
 * it has no text. @url is borrowed from the row; "": it has none. */
bool row_capture_fields(struct row_document_reader *r,
                        const struct quarry_row *row,
                        int64_t time_us,
                        struct page_fields *fields,
                        struct slice *url);
/* The reader's breaker. Borrowed. */
struct word_breaker *row_document_breaker(struct row_document_reader *r);

#endif /* WEB_SEARCH_BUILD_PAGE_DOCUMENT_H */
