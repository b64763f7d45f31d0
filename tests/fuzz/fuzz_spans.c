/* Messages about spans, the history of metrics and heat, as other nodes send
 * them, traceparents of callers and answers of receivers of spans, from hostile
 * bytes: the first byte chooses the reader. A span or message that parses is
 * written and parsed again, to the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/metrics/metric_history.h"
#include "base/otlp/otlp_message.h"
#include "base/otlp/otlp_settings.h"
#include "base/trace/span_record.h"
#include "base/trace/span_tree.h"
#include "base/trace/trace_id.h"
#include "bigtable/wire/heat_calls.h"
#include "cli/history_call.h"
#include "cli/span_calls.h"
#include "tests/lib/fuzz_again.h"

#define SPANS_MAX     200
#define PROCESSES_MAX 7
#define TIMES_MAX     40
#define RANGES_MAX    7

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(const struct span_record *r)
{
    struct buf one = BUF_INIT;
    struct buf two = BUF_INIT;
    struct span_record back;
    struct slice rest;
    span_record_put(r, &one);
    rest = buf_slice(&one);
    if (span_record_get(&rest, &back, NULL) || rest.len)
        abort();
    span_record_put(&back, &two);
    if (!slice_eq(buf_slice(&one), buf_slice(&two)))
        abort();
    buf_close(&one);
    buf_close(&two);
}

/* The spans of a node, as a tree, and as they are exported. */
static void read_spans(struct slice in)
{
    struct tree_span *tree = mem_zalloc(SPANS_MAX, sizeof(*tree));
    struct buf exported = BUF_INIT;
    struct span_record r;
    size_t count = 0;
    while (in.len && count < SPANS_MAX && span_record_get(&in, &r, NULL) == 0) {
        check_again(&r);
        otlp_message_add(&exported, &r);
        tree[count++] = (struct tree_span){
            .id = r.id,
            .parent = r.parent,
            .start_us = (int64_t)r.start_us,
            .duration_us = (int64_t)r.duration_us,
            .process = (unsigned)(r.trace.low % PROCESSES_MAX)};
    }
    span_tree_sort(tree, count, PROCESSES_MAX);
    buf_close(&exported);
    mem_free(tree);
}

static void read_traceparent(struct slice in)
{
    char text[TRACEPARENT_TEXT_BYTES];
    struct traceparent p;
    struct traceparent back;
    if (!traceparent_parse(in, &p))
        return;
    traceparent_print(&p, text);
    if (!traceparent_parse(slice_str(text), &back) ||
        !trace_id_eq(p.trace, back.trace) || p.span_id != back.span_id)
        abort();
}

static void read_query(struct slice in)
{
    struct span_query q;
    struct trace_settings s;
    bool all;
    if (span_query_get(in, &q, NULL) == 0) {
        struct buf again = BUF_INIT;
        span_query_put(&q, &again);
        buf_close(&again);
    }
    (void)!span_answer_get(in, &all, NULL);
    (void)!trace_settings_get(in, &s, NULL);
}

static void read_history_request(struct slice in)
{
    struct history_request r;
    if (history_request_get(in, &r, NULL) == 0) {
        struct buf again = BUF_INIT;
        history_request_put(&r, &again);
        buf_close(&again);
    }
}

/* The answer to a question for ten points of everything. */
static void read_history_reply(struct slice in)
{
    static struct history_points points[HISTORY_COUNT];
    struct history_request r = {.span = {.step_us = 5000000, .count = 10}};
    size_t count = 0;
    if (history_request_want(&r, SLICE_EMPTY, NULL) ||
        history_reply_get(in, &r, points, &count, NULL))
        return;
    if (count > HISTORY_COUNT)
        abort();
    for (size_t i = 0; i < count; i++)
        (void)history_point(&points[i], 9);
}

static void read_heat_values(struct slice in)
{
    static double values[TIMES_MAX * RANGES_MAX];
    size_t times = in.len ? (unsigned char)in.data[0] % (TIMES_MAX + 1) : 0;
    memset(values, 0, sizeof(values));
    (void)!heat_values_add(slice_sub(in, 1, in.len), times, RANGES_MAX, values,
                           NULL);
}

static void read_headers(struct slice in)
{
    struct otlp_settings s = {.url = NULL};
    struct slice why;
    (void)otlp_settings_add_headers(&s, in);
    (void)otlp_message_refused(in, &why);
    otlp_settings_close(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice in;
    if (size == 0)
        return 0;
    in = slice_make(data + 1, size - 1);
    switch (data[0] % 9) {
    case 0: read_spans(in); break;
    case 1: read_traceparent(in); break;
    case 2: read_query(in); break;
    case 3: read_history_request(in); break;
    case 4: read_history_reply(in); break;
    case 5: FUZZ_AGAIN(heat_request, in); break;
    case 6: FUZZ_AGAIN(heat_reply, in); break;
    case 7: read_heat_values(in); break;
    case 8: read_headers(in); break;
    default: break;
    }
    return 0;
}
