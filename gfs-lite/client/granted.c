/* Writing by grants: if all servers of the open chunk are on this machine, each
 * passes the descriptor of its file, and pieces are written there directly, as
 * sealed chunks are read (short_circuit.c). This saves copies, and three
 * wake-ups of processes for each piece. It is for logs whose pieces are flushed
 * one by one.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "gfs-lite/chunk_format.h"
#include "gfs-lite/client/file_writer.h"
#include "gfs-lite/client/gfs_client.h"

/* The first piece goes to the servers as usual, and makes the chunk; then
 * grants are requested. The length is reported to the servers at intervals, so
 * that they begin to write back and notice unsynced bytes, and so that a dead
 * server is noticed here; syncs are made by the servers.
 *
 * A piece is written when each file has it and, after that, its grant was still
 * open: see chunk_format.h. Otherwise it has failed: the chunk is recovered,
 * and the writer continues in others, by calls.
 */

/* Shorter pieces gain little. */
#define PIECE_BYTES_MIN ((size_t)16 << 10)
/* The length is reported after this many unreported bytes, */
#define REPORT_BYTES ((uint32_t)2 << 20)
/* or after this time. */
#define REPORT_US UINT64_C(250000)
/* A larger piece is written by a thread of the pool, in one go, */
#define QUICK_BYTES_MAX ((size_t)128 << 10)
/* and so are pieces after one that took longer than this, for a while, as the
 * world does with single writes. */
#define SLOW_NS       UINT64_C(20000000)
#define SLOW_PAUSE_NS UINT64_C(1000000000)
#define SLOW_PAUSE    50

struct granted {
    uint64_t chunk;
    unsigned count;
    struct file *files[GFS_REPLICAS_MAX];               /* Owned. */
    char sectors[GFS_REPLICAS_MAX][CHUNK_SECTOR_BYTES]; /* Their grants. */
    uint64_t sequence;                                  /* Of the last tail. */
    uint32_t told;        /* The length that was last reported, */
    uint64_t told_ns;     /* and when. */
    struct piece telling; /* A piece without bytes: the report. */
    bool is_reporting;
    struct chunk_sums sums;
};

/* --- asking -------------------------------------------------------------- */

static int
read_sector(struct file *f, uint64_t at, char *sector, struct err *err)
{
    size_t got = 0;
    int rc = file_read_at(f, at, sector, CHUNK_SECTOR_BYTES, &got, err);
    if (rc == 0 && got < CHUNK_SECTOR_BYTES)
        rc = err_set(err, ERR_CORRUPT, "the chunk's file is too short");
    return rc;
}

/* Is it the file of @w's chunk, with an open grant? */
static int check_file(const struct gfs_writer *w,
                      struct file *f,
                      char *sector,
                      struct err *err)
{
    struct chunk_identity id;
    struct chunk_grant g;
    char first[CHUNK_SECTOR_BYTES];
    int rc = read_sector(f, 0, first, err);
    if (rc == 0)
        rc = chunk_identity_get(first, &id, err);
    if (rc == 0)
        rc = read_sector(f, CHUNK_GRANT_AT, sector, err);
    if (rc == 0 &&
        (id.handle != w->chunk || id.version != w->version || id.sealed ||
         !chunk_grant_get(sector, &g) || !g.open || g.base != w->acknowledged))
        rc = err_set(err, ERR_ABORTED, "the file is not that of the chunk");
    return rc;
}

static int ask_one(struct gfs_writer *w, struct granted *k, struct err *err)
{
    unsigned i = k->count;
    struct gfs_descriptor wanted = {.address = w->addresses[i],
                                    .handle = w->chunk,
                                    .version = w->version,
                                    .to_write = true,
                                    .proof = w->proof};
    struct chunk_answer answer;
    int rc = gfs__fetch_descriptor(w->gfs, &wanted, &answer, &k->files[i], err);
    if (rc)
        return rc;
    k->count++;
    k->sums.crc = answer.tail_crc;
    if (answer.length != w->acknowledged)
        return err_set(err, ERR_ABORTED, "the chunk is changing");
    return check_file(w, k->files[i], k->sectors[i], err);
}

static void granted_ask(struct gfs_writer *w)
{
    struct granted *k = mem_zalloc(1, sizeof(*k));
    int rc = 0;
    k->chunk = w->chunk;
    k->sums.length = w->acknowledged;
    k->told = w->acknowledged;
    k->told_ns = world_mono_ns(w->gfs->base.world);
    w->granted = k;
    while (rc == 0 && k->count < w->servers.count)
        rc = ask_one(w, k, NULL);
    if (rc)
        gfs__close_granted(w); /* The next call ends those that were given. */
}

bool gfs__has_grant(const struct gfs_writer *w)
{
    return w->granted && w->granted->chunk == w->chunk;
}

void gfs__consider_grant(struct gfs_writer *w, size_t len, bool sync)
{
    if (gfs__has_grant(w) || w->no_grants || w->asked_grant == w->chunk ||
        !w->to_each || !w->gfs->short_circuit || w->mode != FS_WRITE_LOG ||
        sync || len < PIECE_BYTES_MIN)
        return;
    /* The first piece makes the chunk; nothing else may be under way. */
    if (!w->chunk || w->pieces || w->offset == 0)
        return;
    INVARIANT(w->acknowledged == w->offset);
    gfs__close_granted(w);
    w->asked_grant = w->chunk;
    granted_ask(w);
}

void gfs__close_granted(struct gfs_writer *w)
{
    struct granted *k = w->granted;
    if (!k)
        return;
    gfs__end_reporting(w);
    for (unsigned i = 0; i < k->count; i++)
        file_close(k->files[i]);
    mem_free(k);
    w->granted = NULL;
}

/* --- telling ------------------------------------------------------------- */

static void granted_report(struct gfs_writer *w, uint64_t now)
{
    struct granted *k = w->granted;
    if (k->is_reporting || (k->sums.length - k->told < REPORT_BYTES &&
                            now - k->told_ns < REPORT_US * 1000))
        return;
    k->told = k->sums.length;
    k->told_ns = now;
    k->is_reporting = true;
    k->telling = (struct piece){
        .writer = w, .offset = k->sums.length, .is_there = true, .failed = -1};
    gfs__start_deliveries(&k->telling);
}

/* Servers' answers to a report, if there are any, are the outcome of @p too. */
static void granted_hear(struct gfs_writer *w, struct piece *p)
{
    struct granted *k = w->granted;
    if (!k->is_reporting)
        return;
    mutex_lock(&w->mutex);
    k->is_reporting = k->telling.deliveries_left > 0;
    mutex_unlock(&w->mutex);
    if (k->is_reporting || k->telling.rc == 0)
        return;
    p->rc = err_copy(&p->err, &k->telling.err);
    p->failed = k->telling.failed;
}

void gfs__end_reporting(struct gfs_writer *w)
{
    if (!w->granted || !w->granted->is_reporting)
        return;
    gfs__await_piece(w, &w->granted->telling);
    w->granted->is_reporting = false;
}

/* --- writing ------------------------------------------------------------- */

static int
write_at(struct file *f, uint64_t at, struct slice data, struct err *err)
{
    return file_write_at(f, at, &data, 1, err);
}

/* First the bytes that the tail record describes, then the record, then the
 * check of the grant. */
static int write_one(const struct granted *k,
                     unsigned i,
                     const struct piece *p,
                     const char *tail,
                     struct err *err)
{
    const struct chunk_sums *s = &k->sums;
    struct file *f = k->files[i];
    char sector[CHUNK_SECTOR_BYTES];
    int rc = write_at(f, CHUNK_DATA_AT + (uint64_t)p->offset,
                      buf_slice(&p->data), err);
    if (rc == 0 && s->block_count)
        rc = write_at(f, CHUNK_SUMS_AT + (uint64_t)s->first_block * 4,
                      slice_make(s->entries, (size_t)s->block_count * 4), err);
    if (rc == 0)
        rc = write_at(f, chunk_writer_at(k->sequence),
                      slice_make(tail, CHUNK_SECTOR_BYTES), err);
    atomic_thread_fence(memory_order_seq_cst);
    if (rc == 0)
        rc = read_sector(f, CHUNK_GRANT_AT, sector, err);
    if (rc == 0 && memcmp(sector, k->sectors[i], sizeof(sector)) != 0)
        rc = err_set(err, ERR_ABORTED, "the grant has ended");
    return rc;
}

/* A piece written to all files. */
struct put {
    struct gfs_writer *writer;
    struct piece *piece;
    char tail[CHUNK_SECTOR_BYTES];
};

static void put_piece(void *arg)
{
    struct put *put = arg;
    struct gfs_writer *w = put->writer;
    struct piece *p = put->piece;
    for (unsigned i = 0; i < w->granted->count && p->rc == 0; i++) {
        p->rc = write_one(w->granted, i, p, put->tail, &p->err);
        if (p->rc && p->rc != ERR_ABORTED)
            p->failed = w->servers.numbers[i];
    }
}

void gfs__write_granted(struct gfs_writer *w, struct piece *p)
{
    struct granted *k = w->granted;
    struct put put = {.writer = w, .piece = p};
    uint64_t began = world_mono_ns(w->gfs->base.world);
    uint64_t now;
    INVARIANT(k->sums.length == p->offset);
    chunk_sums_add(&k->sums, buf_slice(&p->data));
    chunk_tail_put(
        &(struct chunk_tail){++k->sequence, k->sums.length, k->sums.crc},
        put.tail);
    if (p->data.len > QUICK_BYTES_MAX ||
        began < atomic_load(&w->gfs->slow_until_ns))
        offload(put_piece, &put);
    else
        put_piece(&put);
    now = world_mono_ns(w->gfs->base.world);
    if (now - began > SLOW_NS)
        atomic_store(&w->gfs->slow_until_ns,
                     now + MAX_OF(SLOW_PAUSE_NS, (now - began) * SLOW_PAUSE));
    if (p->rc == 0)
        granted_hear(w, p);
    if (p->rc == 0 && !p->sync)
        granted_report(w, now);
    w->no_grants |= p->rc != 0;
    atomic_fetch_add(&w->gfs->local_writes, p->rc == 0);
}
