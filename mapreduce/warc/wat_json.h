/* Headers and links of a capture as JSON, in the form of the WAT files of
 * Common Crawl and the Internet Archive (ia-web-commons): numbers are strings,
 * and a link is named by its element and attribute.
 *
 *     {"Container": …, "Envelope": {"Format": "WARC",
 *       "WARC-Header-Metadata": {…},
 *       "Payload-Metadata": {"HTTP-Response-Metadata": {
 *         "Response-Message": …, "Headers": {…},
 *         "HTML-Metadata": {"Head": {"Title": …, "Metas": [{…}], "Link": [{…}],
 *             "Scripts": [{…}], "Base": …},
 *           "Links": [{"path": "A@/href", "url": …, "text": …}]}}}}}
 *
 * Strings are UTF-8. Linear in the input. Threads: one a writer. Nothing waits.
 */
#ifndef MAPREDUCE_WARC_WAT_JSON_H
#define MAPREDUCE_WARC_WAT_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/slice.h"

struct wat_writer;

struct wat_writer *wat_writer_new(void);    /* Owned: wat_writer_free(). */
void wat_writer_free(struct wat_writer *w); /* NULL is allowed. */

struct wat_capture {
    const char *type; /* "response", … */
    struct slice uri;
    int64_t time_us;
    struct slice id; /* Without <>; or "". */
    struct slice ip;
    struct slice digest; /* Of the payload. */
    struct slice head;   /* Of HTTP, or "". */
    struct slice body;   /* Without codings; */
    struct slice html;   /* as UTF-8 if it is HTML, else "". */
    struct slice file;   /* The archive it was read from, or "". */
    bool has_offset;
    uint64_t offset;
};

/* Links beyond these, of a page, are left out, and texts cut. */
#define WAT_LINKS_MAX ((size_t)1 << 16)

/* Append the object of @c. */
void wat_put(struct wat_writer *w,
             const struct wat_capture *c,
             struct buf *out);

#endif /* MAPREDUCE_WARC_WAT_JSON_H */
