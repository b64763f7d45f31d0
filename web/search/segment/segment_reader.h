/* An open segment: what its documents are, which terms it has.
 *
 * Rows and documents are kept in memory (about 80 bytes a document), terms and
 * lists are read when asked for.
 *
 * Threads: immutable once open; any number.
 *
 * Invariants
 *     INV-1. Everything here was checked when it was read: documents name rows
 *            of the segment, times ascend, fields end in their order.
 */
#ifndef WEB_SEARCH_SEGMENT_SEGMENT_READER_H
#define WEB_SEARCH_SEGMENT_SEGMENT_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "web/search/segment/segment_format.h"

struct fs;
struct page_cache;
struct paged_reader;

/* The part of a document that is kept in memory. */
struct document_values {
    int64_t next_us;
    uint64_t likeness;
    uint32_t row;
    uint32_t times_at; /* In segment.times_us. */
    uint32_t time_count;
    uint32_t ends[FIELD_COUNT];
    uint8_t rank;
};

/* Words of a document's body, headings among them: of posting_weight_guess().
 */
static inline uint32_t document_body_words(const struct document_values *d)
{
    return d->ends[FIELD_BODY] - d->ends[FIELD_ANCHOR];
}

struct term_block {
    struct slice first; /* Borrowed from the index's bytes. */
    uint64_t at;        /* In the stream. */
    uint64_t lists_at;
    uint32_t bytes;
};

struct segment {
    struct paged_reader *file; /* Owned, as all here. */
    char *path;
    uint64_t bytes;
    uint64_t lists_end;
    uint64_t term_count;
    uint32_t document_count;
    uint32_t row_count;
    uint8_t rank_max; /* Of its documents. */
    struct document_values *documents;
    int64_t *times_us;
    uint32_t *row_documents; /* Its first document; one more at the end. */
    uint64_t *row_signatures;
    struct buf row_bytes;
    uint32_t *row_groups; /* Where each group of rows begins in row_bytes. */
    struct buf index_bytes;
    struct term_block *blocks;
    size_t block_count;
};

/* Open @path. @fs and @cache are borrowed. *@out is owned. Parks. Errors: those
 * of paged_reader_open(), ERR_CORRUPT, ERR_NOMEM. */
MUST_CHECK int segment_open(struct fs *fs,
                            const char *path,
                            struct page_cache *cache,
                            struct segment **out,
                            struct err *err);
void segment_close(struct segment *s); /* NULL is allowed. */

/* --- rows ---------------------------------------------------------------- */

/* The rows in order. */
struct segment_rows {
    const struct segment *segment;
    struct cursor at;
    struct buf key;
    uint32_t next; /* The row that segment_rows_next() gives. */
};

/* Begin at @row, or behind the last one. */
void segment_rows_begin(struct segment_rows *r,
                        const struct segment *s,
                        uint32_t row);
/* The next row's key, borrowed until the next call; r->next - 1 is its number.
 * False: there is none. */
bool segment_rows_next(struct segment_rows *r, struct slice *key);
void segment_rows_close(struct segment_rows *r);

/* The first row whose key is not before @key; row_count: there is none. */
uint32_t segment_row_find(const struct segment *s, struct slice key);
/* The key of @row into @out, which is cleared. */
void segment_row_key(const struct segment *s, uint32_t row, struct buf *out);

/* --- terms --------------------------------------------------------------- */

/* Look @term up; *@found: it has one. Parks. Errors: ERR_CORRUPT, ERR_IO. */
MUST_CHECK int segment_find_term(const struct segment *s,
                                 struct slice term,
                                 struct segment_term *out,
                                 bool *found,
                                 struct err *err);

/* The terms in order. */
struct segment_terms {
    const struct segment *segment;
    size_t block;    /* Index of the next term block. */
    size_t in_block; /* Terms left in the present one. */
    char *bytes;     /* Owned. */
    struct cursor at;
    struct buf term; /* The present one. */
    struct segment_term value;
    uint64_t lists_at;
    uint64_t terms_left;
};

/* Begin at the first term block that may hold @from. */
void segment_terms_begin(struct segment_terms *t,
                         const struct segment *s,
                         struct slice from);
/* Step to the next term. *@more: there is one, in t->term and t->value. Parks.
 * Errors: ERR_CORRUPT, ERR_IO. */
MUST_CHECK int
segment_terms_next(struct segment_terms *t, bool *more, struct err *err);
void segment_terms_close(struct segment_terms *t);

#endif /* WEB_SEARCH_SEGMENT_SEGMENT_READER_H */
