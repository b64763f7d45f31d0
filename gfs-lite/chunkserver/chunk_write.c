/* Writing along a chain (GFS 3.2): each server forwards the bytes and writes
 * them at the same time, and answers when it and all after it have them. Each
 * verifies their checksum when it computes its blocks', not before it forwards
 * them.
 *
 * Bytes have offsets: a call whose offset is not yet reached waits for the
 * bytes before it; one whose bytes are there already is answered as done. So
 * calls may overtake each other and may arrive twice.
 *
 * A broken chain is never repaired: the writer has the chunk sealed and
 * continues in another. The seal raises the version first, after which the
 * servers refuse the old one.
 *
 * A server that restarts may find less of a chunk than it had taken, and must
 * not assign a record the offset of one that is lost here but not elsewhere: it
 * takes no more bytes of a chunk it found unsealed until a recovery has raised
 * its version and made its copies equal.
 *
 * The first bytes make the chunk, and may be late: after the file was taken
 * from its writer, found empty and closed. So a server that was to fence an
 * absent chunk refuses to make it from then on; and because it forgets that
 * when it ends, it makes no chunk that was allocated before it began. A writer
 * that is refused continues in another chunk.
 */
#include "base/core/crc32c.h"
#include "base/core/fault.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "base/trace/span.h"
#include "gfs-lite/chunkserver/chunkserver_state.h"

/* How long a call waits for the bytes before its own. */
#define GAP_TIMEOUT_US UINT64_C(3000000)

/* --- forwarding ---------------------------------------------------------- */

/* The rest of the chain, called by a fiber of its own. */
struct passing {
    struct chunkserver *cs;
    struct chunk_call call; /* For the next server. */
    struct slice next;      /* Its address. */
    struct slice data;
    struct rpc_crc crc;  /* Of the data. */
    struct fiber *fiber; /* NULL: there is no next one. */
    void *context;       /* Of the call, which waits for the fiber. */
    struct buf reply;    /* `answer` borrows from it. */
    struct chunk_answer answer;
    struct err err;
};

static void run_passing(void *arg)
{
    struct passing *p = arg;
    struct rpc_call_options opts = {.timeout_us = (p->call.chain_count + 1) *
                                                  CHUNK_CHAIN_UNIT_US,
                                    .attachment_crc = p->crc};
    struct buf body = BUF_INIT;
    int rc;
    PRE(p->next.len > 0);
    (void)fiber_set_context(p->context);
    chunk_call_put(&p->call, &body);
    rc = peers_call_with(p->cs->peers, p->next, CHUNK_WRITE, &opts,
                         buf_slice(&body), p->data, &p->reply, NULL, &p->err);
    buf_close(&body);
    if (rc == 0)
        rc = chunk_answer_get(buf_slice(&p->reply), &p->answer, &p->err);
    if (rc)
        p->answer = (struct chunk_answer){
            .code = rc, .text = slice_str(p->err.text), .failed = p->next};
}

static void pass_on(struct passing *p,
                    struct chunkserver *cs,
                    const struct chunk_call *call,
                    const struct rpc_call *rpc)
{
    *p = (struct passing){.cs = cs,
                          .call = *call,
                          .data = rpc->attachment,
                          .crc = rpc->attachment_crc,
                          .context = fiber_context()};
    if (call->chain_count == 0)
        return;
    p->next = call->chain[0];
    INVARIANT(call->chain_count <= ARRAY_LEN(call->chain));
    p->call.chain_count--;
    for (size_t i = 0; i < p->call.chain_count; i++)
        p->call.chain[i] = call->chain[i + 1];
    p->fiber = fiber_start(loop_self(), "chain", run_passing, p);
    /* The bytes leave before they are written here: the next server works at
     * the same time. */
    fiber_yield();
    fiber_yield();
}

static void await_rest(struct passing *p)
{
    bool early = fault_hit("gfs.answer_early");
    if (p->fiber && early)
        fiber_cancel(p->fiber);
    if (p->fiber)
        fiber_join(p->fiber);
    p->fiber = NULL;
    if (early)
        p->answer.code = 0;
}

/* --- taking -------------------------------------------------------------- */

int chunkserver_check_writable(const struct stored_chunk *c,
                               uint32_t version,
                               struct err *err)
{
    if (c->deleted)
        return err_set(err, ERR_NOTFOUND, "chunk %llu was deleted",
                       (unsigned long long)c->handle);
    if (c->damaged)
        return err_set(err, ERR_CORRUPT, "chunk %llu is damaged here",
                       (unsigned long long)c->handle);
    if (c->failed)
        return err_set(err, c->failed, "chunk %llu: an earlier write failed",
                       (unsigned long long)c->handle);
    if (c->version == c->found)
        return err_set(err, ERR_ABORTED,
                       "chunk %llu was begun before this server",
                       (unsigned long long)c->handle);
    if (c->version != version || c->sealed)
        return err_set(err, ERR_ABORTED,
                       "chunk %llu is of version %u here%s, not %u",
                       (unsigned long long)c->handle, c->version,
                       c->sealed ? ", sealed" : "", version);
    return 0;
}

/* Wait until the chunk has reached @offset. PRE: c->lock is held. */
static int await_place(struct chunkserver *cs,
                       struct stored_chunk *c,
                       const struct chunk_call *call,
                       struct err *err)
{
    PRE(c->pins > 0);
    PRE(c->file);
    uint64_t until_ns = world_mono_ns(cs->world) + GAP_TIMEOUT_US * 1000;
    int rc = chunkserver_check_writable(c, call->version, err);
    while (rc == 0 && c->file->length < call->offset) {
        uint64_t now = world_mono_ns(cs->world);
        rc = fiber_check(err);
        if (rc == 0 && (cs->stopping || now >= until_ns))
            rc = err_set(err, ERR_ABORTED,
                         "chunk %llu: bytes before %llu did not come",
                         (unsigned long long)c->handle,
                         (unsigned long long)call->offset);
        if (rc == 0)
            cond_wait_us(&c->grown, &c->lock, cs->world,
                         MIN_OF((until_ns - now) / 1000 + 1, 100000));
        if (rc == 0)
            rc = chunkserver_check_writable(c, call->version, err);
    }
    POST(rc || c->file->length >= call->offset);
    return rc;
}

static int chunk_write_append(struct chunk_file *f,
                              uint32_t flags,
                              struct slice data,
                              const uint32_t *crc,
                              struct err *err)
{
    if (flags & CHUNK_SYNC)
        return chunk_file_append_sync(f, data, crc, err);
    if (flags & CHUNK_UNREAD)
        return chunk_file_append_unread(f, data, crc, err);
    return chunk_file_append(f, data, crc, err);
}

/* Write the bytes of @rpc at call->offset and do as the flags say. PRE: c->lock
 * is held. */
static int take_locked(struct chunkserver *cs,
                       struct stored_chunk *c,
                       const struct chunk_call *call,
                       const struct rpc_call *rpc,
                       struct err *err)
{
    struct slice data = rpc->attachment;
    const uint32_t *crc =
        rpc->attachment_crc.known ? &rpc->attachment_crc.value : NULL;
    bool sync = call->flags & CHUNK_SYNC;
    uint64_t have;
    int rc = chunk_store_file_locked(cs->store, c, err);
    if (rc == 0)
        rc = chunkserver_absorb_locked(cs, c, err);
    if (rc == 0)
        rc = await_place(cs, c, call, err);
    if (rc == 0 &&
        data.len) /* A caller that sends bytes does not write by a grant. */
        rc = chunk_file_settle(c->file, err);
    if (rc)
        return rc;
    INVARIANT(c->file->length >= call->offset);
    have = c->file->length - call->offset;
    if (have && crc && crc32c(data.data, data.len) != *crc)
        return err_set(err, ERR_CORRUPT, "bytes with a wrong checksum");
    if (have < data.len && c->dirty_us == 0)
        c->dirty_us = world_now_us(cs->world);
    if (have < data.len)
        rc = chunk_write_append(c->file, call->flags,
                                slice_sub(data, have, data.len),
                                have ? NULL : crc, err);
    else if (sync)
        rc = chunk_file_sync(c->file, err);
    if (rc == ERR_CORRUPT) /* They were damaged on the way. */
        return rc;
    chunkserver_note_written(cs, c);
    if (rc == 0 && sync)
        c->dirty_us = 0;
    if (rc) {
        c->failed = rc;
        chunk_store_report(cs->store, c);
    }
    INVARIANT(rc || c->file->length >= call->offset + data.len);
    chunk_store_update(cs->store, c);
    return rc;
}

static bool is_unmade(const struct chunkserver *cs, uint64_t handle)
{
    size_t count = MIN_OF(cs->unmade_count, (size_t)UNMADE_MAX);
    for (size_t i = 0; i < count; i++)
        if (cs->unmade[i] == handle)
            return true;
    return handle < cs->make_from;
}

/* The chunk of the call, pinned; made if the call allows it. */
static int find_or_make(struct chunkserver *cs,
                        const struct chunk_call *call,
                        struct stored_chunk **out,
                        struct err *err)
{
    int rc;
    *out = chunk_store_get(cs->store, call->handle);
    if (*out)
        return 0;
    if (!(call->flags & CHUNK_MAKE))
        return err_set(err, ERR_NOTFOUND, "chunk %llu is not here",
                       (unsigned long long)call->handle);
    if (is_unmade(cs, call->handle))
        return err_set(err, ERR_ABORTED,
                       "chunk %llu is not here, and it is too late to make it",
                       (unsigned long long)call->handle);
    INVARIANT(call->handle >= cs->make_from); /* INV-1 */
    rc = chunk_store_create(cs->store, call->handle, call->version, out, err);
    if (rc != ERR_EXISTS)
        return rc;
    *out =
        chunk_store_get(cs->store, call->handle); /* It was made meanwhile. */
    return *out ? 0 : rc;
}

static int chunk_write_take(struct chunkserver *cs,
                            const struct chunk_call *call,
                            const struct rpc_call *rpc,
                            uint64_t *length,
                            struct err *err)
{
    struct stored_chunk *c;
    struct span s;
    int rc = find_or_make(cs, call, &c, err);
    if (rc)
        return rc;
    mutex_lock(&c->lock);
    span_begin(&s, call->flags & CHUNK_SYNC ? "append and sync" : "append");
    span_number(&s, "chunk", (int64_t)call->handle);
    span_number(&s, "bytes", (int64_t)rpc->attachment.len);
    rc = take_locked(cs, c, call, rpc, err);
    span_end(&s, rc);
    INVARIANT(rc || c->length <= GFS_CHUNK_BYTES);
    *length = c->length;
    mutex_unlock(&c->lock);
    chunk_store_put(cs->store, c);
    return rc;
}

/* Write the bytes of @rpc here and along the chain, and answer. */
static void take_and_pass(struct chunkserver *cs,
                          const struct chunk_call *call,
                          struct rpc_call *rpc)
{
    struct chunk_answer answer = {.code = 0, .offset = call->offset};
    struct passing passing;
    struct err err = ERR_INIT;
    pass_on(&passing, cs, call, rpc);
    answer.code = chunk_write_take(cs, call, rpc, &answer.length, &err);
    await_rest(&passing);
    if (answer.code) {
        answer.text = slice_str(err.text);
        answer.failed = slice_str(cs->address);
    } else if (passing.answer.code) {
        answer.code = passing.answer.code;
        answer.text = passing.answer.text;
        answer.failed = passing.answer.failed;
    }
    chunk_answer_put(&answer, rpc->reply_body);
    buf_close(&passing.reply);
}

static int
get_call(struct rpc_call *rpc, struct chunk_call *call, struct err *err)
{
    int rc = chunk_call_get(rpc->body, call, err);
    if (rc == 0 && rpc->attachment.len > GFS_CHUNK_BYTES - call->offset)
        rc = err_set(err, ERR_TOOBIG, "bytes beyond a chunk's end");
    return rc;
}

int chunkserver_handle_write(void *ctx, struct rpc_call *rpc, struct err *err)
{
    struct chunkserver *cs = ctx;
    struct chunk_call call;
    uint8_t has;
    int rc = get_call(rpc, &call, err);
    if (rc == 0)
        rc = chunkserver_check_proof(cs, rpc, &call, PROOF_WRITE, false, &has,
                                     err);
    if (rc == 0)
        take_and_pass(cs, &call, rpc);
    return rc;
}

/* --- records ------------------------------------------------------------- */

/* Assign the record of @len bytes its offset: the next one (GFS 3.3). All
 * records of a chunk come through the chain's first server, so that there is
 * one order. */
static int chunk_write_reserve(struct chunkserver *cs,
                               struct chunk_call *call,
                               size_t len,
                               struct err *err)
{
    struct stored_chunk *c;
    int rc = find_or_make(cs, call, &c, err);
    if (rc)
        return rc;
    rc = chunk_store_file(cs->store, c, err);
    if (rc == 0)
        rc = chunkserver_check_writable(c, call->version, err);
    if (rc == 0 && c->file->granted)
        rc = err_set(err, ERR_ABORTED, "chunk %llu has a writer",
                     (unsigned long long)c->handle);
    if (rc == 0) {
        uint32_t at = MAX_OF(c->reserved, c->file->length);
        if (len > GFS_CHUNK_BYTES - at) {
            rc = err_set(err, ERR_FULL, "chunk %llu has no room for the record",
                         (unsigned long long)c->handle);
        } else {
            call->offset = at;
            INVARIANT(at >= c->reserved);
            INVARIANT(at <= GFS_CHUNK_BYTES);
            c->reserved = at + (uint32_t)len;
        }
    }
    chunk_store_put(cs->store, c);
    return rc;
}

int chunkserver_handle_append(void *ctx, struct rpc_call *rpc, struct err *err)
{
    struct chunkserver *cs = ctx;
    struct chunk_call call;
    uint8_t has;
    int rc = get_call(rpc, &call, err);
    if (rc == 0)
        rc = chunkserver_check_proof(cs, rpc, &call, PROOF_WRITE, false, &has,
                                     err);
    if (rc == 0 && rpc->attachment.len > CHUNK_RECORD_BYTES_MAX)
        rc = err_set(err, ERR_TOOBIG, "a record of %zu bytes",
                     rpc->attachment.len);
    if (rc == 0)
        rc = chunk_write_reserve(cs, &call, rpc->attachment.len, err);
    if (rc)
        return rc;
    take_and_pass(cs, &call, rpc);
    return 0;
}
