/* The document `calls`: the slow log of all nodes, the longest call first.
 */
#include <stdlib.h>

#include "base/core/panic.h"
#include "cli/monitor/spans.h"

#define CALLS_LIMIT 200

struct calls_filter {
    const char *method; /* NULL: all; else a part of the name. */
    const char *node;   /* NULL: all. */
};

static bool is_shown(const struct found_spans *f,
                     const struct found_span *s,
                     const struct calls_filter *by)
{
    const struct monitor_node *n = &f->nodes->at[s->node];
    struct buf name = BUF_INIT;
    bool shown = !by->node || slice_eq_str(slice_str(n->name), by->node) ||
                 slice_eq_str(slice_str(n->address), by->node);
    buf_append_slice(&name, s->record.name);
    shown = shown && (!by->method || strstr(buf_cstr(&name), by->method));
    buf_close(&name);
    return shown;
}

static int compare_durations(const void *a, const void *b)
{
    const struct found_span *x = a;
    const struct found_span *y = b;
    return (x->record.duration_us < y->record.duration_us) -
           (x->record.duration_us > y->record.duration_us);
}

static void put_call(json_t *call, const struct found_spans *f, size_t i)
{
    const struct found_span *s = &f->at[i];
    char id[TRACE_ID_TEXT_BYTES];
    trace_id_print(s->record.trace, id);
    doc_put_str(call, "trace_id", id);
    doc_put_str(call, "request_id", id);
    doc_put_span(call, &s->record, &f->nodes->at[s->node], 0);
    doc_put_text(call, "method", s->record.name);
    json_object_del(call, "name");
    json_object_del(call, "kind");
}

int subject_calls(struct monitor *m,
                  const struct monitor_param *params,
                  size_t count,
                  json_t *doc,
                  struct err *err)
{
    struct calls_filter by = {monitor_param_value(params, count, "method"),
                              monitor_param_value(params, count, "node")};
    struct span_query q = {.calls = true};
    struct found_spans f;
    json_t *rows;
    size_t limit;
    int rc = monitor_param_limit(params, count, CALLS_LIMIT, &limit, err);
    if (rc == 0)
        rc = monitor_param_number(params, count, "min_us", 0, SPAN_TIME_US_MAX,
                                  &q.min_us, err);
    if (rc)
        return rc;
    rc = monitor_spans_find(m, &q, doc, &f, err);
    if (rc == 0) {
        rows = doc_put_array(doc, "slow");
        qsort(f.at, f.count, sizeof(*f.at), compare_durations);
        for (size_t i = 0; i < f.count && json_array_size(rows) < limit; i++)
            if (is_shown(&f, &f.at[i], &by))
                put_call(doc_append_object(rows), &f, i);
    }
    found_spans_close(&f);
    return rc;
}
