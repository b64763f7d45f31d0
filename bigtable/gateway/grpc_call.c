/* A call's request as it comes in, and its reply as it waits to go out. Both
 * are charged to the budget of the connection before memory is taken.
 */
#include "bigtable/gateway/grpc_call.h"

#include <stdio.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/runtime/busy_poll.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "bigtable/gateway/grpc_status.h"
#include "bigtable/gateway/gzip.h"

/* A message is given room for so much at first, whatever its length is said to
 * be: who claims much must send much. */
#define FIRST_ROOM_BYTES ((size_t)64 << 10)
/* Calls kept for reuse, with buffers up to this. None where the allocator is to
 * notice what is used after it was released. */
#if BUILT_WITH_ASAN
#define SPARE_CALLS_MAX 0
#else
#define SPARE_CALLS_MAX 256
#endif
#define SPARE_BYTES_MAX ((size_t)256 << 10)
/* A handler waits while more than this waits for its client. */
#define UNSENT_BYTES_MAX ((size_t)256 << 10)

/* --- life ---------------------------------------------------------------- */

struct grpc_call *grpc_call_new(struct grpc_server *server,
                                struct grpc_connection *connection)
{
    struct grpc_call *call = server->spare;
    if (++server->call_count == GRPC_BUSY_CALLS)
        busy_poll_pause();
    if (call) {
        server->spare = call->next;
        server->spare_count--;
        call->next = NULL;
    } else {
        call = mem_zalloc(1, sizeof(*call));
    }
    INVARIANT(call->holders == 0 && call->charged == 0); /* INV-4 */
    call->server = server;
    call->connection = connection;
    call->budget = grpc_connection_budget(connection);
    return call;
}

static void keep_or_close(struct buf *b)
{
    if (b->cap > SPARE_BYTES_MAX)
        buf_close(b);
    buf_clear(b);
}

static void grpc_call_free_memory(struct grpc_call *call)
{
    mem_free(call->message);
    buf_close(&call->scratch);
    buf_close(&call->out);
    buf_close(&call->text);
    buf_close(&call->detail);
    buf_close(&call->authorization);
    mem_free(call);
}

/* Everything but its memory is as new. */
static void grpc_call_reset(struct grpc_call *call)
{
    struct grpc_call clean = {.message = call->message,
                              .message_cap = call->message_cap,
                              .scratch = call->scratch,
                              .out = call->out,
                              .text = call->text,
                              .detail = call->detail,
                              .authorization = call->authorization};
    if (clean.message_cap > SPARE_BYTES_MAX) {
        mem_free(clean.message);
        clean.message = NULL;
        clean.message_cap = 0;
    }
    keep_or_close(&clean.scratch);
    keep_or_close(&clean.out);
    keep_or_close(&clean.text);
    keep_or_close(&clean.detail);
    keep_or_close(&clean.authorization);
    *call = clean;
}

void grpc_call_free(struct grpc_call *call)
{
    struct grpc_server *server = call->server;
    PRE(call->holders == 0 && !call->fiber);
    grpc_budget_refund(call->budget, call->charged + grpc_call_unsent(call));
    if (server->call_count-- == GRPC_BUSY_CALLS)
        busy_poll_resume();
    grpc_call_reset(call);
    if (server->spare_count + 1 > SPARE_CALLS_MAX) {
        grpc_call_free_memory(call);
        return;
    }
    call->next = server->spare;
    server->spare = call;
    server->spare_count++;
}

void grpc_call_hold(struct grpc_call *call, enum grpc_holder holder)
{
    PRE(!(call->holders & holder));
    call->holders |= holder;
}

void grpc_call_free_spares(struct grpc_server *server)
{
    while (server->spare) {
        struct grpc_call *call = server->spare;
        server->spare = call->next;
        grpc_call_free_memory(call);
    }
    server->spare_count = 0;
}

/* --- headers ------------------------------------------------------------- */

static const struct grpc_method *find_method(const struct grpc_server *server,
                                             struct slice path)
{
    const struct grpc_options *o = &server->options;
    size_t low = 0;
    size_t high = o->method_count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        int c = slice_cmp(path, slice_str(o->methods[mid].path));
        if (c == 0)
            return &o->methods[mid];
        if (c < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return NULL;
}

void grpc_call_take_header(struct grpc_call *call,
                           struct slice name,
                           struct slice value)
{
    if (slice_eq_str(name, ":path")) {
        call->method = find_method(call->server, value);
        if (!call->method) /* Told to the client later. */
            buf_append_slice(&call->text, slice_sub(value, 0, 256));
    } else if (slice_eq_str(name, ":method")) {
        call->is_post = slice_eq_str(value, "POST");
    } else if (slice_eq_str(name, "content-type")) {
        call->is_grpc = slice_starts_with(value, slice_str(GRPC_CONTENT_TYPE));
    } else if (slice_eq_str(name, "grpc-encoding")) {
        call->gzip = slice_eq_str(value, "gzip");
        call->refused = !call->gzip && !slice_eq_str(value, "identity");
    } else if (slice_eq_str(name, "authorization")) {
        buf_clear(&call->authorization);
        buf_append_slice(&call->authorization, value);
    } else if (slice_eq_str(name, "traceparent")) {
        call->has_trace = traceparent_parse(value, &call->trace);
    } else if (slice_eq_str(name, "tracestate")) {
        snprintf(call->trace_state, sizeof(call->trace_state), "%.*s",
                 SLICE_ARG(value));
    } else if (slice_eq_str(name, "grpc-timeout")) {
        if (!grpc_parse_timeout(value, &call->timeout_ns))
            call->timeout_ns = 0;
        else if (call->timeout_ns == 0)
            call->timeout_ns = 1;
    }
}

/* --- the request --------------------------------------------------------- */

static int check_prefix(struct grpc_call *call, struct err *err)
{
    size_t max = call->server->options.message_bytes_max;
    unsigned char flag = (unsigned char)call->prefix[0];
    PRE(call->prefix_len == GRPC_PREFIX_BYTES);
    call->message_size = get_be32(call->prefix + 1);
    if (flag > 1)
        return err_set(err, ERR_INVALID, "a message with unknown flags");
    if (flag == 1 && !call->gzip)
        return err_set(err, ERR_INVALID,
                       "a compressed message without grpc-encoding");
    if (call->message_size > max)
        return err_set(err, ERR_EXHAUSTED,
                       "the message has %zu bytes, more than %zu",
                       call->message_size, max);
    return 0;
}

static int over_budget(struct err *err)
{
    return err_set(err, ERR_EXHAUSTED, "too many bytes in flight");
}

/* Let the message have room for @cap bytes, charged first. */
static int move_message(struct grpc_call *call, size_t cap, struct err *err)
{
    size_t old = call->charged;
    char *moved;
    PRE(cap > call->charged);
    if (!grpc_budget_charge(call->budget, cap))
        return over_budget(err);
    moved = mem_try_alloc(cap);
    if (!moved) {
        grpc_budget_refund(call->budget, cap);
        return err_set(err, ERR_EXHAUSTED, "no memory for the message");
    }
    if (call->message_len)
        memcpy(moved, call->message, call->message_len);
    mem_free(call->message);
    call->message = moved;
    call->message_cap = cap;
    call->charged = cap;
    grpc_budget_refund(call->budget, old);
    return 0;
}

/* Room for @more bytes of the message; not more than it has. Memory of an
 * earlier call is charged as it is used. */
static int grpc_call_grow(struct grpc_call *call, size_t more, struct err *err)
{
    size_t need = call->message_len + more;
    size_t cap = MAX_OF(call->charged * 2, FIRST_ROOM_BYTES);
    PRE(call->message_len <= call->charged);
    if (need <= call->charged)
        return 0;
    cap = MIN_OF(MAX_OF(cap, need), call->message_size);
    if (cap > call->message_cap)
        return move_message(call, cap, err);
    if (!grpc_budget_charge(call->budget, cap - call->charged))
        return over_budget(err);
    call->charged = cap;
    return 0;
}

static int
take_message(struct grpc_call *call, struct slice bytes, struct err *err)
{
    int rc;
    PRE(call->message_len <= call->message_size);
    if (bytes.len > call->message_size - call->message_len)
        return err_set(err, ERR_INVALID, "more than one message");
    rc = grpc_call_grow(call, bytes.len, err);
    if (rc)
        return rc;
    memcpy(call->message + call->message_len, bytes.data, bytes.len);
    call->message_len += bytes.len;
    return 0;
}

int grpc_call_take(struct grpc_call *call, struct slice bytes, struct err *err)
{
    size_t head = MIN_OF(GRPC_PREFIX_BYTES - call->prefix_len, bytes.len);
    int rc = 0;
    PRE(call->prefix_len <= GRPC_PREFIX_BYTES);
    memcpy(call->prefix + call->prefix_len, bytes.data, head);
    call->prefix_len += head;
    if (head && call->prefix_len == GRPC_PREFIX_BYTES)
        rc = check_prefix(call, err);
    bytes = slice_sub(bytes, head, bytes.len);
    if (rc == 0 && bytes.len)
        rc = take_message(call, bytes, err);
    return rc;
}

int grpc_call_complete(const struct grpc_call *call, struct err *err)
{
    if (call->prefix_len == GRPC_PREFIX_BYTES &&
        call->message_len == call->message_size)
        return 0;
    return err_set(err, ERR_INVALID, "the request ended before its message");
}

void grpc_call_drop_message(struct grpc_call *call)
{
    mem_free(call->message);
    call->message = NULL;
    call->message_len = call->message_cap = 0;
    grpc_budget_refund(call->budget, call->charged);
    call->charged = 0;
}

struct slice grpc_request(const struct grpc_call *call)
{
    PRE(call->message_len == 0 || call->message);
    return call->message_len ? slice_make(call->message, call->message_len)
                             : SLICE_EMPTY;
}

/* --- the reply ----------------------------------------------------------- */

size_t grpc_call_unsent(const struct grpc_call *call)
{
    PRE(call->out_sent <= call->out.len);
    return call->out.len - call->out_sent;
}

void grpc_call_sent(struct grpc_call *call, size_t count)
{
    PRE(count <= call->out.len - call->out_sent);
    call->out_sent += count;
    call->progress_ns = world_mono_ns(call->server->world);
    grpc_budget_refund(call->budget, count);
    if (call->out_sent == call->out.len) {
        buf_clear(&call->out);
        call->out_sent = 0;
    }
    if (call->waiting)
        fiber_wake(call->fiber);
}

struct buf *grpc_scratch(struct grpc_call *call)
{
    buf_clear(&call->scratch);
    grpc_message_begin(&call->scratch);
    return &call->scratch;
}

void grpc_message_begin(struct buf *b)
{
    PRE(b->len == 0);
    buf_append_fill(b, 0, GRPC_PREFIX_BYTES);
}

static void grpc_call_compress(struct buf *b)
{
    struct buf packed = BUF_INIT;
    PRE(b->len >= GRPC_PREFIX_BYTES);
    grpc_message_begin(&packed);
    gzip_compress(slice_sub(buf_slice(b), GRPC_PREFIX_BYTES, b->len), &packed);
    packed.data[0] = 1;
    buf_close(b);
    *b = packed;
}

/* May more be queued behind what waits? When the server holds too much, each
 * call waits until its own has gone. */
static bool has_room(const struct grpc_call *call)
{
    const struct grpc_budget *all = &call->server->budget;
    bool tight = all->used > all->max / 2;
    return grpc_call_unsent(call) <= (tight ? 0 : UNSENT_BYTES_MAX);
}

int grpc_call_check(const struct grpc_call *call, struct err *err)
{
    if (call->abandoned)
        return err_set(err, ERR_CANCELLED, "the client gave up");
    if (call->until_ns && world_mono_ns(call->server->world) >= call->until_ns)
        return err_set(err, ERR_DEADLINE, "the deadline has passed");
    return fiber_check(err);
}

static int await_room(struct grpc_call *call, struct err *err)
{
    int rc = grpc_call_check(call, err);
    PRE(!call->waiting);
    while (rc == 0 && !call->abandoned && !has_room(call)) {
        call->waiting = true;
        rc = fiber_park_checked(err);
        call->waiting = false;
    }
    if (rc == 0 && call->abandoned)
        rc = err_set(err, ERR_CANCELLED, "the client gave up");
    return rc;
}

static int
grpc_call_queue(struct grpc_call *call, struct buf *b, struct err *err)
{
    if (!grpc_budget_charge(call->budget, b->len))
        return over_budget(err);
    if (call->out.len == 0) {
        struct buf empty = call->out;
        call->out = *b;
        *b = empty;
    } else {
        buf_append_slice(&call->out, buf_slice(b));
    }
    buf_clear(b);
    grpc_message_begin(b);
    return 0;
}

int grpc_send(struct grpc_call *call, struct buf *b, struct err *err)
{
    int rc = await_room(call, err);
    if (rc)
        return rc;
    PRE(b->len >= GRPC_PREFIX_BYTES);
    if (call->gzip)
        grpc_call_compress(b);
    if (b->len - GRPC_PREFIX_BYTES > UINT32_MAX)
        return err_set(err, ERR_EXHAUSTED, "a message of more than 4 GiB");
    put_be32(b->data + 1, (uint32_t)(b->len - GRPC_PREFIX_BYTES));
    rc = grpc_call_queue(call, b, err);
    if (rc == 0)
        grpc_connection_resume(call);
    return rc;
}

const char *grpc_path(const struct grpc_call *call)
{
    return call->method->path;
}

void grpc_set_params(struct grpc_call *call, struct slice value)
{
    PRE(value.len < sizeof(call->params));
    memcpy(call->params, value.data, value.len);
    call->params[value.len] = '\0';
}

void grpc_set_code(struct grpc_call *call, enum grpc_code code)
{
    call->code = code;
    call->code_set = true;
}

void grpc_set_precondition(struct grpc_call *call,
                           struct slice type,
                           struct slice subject,
                           struct slice description)
{
    grpc_set_code(call, GRPC_FAILED_PRECONDITION);
    buf_clear(&call->detail);
    grpc_put_precondition(&call->detail, type, subject, description);
}

void grpc_set_outcome(struct grpc_call *call, int rc, const struct err *err)
{
    PRE(call->together);
    grpc_call_set_status(call, rc, err);
}

/* Failures about which a caller asks the operator, who looks for the trace. */
static bool is_ours_to_explain(int rc)
{
    return rc == ERR_IO || rc == ERR_CORRUPT || rc == ERR_DEADLINE ||
           rc == ERR_UNKNOWN_OUTCOME;
}

void grpc_call_set_status(struct grpc_call *call, int rc, const struct err *err)
{
    if (rc == 0)
        call->code = GRPC_OK;
    else if (!call->code_set)
        call->code = grpc_code_of(rc);
    buf_clear(&call->text);
    call->retry_us = 0;
    if (rc == 0)
        return;
    if (err->detail == ERR_DETAIL_RATE)
        call->retry_us = err->retry_us;
    buf_append_str(&call->text, err->text[0] ? err->text : err_name(rc));
    if (err->hint[0])
        buf_printf(&call->text, " (%s)", err->hint);
    if (is_ours_to_explain(rc) && trace_id_is_set(call->trace.trace)) {
        char id[TRACE_ID_TEXT_BYTES];
        trace_id_print(call->trace.trace, id);
        buf_printf(&call->text, " (trace %s)", id);
    }
}
