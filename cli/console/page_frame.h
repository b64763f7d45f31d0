/* The frame of every page of the console: head, menu, warnings, foot.
 *
 * Threads: one. None parks.
 */
#ifndef CLI_CONSOLE_PAGE_FRAME_H
#define CLI_CONSOLE_PAGE_FRAME_H

#include "cli/console/html.h"

/* Write a whole page: the frame, and inside it what @render (NULL: nothing)
 * makes of @doc. @menu is the entry that is marked; @subject ("" without) is
 * what the script listens to at /events. */
void page_frame(struct html *h,
                const char *menu,
                const char *subject,
                html_fn render,
                const json_t *doc);

#endif /* CLI_CONSOLE_PAGE_FRAME_H */
