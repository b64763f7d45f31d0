/* All segments of an index as of one manifest, and which of their documents
 * count: those of rows that no newer segment has.
 *
 * Threads: immutable once open; any number.
 *
 * Invariants
 *     INV-1. Of all segments exactly one has live documents of a row: the
 *            newest that has the row.
 */
#ifndef WEB_SEARCH_SEGMENT_INDEX_VIEW_H
#define WEB_SEARCH_SEGMENT_INDEX_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "web/search/segment/index_manifest.h"
#include "web/search/segment/segment_reader.h"

struct fs;
struct page_cache;

struct index_part {
    struct segment *segment; /* Owned. */
    uint64_t *hidden; /* A bit for each row that is; owned. NULL: none. */
    uint32_t live_documents;
};

struct index_view {
    struct index_manifest manifest;
    struct index_part *parts; /* Oldest first, as in the manifest. */
    size_t part_count;
    uint64_t live_documents;
    uint64_t bytes;
};

/* Open the index in @directory. @fs and @cache are borrowed. *@out is owned.
 * Parks. Errors: ERR_NOTFOUND (there is none), those of segment_open(). */
MUST_CHECK int index_view_open(struct fs *fs,
                               const char *directory,
                               struct page_cache *cache,
                               struct index_view **out,
                               struct err *err);
/* The same of the segments of @m, which need not be published. */
MUST_CHECK int index_view_of(struct fs *fs,
                             const char *directory,
                             const struct index_manifest *m,
                             struct page_cache *cache,
                             struct index_view **out,
                             struct err *err);
void index_view_close(struct index_view *v); /* NULL is allowed. */

static inline bool part_hides(const struct index_part *p, uint32_t row)
{
    return p->hidden && (p->hidden[row / 64] >> (row % 64) & 1);
}

/* The part that has the row @key, and its number there; NULL: none has. */
const struct index_part *
index_view_row(const struct index_view *v, struct slice key, uint32_t *row);

/* The live rows of all parts by key, those without documents too. */
struct index_rows {
    const struct index_view *view;
    struct segment_rows *rows; /* Owned, one a part. */
    struct slice *keys;        /* Of each part the next one. */
    bool *has;
    size_t last; /* The part whose row was handed out; part_count: none. */
};

void index_rows_begin(struct index_rows *r, const struct index_view *v);
/* False: there is none. *@key is borrowed until the next call. */
bool index_rows_next(struct index_rows *r,
                     struct slice *key,
                     uint64_t *signature,
                     uint32_t *documents);
void index_rows_close(struct index_rows *r);

#endif /* WEB_SEARCH_SEGMENT_INDEX_VIEW_H */
