/* The parts that the console's pages are made of: a head with the way to it,
 * figures, states, notes, empty states, bars. Tables are page_rows.h.
 *
 * Threads: one.
 */
#ifndef CLI_CONSOLE_PAGES_PAGE_PARTS_H
#define CLI_CONSOLE_PAGES_PAGE_PARTS_H

#include "cli/console/html.h"
#include "cli/console/pages/humane.h"

/* --- the head ------------------------------------------------------------ */

/* A page above this one. Its address is @pattern with the strings in it, as of
 * html_url(). */
struct page_crumb {
    const char *text;
    const char *pattern;
    const char *first, *second;
};

/* Write the way to the page, and begin its head with @title as the heading.
 * Parts that follow stand beside the heading, until page_head_end(), which adds
 * the link to the page's JSON; then come the document's warnings. */
void page_head_begin(struct html *h,
                     const struct page_crumb *crumbs,
                     size_t count,
                     const char *title);
void page_head_end(struct html *h, const json_t *doc);
/* Both, of a page that stands in the menu. */
void page_head(struct html *h, const json_t *doc, const char *title);
/* Write the way to @path, "/a/b", before the head: each directory above it is a
 * link, whose address is @pattern with the directory's path in it. */
void page_path(struct html *h, const char *pattern, const char *path);
/* A line below the heading, to be closed by page_sub_end(). */
void page_sub_begin(struct html *h);
void page_sub_end(struct html *h);
/* A link that looks like a button. Its address is @pattern with @first in it.
 */
void page_button(struct html *h,
                 const char *label,
                 const char *pattern,
                 const char *first);

/* --- figures ------------------------------------------------------------- */

/* A value with its exact form as the title: <span title="1,234">1.23k</span>.
 * NAN is "–". */
void page_value(struct html *h, enum humane_unit unit, double value);
/* The field as a value by the unit of its name, or as text; "–" if missing. */
void page_put(struct html *h, const json_t *object, const char *path);
/* A time, which the script shows in the reader's zone. */
void page_time(struct html *h, double at_us);
/* How long before @now_us it was, with the time as the title. */
void page_age(struct html *h, double at_us, double now_us);

/* A row of large figures: page_figure() between the other two. */
void page_figures_begin(struct html *h, const char *label);
void page_figures_end(struct html *h);
/* One with the value of a field. */
void page_figure(struct html *h,
                 const char *name,
                 const json_t *o,
                 const char *path);
/* One whose value is what is written until page_figure_end(). */
void page_figure_begin(struct html *h, const char *name);
void page_figure_end(struct html *h);

/* A list of names and values in a panel with a heading: page_figure() or
 * page_pairs_of() between the two. */
void page_pairs_begin(struct html *h, const char *title);
void page_pairs_end(struct html *h);
/* Each field of an object as a pair, with "_" as a space. Nothing for NULL. */
void page_pairs_of(struct html *h, const json_t *object);

/* --- words --------------------------------------------------------------- */

/* A state ("up", "failed") in a colour that fits; "–" for NULL or "". */
void page_state(struct html *h, const char *state);
/* How a call ended: anything but "ok" is bad. */
void page_outcome(struct html *h, const char *outcome);
/* A row key as code; an empty one as @edge ("the start"). */
void page_key(struct html *h, const char *key, const char *edge);
/* Text with "_" as a space. */
void page_label(struct html *h, const char *name);
/* "–" for screen readers too. */
void page_missing(struct html *h);

/* --- blocks -------------------------------------------------------------- */

/* An empty state: a sentence, and what to do next. */
void page_empty(struct html *h, const char *sentence, const char *next);
/* A link to the form of an action, for viewers who may: @pattern as of
 * html_url(), with both strings in it. */
void page_action(struct html *h,
                 const char *label,
                 const char *pattern,
                 const char *first,
                 const char *second);

/* A bar of @share of its width, [0, 1]. */
void page_bar(struct html *h, double share, bool hot);
/* Append ` name="12.34%"`, bounded to [0, 100]. */
void page_percent_attr(struct html *h, const char *name, double share);

#endif /* CLI_CONSOLE_PAGES_PAGE_PARTS_H */
