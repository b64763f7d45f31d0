/* Meters of each method: calls by status, and their times. The
 * instruments of a method are made with its first call, so that a scrape shows
 * those that are used.
 */
#include "base/core/panic.h"
#include "base/metrics/metrics.h"
#include "base/runtime/log.h"
#include "base/runtime/world.h"
#include "bigtable/gateway/grpc_call.h"

struct grpc_meter {
    struct metric_histogram *seconds;              /* NULL: not called yet. */
    struct metric_counter *calls[GRPC_CODE_COUNT]; /* Likewise each. */
};

void grpc_meters_open(struct grpc_server *server)
{
    const struct grpc_options *o = &server->options;
    if (o->metrics)
        server->meters = mem_zalloc(o->method_count, sizeof(*server->meters));
}

void grpc_meters_close(struct grpc_server *server)
{
    mem_free(server->meters);
    server->meters = NULL;
}

/* "google.bigtable.v2.Bigtable/ReadRows" */
static const char *grpc_method_label(const struct grpc_method *m)
{
    return m->path + (m->path[0] == '/');
}

void grpc_meter_call(const struct grpc_call *call)
{
    const struct grpc_server *server = call->server;
    const struct grpc_options *o = &server->options;
    struct grpc_meter *m;
    const char *label;
    log_debug(
        server->world, "gateway", "call method=%s status=%s us=%llu",
        call->method ? grpc_method_label(call->method) : "unknown",
        grpc_code_name(call->code),
        (unsigned long long)(world_mono_ns(server->world) - call->begun_ns) /
            1000);
    if (!server->meters || !call->method)
        return;
    PRE(call->method >= o->methods &&
        call->method < o->methods + o->method_count);
    PRE((unsigned)call->code < GRPC_CODE_COUNT);
    m = &server->meters[call->method - o->methods];
    label = grpc_method_label(call->method);
    if (!m->seconds)
        m->seconds = metrics_histogram(o->metrics, METRIC_gateway_call_seconds,
                                       METRIC_LABELS(label));
    if (!m->calls[call->code])
        m->calls[call->code] =
            metrics_counter(o->metrics, METRIC_gateway_calls,
                            METRIC_LABELS(label, grpc_code_name(call->code)));
    metric_add(m->calls[call->code], 1);
    metric_observe(m->seconds, world_mono_ns(server->world) - call->begun_ns);
}
