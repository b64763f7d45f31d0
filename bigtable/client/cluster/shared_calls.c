/* Shared calls. For each server with calls in flight there is a line. A parcel
 * that finds as many calls in flight as allowed queues up; the end of a call
 * wakes the first in the queue, which leads the next call and takes along all
 * parcels after it that fit. If an item of a shared call fails, the parcel that
 * it is in is sent again alone, since an answer explains its first failure
 * only.
 *
 * A call has one principal, whose rights count, and one flavor, so parcels that
 * differ in either go in different lines.
 *
 * A leader lets the other fibers of the loop run once before it calls, so that
 * parcels about to be ready go along: answers wake many fibers at once.
 */
#include "bigtable/client/cluster/shared_calls.h"

#include <string.h>

#include "base/core/arena.h"
#include "base/core/coding.h"
#include "base/core/hash_map.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/client/cluster/cluster_client.h"
#include "bigtable/wire/data_calls.h"

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
    bool left; /* Its sender gave up: the leader that took it frees it. */
    struct cond moved;
    struct buf items;
    uint32_t count;
    struct buf answers;
    int rc;
    struct err err;
};

/* INV-1. 0 < calls <= calls_max of the kind while the line exists.
 * INV-2. head and tail are both NULL or both set.
 */
struct line {
    struct buf key; /* Flavor, principal and address. */
    unsigned calls;
    bool gathers; /* One of them is about to be made. */
    struct seat *head;
    struct seat *tail;
};

struct shared_calls {
    struct cluster *cluster;
    const struct shared_kind *kind;
    struct mutex lock; /* For the conditions; one loop needs none else. */
    struct hash_map lines;
    struct buf key; /* Scratch. */
    uint64_t shared;
};

struct shared_calls *shared_calls_new(struct cluster *c,
                                      const struct shared_kind *kind)
{
    struct shared_calls *s = mem_zalloc(1, sizeof(*s));
    PRE(kind->calls_max > 0);
    s->cluster = c;
    s->kind = kind;
    mutex_init(&s->lock);
    hash_map_init(&s->lines, HASH_KEYS_BORROWED);
    return s;
}

void shared_calls_free(struct shared_calls *s)
{
    if (!s)
        return;
    PRE(s->lines.count == 0);
    hash_map_close(&s->lines);
    buf_close(&s->key);
    mutex_close(&s->lock);
    mem_free(s);
}

uint64_t shared_calls_count(const struct shared_calls *s)
{
    return s->shared;
}

/* --- one call ------------------------------------------------------------ */

void shared_parcel_close(struct shared_parcel *p)
{
    buf_close(&p->items);
    buf_close(&p->answers);
}

/* An answer. */
struct answer {
    struct buf body;
    struct buf attachment;
    struct arena arena;
    struct apply_reply reply; /* In body and arena. */
    struct cursor rest;       /* Of the attachment. */
};

static void answer_init(struct answer *a)
{
    *a = (struct answer){.body = BUF_INIT, .attachment = BUF_INIT};
    arena_init(&a->arena);
}

static void answer_close(struct answer *a)
{
    arena_close(&a->arena);
    buf_close(&a->body);
    buf_close(&a->attachment);
}

/* Move past the answers to @count items; what they are. */
static struct slice take_answers(struct answer *a, uint32_t count)
{
    const char *begin = a->rest.p;
    for (uint32_t i = 0; i < count; i++)
        (void)cursor_lslice(&a->rest);
    return slice_make(begin, (size_t)(a->rest.p - begin));
}

static int check_answer(const struct shared_kind *k,
                        uint32_t count,
                        struct answer *a,
                        struct err *err)
{
    if (a->reply.count != count)
        return err_set(err, ERR_CORRUPT, "an answer about %u items, not %u",
                       a->reply.count, count);
    a->rest = cursor_make(buf_slice(&a->attachment));
    if (!k->has_answers)
        return 0;
    (void)take_answers(a, count);
    if (a->rest.bad || cursor_left(&a->rest))
        return err_set(err, ERR_CORRUPT, "malformed answers to %u items",
                       count);
    a->rest = cursor_make(buf_slice(&a->attachment));
    return 0;
}

/* Send @count @items, to where and as @p says. */
static int shared_calls_call(struct shared_calls *s,
                             const struct shared_parcel *p,
                             uint32_t count,
                             struct slice items,
                             struct answer *a,
                             struct err *err)
{
    struct buf request = BUF_INIT;
    int rc;
    PRE(count > 0);
    s->kind->put(s->cluster, p->flavor, count, &request);
    rc = tablet_call(p->cluster, p->where, s->kind->method, NULL,
                     buf_slice(&request), items, &a->body, &a->attachment, err);
    if (rc == 0)
        rc = apply_reply_get(buf_slice(&a->body), &a->arena, &a->reply, err);
    if (rc == 0)
        rc = check_answer(s->kind, count, a, err);
    buf_close(&request);
    return rc;
}

/* The first codes and answers are those of @p. */
static void
take_own(struct shared_calls *s, struct shared_parcel *p, struct answer *a)
{
    PRE(a->reply.count >= p->count);
    memcpy(p->codes, a->reply.codes, p->count * sizeof(*p->codes));
    if (s->kind->has_answers)
        buf_append_slice(&p->answers, take_answers(a, p->count));
}

/* There is one text, of one failure. Where not all failed alike, an item that
 * was not found may be one whose tablet is elsewhere: another try tells. */
static void doubt_codes(struct shared_parcel *p)
{
    bool alike = true;
    int32_t first = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        first = first ? first : p->codes[i];
        alike &= p->codes[i] == 0 || p->codes[i] == first;
    }
    for (uint32_t i = 0; i < p->count && !alike; i++)
        if (p->codes[i] == ERR_NOTFOUND)
            p->codes[i] = ERR_UNAVAILABLE;
}

static int
send_alone(struct shared_calls *s, struct shared_parcel *p, struct err *err)
{
    struct answer a;
    int rc;
    answer_init(&a);
    buf_clear(&p->answers);
    rc = shared_calls_call(s, p, p->count, buf_slice(&p->items), &a, err);
    if (rc == 0) {
        take_own(s, p, &a);
        doubt_codes(p);
        p->first = a.reply.first;
    }
    answer_close(&a);
    return rc;
}

/* --- lines --------------------------------------------------------------- */

static struct line *find_line(struct shared_calls *s,
                              const struct shared_parcel *p)
{
    union hash_value *v;
    struct line *l;
    buf_clear(&s->key);
    buf_append_byte(&s->key, (char)p->flavor);
    if (p->cluster->as) /* No name begins as an address ends. */
        buf_printf(&s->key, "%s ", p->cluster->as);
    buf_append_slice(&s->key, p->where->address);
    v = hash_map_get(&s->lines, buf_slice(&s->key));
    if (v)
        return v->pointer;
    l = mem_zalloc(1, sizeof(*l));
    l->key = s->key;
    s->key = BUF_INIT;
    hash_map_put(&s->lines, buf_slice(&l->key), NULL)->pointer = l;
    return l;
}

/* The first in the queue becomes a leader. PRE: no leader is gathering. */
static void shared_calls_promote(struct line *l)
{
    struct seat *e = l->head;
    PRE(e && !l->gathers);
    INVARIANT(e->state == SEAT_QUEUED);
    l->head = e->next;
    if (!l->head)
        l->tail = NULL;
    e->next = NULL;
    e->state = SEAT_LEADS;
    l->gathers = true;
    cond_signal(&e->moved);
}

/* A call of @l has ended: the first in the queue makes the next one, unless a
 * leader that is gathering will take it along. */
static void pass_on(struct shared_calls *s, struct line *l)
{
    if (l->head && !l->gathers) {
        shared_calls_promote(l);
        return;
    }
    INVARIANT(l->calls > 0); /* INV-1. */
    if (--l->calls > 0)
        return;
    INVARIANT(!l->head);
    (void)hash_map_remove(&s->lines, buf_slice(&l->key), NULL);
    buf_close(&l->key);
    mem_free(l);
}

/* The items are the seat's until it is left. */
static struct seat *seat_new(struct shared_parcel *p)
{
    struct seat *e = mem_zalloc(1, sizeof(*e));
    PRE(p->count > 0);
    cond_init(&e->moved);
    e->items = p->items;
    p->items = BUF_INIT;
    e->count = p->count;
    return e;
}

static void seat_free(struct seat *e)
{
    cond_close(&e->moved);
    buf_close(&e->items);
    buf_close(&e->answers);
    mem_free(e);
}

static void queue_up(struct line *l, struct seat *e)
{
    PRE(!e->next);
    if (l->tail)
        l->tail->next = e;
    else
        l->head = e;
    l->tail = e;
}

static void leave_queue(struct line *l, const struct seat *e)
{
    PRE(l->head && l->tail);

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
static int wait_in_line(struct shared_calls *s,
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

/* --- a shared call ------------------------------------------------------- */

/* Take those who wait into the call of @p, as many as fit. */
static struct seat *take_along(struct shared_calls *s,
                               struct line *l,
                               const struct shared_parcel *p,
                               struct buf *items,
                               uint32_t *count)
{
    const struct shared_kind *k = s->kind;
    struct seat *taken = NULL;
    struct seat **at = &taken;
    buf_append_slice(items, buf_slice(&p->items));
    *count = p->count;
    while (l->head && items->len + l->head->items.len <= k->bytes_max &&
           *count + l->head->count <= k->count_max) {
        struct seat *e = l->head;
        l->head = e->next;
        if (!l->head)
            l->tail = NULL;
        e->next = NULL;
        e->state = SEAT_TAKEN;
        buf_append_slice(items, buf_slice(&e->items));
        *count += e->count;
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

/* Settle @e by @codes, those of the call that it was part of. */
static void shared_calls_settle(struct shared_calls *s,
                                struct seat *e,
                                const int32_t *codes,
                                struct answer *a)
{
    struct slice answers = SLICE_EMPTY;
    if (s->kind->has_answers)
        answers = take_answers(a, e->count);
    if (all_good(codes, e->count)) {
        buf_append_slice(&e->answers, answers);
        e->state = SEAT_DONE;
    } else {
        e->state = SEAT_AGAIN;
    }
}

/* Tell those who went along. The deadline that was met is not theirs. */
static void shared_calls_deliver(struct shared_calls *s,
                                 struct seat *taken,
                                 const int32_t *codes,
                                 struct answer *a,
                                 int rc,
                                 const struct err *err)
{
    bool again = rc == ERR_DEADLINE || rc == ERR_CANCELLED;
    while (taken) {
        struct seat *e = taken;
        taken = e->next;
        e->next = NULL;
        e->rc = rc;
        if (rc == 0) {
            shared_calls_settle(s, e, codes, a);
            codes += e->count;
        } else {
            if (err)
                e->err = *err;
            e->state = again ? SEAT_AGAIN : SEAT_DONE;
        }
        if (e->left)
            seat_free(e);
        else
            cond_signal(&e->moved);
    }
}

/* Make a call for @p and who waits. *@again: @p is to be sent by itself. */
static int shared_calls_lead(struct shared_calls *s,
                             struct line *l,
                             struct shared_parcel *p,
                             bool *again,
                             struct err *err)
{
    struct buf items = BUF_INIT;
    struct seat *taken;
    struct answer a;
    uint32_t count;
    int rc;
    l->gathers = true;
    fiber_yield();
    l->gathers = false;
    if (!l->head) {
        rc = send_alone(s, p, err);
        pass_on(s, l);
        return rc;
    }
    answer_init(&a);
    taken = take_along(s, l, p, &items, &count);
    if (l->head && l->calls < s->kind->calls_max) {
        l->calls++;
        shared_calls_promote(l); /* They are too many for one. */
    }
    rc = shared_calls_call(s, p, count, buf_slice(&items), &a, err);
    if (rc == 0)
        take_own(s, p, &a);
    shared_calls_deliver(s, taken, rc ? NULL : a.reply.codes + p->count, &a, rc,
                         err);
    pass_on(s, l);
    *again = rc == 0 && !all_good(p->codes, p->count);
    answer_close(&a);
    buf_close(&items);
    return rc;
}

/* Wait for a call to be free, or for another's to take @p along. */
static int shared_calls_queue(struct shared_calls *s,
                              struct line *l,
                              struct shared_parcel *p,
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
    p->items = e->items;
    e->items = BUF_INIT;
    p->answers = e->answers;
    e->answers = BUF_INIT;
    seat_free(e);
    if (state == SEAT_LEADS)
        return shared_calls_lead(s, l, p, again, err);
    *again = state == SEAT_AGAIN;
    if (state == SEAT_DONE && rc == 0)
        memset(p->codes, 0, p->count * sizeof(*p->codes));
    return *again ? 0 : rc;
}

int shared_calls_send(struct shared_calls *s,
                      struct shared_parcel *p,
                      struct err *err)
{
    struct line *l;
    bool again = false;
    int rc;
    if (p->items.len > s->kind->small_bytes)
        return send_alone(s, p, err);
    l = find_line(s, p);
    if (l->calls < s->kind->calls_max && !l->gathers) {
        l->calls++;
        rc = shared_calls_lead(s, l, p, &again, err);
    } else {
        rc = shared_calls_queue(s, l, p, &again, err);
    }
    return again ? send_alone(s, p, err) : rc;
}
