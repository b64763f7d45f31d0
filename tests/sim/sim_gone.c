/* A killed process's sessions end long before their leases; those of one that
 * is paused, cut off or without power end with them, and not before. */
#include <check.h>

#include "base/runtime/fiber.h"
#include "base/runtime/stream.h"
#include "base/sim/sim_cluster.h"
#include "chubby-lite/server.h"
#include "tests/lib/check_main.h"
#include "tests/sim/cell.h"

enum {
    SECOND = 1000000,
    LEASE_MS = 12000,
    LEASE_US = 12 * SECOND,
    /* Far below the lease: silence, two probes, and the lock-delay. */
    SOON_US = 2 * SECOND,
};

#define ADDRESS "holder:700"

static struct sim_cluster *sim;
static struct sim_cell *cell;

/* --- who holds the lock -------------------------------------------------- */

struct holder {
    struct world *world;
    bool tells_address;
    bool holds;
    unsigned events;
};

static void
on_event(void *ctx, struct chubby_handle *handle, enum chubby_event e)
{
    struct holder *h = ctx;
    (void)handle;
    h->events |= (unsigned)e;
}

static struct chubby_handle *open_lock(struct chubby *c)
{
    const struct chubby_open_options o = {.lock_delay_ms = 1};
    struct chubby_handle *h;
    struct err err = ERR_INIT;
    ck_assert_msg(chubby_open(c, "/lock",
                              CHUBBY_READ | CHUBBY_WRITE | CHUBBY_CREATE, &o,
                              &h, &err) == 0,
                  "%s", err.text);
    return h;
}

static struct chubby *connect_as(struct world *w, struct holder *h)
{
    const struct chubby_options o = {.servers = cell->lock_addresses,
                                     .server_count = cell->options.lock_servers,
                                     .security = cell->security,
                                     .lease_ms = LEASE_MS,
                                     .address =
                                         h && h->tells_address ? ADDRESS : NULL,
                                     .on_event = h ? on_event : NULL,
                                     .ctx = h};
    struct chubby *c;
    struct err err = ERR_INIT;
    ck_assert_msg(chubby_connect(w, &o, &c, &err) == 0, "%s", err.text);
    return c;
}

static void holder_main(void *arg)
{
    struct holder *h = arg;
    struct stream_listener *l;
    struct chubby *c;
    struct chubby_handle *lock;
    ck_assert_int_eq(stream_listen(ADDRESS, &l, NULL), 0);
    c = connect_as(h->world, h);
    lock = open_lock(c);
    ck_assert_int_eq(chubby_acquire(lock, CHUBBY_EXCLUSIVE, NULL), 0);
    h->holds = true;
    while (fiber_check(NULL) == 0)
        if (fiber_park_checked(NULL))
            break;
    chubby_close(lock);
    chubby_disconnect(c);
    stream_listener_close(l);
}

/* --- a cell, a holder, and another that wants the lock ------------------- */

static struct holder begin(bool tells_address)
{
    const struct sim_options o = {.network_us = 300, .sync_us = 500};
    struct holder h = {.tells_address = tells_address};
    sim_cell_boot(cell);
    h.world = sim_machine_new(sim, "holder", &o);
    return h;
}

static void boot_holder(struct holder *h)
{
    sim_boot(h->world, holder_main, h);
    while (!h->holds)
        world_sleep_us(sim_director(sim), SECOND / 10);
}

/* How long until the director has the lock, µs. */
static uint64_t acquire_us(void)
{
    uint64_t from = sim_cluster_now_us(sim);
    struct chubby *c = connect_as(sim_director(sim), NULL);
    struct chubby_handle *lock = open_lock(c);
    struct err err = ERR_INIT;
    uint64_t us;
    (void)fiber_set_deadline(0);
    ck_assert_msg(chubby_acquire(lock, CHUBBY_EXCLUSIVE, &err) == 0, "%s",
                  err.text);
    us = sim_cluster_now_us(sim) - from;
    chubby_close(lock);
    chubby_disconnect(c);
    return us;
}

static void end(struct holder *h)
{
    if (sim_is_up(h->world))
        sim_stop(h->world);
    sim_cell_stop(cell);
}

static struct world *leader(void)
{
    for (unsigned i = 0; i < cell->options.lock_servers; i++) {
        struct sim_server *s = &cell->locks[i];
        if (s->lock && replica_is_leader(chubby_server_replica(s->lock)))
            return s->world;
    }
    return NULL;
}

/* --- what happens to it -------------------------------------------------- */

static void killed(void *arg)
{
    struct holder h = begin(true);
    (void)arg;
    boot_holder(&h);
    sim_crash(h.world, SIM_CRASH_KILL);
    ck_assert_uint_lt(acquire_us(), SOON_US);
    end(&h);
}

/* The new leader has never heard of the dead. */
static void killed_with_leader(void *arg)
{
    struct holder h = begin(true);
    (void)arg;
    boot_holder(&h);
    sim_crash(leader(), SIM_CRASH_KILL);
    sim_crash(h.world, SIM_CRASH_KILL);
    ck_assert_uint_lt(acquire_us(), 2 * SOON_US);
    end(&h);
}

/* Nothing proves it dead: a keep-alive waited when it ended, which had renewed
 * the lease at most a third of it before. */
static void assert_waits_for_lease(void)
{
    uint64_t us = acquire_us();
    ck_assert_uint_gt(us, LEASE_US / 2);
    ck_assert_uint_lt(us, LEASE_US + SOON_US);
}

static void killed_without_address(void *arg)
{
    struct holder h = begin(false);
    (void)arg;
    boot_holder(&h);
    sim_crash(h.world, SIM_CRASH_KILL);
    assert_waits_for_lease();
    end(&h);
}

static void without_power(void *arg)
{
    struct holder h = begin(true);
    (void)arg;
    boot_holder(&h);
    sim_crash(h.world, SIM_CRASH_POWER);
    assert_waits_for_lease();
    end(&h);
}

static void cut_off(void *arg)
{
    struct holder h = begin(true);
    (void)arg;
    boot_holder(&h);
    sim_partition(sim, &h.world, 1);
    assert_waits_for_lease();
    end(&h);
}

/* Half a lease without a sign, and connections that break: it lives. */
static void paused(void *arg)
{
    struct holder h = begin(true);
    (void)arg;
    boot_holder(&h);
    sim_pause(h.world);
    sim_reset_connections(sim, h.world, NULL);
    world_sleep_us(sim_director(sim), LEASE_US / 2);
    sim_resume(h.world);
    world_sleep_us(sim_director(sim), LEASE_US);
    ck_assert_uint_eq(h.events & (CHUBBY_EVENT_EXPIRED), 0);
    ck_assert(sim_is_up(h.world));
    end(&h);
}

#define SEEDS 5

static void play(void (*scenario)(void *arg), uint64_t seed)
{
    const struct sim_cell_options o = {.lock_servers = 3};
    sim = sim_cluster_new(seed);
    cell = sim_cell_new(sim, &o);
    sim_cluster_run(sim, scenario, NULL);
    sim_cell_free(cell);
    sim_cluster_free(sim);
}

static void play_all(void (*scenario)(void *arg))
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        play(scenario, seed);
}

START_TEST(test_killed)
{
    play_all(killed);
}

END_TEST

START_TEST(test_killed_with_the_leader)
{
    play_all(killed_with_leader);
}

END_TEST

START_TEST(test_killed_without_an_address)
{
    play_all(killed_without_address);
}

END_TEST

START_TEST(test_no_power)
{
    play_all(without_power);
}

END_TEST

START_TEST(test_cut_off)
{
    play_all(cut_off);
}

END_TEST

START_TEST(test_paused)
{
    play_all(paused);
}

END_TEST

TEST_MAIN("gone",
          test_killed,
          test_killed_with_the_leader,
          test_killed_without_an_address,
          test_no_power,
          test_cut_off,
          test_paused)
