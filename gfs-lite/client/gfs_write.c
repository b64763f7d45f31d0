/* Writing a file: pieces go to the open chunk's servers, several at once, and
 * are kept until all of them have acknowledged.
 *
 * When a piece fails, the chunk ends: the namenode has it sealed at a length
 * that covers all acknowledged bytes, and the bytes beyond it are sent again,
 * into a new chunk, on other servers while there are enough. So a file whose
 * servers failed has shorter chunks; no acknowledged byte is ever moved or sent
 * twice.
 */
#include "base/core/arena.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "gfs-lite/client/file_writer.h"
#include "gfs-lite/client/gfs_client.h"

/* A stream's bytes are gathered up to this size. */
#define PIECE_BYTES ((size_t)512 << 10)
/* A log's pieces are synced together: they are cut only where they would delay
 * a server's other callers. */
#define LOG_PIECE_BYTES ((size_t)1 << 20)
/* Pieces under way at once. */
#define PIECES_MAX 8
/* A server that failed is avoided for this long. */
#define FORGIVE_US UINT64_C(10000000)
/* Between tries to recover. */
#define RETRY_US UINT64_C(100000)
/* Chunk servers that refuse a fresh proof for longer do not merely lack its
 * key, which comes with their heartbeats. */
#define DENIED_US UINT64_C(5000000)

static struct gfs_writer *writer_of(struct fs_writer *base)
{
    return (struct gfs_writer *)base;
}

/* Is it worth a retry? Other errors of the namenode are final: waiting does not
 * give a right. */
static bool may_pass(int rc)
{
    return rc == ERR_BUSY || rc == ERR_UNAVAILABLE;
}

/* Retries have lasted long enough. */
static int has_not_passed(struct err *err)
{
    if (err)
        err->code = ERR_UNAVAILABLE;
    return ERR_UNAVAILABLE;
}

/* --- chunks -------------------------------------------------------------- */

static void forget_addresses(struct gfs_writer *w)
{
    for (unsigned i = 0; i < GFS_REPLICAS_MAX; i++) {
        mem_free(w->addresses[i]);
        w->addresses[i] = NULL;
    }
}

static bool are_all_here(struct gfs_writer *w)
{
    for (unsigned i = 0; i < w->servers.count; i++)
        if (gfs__distance(w->gfs, w->servers.numbers[i]) > 0)
            return false;
    return true;
}

static bool goes_to_each(struct gfs_writer *w)
{
    switch (w->gfs->write_way) {
    case GFS_WRITE_BY_DISTANCE: return are_all_here(w);
    case GFS_WRITE_ALONG_CHAIN: return false;
    case GFS_WRITE_TO_EACH: return true;
    }
    return false;
}

/* The addresses of w->servers, from a layout if one is not known. */
static int find_addresses(struct gfs_writer *w, struct err *err)
{
    bool asked = false;
    forget_addresses(w);
    for (unsigned i = 0; i < w->servers.count; i++) {
        w->addresses[i] = gfs__server_address(w->gfs, w->servers.numbers[i]);
        if (!w->addresses[i] && !asked) {
            struct gfs_layout l;
            struct buf reply = BUF_INIT;
            struct arena a;
            int rc;
            arena_init(&a);
            rc = gfs__layout(w->gfs, SLICE_EMPTY, w->file, 0, &a, &reply, &l,
                             err);
            arena_close(&a);
            buf_close(&reply);
            if (rc)
                return rc;
            asked = true;
            w->addresses[i] =
                gfs__server_address(w->gfs, w->servers.numbers[i]);
        }
        if (!w->addresses[i])
            return err_set(err, ERR_UNAVAILABLE,
                           "a chunk server's address is "
                           "not known");
    }
    w->to_each = goes_to_each(w);
    return 0;
}

/* Request the next chunk after w->unsealed, or after w->ended, which stays as
 * it is. */
static int ask_for_chunk(struct gfs_writer *w, struct err *err)
{
    struct gfs_command c = {.op = GFS_OP_ALLOCATE,
                            .file = w->file,
                            .epoch = w->epoch,
                            .chunk = w->unsealed,
                            .length = w->unsealed_length,
                            .servers = w->excluded,
                            .text = slice_str(w->gfs->machine)};
    struct buf reply = BUF_INIT;
    struct gfs_result r;
    int rc;
    if (w->ended) {
        c.chunk = w->ended->chunk;
        c.length = w->ended->acknowledged;
        c.flags = GFS_AHEAD;
    }
    rc = gfs__execute(w->gfs, &c, &r, &reply, err);
    if (rc == 0) {
        w->chunk = r.chunk;
        w->version = (uint32_t)r.version;
        w->proof = r.proof;
        w->servers = r.servers;
        w->offset = 0;
        w->acknowledged = 0;
        w->unsealed = 0;
    }
    buf_close(&reply);
    return rc;
}

static int try_allocate(struct gfs_writer *w, struct err *err)
{
    int rc = w->unsealed ? gfs__settle_ended(w, err) : 0;
    if (rc == 0)
        rc = ask_for_chunk(w, err);
    if (rc == ERR_ABORTED && w->ended) { /* Another recovery is under way. */
        rc = gfs__settle_ended(w, err);
        if (rc == 0)
            rc = ask_for_chunk(w, err);
    }
    return rc;
}

/* Servers that failed a while ago may work again; the namenode knows if not. */
static void gfs_write_forgive(struct gfs_writer *w)
{
    if (world_mono_ns(w->gfs->base.world) - w->excluded_ns > FORGIVE_US * 1000)
        w->excluded.count = 0;
}

/* Begin a chunk. Waits if there are no servers for a moment. */
static int gfs_write_allocate(struct gfs_writer *w, struct err *err)
{
    struct world *world = w->gfs->base.world;
    uint64_t until = world_mono_ns(world) + w->gfs->timeout_us * 1000;
    gfs_write_forgive(w);
    for (;;) {
        int rc = try_allocate(w, err);
        if (rc && rc != ERR_BUSY)
            return rc;
        if (rc == 0)
            rc = find_addresses(w, err);
        log_debug(world, "gfs", "%s: begins chunk=%llu code=%d", w->path,
                  (unsigned long long)w->chunk, rc);
        if (!may_pass(rc))
            return rc;
        /* The servers that failed before may be the only ones alive. */
        w->excluded.count = 0;
        if (w->chunk) {
            w->unsealed = w->chunk;
            w->unsealed_length = 0;
            w->chunk = 0;
        }
        if (gfs__gives_up(w->gfs, until))
            return has_not_passed(err);
        world_sleep_us(world, RETRY_US);
    }
}

/* --- recovery ------------------------------------------------------------ */

static int try_recover(struct gfs_writer *w, uint64_t *length, struct err *err)
{
    struct gfs_recovery q = {.file = w->file,
                             .epoch = w->epoch,
                             .chunk = w->chunk,
                             .acknowledged = w->acknowledged,
                             .failed = w->excluded};
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    struct gfs_result r = {.code = 0};
    int rc;
    gfs_recovery_put(&q, &body);
    rc = leader_call(w->gfs->leader, GFS_RECOVER, w->gfs->timeout_us,
                     buf_slice(&body), SLICE_EMPTY, &reply, NULL, err);
    if (rc == 0)
        rc = gfs_result_get(buf_slice(&reply), &r, err);
    *length = r.length;
    buf_close(&body);
    buf_close(&reply);
    return rc;
}

void gfs__exclude(struct gfs_writer *w, uint16_t number)
{
    if (w->excluded.count == GFS_REPLICAS_MAX)
        w->excluded.count = 0;
    w->excluded_ns = world_mono_ns(w->gfs->base.world);
    w->excluded.numbers[w->excluded.count++] = number;
    gfs__forget_server(w->gfs, number);
}

/* Wait for all pieces and record which server failed. */
static void gfs_write_blame(struct gfs_writer *w)
{
    gfs__end_reporting(w);
    gfs_write_forgive(w);
    for (struct piece *p = w->pieces; p; p = p->next) {
        gfs__await_piece(w, p);
        if (p->rc == 0)
            continue;
        log_info(w->gfs->base.world, "gfs", "%s: chunk %llu: %s", w->path,
                 (unsigned long long)w->chunk, p->err.text);
        if (p->failed >= 0)
            gfs__exclude(w, (uint16_t)p->failed);
    }
}

/* The chunk was sealed at @length: drop the bytes up to there, and move the
 * others to the next one. */
static void drop_sealed(struct gfs_writer *w, uint32_t length)
{
    while (w->pieces &&
           w->pieces->offset + (uint32_t)w->pieces->data.len <= length)
        gfs__drop_oldest(w);
    if (w->pieces && w->pieces->offset < length) {
        buf_consume(&w->pieces->data, length - w->pieces->offset);
        w->pieces->offset = length;
    }
    w->chunk = 0;
    w->unsealed = 0;
}

static void send_again(struct gfs_writer *w)
{
    w->offset = 0;
    for (struct piece *p = w->pieces; p; p = p->next) {
        p->offset = w->offset;
        w->offset += (uint32_t)p->data.len;
        INVARIANT(w->offset <= w->gfs->chunk_bytes); /* INV-1 */
        gfs__send_piece(p);
    }
}

int gfs__seal_broken(struct gfs_writer *w, uint64_t *length, struct err *err)
{
    struct world *world = w->gfs->base.world;
    uint64_t until = world_mono_ns(world) + w->gfs->timeout_us * 1000;
    int rc;
    atomic_fetch_add(&w->gfs->recoveries, 1);
    gfs_write_blame(w);
    while ((rc = try_recover(w, length, err)) == ERR_BUSY &&
           !gfs__gives_up(w->gfs, until)) {
        w->excluded.count = 0; /* They may be the only ones. */
        world_sleep_us(world, RETRY_US);
    }
    return rc == ERR_BUSY ? has_not_passed(err) : rc;
}

/* Servers have accepted bytes. */
static void note_progress(struct gfs_writer *w)
{
    w->failing_ns = 0;
    w->denied = false;
}

/* @p failed, as others may have before it: is another chunk worth a try?
 * Repeated refusals of fresh proofs are final. Parks. */
static int
judge_failure(struct gfs_writer *w, const struct piece *p, struct err *err)
{
    uint64_t now = world_mono_ns(w->gfs->base.world);
    bool again = p->rc == ERR_DENIED && w->denied;
    bool final;
    if (!w->failing_ns)
        w->failing_ns = now;
    final = again && now - w->failing_ns >= DENIED_US * 1000;
    if (again && !final)
        world_sleep_us(w->gfs->base.world, RETRY_US);
    w->denied = p->rc == ERR_DENIED;
    if (now - w->failing_ns >= w->gfs->timeout_us * 1000)
        final = true;
    return final ? err_copy(err, &p->err) : 0;
}

/* A piece failed: have the chunk sealed, and first the one before it; continue
 * in another. */
static int gfs_write_recover(struct gfs_writer *w, struct err *err)
{
    uint64_t length = 0;
    int rc = gfs__settle_ended(w, err);
    if (rc == 0)
        rc = gfs__seal_broken(w, &length, err);
    if (rc)
        return rc;
    if (length > 0)
        note_progress(w);
    drop_sealed(w, (uint32_t)length);
    if (!w->pieces)
        return 0;
    rc = gfs_write_allocate(w, err);
    if (rc == 0)
        send_again(w);
    return rc;
}

/* --- pieces -------------------------------------------------------------- */

/* No more is written; pieces under way finish first. */
static int gfs_write_fail(struct gfs_writer *w, int rc)
{
    w->failed = rc;
    for (struct piece *p = w->pieces; p; p = p->next)
        gfs__await_piece(w, p);
    while (w->pieces)
        gfs__drop_oldest(w);
    return rc;
}

/* Wait until at most @max pieces are under way. */
static int await_pieces(struct gfs_writer *w, size_t max, struct err *err)
{
    while (w->piece_count > max) {
        struct piece *p = w->pieces;
        gfs__await_piece(w, p);
        if (p->rc) {
            int rc = judge_failure(w, p, err);
            if (rc == 0)
                rc = gfs_write_recover(w, err);
            if (rc) {
                err_wrap(err, "%s", w->path);
                return gfs_write_fail(w, rc);
            }
        } else {
            w->acknowledged = p->offset + (uint32_t)p->data.len;
            note_progress(w);
            gfs__drop_oldest(w);
        }
    }
    return 0;
}

/* Wait for the chunk before the open one. */
static int await_ended(struct gfs_writer *w, struct err *err)
{
    int rc = gfs__settle_ended(w, err);
    if (rc == 0)
        return 0;
    err_wrap(err, "%s", w->path);
    return gfs_write_fail(w, rc);
}

/* The chunk is full: another begins with the next byte. If not @synced, its
 * sync begins then; at most one such chunk exists. */
static int end_chunk(struct gfs_writer *w, bool synced, struct err *err)
{
    int rc = await_pieces(w, 0, err);
    /* A recovery may have begun another chunk, which is not full. */
    if (rc || !w->chunk || w->acknowledged < w->gfs->chunk_bytes)
        return rc;
    gfs__end_reporting(w);
    rc = await_ended(w, err);
    if (rc)
        return rc;
    if (!synced) {
        gfs__begin_ended(w);
        return 0;
    }
    w->unsealed = w->chunk;
    w->unsealed_length = w->acknowledged;
    w->chunk = 0;
    return 0;
}

/* Send @data (moved) after the bytes sent before. */
static int gfs_write_push(struct gfs_writer *w,
                          struct buf *data,
                          bool sync,
                          struct err *err)
{
    struct piece *p;
    int rc = await_pieces(w, PIECES_MAX - 1, err);
    if (rc == 0 && w->ended && gfs__is_synced(w))
        rc = await_ended(w, err);
    if (rc == 0 && !w->chunk) {
        rc = gfs_write_allocate(w, err);
        if (rc)
            return gfs_write_fail(w, rc);
    }
    if (rc)
        return rc;
    gfs__consider_grant(w, data->len, sync || w->syncs);
    if (w->offset > 0) /* The chunk after it takes bytes. */
        gfs__start_ended(w);
    p = mem_zalloc(1, sizeof(*p));
    p->writer = w;
    p->data = *data;
    *data = BUF_INIT;
    p->offset = w->offset;
    w->offset += (uint32_t)p->data.len;
    INVARIANT(w->offset <= w->gfs->chunk_bytes); /* INV-1 */
    p->sync = sync;
    *w->last = p;
    w->last = &p->next;
    w->piece_count++;
    gfs__send_piece(p);
    return w->offset == w->gfs->chunk_bytes ? end_chunk(w, sync, err) : 0;
}

/* Bytes the next piece may have. */
static size_t gfs_write_room(const struct gfs_writer *w)
{
    size_t in_chunk = w->gfs->chunk_bytes - (w->chunk ? w->offset : 0);
    size_t piece = w->mode == FS_WRITE_LOG ? LOG_PIECE_BYTES : PIECE_BYTES;
    return MIN_OF(piece, in_chunk);
}

static int closed_by_error(struct gfs_writer *w, struct err *err)
{
    return err_set(err, w->failed, "%s: an earlier write failed", w->path);
}

/* Take over @data, and send whole pieces. */
static int
gfs_write_gather(struct gfs_writer *w, struct slice rest, struct err *err)
{
    int rc = 0;
    if (w->failed)
        return closed_by_error(w, err);
    while (rc == 0 && rest.len) {
        size_t step = MIN_OF(rest.len, gfs_write_room(w) - w->buffer.len);
        buf_append(&w->buffer, rest.data, step);
        w->base.offset += step;
        rest = slice_sub(rest, step, rest.len);
        w->unsynced = true;
        if (w->buffer.len >= gfs_write_room(w))
            rc = gfs_write_push(w, &w->buffer, false, err);
    }
    return rc;
}

int gfs__append(struct fs_writer *base,
                const void *data,
                size_t len,
                struct err *err)
{
    struct gfs_writer *w = writer_of(base);
    int rc = gfs_write_gather(w, slice_make(data, len), err);
    /* A log's bytes are sent at once; a stream's when there are enough. */
    if (rc == 0 && w->mode == FS_WRITE_LOG && w->buffer.len)
        rc = gfs_write_push(w, &w->buffer, false, err);
    return rc;
}

int gfs__flush(struct fs_writer *base, struct err *err)
{
    struct gfs_writer *w = writer_of(base);
    int rc = 0;
    if (w->failed)
        return closed_by_error(w, err);
    if (w->buffer.len)
        rc = gfs_write_push(w, &w->buffer, false, err);
    return rc ? rc : await_pieces(w, 0, err);
}

int gfs__sync(struct fs_writer *base, struct err *err)
{
    struct gfs_writer *w = writer_of(base);
    int rc = 0;
    if (w->failed)
        return closed_by_error(w, err);
    if (!w->unsynced)
        return 0;
    /* An ended chunk is synced, unless it was the last one. */
    if (w->buffer.len || w->chunk)
        rc = gfs_write_push(w, &w->buffer, true, err);
    if (rc == 0)
        rc = await_pieces(w, 0, err);
    if (rc == 0)
        rc = await_ended(w, err);
    if (rc == 0)
        w->unsynced = false;
    return rc;
}

/* The last piece of the bytes carries the request to sync them. */
int gfs__append_sync(struct fs_writer *base,
                     const void *data,
                     size_t len,
                     struct err *err)
{
    struct gfs_writer *w = writer_of(base);
    int rc;
    w->syncs = true;
    rc = gfs_write_gather(w, slice_make(data, len), err);
    w->syncs = false;
    return rc ? rc : gfs__sync(base, err);
}

/* --- life ---------------------------------------------------------------- */

static void new_writer(struct gfs *g,
                       const char *path,
                       enum fs_write_mode mode,
                       const struct gfs_result *r,
                       struct fs_writer **out)
{
    struct gfs_writer *w = mem_zalloc(1, sizeof(*w));
    w->base.fs = &g->base;
    w->base.offset = r->length;
    w->gfs = g;
    w->path = mem_strdup(path);
    w->mode = mode;
    w->file = r->file;
    w->epoch = r->epoch;
    w->last = &w->pieces;
    mutex_init(&w->mutex);
    cond_init(&w->changed);
    *out = &w->base;
}

static int open_writer(struct fs *fs,
                       struct gfs_command c,
                       const char *path,
                       const struct fs_write_options *opts,
                       struct fs_writer **out,
                       struct err *err)
{
    struct gfs *g = gfs_of(fs);
    struct buf full = BUF_INIT;
    struct buf reply = BUF_INIT;
    struct gfs_result r;
    int rc = gfs__path(g, path, &full, err);
    c.path = buf_slice(&full);
    c.replication = opts->replication ? opts->replication : g->replication;
    if (opts->exclusive)
        c.flags |= GFS_EXCLUSIVE;
    if (rc == 0)
        rc = gfs__execute(g, &c, &r, &reply, err);
    if (rc == 0)
        new_writer(g, path, opts->mode, &r, out);
    buf_close(&full);
    buf_close(&reply);
    return rc;
}

int gfs__create(struct fs *fs,
                const char *path,
                const struct fs_write_options *opts,
                struct fs_writer **out,
                struct err *err)
{
    return open_writer(fs, (struct gfs_command){.op = GFS_OP_CREATE}, path,
                       opts, out, err);
}

int gfs_append_open(struct fs *fs,
                    const char *path,
                    const struct fs_write_options *opts,
                    struct fs_writer **out,
                    struct err *err)
{
    PRE(fs_is_gfs(fs));
    *out = NULL;
    return open_writer(fs, (struct gfs_command){.op = GFS_OP_APPEND_OPEN}, path,
                       opts, out, err);
}

/* One try: a failed writer does not wait long. */
static int try_settle(struct gfs_writer *w)
{
    uint64_t length;
    if (!w->ended)
        return 0;
    gfs__start_ended(w);
    gfs__await_piece(w->ended, w->ended->pieces);
    return try_recover(w->ended, &length, NULL);
}

/* Close the file at the namenode, with its length. A failed writer has its
 * chunk sealed first, at whatever length. */
static void close_file(struct gfs_writer *w)
{
    struct gfs_command c = {.op = GFS_OP_CLOSE,
                            .file = w->file,
                            .epoch = w->epoch,
                            .chunk = w->chunk ? w->chunk : w->unsealed,
                            .length = w->chunk ? w->acknowledged
                                               : w->unsealed_length};
    uint64_t length;
    int rc;
    /* If this fails the namenode does it when it closes the file. */
    (void)!(w->failed ? try_settle(w) : gfs__settle_ended(w, NULL));
    gfs__drop_ended(w);
    if (w->failed && w->chunk && try_recover(w, &length, NULL) == 0)
        c.chunk = 0;
    rc = gfs__execute_plain(w->gfs, &c, NULL);
    if (rc == ERR_UNAVAILABLE || rc == ERR_BUSY)
        gfs__close_later(w->gfs, c.file, c.epoch, c.chunk, c.length);
}

void gfs__writer_close(struct fs_writer *base)
{
    struct gfs_writer *w = writer_of(base);
    if (!w->failed && gfs__flush(base, NULL))
        w->failed = ERR_IO; /* Nothing was promised: see fs.h. */
    close_file(w);
    while (w->pieces)
        gfs__drop_oldest(w);
    gfs__close_granted(w);
    forget_addresses(w);
    buf_close(&w->buffer);
    mutex_close(&w->mutex);
    cond_close(&w->changed);
    mem_free(w->path);
    mem_free(w);
}
