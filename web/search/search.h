/* Search over a Webtable: the public header of web/search. docs/search.md tells
 * what users see.
 *
 * An index is a directory of a file system: immutable segments and a manifest
 * that names them (docs/formats.md). A build reads the table and writes
 * segments; later ones read only rows that changed. A search opens the index as
 * it is and never writes. Results name rows; titles and snippets are made of
 * the table's cells, so that the index holds no text.
 *
 *     document   consecutive captures of a row that say the same, as words in
 *                four fields: title, URL, texts of links to it, body
 *     segment    the inverted index of some rows; a newer one hides the rows
 *                that it has in older ones
 *     query      words, phrases, exclusions, sites, dates (search_query.h)
 *     hit        a document that a query finds, with its score
 *
 * The engine has five rooms, each of which may include those before it:
 * text/ (words of pages), segment/ (files), build/, query/, pages/ (HTML).
 *
 * Ownership: everything handed out by `**out` is the caller's.
 *
 * Threads: an open index may be searched by any number of threads at once.
 */
#ifndef WEB_SEARCH_SEARCH_H
#define WEB_SEARCH_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct archive_policy;
struct arena;
struct fs;
struct quarry_table;
struct search_index;
struct search_words;
struct world;

/* Where the index of @table lies in its file system: "search/TABLE". */
void search_directory(const char *table, struct buf *out);

/* --- building ------------------------------------------------------------ */

struct search_progress {
    uint64_t rows;      /* Looked at. */
    uint64_t rows_read; /* With their pages. */
    uint64_t documents;
};

/* Segments that were made elsewhere, on their way into an index. */
struct search_intake;
/* Begin the next segment. Parks. Errors: those of writing, and of the one
 * before, which is complete: ERR_CORRUPT. */
MUST_CHECK int search_intake_segment(struct search_intake *t, struct err *err);
/* The next bytes of its stream. Parks. Errors: those of writing. */
MUST_CHECK int search_intake_bytes(struct search_intake *t,
                                   struct slice bytes,
                                   struct err *err);
/* How many rows were read, and words in them, for the report. */
void search_intake_count(struct search_intake *t,
                         uint64_t rows,
                         uint64_t words);

struct search_build_options {
    struct quarry_table *table; /* Borrowed, as all here. */
    struct fs *fs;              /* Of the index. */
    struct world *world;
    bool from_scratch;   /* Read every row. */
    bool compare;        /* Look at every row although changes are kept. */
    size_t memory_bytes; /* Of postings; 0: 256 MiB. */
    unsigned threads;    /* That read, where every row is; 0: 1. */
    /* Where every row is read: have it done by others, and put the segments of
     * @families, the cells that documents are made of, into @to. NULL: it is
     * done here. */
    int (*make)(void *ctx,
                const char *const *families,
                size_t family_count,
                struct search_intake *to,
                struct err *err);
    void *make_ctx;
    /* Called now and then; another return than 0 ends the build with
     * ERR_CANCELLED, and the index is as before. NULL: never. */
    int (*progress)(void *ctx, const struct search_progress *p);
    void *progress_ctx;
};

/* How the rows that changed were found. */
enum search_build_way {
    SEARCH_BUILD_ALL,     /* Every row was read. */
    SEARCH_BUILD_COMPARE, /* All but the pages of every row was. */
    SEARCH_BUILD_CHANGES, /* By the changes that the table keeps. */
};

struct search_build_report {
    enum search_build_way way;
    struct search_progress done;
    uint64_t rows_removed;
    uint64_t words;
    uint64_t live_documents; /* Of the whole index, now. */
    uint64_t index_bytes;
    size_t segment_count;
};

/* Make or update the index of a table. Parks. Errors: ERR_BUSY (another build
 * is under way), ERR_NOTFOUND (the table lacks the families of a Webtable),
 * ERR_CANCELLED, those of reading and of files. The index is as before or as
 * the report says, whatever happens. */
MUST_CHECK int search_build(const struct search_build_options *opts,
                            struct search_build_report *out,
                            struct err *err);
/* Remove the index of @table. Parks. ERR_NOTFOUND: there is none. */
MUST_CHECK int search_drop(struct fs *fs, const char *table, struct err *err);

/* --- searching ----------------------------------------------------------- */

struct search_index_options {
    struct fs *fs; /* Borrowed, as the world. */
    struct world *world;
    const char *table;
    size_t cache_bytes; /* Of pages of segments; 0: 64 MiB. */
    size_t task_bytes;  /* Segments from it on are searched beside each other;
                           0: 4 MiB. */
    /* Captures that are not shown; NULL: all are. Borrowed. */
    const struct archive_policy *policy;
};

/* Open the index of a table. Parks. Errors: ERR_NOTFOUND (there is none),
 * ERR_CORRUPT, ERR_DENIED (it is encrypted, and there is no key). */
MUST_CHECK int search_index_open(const struct search_index_options *opts,
                                 struct search_index **out,
                                 struct err *err);
void search_index_close(struct search_index *x); /* NULL is allowed. */
/* See what builds have published since; searches that run keep what they see.
 * Looks at most once a second. On error the index stays as it is. Parks. */
MUST_CHECK int search_index_refresh(struct search_index *x, struct err *err);

struct search_index_facts {
    uint64_t documents;
    uint64_t bytes;
    uint64_t updated_us;
    int64_t newest_us; /* The newest capture; INT64_MIN: there is none. */
    size_t segment_count;
};

void search_index_get_facts(struct search_index *x,
                            struct search_index_facts *out);

#define SEARCH_RESULTS_MAX 1000

struct search_request {
    struct slice query;
    size_t skip;
    size_t limit;    /* skip + limit: at most SEARCH_RESULTS_MAX. */
    bool keep_alike; /* Results that say the same are not folded. */
};

struct search_hit {
    struct slice row; /* Borrowed from the results, as all here. */
    double score;
    int64_t time_us;        /* Of the capture. */
    uint32_t capture_count; /* That say the same. */
    uint32_t alike_count;   /* Further pages that say the same. */
};

struct search_results {
    struct search_hit *hits;
    size_t count;
    bool has_more;
    uint64_t documents;         /* Of the index. */
    struct slice suggestion;    /* A query that was perhaps meant; "": none. */
    struct search_words *words; /* To be highlighted. */
    struct arena *memory;
};

/* Search. search_results_close() in any case. Parks. Errors: ERR_INVALID and
 * ERR_TOOBIG (the query: the text tells what is wrong), those of reading. */
MUST_CHECK int search_run(struct search_index *x,
                          const struct search_request *request,
                          struct search_results *out,
                          struct err *err);
void search_results_close(struct search_results *r);

/* A text with the words that were looked for. */
struct search_mark {
    uint32_t begin;
    uint32_t end;
};

#define SEARCH_MARKS_MAX 32

struct search_text {
    struct buf text; /* UTF-8, one line. */
    struct search_mark marks[SEARCH_MARKS_MAX];
    size_t mark_count;
};

/* How a hit is shown. */
struct search_page {
    struct buf url;
    struct search_text title;   /* Or the URL where there is none. */
    struct search_text snippet; /* May be empty. */
    bool is_blocked; /* The policy says that it is not shown: all else is "". */
};

/* Read the capture of @hit in @table, and make what is shown of it. @out is
 * zeroed at first, used again, and closed by search_page_close(). A row that is
 * gone since has its key alone. Parks. Errors: those of reading. */
MUST_CHECK int search_describe(struct search_index *x,
                               struct quarry_table *table,
                               const struct search_results *results,
                               const struct search_hit *hit,
                               struct search_page *out,
                               struct err *err);
void search_page_close(struct search_page *p);

/* Terms of the index that begin with @prefix, those of most documents first,
 * appended to @out, each ended by a line feed. Parks. */
#define SEARCH_SUGGESTIONS_MAX 10
MUST_CHECK int search_suggest(struct search_index *x,
                              struct slice prefix,
                              struct buf *out,
                              struct err *err);

#endif /* WEB_SEARCH_SEARCH_H */
