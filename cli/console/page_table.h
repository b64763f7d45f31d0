/* The table of pages: which page a path means, with its parameters.
 *
 * Pure. Threads: any.
 */
#ifndef CLI_CONSOLE_PAGE_TABLE_H
#define CLI_CONSOLE_PAGE_TABLE_H

#include <stdbool.h>

#include "cli/console/html.h"
#include "cli/monitor/monitor.h"

struct http_form;
struct http_segments;

/* A line of console_pages.def. */
struct console_page {
    const char *path; /* "/tables/{name}" */
    const char *subject;
    const char *title;
    const char *menu; /* Its entry in the menu; "": none. */
    html_fn render;
};

#define PAGE_PATH_PARAMS_MAX 4
#define PAGE_PARAMS_MAX      24

struct page_match {
    const struct console_page *page;
    struct monitor_param params[PAGE_PARAMS_MAX]; /* Those of the path first. */
    size_t count;
    char names[PAGE_PATH_PARAMS_MAX][24]; /* Of the path's parameters. */
};

/* All of them; the last has no path. */
extern const struct console_page console_pages[];

/* Find the page of @path. False: there is none. @out borrows from @path. */
bool page_find(const struct http_segments *path, struct page_match *out);
/* Add the fields of @query that are parameters of the page's subject, as far as
 * there is room; borrowed. Others are the page's own (how its tables are
 * sorted). With @all add these, too: a document is refused then that is asked
 * with a parameter that it does not have. */
void page_add_query(struct page_match *m,
                    const struct http_form *query,
                    bool all);
/* The first page of @subject; NULL: there is none. */
const struct console_page *page_of_subject(const char *subject);
/* Append the title with its parameters: "Table webtable". */
void page_title(const struct page_match *m, struct buf *out);

#endif /* CLI_CONSOLE_PAGE_TABLE_H */
