/* The frame of replay's pages, in the console's style, so that they look
 * alike and share its policy.
 */
#include "web/replay/page_shell.h"

#include "base/http/http.h"
#include "web/replay/crawl_links.h"

void shell_head(struct html *h, bool is_frame)
{
    html_lit(h, "<!doctype html><html lang=\"en\"><head><meta "
                "charset=\"utf-8\"><meta name=\"viewport\" "
                "content=\"width=device-width, initial-scale=1\"><meta "
                "name=\"color-scheme\" content=\"light dark\"><title>");
    html_str(h, h->view->title);
    html_lit(h, " - Quarry replay</title><link rel=\"icon\"");
    html_asset(h, "href", "icon.svg");
    html_lit(h, "><link rel=\"stylesheet\"");
    html_asset(h, "href", "console.css");
    html_lit(h, "><link rel=\"stylesheet\"");
    html_asset(h, "href", "replay.css");
    html_lit(h, ">");
    if (is_frame) {
        html_lit(h, "<script defer");
        html_asset(h, "src", "replay_banner.js");
        html_lit(h, "></script>");
    }
    html_lit(h, "</head>");
}

void shell_form(struct html *h, struct slice url)
{
    html_lit(h, "<form class=\"replay-form\" action=\"/web\"><label "
                "for=\"url\">URL</label> <input id=\"url\" name=\"url\" "
                "type=\"text\" size=\"50\" required");
    html_attr_slice(h, "value", url);
    html_lit(h, "> <label for=\"date\">Date</label> <input id=\"date\" "
                "name=\"date\" type=\"text\" size=\"14\" "
                "title=\"1 to 14 digits, or none\"> <button>Show</button> "
                "<button name=\"list\" value=\"1\">List what begins "
                "so</button></form>");
}

void shell_begin(struct html *h,
                 struct html_view *view,
                 struct replay_call *k,
                 const char *title)
{
    *view = (struct html_view){.cluster = k->replay->table_name,
                               .node = "",
                               .path = "",
                               .query = "",
                               .title = title,
                               .viewer = "",
                               .form_token = ""};
    *h = (struct html){&k->reply->body, view};
    k->reply->content_type = "text/html; charset=utf-8";
    shell_head(h, false);
    html_lit(h, "<body><a class=\"skip\" href=\"#main\">Skip to the "
                "page</a><header class=\"top\"><a class=\"brand\" "
                "href=\"/\">Quarry replay</a><span class=\"cluster\">");
    html_str(h, k->replay->table_name);
    html_lit(h, "</span>");
    crawl_links_put(h, k->replay->ranks != NULL);
    html_lit(h, "</header><div class=\"replay-body\"><main "
                "id=\"main\" tabindex=\"-1\"><div class=\"head\"><h1>");
    html_str(h, title);
    html_lit(h, "</h1></div>");
}

void shell_end(struct html *h)
{
    html_lit(h, "</main></div></body></html>\n");
}

void shell_link_capture(struct html *h, const struct capture *c)
{
    struct buf to = BUF_INIT;
    replay_put_address(&to, REPLAY_WEB, c, REPLAY_MOD_NONE);
    html_lit(h, "<a");
    html_attr_slice(h, "href", buf_slice(&to));
    html_lit(h, ">");
    buf_close(&to);
}

void shell_link_calendar(struct html *h, struct slice url)
{
    struct buf to = BUF_INIT;
    buf_append_str(&to, REPLAY_WEB "*/");
    buf_append_slice(&to, url);
    html_lit(h, "<a");
    html_attr_slice(h, "href", buf_slice(&to));
    html_lit(h, ">");
    buf_close(&to);
}
