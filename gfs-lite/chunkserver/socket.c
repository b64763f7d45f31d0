/* Descriptors of chunk files for readers and writers of the same machine.
 *
 * A client that got the token over its authenticated connection sends it over a
 * Unix socket; the answer is one byte, and with 'F' the descriptor. Readers get
 * one that cannot write.
 *
 *     request = handle:le64 version:le32 way:le32 token:le64    24 bytes
 *     answer  = 'F' with the descriptor, or 'N'
 */
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/stream.h"
#include "base/runtime/world.h"
#include "gfs-lite/chunkserver/chunkserver_state.h"
#include "gfs-lite/socket_protocol.h"

#define IDLE_US UINT64_C(60000000)

struct chunkserver_socket {
    struct chunkserver *cs;
    struct stream_listener *listener;
    struct fiber *accepting;
    struct socket_client *clients;
    struct fiber *closer;
    uint8_t secret[RPC_MAC_KEY_BYTES];
};

struct socket_client {
    struct socket_client *next;
    struct chunkserver_socket *socket;
    struct stream *stream;
    struct fiber *fiber;
};

uint64_t chunkserver_socket_token(const struct chunkserver *cs,
                                  uint64_t handle,
                                  uint8_t rights)
{
    uint8_t mac[RPC_MAC_BYTES];
    char text[9];
    PRE(cs->socket);
    put_le64(text, handle);
    text[8] = (char)rights;
    rpc_mac(cs->socket->secret, slice_make(text, sizeof(text)), mac);
    return get_le64((const char *)mac);
}

/* Does @token prove the right @wanted? A token for more rights does too. */
static bool chunk_socket_may(const struct chunkserver *cs,
                             uint64_t handle,
                             uint8_t wanted,
                             uint64_t token)
{
    PRE(wanted);
    bool good = false;
    for (uint8_t rights = 1; rights <= (PROOF_READ | PROOF_WRITE); rights++)
        good |= (rights & wanted) &&
                token == chunkserver_socket_token(cs, handle, rights);
    return good;
}

static int chunk_socket_refuse(struct socket_client *k)
{
    struct slice no = SLICE_LIT("N");
    return stream_write(k->stream, &no, 1, NULL);
}

/* A reader gets a descriptor that cannot be written to. */
static int send_to_reader(struct socket_client *k, const struct stored_chunk *c)
{
    struct file *f;
    int rc =
        file_open(k->socket->cs->world, c->file->path, FILE_READ, &f, NULL);
    if (rc)
        return chunk_socket_refuse(k);
    rc = stream_send_file(k->stream, f, NULL);
    file_close(f);
    return rc;
}

static int chunk_socket_answer(struct socket_client *k, const char *request)
{
    struct chunkserver *cs = k->socket->cs;
    bool writes = get_le32(request + SOCKET_WAY) == SOCKET_WRITES;
    struct stored_chunk *c;
    int rc;
    if (!chunk_socket_may(cs, get_le64(request + SOCKET_HANDLE),
                          writes ? PROOF_WRITE : PROOF_READ,
                          get_le64(request + SOCKET_TOKEN)))
        return ERR_DENIED;
    rc = (writes ? chunkserver_grant : chunkserver_find)(
        cs, get_le64(request + SOCKET_HANDLE),
        get_le32(request + SOCKET_VERSION), &c, NULL);
    if (rc)
        return chunk_socket_refuse(k);
    rc = writes ? stream_send_file(k->stream, c->file->file, NULL)
                : send_to_reader(k, c);
    chunk_store_put(cs->store, c);
    return rc;
}

static void run_client(void *arg)
{
    struct socket_client *k = arg;
    struct chunkserver_socket *s = k->socket;
    struct socket_client **at = &s->clients;
    int rc = 0;
    while (rc == 0 && !s->cs->stopping) {
        char request[SOCKET_REQUEST_BYTES];
        fiber_set_deadline(world_mono_ns(s->cs->world) + IDLE_US * 1000);
        rc = stream_read_full(k->stream, request, sizeof(request), NULL);
        if (rc == 0)
            rc = chunk_socket_answer(k, request);
    }
    stream_close(k->stream);
    while (*at != k)
        at = &(*at)->next;
    *at = k->next;
    mem_free(k);
    if (s->closer && !s->clients)
        fiber_wake(s->closer);
}

static void run_accepting(void *arg)
{
    struct chunkserver_socket *s = arg;
    struct stream *stream;
    while (stream_accept(s->listener, &stream, NULL) == 0) {
        struct socket_client *k = mem_zalloc(1, sizeof(*k));
        k->socket = s;
        k->stream = stream;
        k->next = s->clients;
        s->clients = k;
        k->fiber = fiber_start(loop_self(), "chunk socket", run_client, k);
        fiber_detach(k->fiber);
    }
}

int chunkserver_open_socket(struct chunkserver *cs, struct err *err)
{
    struct chunkserver_socket *s;
    struct stream_listener *listener;
    struct buf address = BUF_INIT;
    int rc;
    buf_printf(&address, "unix:%s", cs->socket_path);
    PRE(!cs->socket);
    rc = stream_listen(buf_cstr(&address), &listener, err);
    buf_close(&address);
    if (rc)
        return rc;
    s = mem_zalloc(1, sizeof(*s));
    s->cs = cs;
    s->listener = listener;
    world_random_bytes(cs->world, s->secret, sizeof(s->secret));
    s->accepting = fiber_start(loop_self(), "chunk accept", run_accepting, s);
    cs->socket = s;
    return 0;
}

void chunkserver_close_socket(struct chunkserver *cs)
{
    struct chunkserver_socket *s = cs->socket;
    if (!s)
        return;
    fiber_cancel(s->accepting);
    fiber_join(s->accepting);
    stream_listener_close(s->listener);
    s->closer = fiber_self();
    for (struct socket_client *k = s->clients; k; k = k->next)
        fiber_cancel(k->fiber);
    while (s->clients)
        fiber_park();
    INVARIANT(!s->clients);
    mem_free(s);
    cs->socket = NULL;
}
