/* Two captures of a URL side by side, by the lines of their texts: people want
 * to see what a page says differently, not how its markup has changed.
 */
#include <stdlib.h>

#include "base/core/panic.h"
#include "base/http/http.h"
#include "mapreduce/warc/archived_http.h"
#include "mapreduce/warc/charset.h"
#include "mapreduce/warc/date.h"
#include "mapreduce/warc/links.h"
#include "web/replay/page_shell.h"
#include "web/replay/page_text.h"
#include "web/replay/text_difference.h"

#define TEXT_BYTES_MAX ((size_t)4 << 20)
/* Lines shown before and after one that differs. */
#define CONTEXT_LINES 3

/* A capture and its text. */
struct side {
    const struct capture *capture;
    struct buf text;
};

/* The text of @bytes: of HTML its lines, of other text itself. False: it is
 * none. */
static bool take_text(const struct capture_bytes *bytes, struct buf *out)
{
    struct slice media = http_media_type(bytes->type);
    struct slice charset = http_charset(bytes->type);
    bool is_page = html_is(media, bytes->body);
    bool is_text = slice_starts_with(media, SLICE_LIT("text/")) ||
                   http_slice_is(media, "application/json") ||
                   http_slice_is(media, "application/javascript");
    struct charset_decoder *d;
    struct slice body;
    if (!is_page && !is_text)
        return false;
    d = charset_decoder_new();
    body = charset_decode(d, charset.len ? charset : bytes->charset, is_page,
                          slice_sub(bytes->body, 0, 2 * TEXT_BYTES_MAX));
    if (is_page)
        page_text_append(body, TEXT_BYTES_MAX, out);
    else
        buf_append_slice(out, slice_sub(body, 0, TEXT_BYTES_MAX));
    charset_decoder_free(d);
    return true;
}

static int side_load(struct replay_call *k,
                     const struct capture_list *l,
                     const char *digits,
                     struct side *out,
                     struct err *err)
{
    struct capture_bytes bytes;
    int64_t us = INT64_MAX;
    size_t i;
    int rc;
    if (digits && !replay_date_parse(slice_str(digits), &us))
        us = INT64_MAX;
    i = capture_nearest(l, us, buf_slice(&k->url), NULL);
    if (i == l->count)
        return err_set(err, ERR_NOTFOUND, "there is no capture of %s",
                       buf_cstr(&k->url));
    out->capture = &l->at[i];
    rc = archive_load(k->replay->archive, out->capture, &bytes, err);
    if (rc == 0 && !take_text(&bytes, &out->text))
        rc = err_set(err, ERR_INVALID, "%s is no text", buf_cstr(&k->url));
    capture_bytes_close(&bytes);
    return rc;
}

static void put_cell(struct html *h, const struct difference_row *r, bool right)
{
    bool has = right ? r->has_right : r->has_left;
    if (r->is_same || !has)
        html_lit(h, "<td>");
    else if (right)
        html_lit(h, "<td class=\"replay-added\">");
    else
        html_lit(h, "<td class=\"replay-removed\">");
    html_text(h, right ? r->right : r->left);
    html_lit(h, "</td>");
}

/* Is a line that differs near row @i? */
static bool is_near(const struct difference *d, size_t i)
{
    size_t first = i > CONTEXT_LINES ? i - CONTEXT_LINES : 0;
    for (size_t j = first; j < d->count && j <= i + CONTEXT_LINES; j++)
        if (!d->at[j].is_same)
            return true;
    return false;
}

static void put_heading(struct html *h, const struct side *s)
{
    html_lit(h, "<th scope=\"col\">");
    shell_link_capture(h, s->capture);
    html_time(h, s->capture->time_us / 1000000 * 1000000);
    html_lit(h, "</a></th>");
}

static void put_table(struct html *h,
                      const struct side *a,
                      const struct side *b,
                      const struct difference *d)
{
    bool skipped = false;
    html_lit(h, "<div class=\"wide\" tabindex=\"0\" role=\"region\" "
                "aria-label=\"Lines\"><table class=\"replay-difference\">"
                "<thead><tr>");
    put_heading(h, a);
    put_heading(h, b);
    html_lit(h, "</tr></thead><tbody>");
    for (size_t i = 0; i < d->count; i++) {
        if (!is_near(d, i)) {
            if (!skipped)
                html_lit(h, "<tr><td colspan=\"2\" class=\"dim\">…</td></tr>");
            skipped = true;
            continue;
        }
        skipped = false;
        html_lit(h, "<tr>");
        put_cell(h, &d->at[i], false);
        put_cell(h, &d->at[i], true);
        html_lit(h, "</tr>");
    }
    html_lit(h, "</tbody></table></div>");
}

static void put_difference(struct replay_call *k,
                           const struct side *a,
                           const struct side *b)
{
    struct html h;
    struct html_view view;
    struct difference d;
    difference_make(buf_slice(&a->text), buf_slice(&b->text), &d);
    shell_begin(&h, &view, k, buf_cstr(&k->url));
    html_lit(&h, "<p>");
    if (d.removed + d.added == 0)
        html_lit(&h, "The texts are the same.");
    else
        html_printf(&h, "%zu lines removed, %zu added.", d.removed, d.added);
    if (d.is_coarse)
        html_lit(&h, " They are too different to be compared line by line.");
    html_lit(&h, "</p>");
    put_table(&h, a, b, &d);
    shell_end(&h);
    difference_close(&d);
}

void replay_difference_page(struct replay_call *k,
                            const struct http_form *query)
{
    const char *url = http_form_get(query, "url");
    struct capture_list l;
    struct side a = {.capture = NULL};
    struct side b = {.capture = NULL};
    struct err err = ERR_INIT;
    int rc;
    if (!url || !replay_url_absolute(slice_str(url), &k->url)) {
        replay_error(k, 400,
                     "say what to compare: "
                     "/difference?url=URL&a=DATE&b=DATE");
        return;
    }
    rc = archive_captures(k->replay->archive, buf_slice(&k->url), &l, &err);
    if (rc == 0)
        rc = side_load(k, &l, http_form_get(query, "a"), &a, &err);
    if (rc == 0)
        rc = side_load(k, &l, http_form_get(query, "b"), &b, &err);
    if (rc == ERR_NOTFOUND)
        replay_error(k, 404, err.text);
    else if (rc)
        replay_failed(k, &err);
    else
        put_difference(k, &a, &b);
    buf_close(&a.text);
    buf_close(&b.text);
    capture_list_close(&l);
}
