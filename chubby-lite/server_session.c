/* Keep-alives, and the end of sessions whose lease ran out.
 *
 * A keep-alive is held back until there are news or a quarter of the lease has
 * passed (Chubby, OSDI 2006, section 2.8), and answered after a read barrier,
 * so that a deposed leader extends no lease.
 */
#include "base/core/panic.h"
#include "base/rpc/rpc.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "chubby-lite/server_state.h"

#define CLOCK_TICK_NS UINT64_C(100000000)
/* While all sessions have a keep-alive waiting, nothing is due before a lease's
 * end. */
#define CLOCK_REST_NS UINT64_C(1000000000)
/* Sessions up to this number are answered at the same instants: one barrier and
 * one wake-up of each machine for all. More of them would make a burst. */
#define ALIGNED_MAX 64
/* Clocks that ran apart by a thirty-second, two of them by half of that each,
 * as the client reckons its own. */
#define DRIFT_SHARE 32
/* News in one answer. */
#define NEWS_ONCE_MAX 256

/* @l lives for a full lease from now. */
static void server_session_extend(struct chubby_server *s, struct lease *l)
{
    PRE(!l->gone); /* INV-4 of lease.h */
    l->deadline_ns = world_mono_ns(s->world) + (uint64_t)l->lease_ms * 1000000;
}

static struct lease *server_session_adopt(struct chubby_server *s,
                                          const struct session *session)
{
    struct lease *l = lease_add(&s->leases, session->id);

    PRE(s->term > 0); /* INV-1 */
    l->lease_ms = session->lease_ms;
    l->silent_ns = world_mono_ns(s->world);
    server_session_extend(s, l);
    return l;
}

/* An earlier leader answered @l @quiet_ns ago at the latest, as several clocks
 * say: that part of its lease is over. It keeps three quarters, in which its
 * client finds this leader. */
static void server_session_shorten(struct lease *l, uint64_t quiet_ns)
{
    uint64_t quarter_ns = (uint64_t)l->lease_ms * 1000000 / 4;

    PRE(l->deadline_ns >= quarter_ns);
    l->deadline_ns -=
        MIN_OF(quiet_ns - quiet_ns / DRIFT_SHARE, quarter_ns); /* INV-1 */
}

void server__begin_leases(struct chubby_server *s)
{
    uint64_t quiet_ns = replica_quiet_us(s->replica) * 1000;
    size_t count;
    struct session **all = session_sorted(cell_sessions(s->cell), &count);

    PRE(s->term > 0);
    PRE(s->leases.leases.count == 0); /* INV-1 */
    while (count > 0)
        server_session_shorten(server_session_adopt(s, all[--count]), quiet_ns);
    mem_free(all);
    POST(s->leases.leases.count == cell_sessions(s->cell)->sessions.count);
}

void server__end_leases(struct chubby_server *s)
{
    lease_table_clear(&s->leases);
    POST(s->leases.leases.count == 0); /* INV-1 */
}

void server__start_lease(struct chubby_server *s, uint64_t session)
{
    const struct session *x = session_find(cell_sessions(s->cell), session);

    PRE(x);
    PRE(s->term); /* INV-1 */
    if (!lease_find(&s->leases, session))
        (void)server_session_adopt(s, x);
}

/* --- keep-alives --------------------------------------------------------- */

static void
put_news(struct chubby_server *s, const struct lease *l, struct buf *out)
{
    const struct lease_news *n;
    size_t left = MIN_OF(l->news_count, NEWS_ONCE_MAX);

    INVARIANT((l->news_count == 0) == STAILQ_EMPTY(&l->news));
    chubby_news_put_head(s->term, l->lease_ms, left, out);
    STAILQ_FOREACH(n, &l->news, link) {
        if (left-- == 0)
            break;
        chubby_news_put_item(&n->item, out);
    }
}

/* When a keep-alive of @l that has come now is answered at the latest. */
static uint64_t held_until_ns(const struct chubby_server *s,
                              const struct lease *l)
{
    uint64_t quarter = (uint64_t)l->lease_ms * 1000000 / 4;
    uint64_t now = world_mono_ns(s->world);

    if (s->leases.leases.count > ALIGNED_MAX || quarter == 0)
        return now + quarter;
    return (now / quarter + 1) * quarter;
}

/* Wait for news of @l, a quarter of its lease at most. */
static int
wait_for_news(struct chubby_server *s, struct lease *l, struct err *err)
{
    uint64_t until = held_until_ns(s, l);
    int rc = 0;

    PRE(l->waiting > 0); /* INV-3 of lease.h */
    while (!l->gone && STAILQ_EMPTY(&l->news) && rc != ERR_DEADLINE) {
        if (world_mono_ns(s->world) >= until)
            return 0;
        rc = wait_queue_wait(&l->waiters, until, err);
        if (rc && rc != ERR_DEADLINE)
            return rc;
    }
    return 0;
}

static int server_session_keep(struct chubby_server *s,
                               const struct chubby_keep_alive *k,
                               struct lease *l,
                               struct buf *out,
                               struct err *err)
{
    int rc = 0;

    /* The client counts from the moment it sent this, which is earlier. */
    server_session_extend(s, l);
    if (k->term == s->term) {
        l->confirmed = true;
        lease_hear(l, k->heard);
        INVARIANT(l->heard <= l->news_number); /* INV-5 of lease.h */
        rc = wait_for_news(s, l, err);
    }
    if (!rc)
        rc = server__check_leader(s, err);
    /* A leader deposed without knowing extends nothing. */
    if (!rc)
        rc = replica_read_barrier(s->replica, err);
    if (!rc && l->gone)
        rc = server__check_leader(s, err);
    if (rc)
        return rc;
    if (l->gone || l->expired)
        return err_set(err, ERR_CLOSED, "the session has ended");
    INVARIANT(s->term > 0);
    put_news(s, l, out);
    return 0;
}

int server__keep_alive(struct chubby_server *s,
                       struct rpc_call *call,
                       struct err *err)
{
    struct chubby_keep_alive k;
    struct lease *l;
    int rc = server__check_leader(s, err);

    if (!rc)
        rc = chubby_keep_alive_get(call->body, &k, err);
    if (!rc)
        rc = server__check_session(s, call, k.session, err);
    if (rc)
        return rc;
    l = lease_find(&s->leases, k.session);
    if (!l) {
        /* Only a leader that is surely one knows that it does not exist. */
        rc = replica_read_barrier(s->replica, err);
        if (!rc)
            rc = server__check_leader(s, err);
        l = rc ? NULL : lease_find(&s->leases, k.session);
        if (!rc && !l)
            rc = err_set(err, ERR_CLOSED, "the session has ended");
        if (rc)
            return rc;
    }
    INVARIANT(s->term > 0); /* INV-1 */
    lease_ref(l);
    l->waiting++;
    l->refusals = 0;
    rc = server_session_keep(s, &k, l, call->reply_body, err);
    INVARIANT(l->waiting > 0);
    l->waiting--;
    l->silent_ns = world_mono_ns(s->world);
    lease_unref(l);
    if (rc)
        wait_queue_wake(&s->tick); /* Its connection may be gone. */
    return rc;
}

/* --- expiry -------------------------------------------------------------- */

struct expiry {
    struct chubby_server *server;
    uint64_t session;
};

static void server_session_expire(void *arg)
{
    struct expiry *x = arg;
    struct chubby_server *s = x->server;
    struct chubby_command c = {.operation = CHUBBY_OP_SESSION_EXPIRE,
                               .session = x->session};
    struct buf answer = BUF_INIT;
    struct lease *l;

    /* It fails with the leadership; then the next leader ends the session, or
     * this one at its next tick. */
    if (server__execute(s, &c, &answer, NULL)) {
        l = lease_find(&s->leases, x->session);
        if (l)
            l->ending = false;
    }
    buf_close(&answer);
    mem_free(x);
    INVARIANT(s->busy_count > 0); /* INV-3 */
    if (--s->busy_count == 0)
        wait_queue_wake(&s->idle);
}

void server__start_expiry(struct chubby_server *s,
                          struct lease *l,
                          const char *why)
{
    struct expiry *x = mem_alloc(sizeof(*x));

    PRE(s->term > 0); /* INV-1 */
    PRE(!l->ending);
    PRE(!l->gone); /* INV-4 of lease.h. */
    log_info(s->world, "lock", "session %llx expires why=\"%s\"",
             (unsigned long long)l->session, why);
    *x = (struct expiry){s, l->session};
    l->expired = true;
    l->ending = true;
    wait_queue_wake(&l->waiters);
    s->busy_count++;
    fiber_detach(
        fiber_start(loop_self(), "lock-expire", server_session_expire, x));
}

/* Returns when to look again. */
static uint64_t look_for_expired(struct chubby_server *s, uint64_t now_ns)
{
    uint64_t due = now_ns + CLOCK_REST_NS;
    struct hash_slot *slot;
    size_t at = 0;

    while ((slot = hash_map_next(&s->leases.leases, &at))) {
        struct lease *l = slot->value.pointer;
        INVARIANT(!l->ending || l->expired); /* INV-4 of lease.h. */
        if (!l->ending && (l->expired || l->deadline_ns <= now_ns))
            server__start_expiry(s, l, "its lease has run out");
        else
            server__probe_if_silent(s, l, now_ns);
        if (l->waiting == 0)
            due = now_ns + CLOCK_TICK_NS;
        due = MIN_OF(due, MAX_OF(l->deadline_ns, now_ns + CLOCK_TICK_NS));
    }
    return due;
}

/* This process did not run for @gap_ns and could not hear its clients: prolong
 * their leases. */
static void server_session_forgive(struct chubby_server *s, uint64_t gap_ns)
{
    struct hash_slot *slot;
    size_t at = 0;

    while ((slot = hash_map_next(&s->leases.leases, &at))) {
        struct lease *l = slot->value.pointer;
        INVARIANT(!l->gone);
        INVARIANT(!l->ending || l->expired); /* INV-4 of lease.h */
        l->deadline_ns += gap_ns;
        l->silent_ns += gap_ns;
    }
}

void server__clock(void *server)
{
    struct chubby_server *s = server;
    uint64_t last = world_mono_ns(s->world);
    uint64_t due = last + CLOCK_TICK_NS;
    uint64_t now;

    while (!s->closing) {
        /* Woken to close, or cancelled with the machine: then it closes too. */
        if (wait_queue_wait(&s->tick, due, NULL) == ERR_CANCELLED)
            break;
        now = world_mono_ns(s->world);
        if (now > due + 4 * CLOCK_TICK_NS)
            server_session_forgive(s, now - last);
        last = now;
        due = s->term ? look_for_expired(s, now) : now + CLOCK_REST_NS;
    }
}
