/* Names of traces and spans, and W3C's `traceparent`, the header in which they
 * travel between systems:
 *
 *     00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
 *     version, trace id, the caller's span id, flags (1: sampled)
 *
 * Pure. Threads: any.
 */
#ifndef BASE_TRACE_TRACE_ID_H
#define BASE_TRACE_TRACE_ID_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/slice.h"

#define TRACE_ID_TEXT_BYTES    33 /* 32 digits and a NUL. */
#define TRACEPARENT_TEXT_BYTES 56

struct trace_id {
    uint64_t high;
    uint64_t low; /* Both 0: none. */
};

static inline bool trace_id_is_set(struct trace_id id)
{
    return id.high || id.low;
}

static inline bool trace_id_eq(struct trace_id a, struct trace_id b)
{
    return a.high == b.high && a.low == b.low;
}

/* Its 32 digits. */
void trace_id_print(struct trace_id id, char out[TRACE_ID_TEXT_BYTES]);
/* Of 32 hexadecimal digits that are not all 0; else false, and *@out is
 * untouched. */
bool trace_id_parse(struct slice text, struct trace_id *out);

struct traceparent {
    struct trace_id trace;
    uint64_t span_id; /* The caller's. */
    bool sampled;
};

/* As the W3C recommendation has it: lower-case digits, neither id 0, version
 * 00 of exactly that length or a later one whose further fields are skipped.
 * False: it is none, and *@out is untouched. */
bool traceparent_parse(struct slice text, struct traceparent *out);
void traceparent_print(const struct traceparent *p,
                       char out[TRACEPARENT_TEXT_BYTES]);

#endif /* BASE_TRACE_TRACE_ID_H */
