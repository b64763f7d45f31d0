/* Methods whose request is a stream, of which each message is answered as it
 * comes: on the session, without a fiber, since answering parks nowhere. */
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/gateway/grpc_connection.h"

/* Of one message, and of answers that nobody takes. */
#define MESSAGE_BYTES_MAX ((size_t)64 << 10)
#define UNSENT_BYTES_MAX  ((size_t)256 << 10)

static int check_prefix(const struct grpc_call *call, struct err *err)
{
    size_t size = get_be32(call->prefix + 1);
    if (call->prefix[0] != 0)
        return err_set(err, ERR_UNSUPPORTED, "compressed messages here");
    if (size > MESSAGE_BYTES_MAX)
        return err_set(err, ERR_EXHAUSTED,
                       "the message has %zu bytes, more than %zu", size,
                       MESSAGE_BYTES_MAX);
    if (grpc_call_unsent(call) > UNSENT_BYTES_MAX)
        return err_set(err, ERR_EXHAUSTED, "answers that are not read");
    return 0;
}

static int queue_answer(struct grpc_call *call, struct err *err)
{
    struct buf *b = grpc_scratch(call);
    const struct grpc_options *o = &call->server->options;
    int rc = o->each(o->ctx, grpc_request(call), b, err);
    if (rc)
        return rc;
    put_be32(b->data + 1, (uint32_t)(b->len - GRPC_PREFIX_BYTES));
    if (!grpc_budget_charge(call->budget, b->len))
        return err_set(err, ERR_EXHAUSTED, "too many bytes in flight");
    buf_append_slice(&call->out, buf_slice(b));
    grpc_connection_resume(call);
    return 0;
}

/* The bytes that the prefix under way lacks, or behind it the message. */
static size_t grpc_each_missing(const struct grpc_call *call)
{
    return call->prefix_len < GRPC_PREFIX_BYTES
               ? GRPC_PREFIX_BYTES - call->prefix_len
               : call->message_size - call->message_len;
}

int grpc_each_take(struct grpc_call *call, struct slice bytes, struct err *err)
{
    int rc = 0;
    while (rc == 0 && bytes.len > 0) {
        size_t n = MIN_OF(bytes.len, grpc_each_missing(call));
        rc = grpc_call_take(call, slice_sub(bytes, 0, n), err);
        bytes = slice_sub(bytes, n, bytes.len);
        if (rc || call->prefix_len < GRPC_PREFIX_BYTES)
            continue;
        if (call->message_len == 0)
            rc = check_prefix(call, err);
        if (rc == 0 && call->message_len == call->message_size) {
            rc = queue_answer(call, err);
            call->prefix_len = call->message_len = 0;
        }
    }
    return rc;
}

void grpc_each_end(struct grpc_call *call, int rc, struct err *err)
{
    if (rc == 0 && call->prefix_len > 0)
        rc = err_set(err, ERR_INVALID, "the request ended before its message");
    call->refused = true; /* Later bytes are thrown away. */
    grpc_call_set_status(call, rc, err);
    grpc_meter_call(call);
    call->finished = true;
    if (call->responded)
        grpc_connection_resume(call);
    else
        grpc_reply_status(call);
    grpc_connection_kick(call->connection);
}
