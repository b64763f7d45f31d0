/* Sends the spans that a tracer keeps to a receiver of OpenTelemetry's
 * protocol (OTLP), from a thread of its own.
 *
 * Kept spans are copied into a queue of bounded size; where there is no room
 * they are dropped, and counted. Nothing that is traced ever waits for the
 * receiver. The thread takes a batch when there are enough or the oldest has
 * waited long enough. A receiver that is overloaded or away (429, 502, 503,
 * 504, no answer) is asked again after pauses that double, or that it names,
 * for a minute; then the batch is dropped. One that refuses is not asked again.
 *
 * Invariants
 *     INV-1. `count` and `bytes` are those of the queue, and within their
 *            bounds.
 *
 * Threads: any.
 */
#ifndef BASE_OTLP_OTLP_EXPORTER_H
#define BASE_OTLP_OTLP_EXPORTER_H

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct metric_set;
struct otlp_exporter;
struct otlp_settings;
struct tracer;
struct world;

/* Export what @t keeps, as @s says, whose content is taken (it is empty then,
 * in any case). PRE: @s->url is set. Errors: ERR_UNSUPPORTED (no libcurl). */
MUST_CHECK int otlp_exporter_open(struct world *w,
                                  struct tracer *t,
                                  struct otlp_settings *s,
                                  struct otlp_exporter **out,
                                  struct err *err);
/* Send what waits, for at most @patience_us, and end. PRE: nothing is traced
 * any more. NULL is allowed. Parks. */
void otlp_exporter_close(struct otlp_exporter *x, uint64_t patience_us);

/* Add the metrics "trace_export*". */
void otlp_exporter_gather(struct otlp_exporter *x, struct metric_set *out);

#endif /* BASE_OTLP_OTLP_EXPORTER_H */
