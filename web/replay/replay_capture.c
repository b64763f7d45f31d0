/* Captures as answers: one is chosen by date, its bytes are rewritten for what
 * asks for them, and sent in pieces, so that a long body is never in memory as
 * a whole.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/core/panic.h"
#include "base/http/http.h"
#include "mapreduce/warc/archived_http.h"
#include "mapreduce/warc/charset.h"
#include "mapreduce/warc/charset_label.h"
#include "mapreduce/warc/date.h"
#include "mapreduce/warc/links.h"
#include "mapreduce/warc/url.h"
#include "web/replay/byte_sink.h"
#include "web/replay/css_rewriter.h"
#include "web/replay/header_rewriter.h"
#include "web/replay/html_rewriter.h"
#include "web/replay/js_rewriter.h"
#include "web/replay/playlist_rewriter.h"
#include "web/replay/replay_call.h"

/* Longer bodies are written in pieces. */
#define BODY_WHOLE_BYTES_MAX ((size_t)512 << 10)

/* No origin of its own, nothing from elsewhere, no frame around the server's
 * pages: see replay_server.h. */
#define POLICY                                                                 \
    "sandbox allow-scripts allow-forms allow-modals "                          \
    "allow-downloads allow-pointer-lock allow-presentation; default-src "      \
    "'self' 'unsafe-inline' 'unsafe-eval' data: blob:; form-action 'self'"

enum body_kind {
    BODY_PLAIN, /* As it is. */
    BODY_HTML,
    BODY_CSS,
    BODY_JS,
    BODY_HLS,
    BODY_DASH,
};

/* An answer that is being made; a stream owns it until it ends. */
struct capture_answer {
    struct capture_bytes bytes; /* Owned. */
    struct slice body;          /* The part of it that is sent. */
    struct slice charset;       /* Or "". */
    enum body_kind kind;
    struct link_rewriter links;
    struct buf url; /* Of the capture, normalised. */
    char date[DATE_TEXT_BYTES];
    struct buf head_insert;
    struct buf module_url; /* Of wombat's stand-ins, for modules; "": scripts
                              are not rewritten. */
    bool is_module;
    struct archive *archive; /* Borrowed. */
    struct charset_decoder
        *decoder; /* NULL: the bytes stay in their charset. */
};

static void capture_answer_free(struct capture_answer *a)
{
    capture_bytes_close(&a->bytes);
    link_rewriter_close(&a->links);
    buf_close(&a->url);
    buf_close(&a->head_insert);
    buf_close(&a->module_url);
    charset_decoder_free(a->decoder);
    mem_free(a);
}

const char *replay_web_of(const struct replay_call *k)
{
    return k->is_archived ? buf_cstr(&k->replay->secret_web) : REPLAY_WEB;
}

void replay_put_address(struct buf *out,
                        const char *web,
                        const struct capture *c,
                        enum replay_mod mod)
{
    char date[DATE_TEXT_BYTES];
    struct buf url = BUF_INIT;
    date_format_14(c->time_us, date);
    buf_printf(out, "%s%s%s/", web, date, replay_mod_name(mod));
    if (url_normalise(c->url, &url))
        buf_append_slice(out, buf_slice(&url));
    buf_close(&url);
}

/* --- what a body is ------------------------------------------------------ */

static bool begins_like_markup(struct slice body)
{
    if (slice_starts_with(body, SLICE_LIT("\xef\xbb\xbf")))
        body = slice_sub(body, 3, body.len);
    body = slice_trim(slice_sub(body, 0, 256));
    return body.len && body.data[0] == '<';
}

static bool is_script(enum replay_mod mod)
{
    return mod == REPLAY_MOD_JS || mod == REPLAY_MOD_ESM;
}

/* A type that servers give to what they know no type of. */
static bool is_vague(struct slice media)
{
    return media.len == 0 || http_slice_is(media, "text/plain") ||
           http_slice_is(media, "application/octet-stream");
}

/* By the server's word, unless the page that embeds it uses it otherwise:
 * servers name scripts and styles text/html. */
static enum body_kind
kind_of(struct slice type, struct slice body, enum replay_mod mod)
{
    struct slice media = http_media_type(type);
    if (mod == REPLAY_MOD_ID)
        return BODY_PLAIN;
    if (http_slice_is(media, "text/css"))
        return BODY_CSS;
    if (js_is_type(media) || (is_script(mod) && is_vague(media)))
        return BODY_JS;
    switch (playlist_kind_of(media, body)) {
    case PLAYLIST_HLS: return BODY_HLS;
    case PLAYLIST_DASH: return BODY_DASH;
    case PLAYLIST_NONE: break;
    }
    if (!html_is(media, body))
        return BODY_PLAIN;
    if (begins_like_markup(body))
        return BODY_HTML;
    if (mod == REPLAY_MOD_CS)
        return BODY_CSS;
    if (is_script(mod))
        return BODY_JS;
    return mod == REPLAY_MOD_IM ? BODY_PLAIN : BODY_HTML;
}

/* Charsets in which a byte below 0x80 may be part of another character. */
static bool needs_decoding(struct slice charset, struct slice body)
{
    const struct charset_encoding *e = charset_of_label(charset);
    if (slice_starts_with(body, SLICE_LIT("\xff\xfe")) ||
        slice_starts_with(body, SLICE_LIT("\xfe\xff")))
        return true;
    return e && (strncmp(e->name, "utf-16", 6) == 0 ||
                 strncmp(e->name, "iso-2022", 8) == 0);
}

static void choose_charset(struct capture_answer *a)
{
    struct slice told = http_charset(a->bytes.type);
    a->charset = told;
    if (a->kind == BODY_PLAIN)
        return;
    if (a->charset.len == 0)
        a->charset = a->bytes.charset;
    if (a->charset.len == 0 && a->kind == BODY_HTML)
        a->charset = charset_prescan(slice_sub(a->body, 0, 1024));
    if (needs_decoding(a->charset, a->body)) {
        a->decoder = charset_decoder_new();
        a->body = charset_decode(a->decoder, a->charset, a->kind == BODY_HTML,
                                 a->body);
        a->charset = SLICE_LIT("utf-8");
    }
}

/* --- the page's own head ------------------------------------------------- */

static void put_attribute(struct buf *out, const char *name, struct slice value)
{
    buf_printf(out, " %s=\"", name);
    for (size_t i = 0; i < value.len; i++)
        switch (value.data[i]) {
        case '&': buf_append_str(out, "&amp;"); break;
        case '"': buf_append_str(out, "&quot;"); break;
        case '<': buf_append_str(out, "&lt;"); break;
        default: buf_append_byte(out, value.data[i]);
        }
    buf_append_byte(out, '"');
}

/* The script that tells the banner where the page is, and starts wombat. */
static void put_head_insert(const struct replay_call *k,
                            struct capture_answer *a)
{
    struct buf *out = &a->head_insert;
    const char *mount = k->is_archived ? buf_cstr(&k->replay->secret) : "";
    if (k->replay->wombat.len)
        buf_printf(out,
                   "<script src=\"%s" REPLAY_STATIC "wombat.js\"></script>",
                   mount);
    buf_printf(out, "<script src=\"%s/assets/replay_page.js\"", mount);
    put_attribute(out, "data-url", buf_slice(&a->url));
    put_attribute(out, "data-date", slice_str(a->date));
    buf_append_str(out, "></script>");
}

/* --- headers ------------------------------------------------------------- */

/* The policy that isolates it, and lets pages without an origin load each
 * other's files. */
static void put_policy(struct replay_call *k)
{
    http_reply_header(k->reply, "Content-Security-Policy", POLICY);
    http_reply_header(k->reply, "Referrer-Policy", "no-referrer");
    http_reply_header(k->reply, "Cache-Control", "no-cache");
    replay_allow_pages(k);
}

static bool is_token(struct slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.data[i] <= 0x20 || s.data[i] >= 0x7f ||
            strchr("\";,<>", s.data[i]))
            return false;
    return s.len > 0 && s.len < 64;
}

static void put_type(struct capture_answer *a, struct http_reply *reply)
{
    struct slice type = slice_trim(a->bytes.type);
    struct slice media = http_media_type(type);
    struct buf text = BUF_INIT;
    reply->content_type = NULL;
    for (size_t i = 0; i < type.len; i++)
        if (type.data[i] < 0x20 || type.data[i] >= 0x7f)
            type = SLICE_EMPTY;
    if (type.len == 0 && a->kind == BODY_HTML)
        type = media = SLICE_LIT("text/html");
    if (type.len == 0 || type.len > 512)
        return;
    if (a->kind != BODY_PLAIN && is_token(a->charset))
        buf_printf(&text, "%.*s; charset=%.*s", SLICE_ARG(media),
                   SLICE_ARG(a->charset));
    else
        buf_append_slice(&text, type);
    http_reply_header(reply, "Content-Type", buf_cstr(&text));
    buf_close(&text);
}

static void put_headers(struct replay_call *k, struct capture_answer *a)
{
    int status = a->bytes.status;
    k->reply->is_foreign = true;
    k->reply->status = status >= 200 && status <= 999 ? (unsigned)status : 200;
    headers_rewrite(&a->links, a->bytes.head,
                    k->at.mod == REPLAY_MOD_NONE ? REPLAY_MOD_MP : k->at.mod,
                    k->reply);
    put_type(a, k->reply);
}

/* --- ranges -------------------------------------------------------------- */

/* Cut the body to what was asked for: of a whole answer that is not rewritten.
 */
static void take_range(struct replay_call *k, struct capture_answer *a)
{
    const char *range = http_request_header(k->request, "Range");
    char text[80];
    size_t len = a->body.len;
    size_t from, to;
    if (a->kind != BODY_PLAIN || k->reply->status != 200)
        return;
    http_reply_header(k->reply, "Accept-Ranges", "bytes");
    if (!range || !replay_range_of(range, len, &from, &to))
        return;
    if (from >= to) {
        k->reply->status = 416;
        snprintf(text, sizeof(text), "bytes */%zu", len);
        from = to = 0;
    } else {
        k->reply->status = 206;
        snprintf(text, sizeof(text), "bytes %zu-%zu/%zu", from, to - 1, len);
    }
    http_reply_header(k->reply, "Content-Range", text);
    a->body = slice_sub(a->body, from, to);
}

/* --- bodies -------------------------------------------------------------- */

static bool is_archived(void *ctx, struct slice url)
{
    struct capture_answer *a = ctx;
    struct capture_list l;
    struct err err = ERR_INIT;
    struct buf normal = BUF_INIT;
    bool is = false;
    if (url_normalise(url, &normal)) {
        is = archive_captures(a->archive, buf_slice(&normal), &l, &err) == 0 &&
             l.count;
        capture_list_close(&l);
    }
    buf_close(&normal);
    return is;
}

static void write_playlist(struct capture_answer *a, struct byte_sink *out)
{
    const struct playlist_options opts = {
        .links = &a->links, .is_archived = is_archived, .ctx = a};
    playlist_rewrite(&opts, a->kind == BODY_HLS ? PLAYLIST_HLS : PLAYLIST_DASH,
                     a->body, out);
}

static void write_body(struct capture_answer *a, struct byte_sink *out)
{
    const char *module_url =
        a->module_url.len ? buf_cstr(&a->module_url) : NULL;
    const struct html_rewrite_options html = {.links = &a->links,
                                              .head_insert =
                                                  buf_slice(&a->head_insert),
                                              .module_url = module_url};
    const struct js_rewrite_options js = {.links = &a->links,
                                          .module_url = module_url,
                                          .is_module = a->is_module};
    switch (a->kind) {
    case BODY_PLAIN: byte_sink_put(out, a->body); break;
    case BODY_HTML: html_rewrite(&html, a->body, out); break;
    case BODY_CSS: css_rewrite(&a->links, a->body, false, out); break;
    case BODY_JS:
        if (module_url)
            (void)js_rewrite(&js, a->body, out);
        else
            byte_sink_put(out, a->body);
        break;
    case BODY_HLS:
    case BODY_DASH: write_playlist(a, out); break;
    }
}

static int write_piece(void *ctx, struct slice piece, struct err *err)
{
    return http_stream_write(ctx, piece, err);
}

/* On the request's fiber, after its headers were sent. */
static void stream_body(void *ctx, struct http_stream *stream)
{
    struct capture_answer *a = ctx;
    struct err err = ERR_INIT;
    struct byte_sink out = {
        .pending = BUF_INIT, .write = write_piece, .ctx = stream, .err = &err};
    write_body(a, &out);
    /* The client left, or the server closes: there is nobody to tell. */
    if (byte_sink_finish(&out))
        err_init(&err);
    buf_close(&out.pending);
    capture_answer_free(a);
}

/* Some answers have no body, whatever was recorded. */
static bool has_body(const struct http_reply *reply)
{
    return reply->status != 204 && reply->status != 304;
}

/* Write the body into the reply, or begin a stream. Frees @a. */
static void send_body(struct replay_call *k, struct capture_answer *a)
{
    struct byte_sink out = {.pending = BUF_INIT};
    if (a->body.len > BODY_WHOLE_BYTES_MAX && has_body(k->reply)) {
        if (http_stream_begin(k->request, stream_body, a))
            return;
        replay_error(k, 503, "too many large files are being sent: try again");
    } else if (has_body(k->reply)) {
        write_body(a, &out);
        buf_close(&k->reply->body);
        k->reply->body = out.pending;
    }
    capture_answer_free(a);
}

static bool
header_is(const struct replay_call *k, const char *name, const char *value)
{
    const char *have = http_request_header(k->request, name);
    return have && strcasecmp(have, value) == 0;
}

/* --- answers ------------------------------------------------------------- */

static struct capture_answer *new_answer(const char *web,
                                         const struct capture *c,
                                         const struct capture_bytes *bytes)
{
    struct capture_answer *a = mem_zalloc(1, sizeof(*a));
    a->bytes = *bytes;
    a->body = bytes->body;
    a->charset = SLICE_EMPTY;
    (void)url_normalise(c->url, &a->url);
    date_format_14(c->time_us, a->date);
    link_rewriter_init(&a->links, web, slice_str(a->date), buf_slice(&a->url));
    return a;
}

/* Answer with @bytes of @c, which are taken over. */
static void answer_capture(struct replay_call *k,
                           const struct capture_list *l,
                           const struct capture *c,
                           const struct capture_bytes *bytes)
{
    struct capture_answer *a = new_answer(replay_web_of(k), c, bytes);
    a->kind = kind_of(a->bytes.type, a->body, k->at.mod);
    a->archive = k->replay->archive;
    a->is_module = k->at.mod == REPLAY_MOD_ESM;
    if (k->replay->wombat.len)
        buf_printf(&a->module_url, "%s" REPLAY_MODULE,
                   k->is_archived ? buf_cstr(&k->replay->secret) : "");
    choose_charset(a);
    /* An answer to a script is no page. */
    if (a->kind == BODY_HTML && !header_is(k, "Sec-Fetch-Dest", "empty"))
        put_head_insert(k, a);
    put_headers(k, a);
    put_policy(k);
    memento_headers(k, l, c);
    take_range(k, a);
    send_body(k, a);
}

/* Another date was asked for than there is: the address of the capture. */
static void redirect_to(struct replay_call *k,
                        const struct capture_list *l,
                        const struct capture *c,
                        enum replay_mod mod)
{
    struct buf to = BUF_INIT;
    struct capture shown = *c;
    /* The URL alone finds no capture by another method. */
    if (c->method.len && !k->is_other)
        shown.url = buf_slice(&k->url);
    replay_put_address(&to,
                       mod == REPLAY_MOD_NONE ? REPLAY_WEB : replay_web_of(k),
                       &shown, mod);
    k->reply->status = k->is_other ? 307 : 302;
    k->reply->is_foreign = true;
    http_reply_header(k->reply, "Location", buf_cstr(&to));
    http_reply_header(k->reply, "Vary", "accept-datetime");
    replay_allow_pages(k);
    memento_headers(k, l, NULL);
    buf_close(&to);
}

/* The nearest capture that has bytes, loaded. l->count: there is none. */
static int load_nearest(struct replay_call *k,
                        const struct capture_list *l,
                        int64_t us,
                        size_t *index,
                        struct capture_bytes *bytes,
                        struct err *err)
{
    bool *tried = mem_zalloc(l->count + 1, sizeof(*tried));
    int rc = 0;
    for (;;) {
        *index = capture_nearest(l, us, buf_slice(&k->url), tried);
        if (*index == l->count)
            break;
        tried[*index] = true;
        if (capture_is_own_redirect(&l->at[*index]))
            continue;
        rc = archive_load(k->replay->archive, &l->at[*index], bytes, err);
        if (rc == 0)
            break;
        capture_bytes_close(bytes);
        if (rc != ERR_NOTFOUND)
            break;
        rc = 0;
    }
    mem_free(tried);
    return rc;
}

/* The time that the call asks for. */
static int64_t wanted_time(const struct replay_call *k)
{
    int64_t us;
    if (k->at.date.len && replay_date_parse(k->at.date, &us))
        return us;
    return k->at.date.len == 0 && memento_accepted(k, &us) ? us : INT64_MAX;
}

/* Is it a window that wants a page, not a file in one? */
static bool is_window(const struct replay_call *k)
{
    if (http_request_header(k->request, "Sec-Fetch-Dest"))
        return header_is(k, "Sec-Fetch-Dest", "document");
    return header_is(k, "Upgrade-Insecure-Requests", "1");
}

static void answer_found(struct replay_call *k,
                         const struct capture_list *l,
                         const struct capture *c,
                         struct capture_bytes *bytes)
{
    char date[DATE_TEXT_BYTES];
    enum replay_mod mod = k->at.mod;
    bool window = !k->is_other && is_window(k);
    date_format_14(c->time_us, date);
    if (!slice_eq_str(k->at.date, date))
        redirect_to(k, l, c, mod);
    else if (window && mod == REPLAY_MOD_MP &&
             header_is(k, "Sec-Fetch-Dest", "document"))
        redirect_to(k, l, c, REPLAY_MOD_NONE);
    else if (window && mod == REPLAY_MOD_NONE)
        replay_frame_page(k, l, c);
    else {
        answer_capture(k, l, c, bytes);
        return;
    }
    capture_bytes_close(bytes);
}

/* The captures of the call's URL; if there is none, and none is kept back,
 * those of URLs that stand in for it, unless the bytes themselves are asked
 * for. */
static int
find_captures(struct replay_call *k, struct capture_list *l, struct err *err)
{
    struct slice url = replay_asked_url(k);
    int rc = archive_captures(k->replay->archive, url, l, err);
    if (rc || l->count || l->blocked || k->at.mod == REPLAY_MOD_ID)
        return rc;
    capture_list_close(l);
    rc = archive_similar(k->replay->archive, url, l, err);
    /* A stand-in that is kept back is not of this URL. */
    l->blocked = 0;
    return rc;
}

void replay_capture(struct replay_call *k)
{
    struct capture_list l;
    struct capture_bytes bytes = {.status = 0};
    struct err err = ERR_INIT;
    size_t index = 0;
    int rc;
    if (memento_refuse_date(k))
        return;
    rc = find_captures(k, &l, &err);
    if (rc == 0)
        rc = load_nearest(k, &l, wanted_time(k), &index, &bytes, &err);
    if (rc)
        replay_failed(k, &err);
    else if (index == l.count)
        replay_not_found(k, &l);
    else
        answer_found(k, &l, &l.at[index], &bytes);
    capture_list_close(&l);
}

/* Nothing is rewritten: the client's browser is at the capture's own address.
 * Cookies stay out all the same, where the browser has those of today. */
static void answer_proxied(struct replay_call *k,
                           const struct capture_list *l,
                           const struct capture *c,
                           const struct capture_bytes *bytes)
{
    struct capture_answer *a = new_answer(NULL, c, bytes);
    a->kind = BODY_PLAIN;
    k->at.mod = REPLAY_MOD_ID;
    put_headers(k, a);
    http_reply_header(k->reply, "Cache-Control", "no-store");
    http_reply_header(k->reply, "Vary", "accept-datetime");
    memento_headers(k, l, c);
    take_range(k, a);
    send_body(k, a);
}

void replay_proxy(struct replay_call *k)
{
    struct capture_list l;
    struct capture_bytes bytes = {.status = 0};
    struct err err = ERR_INIT;
    size_t index = 0;
    int rc;
    if (memento_refuse_date(k))
        return;
    rc = find_captures(k, &l, &err);
    if (rc == 0)
        rc = load_nearest(k, &l, wanted_time(k), &index, &bytes, &err);
    if (rc)
        replay_failed(k, &err);
    else if (index == l.count)
        replay_not_found(k, &l);
    else
        answer_proxied(k, &l, &l.at[index], &bytes);
    capture_list_close(&l);
}
