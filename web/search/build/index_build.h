/* A build under way, between the files that it consists of: index_build.c,
 * which begins and ends it; whole_build.c and changed_rows.c, which find rows;
 * index_merge.c.
 *
 * Threads: one, but index_build_begin_segment(), index_build_add_segment() and
 * index_build_count() may be called by any number.
 *
 * Invariants
 *     INV-1. Each number is given to one segment.
 */
#ifndef WEB_SEARCH_BUILD_INDEX_BUILD_H
#define WEB_SEARCH_BUILD_INDEX_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/runtime/sync.h"
#include "bigtable/quarry.h"
#include "web/search/search.h"
#include "web/search/segment/index_manifest.h"

struct index_view;
struct page_cache;
struct row_segments;
struct segment_writer;

struct index_build {
    const struct search_build_options *opts;
    const char *directory;
    struct index_manifest manifest; /* As it will be published. */
    struct page_cache *cache;
    struct index_view *view; /* The index as it was; NULL: none. */
    const char *families[8]; /* All that documents are made of. */
    size_t family_count;
    struct buf token;      /* Of the changes, for the next update. */
    uint64_t first_number; /* Of the segments of this build. */
    bool is_private;       /* No search has seen them yet. */
    struct search_build_report *report;
    struct err *err;
    struct mutex lock; /* Of the manifest and of the report, for threads. */
};

/* Where one thread of a build writes its segments. */
struct segment_place {
    struct index_build *build;
    uint64_t number; /* Of the segment that was begun last. */
};

/* Families of a read, with or without the pages. */
struct quarry_read_options index_build_read(const struct index_build *b,
                                            bool pages);
/* The options of row_segments_new() that write to @place, with @room bytes. */
struct row_segments_options;
struct row_segments_options index_build_segments(struct segment_place *place,
                                                 size_t room);
/* Begin a segment of the next number: *@number, and *@out, which is owned.
 * Park. Errors: those of segment_writer_new(). */
MUST_CHECK int index_build_begin_segment(struct index_build *b,
                                         struct segment_writer **out,
                                         uint64_t *number,
                                         struct err *err);
void index_build_add_segment(struct index_build *b,
                             const struct index_segment *s);
struct index_segment index_segment_facts(uint64_t number,
                                         const struct segment_writer *w);
/* Add to what was done, and report it. ERR_CANCELLED: the build shall end. */
MUST_CHECK int index_build_count(struct index_build *b,
                                 const struct search_progress *more,
                                 struct err *err);

/* Every row, into an index that begins empty. Parks. */
MUST_CHECK int index_build_all(struct index_build *b);
/* The rows that changed, by comparing. Parks. */
MUST_CHECK int index_build_compared(struct index_build *b);
/* The same by changes; *@done is false if they do not tell. Parks. */
MUST_CHECK int index_build_changed(struct index_build *b, bool *done);
/* Remember from where on the next update looks, if changes are kept. */
void index_build_mark_changes(struct index_build *b);

/* Merge segments of about a size, publish each merge unless the build is
 * private, and report what the index is then. Parks. */
MUST_CHECK int index_build_merge(struct index_build *b);
/* Remove segments from number @from on that the manifest does not name; the
 * next build tries again where that fails. Parks. */
void index_build_clean(struct index_build *b, uint64_t from);

#endif /* WEB_SEARCH_BUILD_INDEX_BUILD_H */
