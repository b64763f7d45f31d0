/* Any bytes a peer may send: to a server, with and without a key, or back to a
 * client that calls one. Nothing crashes, hangs or is believed.
 *
 * Input: one byte that chooses the side, then the peer's bytes. A server with a
 * key must not answer more than its challenge. */
#include <stdio.h>
#include <stdlib.h>

#include "base/core/panic.h"
#include "base/rpc/frame.h"
#include "base/rpc/handshake.h"
#include "base/rpc/remote.h"
#include "base/rpc/security.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/stream.h"
#include "base/runtime/world.h"
#include "base/sim/sim.h"

enum {
    ECHO = 1
};

struct input {
    struct world *world;
    const struct rpc_security *security;
    struct slice bytes;
    bool to_client;
};

static int echo(void *ctx, struct rpc_call *call, struct err *err)
{
    (void)ctx;
    (void)err;
    buf_append_slice(call->reply_body, call->body);
    buf_append_slice(call->reply_attachment, call->attachment);
    return 0;
}

/* A file on the simulated disk. */
static struct rpc_security *make_key(struct world *w)
{
    struct slice text = SLICE_LIT("0123456789abcdef");
    struct rpc_security *s = NULL;
    struct err err = ERR_INIT;
    struct file *f;
    int rc = file_open(w, "key", FILE_WRITE | FILE_CREATE, &f, &err);
    if (rc == 0) {
        rc = file_write_at(f, 0, &text, 1, &err);
        file_close(f);
    }
    if (rc == 0)
        rc = rpc_security_key(w, "fuzz", "fuzz", "key", &s, &err);
    if (rc)
        PANIC("%s", err.text);
    return s;
}

/* Send the bytes to the server and read what comes until it hangs up. */
static size_t talk(const struct input *in, const char *address)
{
    struct stream *s;
    char p[4096];
    size_t total = 0;
    size_t got = 1;
    if (stream_connect(address, &s, NULL))
        PANIC("no server");
    if (stream_write(s, &in->bytes, 1, NULL) == 0) {
        fiber_set_deadline(world_mono_ns(in->world) + UINT64_C(1000000000));
        while (got && stream_read(s, p, sizeof(p), &got, NULL) == 0)
            total += got;
        fiber_set_deadline(0);
    }
    stream_close(s);
    return total;
}

static void attack_server(const struct input *in)
{
    static const struct rpc_method methods[] = {{ECHO, "echo", echo, 0}};
    struct rpc_server *server = rpc_server_new(in->world);
    struct rpc_listener *l;
    struct rpc_listen_options o = {.security = in->security};
    size_t back;
    rpc_server_add(server, methods, 1, NULL);
    if (rpc_listen(server, "sim:1", &o, &l, NULL))
        PANIC("cannot listen");
    back = talk(in, rpc_listener_address(l));
    if (in->security && back > HANDSHAKE_CHALLENGE_BYTES)
        PANIC("%zu bytes for an unauthenticated peer", back);
    rpc_listener_close(l);
    rpc_server_free(server);
}

static void answer(void *arg)
{
    struct input *in = arg;
    struct stream_listener *l;
    struct stream *s;
    if (stream_listen("sim:2", &l, NULL))
        PANIC("cannot listen");
    if (stream_accept(l, &s, NULL) == 0) {
        (void)!stream_write(s, &in->bytes, 1, NULL);
        world_sleep_us(in->world, 100000);
        stream_close(s);
    }
    stream_listener_close(l);
}

static void attack_client(struct input *in)
{
    struct rpc_channel_options o = {.security = in->security};
    struct rpc_call_options call = {.timeout_us = 1000000};
    struct fiber *f = fiber_start(loop_self(), "answer", answer, in);
    struct rpc_channel *c;
    world_sleep_us(in->world, 1);
    c = rpc_channel_new("sim:2", &o);
    if (rpc_call(c, ECHO, &call, SLICE_LIT("x"), SLICE_EMPTY, NULL, NULL,
                 NULL) == 0 &&
        in->security)
        PANIC("an unauthenticated peer was believed");
    rpc_channel_free(c);
    fiber_cancel(f);
    fiber_join(f);
}

static void run(void *arg)
{
    struct input *in = arg;
    if (in->to_client)
        attack_client(in);
    else
        attack_server(in);
}

/* A header that is accepted says what it would be encoded from. */
static void check_header(const uint8_t *data)
{
    char copy[FRAME_HEADER_BYTES];
    struct frame f;
    memcpy(copy, data, sizeof(copy));
    if (frame_decode_header(copy, &f, NULL) == 0 &&
        (f.body.len > FRAME_BODY_BYTES_MAX ||
         f.attachment.len > FRAME_ATTACHMENT_BYTES_MAX))
        PANIC("a length over its limit");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {.to_client = false};
    struct rpc_security *key;
    if (size < 1)
        return 0;
    in.world = sim_world_new(&(struct sim_options){.seed = data[0]});
    key = make_key(in.world);
    in.security = data[0] & 1 ? key : NULL;
    in.to_client = data[0] & 2;
    in.bytes = slice_make(data + 1, size - 1);
    if (size > FRAME_HEADER_BYTES)
        check_header(data + 1);
    sim_run(in.world, run, &in);
    rpc_security_free(key);
    world_free(in.world);
    return 0;
}
