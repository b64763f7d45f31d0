/* Pieces of a file on their way to a chunk's servers: along their chain (GFS
 * 3.2), or to each of them directly if all are on this machine or the options
 * say so: a chain saves the network's bandwidth, and each of its steps costs
 * two hand-overs between processes.
 *
 * Either way each server writes the bytes at their offset. A piece is
 * acknowledged when all have answered; one written by a grant (granted.c) needs
 * no answers but for a sync.
 */
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "base/rpc/rpc.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/trace/span.h"
#include "gfs-lite/client/file_writer.h"
#include "gfs-lite/client/gfs_client.h"

/* Of copies on one machine the first is read: see find_local() in
 * gfs_read.c. */
static uint32_t flags_of(const struct delivery *d)
{
    const struct piece *p = d->piece;
    uint32_t flags = CHUNK_MAKE; /* Any piece may be the first to arrive. */
    if (p->sync)
        flags |= CHUNK_SYNC;
    if (p->writer->to_each && d->server > 0)
        flags |= CHUNK_UNREAD;
    return flags;
}

/* The call of @d to its server: write the bytes, and forward them unless the
 * others get them from here; or report the length written by a grant. */
static int
call_server(struct delivery *d, struct chunk_answer *answer, struct err *err)
{
    const struct piece *p = d->piece;
    struct gfs_writer *w = p->writer;
    unsigned rest = w->to_each ? 0 : w->servers.count - 1;
    struct slice data = p->is_there ? SLICE_EMPTY : buf_slice(&p->data);
    struct rpc_call_options opts = {.timeout_us =
                                        (rest + 1) * CHUNK_CHAIN_UNIT_US,
                                    .attachment_crc = {data.len > 0, p->crc}};
    struct chunk_call call = {.handle = w->chunk,
                              .version = w->version,
                              .offset = p->offset + (p->data.len - data.len),
                              .length = data.len,
                              .flags = flags_of(d),
                              .proof = w->proof};
    struct buf body = BUF_INIT;
    int rc;
    while (call.chain_count < rest) {
        call.chain[call.chain_count] =
            slice_str(w->addresses[call.chain_count + 1]);
        call.chain_count++;
    }
    chunk_call_put(&call, &body);
    rc = peers_call_with(w->gfs->peers, slice_str(w->addresses[d->server]),
                         CHUNK_WRITE, &opts, buf_slice(&body), data, &d->reply,
                         NULL, err);
    buf_close(&body);
    if (rc == 0)
        rc = chunk_answer_get(buf_slice(&d->reply), answer, err);
    return rc;
}

/* The server @number has failed @p, or -1: unknown. Only the first to fail is
 * blamed: a recovery does not wait long for blamed ones, and needs every copy
 * it can get. A server that was fenced is healthy: another recovery is under
 * way. PRE: the writer's mutex is held. */
static void note_failure(struct piece *p, int number, const struct err *err)
{
    if (p->rc == 0)
        p->rc = err_copy(&p->err, err);
    if (err->code != ERR_ABORTED && p->failed < 0)
        p->failed = number;
}

static void run_delivery(void *arg)
{
    struct delivery *d = arg;
    struct piece *p = d->piece;
    struct gfs_writer *w = p->writer;
    struct chunk_answer answer = {.code = 0};
    struct err err = ERR_INIT;
    int failed = w->servers.numbers[d->server];
    struct trace_context trace = p->trace;
    int rc;
    trace_use_context(&trace);
    rc = call_server(d, &answer, &err);
    if (rc == 0 && answer.code) {
        rc = err_set(&err, answer.code, "%.*s", SLICE_ARG(answer.text));
        failed = gfs__server_number(w->gfs, answer.failed);
    }
    buf_close(&d->reply);
    mutex_lock(&w->mutex);
    if (rc)
        note_failure(p, failed, &err);
    if (--p->deliveries_left == 0)
        cond_broadcast(&w->changed);
    mutex_unlock(&w->mutex);
}

static void start_piece(void *arg)
{
    struct piece *p = arg;
    struct loop *loop = p->writer->gfs->loop;
    unsigned count = p->deliveries_left;
    for (unsigned i = 0; i < count; i++) {
        p->deliveries[i] = (struct delivery){.piece = p, .server = i};
        fiber_detach(
            fiber_start(loop, "gfs write", run_delivery, &p->deliveries[i]));
    }
}

void gfs__start_deliveries(struct piece *p)
{
    struct loop *loop = p->writer->gfs->loop;
    trace_copy_context(&p->trace);
    p->deliveries_left = p->writer->to_each ? p->writer->servers.count : 1;
    if (fiber_self() && loop_self() == loop)
        start_piece(p);
    else
        loop_post(loop, start_piece, p);
}

void gfs__send_piece(struct piece *p)
{
    p->rc = 0;
    p->err = ERR_INIT;
    p->failed = -1;
    p->deliveries_left = 0;
    p->is_there = gfs__has_grant(p->writer);
    if (p->is_there)
        gfs__write_granted(p->writer, p);
    else
        p->crc = crc32c(p->data.data, p->data.len);
    if (p->rc == 0 && (p->sync || !p->is_there))
        gfs__start_deliveries(p);
}

void gfs__await_piece(struct gfs_writer *w, const struct piece *p)
{
    mutex_lock(&w->mutex);
    while (p->deliveries_left)
        cond_wait(&w->changed, &w->mutex);
    mutex_unlock(&w->mutex);
}

void gfs__drop_oldest(struct gfs_writer *w)
{
    struct piece *p = w->pieces;
    PRE(p && p->deliveries_left == 0);
    INVARIANT(w->piece_count > 0);
    w->pieces = p->next;
    if (!w->pieces)
        w->last = &w->pieces;
    w->piece_count--;
    buf_close(&p->data);
    mem_free(p);
}
