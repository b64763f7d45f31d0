/* Any bytes of a client: the connection ends or lives, its neighbour is served,
 * and nothing of it stays behind.
 *
 * The input is what the client sends behind the preface, cut where the first
 * byte says.
 */
#include <stdlib.h>

#include "base/core/panic.h"
#include "base/runtime/sim.h"
#include "base/runtime/stream.h"
#include "base/runtime/world.h"
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

static void write_all(struct stream *s, struct slice bytes)
{
    (void)!stream_write(s, &bytes, 1, NULL);
}

static void run(void *arg)
{
    static const struct grpc_method methods[] = {{"/e", echo}};
    const struct input *in = arg;
    const struct grpc_options o = {.methods = methods,
                                   .method_count = 1,
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
    world_sleep_us(in->world, 1000);
    stream_close(s);
    world_sleep_us(in->world, 1000);
    PRE(grpc_server_call_count(server) == 0);
    PRE(grpc_server_connection_count(server) == 0);
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
