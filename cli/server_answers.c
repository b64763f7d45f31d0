/* Answers of a server process about itself: status, metrics, settings, fibers,
 * connections, spans and the log. Handlers run on the loop of the roles, which
 * they ask without parking.
 */
#include <string.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/metrics/metric_history.h"
#include "base/metrics/metrics.h"
#include "base/rpc/codec.h"
#include "base/rpc/security.h"
#include "base/runtime/descriptors.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/world.h"
#include "base/trace/tracer.h"
#include "cli/cli.h"
#include "cli/console/console.h"
#include "cli/history_call.h"
#include "cli/log_tail.h"
#include "cli/node_version.h"
#include "cli/process_metrics.h"
#include "cli/server_host_state.h"
#include "cli/server_settings.h"
#include "cli/settings_text.h"
#include "cli/span_calls.h"
#include "cli/trace_export.h"

/* "health=well", or what ails it, in quotes. */
static void put_health(const struct err *health, struct buf *out)
{
    if (health->code == 0) {
        buf_append_str(out, "health=well");
        return;
    }
    buf_append_str(out, "health=\"");
    for (const char *p = health->text; *p; p++)
        buf_append_byte(out, *p == '"' || *p == '\n' ? '\'' : *p);
    buf_append_byte(out, '"');
}

static void put_status(struct server_host *h, struct buf *out)
{
    uint64_t up_us = (world_mono_ns(h->env.world) - h->start_ns) / 1000;
    buf_printf(out, "node=%s address=%s cluster=%s security=%s version=%s ",
               h->name, h->address, h->env.cluster,
               rpc_security_kind_name(h->security), QUARRY_VERSION);
    if (h->version) {
        buf_append_str(out, "speaks=");
        version_range_put(node_version_range(h->version), out);
        buf_printf(out, " cluster-version=%u ",
                   (unsigned)*node_version_known(h->version));
    }
    if (h->env.rack && *h->env.rack)
        buf_printf(out, "rack=%s ", h->env.rack);
    buf_printf(out, "pid=%ld up=", (long)getpid());
    text_put_duration(out, up_us);
    buf_printf(out, " up_us=%llu time=%llu ", (unsigned long long)up_us,
               (unsigned long long)world_now_us(h->env.world));
    if (h->listener)
        rpc_listener_status(h->listener, out);
    buf_printf(out, " descriptors=%zu", descriptors_limit());
    buf_append_str(out, h->has_left ? " left=yes\n" : "\n");
    for (size_t i = 0; i < h->role_count; i++) {
        buf_printf(out, "%s: ", h->roles[i].role->name);
        put_health(&h->roles[i].health, out);
        if (h->roles[i].role->status) {
            buf_append_byte(out, ' ');
            h->roles[i].role->status(h->roles[i].self, out);
        }
        buf_append_byte(out, '\n');
    }
}

/* Names in these texts come from everywhere, and go to terminals. */
static void make_printable(struct buf *out, size_t from)
{
    for (size_t i = from; i < out->len; i++) {
        unsigned char c = (unsigned char)out->data[i];
        if ((c < 0x20 && c != '\n') || c == 0x7f)
            out->data[i] = '?';
    }
}

static void gather_host(const struct server_host *h, struct metric_set *out)
{
    metric_put(out, METRIC_build_info, METRIC_LABELS(QUARRY_VERSION), 1);
    metric_put(out, METRIC_node_info,
               METRIC_LABELS(h->name, h->env.cluster,
                             rpc_security_kind_name(h->security)),
               1);
    metric_put(out, METRIC_memory_bytes, METRIC_LABELS("metric_history"),
               (double)metric_history_bytes(h->history));
    if (h->console)
        metric_put(out, METRIC_console_unprotected, NULL,
                   console_is_unprotected(h->console));
    if (rpc_security_end_s(h->security))
        metric_put(out, METRIC_certificate_end_seconds,
                   METRIC_LABELS("cluster"),
                   (double)rpc_security_end_s(h->security));
}

struct metric_set *server_host_gather(struct server_host *h)
{
    struct metric_set *out = metric_set_new(h->metrics);
    gather_host(h, out);
    process_metrics_gather(out);
    metrics_gather(h->metrics, out);
    tracer_gather(h->tracer, out);
    otlp_exporter_gather(h->exporter, out);
    rpc_server_gather(h->server, out);
    if (h->listener)
        rpc_listener_gather(h->listener, out);
    for (size_t i = 0; i < h->role_count; i++) {
        const struct running_role *r = &h->roles[i];
        metric_put(out, METRIC_role_health, METRIC_LABELS(r->role->name),
                   r->health.code == 0);
        if (r->role->gather)
            r->role->gather(r->self, out);
    }
    return out;
}

void server_host_put_metrics(void *ctx, enum metric_text form, struct buf *out)
{
    struct metric_set *set = server_host_gather(ctx);
    metric_set_print(set, form, out);
    metric_set_free(set);
}

void server_host_put_text(void *ctx, enum server_method what, struct buf *out)
{
    struct server_host *h = ctx;
    size_t from = out->len;
    PRE(h->server);
    switch (what) {
    case SERVER_STATUS: put_status(h, out); break;
    case SERVER_VARS: server_host_put_metrics(h, METRIC_TEXT_PLAIN, out); break;
    case SERVER_METRICS:
        server_host_put_metrics(h, METRIC_TEXT_PROMETHEUS, out);
        break;
    case SERVER_CONFIG: settings_text_put(h->settings, out); break;
    case SERVER_FIBERS: fiber_dump(h->loop, out); break;
    case SERVER_PEERS: rpc_listener_print(h->listener, out); break;
    case SERVER_CALLS: tracer_print(h->tracer, out); break;
    case SERVER_LOG_LEVEL: /* They have handlers of their own. */
    case SERVER_HISTORY:
    case SERVER_SPANS:
    case SERVER_LOG_TAIL:
    case SERVER_TRACE_SETTINGS: break;
    }
    make_printable(out, from);
}

static int answer_text(void *ctx, struct rpc_call *call, struct err *err)
{
    struct buf text = BUF_INIT;
    (void)err;
    server_host_put_text(ctx, (enum server_method)call->method, &text);
    codec_put_array(call->reply_body, 1);
    codec_put_str(call->reply_body, buf_slice(&text));
    buf_close(&text);
    return 0;
}

static int handle_log_level(void *ctx, struct rpc_call *call, struct err *err)
{
    struct server_host *h = ctx;
    struct logger *l = world_logger(h->env.world);
    struct codec_reader r = codec_reader_make(call->body);
    uint32_t count = codec_get_array(&r);
    struct slice change = codec_get_bytes(&r);
    struct buf levels = BUF_INIT;
    int rc = 0;
    if (count < 1 || r.bad)
        return err_set(err, ERR_CORRUPT, "malformed request");
    if (!l)
        return err_set(err, ERR_UNSUPPORTED, "this process has no log");
    if (change.len) {
        call->is_audited = true;
        rc = logger_set_levels(l, change, err);
        log_info(h->env.world, "server", "log levels change=\"%.*s\" code=%d",
                 SLICE_ARG(change), rc);
    }
    log_debug(h->env.world, "server", "log levels are asked for by=%.*s",
              SLICE_ARG(call->principal));
    logger_print_levels(l, &levels);
    if (rc == 0) {
        codec_put_array(call->reply_body, 1);
        codec_put_str(call->reply_body, buf_slice(&levels));
    }
    buf_close(&levels);
    return rc;
}

static int handle_log_tail(void *ctx, struct rpc_call *call, struct err *err)
{
    const struct server_host *h = ctx;
    uint64_t bytes;
    struct buf text = BUF_INIT;
    int rc = log_tail_query_get(call->body, &bytes, err);
    if (rc == 0)
        rc = log_tail_read(h->env.world, (size_t)bytes, &text, err);
    make_printable(&text, 0);
    if (rc == 0) {
        codec_put_array(call->reply_body, 1);
        codec_put_str(call->reply_body, buf_slice(&text));
    }
    buf_close(&text);
    return rc;
}

/* The history is sampled on this loop, too. */
static int handle_history(void *ctx, struct rpc_call *call, struct err *err)
{
    struct server_host *h = ctx;
    struct history_request r;
    int rc = history_request_get(call->body, &r, err);
    if (rc == 0)
        history_reply_put(h->history, &r, world_now_us(h->env.world),
                          call->reply_body);
    return rc;
}

void server_host_audit_methods(struct server_host *h)
{
    static const char *const names[] = {"master.create_table",
                                        "master.alter_table",
                                        "master.drop_table",
                                        "master.split",
                                        "master.compact",
                                        "master.drop_rows",
                                        "master.move",
                                        "master.set_policy",
                                        "master.snapshot",
                                        "master.snapshot_drop",
                                        "master.snapshot_record",
                                        "master.snapshot_restore",
                                        "master.clone",
                                        "master.import_lend",
                                        "master.import",
                                        "tablet.load_files",
                                        "job.submit",
                                        "job.kill",
                                        "namenode.set_server"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        (void)rpc_server_audit(h->server, names[i]);
}

void server_host_add_methods(struct server_host *h)
{
    static const struct rpc_method methods[] = {
        {SERVER_STATUS, "server.status", answer_text, 0},
        {SERVER_VARS, "server.vars", answer_text, 0},
        {SERVER_METRICS, "server.metrics", answer_text, 0},
        {SERVER_CONFIG, "server.config", answer_text, RPC_METHOD_INTERNAL},
        {SERVER_FIBERS, "server.fibers", answer_text, 0},
        {SERVER_PEERS, "server.peers", answer_text, 0},
        {SERVER_CALLS, "server.calls", answer_text, 0},
        {SERVER_LOG_LEVEL, "server.log_level", handle_log_level,
         RPC_METHOD_INTERNAL},
        {SERVER_HISTORY, "server.history", handle_history, 0},
        {SERVER_LOG_TAIL, "server.log_tail", handle_log_tail,
         RPC_METHOD_INTERNAL},
    };
    static const struct rpc_method of_traces[] = {
        {SERVER_SPANS, "server.spans", span_calls_query, 0},
        {SERVER_TRACE_SETTINGS, "server.trace_settings", span_calls_settings,
         RPC_METHOD_INTERNAL},
    };
    rpc_server_add(h->server, methods, ARRAY_LEN(methods), h);
    rpc_server_add(h->server, of_traces, ARRAY_LEN(of_traces), h->tracer);
}
