/* Shared calls: see write_calls.h.
 *
 * For each server with calls under way there is a line. Who finds two of its
 * calls under way queues up; whoever ends one hands it to the first in the
 * queue, who takes along all behind him that fits. Should one of a shared
 * call's changes fail, those it belongs to send theirs again alone: an answer
 * explains its first failure only.
 */
#include "bigtable/client/cluster/write_calls.h"

#include <string.h>

#include "base/core/arena.h"
#include "base/core/hash_map.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/client/cluster/cluster.h"
#include "bigtable/wire/data_calls.h"

/* One is at the disks, one gathers in the server meanwhile. */
#define CALLS_MAX 2
/* A parcel of more goes in a call of its own; a call carries at most this. */
#define SMALL_BYTES ((size_t)64 << 10)
#define CALL_BYTES  ((size_t)1 << 20)
/* How long a turn is waited for before the deadline is looked at. */
#define TURN_US UINT64_C(100000)

enum seat_state {
    SEAT_QUEUED,
    SEAT_LEADS, /* It is to make the next call. */
    SEAT_TAKEN, /* Another's call has it. */
    SEAT_DONE,
    SEAT_AGAIN, /* To be sent by itself. */
};

/* A parcel's place in the queue. Its sender may give up while it is taken, so
 * that it has memory of its own. */
struct seat {
    struct seat *next;
    enum seat_state state;
    bool left; /* By its sender: whoever has taken it frees it. */
    struct cond moved;
    struct buf changes;
    uint32_t count;
    int rc;
    struct err err;
};

struct line {
    struct buf key; /* Durability and address. */
    unsigned calls;
    struct seat *head;
    struct seat *tail;
};

struct write_calls {
    struct cluster *cluster;
    struct mutex lock; /* For the conditions; one loop needs none else. */
    struct hash_map lines;
    uint64_t shared;
};

struct write_calls *write_calls_new(struct cluster *c)
{
    struct write_calls *s = mem_zalloc(1, sizeof(*s));
    s->cluster = c;
    mutex_init(&s->lock);
    hash_map_init(&s->lines, HASH_KEYS_BORROWED);
    return s;
}

void write_calls_free(struct write_calls *s)
{
    if (!s)
        return;
    PRE(s->lines.count == 0);
    hash_map_close(&s->lines);
    mutex_close(&s->lock);
    mem_free(s);
}

uint64_t write_calls_shared(const struct write_calls *s)
{
    return s->shared;
}

/* --- one call --------------------------------------------------------------
 */

/* An answer about @count changes; *@reply lies in @body and @a. */
static int call(struct write_calls *s,
                const struct write_parcel *p,
                uint32_t count,
                struct slice changes,
                struct buf *body,
                struct arena *a,
                struct apply_reply *reply,
                struct err *err)
{
    const struct apply_request r = {.durability = p->durability,
                                    .count = count};
    struct buf request = BUF_INIT;
    int rc;
    apply_request_put(&r, &request);
    rc = tablet_call(s->cluster, p->where, TABLET_APPLY, NULL,
                     buf_slice(&request), changes, body, NULL, err);
    if (rc == 0)
        rc = apply_reply_get(buf_slice(body), a, reply, err);
    if (rc == 0 && reply->count != count)
        rc = err_set(err, ERR_CORRUPT, "an answer about %u changes, not %u",
                     reply->count, count);
    buf_close(&request);
    return rc;
}

static int
send_alone(struct write_calls *s, struct write_parcel *p, struct err *err)
{
    struct apply_reply reply;
    struct buf body = BUF_INIT;
    struct arena a;
    int rc;
    arena_init(&a);
    rc = call(s, p, p->count, buf_slice(&p->changes), &body, &a, &reply, err);
    if (rc == 0) {
        memcpy(p->codes, reply.codes, p->count * sizeof(*p->codes));
        buf_append_slice(&p->text, reply.text);
        buf_append_slice(&p->hint, reply.hint);
    }
    arena_close(&a);
    buf_close(&body);
    return rc;
}

/* --- lines -----------------------------------------------------------------
 */

static struct line *find_line(struct write_calls *s,
                              const struct write_parcel *p)
{
    struct buf key = BUF_INIT;
    union hash_value *v;
    struct line *l;
    buf_append_byte(&key, (char)p->durability);
    buf_append_slice(&key, p->where->address);
    v = hash_map_get(&s->lines, buf_slice(&key));
    if (v) {
        buf_close(&key);
        return v->pointer;
    }
    l = mem_zalloc(1, sizeof(*l));
    l->key = key;
    hash_map_put(&s->lines, buf_slice(&l->key), NULL)->pointer = l;
    return l;
}

/* One of its calls has ended: the next in the queue makes another. */
static void pass_on(struct write_calls *s, struct line *l)
{
    struct seat *next = l->head;
    if (next) {
        l->head = next->next;
        if (!l->head)
            l->tail = NULL;
        next->next = NULL;
        next->state = SEAT_LEADS;
        cond_signal(&next->moved);
        return;
    }
    if (--l->calls > 0)
        return;
    (void)hash_map_remove(&s->lines, buf_slice(&l->key), NULL);
    buf_close(&l->key);
    mem_free(l);
}

static struct seat *seat_new(const struct write_parcel *p)
{
    struct seat *e = mem_zalloc(1, sizeof(*e));
    cond_init(&e->moved);
    buf_append_slice(&e->changes, buf_slice(&p->changes));
    e->count = p->count;
    return e;
}

static void seat_free(struct seat *e)
{
    cond_close(&e->moved);
    buf_close(&e->changes);
    mem_free(e);
}

static void queue_up(struct line *l, struct seat *e)
{
    if (l->tail)
        l->tail->next = e;
    else
        l->head = e;
    l->tail = e;
}

static void leave_queue(struct line *l, const struct seat *e)
{
    struct seat **at = &l->head;
    struct seat *before = NULL;
    while (*at != e) {
        before = *at;
        at = &before->next;
    }
    *at = e->next;
    if (!e->next)
        l->tail = before;
}

/* Wait for @e to lead or to be done with. On error it is in no queue, and not
 * the caller's any more. */
static int wait_in_line(struct write_calls *s,
                        struct line *l,
                        struct seat *e,
                        struct err *err)
{
    int rc = 0;
    mutex_lock(&s->lock);
    while (e->state <= SEAT_TAKEN && e->state != SEAT_LEADS && rc == 0) {
        (void)cond_wait_us(&e->moved, &s->lock, s->cluster->world, TURN_US);
        if (e->state == SEAT_QUEUED || e->state == SEAT_TAKEN)
            rc = fiber_check(err);
    }
    mutex_unlock(&s->lock);
    if (rc == 0)
        return 0;
    if (e->state == SEAT_TAKEN) {
        e->left = true;
        return rc;
    }
    leave_queue(l, e);
    seat_free(e);
    return rc;
}

/* --- a shared call ---------------------------------------------------------
 */

/* Take those who wait into the call of @first, as many as fit. */
static struct seat *
take_along(struct write_calls *s, struct line *l, struct buf *changes)
{
    struct seat *taken = NULL;
    struct seat **at = &taken;
    while (l->head && changes->len + l->head->changes.len <= CALL_BYTES) {
        struct seat *e = l->head;
        l->head = e->next;
        if (!l->head)
            l->tail = NULL;
        e->next = NULL;
        e->state = SEAT_TAKEN;
        buf_append_slice(changes, buf_slice(&e->changes));
        s->shared += e->count;
        *at = e;
        at = &e->next;
    }
    return taken;
}

static bool all_good(const int32_t *codes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (codes[i])
            return false;
    return true;
}

/* Tell those who went along. The deadline that was met is not theirs. */
static void
tell(struct seat *taken, int rc, const int32_t *codes, const struct err *err)
{
    bool again = rc == ERR_DEADLINE || rc == ERR_CANCELLED;
    while (taken) {
        struct seat *e = taken;
        taken = e->next;
        e->next = NULL;
        e->rc = rc;
        if (rc && err)
            e->err = *err;
        e->state = SEAT_DONE;
        if (again || (rc == 0 && !all_good(codes, e->count)))
            e->state = SEAT_AGAIN;
        if (rc == 0)
            codes += e->count;
        if (e->left)
            seat_free(e);
        else
            cond_signal(&e->moved);
    }
}

static uint32_t count_of(const struct seat *taken)
{
    uint32_t n = 0;
    for (; taken; taken = taken->next)
        n += taken->count;
    return n;
}

/* Make a call for @p and who waits. *@again: @p is to be sent by itself. */
static int lead(struct write_calls *s,
                struct line *l,
                struct write_parcel *p,
                bool *again,
                struct err *err)
{
    struct buf changes = BUF_INIT;
    struct buf body = BUF_INIT;
    struct apply_reply reply = {.count = 0};
    struct seat *taken;
    struct arena a;
    int rc;
    if (!l->head) {
        rc = send_alone(s, p, err);
        pass_on(s, l);
        return rc;
    }
    arena_init(&a);
    buf_append_slice(&changes, buf_slice(&p->changes));
    taken = take_along(s, l, &changes);
    rc = call(s, p, p->count + count_of(taken), buf_slice(&changes), &body, &a,
              &reply, err);
    tell(taken, rc, rc ? NULL : reply.codes + p->count, err);
    pass_on(s, l);
    if (rc == 0) {
        memcpy(p->codes, reply.codes, p->count * sizeof(*p->codes));
        *again = !all_good(p->codes, p->count);
    }
    arena_close(&a);
    buf_close(&body);
    buf_close(&changes);
    return rc;
}

/* Wait for a call to be free, or for another's to take @p along. */
static int queue(struct write_calls *s,
                 struct line *l,
                 struct write_parcel *p,
                 bool *again,
                 struct err *err)
{
    struct seat *e = seat_new(p);
    enum seat_state state;
    int rc;
    queue_up(l, e);
    rc = wait_in_line(s, l, e, err);
    if (rc)
        return rc;
    state = e->state;
    rc = e->rc;
    if (rc && state == SEAT_DONE)
        err_copy(err, &e->err);
    seat_free(e);
    if (state == SEAT_LEADS)
        return lead(s, l, p, again, err);
    *again = state == SEAT_AGAIN;
    if (state == SEAT_DONE && rc == 0)
        memset(p->codes, 0, p->count * sizeof(*p->codes));
    return *again ? 0 : rc;
}

int write_calls_send(struct write_calls *s,
                     struct write_parcel *p,
                     struct err *err)
{
    struct line *l;
    bool again = false;
    int rc;
    if (p->changes.len > SMALL_BYTES)
        return send_alone(s, p, err);
    l = find_line(s, p);
    if (l->calls < CALLS_MAX) {
        l->calls++;
        rc = lead(s, l, p, &again, err);
    } else {
        rc = queue(s, l, p, &again, err);
    }
    return again ? send_alone(s, p, err) : rc;
}
