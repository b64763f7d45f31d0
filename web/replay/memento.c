/* Memento (RFC 7089): dates in headers, TimeGates and TimeMaps.
 *
 * /web/URL is the TimeGate of URL, /web/DATE/URL a memento of it, and
 * /timemap/link/URL its TimeMap; of more than TIMEMAP_PAGE captures that lists
 * its pages, /timemap/link/1/URL and so on.
 */
#include <stdio.h>
#include <string.h>

#include "base/core/macros.h"
#include "base/core/text.h"
#include "base/http/http.h"
#include "mapreduce/warc/date.h"
#include "mapreduce/warc/url.h"
#include "web/replay/replay_call.h"

/* Captures on a page of a TimeMap. */
#define TIMEMAP_PAGE ((size_t)5000)
#define DAY_US       (INT64_C(86400) * 1000000)

/* "Sun, 26 Jan 2014 20:06:24 GMT" */
static void put_http_date(struct buf *out, int64_t us)
{
    static const char days[] = "ThuFriSatSunMonTueWed";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    int64_t day = us / DAY_US - (us % DAY_US < 0);
    int64_t second = (us - day * DAY_US) / 1000000;
    int64_t weekday = ((day % 7) + 7) % 7;
    int64_t year;
    unsigned month, monthday;
    text_date_from_days(day, &year, &month, &monthday);
    buf_printf(out, "%.3s, %02u %.3s %04d %02d:%02d:%02d GMT",
               days + 3 * weekday, monthday, months + 3 * (month - 1),
               (int)year, (int)(second / 3600), (int)(second / 60 % 60),
               (int)(second % 60));
}

bool memento_accepted(const struct replay_call *k, int64_t *us)
{
    const char *text = http_request_header(k->request, "Accept-Datetime");
    return text && date_parse_http(slice_str(text), us);
}

bool memento_refuse_date(struct replay_call *k)
{
    int64_t us;
    if (k->at.date.len || memento_accepted(k, &us) ||
        !http_request_header(k->request, "Accept-Datetime"))
        return false;
    http_reply_header(k->reply, "Vary", "accept-datetime");
    replay_error(k, 400,
                 "Accept-Datetime is no date: it is like "
                 "\"Sun, 26 Jan 2014 20:06:24 GMT\"");
    return true;
}

/* `, <http://…>; rel="…"; datetime="…"` */
static void put_memento_link(const struct replay_call *k,
                             const struct capture *c,
                             const char *relation,
                             struct buf *out)
{
    buf_append_str(out, ", <");
    buf_append_slice(out, buf_slice(&k->origin));
    replay_put_address(out, REPLAY_WEB, c, REPLAY_MOD_NONE);
    buf_printf(out, ">; rel=\"%s\"; datetime=\"", relation);
    put_http_date(out, c->time_us);
    buf_append_byte(out, '"');
}

static void put_resource_links(const struct replay_call *k, struct buf *out)
{
    struct slice origin = buf_slice(&k->origin);
    struct slice url = buf_slice(&k->url);
    buf_printf(out,
               "<%.*s>; rel=\"original\", <%.*s" REPLAY_WEB
               "%.*s>; rel=\"timegate\", <%.*s" REPLAY_TIMEMAP
               "link/%.*s>; rel=\"timemap\"; "
               "type=\"application/link-format\"",
               SLICE_ARG(url), SLICE_ARG(origin), SLICE_ARG(url),
               SLICE_ARG(origin), SLICE_ARG(url));
}

/* The relations of capture @i of @l to the one at @own. */
static const char *relation_of(size_t i, size_t own, size_t count)
{
    if (i == own && count == 1)
        return "first last memento";
    if (i == own && i > 0 && i + 1 < count)
        return "memento";
    if (i + 1 == own)
        return i == 0 ? "first prev memento" : "prev memento";
    if (i == own + 1)
        return i + 1 == count ? "last next memento" : "next memento";
    return i == 0 ? "first memento" : "last memento";
}

static void put_mementos(const struct replay_call *k,
                         const struct capture_list *l,
                         size_t own,
                         struct buf *out)
{
    for (size_t i = 0; i < l->count; i++)
        if (i == 0 || i + 1 == l->count || i == own || i + 1 == own ||
            i == own + 1)
            put_memento_link(k, &l->at[i], relation_of(i, own, l->count), out);
}

void memento_headers(struct replay_call *k,
                     const struct capture_list *l,
                     const struct capture *c)
{
    struct buf links = BUF_INIT;
    struct buf date = BUF_INIT;
    /* A long URL stands in each link: the reply must fit in a connection. */
    bool brief = k->url.len > 600;
    /* Nor have captures by other methods addresses of their own. */
    brief = brief || (c && c->method.len);
    if (c) {
        put_http_date(&date, c->time_us);
        http_reply_header(k->reply, "Memento-Datetime", buf_cstr(&date));
    }
    if (k->url.len < 2000)
        put_resource_links(k, &links);
    if (c && !brief)
        put_mementos(k, l, (size_t)(c - l->at), &links);
    if (links.len)
        http_reply_header(k->reply, "Link", buf_cstr(&links));
    buf_close(&links);
    buf_close(&date);
}

/* --- TimeMaps ------------------------------------------------------------ */

/* `<http://…/timemap/link/2/URL>; rel="…"; type=…; from=…; until=…` of the
 * captures [from, to) of @l. Page 0 is the whole one. */
static void put_timemap_link(struct replay_call *k,
                             const struct capture_list *l,
                             size_t page,
                             const char *relation,
                             size_t from,
                             size_t to)
{
    struct buf *out = &k->reply->body;
    buf_printf(out, "<%.*s" REPLAY_TIMEMAP "link/",
               SLICE_ARG(buf_slice(&k->origin)));
    if (page)
        buf_printf(out, "%zu/", page);
    buf_printf(out,
               "%.*s>; rel=\"%s\"; type=\"application/link-format\"; "
               "from=\"",
               SLICE_ARG(buf_slice(&k->url)), relation);
    put_http_date(out, l->at[from].time_us);
    buf_append_str(out, "\"; until=\"");
    put_http_date(out, l->at[to - 1].time_us);
    buf_append_byte(out, '"');
}

/* The captures [from, to) of @l. */
static void put_timemap_mementos(struct replay_call *k,
                                 const struct capture_list *l,
                                 size_t from,
                                 size_t to)
{
    for (size_t i = from; i < to; i++) {
        struct buf link = BUF_INIT;
        put_memento_link(k, &l->at[i], relation_of(i, i, l->count), &link);
        buf_append_str(&k->reply->body, ",\n");
        buf_append(&k->reply->body, link.data + 2, link.len - 2);
        buf_close(&link);
    }
}

/* @page counts from 1; 0 is all, or of many the list of pages. */
static void
put_timemap(struct replay_call *k, const struct capture_list *l, size_t page)
{
    struct buf *out = &k->reply->body;
    struct slice origin = buf_slice(&k->origin);
    struct slice url = buf_slice(&k->url);
    size_t from = page ? (page - 1) * TIMEMAP_PAGE : 0;
    size_t to = MIN_OF(from + TIMEMAP_PAGE, l->count);
    bool is_list = page == 0 && l->count > TIMEMAP_PAGE;
    buf_printf(out, "<%.*s>; rel=\"original\",\n", SLICE_ARG(url));
    buf_printf(out, "<%.*s" REPLAY_WEB "%.*s>; rel=\"timegate\",\n",
               SLICE_ARG(origin), SLICE_ARG(url));
    put_timemap_link(k, l, page, "self", from, is_list ? l->count : to);
    for (size_t i = 0; is_list && i < l->count; i += TIMEMAP_PAGE) {
        buf_append_str(out, ",\n");
        put_timemap_link(k, l, i / TIMEMAP_PAGE + 1, "timemap", i,
                         MIN_OF(i + TIMEMAP_PAGE, l->count));
    }
    if (!is_list)
        put_timemap_mementos(k, l, from, to);
    buf_append_byte(out, '\n');
}

/* Take "2/" off the front of @rest, where a URL with a scheme follows; 0: there
 * is none. */
static size_t take_page(struct slice *rest)
{
    size_t n = slice_find_byte(*rest, '/');
    struct slice url = slice_sub(*rest, n + 1, rest->len);
    uint64_t page;
    if (!slice_starts_with(url, SLICE_LIT("http")) ||
        text_parse_u64(slice_sub(*rest, 0, n), &page, NULL) || page == 0 ||
        page > ARCHIVE_VERSIONS_MAX)
        return 0;
    *rest = url;
    return (size_t)page;
}

void memento_timemap(struct replay_call *k, struct slice rest)
{
    struct capture_list l;
    struct err err = ERR_INIT;
    size_t page = 0;
    int rc;
    bool is_link = slice_starts_with(rest, SLICE_LIT("link/"));
    rest = slice_sub(rest, 5, rest.len);
    if (is_link)
        page = take_page(&rest);
    if (!is_link || !replay_url_absolute(rest, &k->url)) {
        replay_error(k, 404, "TimeMaps are at /timemap/link/URL");
        return;
    }
    rc = archive_captures(k->replay->archive, buf_slice(&k->url), &l, &err);
    if (rc)
        replay_failed(k, &err);
    else if (l.count == 0)
        replay_not_found(k, &l);
    else if (page > (l.count + TIMEMAP_PAGE - 1) / TIMEMAP_PAGE)
        replay_error(k, 404, "the TimeMap has fewer pages");
    else {
        k->reply->content_type = "application/link-format";
        put_timemap(k, &l, page);
    }
    capture_list_close(&l);
}
