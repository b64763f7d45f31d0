/* Spans for a receiver that is away are dropped where they find no room, and
 * counted; nobody waits for it, neither who traces nor who ends. */
#include <string.h>

#include "base/metrics/metrics.h"
#include "base/otlp/otlp_exporter.h"
#include "base/otlp/otlp_settings.h"
#include "base/runtime/world.h"
#include "base/trace/span.h"
#include "base/trace/tracer.h"
#include "tests/lib/check_main.h"

static const char *variable(const char *name)
{
    if (strcmp(name, "OTEL_EXPORTER_OTLP_ENDPOINT") == 0)
        return "http://127.0.0.1:1";
    return strcmp(name, "OTEL_BSP_MAX_QUEUE_SIZE") == 0 ? "8" : NULL;
}

static double metric(struct otlp_exporter *x, enum metric_id id)
{
    struct metrics *metrics = metrics_new();
    struct metric_set *set = metric_set_new(metrics);
    double value = 0;
    otlp_exporter_gather(x, set);
    ck_assert(metric_set_value(set, id, NULL, &value));
    metric_set_free(set);
    metrics_free(metrics);
    return value;
}

START_TEST(test_receiver_is_away)
{
    struct trace_context caller = {.sampled = true};
    struct world *w = world_real_new();
    struct tracer *t = tracer_new(w, TRACE_BYTES_DEFAULT);
    struct otlp_exporter *x;
    struct otlp_settings s;
    struct err err = ERR_INIT;
    uint64_t begin = world_mono_ns(w);
    int rc;
    otlp_settings_read(&s, variable);
    rc = otlp_exporter_open(w, t, &s, &x, &err);
    if (rc == ERR_UNSUPPORTED) { /* Built without libcurl. */
        tracer_free(t);
        world_free(w);
        return;
    }
    ck_assert_int_eq(rc, 0);
    world_set_tracer(w, t);
    for (int i = 0; i < 10000; i++) {
        struct span span;
        span_begin_root(&span, w, SPAN_SERVER, "call", &caller, 0);
        span_end(&span, 0);
    }
    ck_assert(metric(x, METRIC_trace_export_dropped_spans) > 9900);
    world_set_tracer(w, NULL);
    otlp_exporter_close(x, 60000000);
    /* Of the minute that it might wait, it waits for nothing. */
    ck_assert_uint_lt((world_mono_ns(w) - begin) / 1000000, 30000);
    tracer_free(t);
    world_free(w);
}

END_TEST

TEST_MAIN("otlp_exporter", test_receiver_is_away)
