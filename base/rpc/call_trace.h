/* Spans of sampled calls, those that a process made and those that it handled,
 * in a ring.
 *
 * A call tree shares one trace id, which travels in frames with the span of the
 * caller; the calls that a handler makes become children of the call that it
 * handles, without its help. One root call in `one_in` is sampled; the servers
 * that handle its children record them too.
 *
 * Threads: any.
 */
#ifndef BASE_RPC_CALL_TRACE_H
#define BASE_RPC_CALL_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/slice.h"

struct buf;
struct call_trace;
struct world;

/* The place of the running work in a tree of calls: the fiber's context. */
struct call_context {
    uint64_t trace_id; /* 0: none. */
    uint32_t span_id;  /* 0: none. */
    bool sampled;
};

/* Keep the newest @span_count spans, and sample one in @one_in root calls (0:
 * none). Owned. */
struct call_trace *
call_trace_new(struct world *w, size_t span_count, uint64_t one_in);
void call_trace_free(struct call_trace *t); /* NULL is allowed. */

/* The id of the tree of calls that the running fiber works for; 0: none. */
uint64_t call_trace_request(void);

/* Append the spans of tree @trace_id (0: of all), oldest first, one a line:
 * "trace span<parent client|server method peer start duration outcome". */
void call_trace_print(struct call_trace *t, uint64_t trace_id, struct buf *out);

/* --- for base/rpc -------------------------------------------------------- */

/* A call under way. */
struct call_span {
    struct call_trace *trace; /* NULL: it is not recorded. */
    struct call_context self;
    uint32_t parent_id;
    bool is_server;
    uint64_t start_us; /* Wall clock, */
    uint64_t start_ns; /* and monotonic. */
};

/* Begin the span of a call to be made: @trace_id (0: that of the running
 * fiber's context, or a new one if this call is to be sampled). *@context is
 * to be sent. @t may be NULL. */
void call_span_begin(struct call_span *s,
                     struct call_trace *t,
                     struct world *w,
                     uint64_t trace_id,
                     struct call_context *context);
/* Begin the span of a call to be handled, from @caller; *@context is for the
 * handler's fiber. */
void call_span_serve(struct call_span *s,
                     struct call_trace *t,
                     struct world *w,
                     const struct call_context *caller,
                     struct call_context *context);
/* End it and record it with the outcome @status. @peer is copied. */
void call_span_end(struct call_span *s,
                   uint32_t method,
                   const char *peer,
                   int status);

#endif /* BASE_RPC_CALL_TRACE_H */
