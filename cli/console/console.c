/* The console: dispatch of requests to texts, assets, pages and their twins.
 */
#include "cli/console/console.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/http/http.h"
#include "base/runtime/audit.h"
#include "base/runtime/loop.h"
#include "cli/console/assets.h"
#include "cli/console/events.h"
#include "cli/console/page_frame.h"
#include "cli/console/page_table.h"

static const char TYPE_HTML[] = "text/html; charset=utf-8";
static const char TYPE_JSON[] = "application/json";

struct console {
    struct http_server *http;
    struct console_source source;
    struct events *events; /* Owned. */
};

/* --- texts of the process ------------------------------------------------ */

static void put_metrics(const struct console_source *s,
                        const char *accept,
                        struct http_reply *reply)
{
    enum metric_text form = console_metrics_form(accept);
    reply->content_type =
        form == METRIC_TEXT_OPENMETRICS
            ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
            : "text/plain; version=0.0.4; charset=utf-8";
    s->metrics(s->ctx, form, &reply->body);
}

static void put_health(const struct console_source *s, struct http_reply *reply)
{
    struct err err = ERR_INIT;
    if (s->health(s->ctx, &err) == 0) {
        buf_append_str(&reply->body, "ok\n");
        return;
    }
    reply->status = 503;
    buf_printf(&reply->body, "%s\n", err.text);
}

static const struct {
    const char *path;
    enum server_method method;
} texts[] = {
    {"/status", SERVER_STATUS}, {"/vars", SERVER_VARS},
    {"/fibers", SERVER_FIBERS}, {"/peers", SERVER_PEERS},
    {"/calls", SERVER_CALLS},
};

static bool console_text(struct console *c,
                         const struct http_request *request,
                         struct http_reply *reply)
{
    const struct console_source *s = &c->source;
    const char *path = http_path(request);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (strcmp(path, texts[i].path) == 0) {
            s->text(s->ctx, texts[i].method, &reply->body);
            return true;
        }
    if (strcmp(path, "/metrics") == 0)
        put_metrics(s, http_request_header(request, "Accept"), reply);
    else if (strcmp(path, "/health") == 0)
        put_health(s, reply);
    else
        return false;
    return true;
}

/* --- assets -------------------------------------------------------------- */

/* Under the address with its digest a file never changes; under the plain one
 * the browser asks whether it did. */
static void put_asset(const struct console_asset *a,
                      const struct http_request *request,
                      struct http_reply *reply)
{
    const char *version = http_form_get(http_query(request), "v");
    const char *known = http_request_header(request, "If-None-Match");
    char tag[40];
    snprintf(tag, sizeof(tag), "\"%s\"", a->digest);
    http_reply_header(reply, "ETag", tag);
    http_reply_header(reply, "Cache-Control",
                      version && strcmp(version, a->digest) == 0
                          ? "private, max-age=31536000, immutable"
                          : "private, no-cache");
    reply->content_type = a->type;
    if (known && strstr(known, tag))
        reply->status = 304;
    else
        buf_append(&reply->body, a->data, a->len);
}

static bool console_asset(const struct http_request *request,
                          struct http_reply *reply)
{
    const struct http_segments *path = http_path_segments(request);
    const struct console_asset *a = NULL;
    if (path->count == 2 && strcmp(path->at[0], "assets") == 0)
        a = console_asset_find(slice_str(path->at[1]));
    if (a)
        put_asset(a, request, reply);
    return a != NULL;
}

/* --- pages --------------------------------------------------------------- */

static int make_document(void *ctx,
                         const struct page_match *m,
                         json_t **out,
                         struct err *err)
{
    const struct console_source *s = &((struct console *)ctx)->source;
    if (!s->document)
        return err_set(err, ERR_UNSUPPORTED, "this process has no documents");
    return s->document(s->ctx, m->page->subject, m->params, m->count, out, err);
}

static unsigned status_of(int code)
{
    switch (code) {
    case ERR_NOTFOUND: return 404;
    case ERR_INVALID: return 400;
    case ERR_DENIED: return 403;
    default: return 503;
    }
}

static void put_json(const json_t *doc, struct buf *out)
{
    char *text = json_dumps(doc, JSON_INDENT(1));
    buf_append_str(out, text ? text : "{}");
    buf_append_byte(out, '\n');
    free(text);
}

/* Why the page cannot be shown, in its place. */
static void render_error(struct html *h, const json_t *doc)
{
    html_lit(h, "<p class=\"error\" role=\"alert\">");
    html_json(h, json_object_get(doc, "error"));
    html_lit(h, "</p>");
}

static void put_page(struct console *c,
                     const struct http_request *request,
                     const struct page_match *m,
                     const json_t *doc,
                     struct buf *out)
{
    struct buf title = BUF_INIT;
    struct html_view view = {.cluster = c->source.cluster,
                             .node = c->source.name,
                             .path = http_path(request),
                             .query = http_query_text(request),
                             .viewer = "",
                             .form_token = ""};
    struct html h = {out, &view};
    bool failed = json_object_get(doc, "error") != NULL;
    page_title(m, &title);
    view.title = buf_cstr(&title);
    page_frame(&h, m->page->menu, m->page->subject,
               failed ? render_error : m->page->render, doc);
    buf_close(&title);
}

static void put_match(struct console *c,
                      const struct http_request *request,
                      const struct page_match *m,
                      bool json,
                      struct http_reply *reply)
{
    struct err err = ERR_INIT;
    json_t *doc = NULL;
    int rc = make_document(c, m, &doc, &err);
    if (rc) {
        reply->status = status_of(rc);
        doc = json_pack("{s:s}", "error", err.text);
    }
    reply->content_type = json ? TYPE_JSON : TYPE_HTML;
    if (json)
        put_json(doc, &reply->body);
    else
        put_page(c, request, m, doc, &reply->body);
    json_decref(doc);
}

/* Without the ".json" of a twin; what @keep holds is the caller's. */
static bool cut_json(const struct http_request *request,
                     struct http_segments *path,
                     struct buf *keep)
{
    static const struct slice ending = {".json", 5};
    const char *last;
    *path = *http_path_segments(request);
    if (!slice_ends_with(slice_str(http_path(request)), ending))
        return false;
    last = path->at[path->count - 1];
    buf_append(keep, last, strlen(last) - ending.len);
    path->at[path->count - 1] = buf_cstr(keep);
    if (path->count == 1 && slice_eq_str(buf_slice(keep), "overview"))
        path->count = 0;
    return true;
}

static bool console_page(struct console *c,
                         const struct http_request *request,
                         struct http_reply *reply)
{
    struct http_segments path;
    struct page_match m;
    struct buf keep = BUF_INIT;
    bool json = cut_json(request, &path, &keep);
    bool found = page_find(&path, &m);
    if (found) {
        page_add_query(&m, http_query(request));
        put_match(c, request, &m, json, reply);
    }
    buf_close(&keep);
    return found;
}

/* /events?subject=table&name=webtable */
static bool console_events(struct console *c,
                           const struct http_request *request,
                           struct http_reply *reply)
{
    const char *subject = http_form_get(http_query(request), "subject");
    struct page_match m = {.page = page_of_subject(subject ? subject : "")};
    if (strcmp(http_path(request), "/events") != 0)
        return false;
    if (!m.page) {
        reply->status = 404;
        buf_append_str(&reply->body, "there is no such subject\n");
        return true;
    }
    page_add_query(&m, http_query(request));
    events_reply(c->events, &m, request, reply);
    return true;
}

/* --- requests ------------------------------------------------------------ */

/* Nobody says who he is. Health and metrics are asked for all the time. */
static void note_access(const struct http_request *request)
{
    const struct audit_event e = {.from = slice_str(http_peer(request)),
                                  .what = SLICE_LIT("console.get"),
                                  .on = slice_str(http_path(request))};
    if (!slice_eq_str(e.on, "/health") && !slice_eq_str(e.on, "/metrics"))
        audit_note(loop_world(loop_self()), &e);
}

static void console_answer(void *ctx,
                           const struct http_request *request,
                           struct http_reply *reply)
{
    struct console *c = ctx;
    note_access(request);
    if (http_is_post(request)) {
        reply->status = 405;
        http_reply_header(reply, "Allow", "GET, HEAD");
        buf_append_str(&reply->body, "this page takes no forms\n");
        return;
    }
    if (console_text(c, request, reply) || console_asset(request, reply) ||
        console_events(c, request, reply) || console_page(c, request, reply))
        return;
    reply->status = 404;
    buf_printf(&reply->body,
               "no such page; there are: / /status /metrics /vars /fibers "
               "/peers /calls /health\n");
}

/* --- life ---------------------------------------------------------------- */

int console_open(const char *address,
                 const struct console_source *source,
                 struct console **out,
                 struct err *err)
{
    struct console *c = mem_zalloc(1, sizeof(*c));
    int rc;
    PRE(source->text && source->health);
    c->source = *source;
    c->events = events_new(make_document, c);
    rc = http_listen(address, source->names, console_answer, c, &c->http, err);
    if (rc) {
        err_wrap(err, "console");
        console_close(c);
        c = NULL;
    }
    *out = c;
    return rc;
}

void console_close(struct console *c)
{
    if (!c)
        return;
    http_close(c->http);
    events_free(c->events);
    mem_free(c);
}
