/* The frame of pages: a bar with the cluster's name, the menu, the page, a
 * foot. The script finds what to listen to in an attribute of <main>, because a
 * page contains no script itself. */
#include "cli/console/page_frame.h"

#include <string.h>

#include "base/core/panic.h"
#include "base/http/http_form.h"
#include "cli/console/page_table.h"
#include "cli/monitor/monitor.h"

/* Subjects whose pages have plots, and the one with the key visualizer. */
static bool frame_has_plots(const char *subject)
{
    return strcmp(subject, "overview") == 0 || strcmp(subject, "node") == 0 ||
           strcmp(subject, "history") == 0;
}

static void frame_style(struct html *h, const char *name)
{
    html_lit(h, "<link rel=\"stylesheet\"");
    html_asset(h, "href", name);
    html_lit(h, ">");
}

static void frame_script(struct html *h, const char *name)
{
    html_lit(h, "<script defer");
    html_asset(h, "src", name);
    html_lit(h, "></script>");
}

static void frame_head(struct html *h, const char *subject)
{
    html_lit(h, "<!doctype html><html lang=\"en\"><head><meta "
                "charset=\"utf-8\"><meta name=\"viewport\" "
                "content=\"width=device-width, initial-scale=1\"><meta "
                "name=\"color-scheme\" content=\"light dark\"><title>");
    html_str(h, h->view->title);
    html_lit(h, " - ");
    html_str(h, h->view->cluster);
    html_lit(h, " - Quarry</title><link rel=\"icon\"");
    html_asset(h, "href", "icon.svg");
    html_lit(h, ">");
    if (frame_has_plots(subject)) {
        frame_style(h, "uPlot.min.css");
        frame_script(h, "uPlot.iife.min.js");
    }
    frame_style(h, "console.css");
    frame_script(h, "console.js");
    if (strcmp(subject, "heat") == 0)
        frame_script(h, "heat.js");
    html_lit(h, "</head>");
}

/* Is there a document about @subject? */
static bool frame_has_subject(const char *subject)
{
    const char *params, *name;
    for (size_t i = 0; (name = monitor_subject(i, &params)); i++)
        if (strcmp(name, subject) == 0)
            return true;
    return false;
}

/* One entry for each page whose title is its entry. */
static void frame_menu(struct html *h, const char *marked)
{
    html_lit(h, "<nav class=\"nav\" aria-label=\"Pages\"><ul>");
    for (const struct console_page *p = console_pages; p->path; p++) {
        if (!*p->menu || strcmp(p->menu, p->title) != 0 ||
            !frame_has_subject(p->subject))
            continue;
        html_lit(h, "<li><a");
        html_attr(h, "href", p->path);
        if (strcmp(p->menu, marked) == 0)
            html_lit(h, " aria-current=\"page\"");
        html_lit(h, ">");
        html_str(h, p->menu);
        html_lit(h, "</a></li>");
    }
    html_lit(h, "</ul></nav>");
}

static void frame_viewer(struct html *h)
{
    if (!*h->view->viewer)
        return;
    if (!h->view->can_log_out) {
        html_lit(h, "<span class=\"viewer\">");
        html_str(h, h->view->viewer);
        html_lit(h, "</span>");
        return;
    }
    html_lit(h, "<form class=\"viewer\" method=\"post\" action=\"/logout\">");
    html_form_token(h);
    html_str(h, h->view->viewer);
    html_lit(h, " <button>Log out</button></form>");
}

/* The bar on top. The script says in it whether the page is live. */
static void frame_bar(struct html *h)
{
    html_lit(h, "<a class=\"skip\" href=\"#main\">Skip to the page</a>"
                "<header class=\"top\"><a class=\"brand\" href=\"/\">"
                "<svg width=\"18\" height=\"18\" aria-hidden=\"true\">"
                "<rect width=\"8\" height=\"8\" rx=\"2\"/>"
                "<rect x=\"10\" width=\"8\" height=\"8\" rx=\"2\"/>"
                "<rect y=\"10\" width=\"8\" height=\"8\" rx=\"2\"/>"
                "<rect x=\"10\" y=\"10\" width=\"8\" height=\"8\" rx=\"4\"/>"
                "</svg>Quarry</a><span class=\"cluster\">");
    html_str(h, h->view->cluster);
    html_lit(h, "</span><div class=\"live\" id=\"live\"></div>");
    frame_viewer(h);
    html_lit(h, "</header>");
}

/* The address of the stream of the page's document. */
static void frame_events(struct html *h, const char *subject)
{
    struct buf link = BUF_INIT;
    struct http_segments path;
    struct page_match m;
    struct err err = ERR_INIT;
    bool known =
        http_segments_parse(slice_str(h->view->path), &path, &err) == 0 &&
        page_find(&path, &m);
    html_url_put(&link, "/events?subject={}", subject);
    for (size_t i = 0; known && i < m.count; i++)
        html_url_put(&link, "&{}={}", m.params[i].name, m.params[i].value);
    if (*h->view->query)
        buf_printf(&link, "&%s", h->view->query);
    html_attr_slice(h, "data-events", buf_slice(&link));
    http_segments_close(&path);
    buf_close(&link);
}

/* Is it why there is no document? A document may have an `error` too. */
static bool frame_is_failure(const json_t *doc)
{
    return json_object_get(doc, "error") && !json_object_get(doc, "at_us");
}

/* The heading of a page that does not write its own. */
static void frame_heading(struct html *h)
{
    html_lit(h, "<div class=\"head\"><h1>");
    html_str(h, h->view->title);
    html_lit(h, "</h1></div>");
}

static void frame_as_of(struct html *h, const json_t *doc)
{
    const json_t *at = json_object_get(doc, "at_us");
    if (!json_is_integer(at))
        return;
    html_lit(h, "<p class=\"dim\">As of ");
    html_time(h, (int64_t)json_integer_value(at));
    html_lit(h, "</p>");
}

static void frame_foot(struct html *h)
{
    static const char *const texts[] = {"/status", "/metrics", "/vars",
                                        "/fibers", "/peers",   "/calls",
                                        "/health", NULL};
    if (!*h->view->node)
        return;
    html_lit(h, "<footer>Seen from ");
    html_str(h, h->view->node);
    html_lit(h, ", as text: ");
    for (const char *const *p = texts; *p; p++) {
        html_lit(h, "<a");
        html_attr(h, "href", *p);
        html_lit(h, ">");
        html_str(h, *p + 1);
        html_lit(h, "</a> ");
    }
    html_lit(h, "</footer>");
}

void page_frame(struct html *h,
                const char *menu,
                const char *subject,
                html_fn render,
                const json_t *doc)
{
    PRE(h->view);
    PRE(h->view->title);
    frame_head(h, subject);
    html_lit(h, "<body>");
    frame_bar(h);
    html_lit(h, "<div class=\"body\">");
    frame_menu(h, menu);
    html_lit(h, "<div><main id=\"main\" tabindex=\"-1\"");
    if (*subject)
        frame_events(h, subject);
    html_lit(h, ">");
    if (!*subject || frame_is_failure(doc))
        frame_heading(h);
    if (render)
        render(h, doc);
    frame_as_of(h, doc);
    html_lit(h, "</main>");
    frame_foot(h);
    html_lit(h, "</div></div></body></html>\n");
}
