/* Any bytes of a client: the connection ends or lives, its neighbour is served,
 * and nothing of it stays behind.
 *
 * The input is what the client sends behind the preface, cut where the first
 * byte says. The last byte says how the connection ends: closed at once, after
 * a while, half-closed, or half-closed and read.
 */
#include <stdlib.h>

#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/stream.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"
#include "bigtable/gateway/grpc.h"

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

struct input {
    struct world *world;
    struct slice bytes;
};

static int echo(void *ctx, struct grpc_call *call, struct err *err)
{
    struct buf *b = grpc_scratch(call);
    (void)ctx;
    buf_append_slice(b, grpc_request(call));
    return grpc_send(call, b, err);
}

/* Parks before and between its messages. */
static int repeat(void *ctx, struct grpc_call *call, struct err *err)
{
    struct world *world = *(struct world **)ctx;
    struct buf *b = grpc_scratch(call);
    int rc = 0;
    world_sleep_us(world, 20);
    for (int i = 0; i < 20 && rc == 0; i++) {
        buf_append_fill(b, 'r', 30000);
        rc = grpc_send(call, b, err);
    }
    return rc;
}

static void echo_many(void *ctx, struct grpc_call *const *calls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct err err = ERR_INIT;
        int rc = echo(ctx, calls[i], &err);
        world_sleep_us(*(struct world **)ctx, 10);
        grpc_set_outcome(calls[i], rc, &err);
    }
}

static void end_connection(struct world *w, struct stream *s, unsigned how)
{
    char room[4096];
    size_t got = 1;
    if (how & 1)
        world_sleep_us(w, how & 2 ? 1000 : 40);
    if (how & 4) {
        stream_end_writing(s);
        world_sleep_us(w, how & 2 ? 30 : 1);
    }
    fiber_set_deadline(world_mono_ns(w) + 2000000);
    while ((how & 8) && got &&
           stream_read(s, room, sizeof(room), &got, NULL) == 0)
        ;
    fiber_set_deadline(0);
    stream_close(s);
}

static void write_all(struct stream *s, struct slice bytes)
{
    (void)!stream_write(s, &bytes, 1, NULL);
}

static void run(void *arg)
{
    static const struct grpc_method methods[] = {{"/e", echo}, {"/r", repeat}};
    struct input *in = arg;
    const struct grpc_options o = {.methods = methods,
                                   .method_count = ARRAY_LEN(methods),
                                   .ctx = &in->world,
                                   .together = echo,
                                   .handle_many = echo_many,
                                   .message_bytes_max = 1 << 20,
                                   .drain_us = 1000};
    struct grpc_server *server;
    struct stream *s;
    size_t cut = in->bytes.len ? (unsigned char)in->bytes.data[0] : 0;
    int rc = grpc_server_open(in->world, "s:1", &o, &server, NULL);
    PRE(rc == 0);
    rc = stream_connect("s:1", &s, NULL);
    PRE(rc == 0);
    write_all(s, SLICE_LIT(PREFACE));
    write_all(s, slice_sub(in->bytes, 1, cut));
    world_sleep_us(in->world, 10);
    write_all(s, slice_sub(in->bytes, MAX_OF(cut, 1), in->bytes.len));
    end_connection(
        in->world, s,
        in->bytes.len ? (unsigned char)in->bytes.data[in->bytes.len - 1] : 1);
    world_sleep_us(in->world, 5000000);
    PRE(grpc_server_call_count(server) == 0);
    PRE(grpc_server_connection_count(server) == 0);
    PRE(grpc_server_buffered_bytes(server) == 0);
    grpc_server_close(server);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {.bytes = slice_make(data, size)};
    if (size > 65536)
        return 0;
    in.world = sim_world_new(&(struct sim_options){.seed = 1});
    sim_run(in.world, run, &in);
    world_free(in.world);
    return 0;
}
