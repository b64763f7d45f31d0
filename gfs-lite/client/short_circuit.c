/* Short-circuit reads (HDFS): a chunk server of this machine passes the
 * descriptor of a sealed chunk's file over a Unix socket, and the reader reads
 * it without further calls, checksums included. Grants get their descriptors
 * here too.
 *
 * A block that was verified in the last CHECKED_S seconds is not verified
 * again: the page cache most likely has it still, and a checksum costs half as
 * much as the read. All others are verified before a byte is returned.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/stream.h"
#include "base/runtime/world.h"
#include "gfs-lite/chunk_format.h"
#include "gfs-lite/client/gfs_client.h"
#include "gfs-lite/socket_protocol.h"

/* How long a verification of a block holds. */
#define CHECKED_S 10
#define CALL_US   UINT64_C(2000000)

struct local_chunk {
    struct world *world; /* Borrowed. */
    struct file *file;
    uint64_t handle;
    uint32_t length;
    uint32_t table[CHUNK_BLOCKS_MAX];
    /* When each block was verified, in seconds; 0: never. */
    _Atomic uint32_t checked_s[CHUNK_BLOCKS_MAX];
};

/* --- getting it ---------------------------------------------------------- */

struct fetching {
    struct gfs *gfs;
    const struct gfs_descriptor *wanted;
    struct chunk_answer *answer;
    struct file **out;
    struct err *err;
    int rc;
};

static int ask_socket(const struct fetching *f, struct stream *s)
{
    char request[SOCKET_REQUEST_BYTES] = {0};
    struct slice part = slice_make(request, sizeof(request));
    int rc;
    put_le64(request + SOCKET_HANDLE, f->wanted->handle);
    put_le32(request + SOCKET_VERSION, f->wanted->version);
    put_le32(request + SOCKET_WAY,
             f->wanted->to_write ? SOCKET_WRITES : SOCKET_READS);
    put_le64(request + SOCKET_TOKEN, f->answer->token);
    rc = stream_write(s, &part, 1, f->err);
    return rc ? rc : stream_receive_file(s, f->out, f->err);
}

static int
call_server(const struct fetching *f, uint32_t method, struct buf *reply)
{
    struct chunk_call call = {.handle = f->wanted->handle,
                              .version = f->wanted->version,
                              .length = f->wanted->length,
                              .proof = f->wanted->proof};
    struct buf body = BUF_INIT;
    int rc;
    chunk_call_put(&call, &body);
    buf_clear(reply);
    rc =
        peers_call(f->gfs->peers, slice_str(f->wanted->address), method,
                   CALL_US, buf_slice(&body), SLICE_EMPTY, reply, NULL, f->err);
    buf_close(&body);
    return rc ? rc : chunk_answer_get(buf_slice(reply), f->answer, f->err);
}

/* Its writer closed the file a moment ago, and the server learns of it by a
 * heartbeat, or by the first reader: the namenode's seal is final. */
static bool is_to_be_sealed(const struct fetching *f)
{
    return !f->wanted->to_write && !f->answer->sealed &&
           f->answer->socket.len > 0;
}

static int ask_server(const struct fetching *f, struct buf *reply)
{
    int rc = call_server(f, CHUNK_OPEN, reply);
    if (rc == 0 && is_to_be_sealed(f)) {
        rc = call_server(f, CHUNK_SEAL, reply);
        if (rc == 0)
            rc = call_server(f, CHUNK_OPEN, reply);
    }
    if (rc == 0 && (f->answer->socket.len == 0 ||
                    f->answer->sealed == f->wanted->to_write))
        rc = err_set(f->err, ERR_UNSUPPORTED, "no descriptor of it");
    return rc;
}

static void run_fetching(void *arg)
{
    struct fetching *f = arg;
    struct buf reply = BUF_INIT;
    struct buf address = BUF_INIT;
    struct stream *s;
    f->rc = ask_server(f, &reply);
    if (f->rc == 0) {
        buf_printf(&address, "unix:%.*s", SLICE_ARG(f->answer->socket));
        f->rc = stream_connect(buf_cstr(&address), &s, f->err);
    }
    if (f->rc == 0) {
        f->rc = ask_socket(f, s);
        stream_close(s);
    }
    f->answer->socket = f->answer->text = f->answer->failed = SLICE_EMPTY;
    buf_close(&reply);
    buf_close(&address);
}

int gfs__fetch_descriptor(struct gfs *g,
                          const struct gfs_descriptor *wanted,
                          struct chunk_answer *answer,
                          struct file **out,
                          struct err *err)
{
    struct fetching f = {
        .gfs = g, .wanted = wanted, .answer = answer, .out = out, .err = err};
    *answer = (struct chunk_answer){.code = 0};
    gfs__on_loop(g, "gfs descriptor", run_fetching, &f);
    return f.rc;
}

static int read_exactly(struct file *f,
                        uint64_t at,
                        void *dst,
                        size_t len,
                        struct err *err)
{
    size_t got = 0;
    int rc = file_read_at(f, at, dst, len, &got, err);
    if (rc == 0 && got < len)
        rc = err_set(err, ERR_CORRUPT, "the chunk's file is too short");
    return rc;
}

/* The file is trusted no more than any other. */
static int
check_file(struct local_chunk *l, const struct gfs_chunk *c, struct err *err)
{
    struct chunk_identity id;
    char sector[CHUNK_SECTOR_BYTES];
    int rc = read_exactly(l->file, 0, sector, sizeof(sector), err);
    if (rc == 0)
        rc = chunk_identity_get(sector, &id, err);
    if (rc == 0 && (id.handle != c->handle || id.version < c->version ||
                    !id.sealed || id.length != c->length))
        rc = err_set(err, ERR_ABORTED, "the file is not that of the chunk");
    if (rc == 0)
        rc = read_exactly(l->file, CHUNK_TABLE_AT, l->table, sizeof(l->table),
                          err);
    return rc;
}

int gfs__open_local(struct gfs *g,
                    const struct gfs_chunk *c,
                    uint16_t number,
                    struct local_chunk **out,
                    struct err *err)
{
    char *address = gfs__server_address(g, number);
    struct gfs_descriptor wanted = {.address = address,
                                    .handle = c->handle,
                                    .version = c->version,
                                    .length = c->length,
                                    .proof = c->proof};
    struct chunk_answer answer;
    struct local_chunk *l;
    struct file *file;
    int rc;
    *out = NULL;
    if (!address)
        return err_set(err, ERR_UNAVAILABLE, "no address");
    rc = gfs__fetch_descriptor(g, &wanted, &answer, &file, err);
    mem_free(address);
    if (rc)
        return rc;
    l = mem_zalloc(1, sizeof(*l));
    l->world = g->base.world;
    l->file = file;
    l->handle = c->handle;
    l->length = c->length;
    rc = check_file(l, c, err);
    if (rc) {
        gfs__close_local(l);
        return rc;
    }
    *out = l;
    return 0;
}

void gfs__close_local(struct local_chunk *l)
{
    if (!l)
        return;
    file_close(l->file);
    mem_free(l);
}

/* --- reading ------------------------------------------------------------- */

/* Never 0. */
static uint32_t now_s(const struct local_chunk *l)
{
    return (uint32_t)(world_mono_ns(l->world) / 1000000000) + 1;
}

static bool
is_checked(const struct local_chunk *l, uint32_t block, uint32_t now)
{
    uint32_t then =
        atomic_load_explicit(&l->checked_s[block], memory_order_relaxed);
    return then && now - then < CHECKED_S;
}

static int check_block(struct local_chunk *l,
                       uint32_t block,
                       const char *bytes,
                       uint32_t now,
                       struct err *err)
{
    if (is_checked(l, block, now))
        return 0;
    if (crc32c(bytes, chunk_block_bytes(l->length, block)) != l->table[block])
        return err_set(err, ERR_CORRUPT, "chunk %llu, block %u: checksum",
                       (unsigned long long)l->handle, block);
    atomic_store_explicit(&l->checked_s[block], now, memory_order_relaxed);
    return 0;
}

/* Read whole blocks, straight to @dst. */
static int read_blocks(struct local_chunk *l,
                       uint32_t block,
                       uint32_t count,
                       char *dst,
                       uint32_t now,
                       struct err *err)
{
    int rc = read_exactly(l->file,
                          CHUNK_DATA_AT + (uint64_t)block * CHUNK_BLOCK_BYTES,
                          dst, (size_t)count * CHUNK_BLOCK_BYTES, err);
    for (uint32_t i = 0; i < count && rc == 0; i++)
        rc = check_block(l, block + i, dst + (size_t)i * CHUNK_BLOCK_BYTES, now,
                         err);
    return rc;
}

/* Read a part of a block: all of it, unless it was verified. */
static int read_part(struct local_chunk *l,
                     uint32_t offset,
                     uint32_t len,
                     char *dst,
                     uint32_t now,
                     struct err *err)
{
    uint32_t block = offset / CHUNK_BLOCK_BYTES;
    char *bytes;
    int rc;
    if (is_checked(l, block, now))
        return read_exactly(l->file, CHUNK_DATA_AT + (uint64_t)offset, dst, len,
                            err);
    bytes = mem_alloc(CHUNK_BLOCK_BYTES);
    rc = read_exactly(l->file,
                      CHUNK_DATA_AT + (uint64_t)block * CHUNK_BLOCK_BYTES,
                      bytes, chunk_block_bytes(l->length, block), err);
    if (rc == 0)
        rc = check_block(l, block, bytes, now, err);
    if (rc == 0)
        memcpy(dst, bytes + offset % CHUNK_BLOCK_BYTES, len);
    mem_free(bytes);
    return rc;
}

int gfs__read_local(struct local_chunk *l,
                    uint32_t offset,
                    uint32_t len,
                    char *dst,
                    struct err *err)
{
    uint32_t now = now_s(l);
    int rc = 0;
    while (rc == 0 && len > 0) {
        uint32_t in_block = offset % CHUNK_BLOCK_BYTES;
        uint32_t step = MIN_OF(len, CHUNK_BLOCK_BYTES - in_block);
        if (in_block == 0 && len >= CHUNK_BLOCK_BYTES) {
            step = len - len % CHUNK_BLOCK_BYTES;
            rc = read_blocks(l, offset / CHUNK_BLOCK_BYTES,
                             len / CHUNK_BLOCK_BYTES, dst, now, err);
        } else {
            rc = read_part(l, offset, step, dst, now, err);
        }
        offset += step;
        dst += step;
        len -= step;
    }
    return rc;
}

bool gfs__local_is_cached(const struct local_chunk *l,
                          uint32_t offset,
                          uint32_t len)
{
    return file_cached_bytes(l->file, CHUNK_DATA_AT + (uint64_t)offset, len) ==
           len;
}
