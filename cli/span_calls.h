/* The calls about the spans that a server process keeps, and about what it
 * keeps.
 *
 *     SERVER_SPANS           [high, low, min-us, calls]; [all], and spans in
 * the attachment (base/trace/span_record.h) SERVER_TRACE_SETTINGS  [one-in,
 * slow-us]; [one-in, slow-us]
 *
 * Threads: any.
 */
#ifndef CLI_SPAN_CALLS_H
#define CLI_SPAN_CALLS_H

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "base/trace/tracer.h"

struct buf;
struct rpc_call;

/* Of the spans in one answer. */
#define SPAN_ANSWER_BYTES_MAX ((size_t)1 << 20)
/* A setting that stays as it is. */
#define TRACE_SETTING_KEPT UINT64_MAX

void span_query_put(const struct span_query *q, struct buf *out);
/* Errors: ERR_CORRUPT. */
MUST_CHECK int
span_query_get(struct slice in, struct span_query *q, struct err *err);

void span_answer_put(bool all, struct buf *out);
/* @all: there were no more than fit. Errors: ERR_CORRUPT. */
MUST_CHECK int span_answer_get(struct slice in, bool *all, struct err *err);

void trace_settings_put(const struct trace_settings *s, struct buf *out);
/* Errors: ERR_CORRUPT. */
MUST_CHECK int
trace_settings_get(struct slice in, struct trace_settings *s, struct err *err);

/* The handlers. @ctx is the tracer. */
int span_calls_query(void *ctx, struct rpc_call *call, struct err *err);
int span_calls_settings(void *ctx, struct rpc_call *call, struct err *err);

#endif /* CLI_SPAN_CALLS_H */
