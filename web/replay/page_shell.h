/* The parts that all pages of replay share: head, bar, end, and links. */
#ifndef WEB_REPLAY_PAGE_SHELL_H
#define WEB_REPLAY_PAGE_SHELL_H

#include "cli/console/html.h"
#include "web/replay/replay_call.h"

/* Begin a page titled @title in the call's reply: everything up to <main>. The
 * view must outlive @h. */
void shell_begin(struct html *h,
                 struct html_view *view,
                 struct replay_call *k,
                 const char *title);
void shell_end(struct html *h);
/* The head alone, with the scripts of the banner if @is_frame. */
void shell_head(struct html *h, bool is_frame);
/* The form that asks for a URL; @url is what is in it. */
void shell_form(struct html *h, struct slice url);

/* <a href> to a capture, to the calendar of a URL; without </a>. */
void shell_link_capture(struct html *h, const struct capture *c);
void shell_link_calendar(struct html *h, struct slice url);

#endif /* WEB_REPLAY_PAGE_SHELL_H */
