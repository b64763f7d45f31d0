/* Plots of the history of figures, which the script draws.
 *
 * Threads: one.
 */
#ifndef CLI_CONSOLE_PAGES_PAGE_PLOTS_H
#define CLI_CONSOLE_PAGES_PAGE_PLOTS_H

#include "cli/console/html.h"

/* Lines of one plot at most: colours of the style. */
#define PAGE_PLOT_LINES_MAX 4

struct page_plot_line {
    const char *series; /* Of the document `history`. */
    const char *name;
};

struct page_plot {
    const char *title;
    const char *unit; /* As of the document: "per_s", "bytes_per_s", "us" … */
    struct page_plot_line lines[PAGE_PLOT_LINES_MAX]; /* NULL ends them. */
};

/* Write the choice of the span (?range=6h), and the plots, of all nodes or of
 * @node ("": all). */
void page_plots(struct html *h,
                const struct page_plot *plots,
                size_t count,
                const char *node);

#endif /* CLI_CONSOLE_PAGES_PAGE_PLOTS_H */
