/* Record append (GFS 3.3): the first server of the open chunk's chain assigns
 * each record its offset, so that many writers need no order among themselves.
 * A chunk that is full or broken is left, and the record tried in the next.
 */
#include "base/core/arena.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "gfs-lite/client/gfs_client.h"

#define RETRY_US UINT64_C(50000)

/* The file, as far as it is known here. */
struct target {
    struct gfs *gfs;
    struct slice path; /* Below the root of all. */
    uint64_t file;
    uint64_t epoch;
    struct gfs_chunk chunk; /* handle 0: none is open. */
};

static int open_shared(struct target *t, struct err *err)
{
    struct gfs_command c = {
        .op = GFS_OP_APPEND_OPEN, .path = t->path, .flags = GFS_SHARED};
    struct buf reply = BUF_INIT;
    struct gfs_result r;
    int rc = gfs__execute(t->gfs, &c, &r, &reply, err);
    if (rc == ERR_NOTFOUND) {
        c.op = GFS_OP_CREATE;
        c.flags = GFS_SHARED | GFS_EXCLUSIVE;
        c.replication = t->gfs->replication;
        rc = gfs__execute(t->gfs, &c, &r, &reply, err);
        if (rc == ERR_EXISTS) /* Another appender was faster. */
            rc = err_set(err, ERR_UNAVAILABLE, "the file is being made");
    }
    if (rc == 0) {
        t->file = r.file;
        t->epoch = r.epoch;
    }
    buf_close(&reply);
    return rc;
}

/* The open chunk at the file's end, and where it begins. */
static int find_chunk(struct target *t, struct err *err)
{
    struct gfs_layout l;
    struct buf reply = BUF_INIT;
    struct arena a;
    int rc;
    t->chunk.handle = 0;
    arena_init(&a);
    rc = gfs__layout(t->gfs, SLICE_EMPTY, t->file, UINT64_MAX, &a, &reply, &l,
                     err);
    for (size_t i = 0; rc == 0 && i < l.chunk_count; i++)
        if (!l.chunks[i].sealed)
            t->chunk = l.chunks[i];
    arena_close(&a);
    buf_close(&reply);
    return rc;
}

/* Have another chunk opened; @full, the one before, takes no more. */
static int next_chunk(struct target *t, uint64_t full, struct err *err)
{
    struct gfs_command c = {.op = GFS_OP_ALLOCATE,
                            .file = t->file,
                            .epoch = t->epoch,
                            .chunk = full};
    int rc = gfs__execute_plain(t->gfs, &c, err);
    return rc ? rc : find_chunk(t, err);
}

static int call_primary(struct target *t,
                        struct slice record,
                        struct chunk_answer *answer,
                        struct err *err)
{
    struct chunk_call call = {.handle = t->chunk.handle,
                              .version = t->chunk.version,
                              .length = record.len,
                              .flags = CHUNK_MAKE,
                              .proof = t->chunk.proof};
    char *addresses[GFS_REPLICAS_MAX] = {NULL};
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    int rc = 0;
    /* The namenode may know no server of a chunk that is being recovered. */
    if (t->chunk.servers.count == 0)
        rc = err_set(err, ERR_UNAVAILABLE, "no server has the open chunk");
    for (unsigned i = 0; i < t->chunk.servers.count && rc == 0; i++) {
        addresses[i] = gfs__server_address(t->gfs, t->chunk.servers.numbers[i]);
        if (!addresses[i])
            rc = err_set(err, ERR_UNAVAILABLE,
                         "a server's address is not "
                         "known");
        else if (i > 0)
            call.chain[call.chain_count++] = slice_str(addresses[i]);
    }
    chunk_call_put(&call, &body);
    if (rc == 0)
        rc = peers_call(t->gfs->peers, slice_str(addresses[0]), CHUNK_APPEND,
                        t->chunk.servers.count * CHUNK_CHAIN_UNIT_US,
                        buf_slice(&body), record, &reply, NULL, err);
    if (rc == 0)
        rc = chunk_answer_get(buf_slice(&reply), answer, err);
    if (rc == 0 && answer->code)
        rc = err_set(err, answer->code, "%.*s", SLICE_ARG(answer->text));
    for (unsigned i = 0; i < GFS_REPLICAS_MAX; i++)
        mem_free(addresses[i]);
    buf_close(&body);
    buf_close(&reply);
    return rc;
}

/* Is it worth a retry, of a file that is opened again if it was closed or
 * removed? */
static bool may_pass(int rc)
{
    return rc == ERR_UNAVAILABLE || rc == ERR_BUSY || rc == ERR_ABORTED ||
           rc == ERR_NOTFOUND;
}

/* One try. If the chunk fails the next one is requested. */
static int try_append(struct target *t,
                      struct slice record,
                      uint64_t *offset,
                      struct err *err)
{
    struct chunk_answer answer;
    struct err why = ERR_INIT;
    int next;
    int rc = t->file ? 0 : open_shared(t, err);
    if (rc == 0 && !t->chunk.handle)
        rc = find_chunk(t, err);
    if (rc == 0 && !t->chunk.handle)
        rc = next_chunk(t, 0, err);
    if (rc)
        return rc;
    rc = call_primary(t, record, &answer, err);
    if (rc == 0) {
        *offset = t->chunk.offset + answer.offset;
        return 0;
    }
    /* Full, or broken: either way it takes no more. */
    next = next_chunk(t, t->chunk.handle, &why);
    if (next && !may_pass(next))
        return err_copy(err, &why);
    if (err)
        err->code = ERR_UNAVAILABLE;
    return ERR_UNAVAILABLE;
}

int gfs_record_append(struct fs *fs,
                      const char *path,
                      struct slice record,
                      uint64_t *offset,
                      struct err *err)
{
    struct target t = {.gfs = gfs_of(fs)};
    struct buf full = BUF_INIT;
    uint64_t until = world_mono_ns(fs->world) + t.gfs->timeout_us * 1000;
    int rc = gfs__path(t.gfs, path, &full, err);
    PRE(fs_is_gfs(fs));
    if (rc == 0 && record.len > CHUNK_RECORD_BYTES_MAX)
        rc = err_set(err, ERR_TOOBIG, "a record of %zu bytes, at most %u",
                     record.len, CHUNK_RECORD_BYTES_MAX);
    t.path = buf_slice(&full);
    while (rc == 0) {
        rc = try_append(&t, record, offset, err);
        if (rc == 0)
            break;
        if (!may_pass(rc))
            break;
        if (rc == ERR_ABORTED || rc == ERR_NOTFOUND)
            t.file = 0; /* It was closed or removed meanwhile. */
        if (gfs__gives_up(t.gfs, until))
            break;
        world_sleep_us(fs->world, RETRY_US);
        rc = 0;
    }
    buf_close(&full);
    return rc;
}
