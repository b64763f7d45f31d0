/* A simulated cell of the lock service keeps its promises: caches are
 * consistent, sessions and locks outlive leaders, and a failed holder's lock is
 * free after its delay. (What storms do to it: quarry-sim --scenario lock.) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/rpc/remote.h"
#include "base/rpc/security.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/sim_cluster.h"
#include "chubby-lite/chubby.h"
#include "chubby-lite/server.h"
#include "tests/lib/check_main.h"

enum {
    SERVERS_MAX = 5,
    SECOND = 1000000
};

/* --- the cell ---------------------------------------------------------------
 */

struct member {
    struct world *world;
    uint64_t id;
    struct chubby_server *server; /* While it runs. */
};

static struct sim_cluster *cluster;
static struct member members[SERVERS_MAX];
static size_t member_count;
static struct rpc_security *security;
static const char *const addresses[SERVERS_MAX] = {"s1:700", "s2:700", "s3:700",
                                                   "s4:700", "s5:700"};

static int serve(struct member *m, struct rpc_server *rpc, struct err *err)
{
    struct replica_member cell[SERVERS_MAX];
    struct chubby_server_options opts = {
        .replica = {.name = "test",
                    .directory = "/lock",
                    .id = m->id,
                    .members = cell,
                    .member_count = member_count,
                    .security = security,
                    .snapshot_log_bytes = 20000},
    };
    struct rpc_listen_options listen = {.security = security};
    struct rpc_listener *listener = NULL;
    size_t i;
    int code;

    for (i = 0; i < member_count; i++)
        cell[i] = (struct replica_member){i + 1, addresses[i], true};
    code = chubby_server_open(m->world, rpc, &opts, &m->server, err);
    if (code)
        return code;
    code = rpc_listen(rpc, addresses[m->id - 1], &listen, &listener, err);
    if (code == 0)
        while (fiber_check(NULL) == 0)
            if (fiber_park_checked(NULL))
                break;
    rpc_listener_close(listener);
    chubby_server_close(m->server);
    m->server = NULL;
    return code;
}

static void server_main(void *arg)
{
    struct member *m = arg;
    struct rpc_server *rpc = rpc_server_new(m->world);
    struct err err = ERR_INIT;
    int code = serve(m, rpc, &err);

    if (code)
        sim_note(cluster, "server %d ends: %s", (int)m->id, err.text);
    /* Only a disk or a crash may keep it from serving. */
    ck_assert_msg(code == 0 || code == ERR_IO || code == ERR_CANCELLED ||
                      code == ERR_FULL || code == ERR_CLOSED ||
                      code == ERR_BUSY,
                  "%s", err.text);
    rpc_server_free(rpc);
}

static void start(uint64_t seed, size_t servers)
{
    struct sim_options o = {.network_us = 300, .sync_us = 500};
    char name[32];
    size_t i;

    cluster = sim_cluster_new(seed);
    security = rpc_security_none("test", "ann");
    member_count = servers;
    for (i = 0; i < servers; i++) {
        snprintf(name, sizeof(name), "s%zu", i + 1);
        members[i] =
            (struct member){sim_machine_new(cluster, name, &o), i + 1, NULL};
    }
}

static void boot_all(void)
{
    size_t i;

    for (i = 0; i < member_count; i++)
        sim_boot(members[i].world, server_main, &members[i]);
}

static void stop_all(void)
{
    size_t i;

    for (i = 0; i < member_count; i++)
        if (sim_is_up(members[i].world))
            sim_stop(members[i].world);
}

static void finish(void)
{
    rpc_security_free(security);
    sim_cluster_free(cluster);
}

static struct member *leader(void)
{
    size_t i;

    for (i = 0; i < member_count; i++)
        if (members[i].server &&
            replica_is_leader(chubby_server_replica(members[i].server)))
            return &members[i];
    return NULL;
}

/* --- clients
 * ------------------------------------------------------------------ */

struct client {
    struct world *world;
    struct chubby *chubby;
    unsigned events; /* All that were told. */
};

static void on_event(void *ctx, struct chubby_handle *h, enum chubby_event e)
{
    struct client *c = ctx;

    (void)h;
    c->events |= (unsigned)e;
}

static void join_with(struct client *c,
                      struct world *w,
                      uint32_t lease_ms,
                      const char *memo)
{
    struct chubby_options opts = {.memo = memo,
                                  .servers = addresses,
                                  .server_count = member_count,
                                  .security = security,
                                  .lease_ms = lease_ms,
                                  .grace_ms = 20000,
                                  .on_event = on_event,
                                  .ctx = c};
    struct err err = ERR_INIT;

    c->world = w;
    c->events = 0;
    ck_assert_msg(chubby_connect(w, &opts, &c->chubby, &err) == 0, "%s",
                  err.text);
}

static void join_cell(struct client *c, struct world *w, uint32_t lease_ms)
{
    join_with(c, w, lease_ms, NULL);
}

static struct chubby_handle *
must_open(struct client *c, const char *path, unsigned flags, unsigned events)
{
    struct chubby_open_options opts = {.events = events, .lock_delay_ms = 2000};
    struct chubby_handle *h;
    struct err err = ERR_INIT;

    ck_assert_msg(chubby_open(c->chubby, path, flags, &opts, &h, &err) == 0,
                  "%s", err.text);
    return h;
}

static void must_write(struct chubby_handle *h, const char *text)
{
    struct err err = ERR_INIT;

    ck_assert_msg(chubby_write(h, slice_str(text), 0, &err) == 0, "%s",
                  err.text);
}

static void must_read(struct chubby_handle *h, const char *text)
{
    struct buf b = BUF_INIT;
    struct err err = ERR_INIT;

    ck_assert_msg(chubby_read(h, &b, NULL, &err) == 0, "%s", err.text);
    ck_assert_str_eq(buf_cstr(&b), text);
    buf_close(&b);
}

static void sleep_us(uint64_t us)
{
    world_sleep_us(sim_director(cluster), us);
}

enum {
    RW = CHUBBY_READ | CHUBBY_WRITE,
    MAKE = RW | CHUBBY_CREATE
};

/* --- two clients
 * ---------------------------------------------------------------- */

static void use_files(void *arg)
{
    struct world *w = sim_director(cluster);
    struct client a;
    struct client b;
    struct chubby_handle *fa;
    struct chubby_handle *fb;
    struct chubby_handle *root;
    char **names;
    size_t count;
    uint64_t before;

    (void)arg;
    boot_all();
    join_cell(&a, w, 3000);
    join_cell(&b, w, 3000);
    fa = must_open(&a, "/f", MAKE, 0);
    fb = must_open(&b, "/f", RW, CHUBBY_EVENT_CONTENT);
    root = must_open(&b, "/", CHUBBY_READ, 0);
    must_write(fa, "one");
    must_read(fb, "one");
    /* From the cache, in no time. */
    before = sim_cluster_now_us(cluster);
    must_read(fb, "one");
    ck_assert_uint_lt(sim_cluster_now_us(cluster) - before, 100);
    /* Never old: the write waits for the reader's cache. */
    must_write(fa, "two");
    must_read(fb, "two");
    ck_assert_int_eq(chubby_list(root, &names, &count, NULL), 0);
    ck_assert_uint_eq(count, 2); /* acl, f */
    chubby_names_free(names, count);
    ck_assert_int_eq(chubby_delete(fa, NULL), 0);
    ck_assert_int_eq(chubby_list(root, &names, &count, NULL), 0);
    ck_assert_uint_eq(count, 1);
    chubby_names_free(names, count);
    sleep_us(SECOND);
    ck_assert_uint_eq(b.events, CHUBBY_EVENT_CONTENT | CHUBBY_EVENT_INVALID);
    chubby_close(fa);
    chubby_close(fb);
    chubby_close(root);
    chubby_disconnect(a.chubby);
    chubby_disconnect(b.chubby);
    stop_all();
}

/* Files, caches and events, on one server and on three. */
START_TEST(test_files)
{
    size_t servers;

    for (servers = 1; servers <= 3; servers += 2) {
        start(test_seed() + servers, servers);
        sim_cluster_run(cluster, use_files, NULL);
        finish();
    }
}

END_TEST

/* --- fail-over
 * -------------------------------------------------------------------- */

static void fail_over(void *arg)
{
    struct world *w = sim_director(cluster);
    struct client a;
    struct client b;
    struct chubby_handle *la;
    struct chubby_handle *lb;
    char sequencer[CHUBBY_SEQUENCER_BYTES_MAX];
    struct member *old;
    int round;

    (void)arg;
    boot_all();
    join_cell(&a, w, 4000);
    join_cell(&b, w, 4000);
    la = must_open(&a, "/l", MAKE, 0);
    lb = must_open(&b, "/l", RW, 0);
    ck_assert_int_eq(chubby_acquire(la, CHUBBY_EXCLUSIVE, NULL), 0);
    ck_assert_int_eq(chubby_sequencer(la, sequencer, NULL), 0);
    for (round = 0; round < 4; round++) {
        old = leader();
        ck_assert_ptr_nonnull(old);
        sim_crash(old->world, round % 2 ? SIM_CRASH_KILL : SIM_CRASH_POWER);
        sim_await_end(old->world);
        ck_assert_int_eq(chubby_try_acquire(lb, CHUBBY_SHARED, NULL), ERR_BUSY);
        ck_assert_int_eq(
            chubby_check_sequencer(b.chubby, slice_str(sequencer), NULL), 0);
        must_write(la, "still here");
        must_read(lb, "still here");
        ck_assert(chubby_is_safe(a.chubby));
        sim_boot_again(old->world);
        sleep_us(2 * SECOND);
    }
    ck_assert(a.events & CHUBBY_EVENT_FAILOVER);
    ck_assert(!(a.events & CHUBBY_EVENT_EXPIRED));
    chubby_close(la);
    ck_assert_int_eq(chubby_try_acquire(lb, CHUBBY_SHARED, NULL), 0);
    ck_assert_int_eq(
        chubby_check_sequencer(b.chubby, slice_str(sequencer), NULL),
        ERR_ABORTED);
    chubby_close(lb);
    chubby_disconnect(a.chubby);
    chubby_disconnect(b.chubby);
    stop_all();
}

/* Leaders die one after the other; sessions, locks and files stay. */
START_TEST(test_fail_over)
{
    uint64_t first = test_seed();
    uint64_t seed;

    for (seed = first; seed < first + 10; seed++) {
        start(seed, 3);
        sim_cluster_run(cluster, fail_over, NULL);
        finish();
    }
}

END_TEST

/* --- a holder fails
 * ---------------------------------------------------------------- */

static bool has_lock;

static void hold_for_ever(void *arg)
{
    struct world *w = arg;
    struct client c;
    struct chubby_handle *h;

    join_cell(&c, w, 3000);
    h = must_open(&c, "/l", MAKE, 0);
    ck_assert_int_eq(chubby_acquire(h, CHUBBY_EXCLUSIVE, NULL), 0);
    has_lock = true;
    while (fiber_check(NULL) == 0)
        if (fiber_park_checked(NULL))
            break;
    has_lock = false;
    chubby_close(h);
    chubby_disconnect(c.chubby);
}

static void take_over(void *arg)
{
    struct world *w = sim_director(cluster);
    struct sim_options o = {.network_us = 300};
    struct world *machine = sim_machine_new(cluster, "holder", &o);
    struct client b;
    struct chubby_handle *h;
    uint64_t before;
    uint64_t took;

    (void)arg;
    boot_all();
    sim_boot(machine, hold_for_ever, machine);
    while (!has_lock)
        sleep_us(SECOND / 10);
    join_cell(&b, w, 3000);
    h = must_open(&b, "/l", RW, 0);
    sim_crash(machine, SIM_CRASH_POWER);
    sim_await_end(machine);
    before = sim_cluster_now_us(cluster);
    ck_assert_int_eq(chubby_acquire(h, CHUBBY_EXCLUSIVE, NULL), 0);
    took = sim_cluster_now_us(cluster) - before;
    /* The rest of its lease of 3 s, its lock-delay of 2, and little more. */
    ck_assert_uint_ge(took, 2 * SECOND);
    ck_assert_uint_le(took, 6 * SECOND);
    chubby_close(h);
    chubby_disconnect(b.chubby);
    stop_all();
}

/* The lock of a client that died goes to the next, after lease and delay. */
START_TEST(test_take_over)
{
    start(test_seed(), 3);
    sim_cluster_run(cluster, take_over, NULL);
    finish();
}

END_TEST

/* --- a client that begins anew
 * ---------------------------------------------------------------- */

#define TWINS 2

struct twin {
    struct world *world;
    const char *own;
    const char *others;
    bool wrote;
    bool ready;
};

static struct twin twins[TWINS];

/* Holds a lock, and has cached what the other one writes. */
static void be_twin(void *arg)
{
    struct twin *t = arg;
    struct client c;
    struct chubby_handle *own;
    struct chubby_handle *others;

    join_with(&c, t->world, 12000, "session");
    own = must_open(&c, t->own, MAKE | CHUBBY_EPHEMERAL, 0);
    others = must_open(&c, t->others, MAKE | CHUBBY_EPHEMERAL, 0);
    if (chubby_acquire(own, CHUBBY_EXCLUSIVE, NULL) == 0) {
        struct buf b = BUF_INIT;
        must_write(own, "mine");
        t->wrote = true;
        while (!twins[0].wrote || !twins[1].wrote)
            sleep_us(SECOND / 100);
        ck_assert_int_eq(chubby_read(others, &b, NULL, NULL), 0);
        buf_close(&b);
        t->ready = true;
    }
    while (fiber_check(NULL) == 0)
        if (fiber_park_checked(NULL))
            break;
    chubby_close(own);
    chubby_close(others);
    chubby_disconnect(c.chubby);
}

static void await_twins(void)
{
    for (size_t i = 0; i < TWINS; i++)
        while (!twins[i].ready)
            sleep_us(SECOND / 100);
}

/* Twins that run. */
static void make_twins(void)
{
    struct sim_options o = {.network_us = 300};

    for (size_t i = 0; i < TWINS; i++) {
        twins[i] =
            (struct twin){.world = sim_machine_new(cluster, i ? "b" : "a", &o),
                          .own = i ? "/b" : "/a",
                          .others = i ? "/a" : "/b"};
        sim_boot(twins[i].world, be_twin, &twins[i]);
    }
    await_twins();
}

static void kill_twin(struct twin *t)
{
    t->wrote = false;
    t->ready = false;
    sim_crash(t->world, SIM_CRASH_KILL);
    sim_await_end(t->world);
}

/* Twins that run, and are killed at once. */
static void make_and_kill_twins(void)
{
    make_twins();
    for (size_t i = 0; i < TWINS; i++)
        kill_twin(&twins[i]);
}

static void begin_anew(void *arg)
{
    uint64_t before;

    (void)arg;
    boot_all();
    make_and_kill_twins();
    before = sim_cluster_now_us(cluster);
    for (size_t i = 0; i < TWINS; i++)
        sim_boot_again(twins[i].world);
    await_twins();
    ck_assert_uint_le(sim_cluster_now_us(cluster) - before, SECOND);
    for (size_t i = 0; i < TWINS; i++) {
        sim_stop(twins[i].world);
        sim_await_end(twins[i].world);
    }
    stop_all();
}

/* Clients that were killed and begin anew end their old sessions themselves:
 * they wait neither for their leases, nor for each other's caches. */
START_TEST(test_begin_anew)
{
    start(test_seed(), 3);
    sim_cluster_run(cluster, begin_anew, NULL);
    finish();
}

END_TEST

/* Another client gets the locks of both. */
static void inherit(void *arg)
{
    struct client c;
    uint64_t before;

    (void)arg;
    boot_all();
    make_and_kill_twins();
    before = sim_cluster_now_us(cluster);
    join_cell(&c, sim_director(cluster), 12000);
    for (size_t i = 0; i < TWINS; i++) {
        struct chubby_handle *h = must_open(&c, twins[i].own, MAKE, 0);
        ck_assert_int_eq(chubby_acquire(h, CHUBBY_EXCLUSIVE, NULL), 0);
        chubby_close(h);
    }
    ck_assert_uint_le(sim_cluster_now_us(cluster) - before, 30 * SECOND);
    chubby_disconnect(c.chubby);
    stop_all();
}

/* Clients that die at once, each with the other's file in its cache: both
 * sessions end with their leases, and neither waits for the other. */
START_TEST(test_die_at_once)
{
    start(test_seed(), 3);
    sim_cluster_run(cluster, inherit, NULL);
    finish();
}

END_TEST

/* One is gone for so long that its session expires, the other not yet. */
static void stop_while_one_expires(void *arg)
{
    (void)arg;
    boot_all();
    make_twins();
    kill_twin(&twins[0]);
    sleep_us(8 * SECOND);
    kill_twin(&twins[1]);
    sleep_us(6 * SECOND);
    stop_all();
}

/* A service that stops while the end of a session waits for a cache of a client
 * that is dead, too, does not wait any longer. */
START_TEST(test_stop_while_one_expires)
{
    start(test_seed(), 1);
    sim_cluster_run(cluster, stop_while_one_expires, NULL);
    finish();
}

END_TEST

/* --- a client that has something cached, and is cancelled or killed
 * ---------------------------------------------------------------- */

static bool has_cached;

static void cache_and_wait(void *world)
{
    struct buf b = BUF_INIT;
    struct chubby_handle *h;
    struct client c;

    join_cell(&c, world, 12000);
    h = must_open(&c, "/f", MAKE, 0);
    ck_assert_int_eq(chubby_read(h, &b, NULL, NULL), 0);
    buf_close(&b);
    has_cached = true;
    while (fiber_park_checked(NULL) == 0)
        ;
    chubby_close(h);
    chubby_disconnect(c.chubby);
}

static void cancel_and_write(void *arg)
{
    struct fiber *reader;
    struct client b;
    struct chubby_handle *h;
    uint64_t before;

    (void)arg;
    boot_all();
    join_cell(&b, sim_director(cluster), 12000);
    h = must_open(&b, "/f", MAKE, 0);
    must_write(h, "old");
    has_cached = false;
    reader = fiber_start(loop_self(), "reader", cache_and_wait,
                         sim_director(cluster));
    while (!has_cached)
        sleep_us(SECOND / 100);
    before = sim_cluster_now_us(cluster);
    fiber_cancel(reader);
    fiber_join(reader);
    must_write(h, "new");
    ck_assert_uint_le(sim_cluster_now_us(cluster) - before, SECOND);
    chubby_close(h);
    chubby_disconnect(b.chubby);
    stop_all();
}

/* A client ends its session also when its fiber was cancelled: nobody waits for
 * its lease to change what it had cached. */
START_TEST(test_cancelled_goodbye)
{
    start(test_seed(), 3);
    sim_cluster_run(cluster, cancel_and_write, NULL);
    finish();
}

END_TEST

static void write_first(void *h)
{
    must_write(h, "first");
}

/* The writer's news reach the reader just as it goes. */
static void part_and_write(void *arg)
{
    struct fiber *reader;
    struct fiber *writer;
    struct client b;
    struct chubby_handle *h;
    uint64_t before;
    unsigned i;

    (void)arg;
    boot_all();
    join_cell(&b, sim_director(cluster), 12000);
    h = must_open(&b, "/f", MAKE, 0);
    for (i = 0; i < 100; i++) {
        has_cached = false;
        reader = fiber_start(loop_self(), "reader", cache_and_wait,
                             sim_director(cluster));
        while (!has_cached)
            sleep_us(SECOND / 100);
        before = sim_cluster_now_us(cluster);
        writer = fiber_start(loop_self(), "writer", write_first, h);
        sleep_us(i * 20);
        fiber_cancel(reader);
        fiber_join(writer);
        ck_assert_uint_le(sim_cluster_now_us(cluster) - before, SECOND);
        fiber_join(reader);
    }
    chubby_close(h);
    chubby_disconnect(b.chubby);
    stop_all();
}

/* A client that goes while it is told of a change still says goodbye. */
START_TEST(test_goodbye_at_news)
{
    start(test_seed(), 3);
    sim_cluster_run(cluster, part_and_write, NULL);
    finish();
}

END_TEST

static void write_twice(void *arg)
{
    struct sim_options o = {.network_us = 300};
    struct world *reader = sim_machine_new(cluster, "reader", &o);
    struct fiber *first;
    struct client b;
    struct chubby_handle *h;
    uint64_t before;

    (void)arg;
    boot_all();
    join_cell(&b, sim_director(cluster), 12000);
    h = must_open(&b, "/f", MAKE, 0);
    must_write(h, "old");
    has_cached = false;
    sim_boot(reader, cache_and_wait, reader);
    while (!has_cached)
        sleep_us(SECOND / 100);
    sim_crash(reader, SIM_CRASH_KILL);
    sim_await_end(reader);
    before = sim_cluster_now_us(cluster);
    first = fiber_start(loop_self(), "first", write_first, h);
    sleep_us(SECOND / 10);
    must_write(h, "second");
    ck_assert_uint_ge(sim_cluster_now_us(cluster) - before, 5 * SECOND);
    fiber_join(first);
    chubby_close(h);
    chubby_disconnect(b.chubby);
    stop_all();
}

/* A cache that has not heard yet is waited for by each of two writes that come
 * one soon after the other: it may be in use after the second as well. */
START_TEST(test_two_writes)
{
    start(test_seed(), 3);
    sim_cluster_run(cluster, write_twice, NULL);
    finish();
}

END_TEST

/* --- what is computed before a wait -----------------------------------------
 */

static size_t must_list(struct chubby_handle *h)
{
    char **names;
    size_t count;
    struct err err = ERR_INIT;

    ck_assert_msg(chubby_list(h, &names, &count, &err) == 0, "%s", err.text);
    chubby_names_free(names, count);
    return count;
}

static void delete_file(void *handle)
{
    ck_assert_int_eq(chubby_delete(handle, NULL), 0);
}

struct creation {
    struct client *client;
    struct chubby_handle *handle;
};

static void create_file(void *arg)
{
    struct creation *c = arg;

    c->handle = must_open(c->client, "/d/a", MAKE, 0);
}

struct listing {
    struct chubby_handle *handle;
    bool over;
};

static void list_on(void *arg)
{
    struct listing *l = arg;

    while (!l->over) {
        (void)must_list(l->handle);
        sleep_us(20);
    }
}

/* /d/a is deleted, and @delay_us later created by another, while a third lists
 * /d from its cache. */
static void delete_and_create(void *delay_us)
{
    struct world *w = sim_director(cluster);
    struct client a;
    struct client b;
    struct client c;
    struct chubby_handle *victim;
    struct chubby_handle *uncached;
    struct creation creation = {&c, NULL};
    struct listing listing = {NULL, false};
    struct fiber *fibers[3];

    boot_all();
    join_cell(&a, w, 12000);
    join_cell(&b, w, 12000);
    join_cell(&c, w, 12000);
    listing.handle =
        must_open(&a, "/d", CHUBBY_READ | CHUBBY_CREATE | CHUBBY_DIRECTORY, 0);
    victim = must_open(&b, "/d/a", MAKE, 0);
    uncached = must_open(&b, "/d",
                         CHUBBY_READ | CHUBBY_UNCACHED | CHUBBY_DIRECTORY, 0);
    (void)must_list(listing.handle);
    fibers[0] = fiber_start(loop_self(), "list", list_on, &listing);
    fibers[1] = fiber_start(loop_self(), "delete", delete_file, victim);
    sleep_us(*(uint64_t *)delay_us);
    fibers[2] = fiber_start(loop_self(), "create", create_file, &creation);
    fiber_join(fibers[1]);
    fiber_join(fibers[2]);
    sleep_us(SECOND / 20);
    listing.over = true;
    fiber_join(fibers[0]);
    ck_assert_uint_eq(must_list(listing.handle), must_list(uncached));
    chubby_close(listing.handle);
    chubby_close(victim);
    chubby_close(uncached);
    chubby_close(creation.handle);
    chubby_disconnect(a.chubby);
    chubby_disconnect(b.chubby);
    chubby_disconnect(c.chubby);
    stop_all();
}

/* A name that comes and goes at once does not leave an old listing in a cache,
 * whenever the one is asked for while the other is under way. */
START_TEST(test_create_beside_delete)
{
    for (uint64_t delay_us = 0; delay_us < 4000; delay_us += 100) {
        start(test_seed() + delay_us, 3);
        sim_cluster_run(cluster, delete_and_create, &delay_us);
        finish();
    }
}

END_TEST

static void change_and_stat(void *arg)
{
    struct world *w = sim_director(cluster);
    struct client a;
    struct client b;
    struct chubby_handle *mine;
    struct chubby_handle *other;
    struct chubby_stat before;
    struct chubby_stat after;
    struct chubby_stat asked;
    struct buf bytes = BUF_INIT;

    (void)arg;
    boot_all();
    join_cell(&a, w, 12000);
    join_cell(&b, w, 12000);
    other = must_open(&b, "/f", MAKE | CHUBBY_CHANGE_ACL, 0);
    mine = must_open(&a, "/f", CHUBBY_READ, 0);
    ck_assert_int_eq(chubby_read(mine, &bytes, &before, NULL), 0);
    ck_assert_int_eq(chubby_acquire(other, CHUBBY_EXCLUSIVE, NULL), 0);
    ck_assert_int_eq(chubby_set_acl(other, "", "", "", NULL), 0);
    ck_assert_int_eq(chubby_read(mine, &bytes, &after, NULL), 0);
    ck_assert_int_eq(chubby_get_stat(mine, &asked, NULL), 0);
    ck_assert_uint_eq(after.lock_generation, before.lock_generation + 1);
    ck_assert_uint_eq(after.acl_generation, before.acl_generation + 1);
    ck_assert_uint_eq(after.lock_generation, asked.lock_generation);
    ck_assert_uint_eq(after.acl_generation, asked.acl_generation);
    buf_close(&bytes);
    chubby_close(mine);
    chubby_close(other);
    chubby_disconnect(a.chubby);
    chubby_disconnect(b.chubby);
    stop_all();
}

/* What is read with a file's contents is not older than what others were told
 * is done: the generations of its lock and its lists. */
START_TEST(test_stat_is_not_old)
{
    start(test_seed(), 3);
    sim_cluster_run(cluster, change_and_stat, NULL);
    finish();
}

END_TEST

TEST_MAIN("lock",
          test_files,
          test_fail_over,
          test_take_over,
          test_begin_anew,
          test_die_at_once,
          test_stop_while_one_expires,
          test_cancelled_goodbye,
          test_goodbye_at_news,
          test_two_writes,
          test_create_beside_delete,
          test_stat_is_not_old)
