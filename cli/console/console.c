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
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "cli/console/access.h"
#include "cli/console/actions.h"
#include "cli/console/assets.h"
#include "cli/console/events.h"
#include "cli/console/page_frame.h"
#include "cli/console/page_table.h"

static const char TYPE_HTML[] = "text/html; charset=utf-8";
static const char TYPE_JSON[] = "application/json";

struct console {
    struct http_server *http;
    struct console_source source;
    struct console_access *access; /* Owned, as all below. */
    struct actions *actions;       /* NULL: no cluster. */
    struct events *events;
};

/* A request that is being answered. */
struct console_call {
    struct console *console;
    const struct http_request *request;
    struct http_reply *reply;
    struct console_viewer viewer;
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
    if (!s->text)
        return false;
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
    return s->document(s->ctx, m->page->subject, m->params, m->count, out, err);
}

static unsigned status_of(int code)
{
    switch (code) {
    case ERR_NOTFOUND: return 404;
    case ERR_INVALID: return 400;
    case ERR_DENIED: return 403;
    case ERR_BUSY: return 409;
    case ERR_EXHAUSTED: return 429;
    default: return 503;
    }
}

static void
refuse_call(struct console_call *k, unsigned status, const char *why)
{
    k->reply->status = status;
    buf_printf(&k->reply->body, "%s\n", why);
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

/* Write a page titled @title: what @render makes of @doc. */
static void put_html(struct console_call *k,
                     const char *title,
                     const char *menu,
                     const char *subject,
                     html_fn render,
                     const json_t *doc)
{
    const struct console_source *s = &k->console->source;
    struct html_view view = {
        .cluster = s->cluster,
        .node = k->viewer.right == CONSOLE_NONE ? "" : s->name,
        .path = http_path(k->request),
        .query = http_query_text(k->request),
        .title = title,
        .viewer = k->viewer.name,
        .may_operate =
            k->viewer.right == CONSOLE_OPERATE && k->console->actions,
        .can_log_out = k->viewer.form_token[0] != '\0',
        .form_token = k->viewer.form_token};
    struct html h = {&k->reply->body, &view};
    k->reply->content_type = TYPE_HTML;
    page_frame(&h, menu, subject, render, doc);
}

static void
put_match(struct console_call *k, const struct page_match *m, bool json)
{
    struct err err = ERR_INIT;
    struct buf title = BUF_INIT;
    json_t *doc = NULL;
    int rc = make_document(k->console, m, &doc, &err);
    if (rc) {
        k->reply->status = status_of(rc);
        doc = json_pack("{s:s}", "error", err.text);
    }
    page_title(m, &title);
    if (json) {
        k->reply->content_type = TYPE_JSON;
        put_json(doc, &k->reply->body);
    } else {
        put_html(k, buf_cstr(&title), m->page->menu, m->page->subject,
                 rc ? render_error : m->page->render, doc);
    }
    buf_close(&title);
    json_decref(doc);
}

static bool is_twin(const struct http_request *request)
{
    return slice_ends_with(slice_str(http_path(request)), SLICE_LIT(".json"));
}

/* The path of the page of which @request may be the twin; @keep holds the part
 * that was changed. */
static void cut_twin(const struct http_request *request,
                     struct http_segments *path,
                     struct buf *keep)
{
    const char *last;
    *path = *http_path_segments(request);
    if (!is_twin(request))
        return;
    last = path->at[path->count - 1];
    buf_append(keep, last, strlen(last) - strlen(".json"));
    path->at[path->count - 1] = buf_cstr(keep);
    if (path->count == 1 && slice_eq_str(buf_slice(keep), "overview"))
        path->count = 0;
}

static bool console_page(struct console_call *k)
{
    struct http_segments path;
    struct page_match m;
    struct buf keep = BUF_INIT;
    bool found;
    cut_twin(k->request, &path, &keep);
    found = page_find(&path, &m);
    if (found) {
        page_add_query(&m, http_query(k->request), is_twin(k->request));
        put_match(k, &m, is_twin(k->request));
    }
    buf_close(&keep);
    return found;
}

/* /events?subject=table&name=webtable */
static bool console_events(struct console_call *k)
{
    const char *subject = http_form_get(http_query(k->request), "subject");
    struct page_match m = {.page = page_of_subject(subject ? subject : "")};
    if (strcmp(http_path(k->request), "/events") != 0)
        return false;
    if (!m.page) {
        k->reply->status = 404;
        buf_append_str(&k->reply->body, "there is no such subject\n");
        return true;
    }
    page_add_query(&m, http_query(k->request), false);
    events_reply(k->console->events, &m, k->request, k->reply);
    return true;
}

/* --- logging in and out -------------------------------------------------- */

static void note_viewer(const struct console_call *k,
                        const char *what,
                        const struct err *err)
{
    const struct audit_event e = {.who = slice_str(k->viewer.name),
                                  .from = slice_str(k->viewer.address),
                                  .what = slice_str(what),
                                  .on = slice_str(http_path(k->request)),
                                  .code = err ? err->code : 0,
                                  .why = slice_str(err ? err->text : "")};
    audit_note(loop_world(loop_self()), &e);
}

/* A path of ours that may follow a login: "/tables?x=1". */
static const char *next_of(const struct http_form *f)
{
    const char *next = http_form_get(f, "next");
    if (!next || next[0] != '/' || next[1] == '/' || next[1] == '\\')
        return "/";
    for (const char *p = next; *p; p++)
        if (*p <= 0x20 || *p >= 0x7f)
            return "/";
    return next;
}

/* The script fills the field in from the fragment of the address, which
 * `quarry console` prints. */
static void render_login(struct html *h, const json_t *doc)
{
    if (json_object_get(doc, "error"))
        render_error(h, doc);
    html_lit(h, "<form id=\"login\" class=\"login\" method=\"post\" "
                "action=\"/login\"><input type=\"hidden\" name=\"next\"");
    html_attr(h, "value", json_string_value(json_object_get(doc, "next")));
    html_lit(h, "><p><label for=\"token\">Token</label> <input id=\"token\" "
                "name=\"token\" type=\"password\" required autofocus "
                "autocomplete=\"current-password\"></p><button>Log "
                "in</button></form><script defer");
    html_asset(h, "src", "login.js");
    html_lit(h, "></script>");
}

static void put_login(struct console_call *k,
                      const struct http_form *form,
                      const struct err *err)
{
    json_t *doc = json_pack("{s:s}", "next", next_of(form));
    if (err)
        json_object_set_new(doc, "error", json_string(err->text));
    put_html(k, "Log in", "", "", render_login, doc);
    json_decref(doc);
}

static void console_log_in(struct console_call *k)
{
    const struct http_form *form = http_body(k->request);
    struct err err = ERR_INIT;
    char wait[24];
    int rc = console_access_log_in(k->console->access, k->request, &k->viewer,
                                   k->reply, &err);
    note_viewer(k, "console.login", rc ? &err : NULL);
    if (rc == 0) {
        http_reply_redirect(k->reply, next_of(form));
        return;
    }
    k->reply->status = status_of(rc);
    if (k->viewer.wait_s) {
        snprintf(wait, sizeof(wait), "%llu",
                 (unsigned long long)k->viewer.wait_s);
        http_reply_header(k->reply, "Retry-After", wait);
    }
    put_login(k, form, &err);
}

static void console_log_out(struct console_call *k)
{
    note_viewer(k, "console.logout", NULL);
    console_access_log_out(k->console->access, k->request, &k->viewer,
                           k->reply);
    events_end_streams(k->console->events);
    http_reply_redirect(k->reply, "/login");
}

/* --- actions ------------------------------------------------------------- */

/* NAME of "/actions/NAME"; NULL: there is no such action. */
static const char *action_of(const struct console_call *k)
{
    const struct http_segments *path = http_path_segments(k->request);
    bool is = path->count == 2 && strcmp(path->at[0], "actions") == 0 &&
              k->console->actions && action_title(path->at[1]);
    return is ? path->at[1] : NULL;
}

static void render_action(struct html *h, const json_t *doc)
{
    action_form(h, json_string_value(json_object_get(doc, "action")),
                json_object_get(doc, "given"));
}

/* The form, filled in with the query's fields. */
static void put_action(struct console_call *k, const char *name)
{
    const struct http_form *query = http_query(k->request);
    json_t *given = json_object();
    json_t *doc;
    for (size_t i = 0; i < query->count; i++)
        json_object_set_new(given, query->fields[i].name,
                            json_string(query->fields[i].value));
    doc = json_pack("{s:s,s:o}", "action", name, "given", given);
    put_html(k, action_title(name), "", "", render_action, doc);
    json_decref(doc);
}

static void render_outcome(struct html *h, const json_t *doc)
{
    html_lit(h, "<p role=\"status\" class=\"outcome\"><strong>");
    html_json(h, json_object_get(doc, "outcome"));
    html_lit(h, "</strong>: ");
    html_json(h, json_object_get(doc, "text"));
    html_lit(h, "</p>");
}

static void do_action(struct console_call *k, const char *name)
{
    struct err err = ERR_INIT;
    json_t *doc = NULL;
    int rc = action_run(k->console->actions, name, http_body(k->request),
                        &k->viewer, &doc, &err);
    if (rc)
        k->reply->status = status_of(rc);
    if (!k->viewer.form_token[0]) { /* A program. */
        k->reply->content_type = TYPE_JSON;
        put_json(doc, &k->reply->body);
    } else {
        put_html(k, action_title(name), "", "", render_outcome, doc);
    }
    json_decref(doc);
}

static void refuse_operation(struct console_call *k)
{
    struct err err = ERR_INIT;
    err_set(&err, ERR_DENIED, "this needs a token with the right to operate");
    note_viewer(k, "console.post", &err);
    refuse_call(k, 403, err.text);
}

static bool console_action(struct console_call *k)
{
    const char *name = action_of(k);
    if (!name)
        return false;
    if (k->viewer.right != CONSOLE_OPERATE)
        refuse_operation(k);
    else if (http_is_post(k->request))
        do_action(k, name);
    else
        put_action(k, name);
    return true;
}

/* --- requests ------------------------------------------------------------ */

/* Health and metrics are asked for all the time, assets with every page. */
static void note_access(const struct console_call *k)
{
    const char *path = http_path(k->request);
    log_debug(loop_world(loop_self()), "console", "get %s viewer=%s from=%s",
              path, k->viewer.name, k->viewer.address);
    if (strcmp(path, "/health") && strcmp(path, "/metrics") &&
        strncmp(path, "/assets/", 8))
        note_viewer(k, "console.get", NULL);
}

/* People are sent to the page where they can log in. */
static void ask_for_token(struct console_call *k)
{
    const char *accept = http_request_header(k->request, "Accept");
    struct buf to = BUF_INIT;
    struct err err = ERR_INIT;
    err_set(&err, ERR_DENIED, "a wrong token");
    log_debug(loop_world(loop_self()), "console", "refused %s from=%s",
              http_path(k->request), k->viewer.address);
    if (http_request_header(k->request, "Authorization"))
        note_viewer(k, "console.get", &err);
    if (!http_is_post(k->request) && accept && strstr(accept, "text/html")) {
        const char *query = http_query_text(k->request);
        struct buf next = BUF_INIT;
        buf_printf(&next, "%s%s%s", http_path(k->request), *query ? "?" : "",
                   query);
        html_url_put(&to, "/login?next={}", buf_cstr(&next));
        http_reply_redirect(k->reply, buf_cstr(&to));
        buf_close(&next);
        buf_close(&to);
        return;
    }
    http_reply_header(k->reply, "WWW-Authenticate", "Bearer");
    refuse_call(k, 401,
                "this needs a token: send it as \"Authorization: Bearer "
                "TOKEN\", or log in at /login");
}

static void console_post(struct console_call *k)
{
    struct err err = ERR_INIT;
    const char *path = http_path(k->request);
    if (console_access_check_origin(&k->viewer, k->request, &err)) {
        note_viewer(k, "console.post", &err);
        refuse_call(k, 403, err.text);
    } else if (strcmp(path, "/login") == 0 &&
               console_access_has_tokens(k->console->access)) {
        console_log_in(k);
    } else if (strcmp(path, "/logout") == 0 && k->viewer.session) {
        console_log_out(k);
    } else if (!console_action(k)) {
        http_reply_header(k->reply, "Allow", "GET, HEAD");
        refuse_call(k, 405, "this page takes no forms");
    }
}

static void console_get(struct console_call *k)
{
    struct console *c = k->console;
    note_access(k);
    if (strcmp(http_path(k->request), "/login") == 0) {
        if (console_access_has_tokens(c->access))
            put_login(k, http_query(k->request), NULL);
        else
            http_reply_redirect(k->reply, "/");
        return;
    }
    if (console_text(c, k->request, k->reply) ||
        console_asset(k->request, k->reply) || console_events(k) ||
        console_action(k) || console_page(k))
        return;
    k->reply->status = 404;
    buf_append_str(&k->reply->body,
                   "no such page; there are: / /status /metrics /vars /fibers "
                   "/peers /calls /health\n");
}

static void console_answer(void *ctx,
                           const struct http_request *request,
                           struct http_reply *reply)
{
    struct console_call k = {ctx, request, reply, {.right = CONSOLE_NONE}};
    struct console_access *access = k.console->access;
    console_access_identify(access, request, &k.viewer);
    if (k.viewer.wait_s && !console_access_is_open(access, request)) {
        refuse_call(&k, 429, "too many wrong tokens from this address");
    } else if (k.viewer.right == CONSOLE_NONE &&
               !console_access_is_open(access, request)) {
        ask_for_token(&k);
    } else if (http_is_post(request)) {
        console_post(&k);
    } else {
        console_get(&k);
    }
}

/* --- life ---------------------------------------------------------------- */

int console_open(const char *address,
                 const struct console_source *source,
                 struct console **out,
                 struct err *err)
{
    struct console *c = mem_zalloc(1, sizeof(*c));
    struct world *w = loop_world(loop_self());
    int rc;
    PRE(source->document);
    c->source = *source;
    rc = console_access_open(w, &source->access, &c->access, err);
    if (rc == 0) {
        c->events = events_new(make_document, c);
        c->actions = actions_new(&source->actions);
        rc = http_listen(address, source->names, console_answer, c, &c->http,
                         err);
    }
    if (rc) {
        err_wrap(err, "console");
        console_close(c);
        c = NULL;
    }
    *out = c;
    return rc;
}

const char *console_address(const struct console *c)
{
    return http_address(c->http);
}

static bool is_loopback(const char *address)
{
    static const char *const hosts[] = {"127.", "[::1]:", "localhost:"};
    for (size_t i = 0; i < ARRAY_LEN(hosts); i++)
        if (strncmp(address, hosts[i], strlen(hosts[i])) == 0)
            return true;
    return false;
}

bool console_is_unprotected(const struct console *c)
{
    return !console_access_has_tokens(c->access) &&
           !is_loopback(http_address(c->http));
}

int console_reload(struct console *c, struct err *err)
{
    int rc = console_access_reload(c->access, err);
    if (rc)
        err_wrap(err, "console");
    else
        events_end_streams(c->events);
    return rc;
}

void console_close(struct console *c)
{
    if (!c)
        return;
    actions_stop(c->actions);
    http_close(c->http);
    actions_free(c->actions);
    events_free(c->events);
    console_access_close(c->access);
    mem_free(c);
}
