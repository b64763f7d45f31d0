/* Uncompressing a request: memory for what comes out is charged and taken step
 * by step, whatever the compressed bytes promise. */
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "bigtable/gateway/grpc_call.h"
#include "bigtable/gateway/gzip.h"

/* Room at first; doubled from there. */
#define FIRST_ROOM_BYTES ((size_t)16 << 10)
/* Steps of more than this are work for another thread, */
#define OFFLOAD_BYTES ((size_t)128 << 10)
/* and none is longer than this: between them, a client may give up. */
#define STEP_BYTES_MAX ((size_t)8 << 20)

struct inflation {
    struct grpc_call *call;
    struct gzip_reader *reader;
    char *out; /* Owned; its capacity is charged. */
    size_t len;
    size_t cap;
    /* The step under way. */
    size_t room;
    size_t made;
    bool end;
    int rc;
    struct err *err;
};

static void run_step(void *arg)
{
    struct inflation *f = arg;
    f->rc = gzip_reader_next(f->reader, f->out + f->len, f->room, &f->made,
                             &f->end, f->err);
}

/* Charge room for @cap bytes, take it and move to it. */
static int move_to(struct inflation *f, size_t cap)
{
    struct grpc_budget *budget = f->call->budget;
    char *moved;
    if (!grpc_budget_charge(budget, cap))
        return err_set(f->err, ERR_EXHAUSTED, "too many bytes in flight");
    moved = mem_try_alloc(cap);
    if (!moved) {
        grpc_budget_refund(budget, cap);
        return err_set(f->err, ERR_EXHAUSTED, "no memory for the message");
    }
    if (f->len)
        memcpy(moved, f->out, f->len);
    mem_free(f->out);
    grpc_budget_refund(budget, f->cap);
    f->out = moved;
    f->cap = cap;
    return 0;
}

static int grpc_inflate_step(struct inflation *f)
{
    size_t max = f->call->server->options.message_bytes_max;
    int rc = fiber_check(f->err);
    if (rc == 0 && f->len == f->cap && f->cap < max)
        rc = move_to(f, MIN_OF(MAX_OF(f->cap * 2, FIRST_ROOM_BYTES), max));
    if (rc)
        return rc;
    f->room = MIN_OF(f->cap - f->len, STEP_BYTES_MAX);
    if (f->room > OFFLOAD_BYTES)
        offload(run_step, f);
    else
        run_step(f);
    f->len += f->made;
    if (f->rc == 0 && f->room == 0 && !f->end)
        return err_set(f->err, ERR_EXHAUSTED,
                       "the message has more than %zu bytes uncompressed", max);
    return f->rc;
}

static int inflate_message(struct inflation *f)
{
    struct grpc_call *call = f->call;
    int rc = 0;
    f->reader = gzip_reader_new(grpc_request(call));
    if (!f->reader)
        return err_set(f->err, ERR_EXHAUSTED, "no memory to uncompress");
    while (rc == 0 && !f->end)
        rc = grpc_inflate_step(f);
    gzip_reader_free(f->reader);
    return rc;
}

int grpc_call_uncompress(struct grpc_call *call, struct err *err)
{
    struct inflation f = {.call = call, .err = err};
    int rc;
    if (call->prefix[0] == 0)
        return 0;
    if (!grpc_budget_charge(call->budget, GZIP_READER_BYTES))
        return err_set(err, ERR_EXHAUSTED, "too many bytes in flight");
    rc = inflate_message(&f);
    grpc_budget_refund(call->budget, GZIP_READER_BYTES);
    if (rc) {
        mem_free(f.out);
        grpc_budget_refund(call->budget, f.cap);
        return rc;
    }
    grpc_call_drop_message(call);
    call->message = f.out;
    call->message_len = f.len;
    call->message_cap = call->charged = f.cap;
    return 0;
}
