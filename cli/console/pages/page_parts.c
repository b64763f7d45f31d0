/* The parts that pages are made of: head, path, figures, pairs, times,
 * states, bars. Pages differ in their content alone, and a part says the same
 * thing in the same words everywhere. */
#include "cli/console/pages/page_parts.h"

#include <math.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/http/http_form.h"
#include "cli/console/page_table.h"
#include "cli/console/pages/page_fields.h"

/* --- the head ------------------------------------------------------------ */

static void page_crumb(struct html *h, const struct page_crumb *c)
{
    html_lit(h, "<li><a");
    html_url(h, "href", c->pattern, c->first, c->second);
    html_lit(h, ">");
    html_str(h, c->text);
    html_lit(h, "</a></li>");
}

void page_head_begin(struct html *h,
                     const struct page_crumb *crumbs,
                     size_t count,
                     const char *title)
{
    if (count)
        html_lit(h,
                 "<nav class=\"crumbs\" aria-label=\"Above this page\"><ol>");
    for (size_t i = 0; i < count; i++)
        page_crumb(h, &crumbs[i]);
    if (count)
        html_lit(h, "</ol></nav>");
    html_lit(h, "<div class=\"head\"><h1>");
    html_str(h, title);
    html_lit(h, "</h1>");
}

/* A link to the directory that is the first @len bytes of @path. */
static void page_path_part(struct html *h,
                           const char *pattern,
                           const char *path,
                           size_t from,
                           size_t len)
{
    struct buf directory = BUF_INIT;
    buf_append(&directory, len ? path : "/", len ? len : 1);
    buf_append_byte(&directory, 0);
    html_lit(h, "<li><a");
    html_url(h, "href", pattern, directory.data);
    html_lit(h, ">");
    html_text(h, len ? slice_make(path + from, len - from) : SLICE_LIT("root"));
    html_lit(h, "</a></li>");
    buf_close(&directory);
}

void page_path(struct html *h, const char *pattern, const char *path)
{
    size_t from = 0;
    PRE(strstr(pattern, "{}"));
    if (path[0] != '/' || !path[1])
        return;
    html_lit(h, "<nav class=\"crumbs\" aria-label=\"Above this page\"><ol>");
    page_path_part(h, pattern, path, 0, 0);
    for (size_t i = 1; path[i]; i++)
        if (path[i] == '/' && path[i + 1]) {
            page_path_part(h, pattern, path, from + 1, i);
            from = i;
        }
    html_lit(h, "</ol></nav>");
}

/* Append the fields of the page's query that its document takes. */
static void page_put_params(const struct html *h, struct buf *link)
{
    const char *path = h->view->path ? h->view->path : "/";
    const char *query = h->view->query ? h->view->query : "";
    struct http_segments segments;
    struct http_form form = {.count = 0};
    struct page_match m;
    struct err err = ERR_INIT;
    char separator = '?';
    if (http_segments_parse(slice_str(path), &segments, &err) == 0 &&
        page_find(&segments, &m) &&
        http_form_parse(slice_str(query), &form, &err) == 0)
        for (size_t i = 0; i < form.count; i++) {
            const struct http_field *f = &form.fields[i];
            if (!monitor_subject_takes(m.page->subject, f->name))
                continue;
            buf_append_byte(link, separator);
            html_url_put(link, "{}={}", f->name, f->value);
            separator = '&';
        }
    http_form_close(&form);
    http_segments_close(&segments);
}

/* The address of the page's document. */
static void page_json_link(struct html *h)
{
    struct buf link = BUF_INIT;
    const char *path = h->view->path ? h->view->path : "/";
    buf_append_str(&link, strcmp(path, "/") == 0 ? "/overview" : path);
    buf_append_str(&link, ".json");
    page_put_params(h, &link);
    html_lit(h, "<a class=\"btn\"");
    html_attr_slice(h, "href", buf_slice(&link));
    html_lit(h, ">JSON<span class=\"vh\"> of this page</span></a>");
    buf_close(&link);
}

static void page_warnings(struct html *h, const json_t *doc)
{
    const json_t *list = page_list(doc, "warnings");
    if (json_array_size(list) == 0)
        return;
    html_lit(h,
             "<div class=\"note warn\" id=\"warnings\" role=\"note\"><strong>"
             "Not all could be asked</strong><ul>");
    for (size_t i = 0; i < json_array_size(list); i++) {
        html_lit(h, "<li>");
        html_json(h, json_array_get(list, i));
        html_lit(h, "</li>");
    }
    html_lit(h, "</ul></div>");
}

void page_head_end(struct html *h, const json_t *doc)
{
    html_lit(h, "<div class=\"tools\">");
    page_json_link(h);
    html_lit(h, "</div></div>");
    page_warnings(h, doc);
}

void page_head(struct html *h, const json_t *doc, const char *title)
{
    page_head_begin(h, NULL, 0, title);
    page_head_end(h, doc);
}

void page_sub_begin(struct html *h)
{
    html_lit(h, "<p class=\"sub\">");
}

void page_sub_end(struct html *h)
{
    html_lit(h, "</p>");
}

void page_button(struct html *h,
                 const char *label,
                 const char *pattern,
                 const char *first)
{
    html_lit(h, "<a class=\"btn\"");
    html_url(h, "href", pattern, first);
    html_lit(h, ">");
    html_str(h, label);
    html_lit(h, "</a>");
}

/* --- figures ------------------------------------------------------------- */

void page_missing(struct html *h)
{
    html_lit(h, "<span class=\"dim\">–</span>");
}

static void page_humane(struct html *h, enum humane_unit unit, double value)
{
    struct buf b = BUF_INIT;
    humane_put(&b, unit, value);
    html_text(h, buf_slice(&b));
    buf_close(&b);
}

void page_value(struct html *h, enum humane_unit unit, double value)
{
    struct buf exact = BUF_INIT;
    PRE(unit <= HUMANE_TIME);
    if (!isfinite(value)) {
        page_missing(h);
        return;
    }
    if (unit == HUMANE_TIME) {
        page_time(h, value);
        return;
    }
    humane_put_exact(&exact, unit, value);
    html_lit(h, "<span");
    html_attr_slice(h, "title", buf_slice(&exact));
    html_lit(h, ">");
    page_humane(h, unit, value);
    html_lit(h, "</span>");
    buf_close(&exact);
}

void page_put(struct html *h, const json_t *object, const char *path)
{
    const json_t *v = page_field(object, path);
    if (json_is_number(v))
        page_value(h, humane_unit_of(path), json_number_value(v));
    else if (!v || (json_is_string(v) && json_string_length(v) == 0))
        page_missing(h);
    else
        html_json(h, v);
}

/* A time that RFC 3339 can name. */
static bool page_is_time(double at_us)
{
    return isfinite(at_us) && at_us > 0 && at_us < 2.5e17;
}

/* Begin <time> with the attribute that says when. */
static void page_time_begin(struct html *h, double at_us)
{
    struct buf b = BUF_INIT;
    PRE(page_is_time(at_us));
    text_put_time(&b, (int64_t)at_us);
    html_lit(h, "<time");
    html_attr_slice(h, "datetime", buf_slice(&b));
    buf_close(&b);
}

void page_time(struct html *h, double at_us)
{
    if (!page_is_time(at_us)) {
        page_missing(h);
        return;
    }
    page_time_begin(h, at_us);
    html_lit(h, ">");
    page_humane(h, HUMANE_TIME, at_us);
    html_lit(h, "</time>");
}

void page_age(struct html *h, double at_us, double now_us)
{
    if (!page_is_time(at_us) || !page_is_time(now_us)) {
        page_time(h, at_us);
        return;
    }
    page_time_begin(h, at_us);
    html_lit(h, " data-ago");
    {
        struct buf b = BUF_INIT;
        humane_put(&b, HUMANE_TIME, at_us);
        html_attr_slice(h, "title", buf_slice(&b));
        buf_close(&b);
    }
    html_lit(h, ">");
    page_humane(h, HUMANE_DURATION,
                at_us < now_us ? floor((now_us - at_us) / 1e6) * 1e6 : 0);
    html_lit(h, "</time>");
}

void page_figures_begin(struct html *h, const char *label)
{
    PRE(*label);
    html_lit(h, "<section");
    html_attr(h, "aria-label", label);
    html_lit(h, "><dl class=\"figs\">");
}

void page_figures_end(struct html *h)
{
    html_lit(h, "</dl></section>");
}

void page_figure_begin(struct html *h, const char *name)
{
    html_lit(h, "<div><dt>");
    html_str(h, name);
    html_lit(h, "</dt><dd>");
}

void page_figure_end(struct html *h)
{
    html_lit(h, "</dd></div>");
}

void page_figure(struct html *h,
                 const char *name,
                 const json_t *o,
                 const char *path)
{
    page_figure_begin(h, name);
    page_put(h, o, path);
    page_figure_end(h);
}

void page_pairs_begin(struct html *h, const char *title)
{
    html_lit(h, "<section class=\"panel\"><h2>");
    html_str(h, title);
    html_lit(h, "</h2><dl class=\"pairs\">");
}

void page_pairs_end(struct html *h)
{
    html_lit(h, "</dl></section>");
}

void page_label(struct html *h, const char *name)
{
    for (; *name; name++)
        if (*name == '_')
            html_lit(h, " ");
        else {
            size_t run = strcspn(name, "_");
            html_text(h, slice_make(name, run));
            name += run - 1;
        }
}

void page_pairs_of(struct html *h, const json_t *object)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        html_lit(h, "<div><dt>");
        page_label(h, key);
        html_lit(h, "</dt><dd>");
        if (json_is_number(value))
            page_value(h, humane_unit_of(key), json_number_value(value));
        else
            html_json(h, value);
        html_lit(h, "</dd></div>");
    }
}

/* --- words --------------------------------------------------------------- */

static const struct {
    const char *word, *look;
} page_looks[] = {
    {"up", "good"},        {"well", "good"},       {"serving", "good"},
    {"done", "good"},      {"ok", "good"},         {"finished", "good"},
    {"succeeded", "good"}, {"loaded", "good"},     {"live", "good"},
    {"warning", "warn"},   {"silent", "warn"},     {"waiting", "warn"},
    {"loading", "warn"},   {"moving", "warn"},     {"splitting", "warn"},
    {"stopping", "warn"},  {"unassigned", "warn"}, {"queued", "warn"},
    {"slow", "warn"},      {"straggler", "warn"},  {"draining", "warn"},
    {"failing", "bad"},    {"failed", "bad"},      {"failure", "bad"},
    {"down", "bad"},       {"lost", "bad"},        {"dead", "bad"},
    {"error", "bad"},      {"offline", "bad"},     {"unwell", "bad"},
};

/* Appends the class of @state: a literal. */
static void page_state_look(struct html *h, const char *state)
{
    for (size_t i = 0; i < ARRAY_LEN(page_looks); i++)
        if (strcmp(page_looks[i].word, state) == 0) {
            html_lit(h, " ");
            html_str(h, page_looks[i].look);
        }
}

void page_state(struct html *h, const char *state)
{
    if (!state || !*state) {
        page_missing(h);
        return;
    }
    html_lit(h, "<span class=\"st");
    page_state_look(h, state);
    html_lit(h, "\">");
    html_str(h, state);
    html_lit(h, "</span>");
}

void page_outcome(struct html *h, const char *outcome)
{
    if (!outcome || !*outcome || strcmp(outcome, "ok") == 0) {
        page_state(h, outcome);
        return;
    }
    html_lit(h, "<span class=\"st bad\">");
    html_str(h, outcome);
    html_lit(h, "</span>");
}

void page_key(struct html *h, const char *key, const char *edge)
{
    if (!key) {
        page_missing(h);
        return;
    }
    if (!*key) {
        html_lit(h, "<span class=\"dim\">");
        html_str(h, edge);
        html_lit(h, "</span>");
        return;
    }
    html_lit(h, "<span class=\"key\">");
    html_str(h, key);
    html_lit(h, "</span>");
}

/* --- blocks -------------------------------------------------------------- */

void page_empty(struct html *h, const char *sentence, const char *next)
{
    html_lit(h, "<div class=\"empty\"><strong>");
    html_str(h, sentence);
    html_lit(h, "</strong> ");
    html_str(h, next);
    html_lit(h, "</div>");
}

void page_action(struct html *h,
                 const char *label,
                 const char *pattern,
                 const char *first,
                 const char *second)
{
    PRE(strncmp(pattern, "/actions/", 9) == 0);
    if (!h->view->may_operate)
        return;
    html_lit(h, "<a class=\"btn danger\"");
    html_url(h, "href", pattern, first, second);
    html_lit(h, ">");
    html_str(h, label);
    html_lit(h, "</a>");
}

void page_percent_attr(struct html *h, const char *name, double share)
{
    struct buf b = BUF_INIT;
    double percent = isfinite(share) ? fmin(fmax(share, 0), 1) * 100 : 0;
    buf_printf(&b, "%.3g%%", percent);
    html_attr_slice(h, name, buf_slice(&b));
    buf_close(&b);
}

void page_bar(struct html *h, double share, bool hot)
{
    html_lit(h, "<svg class=\"bar\" aria-hidden=\"true\"><rect class=\"rail\" "
                "width=\"100%\" height=\"100%\" rx=\"3\"/><rect");
    page_percent_attr(h, "width", share);
    if (hot)
        html_lit(h, " class=\"hot\"");
    html_lit(h, " height=\"100%\" rx=\"3\"/></svg>");
}
