/* Memento (RFC 7089): dates in headers, TimeGates and TimeMaps.
 *
 * /web/URL is the TimeGate of URL, /web/DATE/URL a memento of it, and
 * /timemap/link/URL its TimeMap.
 */
#include <stdio.h>
#include <string.h>

#include "base/core/macros.h"
#include "base/core/text.h"
#include "base/http/http.h"
#include "mapreduce/warc/date.h"
#include "mapreduce/warc/url.h"
#include "web/replay/replay_call.h"

#define DAY_US (INT64_C(86400) * 1000000)

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

static void put_timemap(struct replay_call *k, const struct capture_list *l)
{
    struct buf *out = &k->reply->body;
    struct slice origin = buf_slice(&k->origin);
    struct slice url = buf_slice(&k->url);
    buf_printf(out, "<%.*s>; rel=\"original\",\n", SLICE_ARG(url));
    buf_printf(out, "<%.*s" REPLAY_WEB "%.*s>; rel=\"timegate\",\n",
               SLICE_ARG(origin), SLICE_ARG(url));
    buf_printf(out,
               "<%.*s" REPLAY_TIMEMAP "link/%.*s>; rel=\"self\"; "
               "type=\"application/link-format\"; from=\"",
               SLICE_ARG(origin), SLICE_ARG(url));
    put_http_date(out, l->at[0].time_us);
    buf_append_str(out, "\"; until=\"");
    put_http_date(out, l->at[l->count - 1].time_us);
    buf_append_byte(out, '"');
    for (size_t i = 0; i < l->count; i++) {
        struct buf link = BUF_INIT;
        put_memento_link(k, &l->at[i], relation_of(i, i, l->count), &link);
        buf_append_str(out, ",\n");
        buf_append(out, link.data + 2, link.len - 2);
        buf_close(&link);
    }
    buf_append_byte(out, '\n');
}

void memento_timemap(struct replay_call *k, struct slice rest)
{
    struct capture_list l;
    struct err err = ERR_INIT;
    int rc;
    if (!slice_starts_with(rest, SLICE_LIT("link/")) ||
        !replay_url_absolute(slice_sub(rest, 5, rest.len), &k->url)) {
        replay_error(k, 404, "TimeMaps are at /timemap/link/URL");
        return;
    }
    rc = archive_captures(k->replay->archive, buf_slice(&k->url), &l, &err);
    if (rc)
        replay_failed(k, &err);
    else if (l.count == 0)
        replay_not_found(k, &l);
    else {
        k->reply->content_type = "application/link-format";
        put_timemap(k, &l);
    }
    capture_list_close(&l);
}
