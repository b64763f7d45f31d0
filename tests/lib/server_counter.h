/* Counters of a server's methods, as operators see them. */
#ifndef TESTS_LIB_SERVER_COUNTER_H
#define TESTS_LIB_SERVER_COUNTER_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/macros.h"
#include "base/metrics/metrics.h"
#include "base/rpc/rpc.h"

/* The value of the metric @name for @method; 0 if it is not there. */
static inline uint64_t
server_counter(const struct rpc_server *s, const char *name, const char *method)
{
    struct metrics *m = metrics_new();
    struct metric_set *set = metric_set_new(m);
    struct buf text = BUF_INIT;
    struct buf key = BUF_INIT;
    const char *line;
    uint64_t value = 0;
    rpc_server_gather(s, set);
    metric_set_print(set, METRIC_TEXT_PLAIN, &text);
    buf_printf(&key, "%s{method=\"%s\",", name, method);
    line = strstr(buf_cstr(&text), buf_cstr(&key));
    line = line ? strchr(line, ' ') : NULL;
    if (line)
        value = strtoull(line, NULL, 10);
    buf_close(&key);
    buf_close(&text);
    metric_set_free(set);
    metrics_free(m);
    return value;
}

static inline UNUSED uint64_t server_calls(const struct rpc_server *s,
                                           const char *method)
{
    return server_counter(s, "quarry_rpc_call_seconds_count", method);
}

static inline UNUSED uint64_t server_failures(const struct rpc_server *s,
                                              const char *method)
{
    return server_counter(s, "quarry_rpc_call_failures_total", method);
}

#endif /* TESTS_LIB_SERVER_COUNTER_H */
