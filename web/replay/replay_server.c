/* The server of replay: which file answers which path. Requests are refused
 * here for their method, their origin or the host that they name, before any
 * file answers, so that isolation has one place.
 */
#include "web/replay/replay_server.h"

#include <string.h>
#include <strings.h>

#include "base/core/panic.h"
#include "base/http/http.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "bigtable/quarry.h"
#include "cli/console/assets.h"
#include "mapreduce/warc/url.h"
#include "web/replay/js_rewriter.h"
#include "web/replay/replay_call.h"

/* --- answers that are not pages ------------------------------------------ */

/* Pages that were archived load these too, from an origin of their own. */
static void put_script(struct replay_call *k, const char *type)
{
    k->reply->content_type = type;
    http_reply_header(k->reply, "Cross-Origin-Resource-Policy", "cross-origin");
    http_reply_header(k->reply, "Access-Control-Allow-Origin", "*");
    http_reply_header(k->reply, "Cache-Control", "private, max-age=3600");
}

static bool replay_asset(struct replay_call *k, struct slice path)
{
    const struct console_asset *a;
    if (!slice_starts_with(path, SLICE_LIT("/assets/")))
        return false;
    a = console_asset_find(slice_sub(path, strlen("/assets/"), path.len));
    if (!a)
        return false;
    put_script(k, a->type);
    buf_append(&k->reply->body, a->data, a->len);
    return true;
}

static bool replay_wombat(struct replay_call *k, struct slice path)
{
    if (slice_eq_str(path, REPLAY_MODULE)) {
        put_script(k, "text/javascript; charset=utf-8");
        buf_append_str(&k->reply->body, js_module_declarations);
        return true;
    }
    if (!slice_eq_str(path, REPLAY_STATIC "wombat.js") ||
        !k->replay->wombat.len)
        return false;
    put_script(k, "text/javascript; charset=utf-8");
    buf_append_slice(&k->reply->body, buf_slice(&k->replay->wombat));
    return true;
}

/* --- paths --------------------------------------------------------------- */

/* "/web/…": @rest is the text behind it, its query included. */
static void replay_web(struct replay_call *k,
                       struct slice rest,
                       const struct http_form *query)
{
    if (!replay_url_parse(rest, &k->at) ||
        !replay_url_absolute(k->at.url, &k->url))
        replay_error(k, 400,
                     "this address names no URL: it is "
                     "/web/DATE/http://host/path");
    else if (k->at.is_prefix)
        replay_prefix_page(k, query);
    else if (k->at.has_star)
        replay_calendar_page(k);
    else
        replay_capture(k);
}

/* "/web?url=…&date=…" of the form; without a URL, the form. */
static bool replay_form(struct replay_call *k, const struct http_form *query)
{
    const char *url = http_form_get(query, "url");
    const char *date = http_form_get(query, "date");
    bool lists = http_form_get(query, "list") != NULL;
    struct buf to = BUF_INIT;
    struct buf absolute = BUF_INIT;
    if (!url) {
        replay_start_page(k);
    } else if (!replay_url_absolute(slice_str(url), &absolute)) {
        replay_error(k, 400, "no URL was given");
    } else {
        buf_append_str(&to, REPLAY_WEB);
        for (const char *p = date ? date : ""; *p; p++)
            if (*p >= '0' && *p <= '9' && !lists)
                buf_append_byte(&to, *p);
        buf_append_str(&to, lists || !date || !*date ? "*/" : "/");
        buf_append_slice(&to, buf_slice(&absolute));
        if (lists)
            buf_append_byte(&to, '*');
        http_reply_redirect(k->reply, buf_cstr(&to));
    }
    buf_close(&to);
    buf_close(&absolute);
    return true;
}

/* "/list?url=…&skip=…": a further page of a list. */
static void replay_more(struct replay_call *k, const struct http_form *query)
{
    const char *url = http_form_get(query, "url");
    if (url && replay_url_absolute(slice_str(url), &k->url))
        replay_prefix_page(k, query);
    else
        replay_error(k, 400, "no URL was given");
}

/* Paths with a query of ours; false: it is none of them. */
static bool
replay_own(struct replay_call *k, struct slice path, const struct http_form *q)
{
    if (slice_eq_str(path, "/"))
        replay_start_page(k);
    else if (slice_eq_str(path, REPLAY_CDX) ||
             slice_eq_str(path, "/web" REPLAY_CDX))
        cdx_query(k, q);
    else if (slice_eq_str(path, "/list"))
        replay_more(k, q);
    else if (slice_eq_str(path, "/hosts"))
        replay_hosts_page(k);
    else if (slice_eq_str(path, "/ranks"))
        replay_ranks_page(k);
    else if (slice_eq_str(path, "/keys"))
        replay_keys_page(k);
    else if (slice_eq_str(path, "/difference"))
        replay_difference_page(k, q);
    else if (slice_eq_str(path, "/web") || slice_eq_str(path, "/web/"))
        return replay_form(k, q);
    else
        return replay_asset(k, path) || replay_wombat(k, path);
    return true;
}

/* Pages that are not replay's, at its address: not for archived pages. */
static bool replay_guest_page(struct replay_call *k,
                              struct slice path,
                              const struct http_form *query)
{
    const struct replay_server *r = k->replay;
    return r->guest && !k->is_archived &&
           r->guest(r->guest_ctx, path, query, k->reply);
}

static void replay_route(struct replay_call *k, struct slice target)
{
    if (k->is_other && !slice_starts_with(target, SLICE_LIT(REPLAY_WEB))) {
        http_reply_header(k->reply, "Allow", "GET, HEAD");
        replay_error(k, 405, "only captures are asked for by this method");
        return;
    }
    struct slice path = slice_sub(target, 0, slice_find_byte(target, '?'));
    struct http_form query;
    struct err err = ERR_INIT;
    bool parsed = http_form_parse(slice_str(http_query_text(k->request)),
                                  &query, &err) == 0;
    if (!parsed) { /* It may be part of a URL all the same. */
        http_form_close(&query);
        query = (struct http_form){.text = NULL};
    }
    if (!k->is_other &&
        (replay_guest_page(k, path, &query) || replay_own(k, path, &query))) {
    } else if (slice_starts_with(target, SLICE_LIT(REPLAY_WEB))) {
        replay_web(k, slice_sub(target, strlen(REPLAY_WEB), target.len),
                   &query);
    } else if (slice_starts_with(target, SLICE_LIT(REPLAY_TIMEMAP))) {
        memento_timemap(k,
                        slice_sub(target, strlen(REPLAY_TIMEMAP), target.len));
    } else {
        replay_error(k, 404, "there is no such page");
    }
    http_form_close(&query);
}

/* --- requests ------------------------------------------------------------ */

/* Pages of other sites get nothing of the archive but a window: their browsers
 * say where a request comes from. Archived pages have no origin, and come from
 * another site too, but know the secret. */
static bool is_from_elsewhere(const struct replay_call *k)
{
    const char *site = http_request_header(k->request, "Sec-Fetch-Site");
    const char *to = http_request_header(k->request, "Sec-Fetch-Dest");
    return !k->is_archived && site && strcmp(site, "cross-site") == 0 &&
           (k->is_other || !to || strcmp(to, "document") != 0);
}

/* Take the secret off @target, if it is there. */
static struct slice take_secret(struct replay_call *k, struct slice target)
{
    struct slice secret = buf_slice(&k->replay->secret);
    if (!slice_starts_with(target, secret) || target.len == secret.len ||
        target.data[secret.len] != '/')
        return target;
    k->is_archived = true;
    return slice_sub(target, secret.len, target.len);
}

/* "http://host/path" that names this server. */
static bool is_own_host(const struct replay_call *k, struct slice target)
{
    const char *address = http_address(k->replay->http);
    struct slice host = slice_sub(target, strlen("http://"), target.len);
    host = slice_sub(host, 0, slice_find_byte(host, '/'));
    return slice_eq_str(host, address);
}

static void replay_answer(struct replay_call *k, struct slice target)
{
    bool absolute = target.len && target.data[0] != '/';
    target = take_secret(k, target);
    if (replay_preflight(k)) {
    } else if (is_from_elsewhere(k)) {
        replay_error(k, 403, "other sites may not read this archive");
    } else if (absolute && !is_own_host(k, target)) {
        if (replay_url_absolute(target, &k->url))
            replay_proxy(k);
        else
            replay_error(k, 400, "this is no URL of http");
    } else {
        if (absolute) {
            target = slice_sub(target, strlen("http://"), target.len);
            target =
                slice_sub(target, slice_find_byte(target, '/'), target.len);
        }
        replay_route(k, target);
    }
}

static void replay_handler(void *ctx,
                           const struct http_request *request,
                           struct http_reply *reply)
{
    struct replay_call k = {.replay = ctx, .request = request, .reply = reply};
    const char *host = http_request_header(request, "Host");
    const char *method = http_method(request);
    struct buf target = BUF_INIT;
    k.is_other = strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0;
    buf_printf(&k.origin, "http://%s",
               host ? host : http_address(k.replay->http));
    buf_append_str(&target, http_path(request));
    if (*http_query_text(request))
        buf_printf(&target, "?%s", http_query_text(request));
    replay_answer(&k, buf_slice(&target));
    buf_close(&target);
    buf_close(&k.origin);
    buf_close(&k.url);
    buf_close(&k.asked);
}

/* --- opening ------------------------------------------------------------- */

/* The families of a Webtable are there, or say which is not. */
static int check_table(const struct replay_options *opts, struct err *err)
{
    static const char *const families[] = {"contents", "http", "meta"};
    const struct quarry_read_options read = {.families = families,
                                             .family_count = 3};
    struct quarry_row *row = NULL;
    int rc = quarry_read_row(opts->table, SLICE_LIT("com.example/"), &read,
                             &row, err);
    if (rc == 0)
        quarry_row_free(row);
    if (rc == ERR_NOTFOUND)
        err_wrap(err, "%s is no table of web pages", opts->table_name);
    return rc;
}

static void make_secret(struct replay_server *r)
{
    unsigned char bytes[16];
    world_random_bytes(loop_world(loop_self()), bytes, sizeof(bytes));
    buf_append_str(&r->secret, "/~");
    for (size_t i = 0; i < sizeof(bytes); i++)
        buf_printf(&r->secret, "%02x", bytes[i]);
    buf_printf(&r->secret_web, "%s" REPLAY_WEB, buf_cstr(&r->secret));
    (void)buf_cstr(&r->secret_web);
}

int replay_server_open(const struct replay_options *opts,
                       struct replay_server **out,
                       struct err *err)
{
    const struct http_documents documents = {
        .is_proxy = opts->is_proxy, .body_bytes_max = REPLAY_BODY_BYTES_MAX};
    struct replay_server *r;
    int rc = check_table(opts, err);
    *out = NULL;
    if (rc)
        return rc;
    r = mem_zalloc(1, sizeof(*r));
    r->archive = archive_new(opts->table, loop_world(loop_self()),
                             opts->is_fixed, opts->policy);
    r->table_name = mem_strdup(opts->table_name);
    r->table = opts->table;
    r->ranks = opts->ranks;
    r->policy = opts->policy;
    r->is_proxy = opts->is_proxy;
    r->is_fixed = opts->is_fixed;
    mutex_init(&r->overview_lock);
    arena_init(&r->overview.arena);
    r->guest = opts->guest;
    r->guest_ctx = opts->guest_ctx;
    make_secret(r);
    buf_append_slice(&r->wombat, opts->wombat);
    rc = http_listen_documents(opts->address, opts->names, &documents,
                               replay_handler, r, &r->http, err);
    if (rc) {
        replay_server_close(r);
        return rc;
    }
    *out = r;
    return 0;
}

const char *replay_server_address(const struct replay_server *r)
{
    return http_address(r->http);
}

void replay_server_close(struct replay_server *r)
{
    if (!r)
        return;
    http_close(r->http);
    archive_free(r->archive);
    crawl_overview_close(&r->overview);
    mutex_close(&r->overview_lock);
    mem_free(r->table_name);
    buf_close(&r->wombat);
    buf_close(&r->secret);
    buf_close(&r->secret_web);
    mem_free(r);
}
