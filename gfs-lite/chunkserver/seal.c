/* The end of a chunk's writing. A fence raises the version, after which nothing
 * of the old version is accepted (GFS 4.5); a seal cuts the chunk to the length
 * that the namenode chose and syncs it.
 */
#include "base/core/panic.h"
#include "base/runtime/log.h"
#include "gfs-lite/chunkserver/chunkserver_state.h"

static void answer_state(const struct stored_chunk *c, struct buf *reply)
{
    chunk_answer_put(&(struct chunk_answer){.length = c->length,
                                            .version = c->version,
                                            .sealed = c->sealed,
                                            .found = c->found != 0},
                     reply);
}

static int fence_locked(struct chunkserver *cs,
                        struct stored_chunk *c,
                        const struct chunk_call *call,
                        struct err *err)
{
    int rc = chunk_store_file_locked(cs->store, c, err);
    if (rc)
        return rc;
    if (c->version < call->version || c->version > call->new_version)
        return err_set(err, ERR_ABORTED, "chunk %llu is of version %u here",
                       (unsigned long long)c->handle, c->version);
    if (c->version == call->new_version)
        return 0;
    INVARIANT(call->new_version > c->version);
    rc = chunk_file_end_grant(c->file, err);
    if (rc == 0)
        rc = chunk_file_set_version(c->file, call->new_version, err);
    chunk_store_update(cs->store, c);
    chunk_store_report(cs->store, c);
    POST(rc || c->version == call->new_version);
    if (rc)
        c->failed = rc;
    return rc;
}

/* Is this the server that @call means? One that lost its disk and has its
 * address must not answer for it: "not here" would say that the chunk never had
 * bytes. */
static int check_is_meant(const struct chunkserver *cs,
                          const struct chunk_call *call,
                          struct err *err)
{
    if (call->own_id == 0 || call->own_id == cs->store->own_id)
        return 0;
    return err_set(err, ERR_ABORTED,
                   "chunk %llu: the server that had this address, and its "
                   "disk, are gone",
                   (unsigned long long)call->handle);
}

/* Decode @rpc and pin the chunk that it names. */
static int find_chunk(struct chunkserver *cs,
                      const struct rpc_call *rpc,
                      struct chunk_call *call,
                      struct stored_chunk **out,
                      struct err *err)
{
    int rc = chunk_call_get(rpc->body, call, err);
    if (rc == 0)
        rc = check_is_meant(cs, call, err);
    if (rc)
        return rc;
    *out = chunk_store_get(cs->store, call->handle);
    if (!*out)
        return err_set(err, ERR_NOTFOUND, "chunk %llu is not here",
                       (unsigned long long)call->handle);
    return 0;
}

int chunkserver_handle_fence(void *ctx, struct rpc_call *rpc, struct err *err)
{
    struct chunkserver *cs = ctx;
    struct stored_chunk *c;
    struct chunk_call call;
    int rc = find_chunk(cs, rpc, &call, &c, err);
    if (rc == ERR_NOTFOUND)
        cs->unmade[cs->unmade_count++ % UNMADE_MAX] = call.handle;
    if (rc)
        return rc;
    mutex_lock(&c->lock);
    rc = fence_locked(cs, c, &call, err);
    if (rc == 0)
        answer_state(c, rpc->reply_body);
    mutex_unlock(&c->lock);
    chunk_store_put(cs->store, c);
    return rc;
}

static int seal_locked(struct chunkserver *cs,
                       struct stored_chunk *c,
                       uint32_t version,
                       uint32_t length,
                       struct err *err)
{
    int rc = chunk_store_file_locked(cs->store, c, err);
    if (rc)
        return rc;
    if (c->version != version)
        return err_set(err, ERR_ABORTED, "chunk %llu is of version %u here",
                       (unsigned long long)c->handle, c->version);
    if (c->sealed && c->length == length)
        return 0;
    rc = chunk_file_end_grant(c->file, err);
    if (rc)
        return rc;
    if (c->sealed || c->file->length < length)
        return err_set(err, ERR_ABORTED, "chunk %llu has %u bytes here",
                       (unsigned long long)c->handle, c->length);
    INVARIANT(!c->sealed);
    INVARIANT(length <= c->file->length);
    if (c->failed)
        rc = chunk_file_rewrite(c->file, err);
    if (rc == 0)
        rc = chunk_file_seal(c->file, length, err);
    if (rc == ERR_CORRUPT) {
        chunk_store_note_damage(cs->store, c, err);
    } else if (rc) {
        c->failed = rc;
    } else { /* The failed bytes were not acknowledged. */
        c->dirty_us = 0;
        c->failed = 0;
    }
    chunk_store_update(cs->store, c);
    chunk_store_report(cs->store, c);
    POST(rc || (c->sealed && c->length == length && c->version == version));
    return rc;
}

int chunkserver_seal(struct chunkserver *cs,
                     struct stored_chunk *c,
                     uint32_t version,
                     uint32_t length,
                     struct err *err)
{
    int rc;
    PRE(c->pins > 0); /* INV-1 of chunk_store.h */
    mutex_lock(&c->lock);
    rc = seal_locked(cs, c, version, length, err);
    mutex_unlock(&c->lock);
    return rc;
}

int chunkserver_handle_seal(void *ctx, struct rpc_call *rpc, struct err *err)
{
    struct chunkserver *cs = ctx;
    struct stored_chunk *c;
    struct chunk_call call;
    uint8_t has;
    int rc = chunk_call_get(rpc->body, &call, err);
    if (rc == 0)
        rc = chunkserver_check_proof(cs, rpc, &call, 0, true, &has, err);
    if (rc == 0)
        rc = find_chunk(cs, rpc, &call, &c, err);
    if (rc)
        return rc;
    rc = chunkserver_seal(cs, c, call.version, (uint32_t)call.length, err);
    log_debug(cs->world, "chunk",
              "seal chunk=%llu version=%llu bytes=%llu "
              "code=%d",
              (unsigned long long)call.handle, (unsigned long long)call.version,
              (unsigned long long)call.length, rc);
    if (rc == 0)
        answer_state(c, rpc->reply_body);
    chunk_store_put(cs->store, c);
    return rc;
}
