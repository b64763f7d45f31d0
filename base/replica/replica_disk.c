/* The disk's fiber: does what the core asked for in order, many operations in
 * one write and one sync, and tells the core what is done.
 *
 * A full disk is waited for: meanwhile the member neither leads nor stands, and
 * promises nothing. Any other failure is for good: what a failed sync has left
 * behind nobody knows, so the member goes silent until it is restarted.
 */
#include "base/core/panic.h"
#include "base/replica/replica_state.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"

#define RETRY_FULL_US  200000
#define SPARE_AGAIN_US 5000000
/* Of silence, before a mark vouches for the log's end. */
#define MARK_AFTER_NS UINT64_C(50000000)

/* --- queue --------------------------------------------------------------- */

void replica__queue_disk(struct replica *r, struct raft_action *a)
{
    if (r->queue_count == r->queue_cap) {
        size_t cap = r->queue_cap ? r->queue_cap * 2 : 64;
        struct raft_action *queue = mem_alloc(cap * sizeof(*queue));
        for (size_t i = 0; i < r->queue_count; i++)
            queue[i] = r->queue[(r->queue_head + i) % r->queue_cap];
        mem_free(r->queue);
        r->queue = queue;
        r->queue_cap = cap;
        r->queue_head = 0;
    }
    PRE(a->kind != RAFT_DO_SEND);
    INVARIANT(r->queue_count == 0 || a->op >= r->queue_last_op); /* INV-5 */
    r->queue_last_op = a->op;
    r->queue[(r->queue_head + r->queue_count++) % r->queue_cap] = *a;
}

static struct raft_action *replica_disk_queued(struct replica *r, size_t i)
{
    PRE(i < r->queue_count);
    return &r->queue[(r->queue_head + i) % r->queue_cap];
}

static void replica_disk_dequeue(struct replica *r, size_t count)
{
    PRE(count <= r->queue_count);
    for (size_t i = 0; i < count; i++)
        raft_action_close(replica_disk_queued(r, i));
    r->queue_head = (r->queue_head + count) % r->queue_cap;
    r->queue_count -= count;
}

int replica__await_stored(struct replica *r, uint64_t op, struct err *err)
{
    struct replica_wait w = {.token = op, .err = err};
    PRE(!r->outside); /* INV-6 */
    if (op <= r->done_op)
        return 0;
    if (r->failed)
        return err_copy(err, &r->failure);
    replica__enqueue(&r->stored, &w);
    return replica__await(&w);
}

/* --- work ---------------------------------------------------------------- */

/* One trip to the thread pool: a group of the log's operations, or a chunk. */
struct trip {
    struct replica *replica;
    struct replica_log_op *ops;
    size_t count;
    size_t done;              /* Of these actions, on the disk. */
    struct raft_action chunk; /* Borrowed: the queue may grow. Kind 0: none. */
    struct err err;
    int rc;
};

static void make_trip(void *arg)
{
    struct trip *t = arg;
    struct replica *r = t->replica;
    PRE(t->count > 0 || t->chunk.kind);
    if (t->chunk.kind)
        t->rc = snapshot_put_chunk(r->world, r->keyring, r->directory,
                                   t->chunk.offset, buf_slice(&t->chunk.data),
                                   &t->err);
    else
        t->rc = replica_log_write(r->log, t->ops, t->count, &t->done, &t->err);
    if (t->chunk.kind && t->rc == 0)
        t->done = 1;
}

static void replica_disk_mark(void *arg)
{
    struct replica *r = arg;
    replica_log_mark(r->log);
}

static bool log_op(const struct raft_action *a, struct replica_log_op *op)
{
    *op = (struct replica_log_op){.term = a->term,
                                  .vote = a->vote,
                                  .index = a->index,
                                  .entries = a->entries,
                                  .entry_count = a->entry_count};
    PRE(a->op > 0); /* INV-5 */
    PRE(a->kind != RAFT_DO_SEND && a->kind != RAFT_DO_INSTALL);
    switch (a->kind) {
    case RAFT_DO_META: op->kind = REPLICA_LOG_META; return true;
    case RAFT_DO_APPEND: op->kind = REPLICA_LOG_APPEND; return true;
    case RAFT_DO_RESET: op->kind = REPLICA_LOG_RESET; return true;
    case RAFT_DO_COMPACT: op->kind = REPLICA_LOG_COMPACT; return true;
    case RAFT_DO_CHUNK:
    case RAFT_DO_INSTALL:
    case RAFT_DO_SEND: break;
    }
    return false;
}

/* Do the work at the front of the queue: a group of log operations, or a chunk.
 */
static void run_group(struct replica *r, struct trip *t)
{
    struct replica_log_op ops[64];
    t->ops = ops;
    while (t->count < ARRAY_LEN(ops) && t->count < r->queue_count &&
           log_op(replica_disk_queued(r, t->count), &ops[t->count]))
        t->count++;
    if (t->count == 0)
        t->chunk = *replica_disk_queued(r, 0);
    INVARIANT(!t->chunk.kind || t->chunk.kind == RAFT_DO_CHUNK);
    if (t->chunk.kind)
        mutex_lock(&r->files);
    offload(make_trip, t);
    if (t->chunk.kind)
        mutex_unlock(&r->files);
    POST(t->done <= MAX_OF(t->count, 1u));
}

static void on_done(struct replica *r, size_t count)
{
    uint64_t op = replica_disk_queued(r, count - 1)->op;
    INVARIANT(op > r->done_op); /* INV-5 */
    r->done_op = op;
    replica_disk_dequeue(r, count);
    raft_stored(r->raft, replica__now_us(r), r->done_op);
    while (r->stored.first && r->stored.first->token <= r->done_op)
        replica__finish(r->stored.first, 0);
    replica__pump(r);
}

static void on_failure(struct replica *r, const struct err *err)
{
    struct err why = *err;
    err_wrap(&why, "the disk of member %llu failed", (unsigned long long)r->id);
    replica__fail(r, &why);
}

static void wait_for_space(struct replica *r)
{
    uint64_t until = replica__now_us(r) + RETRY_FULL_US;
    PRE(r->queue_count > 0); /* The work that found no space. */
    if (r->failure.code == 0)
        log_error(r->world, "replica",
                  "cell=%s member=%llu waits for space on its disk", r->name,
                  (unsigned long long)r->id);
    raft_set_stuck(r->raft, replica__now_us(r), true);
    err_set(&r->failure, ERR_FULL, "the disk of member %llu is full",
            (unsigned long long)r->id);
    replica__pump(r);
    while (!r->closing && replica__now_us(r) < until)
        (void)fiber_park_until(until * 1000);
}

/* --- the log's next segment ---------------------------------------------- */

static void make_spare(void *arg)
{
    struct trip *t = arg;
    t->rc = replica_log_make_spare(t->replica->log, &t->err);
}

static void run_spare(void *arg)
{
    struct replica *r = arg;
    struct trip t = {.replica = r};
    INVARIANT(r->spare_making && !r->spare_made);
    offload(make_spare, &t);
    r->spare_making = false;
    r->spare_made = t.rc == 0;
    /* The log works without it, more slowly. */
    if (t.rc)
        r->spare_again_us = replica__now_us(r) + SPARE_AGAIN_US;
}

/* Between trips. */
static void see_to_spare(struct replica *r)
{
    INVARIANT(!(r->spare_making && r->spare_made));
    if (r->spare_making)
        return;
    if (r->spare_made)
        replica_log_use_spare(r->log);
    r->spare_made = false;
    if (!replica_log_wants_spare(r->log) ||
        replica__now_us(r) < r->spare_again_us)
        return;
    if (r->spare)
        fiber_join(r->spare);
    r->spare_making = true;
    r->spare = fiber_start(r->loop, "replica spare", run_spare, r);
}

/* --- the fiber ----------------------------------------------------------- */

static void run_next(struct replica *r)
{
    struct trip t = {.replica = r};
    PRE(r->queue_count > 0);
    see_to_spare(r);
    if (replica_disk_queued(r, 0)->kind == RAFT_DO_INSTALL) {
        r->install = *replica_disk_queued(r, 0);
        r->queue_head = (r->queue_head + 1) % r->queue_cap;
        r->queue_count--;
        fiber_wake(r->applier);
        return;
    }
    run_group(r, &t);
    if (t.rc == 0 && r->failure.code == ERR_FULL) {
        r->failure.code = 0;
        raft_set_stuck(r->raft, replica__now_us(r), false);
    }
    if (t.done)
        on_done(r, t.done);
    if (t.rc == ERR_FULL)
        wait_for_space(r);
    else if (t.rc)
        on_failure(r, &t.err);
}

static void replica_disk_idle(struct replica *r)
{
    uint64_t until = world_mono_ns(r->world) + MARK_AFTER_NS;
    PRE(r->queue_count == 0);
    r->disk_idle = true;
    while (!r->closing && r->queue_count == 0 && fiber_park_until(until))
        ;
    if (!r->closing && r->queue_count == 0 && !r->failed) {
        offload(replica_disk_mark, r);
        while (!r->closing && r->queue_count == 0)
            fiber_park();
    }
    r->disk_idle = false;
}

void replica__run_disk(void *arg)
{
    struct replica *r = arg;
    PRE(r->log); /* INV-6 */
    while (!r->closing) {
        if (r->failed && r->queue_count)
            replica_disk_dequeue(r, r->queue_count);
        if (r->queue_count)
            run_next(r);
        else
            replica_disk_idle(r);
    }
    while (r->queue_count)
        replica_disk_dequeue(r, 1);
    replica_log_stop_spare(r->log);
    if (r->spare)
        fiber_join(r->spare);
}
