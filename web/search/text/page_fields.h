/* The parts of a page of HTML that are searched: title, headings, text. Text
 * that people do not read (scripts, styles, comments, <noscript>, <template>)
 * is left out. Pure.
 */
#ifndef WEB_SEARCH_TEXT_PAGE_FIELDS_H
#define WEB_SEARCH_TEXT_PAGE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/slice.h"

/* Bytes of text that are read of a page; the rest is left out. */
#define PAGE_TEXT_BYTES_MAX ((size_t)8 << 20)

/* A run of the text. */
struct page_heading {
    uint32_t begin; /* In page_fields.text. */
    uint32_t end;
};

struct page_fields {
    struct buf title;
    struct buf text;               /* Blocks end in line feeds; UTF-8. */
    struct page_heading *headings; /* Ascending; owned. */
    size_t heading_count;
    size_t heading_cap;
};

/* Read @html, which is UTF-8, into @out, whose contents are dropped. */
void page_fields_html(struct page_fields *out, struct slice html);
/* The same of plain text. */
void page_fields_plain(struct page_fields *out, struct slice text);
void page_fields_close(struct page_fields *f); /* Also of a zeroed one. */

#endif /* WEB_SEARCH_TEXT_PAGE_FIELDS_H */
