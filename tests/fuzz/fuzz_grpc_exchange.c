/* Any bytes from a server of gRPC: calls under way get what is theirs or end,
 * and keep no more than their bound. */
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/grpc/grpc_exchange.h"

#define BOUND ((size_t)1000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void count_wake(void *ctx)
{
    ++*(unsigned *)ctx;
}

static void drain(struct grpc_exchange *x)
{
    struct buf out = BUF_INIT;

    (void)!grpc_exchange_take(x, 1 << 20, &out, NULL);
    buf_close(&out);
}

/* Take what has come, as callers do. */
static void take_messages(struct grpc_ask *asks, size_t count)
{
    struct slice m;

    for (size_t i = 0; i < count; i++) {
        while (grpc_ask_next(&asks[i], &m))
            POST(m.len <= BOUND);
        /* INV-2: with the frame that was refused. */
        POST(asks[i].in.len - asks[i].taken <= asks[i].in_max + (1 << 14));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct grpc_exchange *x = grpc_exchange_new("fuzz:1", false);
    struct grpc_ask asks[2];
    unsigned wakes = 0;
    size_t step = size > 0 ? 1 + data[0] : 1;

    for (size_t i = 0; i < ARRAY_LEN(asks); i++) {
        asks[i] = (struct grpc_ask){
            .in_max = BOUND, .wake = count_wake, .ctx = &wakes};
        INVARIANT(grpc_ask_begin(x, &asks[i], "/s/m", NULL, 0, NULL) == 0);
        grpc_ask_send(&asks[i], SLICE_LIT("question"), i == 0);
    }
    drain(x);
    for (size_t at = 1; at < size; at += step) {
        struct slice part =
            slice_sub(slice_make(data, size), at, MIN_OF(at + step, size));
        if (grpc_exchange_feed(x, part, NULL))
            break;
        take_messages(asks, ARRAY_LEN(asks));
        drain(x);
    }
    grpc_exchange_end(x, ERR_CLOSED);
    for (size_t i = 0; i < ARRAY_LEN(asks); i++) {
        POST(grpc_ask_has_ended(&asks[i]));
        grpc_ask_close(&asks[i]);
    }
    grpc_exchange_free(x);
    return 0;
}
