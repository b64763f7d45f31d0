/* Pages of the web out of records of either kind: a response in an archive, or
 * a row of a Webtable (docs/crawl.md). One reader a task. */
#ifndef JOBS_PAGE_H
#define JOBS_PAGE_H

#include <stdbool.h>

#include "base/core/slice.h"
#include "mapreduce/mapreduce.h"

struct page_reader;

struct page {
    struct slice key;      /* Row key: "com.cnn.www/path". */
    struct slice uri;      /* Absolute; "" if not known. */
    struct slice body;     /* Decoded, text as UTF-8; "" if there is none. */
    struct slice language; /* As the server or the import says; or "". */
    bool html;
    bool text; /* HTML or plain text: what has words. */
};

/* A reader for pages one after the other; its buffers are used again. Owned. */
struct page_reader *page_reader_new(void);
void page_reader_free(struct page_reader *r); /* NULL is allowed. */

/* The page of @record, borrowed until the next call. False: it holds none (a
 * request, a row that is only linked to, a line of text). */
bool page_read(struct page_reader *r,
               const struct mr_record *record,
               struct page *out);

/* Call fn for the row key of every page that @page links to. */
void page_links(struct page_reader *r,
                const struct page *page,
                void (*fn)(void *ctx, struct slice target),
                void *ctx);

/* The same with the text of each link, of which there are several to one page
 * where it has several. */
void page_anchors(struct page_reader *r,
                  const struct page *page,
                  void (*fn)(void *ctx, struct slice target, struct slice text),
                  void *ctx);

/* Call fn for each word of @text in lower case: runs of letters, digits and
 * bytes above ASCII. With @html tags, comments, scripts and styles are left out
 * and character references end a word. */
void page_words(struct slice text,
                bool html,
                void (*fn)(void *ctx, struct slice word),
                void *ctx);

/* The newest value of a column of a row; false when it has none. */
bool row_column(const struct quarry_row *row,
                const char *family,
                const char *qualifier,
                struct slice *value);

#endif /* JOBS_PAGE_H */
