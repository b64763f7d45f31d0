/* Pieces of a file on their way along a chunk's chain of servers. */
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "gfs-lite/client/client.h"
#include "gfs-lite/client/writer.h"

static int
call_chain(struct piece *p, struct chunk_answer *answer, struct buf *reply)
{
    struct gfs_writer *w = p->writer;
    struct chunk_call call = {.handle = w->chunk,
                              .version = w->version,
                              .offset = p->offset,
                              .length = p->data.len,
                              /* Any piece may be the first to arrive. */
                              .flags = CHUNK_MAKE | (p->sync ? CHUNK_SYNC : 0)};
    struct buf body = BUF_INIT;
    int rc;
    for (unsigned i = 1; i < w->servers.count; i++)
        call.chain[call.chain_count++] = slice_str(w->addresses[i]);
    chunk_call_put(&call, &body);
    rc = peers_call(w->gfs->peers, slice_str(w->addresses[0]), CHUNK_WRITE,
                    w->servers.count * CHUNK_CHAIN_UNIT_US, buf_slice(&body),
                    buf_slice(&p->data), reply, NULL, &p->err);
    buf_close(&body);
    if (rc == 0)
        rc = chunk_answer_get(buf_slice(reply), answer, &p->err);
    return rc;
}

static void run_piece(void *arg)
{
    struct piece *p = arg;
    struct gfs_writer *w = p->writer;
    struct chunk_answer answer = {.code = 0};
    struct buf reply = BUF_INIT;
    int failed = w->servers.numbers[0];
    int rc = call_chain(p, &answer, &reply);
    if (rc == 0 && answer.code) {
        rc = err_set(&p->err, answer.code, "%.*s", SLICE_ARG(answer.text));
        failed = gfs__server_number(w->gfs, answer.failed);
    }
    buf_close(&reply);
    mutex_lock(&w->mutex);
    p->rc = rc;
    /* One that was fenced is well: others recover the chunk meanwhile. */
    p->failed = rc && rc != ERR_ABORTED ? failed : -1;
    p->done = true;
    cond_broadcast(&w->changed);
    mutex_unlock(&w->mutex);
}

static void start_piece(void *arg)
{
    struct piece *p = arg;
    fiber_detach(fiber_start(p->writer->gfs->loop, "gfs write", run_piece, p));
}

void gfs__send_piece(struct piece *p)
{
    struct loop *loop = p->writer->gfs->loop;
    p->done = false;
    p->err = ERR_INIT;
    if (fiber_self() && loop_self() == loop)
        start_piece(p);
    else
        loop_post(loop, start_piece, p);
}

void gfs__await_piece(struct gfs_writer *w, const struct piece *p)
{
    mutex_lock(&w->mutex);
    while (!p->done)
        cond_wait(&w->changed, &w->mutex);
    mutex_unlock(&w->mutex);
}

void gfs__drop_oldest(struct gfs_writer *w)
{
    struct piece *p = w->pieces;
    w->pieces = p->next;
    if (!w->pieces)
        w->last = &w->pieces;
    w->piece_count--;
    buf_close(&p->data);
    mem_free(p);
}
