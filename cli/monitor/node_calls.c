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

/* That of the questions to the node; NULL: there is none, it is this process.
 */
static struct rpc_channel *known_channel(const struct monitor *m,
                                         const char *address)
{
    for (size_t i = 0; i < m->node_count; i++)
        if (strcmp(m->nodes[i]->address, address) == 0)
            return m->nodes[i]->channel;
    return NULL;
}

static void run_node_call(void *arg)
{
    const struct node_call_run *r = arg;
    const struct rpc_call_options o = {.timeout_us = NODE_CALL_US};
    const struct rpc_channel_options co = {.security =
                                               r->monitor->source.security};
    struct node_call *c = r->call;
    struct rpc_channel *known = known_channel(r->monitor, c->node->address);
    struct rpc_channel *own = NULL;
    if (!known)
        own = rpc_channel_new(c->node->address, &co);
    c->rc = rpc_call(known ? known : own, r->method, &o, c->body, c->attachment,
                     &c->reply, &c->reply_attachment, &c->err);
    rpc_channel_free(own);
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
