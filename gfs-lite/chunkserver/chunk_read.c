/* Reads. Bytes that leave were verified, now or a short while ago, and the
 * stored checksum goes with them: the reader verifies it at the other end.
 * Verified blocks in the page cache are sent without a copy.
 */
#include "base/core/panic.h"
#include "base/trace/span.h"
#include "gfs-lite/chunkserver/chunkserver_state.h"

int chunkserver_find(struct chunkserver *cs,
                     uint64_t handle,
                     uint32_t version,
                     struct stored_chunk **out,
                     struct err *err)
{
    struct stored_chunk *c = chunk_store_get(cs->store, handle);
    int rc = 0;
    *out = NULL;
    if (!c)
        return err_set(err, ERR_NOTFOUND, "chunk %llu is not here",
                       (unsigned long long)handle);
    if (c->version < version)
        rc = err_set(err, ERR_ABORTED, "chunk %llu is of version %u here",
                     (unsigned long long)handle, c->version);
    if (rc == 0)
        rc = chunk_store_file(cs->store, c, err);
    if (rc == 0)
        rc = chunkserver_absorb(cs, c, err);
    if (rc) {
        chunk_store_put(cs->store, c);
        return rc;
    }
    POST(c->pins > 0);
    POST(c->file);
    *out = c;
    return 0;
}

/* Read, and record damage that is found. A chunk that was cut while it was
 * being read is not damaged. @crc NULL: verify every block. */
static int read_chunk(struct chunkserver *cs,
                      struct stored_chunk *c,
                      uint32_t offset,
                      uint32_t len,
                      char *dst,
                      struct rpc_crc *crc,
                      struct err *err)
{
    PRE(c->pins > 0);
    uint32_t version = c->version;
    bool sealed = c->sealed;
    struct span s;
    int rc;
    span_begin(&s, "read and verify");
    rc = crc ? chunk_file_read_with_crc(c->file, offset, len, dst, &crc->value,
                                        err)
             : chunk_file_read(c->file, offset, len, dst, err);
    span_end(&s, rc);
    if (rc == 0 && crc)
        crc->known = true;
    if (rc != ERR_CORRUPT)
        return rc;
    if (c->version != version || c->sealed != sealed)
        return err_set(err, ERR_ABORTED, "chunk %llu is changing",
                       (unsigned long long)c->handle);
    chunk_store_note_damage(cs->store, c, err);
    return rc;
}

/* A chunk that is being sent. */
struct pinned_chunk {
    struct chunk_store *store;
    struct stored_chunk *chunk;
};

static void end_sending(void *ctx)
{
    struct pinned_chunk *l = ctx;
    chunk_store_put(l->store, l->chunk);
    mem_free(l);
}

/* Send the bytes from the page cache, if they are there and verified. */
static bool chunk_read_lend(struct chunkserver *cs,
                            struct stored_chunk *c,
                            uint32_t offset,
                            uint32_t len,
                            struct rpc_call *rpc)
{
    struct pinned_chunk *l;
    uint32_t crc;
    PRE(c->pins > 0);
    if (!chunk_file_is_ready(c->file, offset, len, &crc))
        return false;
    l = mem_alloc(sizeof(*l));
    *l = (struct pinned_chunk){cs->store, c};
    if (!rpc_reply_file(rpc, c->file->file, CHUNK_DATA_AT + (uint64_t)offset,
                        len, crc, end_sending, l)) {
        mem_free(l);
        return false;
    }
    c->pins++;
    return true;
}

int chunkserver_handle_read(void *ctx, struct rpc_call *rpc, struct err *err)
{
    struct chunkserver *cs = ctx;
    struct stored_chunk *c;
    struct chunk_call call;
    struct chunk_answer answer = {.code = 0};
    uint32_t len = 0;
    uint8_t has;
    int rc = chunk_call_get(rpc->body, &call, err);
    if (rc == 0)
        rc = chunkserver_check_proof(cs, rpc, &call, PROOF_READ, false, &has,
                                     err);
    if (rc == 0 && call.length > CHUNK_DATA_BYTES_MAX)
        rc = err_set(err, ERR_TOOBIG, "a read of %llu bytes",
                     (unsigned long long)call.length);
    if (rc == 0)
        rc = chunkserver_find(cs, call.handle, call.version, &c, err);
    if (rc)
        return rc;
    answer.length = c->file->length;
    answer.version = c->version;
    answer.sealed = c->sealed;
    if (call.offset < answer.length)
        len = (uint32_t)MIN_OF(call.length, answer.length - call.offset);
    INVARIANT(len == 0 || call.offset + len <= answer.length);
    span_number(span_here(), "chunk", (int64_t)call.handle);
    span_number(span_here(), "bytes", len);
    if (len > 0 && ((call.flags & CHUNK_VERIFY) ||
                    !chunk_read_lend(cs, c, (uint32_t)call.offset, len, rpc)))
        rc =
            read_chunk(cs, c, (uint32_t)call.offset, len,
                       buf_extend(rpc->reply_attachment, len),
                       call.flags & CHUNK_VERIFY ? NULL : &rpc->reply_crc, err);
    if (rc == 0)
        chunk_answer_put(&answer, rpc->reply_body);
    chunk_store_put(cs->store, c);
    return rc;
}

int chunkserver_handle_open(void *ctx, struct rpc_call *rpc, struct err *err)
{
    struct chunkserver *cs = ctx;
    struct stored_chunk *c;
    struct chunk_call call;
    struct chunk_answer answer = {.code = 0};
    uint8_t has;
    int rc = chunk_call_get(rpc->body, &call, err);
    if (rc == 0)
        rc = chunkserver_check_proof(cs, rpc, &call, 0, false, &has, err);
    if (rc == 0)
        rc = chunkserver_find(cs, call.handle, call.version, &c, err);
    if (rc)
        return rc;
    INVARIANT(c->file);
    INVARIANT(c->handle == call.handle);
    answer.length = c->file->length;
    answer.version = c->version;
    answer.sealed = c->sealed;
    answer.found = c->found != 0 && !c->sealed;
    answer.tail_crc = c->file->tail_crc;
    if (cs->socket) {
        answer.socket = slice_str(cs->socket_path);
        answer.token = chunkserver_socket_token(cs, call.handle, has);
    }
    chunk_answer_put(&answer, rpc->reply_body);
    chunk_store_put(cs->store, c);
    return 0;
}
