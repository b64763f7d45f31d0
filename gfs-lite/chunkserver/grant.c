/* Grants to writers of this machine: a writer that gets a chunk's descriptor
 * appends to the file itself, as readers of this machine read it themselves.
 * The server takes over the bytes when a sync, fence, seal or read needs to
 * know them, and at intervals. chunk_file_grant.c has the records in the file.
 */
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "gfs-lite/chunkserver/chunkserver_state.h"

/* Files with a grant stay open. */
#define GRANTS_MAX (CHUNK_STORE_FILES_MAX / 4)

static size_t count_grants(const struct chunk_store *s)
{
    size_t count = 0;
    for (size_t i = 0; i < s->open_count; i++)
        count += s->open[i]->file->grant.open;
    return count;
}

static int grant_locked(struct chunkserver *cs,
                        struct stored_chunk *c,
                        uint32_t version,
                        struct err *err)
{
    int rc = chunk_store_file_locked(cs->store, c, err);
    if (rc == 0)
        rc = chunkserver_check_writable(c, version, err);
    if (rc == 0 && count_grants(cs->store) >= GRANTS_MAX)
        rc = err_set(err, ERR_EXHAUSTED, "too many writers of this machine");
    PRE(rc || !c->sealed);
    return rc ? rc : chunk_file_grant(c->file, err);
}

int chunkserver_grant(struct chunkserver *cs,
                      uint64_t handle,
                      uint32_t version,
                      struct stored_chunk **out,
                      struct err *err)
{
    struct stored_chunk *c = chunk_store_get(cs->store, handle);
    int rc;
    *out = c;
    if (!c)
        return err_set(err, ERR_NOTFOUND, "chunk %llu is not here",
                       (unsigned long long)handle);
    INVARIANT(c->pins > 0); /* INV-1 of chunk_store.h */
    mutex_lock(&c->lock);
    rc = grant_locked(cs, c, version, err);
    mutex_unlock(&c->lock);
    if (rc) {
        chunk_store_put(cs->store, c);
        *out = NULL;
    }
    return rc;
}

int chunkserver_absorb_locked(struct chunkserver *cs,
                              struct stored_chunk *c,
                              struct err *err)
{
    PRE(c->file);
    int rc = c->file->grant.open ? chunk_file_absorb(c->file, err) : 0;
    if (c->file->length == c->length)
        return rc;
    if (c->dirty_us == 0)
        c->dirty_us = world_now_us(cs->world);
    chunkserver_note_written(cs, c);
    chunk_store_update(cs->store, c);
    POST(c->length == c->file->length);
    return rc;
}

int chunkserver_absorb(struct chunkserver *cs,
                       struct stored_chunk *c,
                       struct err *err)
{
    int rc = 0;
    PRE(c->pins > 0); /* INV-1 of chunk_store.h */
    if (!c->file || !c->file->grant.open)
        return 0;
    mutex_lock(&c->lock);
    if (c->file)
        rc = chunkserver_absorb_locked(cs, c, err);
    mutex_unlock(&c->lock);
    return rc;
}
