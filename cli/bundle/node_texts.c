/* The texts that a node gives about itself (settings, metrics, calls, peers),
 * one call of a server method for each. */
#include "cli/bundle/node_texts.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/rpc/codec.h"
#include "base/rpc/remote.h"
#include "base/rpc/rpc.h"
#include "cli/log_tail.h"
#include "cli/server_host.h"

#define TEXT_US UINT64_C(5000000)

static const struct {
    const char *name;
    enum server_method method;
} texts[] = {
    {"status", SERVER_STATUS}, {"metrics", SERVER_METRICS},
    {"fibers", SERVER_FIBERS}, {"peers", SERVER_PEERS},
    {"calls", SERVER_CALLS},   {"log", SERVER_LOG_TAIL},
};

const char *node_text_name(size_t index)
{
    return index < ARRAY_LEN(texts) ? texts[index].name : NULL;
}

struct rpc_channel *node_text_channel(const char *address,
                                      const struct rpc_security *security)
{
    const struct rpc_channel_options o = {.security = security};
    return rpc_channel_new(address, &o);
}

static enum server_method method_of(const char *name)
{
    size_t i = 0;
    while (i + 1 < ARRAY_LEN(texts) && strcmp(texts[i].name, name) != 0)
        i++;
    PRE(strcmp(texts[i].name, name) == 0);
    return texts[i].method;
}

int node_text_ask(struct rpc_channel *c,
                  const char *name,
                  struct buf *out,
                  struct err *err)
{
    const struct rpc_call_options o = {.timeout_us = TEXT_US};
    enum server_method method = method_of(name);
    struct codec_reader r;
    struct buf request = BUF_INIT;
    struct buf reply = BUF_INIT;
    int rc;
    if (method == SERVER_LOG_TAIL)
        log_tail_query_put(LOG_TAIL_BYTES_MAX, &request);
    rc = rpc_call(c, method, &o, buf_slice(&request), SLICE_EMPTY, &reply, NULL,
                  err);
    if (rc == 0) {
        r = codec_reader_make(buf_slice(&reply));
        if (codec_get_array(&r) >= 1)
            buf_append_slice(out, codec_get_bytes(&r));
        if (r.bad)
            rc = err_set(err, ERR_CORRUPT, "malformed answer");
    }
    buf_close(&request);
    buf_close(&reply);
    return rc;
}
