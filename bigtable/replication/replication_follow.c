/* A stream at work: a task reads changes, others send them, and the caller's
 * thread tells which place was reached, so that none of the three waits for the
 * others as long as the queue between them is neither full nor empty. One batch
 * after the other would take the sum of their times, and of their waits for the
 * disk; this takes that of the slowest.
 */
#include <stdatomic.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/replication/replication_queue.h"
#include "bigtable/replication/replication_stream.h"

/* How long a call waits for changes, between looks for the flag. */
#define WAIT_US ((uint64_t)200000)
/* Between two calls of reached(). */
#define REACHED_US ((uint64_t)200000)

struct following {
    struct quarry_replication *stream;
    struct quarry_changes *changes;
    bool wait;
    struct replication_queue queue;
    atomic_uint senders; /* The next one's number. */
};

/* --- reading ------------------------------------------------------------- */

static void fill_slot(struct following *f,
                      const struct quarry_change *list,
                      size_t count,
                      struct replication_slot *slot)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes;
        replication_add_change(f->stream, &list[i],
                               replication_slot_part(slot, list[i].row),
                               &bytes);
        slot->bytes += bytes;
    }
    slot->changes = count;
    quarry_changes_token(f->changes, &slot->token);
    slot->watermark_us = quarry_changes_watermark(f->changes);
}

/* Read once, and push it. *@more: there may be more. */
static int read_batch(struct following *f, bool *more, struct err *err)
{
    struct replication_slot *slot = replication_queue_reserve(&f->queue);
    const struct quarry_change *list;
    uint64_t bytes;
    size_t count;
    int rc;
    *more = false;
    if (!slot)
        return 0; /* The failure is known. */
    rc = replication_check_stop(f->stream, err);
    if (rc == 0)
        rc = quarry_changes_next(f->changes, f->wait ? WAIT_US : 0, &list,
                                 &count, err);
    if (rc)
        return rc;
    fill_slot(f, list, count, slot);
    bytes = slot->bytes; /* It is the senders' from here on. */
    *more = f->wait || count > 0;
    replication_queue_push(&f->queue);
    return replication_pay(f->stream, bytes, err);
}

static void read_changes(void *arg)
{
    struct following *f = arg;
    struct err err = ERR_INIT;
    bool more = true;
    int rc = 0;
    while (rc == 0 && more)
        rc = read_batch(f, &more, &err);
    if (rc)
        replication_queue_fail(&f->queue, rc, &err);
    else
        replication_queue_finish(&f->queue);
}

/* --- sending ------------------------------------------------------------- */

static void send_parts(void *arg)
{
    struct following *f = arg;
    unsigned self = atomic_fetch_add(&f->senders, 1);
    struct quarry_mutation **list = NULL;
    size_t room = 0;
    size_t count;
    uint64_t to;
    PRE(self < REPLICATION_SENDERS);
    while (replication_queue_take(&f->queue, self, &list, &room, &count, &to)) {
        struct err err = ERR_INIT;
        int rc = replication_apply(f->stream, list, count, &err);
        if (rc == 0)
            replication_queue_pass(&f->queue, self, to);
        else
            replication_queue_fail(&f->queue, rc, &err);
    }
    mem_free(list);
}

/* --- the caller ---------------------------------------------------------- */

static int tell_place(struct following *f,
                      bool last,
                      struct buf *token,
                      quarry_replication_reached reached,
                      void *arg,
                      struct err *err)
{
    struct quarry_replication_place at;
    replication_queue_reached(&f->queue, token, &at);
    at.last = last;
    return at.token.len && reached ? reached(arg, &at, err) : 0;
}

static void tell_places(struct following *f,
                        struct buf *token,
                        quarry_replication_reached reached,
                        void *arg)
{
    struct world *w = quarry_world(f->stream->from);
    while (replication_queue_wait(&f->queue, w, REACHED_US)) {
        struct err err = ERR_INIT;
        int rc = tell_place(f, false, token, reached, arg, &err);
        if (rc)
            replication_queue_fail(&f->queue, rc, &err);
    }
}

int quarry_replication_follow(struct quarry_replication *r,
                              struct quarry_changes *changes,
                              bool wait,
                              quarry_replication_reached reached,
                              void *arg,
                              struct err *err)
{
    struct following *f = mem_zalloc(1, sizeof(*f));
    struct world *w = quarry_world(r->from);
    struct task *tasks[REPLICATION_SENDERS + 1];
    struct buf token = BUF_INIT;
    struct err why = ERR_INIT;
    int failed;
    int rc;
    f->stream = r;
    f->changes = changes;
    f->wait = wait;
    replication_queue_init(&f->queue);
    tasks[REPLICATION_SENDERS] =
        task_start(w, "quarry-replica", read_changes, f);
    for (unsigned i = 0; i < REPLICATION_SENDERS; i++)
        tasks[i] = task_start(w, "quarry-replica", send_parts, f);
    tell_places(f, &token, reached, arg);
    for (size_t i = 0; i < ARRAY_LEN(tasks); i++)
        task_join(tasks[i]);
    rc = f->queue.rc ? err_copy(err, &f->queue.err) : 0;
    failed = tell_place(f, true, &token, reached, arg, &why);
    if (rc == 0 && failed)
        rc = err_copy(err, &why);
    replication_queue_close(&f->queue);
    mem_free(f);
    buf_close(&token);
    return rc;
}
