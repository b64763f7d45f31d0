/* The text of a page of HTML, a line for each block: what people read of it.
 * Pure. */
#ifndef WEB_REPLAY_PAGE_TEXT_H
#define WEB_REPLAY_PAGE_TEXT_H

#include "base/core/buf.h"
#include "base/core/slice.h"

/* Append the lines of @html, which is UTF-8, to @out, each with its end. At
 * most @bytes_max. */
void page_text_append(struct slice html, size_t bytes_max, struct buf *out);

#endif /* WEB_REPLAY_PAGE_TEXT_H */
