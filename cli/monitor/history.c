/* The document `history`: the series that nodes remember, of one of them, of
 * each, or of all as one. The points that are asked for are the same for every
 * node, so that they can be put together.
 *
 * The newest slot is being sampled while it is asked for: a node that has not
 * sampled it yet counts with its point before, so that the end of a curve of
 * all nodes does not dip.
 */
#include <math.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "cli/history_call.h"
#include "cli/monitor/subject.h"

#define US_PER_S UINT64_C(1000000)
/* The document's points, at most: 24 MB of JSON. */
#define HISTORY_DOC_POINTS_MAX 400000U
#define HISTORY_DEFAULT_S      3600

struct history_question {
    struct history_request request;
    size_t series;    /* Wanted. */
    const char *node; /* NULL: all as one; "*": each. */
};

/* --- parameters ---------------------------------------------------------- */

static int read_span(const struct monitor_param *params,
                     size_t count,
                     uint64_t now_us,
                     size_t points_max,
                     struct history_span *out,
                     struct err *err)
{
    uint64_t from_us = now_us - HISTORY_DEFAULT_S * US_PER_S;
    uint64_t to_us = now_us;
    uint64_t step_s = 0;
    int rc = monitor_param_time(params, count, "from", now_us, &from_us, err);
    if (rc == 0)
        rc = monitor_param_time(params, count, "to", now_us, &to_us, err);
    if (rc == 0)
        rc =
            monitor_param_number(params, count, "step", 1, 86400, &step_s, err);
    if (rc)
        return rc;
    if (from_us > to_us)
        return err_set(err, ERR_INVALID, "parameter from is later than to");
    *out = history_span_make(from_us, to_us, step_s * US_PER_S, now_us,
                             points_max);
    return 0;
}

static int read_question(const struct monitor_param *params,
                         size_t count,
                         uint64_t now_us,
                         size_t node_count,
                         struct history_question *q,
                         struct err *err)
{
    const char *series = monitor_param_value(params, count, "series");
    size_t lines, points;
    int rc =
        history_request_want(&q->request, slice_str(series ? series : ""), err);
    if (rc)
        return ERR_INVALID;
    q->node = monitor_param_value(params, count, "node");
    if (q->node && !*q->node)
        q->node = NULL;
    q->series = 0;
    for (int i = 0; i < HISTORY_COUNT; i++)
        q->series += q->request.wanted[i];
    lines = q->series * MAX_OF(node_count, (size_t)1);
    points = MIN_OF(HISTORY_DOC_POINTS_MAX / lines, (size_t)HISTORY_POINTS_MAX);
    return read_span(params, count, now_us, MAX_OF(points, (size_t)2),
                     &q->request.span, err);
}

/* --- series -------------------------------------------------------------- */

/* The points of one node; NAN: gaps. @last: they go to the newest slot. */
static void
series_points(const struct history_points *p, size_t count, double *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (double)history_point(p, i);
    if (count >= 2 && isnan(out[count - 1]))
        out[count - 1] = out[count - 2];
}

static void
add_points(enum history_across across, size_t count, double *sum, double *more)
{
    for (size_t i = 0; i < count; i++) {
        if (isnan(more[i]))
            continue;
        if (isnan(sum[i]))
            sum[i] = more[i];
        else if (across == HISTORY_SUM)
            sum[i] += more[i];
        else if (fabs(more[i]) > fabs(sum[i]))
            sum[i] = more[i];
    }
}

static void put_point(json_t *points, uint64_t at_us, double value)
{
    json_t *pair = json_array();
    bool failed = json_array_append_new(pair, json_integer((json_int_t)at_us));
    value = round(value * 1000) / 1000;
    if (isnan(value))
        failed |= json_array_append_new(pair, json_null());
    else if (fabs(value) < 1e15 && !(fabs(value - trunc(value)) > 0))
        failed |= json_array_append_new(pair, json_integer((json_int_t)value));
    else
        failed |= json_array_append_new(pair, json_real(value));
    failed |= json_array_append_new(points, pair);
    if (failed)
        PANIC("a document has no memory for a point");
}

static void put_series(json_t *list,
                       enum history_id id,
                       const char *node,
                       const struct history_span *span,
                       const double *values)
{
    const struct history_info *info = history_info(id);
    json_t *s = doc_append_object(list);
    json_t *points;
    doc_put_str(s, "name", info->name);
    doc_put_str(s, "unit", info->unit);
    if (node)
        doc_put_str(s, "node", node);
    else
        doc_put_str(s, "across", info->across == HISTORY_SUM ? "sum" : "worst");
    points = doc_put_array(s, "points");
    for (size_t i = 0; i < span->count; i++)
        put_point(points, span->from_us + i * span->step_us, values[i]);
}

/* --- the document -------------------------------------------------------- */

/* The sums of all nodes, while their answers are read. */
struct history_sums {
    double *at[HISTORY_COUNT]; /* Owned; NULL: nobody has it. */
};

static void add_series(struct history_sums *sums,
                       enum history_id id,
                       size_t count,
                       double *values)
{
    double *to = sums->at[id];
    if (!to) {
        to = sums->at[id] = mem_alloc(count * sizeof(*to));
        for (size_t i = 0; i < count; i++)
            to[i] = (double)NAN;
    }
    add_points(history_info(id)->across, count, to, values);
}

static void put_sums(struct history_sums *sums,
                     const struct history_span *span,
                     json_t *list)
{
    for (int i = 0; i < HISTORY_COUNT; i++) {
        if (sums->at[i])
            put_series(list, (enum history_id)i, NULL, span, sums->at[i]);
        mem_free(sums->at[i]);
    }
}

static int put_answer(const struct history_question *q,
                      const struct node_call *c,
                      struct history_sums *sums,
                      json_t *list,
                      struct err *err)
{
    const struct history_span *span = &q->request.span;
    struct history_points series[HISTORY_COUNT];
    double *values;
    size_t count;
    int rc = history_reply_get(buf_slice(&c->reply), &q->request, series,
                               &count, err);
    if (rc)
        return rc;
    values = mem_alloc(span->count * sizeof(*values));
    for (size_t i = 0; i < count; i++) {
        series_points(&series[i], span->count, values);
        if (q->node)
            put_series(list, series[i].id, c->node->name, span, values);
        else
            add_series(sums, series[i].id, span->count, values);
    }
    mem_free(values);
    return 0;
}

static void put_answers(const struct history_question *q,
                        const struct node_calls *calls,
                        json_t *doc)
{
    struct history_sums sums = {.at = {NULL}};
    json_t *list;
    doc_put_u64(doc, "step_us", q->request.span.step_us);
    doc_put_u64(doc, "from_us", q->request.span.from_us);
    list = doc_put_array(doc, "series");
    for (size_t i = 0; i < calls->count; i++) {
        const struct node_call *c = &calls->at[i];
        struct err err = ERR_INIT;
        int rc = c->rc ? err_copy(&err, &c->err)
                       : put_answer(q, c, &sums, list, &err);
        if (rc)
            doc_warn(doc, "node %s: its history could not be read: %s",
                     c->node->name, err.text);
    }
    put_sums(&sums, &q->request.span, list);
}

/* Ask only the node of the question. ERR_NOTFOUND, ERR_UNAVAILABLE. */
static int choose_nodes(const struct history_question *q,
                        const struct monitor_nodes *all,
                        struct monitor_nodes *out,
                        struct err *err)
{
    const struct monitor_node *n;
    *out = *all;
    if (!q->node || strcmp(q->node, "*") == 0)
        return 0;
    n = monitor_nodes_find(all, slice_str(q->node));
    if (!n)
        return err_set(err, ERR_NOTFOUND, "there is no node %s", q->node);
    if (n->state != NODE_UP)
        return err_set(err, ERR_UNAVAILABLE,
                       "node %s does not answer, and its history is in its "
                       "memory: %s",
                       n->name, n->why);
    out->at = all->at + (n - all->at);
    out->count = 1;
    return 0;
}

int subject_history(struct monitor *m,
                    const struct monitor_param *params,
                    size_t count,
                    json_t *doc,
                    struct err *err)
{
    const char *node = monitor_param_value(params, count, "node");
    bool each = node && strcmp(node, "*") == 0;
    struct history_question q = {.series = 0};
    struct monitor_nodes *all, chosen;
    struct buf body = BUF_INIT;
    int rc = monitor_nodes_get(m, &all, err);
    if (rc)
        return rc;
    rc = read_question(params, count, world_now_us(monitor_source_of(m)->world),
                       each ? all->count : 1, &q, err);
    if (rc == 0)
        rc = choose_nodes(&q, all, &chosen, err);
    if (rc == 0) {
        struct node_calls calls;
        monitor_nodes_warn(&chosen, doc);
        history_request_put(&q.request, &body);
        node_calls_make(m, &chosen, SERVER_HISTORY, buf_slice(&body),
                        SLICE_EMPTY, &calls);
        put_answers(&q, &calls, doc);
        node_calls_close(&calls);
    }
    buf_close(&body);
    monitor_nodes_unref(all);
    return rc;
}
