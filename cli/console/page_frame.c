/* The frame of pages. The script finds what to listen to in the attributes of
 * <body>, because a page contains no script itself. */
#include "cli/console/page_frame.h"

#include <string.h>

#include "cli/console/page_table.h"

static void frame_head(struct html *h)
{
    html_lit(h, "<!doctype html><html lang=\"en\"><head><meta "
                "charset=\"utf-8\"><meta name=\"viewport\" "
                "content=\"width=device-width, initial-scale=1\"><meta "
                "name=\"color-scheme\" content=\"light dark\"><title>");
    html_str(h, h->view->title);
    html_lit(h, " - ");
    html_str(h, h->view->cluster);
    html_lit(h, " - Quarry</title><link rel=\"stylesheet\"");
    html_asset(h, "href", "console.css");
    html_lit(h, "><script defer");
    html_asset(h, "src", "console.js");
    html_lit(h, "></script></head>");
}

/* One entry for each page whose title is its entry. */
static void frame_menu(struct html *h, const char *marked)
{
    html_lit(h, "<nav aria-label=\"Pages\"><ul>");
    for (const struct console_page *p = console_pages; p->path; p++) {
        if (!*p->menu || strcmp(p->menu, p->title) != 0)
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
    html_lit(h, "<form class=\"viewer\" method=\"post\" action=\"/logout\">");
    html_form_token(h);
    html_str(h, h->view->viewer);
    html_lit(h, " <button>Log out</button></form>");
}

/* Parts of the cluster that did not answer. */
static void frame_warnings(struct html *h, const json_t *doc)
{
    const json_t *warnings = json_object_get(doc, "warnings");
    if (json_array_size(warnings) == 0)
        return;
    html_lit(h, "<ul class=\"warnings\" role=\"status\">");
    for (size_t i = 0; i < json_array_size(warnings); i++) {
        html_lit(h, "<li>");
        html_json(h, json_array_get(warnings, i));
        html_lit(h, "</li>");
    }
    html_lit(h, "</ul>");
}

static void frame_foot(struct html *h, const json_t *doc)
{
    const json_t *at = json_object_get(doc, "at_us");
    html_lit(h, "<footer>");
    if (json_is_integer(at)) {
        html_lit(h, "<span>As of ");
        html_time(h, (int64_t)json_integer_value(at));
        html_lit(h, "</span>");
    }
    if (*h->view->node) {
        html_lit(h, "<span>Seen from ");
        html_str(h, h->view->node);
        html_lit(h, ": ");
        for (const char *const *p =
                 (const char *const[]){"/status", "/metrics", "/vars",
                                       "/fibers", "/peers", "/calls", "/health",
                                       NULL};
             *p; p++) {
            html_lit(h, "<a");
            html_attr(h, "href", *p);
            html_lit(h, ">");
            html_str(h, *p + 1);
            html_lit(h, "</a> ");
        }
        html_lit(h, "</span>");
    }
    html_lit(h, "</footer>");
}

void page_frame(struct html *h,
                const char *menu,
                const char *subject,
                html_fn render,
                const json_t *doc)
{
    frame_head(h);
    html_lit(h, "<body");
    html_attr(h, "data-subject", subject);
    html_attr(h, "data-path", h->view->path);
    html_attr(h, "data-query", h->view->query);
    html_lit(h, "><a class=\"skip\" href=\"#main\">Skip to the page</a>"
                "<header><a class=\"home\" href=\"/\">");
    html_str(h, h->view->cluster);
    html_lit(h, "</a>");
    frame_menu(h, menu);
    frame_viewer(h);
    html_lit(h, "</header><main id=\"main\" tabindex=\"-1\"><h1>");
    html_str(h, h->view->title);
    html_lit(h, "</h1>");
    frame_warnings(h, doc);
    if (render)
        render(h, doc);
    html_lit(h, "</main>");
    frame_foot(h, doc);
    html_lit(h, "</body></html>\n");
}
