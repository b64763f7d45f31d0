/* Spans of all nodes, for the documents `calls` and `trace`.
 *
 * Threads: one loop.
 */
#ifndef CLI_MONITOR_SPANS_H
#define CLI_MONITOR_SPANS_H

#include "base/trace/span_record.h"
#include "base/trace/tracer.h"
#include "cli/monitor/subject.h"

/* Spans of a document, at most. */
#define MONITOR_SPANS_MAX 20000

/* A span, and which process of `nodes` kept it. */
struct found_span {
    struct span_record record; /* In `texts`. */
    unsigned node;             /* Index in `nodes`. */
};

struct found_spans {
    struct monitor_nodes *nodes; /* Referenced. */
    struct buf *texts;           /* One a node. Owned. */
    struct found_span *at;       /* Owned. */
    size_t count;
};

/* Ask all nodes that are up for what matches @q; nodes that cannot be asked are
 * named in the `warnings` of @doc. The caller closes @out in any case. Parks.
 * Errors: those of monitor_nodes_get(). */
MUST_CHECK int monitor_spans_find(struct monitor *m,
                                  const struct span_query *q,
                                  json_t *doc,
                                  struct found_spans *out,
                                  struct err *err);
void found_spans_close(struct found_spans *f);

/* Put kind, name, times, outcome and attributes of @r. @shift_us is added to
 * its beginning. */
void doc_put_span(json_t *object,
                  const struct span_record *r,
                  const struct monitor_node *node,
                  int64_t shift_us);
/* "ok", or the name of the error. */
const char *span_outcome(const struct span_record *r);

#endif /* CLI_MONITOR_SPANS_H */
