/* Headers, frames and trailers of replies. Messages wait in the call's buffer
 * until the session asks for the bytes of a frame.
 */
#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/gateway/grpc_connection.h"
#include "bigtable/gateway/grpc_status.h"
#include "bigtable/quarry_access.h"

/* @name is a literal; nghttp2 copies the value. Its type lacks the const. */
static nghttp2_nv grpc_reply_header(const char *name, struct slice value)
{
    return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name,
                        .namelen = strlen(name),
                        .value = (uint8_t *)(uintptr_t)value.data,
                        .valuelen = value.len,
                        .flags = NGHTTP2_NV_FLAG_NO_COPY_NAME};
}

/* Both are literals. */
static nghttp2_nv fixed_header(const char *name, const char *value)
{
    PRE(value);
    nghttp2_nv nv = grpc_reply_header(name, slice_str(value));
    nv.flags |= NGHTTP2_NV_FLAG_NO_COPY_VALUE;
    return nv;
}

#define TIMING_BYTES 40

/* How long the call has been here, in milliseconds: clients of the API show the
 * rest of their own time as the network's. It is rounded up, because some of
 * them take 0 for "not known". nghttp2 copies the value. */
static nghttp2_nv timing_header(const struct grpc_call *call,
                                char text[TIMING_BYTES])
{
    uint64_t ns = world_mono_ns(call->server->world) - call->begun_ns;
    int n = snprintf(text, TIMING_BYTES, "gfet4t7; dur=%llu",
                     (unsigned long long)(ns / 1000000 + 1));
    return grpc_reply_header("server-timing", slice_make(text, (size_t)n));
}

/* The caller gave a traceparent: which span of ours answers it, as W3C's Trace
 * Context, level 2, has it. nghttp2 copies the value. */
static nghttp2_nv trace_header(const struct grpc_call *call,
                               char text[TRACEPARENT_TEXT_BYTES])
{
    PRE(call->has_trace);
    traceparent_print(&call->trace, text);
    return grpc_reply_header("traceresponse", slice_str(text));
}

#define PARAMS_HEADER "x-goog-ext-425905942-bin"

/* Where the reply comes from, which clients read in headers or in trailers.
 * A reply of GRPC_NOT_FOUND comes from nowhere: clients count such calls as
 * global. Adds to @nv, and returns how many: one at most. */
static size_t params_header(const struct grpc_call *call, nghttp2_nv *nv)
{
    if (*call->params == '\0' || call->code == GRPC_NOT_FOUND)
        return 0;
    *nv = grpc_reply_header(PARAMS_HEADER, slice_str(call->params));
    return 1;
}

/* grpc-status, grpc-message and the details: what the handler set, or, for who
 * should come again, when. */
#define STATUS_HEADERS_MAX 3

struct status_texts {
    struct buf message;
    struct buf details;
};

static void status_texts_close(struct status_texts *t)
{
    buf_close(&t->message);
    buf_close(&t->details);
}

/* Fills @nv, and returns how many; @t holds their values, zeroed before. */
static size_t status_headers(const struct grpc_call *call,
                             nghttp2_nv nv[STATUS_HEADERS_MAX],
                             struct status_texts *t)
{
    static const char *const codes[] = {"0",  "1",  "2",  "3",  "4",  "5",
                                        "6",  "7",  "8",  "9",  "10", "11",
                                        "12", "13", "14", "15", "16"};
    INVARIANT((size_t)call->code < ARRAY_LEN(codes));
    nv[0] = fixed_header("grpc-status", codes[call->code]);
    if (call->text.len == 0)
        return 1;
    grpc_put_message(&t->message, buf_slice(&call->text));
    nv[1] = grpc_reply_header("grpc-message", buf_slice(&t->message));
    if (call->detail.len)
        grpc_put_details(&t->details, call->code, buf_slice(&call->text),
                         buf_slice(&call->detail));
    else if (call->code == GRPC_RESOURCE_EXHAUSTED && call->retry_us)
        grpc_put_retry(&t->details, call->code, buf_slice(&call->text),
                       call->retry_us);
    if (t->details.len == 0)
        return 2;
    nv[2] =
        grpc_reply_header("grpc-status-details-bin", buf_slice(&t->details));
    return 3;
}

/* The status behind the last message. Returns 0 or nghttp2's error. */
static int submit_trailers(struct grpc_call *call)
{
    nghttp2_nv nv[STATUS_HEADERS_MAX + 1];
    struct status_texts texts = {BUF_INIT, BUF_INIT};
    size_t count = status_headers(call, nv, &texts);
    int rc;
    count += params_header(call, nv + count);
    rc = nghttp2_submit_trailer(call->connection->session, call->stream, nv,
                                count);
    status_texts_close(&texts);
    return rc;
}

/* How much of the reply goes into the next frame. */
static ssize_t on_read_reply(nghttp2_session *session,
                             int32_t stream,
                             uint8_t *to,
                             size_t len,
                             uint32_t *flags,
                             nghttp2_data_source *source,
                             void *user)
{
    struct grpc_call *call = source->ptr;
    size_t count = MIN_OF(grpc_call_unsent(call), len);
    (void)session;
    (void)stream;
    (void)to;
    (void)user;
    PRE(call->holders & GRPC_HOLDER_SESSION);
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (call->abandoned) {
        call->deferred = true; /* INV-5: a cut reply has no good end. */
        return NGHTTP2_ERR_DEFERRED;
    }
    if (call->plain && count == grpc_call_unsent(call)) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    } else if (call->finished && count == grpc_call_unsent(call)) {
        *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
        if (submit_trailers(call))
            return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    } else if (count == 0) {
        call->deferred = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    return (ssize_t)count;
}

/* Put a frame of the reply into what will be written. */
int grpc_reply_put_frame(nghttp2_session *session,
                         nghttp2_frame *frame,
                         const uint8_t *head,
                         size_t len,
                         nghttp2_data_source *source,
                         void *user)
{
    struct grpc_connection *c = user;
    struct grpc_call *call = source->ptr;
    (void)session;
    (void)frame;
    PRE(call->holders & GRPC_HOLDER_SESSION);
    if (c->out.len >= GRPC_WRITE_BYTES)
        return NGHTTP2_ERR_WOULDBLOCK;
    buf_append(&c->out, head, 9);
    if (len) {
        buf_append(&c->out, call->out.data + call->out_sent, len);
        grpc_call_sent(call, len);
    }
    return 0;
}

/* A response that cannot be submitted for lack of memory ends the connection.
 */
static void submit_response(struct grpc_call *call,
                            const nghttp2_nv *nv,
                            size_t count,
                            const nghttp2_data_provider *source)
{
    struct grpc_connection *c = call->connection;
    PRE(call->holders & GRPC_HOLDER_SESSION);
    if (nghttp2_submit_response(c->session, call->stream, nv, count, source))
        grpc_connection_cancel(c);
}

static void begin_replying(struct grpc_call *call)
{
    PRE(!call->responded);
    call->responded = true;
    call->replying = true;
    call->progress_ns = world_mono_ns(call->server->world);
    call->connection->replying_count++;
}

/* The first headers of a reply with messages. */
void grpc_reply_begin(struct grpc_call *call)
{
    nghttp2_data_provider source = {.source = {.ptr = call},
                                    .read_callback = on_read_reply};
    char timing[TIMING_BYTES];
    char trace[TRACEPARENT_TEXT_BYTES];
    size_t count = 3;
    nghttp2_nv nv[6] = {
        fixed_header(":status", "200"),
        fixed_header("content-type", GRPC_CONTENT_TYPE),
        timing_header(call, timing),
    };
    if (call->gzip)
        nv[count++] = fixed_header("grpc-encoding", "gzip");
    if (call->has_trace)
        nv[count++] = trace_header(call, trace);
    count += params_header(call, nv + count);
    begin_replying(call);
    submit_response(call, nv, count, &source);
}

/* A reply that is its status alone. */
void grpc_reply_status(struct grpc_call *call)
{
    char timing[TIMING_BYTES];
    char trace[TRACEPARENT_TEXT_BYTES];
    nghttp2_nv nv[6 + STATUS_HEADERS_MAX] = {
        fixed_header(":status", "200"),
        fixed_header("content-type", GRPC_CONTENT_TYPE),
        fixed_header("grpc-accept-encoding", "identity,gzip"),
        timing_header(call, timing),
    };
    struct status_texts texts = {BUF_INIT, BUF_INIT};
    size_t count = 4;
    if (call->has_trace)
        nv[count++] = trace_header(call, trace);
    count += params_header(call, nv + count);
    count += status_headers(call, nv + count, &texts);
    call->responded = true;
    submit_response(call, nv, count, NULL);
    status_texts_close(&texts);
}

/* For a peer that does not speak gRPC. */
void grpc_reply_http_error(struct grpc_call *call, const char *status)
{
    const struct slice text = SLICE_LIT("This server speaks gRPC.\n");
    nghttp2_data_provider source = {.source = {.ptr = call},
                                    .read_callback = on_read_reply};
    nghttp2_nv nv[2] = {fixed_header(":status", status),
                        fixed_header("content-type", "text/plain")};
    call->plain = call->finished = true;
    if (grpc_budget_charge(call->budget, text.len))
        buf_append_slice(&call->out, text);
    begin_replying(call);
    submit_response(call, nv, 2, &source);
}
