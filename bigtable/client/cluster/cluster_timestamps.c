/* Timestamps of a cluster, from its master. Calls that wait while one is under
 * way go together in the next: each gets its part of the numbers of one answer,
 * which was asked for after it had come.
 */
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/sync.h"
#include "bigtable/client/cluster/cluster_client.h"
#include "bigtable/wire/control_calls.h"

/* How often those that wait look at their own deadline. */
#define LOOK_US ((uint64_t)50 * 1000)

/* Calls that go together. */
struct stamp_batch {
    unsigned references; /* One for each of them. */
    uint32_t count;
    bool done;
    int rc;
    struct err err;
    int64_t first;
};

struct stamp_calls {
    struct mutex lock;
    struct cond changed;      /* A batch is done. */
    bool busy;                /* A call is under way. */
    struct stamp_batch *next; /* That of the next call; NULL: nobody waits. */
};

struct stamp_calls *stamp_calls_new(void)
{
    struct stamp_calls *s = mem_zalloc(1, sizeof(*s));
    mutex_init(&s->lock);
    cond_init(&s->changed);
    return s;
}

void stamp_calls_free(struct stamp_calls *s)
{
    if (!s)
        return;
    PRE(!s->next && !s->busy);
    mutex_close(&s->lock);
    cond_close(&s->changed);
    mem_free(s);
}

static int ask_master(struct cluster *c, struct stamp_batch *b)
{
    const struct timestamps_order o = {b->count};
    struct timestamps_reply reply = {0};
    struct buf body = BUF_INIT;
    struct buf answer = BUF_INIT;
    timestamps_order_put(&o, &body);
    b->rc = cluster_call_master(c, MASTER_TIMESTAMPS, buf_slice(&body), 0,
                                &answer, NULL, &b->err);
    if (b->rc == 0)
        b->rc = timestamps_reply_get(buf_slice(&answer), &reply, &b->err);
    b->first = (int64_t)reply.first;
    buf_close(&body);
    buf_close(&answer);
    return b->rc;
}

/* Make the call of @b, which everybody may still join until it begins. */
static void lead_batch(struct cluster *c, struct stamp_batch *b)
{
    struct stamp_calls *s = c->stamps;
    PRE(s->next == b && !s->busy);
    s->next = NULL;
    s->busy = true;
    mutex_unlock(&s->lock);
    (void)!ask_master(c, b);
    mutex_lock(&s->lock);
    s->busy = false;
    b->done = true;
    cond_broadcast(&s->changed);
}

/* NULL: the next one is full. */
static struct stamp_batch *
join_batch(struct stamp_calls *s, uint32_t count, uint32_t *offset)
{
    struct stamp_batch *b = s->next;
    if (!b)
        b = s->next = mem_zalloc(1, sizeof(*b));
    if (b->count + count > QUARRY_TIMESTAMPS_MAX)
        return NULL;
    b->references++;
    *offset = b->count;
    b->count += count;
    return b;
}

static void leave_batch(struct stamp_calls *s, struct stamp_batch *b)
{
    PRE(b->references > 0);
    if (--b->references > 0)
        return;
    if (s->next == b)
        s->next = NULL;
    mem_free(b);
}

struct taking {
    struct cluster *cluster;
    uint32_t count;
    int64_t first;
};

/* Once through a batch. *@again: it failed by the end of another's time. */
static int take_once(struct taking *t, bool *again, struct err *err)
{
    struct stamp_calls *s = t->cluster->stamps;
    struct stamp_batch *b;
    uint32_t offset = 0;
    bool led = false;
    int rc = 0;
    while (!(b = join_batch(s, t->count, &offset))) {
        (void)cond_wait_us(&s->changed, &s->lock, t->cluster->world, LOOK_US);
        rc = fiber_check(err);
        if (rc)
            return rc;
    }
    while (!b->done && rc == 0) {
        if (!s->busy) {
            led = true;
            lead_batch(t->cluster, b);
        } else {
            (void)cond_wait_us(&s->changed, &s->lock, t->cluster->world,
                               LOOK_US);
            rc = fiber_check(err);
        }
    }
    *again =
        b->done && !led && (b->rc == ERR_DEADLINE || b->rc == ERR_CANCELLED);
    if (b->done) {
        rc = b->rc ? err_copy(err, &b->err) : 0;
        t->first = b->first + offset;
    }
    leave_batch(s, b);
    return rc;
}

static int take_on_loop(void *arg, struct err *err)
{
    struct taking *t = arg;
    struct stamp_calls *s = t->cluster->stamps;
    bool again = true;
    int rc = 0;
    mutex_lock(&s->lock);
    while (again) {
        rc = fiber_check(err);
        if (rc)
            break;
        rc = take_once(t, &again, err);
    }
    mutex_unlock(&s->lock);
    return rc;
}

int cluster_timestamps(struct quarry *q,
                       uint32_t count,
                       int64_t *first,
                       struct err *err)
{
    struct taking t = {q->cluster, count, 0};
    int rc = cluster_do(q->cluster, "timestamps", 0, take_on_loop, &t, err);
    *first = t.first;
    return rc;
}
