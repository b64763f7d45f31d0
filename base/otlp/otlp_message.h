/* Spans as OpenTelemetry's ExportTraceServiceRequest, in protocol buffers
 * (opentelemetry-proto, trace_service.proto, stable since 1.0).
 *
 * Pure. Threads: any.
 */
#ifndef BASE_OTLP_OTLP_MESSAGE_H
#define BASE_OTLP_OTLP_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/slice.h"

struct buf;
struct otlp_pair;
struct span_record;

/* Append a span as a field of the message that otlp_message_put() makes. */
void otlp_message_add(struct buf *spans, const struct span_record *r);
/* Append the request with @spans, and the attributes of their process. */
void otlp_message_put(struct buf *out,
                      const struct otlp_pair *resource,
                      size_t resource_count,
                      struct slice spans);
/* Of an answer, ExportTraceServiceResponse: spans that were refused, and why
 * ("" or borrowed from @answer); 0 of one that is malformed. */
uint64_t otlp_message_refused(struct slice answer, struct slice *why);

#endif /* BASE_OTLP_OTLP_MESSAGE_H */
