/* Polling before sleeping: how long to poll, and what it costs. The estimate
 * is the last wait: waits in a row tend to be alike, because a peer that
 * answers quickly does so again. The constants were chosen by measuring
 * round trips on idle and on overcommitted machines. */
#include "base/runtime/busy_poll.h"

#include <sched.h>
#include <stdatomic.h>

#include "base/core/macros.h"
#include "base/core/panic.h"
#include "base/runtime/waiter.h"

/* 1/CREDIT_PART of elapsed time may be spent polling in vain, and no more at
 * once than the maximum below. */
#define CREDIT_PART   4
#define CREDIT_MAX_NS INT64_C(10000000)
/* A turn of other threads that is longer than this was work, not polling;
 * each nanosecond of it is charged TURN_CHARGE times. */
#define TURN_NS     UINT64_C(500000)
#define TURN_CHARGE 20
#define DEBT_MAX_NS INT64_C(1000000000)
/* After a wait longer than this, the next one is expected to be long as
 * well. */
#define LONG_WAIT_NS UINT64_C(5000000)
/* Where waits last longer than this on average, nothing is gained by polling:
 * an idle server's heartbeats come in bursts, whose waits are short. */
#define SELDOM_NS       UINT64_C(500000)
#define AVERAGE_OF      16
#define AVERAGED_MAX_NS UINT64_C(20000000)

/* A wait that usually ends within this number of polls is polled to its end. */
#define LOOKS_MAX 8

/* How long a pause outlasts its end: a server that answered all its requests
 * at once is not idle, because the next ones are on their way. */
#define PAUSE_LINGER_NS UINT64_C(5000000)

/* State of the process, because threads wait outside of any world. */
static atomic_uint_least64_t look_ns = BUSY_POLL_US_DEFAULT * 1000;
static atomic_uint pause_count;
static atomic_uint_least64_t pause_until_ns; /* When none is counted. */

void busy_poll_set_us(uint64_t us)
{
    atomic_store_explicit(&look_ns, MIN_OF(us, BUSY_POLL_US_MAX) * 1000,
                          memory_order_relaxed);
}

void busy_poll_pause(void)
{
    atomic_fetch_add_explicit(&pause_count, 1, memory_order_relaxed);
}

void busy_poll_resume(void)
{
    unsigned before;
    atomic_store_explicit(&pause_until_ns, real_mono_ns() + PAUSE_LINGER_NS,
                          memory_order_relaxed);
    before = atomic_fetch_sub_explicit(&pause_count, 1, memory_order_relaxed);
    INVARIANT(before > 0);
}

static bool is_paused(uint64_t now)
{
    return atomic_load_explicit(&pause_count, memory_order_relaxed) ||
           now < atomic_load_explicit(&pause_until_ns, memory_order_relaxed);
}

/* The longest time that any thread polls at present. */
static uint64_t look_at_most_ns(uint64_t now)
{
    return is_paused(now)
               ? 0
               : atomic_load_explicit(&look_ns, memory_order_relaxed);
}

static void busy_poll_charge(struct busy_poll *b, uint64_t ns)
{
    b->credit_ns -= (int64_t)MIN_OF(ns, (uint64_t)DEBT_MAX_NS);
    b->credit_ns = MAX_OF(b->credit_ns, -DEBT_MAX_NS);
}

static void add_credit(struct busy_poll *b, uint64_t ns)
{
    b->credit_ns += (int64_t)MIN_OF(ns, (uint64_t)DEBT_MAX_NS);
    b->credit_ns = MIN_OF(b->credit_ns, CREDIT_MAX_NS);
}

/* How long to poll: one and a half times the last wait, if that was not too
 * long. */
static uint64_t look_for(const struct busy_poll *b, uint64_t look)
{
    uint64_t usual = b->wait_ns + b->wait_ns / 2;
    return usual > look && usual <= LOOKS_MAX * look ? usual : look;
}

bool busy_poll_begin(struct busy_poll *b)
{
    uint64_t now = real_mono_ns();
    uint64_t look = look_at_most_ns(now);
    add_credit(b, (now - b->credited_ns) / CREDIT_PART);
    b->credited_ns = now;
    b->began_ns = now;
    b->looked_ns = now;
    b->until_ns = now + look_for(b, look);
    return look && b->credit_ns > 0 && b->wait_ns < LONG_WAIT_NS &&
           b->average_ns < SELDOM_NS;
}

bool busy_poll_again(struct busy_poll *b)
{
    uint64_t now;
    sched_yield();
    now = real_mono_ns();
    if (now - b->looked_ns > TURN_NS) {
        busy_poll_charge(b, (now - b->looked_ns) * TURN_CHARGE);
        return false;
    }
    b->looked_ns = now;
    return now < b->until_ns && look_at_most_ns(now) > 0;
}

void busy_poll_end(struct busy_poll *b, bool caught)
{
    uint64_t now = real_mono_ns();
    b->wait_ns = now - b->began_ns;
    b->average_ns += MIN_OF(b->wait_ns, AVERAGED_MAX_NS) / AVERAGE_OF;
    b->average_ns -= b->average_ns / AVERAGE_OF;
    if (caught)
        add_credit(b, b->until_ns - b->began_ns);
    else if (b->looked_ns > b->began_ns)
        busy_poll_charge(b, b->looked_ns - b->began_ns);
}
