/* Gathering spans of all nodes: each is asked on a fiber of its own, all at
 * once. The messages are of bounded size, and spans in them are not
 * trusted.
 */
#include "cli/monitor/spans.h"

#include "base/core/hex.h"
#include "base/core/panic.h"
#include "base/rpc/remote.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "cli/server_host.h"
#include "cli/span_calls.h"

#define ASK_US UINT64_C(2000000)

/* The question to one node. */
struct span_question {
    struct monitor *monitor;
    const struct monitor_node *node;
    const struct span_query *query;
    struct fiber *fiber;
    struct buf *spans;
    bool all;
    struct err err;
    int rc;
};

static void ask_node(void *arg)
{
    struct span_question *k = arg;
    const struct monitor_source *s = monitor_source_of(k->monitor);
    const struct rpc_channel_options o = {.security = s->security};
    const struct rpc_call_options call = {.timeout_us = ASK_US};
    struct rpc_channel *c = rpc_channel_new(k->node->address, &o);
    struct buf request = BUF_INIT;
    struct buf reply = BUF_INIT;
    span_query_put(k->query, &request);
    k->rc = rpc_call(c, SERVER_SPANS, &call, buf_slice(&request), SLICE_EMPTY,
                     &reply, k->spans, &k->err);
    if (k->rc == 0)
        k->rc = span_answer_get(buf_slice(&reply), &k->all, &k->err);
    rpc_channel_free(c);
    buf_close(&request);
    buf_close(&reply);
}

/* The process that makes the document has its spans at hand. */
static bool ask_here(struct span_question *k)
{
    const struct monitor_source *s = monitor_source_of(k->monitor);
    struct tracer *t = world_tracer(s->world);
    if (!t || !s->own_address ||
        !slice_eq_str(slice_str(s->own_address), k->node->address))
        return false;
    k->all = tracer_query(t, k->query, SPAN_ANSWER_BYTES_MAX, k->spans);
    return true;
}

static void take_spans(struct found_spans *f, unsigned node, json_t *doc)
{
    struct slice rest = buf_slice(&f->texts[node]);
    while (rest.len && f->count < MONITOR_SPANS_MAX) {
        struct found_span *s = &f->at[f->count];
        struct err err = ERR_INIT;
        if (span_record_get(&rest, &s->record, &err)) {
            doc_warn(doc, "%s: %s", f->nodes->at[node].name, err.text);
            return;
        }
        s->node = node;
        f->count++;
    }
    if (rest.len)
        doc_warn(doc, "there are more than %d spans: not all are shown",
                 MONITOR_SPANS_MAX);
}

static void ask_all(struct monitor *m,
                    const struct span_query *q,
                    struct found_spans *f,
                    struct span_question *all)
{
    for (size_t i = 0; i < f->nodes->count; i++) {
        struct span_question *k = &all[i];
        *k = (struct span_question){.monitor = m,
                                    .node = &f->nodes->at[i],
                                    .query = q,
                                    .spans = &f->texts[i],
                                    .all = true,
                                    .err = ERR_INIT};
        if (k->node->state == NODE_UP && !ask_here(k))
            k->fiber = fiber_start(loop_self(), "monitor", ask_node, k);
    }
    for (size_t i = 0; i < f->nodes->count; i++)
        if (all[i].fiber)
            fiber_join(all[i].fiber);
}

int monitor_spans_find(struct monitor *m,
                       const struct span_query *q,
                       json_t *doc,
                       struct found_spans *out,
                       struct err *err)
{
    struct span_question *all;
    int rc;
    *out = (struct found_spans){.count = 0};
    rc = monitor_nodes_get(m, &out->nodes, err);
    if (rc)
        return rc;
    monitor_nodes_warn(out->nodes, doc);
    out->texts = mem_zalloc(out->nodes->count + 1, sizeof(*out->texts));
    out->at = mem_zalloc(MONITOR_SPANS_MAX, sizeof(*out->at));
    all = mem_zalloc(out->nodes->count + 1, sizeof(*all));
    ask_all(m, q, out, all);
    for (size_t i = 0; i < out->nodes->count; i++) {
        if (all[i].rc)
            doc_warn(doc, "%s: its spans are missing: %s",
                     out->nodes->at[i].name, all[i].err.text);
        else if (!all[i].all)
            doc_warn(doc,
                     "%s keeps more spans than it sends: the oldest are "
                     "missing",
                     out->nodes->at[i].name);
        if (all[i].rc == 0)
            take_spans(out, (unsigned)i, doc);
    }
    mem_free(all);
    return 0;
}

void found_spans_close(struct found_spans *f)
{
    for (size_t i = 0; f->nodes && f->texts && i < f->nodes->count; i++)
        buf_close(&f->texts[i]);
    monitor_nodes_unref(f->nodes);
    mem_free(f->texts);
    mem_free(f->at);
}

/* --- a span as JSON ------------------------------------------------------ */

const char *span_outcome(const struct span_record *r)
{
    return r->status ? err_name(r->status) : "ok";
}

static void put_attributes(json_t *object, const struct span_record *r)
{
    for (unsigned i = 0; i < r->attribute_count; i++) {
        const struct span_attribute *a = &r->attributes[i];
        struct buf key = BUF_INIT;
        for (unsigned k = 0; k < a->key_bytes; k++)
            buf_append_byte(
                &key, a->key[k] > ' ' && a->key[k] < 0x7f ? a->key[k] : '?');
        if (a->is_text)
            doc_put_text(object, buf_cstr(&key), a->text);
        else
            doc_put_i64(object, buf_cstr(&key), a->number);
        buf_close(&key);
    }
}

void doc_put_span(json_t *object,
                  const struct span_record *r,
                  const struct monitor_node *node,
                  int64_t shift_us)
{
    doc_put_str(object, "kind", span_kind_name(r->kind));
    doc_put_text(object, "name", r->name);
    doc_put_str(object, "node", node->name);
    doc_put_text(object, "peer", r->peer);
    doc_put_i64(object, "begun_at_us", (int64_t)r->start_us + shift_us);
    doc_put_u64(object, "duration_us", r->duration_us);
    doc_put_str(object, "outcome", span_outcome(r));
    doc_put_str(object, "kept", r->flags & SPAN_SAMPLED ? "sampled" : "slow");
    put_attributes(doc_put_object(object, "attributes"), r);
}
