/* Plots: figures with a name and a unit for each line, and the address of the
 * document that the script draws. Without a script they say so. */
#include "cli/console/pages/page_plots.h"

#include <string.h>

#include "base/core/panic.h"
#include "cli/console/pages/page_query.h"

static const struct {
    const char *name, *label;
    const char *from; /* Seconds before now. */
} page_ranges[] = {
    {"15m", "15 min", "-900"},
    {"1h", "1 h", "-3600"},
    {"6h", "6 h", "-21600"},
    {"1d", "1 d", "-86400"},
};

/* The index in page_ranges of the one in the address, else the first. */
static size_t page_range(const struct html *h)
{
    char name[8];
    size_t i = 0;
    (void)page_query_get(h, "range", name, sizeof(name));
    while (i < ARRAY_LEN(page_ranges) && strcmp(page_ranges[i].name, name) != 0)
        i++;
    return i < ARRAY_LEN(page_ranges) ? i : 0;
}

static void page_plot_ranges(struct html *h, size_t chosen)
{
    html_lit(h, "<nav class=\"ranges\" aria-label=\"Span of the plots\">");
    for (size_t i = 0; i < ARRAY_LEN(page_ranges); i++) {
        html_lit(h, "<a class=\"btn\"");
        page_query_link(h, "range", i ? page_ranges[i].name : NULL);
        if (i == chosen)
            html_lit(h, " aria-current=\"true\"");
        html_lit(h, ">");
        html_str(h, page_ranges[i].label);
        html_lit(h, "</a> ");
    }
    html_lit(h, "</nav>");
}

/* All series of @plots, with commas. */
static void
page_plot_series(struct buf *out, const struct page_plot *plots, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < PAGE_PLOT_LINES_MAX && plots[i].lines[k].series;
             k++) {
            if (out->len)
                buf_append_str(out, ",");
            buf_append_str(out, plots[i].lines[k].series);
        }
}

static void page_plot(struct html *h, const struct page_plot *p)
{
    PRE(p->lines[0].series);
    html_lit(h, "<figure class=\"plot panel\" data-keep");
    html_attr(h, "data-unit", p->unit);
    html_lit(h, "><figcaption>");
    html_str(h, p->title);
    for (size_t k = 0; k < PAGE_PLOT_LINES_MAX && p->lines[k].series; k++) {
        html_lit(h, "<span");
        html_attr(h, "data-series", p->lines[k].series);
        html_attr_int(h, "data-line", (int64_t)k + 1);
        html_lit(h, ">");
        html_str(h, p->lines[k].name);
        html_lit(h, " <b>–</b></span>");
    }
    html_lit(h, "</figcaption><div class=\"canvas\"><p class=\"none\">No "
                "samples yet. Plots need the page's script.</p></div>"
                "</figure>");
}

void page_plots(struct html *h,
                const struct page_plot *plots,
                size_t count,
                const char *node)
{
    size_t range = page_range(h);
    PRE(count > 0);
    struct buf series = BUF_INIT, link = BUF_INIT;
    page_plot_series(&series, plots, count);
    html_lit(h, "<section aria-label=\"Plots\"");
    html_url_put(&link, "/history.json?series={}&from={}", buf_cstr(&series),
                 page_ranges[range].from);
    if (*node)
        html_url_put(&link, "&node={}", node);
    html_attr_slice(h, "data-history", buf_slice(&link));
    html_lit(h, ">");
    page_plot_ranges(h, range);
    html_lit(h, "<div class=\"cols\">");
    for (size_t i = 0; i < count; i++)
        page_plot(h, &plots[i]);
    html_lit(h, "</div></section>");
    buf_close(&series);
    buf_close(&link);
}
