/* The renderers of pages, for console_pages.def. Each writes what is inside
 * <main> from the document of the page's subject; page_frame.c does the rest. A
 * document may lack any field: what is not there is not shown.
 *
 * Threads: one. None parks.
 */
#ifndef CLI_CONSOLE_PAGE_RENDERERS_H
#define CLI_CONSOLE_PAGE_RENDERERS_H

#include "cli/console/html.h"

/* Any document as nested tables: for pages without a renderer of their own. */
void render_generic(struct html *h, const json_t *doc);

#endif /* CLI_CONSOLE_PAGE_RENDERERS_H */
