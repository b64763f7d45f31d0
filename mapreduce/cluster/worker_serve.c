/* Spills of this worker for others: where the segments of a partition are, and
 * their bytes in large pieces. Few calls read at a time: answers are held in
 * memory, and the disk has maps to serve as well. */
#include <stdlib.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/rpc/rpc.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "mapreduce/cluster/worker_state.h"
#include "mapreduce/shuffle/spill.h"

/* Calls that read at a time; and how often a waiting one checks for a turn. */
#define READERS_MAX 4
#define TURN_US     UINT64_C(100000)

/* The work directory of a job, if it is here; the job has one user more. */
static int find_job(struct worker *k,
                    uint64_t number,
                    struct slice id,
                    struct worker_job **out,
                    struct err *err)
{
    if (number != k->number)
        return err_set(err, ERR_CLOSED, "this worker is another one now");
    mutex_lock(&k->lock);
    *out = worker_job_find(k, id);
    if (*out && (*out)->state == WORKER_JOB_READY)
        (*out)->users++;
    else
        *out = NULL;
    mutex_unlock(&k->lock);
    if (!*out)
        return err_set(err, ERR_NOTFOUND, "job %.*s is not here",
                       SLICE_ARG(id));
    return 0;
}

static void leave_job(struct worker_job *j)
{
    struct worker *k = j->worker;
    mutex_lock(&k->lock);
    worker_job_release(j);
    mutex_unlock(&k->lock);
}

/* Wait for a turn: answers are held in memory, and a disk is faster when few
 * read from it at a time. Followed by end_read() in any case. */
static int begin_read(struct worker *k, struct err *err)
{
    int rc = 0;
    mutex_lock(&k->lock);
    while (k->reading >= READERS_MAX && rc == 0) {
        (void)cond_wait_us(&k->read, &k->lock, k->world, TURN_US);
        rc = k->stopping
                 ? err_set(err, ERR_UNAVAILABLE, "this worker is stopping")
                 : fiber_check(err);
    }
    INVARIANT(k->reading < READERS_MAX);
    k->reading++;
    mutex_unlock(&k->lock);
    return rc;
}

static void end_read(struct worker *k)
{
    PRE(k->reading > 0);
    mutex_lock(&k->lock);
    k->reading--;
    cond_signal(&k->read);
    mutex_unlock(&k->lock);
}

/* --- where segments are -------------------------------------------------- */

struct look {
    struct worker_job *job;
    const struct spill_ask *ask;
    struct buf *out;
};

static void put_segments(const struct spill_segment *s,
                         size_t count,
                         uint32_t partition,
                         struct buf *out)
{
    uint64_t mine = 0;
    for (size_t i = 0; i < count; i++)
        mine += s[i].partition == partition && s[i].bytes > 0;
    buf_put_u8(out, 1);
    buf_put_varint(out, mine);
    for (size_t i = 0; i < count; i++) {
        if (s[i].partition != partition || s[i].bytes == 0)
            continue;
        buf_put_varint(out, s[i].offset);
        buf_put_varint(out, s[i].bytes);
        buf_put_varint(out, s[i].pairs);
    }
}

/* On a pool thread: an index is a read or two of each file. */
static void worker_serve_look(void *arg)
{
    struct look *l = arg;
    struct world *w = l->job->worker->world;
    struct buf path = BUF_INIT;
    for (size_t i = 0; i < l->ask->count; i++) {
        struct spill_segment *found = NULL;
        size_t count = 0;
        task_spill_path(&path, l->job->package.setup.work_dir,
                        l->ask->spills[i].task, l->ask->spills[i].attempt);
        if (spill_index_read(w, buf_cstr(&path), &found, &count, NULL)) {
            buf_put_u8(l->out, 0);
            buf_put_varint(l->out, 0);
        } else {
            put_segments(found, count, l->ask->partition, l->out);
        }
        mem_free(found);
    }
    buf_close(&path);
}

int worker_spill_index(void *ctx, struct rpc_call *call, struct err *err)
{
    struct worker *k = ctx;
    struct task_spill *spills = NULL;
    struct spill_ask ask;
    struct look l = {.ask = &ask, .out = call->reply_attachment};
    int rc = spill_ask_get(call->body, call->attachment, &ask, &spills, err);
    if (rc == 0)
        rc = find_job(k, ask.number, ask.job, &l.job, err);
    if (rc == 0) {
        rc = begin_read(k, err);
        if (rc == 0)
            offload(worker_serve_look, &l);
        end_read(k);
        leave_job(l.job);
    }
    mem_free(spills);
    return rc;
}

/* --- their bytes --------------------------------------------------------- */

struct reading {
    struct worker_job *job;
    const struct spill_piece *pieces;
    size_t count;
    struct buf *out;
    int code;
    struct err err;
};

static int read_piece(struct world *w,
                      const char *path,
                      const struct spill_piece *p,
                      struct buf *out,
                      struct err *err)
{
    struct file *f = NULL;
    size_t got = 0;
    int rc = file_open(w, path, FILE_READ, &f, err);
    if (rc)
        return rc;
    rc = file_read_at(f, p->offset, buf_extend(out, p->bytes), p->bytes, &got,
                      err);
    if (rc == 0 && got < p->bytes)
        rc = err_set(err, ERR_INVALID, "a spill ends before its segment");
    file_close(f);
    return rc;
}

static void read_all(void *arg)
{
    struct reading *r = arg;
    struct buf path = BUF_INIT;
    for (size_t i = 0; i < r->count && r->code == 0; i++) {
        task_spill_path(&path, r->job->package.setup.work_dir,
                        r->pieces[i].task, r->pieces[i].attempt);
        r->code = read_piece(r->job->worker->world, buf_cstr(&path),
                             &r->pieces[i], r->out, &r->err);
    }
    buf_close(&path);
}

int worker_spill_read(void *ctx, struct rpc_call *call, struct err *err)
{
    struct worker *k = ctx;
    struct spill_piece *pieces = NULL;
    struct spill_read ask;
    struct reading r = {.out = call->reply_attachment};
    int rc = spill_read_get(call->body, call->attachment, &ask, &pieces, err);
    r.pieces = pieces;
    r.count = ask.count;
    if (rc == 0)
        rc = find_job(k, ask.number, ask.job, &r.job, err);
    if (rc == 0) {
        rc = begin_read(k, err);
        if (rc == 0)
            offload(read_all, &r);
        end_read(k);
        leave_job(r.job);
        rc = r.code ? err_copy(err, &r.err) : rc;
        atomic_fetch_add(&k->served_bytes, call->reply_attachment->len);
    }
    mem_free(pieces);
    return rc;
}
