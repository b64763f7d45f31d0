/* The spans that a process keeps, in memory of bounded size, and what it keeps:
 * those of sampled traces, and those of calls that were slow (span.h has the
 * rule). The oldest give way to new ones.
 *
 * A tracer belongs to a world, as a logger does: what runs in the world finds
 * it there. A world without one records nothing; ids of traces travel still.
 *
 * Invariants
 *     INV-1. `bytes` is the sum of the kept spans' bytes, and at most the
 *            bound.
 *
 * Threads: any.
 */
#ifndef BASE_TRACE_TRACER_H
#define BASE_TRACE_TRACER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/slice.h"
#include "base/trace/trace_id.h"

struct buf;
struct metric_set;
struct span_record;
struct tracer;
struct world;

#define TRACE_BYTES_DEFAULT   ((size_t)4 << 20)
#define TRACE_ONE_IN_DEFAULT  1000
#define TRACE_SLOW_US_DEFAULT UINT64_C(1000000)
#define TRACE_SLOW_US_MIN     UINT64_C(100)

struct trace_settings {
    uint64_t one_in;  /* Of the traces that begin here are sampled; 0: none. */
    uint64_t slow_us; /* A call that takes as long is kept; 0: none is. */
};

/* Keep at most @bytes of spans. Owned. */
struct tracer *tracer_new(struct world *w, size_t bytes);
void tracer_free(struct tracer *t); /* NULL is allowed. */

/* The tracer of @w; NULL: none. Borrowed. */
struct tracer *world_tracer(const struct world *w);
/* Make what runs in @w record to @t (borrowed), or nothing when it is NULL.
 * Call it once, before other threads use @w. */
void world_set_tracer(struct world *w, struct tracer *t);

struct world *tracer_world(const struct tracer *t);

/* Name calls to other processes by @name, from a method's number (NULL: it is
 * not known). Call it once, before other threads use @t. */
void tracer_set_names(struct tracer *t, const char *(*name)(uint32_t method));
/* "call": not known. Static. */
const char *tracer_method_name(const struct tracer *t, uint32_t method);

void tracer_set(struct tracer *t, const struct trace_settings *s);
/* Sample this part of the traces that begin here: 0 to 1. */
void tracer_set_ratio(struct tracer *t, double ratio);
struct trace_settings tracer_settings(const struct tracer *t);

/* Kinds of spans with a limit each: those that take as long are kept. The rule
 * is in span.h. */
enum trace_limit {
    TRACE_LIMIT_NONE,   /* None of them is. */
    TRACE_LIMIT_CALL,   /* Where the trace began or came from outside. */
    TRACE_LIMIT_NESTED, /* Calls that are a part of another. */
    TRACE_LIMIT_PART,   /* Collected for a call. */
};

#define TRACE_LIMIT_COUNT 4

/* An id of a trace or a span, random, and not 0, and the limit of such a one:
 * UINT64_MAX: none. */
uint64_t
tracer_draw(const struct tracer *t, enum trace_limit limit, uint64_t *limit_ns);

/* Is the trace @id, which begins here, to be sampled? The id alone decides, so
 * that all who are asked with the same settings say the same. */
bool tracer_samples(const struct tracer *t, struct trace_id id);

/* Keep spans, encoded (span_record.h): @count of them in @bytes. */
void tracer_keep(struct tracer *t, struct slice bytes, unsigned count);
/* Keep a span that was measured otherwise. */
void tracer_record(struct tracer *t, const struct span_record *r);
/* Give each span that is kept, encoded, to @take(@ctx) as well; it must not
 * wait, nor trace. NULL: no longer; nobody is in it then. Any thread. */
typedef void (*tracer_sink)(void *ctx, struct slice span);
void tracer_set_sink(struct tracer *t, tracer_sink take, void *ctx);
/* Spans that were left out of slow calls with very many parts. */
void tracer_count_left_out(struct tracer *t, unsigned count);

struct span_query {
    struct trace_id trace; /* Of this trace; none: of all. */
    uint64_t min_us;       /* That took as long. */
    bool calls;            /* Handled calls alone, without those that wait by
                              their nature. */
};

/* Append the kept spans that match @q, newest first, while they are at most
 * @bytes_max; false: there were more. */
bool tracer_query(struct tracer *t,
                  const struct span_query *q,
                  size_t bytes_max,
                  struct buf *out);

/* Append all kept spans, oldest first, one a line:
 * "trace span<parent kind name peer start duration outcome". */
void tracer_print(struct tracer *t, struct buf *out);

/* Add the metrics "trace_*". */
void tracer_gather(struct tracer *t, struct metric_set *out);

#endif /* BASE_TRACE_TRACER_H */
