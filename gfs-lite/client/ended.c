/* The chunk before the open one: it has ended, its servers sync it, and its
 * writer continues in the next one meanwhile. A sync of the file waits for it.
 * The sync begins with the second piece of the next chunk, or when it is waited
 * for: the namenode's record of that chunk would take ten times as long after a
 * whole chunk in the disk's queue.
 */
#include "base/core/panic.h"
#include "gfs-lite/client/file_writer.h"

/* The namenode knows both chunks (GFS_AHEAD). Once all servers have synced the
 * one that ended, it is sealed at the writer's length; if one fails, by a
 * recovery, like any broken chunk: all of it was acknowledged, so nothing is
 * sent again.
 */

/* A writer of the old chunk alone, with a piece that has no more bytes to send
 * and is to be synced. */
static struct gfs_writer *new_ended(struct gfs_writer *w)
{
    struct gfs_writer *e = mem_zalloc(1, sizeof(*e));
    e->gfs = w->gfs;
    e->path = mem_strdup(w->path);
    e->mode = w->mode;
    e->file = w->file;
    e->epoch = w->epoch;
    e->chunk = w->chunk;
    e->version = w->version;
    e->proof = w->proof;
    e->offset = w->offset;
    e->acknowledged = w->acknowledged;
    e->servers = w->servers;
    e->to_each = w->to_each;
    for (unsigned i = 0; i < GFS_REPLICAS_MAX; i++) {
        e->addresses[i] = w->addresses[i];
        w->addresses[i] = NULL;
    }
    mutex_init(&e->mutex);
    cond_init(&e->changed);
    return e;
}

void gfs__begin_ended(struct gfs_writer *w)
{
    struct gfs_writer *e = new_ended(w);
    struct piece *p = mem_zalloc(1, sizeof(*p));
    PRE(!w->ended && w->acknowledged == w->offset);
    p->writer = e;
    p->offset = e->offset;
    p->sync = true;
    p->is_there = true;
    p->failed = -1;
    e->pieces = p;
    e->last = &p->next;
    e->piece_count = 1;
    w->ended = e;
    w->chunk = 0;
}

void gfs__start_ended(struct gfs_writer *w)
{
    struct gfs_writer *e = w->ended;
    if (!e || e->syncs)
        return;
    e->syncs = true;
    gfs__start_deliveries(e->pieces);
}

bool gfs__is_synced(const struct gfs_writer *w)
{
    struct gfs_writer *e = w->ended;
    bool done;
    PRE(e);
    mutex_lock(&e->mutex);
    done = e->syncs && e->pieces->deliveries_left == 0;
    mutex_unlock(&e->mutex);
    return done;
}

static int ended_writer_settle(const struct gfs_writer *e, struct err *err)
{
    struct gfs_command c = {.op = GFS_OP_SETTLE,
                            .file = e->file,
                            .epoch = e->epoch,
                            .chunk = e->chunk,
                            .length = e->acknowledged};
    return gfs__execute_plain(e->gfs, &c, err);
}

int gfs__settle_ended(struct gfs_writer *w, struct err *err)
{
    struct gfs_writer *e = w->ended;
    uint64_t length;
    int rc;
    if (!e)
        return 0;
    gfs__start_ended(w);
    gfs__await_piece(e, e->pieces);
    rc = e->pieces->rc ? ERR_ABORTED : ended_writer_settle(e, err);
    if (rc == ERR_ABORTED) { /* It broke, or a recovery is under way. */
        rc = gfs__seal_broken(e, &length, err);
        for (unsigned i = 0; i < e->excluded.count; i++)
            gfs__exclude(w, e->excluded.numbers[i]);
    }
    if (rc == 0)
        gfs__drop_ended(w);
    return rc;
}

void gfs__drop_ended(struct gfs_writer *w)
{
    struct gfs_writer *e = w->ended;
    if (!e)
        return;
    w->ended = NULL;
    gfs__await_piece(e, e->pieces);
    gfs__drop_oldest(e);
    for (unsigned i = 0; i < GFS_REPLICAS_MAX; i++)
        mem_free(e->addresses[i]);
    mutex_close(&e->mutex);
    cond_close(&e->changed);
    mem_free(e->path);
    mem_free(e);
}
