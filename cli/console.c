/* The console: dispatch of pages, and queries to the cell's nodes. The first
 * page is HTML that works without scripts; the others are plain text.
 */
#include "cli/console.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/http/http.h"
#include "base/rpc/codec.h"
#include "base/rpc/remote.h"
#include "base/runtime/audit.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"

#define NODE_TIMEOUT_US UINT64_C(1000000)

struct console {
    struct http_server *http;
    struct console_source source;
    struct rpc_channel **channels; /* One a node of the cell; owned. */
};

/* --- the cell ------------------------------------------------------------ */

struct question {
    struct rpc_channel *channel;
    struct fiber *fiber;
    struct buf status;
    struct err err;
};

static void console_ask(void *arg)
{
    struct question *q = arg;
    struct rpc_call_options o = {.timeout_us = NODE_TIMEOUT_US};
    struct buf body = BUF_INIT;
    struct codec_reader r;
    PRE(q->channel);
    if (rpc_call(q->channel, SERVER_STATUS, &o, SLICE_EMPTY, SLICE_EMPTY, &body,
                 NULL, &q->err) == 0) {
        r = codec_reader_make(buf_slice(&body));
        if (codec_get_array(&r) >= 1)
            buf_append_slice(&q->status, codec_get_bytes(&r));
        if (r.bad)
            err_set(&q->err, ERR_CORRUPT, "malformed status");
    }
    buf_close(&body);
}

/* Ask all nodes at once: one that is dead costs its time-out once. */
static void ask_all(struct console *c, struct question *q)
{
    const struct console_source *s = &c->source;
    for (size_t i = 0; i < s->cell_count; i++) {
        q[i].channel = c->channels[i];
        if (strcmp(s->cell[i], s->address) == 0)
            s->text(s->ctx, SERVER_STATUS, &q[i].status);
        else
            q[i].fiber =
                fiber_start(loop_self(), "console", console_ask, &q[i]);
    }
    for (size_t i = 0; i < s->cell_count; i++)
        if (q[i].fiber)
            fiber_join(q[i].fiber);
}

static void put_page(struct console *c, struct buf *out)
{
    size_t count = c->source.cell_count;
    struct question *q = mem_zalloc(count, sizeof(*q));
    struct console_node *nodes = mem_zalloc(count, sizeof(*nodes));
    PRE(count > 0);
    ask_all(c, q);
    for (size_t i = 0; i < count; i++)
        nodes[i] = (struct console_node){
            c->source.cell[i], buf_slice(&q[i].status), q[i].err.text};
    console_page(&c->source, nodes, count, out);
    for (size_t i = 0; i < count; i++)
        buf_close(&q[i].status);
    mem_free(nodes);
    mem_free(q);
}

/* --- pages --------------------------------------------------------------- */

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

/* The pages that are texts of the process. */
static bool
put_text(const struct console_source *s, const char *path, struct buf *out)
{
    static const struct {
        const char *path;
        enum server_method method;
    } texts[] = {
        {"/status", SERVER_STATUS}, {"/vars", SERVER_VARS},
        {"/fibers", SERVER_FIBERS}, {"/peers", SERVER_PEERS},
        {"/calls", SERVER_CALLS},
    };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (strcmp(path, texts[i].path) == 0) {
            s->text(s->ctx, texts[i].method, out);
            return true;
        }
    return false;
}

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
    const char *path = http_path(request);
    note_access(request);
    if (strcmp(path, "/") == 0) {
        reply->content_type = "text/html; charset=utf-8";
        put_page(c, &reply->body);
    } else if (strcmp(path, "/metrics") == 0) {
        put_metrics(&c->source, http_request_header(request, "Accept"), reply);
    } else if (strcmp(path, "/health") == 0) {
        put_health(&c->source, reply);
    } else if (!put_text(&c->source, path, &reply->body)) {
        reply->status = 404;
        buf_printf(&reply->body,
                   "no such page; there are: / /status /metrics /vars /fibers "
                   "/peers /calls /health\n");
    }
}

/* --- life ---------------------------------------------------------------- */

int console_open(const char *address,
                 const struct console_source *source,
                 struct console **out,
                 struct err *err)
{
    struct console *c = mem_zalloc(1, sizeof(*c));
    struct rpc_channel_options o = {.security = source->security};
    int rc;
    PRE(source->text && source->health);
    PRE(source->cell_count > 0);
    c->source = *source;
    c->channels = mem_zalloc(source->cell_count, sizeof(struct rpc_channel *));
    for (size_t i = 0; i < source->cell_count; i++)
        c->channels[i] = rpc_channel_new(source->cell[i], &o);
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
    for (size_t i = 0; i < c->source.cell_count; i++)
        rpc_channel_free(c->channels[i]);
    mem_free(c->channels);
    mem_free(c);
}
