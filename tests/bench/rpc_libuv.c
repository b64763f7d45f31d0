/* The peer: echo with nothing but libuv and a length before each message. No
 * checksums, deadlines or back-pressure; what comes in one read is answered in
 * one write, on both sides. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uv.h>

#include "tests/bench/rpc.h"

#define READ_BYTES ((size_t)1 << 20)

static struct bench_rpc bench;
static int server_pid;
static int ready_fd;

/* A connection, and what came of a message that is not yet whole. */
struct end {
    uv_tcp_t tcp;
    char *bytes;
    size_t len;
    size_t cap;
    uint64_t answered;
    uint64_t asked;
};

struct out {
    uv_write_t request;
    char bytes[];
};

static void on_written(uv_write_t *request, int status)
{
    (void)status;
    free(request);
}

static void send_bytes(struct end *e, const char *bytes, size_t len)
{
    uv_buf_t b = uv_buf_init((char *)(uintptr_t)bytes, (unsigned)len);
    int n = uv_try_write((uv_stream_t *)&e->tcp, &b, 1);
    size_t sent = n > 0 ? (size_t)n : 0;
    struct out *o;
    if (sent == len)
        return;
    o = malloc(sizeof(*o) + len - sent);
    memcpy(o->bytes, bytes + sent, len - sent);
    b = uv_buf_init(o->bytes, (unsigned)(len - sent));
    uv_write(&o->request, (uv_stream_t *)&e->tcp, &b, 1, on_written);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct end *e = handle->data;
    (void)suggested;
    if (e->cap - e->len < READ_BYTES) {
        e->cap = e->len + READ_BYTES;
        e->bytes = realloc(e->bytes, e->cap);
    }
    *buf = uv_buf_init(e->bytes + e->len, (unsigned)(e->cap - e->len));
}

/* Bytes of the whole messages at the front, and how many these are. */
static size_t whole(const struct end *e, uint64_t *count)
{
    size_t at = 0;
    *count = 0;
    while (e->len - at >= 4) {
        uint32_t len;
        memcpy(&len, e->bytes + at, 4);
        if (e->len - at < 4 + (size_t)len)
            break;
        at += 4 + len;
        ++*count;
    }
    return at;
}

static void consume(struct end *e, size_t len)
{
    memmove(e->bytes, e->bytes + len, e->len - len);
    e->len -= len;
}

static void on_request(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
    struct end *e = s->data;
    uint64_t count;
    size_t len;
    (void)buf;
    if (n < 0)
        _exit(0);
    e->len += (size_t)n;
    len = whole(e, &count);
    if (len)
        send_bytes(e, e->bytes, len);
    consume(e, len);
}

static void on_response(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
    struct end *e = s->data;
    uint64_t count;
    size_t len;
    (void)buf;
    if (n < 0)
        _exit(1);
    e->len += (size_t)n;
    len = whole(e, &count);
    e->answered += count;
    if (e->answered == bench.calls) {
        bench_rpc_end(&bench, server_pid);
        fflush(stdout);
        _exit(0);
    }
    if (e->asked + count > bench.calls)
        count = bench.calls - e->asked;
    e->asked += count;
    if (count)
        send_bytes(e, e->bytes, count * (4 + bench.bytes));
    consume(e, len);
}

static struct end *new_end(void)
{
    struct end *e = calloc(1, sizeof(*e));
    uv_tcp_init(uv_default_loop(), &e->tcp);
    e->tcp.data = e;
    return e;
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct end *e = new_end();
    (void)status;
    uv_accept(listener, (uv_stream_t *)&e->tcp);
    uv_tcp_nodelay(&e->tcp, 1);
    uv_read_start((uv_stream_t *)&e->tcp, on_alloc, on_request);
}

static void serve(void)
{
    struct sockaddr_in a;
    int len = sizeof(a);
    static uv_tcp_t listener;
    uv_ip4_addr("127.0.0.1", 0, &a);
    uv_tcp_init(uv_default_loop(), &listener);
    uv_tcp_bind(&listener, (struct sockaddr *)&a, 0);
    uv_listen((uv_stream_t *)&listener, 16, on_connection);
    uv_tcp_getsockname(&listener, (struct sockaddr *)&a, &len);
    dprintf(ready_fd, "%d\n", ntohs(a.sin_port));
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}

static void on_connected(uv_connect_t *request, int status)
{
    struct end *e = request->data;
    size_t one = 4 + bench.bytes;
    size_t first =
        bench.in_flight < bench.calls ? bench.in_flight : (size_t)bench.calls;
    char *all = calloc(first, one);
    uint32_t len = (uint32_t)bench.bytes;
    if (status < 0)
        _exit(1);
    for (size_t i = 0; i < first; i++)
        memcpy(all + i * one, &len, 4);
    uv_tcp_nodelay(&e->tcp, 1);
    uv_read_start((uv_stream_t *)&e->tcp, on_alloc, on_response);
    bench_rpc_begin(&bench);
    e->asked = first;
    send_bytes(e, all, first * one);
    free(all);
}

int main(int argc, char **argv)
{
    static uv_connect_t request;
    struct sockaddr_in a;
    char port[16] = "";
    int fds[2];
    bench_rpc_parse(&bench, argc, argv);
    if (pipe(fds) < 0)
        return 1;
    ready_fd = fds[1];
    server_pid = fork();
    if (server_pid == 0) {
        signal(SIGTERM, _exit);
        serve();
    }
    if (read(fds[0], port, sizeof(port) - 1) <= 0)
        return 1;
    uv_ip4_addr("127.0.0.1", atoi(port), &a);
    struct end *e = new_end();
    request.data = e;
    uv_tcp_connect(&request, &e->tcp, (struct sockaddr *)&a, on_connected);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    return 1;
}
