/* A Webtable as an archive: the captures of a URL, and the bytes of each.
 *
 * Archives find captures by the sort key of web archives (SURT), which merges
 * http with https, www with none and what differs in case; rows do not. So the
 * keys of a site's rows are read once, sorted by SURT and kept for a while
 * (site_index.h). A site of more rows than fit is looked up by the exact URL.
 *
 * Threads: all calls on one loop. Parks.
 */
#ifndef WEB_REPLAY_ARCHIVE_H
#define WEB_REPLAY_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/arena.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct archive;
struct archive_policy;
struct quarry_row;
struct quarry_table;
struct site_index;
struct world;

/* Captures of one URL that are looked at: the newest of each column. */
#define ARCHIVE_VERSIONS_MAX     20000
#define ARCHIVE_SIMILAR_ROWS_MAX 100

struct capture {
    int64_t time_us;
    int status;        /* 0: there was none (dns:, ftp:, a resource). */
    uint64_t length;   /* Of the body; 0: not known. */
    struct slice row;  /* All borrowed from the list. */
    struct slice url;  /* As the crawler wrote it. */
    struct slice type; /* "text/html; charset=utf-8", or "". */
    struct slice location;
    struct slice digest;  /* "sha1:…", or "". */
    struct slice source;  /* "FILE:OFFSET" */
    struct slice revisit; /* meta:revisit-of, or "". */
    struct slice method;  /* Of its request, if that was not GET, */
    struct slice query;   /* and what the body of that said. */
    struct slice robots;  /* These two only where the policy asks for them. */
    struct slice head;
};

/* Oldest first. */
struct capture_list {
    struct capture *at;
    size_t count;
    size_t cap;
    struct arena arena;  /* Of all their text. */
    size_t blocked;      /* Captures that are there and may not be shown, */
    struct slice reason; /* and why the last of them may not. */
};

/* A capture's bytes. Of a revisit, those of the capture that it repeats. */
struct capture_bytes {
    struct slice head; /* Status line and headers; "" for a resource. */
    struct slice body; /* Without codings. */
    struct slice type; /* The media type as the server named it. */
    struct slice charset;
    struct slice url;
    int status;
    bool is_cut;                /* The body is not whole. */
    struct quarry_row *rows[2]; /* Owned; all else borrowed from them. */
};

/* All are borrowed. @is_fixed: nobody writes to @table meanwhile. @policy says
 * which captures are in no list; NULL: all are. */
struct archive *archive_new(struct quarry_table *table,
                            struct world *world,
                            bool is_fixed,
                            const struct archive_policy *policy);
void archive_free(struct archive *a); /* NULL is allowed. */

/* The captures with the same SURT as the normalised URL @url, which for a
 * method other than GET has it as method_query_url() appends it. @out is closed
 * in any case. Errors: those of reading. */
MUST_CHECK int archive_captures(struct archive *a,
                                struct slice url,
                                struct capture_list *out,
                                struct err *err);
/* The captures of URLs that stand in for @url, of which there is none
 * (similar_url.h): of those that differ only in arguments that do not matter,
 * if there are any, else of those with another query, if it is a file's. At
 * most ARCHIVE_SIMILAR_ROWS_MAX rows are looked at, and only those of the
 * method in @url; of one other than GET all bodies will do. @out and errors as
 * above.
 */
MUST_CHECK int archive_similar(struct archive *a,
                               struct slice url,
                               struct capture_list *out,
                               struct err *err);
/* Add the captures of one row. */
MUST_CHECK int archive_row_captures(struct archive *a,
                                    struct slice row,
                                    struct capture_list *out,
                                    struct err *err);
void capture_list_close(struct capture_list *l);

/* The index of the site of @url, or with @domain of its subdomains too. Shared,
 * until the next call that parks. Errors: ERR_NOTFOUND, it has too many rows;
 * those of reading. */
MUST_CHECK int archive_site(struct archive *a,
                            struct slice url,
                            bool domain,
                            const struct site_index **out,
                            struct err *err);

/* The index in @l of the capture nearest to @us, by whole seconds; the later
 * of two that are as near, and of those of one second the one of @url. Those
 * marked in @tried (may be NULL) are left out. l->count: there is none. */
size_t capture_nearest(const struct capture_list *l,
                       int64_t us,
                       struct slice url,
                       const bool *tried);

/* Read the bytes of @c. capture_bytes_close() in any case. Errors: ERR_NOTFOUND
 * (a revisit without its original, or metadata alone), those of reading. */
MUST_CHECK int archive_load(struct archive *a,
                            const struct capture *c,
                            struct capture_bytes *out,
                            struct err *err);
void capture_bytes_close(struct capture_bytes *b);

/* Does the redirect @c lead to its own URL, as archives see it? It would never
 * end. */
bool capture_is_own_redirect(const struct capture *c);

#endif /* WEB_REPLAY_ARCHIVE_H */
