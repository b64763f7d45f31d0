/* One call to several nodes at once, each in a fiber of its own: the slowest
 * node sets the time, and its time-out is the bound.
 */
#include <string.h>

#include "base/core/panic.h"
#include "base/rpc/remote.h"
#include "base/rpc/rpc.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "cli/monitor/monitor_private.h"

#define NODE_CALL_US UINT64_C(2000000)

struct node_call_run {
    struct monitor *monitor;
    struct node_call *call;
    uint32_t method;
    struct fiber *fiber;
};

int monitor_call(struct monitor *m,
                 const struct monitor_node *node,
                 const struct monitor_question *q,
                 struct buf *reply,
                 struct buf *reply_attachment,
                 struct err *err)
{
    const struct rpc_call_options o = {.timeout_us = q->timeout_us};
    for (size_t i = 0; i < m->node_count; i++) {
        struct known_node *k = m->nodes[i];
        int rc;
        if (strcmp(k->address, node->address) != 0)
            continue;
        k->call_count++;
        rc = rpc_call(k->channel, q->method, &o, q->body, q->attachment, reply,
                      reply_attachment, err);
        k->call_count--;
        return rc;
    }
    return err_set(err, ERR_UNAVAILABLE, "node %s has left", node->name);
}

static void run_node_call(void *arg)
{
    const struct node_call_run *r = arg;
    struct node_call *c = r->call;
    const struct monitor_question q = {.method = r->method,
                                       .body = c->body,
                                       .attachment = c->attachment,
                                       .timeout_us = NODE_CALL_US};
    c->rc = monitor_call(r->monitor, c->node, &q, &c->reply,
                         &c->reply_attachment, &c->err);
}

void node_calls_make(struct monitor *m,
                     const struct monitor_nodes *n,
                     uint32_t method,
                     struct slice body,
                     struct slice attachment,
                     struct node_calls *out)
{
    struct node_call_run *runs = mem_zalloc(n->count + 1, sizeof(*runs));
    out->at = mem_zalloc(n->count + 1, sizeof(*out->at));
    out->count = 0;
    for (size_t i = 0; i < n->count; i++) {
        struct node_call *c = &out->at[out->count];
        if (n->at[i].state != NODE_UP)
            continue;
        c->node = &n->at[i];
        c->body = body;
        c->attachment = attachment;
        runs[out->count++] = (struct node_call_run){m, c, method, NULL};
    }
    for (size_t i = 0; i < out->count; i++)
        runs[i].fiber =
            fiber_start(loop_self(), "monitor call", run_node_call, &runs[i]);
    for (size_t i = 0; i < out->count; i++)
        fiber_join(runs[i].fiber);
    mem_free(runs);
}

void node_calls_close(struct node_calls *c)
{
    for (size_t i = 0; i < c->count; i++) {
        buf_close(&c->at[i].reply);
        buf_close(&c->at[i].reply_attachment);
    }
    mem_free(c->at);
    *c = (struct node_calls){.at = NULL};
}
