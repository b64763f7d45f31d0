/* Facts about a page of HTML: links with their text, base, title, language,
 * charset, robots.
 *
 * Not a parser of documents: it reads tags, comments, raw-text elements
 * and attributes once, by the rules of HTML 5's tokenizer, which finds the same
 * links as a full parser at more than ten times its speed. Linear in the input,
 * whatever it contains.
 *
 * Text and attribute values come with character references decoded, blanks
 * collapsed, and in UTF-8: other bytes are read as windows-1252. Pages in other
 * charsets are to be decoded first (charset.h).
 *
 * Threads: one scanner, one thread. Nothing waits.
 */
#ifndef MAPREDUCE_WARC_LINKS_H
#define MAPREDUCE_WARC_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/slice.h"

/* Link texts and titles are cut after this many bytes. */
#define LINKS_TEXT_BYTES_MAX 1024
/* Longer attribute values are ignored. */
#define LINKS_VALUE_BYTES_MAX ((size_t)32 << 10)

struct html_link {
    struct slice href; /* As written, references decoded, blanks around gone. */
    struct slice text; /* Of an image without text around it: its alt. */
    bool nofollow;
    bool is_area; /* <area> of an image map. */
};

struct html_page {
    struct slice base; /* <base href>, or "". */
    struct slice title;
    struct slice lang;      /* <html lang> (or xml:lang). */
    struct slice charset;   /* Of <meta>, or "utf-8" by a byte order mark. */
    struct slice robots;    /* <meta name=robots>. */
    struct slice canonical; /* <link rel=canonical>. */
    uint32_t link_count;    /* <a href> and <area href>. */
    uint32_t image_count;   /* <img src>, */
    uint32_t script_count;  /* <script src>, */
    uint32_t style_count;   /* <link rel=stylesheet>, */
    uint32_t frame_count;   /* <frame src>, <iframe src>. */
};

struct html_scanner;

/* Called for each link in order; its slices live for the call. */
typedef void (*html_link_cb)(void *ctx, const struct html_link *link);

struct html_scanner *html_scanner_new(void);
void html_scanner_free(struct html_scanner *s); /* NULL is allowed. */

/* Scan @html. @on_link may be NULL. @page's slices are borrowed until the next
 * scan. Link targets are relative to page.base, which may come late: resolve
 * after the scan, or keep the earlier ones (it rarely matters). */
void html_scan(struct html_scanner *s,
               struct slice html,
               html_link_cb on_link,
               void *ctx,
               struct html_page *page);

/* Is the page of this media type, or by its first bytes, HTML? */
bool html_is(struct slice media_type, struct slice body);

#endif /* MAPREDUCE_WARC_LINKS_H */
