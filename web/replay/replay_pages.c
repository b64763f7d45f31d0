/* The server's own pages: start, banner, calendar, list, errors. They are whole
 * HTML that needs no script; text of the archive is escaped into them, since it
 * comes from servers that anybody runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/http/http.h"
#include "mapreduce/warc/date.h"
#include "mapreduce/warc/method_query.h"
#include "mapreduce/warc/surt.h"
#include "mapreduce/warc/url.h"
#include "web/replay/page_shell.h"
#include "web/replay/site_index.h"

/* Entries of one page of a list. */
#define LIST_ENTRIES_MAX 500
#define DAY_US           (INT64_C(86400) * 1000000)

/* --- sentences ----------------------------------------------------------- */

/* To an archived page, of which it may fill a frame: a sentence without a form,
 * since the server's own pages are in no frame. */
static void error_in_page(struct replay_call *k, const char *text)
{
    k->reply->is_foreign = true;
    k->reply->content_type = "text/plain; charset=utf-8";
    http_reply_header(k->reply, "X-Content-Type-Options", "nosniff");
    http_reply_header(k->reply, "Cache-Control", "no-store");
    http_reply_header(k->reply, "Content-Security-Policy",
                      "sandbox; default-src 'none'");
    replay_allow_pages(k);
    buf_clear(&k->reply->body);
    buf_append_str(&k->reply->body, text);
    buf_append_byte(&k->reply->body, '\n');
}

void replay_error(struct replay_call *k, unsigned status, const char *text)
{
    struct html h;
    struct html_view view;
    k->reply->status = status;
    if (k->is_archived) {
        error_in_page(k, text);
        return;
    }
    k->reply->is_foreign = false;
    shell_begin(&h, &view, k,
                status == 404   ? "Not in the archive"
                : status == 451 ? "Not shown"
                                : "No page");
    html_lit(&h, "<p class=\"error\" role=\"alert\">");
    html_str(&h, text);
    html_lit(&h, "</p>");
    shell_form(&h, buf_slice(&k->url));
    shell_end(&h);
}

void replay_failed(struct replay_call *k, const struct err *err)
{
    replay_error(k, err->code == ERR_INVALID ? 400 : 503, err->text);
}

/* RFC 7725: nothing of it is told but why. */
static void replay_blocked(struct replay_call *k, struct slice reason)
{
    struct buf text = BUF_INIT;
    buf_append_slice(&text, buf_slice(&k->url));
    buf_printf(&text, " is not shown: %.*s", SLICE_ARG(reason));
    replay_error(k, 451, buf_cstr(&text));
    buf_close(&text);
}

void replay_not_found(struct replay_call *k, const struct capture_list *l)
{
    struct buf text = BUF_INIT;
    size_t count = l->count;
    if (count == 0 && l->blocked) {
        replay_blocked(k, l->reason);
        return;
    }
    if (count)
        buf_printf(&text,
                   "none of the captures here can be shown (%zu): they are "
                   "redirects to themselves, or say that a page had not "
                   "changed since a capture that is not here: ",
                   count);
    else
        buf_append_str(&text, "there is no capture of ");
    buf_append_slice(&text, buf_slice(&k->url));
    replay_error(k, 404, buf_cstr(&text));
    buf_close(&text);
}

/* --- start --------------------------------------------------------------- */

void replay_start_page(struct replay_call *k)
{
    struct html h;
    struct html_view view;
    shell_begin(&h, &view, k, "The web, as it was");
    shell_form(&h, SLICE_EMPTY);
    html_lit(&h, "<p class=\"dim\">Captures of ");
    html_str(&h, k->replay->table_name);
    html_lit(&h, " are at /web/DATE/URL, where DATE has 1 to 14 digits, a "
                 "calendar at /web/*/URL, a list at /web/*/URL*, an index for "
                 "programs at /cdx?url=URL.</p>");
    if (!k->replay->wombat.len)
        html_lit(&h, "<p class=\"dim\">Wombat is not installed: links that "
                     "scripts of a page make are followed only as far as the "
                     "server can tell.</p>");
    shell_end(&h);
}

/* --- the banner ---------------------------------------------------------- */

static void banner_step(struct html *h,
                        const struct capture_list *l,
                        size_t to,
                        const char *label)
{
    if (to < l->count) {
        shell_link_capture(h, &l->at[to]);
        html_str(h, label);
        html_lit(h, "</a> ");
    } else {
        html_lit(h, "<span class=\"dim\">");
        html_str(h, label);
        html_lit(h, "</span> ");
    }
}

static void put_banner(struct html *h,
                       struct replay_call *k,
                       const struct capture_list *l,
                       size_t own)
{
    struct slice url = buf_slice(&k->url);
    html_lit(h, "<header class=\"replay-banner\"><a href=\"/\">Quarry</a> "
                "<strong id=\"replay-date\">");
    html_time(h, l->at[own].time_us / 1000000 * 1000000);
    html_lit(h, "</strong> ");
    banner_step(h, l, own ? own - 1 : l->count, "← before");
    banner_step(h, l, own + 1, "after →");
    shell_link_calendar(h, url);
    html_printf(h, "%zu capture%s", l->count, l->count == 1 ? "" : "s");
    html_lit(h, "</a> ");
    if (l->count > 1) {
        char a[DATE_TEXT_BYTES], b[DATE_TEXT_BYTES];
        date_format_14(l->at[own ? own - 1 : own + 1].time_us, a);
        date_format_14(l->at[own].time_us, b);
        html_lit(h, "<a");
        html_url(h, "href", "/difference?url={}&a={}&b={}", buf_cstr(&k->url),
                 a, b);
        html_lit(h, ">difference</a> ");
    }
    html_lit(h, "<h1 class=\"replay-url\" id=\"replay-url\">");
    html_text(h, url);
    html_lit(h, "</h1>");
    if (!k->replay->wombat.len)
        html_lit(h, "<span class=\"dim\" title=\"Links that scripts make are "
                    "followed only as far as the server can "
                    "tell\">without wombat</span>");
    html_lit(h, "</header>");
}

/* Whatever the page does, its window shows this server alone: frame-src holds
 * for what the frame goes to later. */
static void put_frame_policy(struct http_reply *reply)
{
    http_reply_header(
        reply, "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src "
        "'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'");
}

void replay_frame_page(struct replay_call *k,
                       const struct capture_list *l,
                       const struct capture *c)
{
    struct html_view view = {.title = buf_cstr(&k->url)};
    struct html h = {&k->reply->body, &view};
    struct buf to = BUF_INIT;
    replay_put_address(&to, buf_cstr(&k->replay->secret_web), c, REPLAY_MOD_MP);
    k->reply->content_type = "text/html; charset=utf-8";
    put_frame_policy(k->reply);
    http_reply_header(k->reply, "Vary", "Sec-Fetch-Dest");
    memento_headers(k, l, c);
    shell_head(&h, true);
    html_lit(&h, "<body class=\"replay-frame\">");
    put_banner(&h, k, l, (size_t)(c - l->at));
    html_lit(&h, "<main><iframe id=\"replay\" title=\"The page\" "
                 "sandbox=\"allow-scripts allow-forms allow-modals "
                 "allow-downloads allow-pointer-lock "
                 "allow-presentation\"");
    html_attr_slice(&h, "src", buf_slice(&to));
    html_lit(&h, "></iframe></main></body></html>\n");
    buf_close(&to);
}

/* --- the calendar -------------------------------------------------------- */

static void month_of(int64_t us, int64_t *year, unsigned *month, unsigned *day)
{
    text_date_from_days(us / DAY_US - (us % DAY_US < 0), year, month, day);
}

static void put_capture(struct html *h, const struct capture *c)
{
    char date[DATE_TEXT_BYTES];
    date_format_14(c->time_us, date);
    html_lit(h, "<li>");
    shell_link_capture(h, c);
    html_printf(h, "%.2s, %.2s:%.2s:%.2s", date + 6, date + 8, date + 10,
                date + 12);
    html_lit(h, "</a> <span class=\"dim\">");
    if (c->revisit.len)
        html_lit(h, "unchanged");
    else if (c->status)
        html_printf(h, "%d", c->status);
    html_lit(h, "</span></li>");
}

/* By year and month; times of a day beside each other. */
static void put_calendar(struct html *h, const struct capture_list *l)
{
    static const char *const names[] = {
        "January", "February", "March",     "April",   "May",      "June",
        "July",    "August",   "September", "October", "November", "December"};
    int64_t last_year = INT64_MIN;
    unsigned last_month = 0;
    for (size_t i = 0; i < l->count; i++) {
        int64_t year;
        unsigned month, day;
        month_of(l->at[i].time_us, &year, &month, &day);
        if (i && (year != last_year || month != last_month))
            html_lit(h, "</ul></section>");
        if (year != last_year) {
            html_lit(h, "<h2>");
            html_printf(h, "%lld", (long long)year);
            html_lit(h, "</h2>");
        }
        if (year != last_year || month != last_month) {
            html_lit(h, "<section class=\"replay-month\"><h3>");
            html_str(h, names[(month - 1) % 12]);
            html_lit(h, "</h3><ul>");
        }
        put_capture(h, &l->at[i]);
        last_year = year;
        last_month = month;
    }
    html_lit(h, "</ul></section>");
}

/* From and to of /web/2014*: the captures of that period. */
static void keep_period(struct capture_list *l, struct slice digits)
{
    int64_t to;
    int64_t from;
    size_t n = 0;
    if (digits.len < 4 || !replay_date_parse(digits, &to) ||
        !date_parse(slice_sub(digits, 0, digits.len & ~(size_t)1), &from))
        return;
    for (size_t i = 0; i < l->count; i++)
        if (l->at[i].time_us >= from && l->at[i].time_us < to + 1000000)
            l->at[n++] = l->at[i];
    l->count = n;
}

void replay_calendar_page(struct replay_call *k)
{
    struct html h;
    struct html_view view;
    struct capture_list l;
    struct err err = ERR_INIT;
    int rc = archive_captures(k->replay->archive, buf_slice(&k->url), &l, &err);
    keep_period(&l, k->at.date);
    if (rc) {
        replay_failed(k, &err);
    } else if (l.count == 0) {
        replay_not_found(k, &l);
    } else {
        shell_begin(&h, &view, k, buf_cstr(&k->url));
        html_lit(&h, "<p>");
        html_count(&h, (int64_t)l.count);
        html_str(&h, l.count == 1 ? " capture, " : " captures, ");
        html_time(&h, l.at[0].time_us / 1000000 * 1000000);
        html_lit(&h, " to ");
        html_time(&h, l.at[l.count - 1].time_us / 1000000 * 1000000);
        html_lit(&h, "</p>");
        put_calendar(&h, &l);
        shell_form(&h, buf_slice(&k->url));
        shell_end(&h);
    }
    capture_list_close(&l);
}

/* --- lists --------------------------------------------------------------- */

static int put_entry(struct html *h,
                     struct replay_call *k,
                     const struct site_entry *e,
                     struct err *err)
{
    struct capture_list l = {.at = NULL};
    int rc;
    arena_init(&l.arena);
    rc = archive_row_captures(k->replay->archive, e->row, &l, err);
    if (rc == 0 && l.count) {
        struct capture *newest = &l.at[0]; /* Cells are newest first. */
        struct buf asked = BUF_INIT;
        if (newest->method.len) {
            method_query_url(newest->url, newest->method, newest->query,
                             &asked);
            newest->url = buf_slice(&asked);
        }
        html_lit(h, "<tr><th scope=\"row\">");
        shell_link_calendar(h, newest->url);
        html_text(h, newest->url);
        html_lit(h, "</a></th><td>");
        html_count(h, (int64_t)l.count);
        html_lit(h, "</td><td>");
        html_time(h, l.at[l.count - 1].time_us / 1000000 * 1000000);
        html_lit(h, "</td><td>");
        shell_link_capture(h, newest);
        html_time(h, newest->time_us / 1000000 * 1000000);
        html_lit(h, "</a></td></tr>");
        buf_close(&asked);
    }
    capture_list_close(&l);
    return rc;
}

/* Entries of the page, copied: reading their rows parks. */
static size_t copy_entries(const struct site_index *site,
                           struct slice prefix,
                           size_t skip,
                           struct arena *arena,
                           struct site_entry **out,
                           bool *more)
{
    size_t i = site_index_find(site, prefix);
    size_t n = 0;
    *out = arena_zalloc(arena, LIST_ENTRIES_MAX * sizeof(**out));
    *more = false;
    for (; i < site->count && slice_starts_with(site->at[i].surt, prefix); i++)
        if (skip > 0)
            skip--;
        else if (n < LIST_ENTRIES_MAX)
            (*out)[n++] =
                (struct site_entry){arena_dup(arena, site->at[i].surt),
                                    arena_dup(arena, site->at[i].row)};
        else
            *more = true;
    return n;
}

static int put_list(struct html *h,
                    struct replay_call *k,
                    const struct site_entry *entries,
                    size_t count,
                    struct err *err)
{
    int rc = 0;
    html_lit(h, "<div class=\"wide\" tabindex=\"0\" role=\"region\" "
                "aria-label=\"URLs\"><table><thead><tr><th "
                "scope=\"col\">URL</th><th scope=\"col\">Captures</th><th "
                "scope=\"col\">First</th><th scope=\"col\">Last</th></tr>"
                "</thead><tbody>");
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = put_entry(h, k, &entries[i], err);
    html_lit(h, "</tbody></table></div>");
    return rc;
}

static void put_more(struct html *h, struct replay_call *k, uint64_t skip)
{
    struct buf to = BUF_INIT;
    buf_append_str(&to, "/list?url=");
    html_url_put(&to, "{}", buf_cstr(&k->url));
    buf_printf(&to, "&skip=%llu", (unsigned long long)skip);
    html_lit(h, "<p><a");
    html_attr_slice(h, "href", buf_slice(&to));
    html_lit(h, ">More</a></p>");
    buf_close(&to);
}

void replay_prefix_page(struct replay_call *k, const struct http_form *query)
{
    const char *text = http_form_get(query, "skip");
    const struct capture_list none = {.at = NULL};
    const struct site_index *site;
    struct html h;
    struct html_view view;
    struct buf prefix = BUF_INIT;
    struct err err = ERR_INIT;
    struct arena arena;
    struct site_entry *entries = NULL;
    uint64_t skip = 0;
    size_t count = 0;
    bool more = false;
    int rc = archive_site(k->replay->archive, buf_slice(&k->url), false, &site,
                          &err);
    arena_init(&arena);
    if (text && text_parse_u64(slice_str(text), &skip, NULL))
        skip = 0;
    surt_key(buf_slice(&k->url), &prefix);
    if (rc == 0)
        count = copy_entries(site, buf_slice(&prefix), (size_t)skip, &arena,
                             &entries, &more);
    if (rc && rc != ERR_NOTFOUND) {
        replay_failed(k, &err);
    } else if (count == 0) {
        replay_not_found(k, &none);
    } else {
        shell_begin(&h, &view, k, buf_cstr(&k->url));
        rc = put_list(&h, k, entries, count, &err);
        if (rc) {
            html_lit(&h, "<p class=\"error\">");
            html_str(&h, err.text);
            html_lit(&h, "</p>");
        }
        if (more)
            put_more(&h, k, skip + count);
        shell_end(&h);
    }
    buf_close(&prefix);
    arena_close(&arena);
}
