/* Sealing a chunk whose writer or chain is gone (GFS 3.1 and 4.5: leases and
 * chunk versions).
 *
 *     1. A command raises its version; a later recovery has a greater one.
 *     2. The servers that can be reached are fenced: they take the new version
 *        and accept nothing of the old one from then on; each reports its
 *        length. If only one answers, it first verifies all its bytes:
 *        undetected damage must not become the file while other copies may
 *        return.
 *     3. The length is chosen (see below); copies that have as much are cut to
 *        it and sealed.
 *     4. A command records it. Replicas of an older version are stale then.
 *
 * Every acknowledged byte is on all servers of the chain, so all that are
 * reached have it, unless a power failure took unsynced bytes. A writer that is
 * alive says how much was acknowledged: shorter copies do not count, and of the
 * others the shortest gives the length, because the writer sends the rest
 * again; bytes that one server alone has are sent again too. Without a writer
 * the longest copy counts, and shorter ones get the rest first: synced bytes
 * have as many copies afterwards as before. A copy whose server has run since
 * the chunk was begun lacks nothing; if none such is reached, no live server of
 * the chain may be missing.
 */
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "gfs-lite/namenode/chain_members.h"
#include "gfs-lite/namenode/namenode_state.h"

static int recovery_unreachable(uint64_t handle,
                                const struct chain_members *all,
                                struct err *err)
{
    const struct err *why = NULL;
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].rc)
            why = &all->items[i].err;
    return err_set(err, ERR_BUSY,
                   "chunk %llu: no server that has it can be reached%s%.300s",
                   (unsigned long long)handle, why ? ": " : "",
                   why ? why->text : "");
}

/* The length that the writer, which is alive, allows. */
static int length_for_writer(uint64_t handle,
                             const struct chain_members *all,
                             const struct writer_view *writer,
                             uint64_t *length,
                             struct err *err)
{
    size_t with = 0;
    bool any = false;
    for (size_t i = 0; i < all->count; i++) {
        const struct chain_member *m = &all->items[i];
        if (m->rc || m->length < writer->acknowledged)
            continue;
        if (!any || m->length < *length)
            *length = m->length;
        any = true;
        with++;
    }
    /* Bytes that one server alone has do not count: they are sent again. */
    if (with == 1 && all->count > 1)
        *length = writer->acknowledged;
    if (!any && writer->acknowledged == 0)
        *length =
            0; /* Nothing was acknowledged: what is there may be dropped. */
    else if (!any)
        return recovery_unreachable(handle, all, err);
    POST(*length >= writer->acknowledged);
    return 0;
}

/* The length when nobody knows what was acknowledged. */
static int length_for_nobody(struct namenode *nn,
                             uint64_t handle,
                             const struct chain_members *all,
                             uint64_t *length,
                             struct err *err)
{
    bool missing = false;
    size_t without = 0;
    bool any = false;
    bool whole = false;
    *length = 0;
    for (size_t i = 0; i < all->count; i++) {
        const struct chain_member *m = &all->items[i];
        if (m->rc == ERR_NOTFOUND || m->rc == ERR_CORRUPT) {
            without++;
        } else if (m->rc == 0) {
            *length = MAX_OF(*length, m->length);
            any = true;
            whole |= m->is_whole;
        } else if (chunk_server_is_alive(&nn->servers, m->server)) {
            missing = true;
        }
    }
    if (missing && !whole)
        return recovery_unreachable(handle, all, err);
    /* Either it was never made, or a server that had begun it lost power, or
     * damage took every copy: there is nothing to wait for. */
    if (!any && without < all->count)
        return recovery_unreachable(handle, all, err);
    return 0;
}

static bool has_length(const struct chain_member *m,
                       const struct chunk_call *call)
{
    return m->rc == 0 && m->length >= call->length;
}

/* The state of a recovery. */
struct step {
    struct namenode *nn;
    uint64_t file;
    uint64_t handle;
    uint64_t version;
    uint64_t length;
    bool close;
};

static int raise_version(struct step *s, struct err *err)
{
    struct gfs_command c = {
        .op = GFS_OP_FENCE, .file = s->file, .chunk = s->handle};
    struct buf reply = BUF_INIT;
    struct gfs_result r;
    int rc = namenode_propose(s->nn, &c, &r, &reply, err);
    if (rc == 0)
        s->version = r.version;
    POST(rc || s->version > 0);
    buf_close(&reply);
    return rc;
}

static int propose_seal(struct step *s, struct err *err)
{
    struct gfs_command c = {.op = GFS_OP_SEAL,
                            .file = s->file,
                            .chunk = s->handle,
                            .version = s->version,
                            .length = s->length,
                            .flags = s->close ? GFS_CLOSE : 0};
    struct buf reply = BUF_INIT;
    struct gfs_result r;
    int rc = namenode_propose(s->nn, &c, &r, &reply, err);
    buf_close(&reply);
    return rc;
}

/* The servers that sealed it are the ones that have it. */
static void set_replicas(struct step *s, const struct chain_members *all)
{
    struct chunk *c = chunk_map_get(&s->nn->catalog.names.chunks, s->handle);
    if (!c)
        return;
    c->replica_count = 0;
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].rc == 0)
            chunk_add_replica(c, all->items[i].server);
    POST(c->replica_count <= all->count);
    s->nn->scan_due_ns = 0;
}

static int seal_all(struct step *s, struct chain_members *all, struct err *err)
{
    struct chunk_call call = {.handle = s->handle,
                              .version = (uint32_t)s->version,
                              .length = s->length};
    if (s->length == 0)
        return 0;
    chain_members_call(all, CHUNK_SEAL, &call, has_length);
    chain_members_verify_alone(all, s->handle, (uint32_t)s->version);
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].rc == 0)
            return 0;
    return recovery_unreachable(s->handle, all, err);
}

static int recovery_recover_chunk(struct step *s,
                                  const struct open_file *o,
                                  const struct chunk *c,
                                  const struct writer_view *writer,
                                  struct chain_members *all,
                                  struct err *err)
{
    struct chunk_call call = {.handle = s->handle, .version = c->version};
    int rc;
    chain_members_find(all, s->nn, o, c, writer);
    rc = raise_version(s, err);
    if (rc)
        return rc;
    call.new_version = (uint32_t)s->version;
    INVARIANT(call.new_version >= call.version); /* INV-1 of chunk_map.h */
    chain_members_call(all, CHUNK_FENCE, &call, NULL);
    chain_members_verify_alone(all, s->handle, (uint32_t)s->version);
    rc = writer->present
             ? length_for_writer(s->handle, all, writer, &s->length, err)
             : length_for_nobody(s->nn, s->handle, all, &s->length, err);
    if (rc == 0)
        chain_members_level(all, &call, s->length);
    if (rc == 0)
        rc = seal_all(s, all, err);
    if (rc == 0)
        rc = propose_seal(s, err);
    if (rc == 0)
        set_replicas(s, all);
    return rc;
}

/* One line with the answer of each server. */
static void
log_outcome(const struct step *s, const struct chain_members *all, int rc)
{
    struct buf b = BUF_INIT;
    for (size_t i = 0; i < all->count; i++) {
        const struct chain_member *m = &all->items[i];
        buf_printf(&b, " %s:%s:%llu", s->nn->catalog.servers[m->server].address,
                   m->rc ? err_name(m->rc) : "ok",
                   (unsigned long long)m->length);
    }
    log_info(s->nn->world, "namenode",
             "chunk %llu version %llu %s at %llu bytes;%s",
             (unsigned long long)s->handle, (unsigned long long)s->version,
             rc ? err_name(rc) : "sealed", (unsigned long long)s->length,
             buf_cstr(&b));
    buf_close(&b);
}

/* Between two tries to recover a file without its writer, if the first found no
 * copy: each raises the chunk's version by a command, and callers try again at
 * once. */
#define BLOCKED_US UINT64_C(300000)

static int check_not_blocked(struct namenode *nn,
                             uint64_t id,
                             uint64_t handle,
                             const struct writer_view *writer,
                             struct err *err)
{
    if (writer->present || !id_map_get(&nn->blocked, id) ||
        namenode_silent_us(nn, &nn->blocked, id) >= BLOCKED_US)
        return 0;
    return err_set(err, ERR_BUSY,
                   "chunk %llu: no server that has it could be reached a "
                   "moment ago",
                   (unsigned long long)handle);
}

/* @rc is the outcome of a recovery of file @id. */
static void note_outcome(struct namenode *nn,
                         uint64_t id,
                         const struct writer_view *writer,
                         int rc)
{
    struct last_use *u = id_map_get(&nn->blocked, id);
    PRE(id_map_get(&nn->recoveries, id)); /* INV-3 */
    if (rc == ERR_BUSY && !writer->present) {
        namenode_touch(nn, &nn->blocked, id);
    } else if (rc == 0 && u) {
        id_map_remove(&nn->blocked, id);
        mem_free(u);
    }
}

void namenode_await_recovery(struct namenode *nn, uint64_t id)
{
    mutex_lock(&nn->lock);
    while (id_map_get(&nn->recoveries, id))
        cond_wait(&nn->recovered, &nn->lock);
    mutex_unlock(&nn->lock);
}

int namenode_recover(struct namenode *nn,
                     uint64_t id,
                     uint64_t handle,
                     const struct writer_view *writer,
                     bool close,
                     uint64_t *length,
                     struct err *err)
{
    struct recovery self = {.file = id};
    struct step s = {.nn = nn, .file = id, .handle = handle, .close = close};
    const struct inode *file;
    const struct open_file *o;
    const struct chunk *c;
    struct chain_members *all;
    int rc;
    PRE(writer);
    PRE(handle);
    *length = 0;
    namenode_await_recovery(nn, id);
    file = names_by_id(&nn->catalog.names, id);
    o = id_map_get(&nn->catalog.names.open_files, id);
    c = file && !file->is_directory ? inode_last_chunk(file) : NULL;
    if (!c || c->handle != handle || c->sealed || !o)
        return err_set(err, ERR_ABORTED, "the chunk was sealed meanwhile");
    rc = check_not_blocked(nn, id, handle, writer, err);
    if (rc)
        return rc;
    INVARIANT(!id_map_get(&nn->recoveries, id)); /* INV-3 */
    id_map_put(&nn->recoveries, &self);
    all = chain_members_new();
    rc = recovery_recover_chunk(&s, o, c, writer, all, err);
    *length = s.length;
    log_outcome(&s, all, rc);
    note_outcome(nn, id, writer, rc);
    chain_members_free(all);
    mutex_lock(&nn->lock);
    id_map_remove(&nn->recoveries, id);
    cond_broadcast(&nn->recovered);
    mutex_unlock(&nn->lock);
    return rc;
}

/* --- taking over --------------------------------------------------------- */

/* A live writer may begin a chunk between the look and the command that follows
 * from it; tries before giving up. */
#define TAKE_TRIES_MAX 10

static int close_sealed(struct namenode *nn, uint64_t id, struct err *err)
{
    struct gfs_command c = {.op = GFS_OP_SEAL, .file = id, .flags = GFS_CLOSE};
    struct buf reply = BUF_INIT;
    struct gfs_result r;
    int rc = namenode_propose(nn, &c, &r, &reply, err);
    buf_close(&reply);
    return rc;
}

int namenode_take_over(struct namenode *nn, uint64_t id, struct err *err)
{
    struct writer_view gone = {.present = false};
    for (int tries = 0; tries < TAKE_TRIES_MAX; tries++) {
        const struct inode *file;
        const struct chunk *last;
        uint64_t length;
        int rc;
        namenode_await_recovery(nn, id);
        file = names_by_id(&nn->catalog.names, id);
        if (!file || !id_map_get(&nn->catalog.names.open_files, id))
            return 0;
        INVARIANT(!file->is_directory);
        last = inode_last_chunk(file);
        if (last && !last->sealed)
            rc = namenode_recover(nn, id, last->handle, &gone, true, &length,
                                  err);
        else
            rc = close_sealed(nn, id, err);
        if (rc && rc != ERR_ABORTED && rc != ERR_NOTFOUND)
            return rc;
    }
    return err_set(err, ERR_BUSY, "the file's writer keeps beginning chunks");
}
