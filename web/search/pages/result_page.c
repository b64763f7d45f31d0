/* Results as HTML: plain, and complete without a script. The script only offers
 * words while one types.
 */
#include "web/search/pages/result_page.h"

#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/http/http.h"
#include "cli/console/html.h"
#include "mapreduce/warc/date.h"
#include "web/replay/crawl_links.h"

/* --- parts --------------------------------------------------------------- */

static void put_head(struct html *h, struct slice query, bool has_ranks)
{
    html_lit(h, "<!doctype html><html lang=\"en\"><head><meta "
                "charset=\"utf-8\"><meta name=\"viewport\" "
                "content=\"width=device-width, initial-scale=1\"><meta "
                "name=\"color-scheme\" content=\"light dark\"><title>");
    if (query.len) {
        html_text(h, query);
        html_lit(h, " - ");
    }
    html_lit(h, "Quarry search</title><link rel=\"icon\"");
    html_asset(h, "href", "icon.svg");
    html_lit(h, "><link rel=\"stylesheet\"");
    html_asset(h, "href", "console.css");
    html_lit(h, "><link rel=\"stylesheet\"");
    html_asset(h, "href", "replay.css");
    html_lit(h, "><link rel=\"stylesheet\"");
    html_asset(h, "href", "search.css");
    html_lit(h, "><script defer");
    html_asset(h, "src", "search.js");
    html_lit(h, "></script></head><body><a class=\"skip\" href=\"#main\">Skip "
                "to the results</a><header class=\"top\"><a class=\"brand\" "
                "href=\"/\">Quarry search</a><span class=\"cluster\">");
    html_str(h, h->view->cluster);
    html_lit(h, "</span>");
    crawl_links_put(h, has_ranks);
    html_lit(h, "</header><main id=\"main\" class=\"search-body\" "
                "tabindex=\"-1\">");
}

static void put_form(struct html *h, struct slice query)
{
    html_lit(h, "<h1 class=\"vh\">Search archived pages</h1><form "
                "class=\"search-form\" action=\"/search\" role=\"search\">"
                "<label class=\"vh\" for=\"q\">Words</label><input id=\"q\" "
                "name=\"q\" type=\"search\" list=\"words\" "
                "autocomplete=\"off\" maxlength=\"2000\"");
    if (query.len == 0)
        html_lit(h, " autofocus");
    html_attr_slice(h, "value", query);
    html_lit(h, "><datalist id=\"words\"></datalist> <button>Search</button>"
                "</form>");
}

static void put_help(struct html *h, const struct search_index_facts *facts)
{
    html_lit(h, "<p class=\"dim\">");
    html_count(h, (int64_t)facts->documents);
    html_lit(h, " pages, indexed ");
    html_time(h, (int64_t)(facts->updated_us / 1000000 * 1000000));
    html_lit(
        h,
        ".</p><details class=\"search-help\" open><summary>What can be asked "
        "for</summary><dl>"
        "<dt><code>linked pages</code></dt><dd>pages with these words; those "
        "with more of them first</dd>"
        "<dt><code>\"linked pages\"</code></dt><dd>one after the other</dd>"
        "<dt><code>+linked -pages</code></dt><dd>with the one, without the "
        "other</dd>"
        "<dt><code>title:linked</code></dt><dd>in the title; also "
        "<code>url:</code>, <code>body:</code>, and <code>anchor:</code> for "
        "what links to the page say</dd>"
        "<dt><code>site:example.org</code></dt><dd>of a host and those below "
        "it; <code>-site:</code> leaves it out</dd>"
        "<dt><code>after:2019 before:2021-05</code></dt><dd>captured then: the "
        "last capture of each page within</dd></dl></details>"
        "<form class=\"replay-form\" action=\"/web\"><label "
        "for=\"url\">Or show the address</label> <input id=\"url\" "
        "name=\"url\" type=\"text\" required> <button>Show</button> "
        "<button name=\"list\" value=\"1\">List what begins so</button>"
        "</form>");
}

/* Text, and what was looked for as <mark>. */
static void put_marked(struct html *h, const struct search_text *t)
{
    struct slice all = buf_slice(&t->text);
    size_t at = 0;
    for (size_t i = 0; i < t->mark_count; i++) {
        html_text(h, slice_sub(all, at, t->marks[i].begin));
        html_lit(h, "<mark>");
        html_text(h, slice_sub(all, t->marks[i].begin, t->marks[i].end));
        html_lit(h, "</mark>");
        at = t->marks[i].end;
    }
    html_text(h, slice_sub(all, at, all.len));
}

/* " href="/web/…"": the capture, or with @date "*" the calendar. */
static void put_replay_link(struct html *h,
                            const struct search_page *page,
                            const char *date)
{
    struct buf to = BUF_INIT;
    buf_printf(&to, "/web/%s/", date);
    buf_append_slice(&to, buf_slice(&page->url));
    html_attr_slice(h, "href", buf_slice(&to));
    buf_close(&to);
}

static void put_result(struct html *h,
                       const struct search_hit *hit,
                       const struct search_page *page,
                       struct slice query)
{
    char date[DATE_TEXT_BYTES];
    date_format_14(hit->time_us, date);
    html_lit(h, "<li><h2><a");
    put_replay_link(h, page, date);
    html_lit(h, ">");
    put_marked(h, &page->title);
    html_lit(h, "</a></h2><p class=\"search-where\"><span "
                "class=\"search-url\">");
    html_text(h, buf_slice(&page->url));
    html_lit(h, "</span> ");
    html_time(h, hit->time_us / 1000000 * 1000000);
    if (hit->capture_count > 1) {
        html_lit(h, " <a");
        put_replay_link(h, page, "*");
        html_lit(h, ">");
        html_printf(h, "%u captures say the same", hit->capture_count);
        html_lit(h, "</a>");
    }
    html_lit(h, "</p>");
    if (page->snippet.text.len) {
        html_lit(h, "<p class=\"search-snippet\">");
        put_marked(h, &page->snippet);
        html_lit(h, "</p>");
    }
    if (hit->alike_count) {
        char *text = mem_strndup(query.data, query.len);
        html_lit(h, "<p class=\"dim\"><a");
        html_url(h, "href", "/search?q={}&all=1", text);
        html_lit(h, ">");
        html_printf(h, "%u more page%s say%s the same", hit->alike_count,
                    hit->alike_count == 1 ? "" : "s",
                    hit->alike_count == 1 ? "s" : "");
        html_lit(h, "</a></p>");
        mem_free(text);
    }
    html_lit(h, "</li>");
}

static void put_step(struct html *h,
                     const struct search_request *r,
                     const char *query,
                     size_t from,
                     const char *label)
{
    char number[32];
    struct buf b = BUF_INIT;
    buf_printf(&b, "%zu", from);
    memcpy(number, buf_cstr(&b), b.len + 1);
    buf_close(&b);
    html_lit(h, "<a");
    if (r->keep_alike)
        html_url(h, "href", "/search?q={}&from={}&all=1", query, number);
    else
        html_url(h, "href", "/search?q={}&from={}", query, number);
    html_lit(h, ">");
    html_str(h, label);
    html_lit(h, "</a> ");
}

static void put_steps(struct html *h,
                      const struct search_request *r,
                      const struct search_results *results)
{
    char *query;
    size_t next = r->skip + r->limit;
    if (r->skip == 0 && !results->has_more)
        return;
    query = mem_strndup(r->query.data, r->query.len);
    html_lit(h, "<nav class=\"search-steps\" aria-label=\"Pages of "
                "results\">");
    if (r->skip)
        put_step(h, r, query, r->skip > r->limit ? r->skip - r->limit : 0,
                 "← Better results");
    if (results->has_more && next + r->limit <= SEARCH_RESULTS_MAX)
        put_step(h, r, query, next, "Further results →");
    html_lit(h, "</nav>");
    mem_free(query);
}

static void put_suggestion(struct html *h, const struct search_results *results)
{
    char *text;
    if (results->suggestion.len == 0)
        return;
    text = mem_strndup(results->suggestion.data, results->suggestion.len);
    html_lit(h, "<p>Did you mean <a");
    html_url(h, "href", "/search?q={}", text);
    html_lit(h, ">");
    html_str(h, text);
    html_lit(h, "</a>?</p>");
    mem_free(text);
}

static void put_nothing(struct html *h, const struct search_request *r)
{
    html_lit(h, "<p role=\"status\">");
    if (r->skip)
        html_lit(h, "There are no further results.");
    else
        html_lit(h, "No page here has any of that.");
    html_lit(h, "</p>");
}

static void
put_error(struct html *h, struct http_reply *reply, const struct err *err)
{
    reply->status =
        err->code == ERR_INVALID || err->code == ERR_TOOBIG ? 400 : 503;
    html_lit(h, "<p class=\"error\" role=\"alert\">");
    html_str(h, err->text);
    html_lit(h, "</p>");
}

static int put_results(struct html *h,
                       const struct result_page *p,
                       const struct search_results *results,
                       struct err *err)
{
    struct search_page page = {.url = BUF_INIT};
    int rc = 0;
    html_lit(h, "<ol class=\"search-results\"");
    html_attr_int(h, "start", (int64_t)p->request.skip + 1);
    html_lit(h, ">");
    for (size_t i = 0; i < results->count && !rc; i++) {
        rc = search_describe(p->index, p->table, results, &results->hits[i],
                             &page, err);
        if (!rc && !page.is_blocked)
            put_result(h, &results->hits[i], &page, p->request.query);
    }
    html_lit(h, "</ol>");
    search_page_close(&page);
    return rc;
}

static struct search_ending put_answer(struct html *h,
                                       const struct result_page *p,
                                       struct http_reply *reply)
{
    struct search_results results;
    struct search_ending ending;
    struct err err = ERR_INIT;
    int rc = search_run(p->index, &p->request, &results, &err);
    if (!rc) {
        put_suggestion(h, &results);
        if (results.count)
            rc = put_results(h, p, &results, &err);
        else
            put_nothing(h, &p->request);
        put_steps(h, &p->request, &results);
    }
    if (rc)
        put_error(h, reply, &err);
    ending = search_ending_of(rc, results.count);
    search_results_close(&results);
    return ending;
}

struct search_ending result_page_put(const struct result_page *page,
                                     struct http_reply *reply)
{
    struct search_ending ending = {SEARCH_NOTHING, 0};
    struct html_view view = {.cluster = page->table_name,
                             .node = "",
                             .path = "",
                             .query = "",
                             .title = "",
                             .viewer = "",
                             .form_token = ""};
    struct html h = {&reply->body, &view};
    struct slice query = slice_trim(page->request.query);
    reply->content_type = "text/html; charset=utf-8";
    put_head(&h, query, page->has_ranks);
    put_form(&h, page->request.query);
    if (query.len) {
        ending = put_answer(&h, page, reply);
    } else {
        struct search_index_facts facts;
        search_index_get_facts(page->index, &facts);
        put_help(&h, &facts);
    }
    html_lit(&h, "</main></body></html>\n");
    return ending;
}
