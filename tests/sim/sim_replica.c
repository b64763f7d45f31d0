/* A simulated cell of replicas is linearizable whatever the nemesis does, loses
 * nothing it acknowledged, and serves again once it is left alone; a leader
 * that dies is replaced within a second. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/fault.h"
#include "base/core/panic.h"
#include "base/core/rand.h"
#include "base/replica/replica.h"
#include "base/rpc/codec.h"
#include "base/rpc/remote.h"
#include "base/rpc/security.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/sim_cluster.h"
#include "base/runtime/sim_nemesis.h"
#include "tests/lib/check_main.h"
#include "tests/lib/linearizable.h"

enum {
    MEMBERS_MAX = 5,
    CLIENTS = 5,
    KEYS = 6,
    SECOND = 1000000,
    METHOD_CALL = 500
};

/* --- the machine: some registers --------------------------------------------
 */

struct registers {
    uint64_t values[KEYS];
    uint64_t applied; /* Commands. */
};

/* command = key:le64 kind:le64 number:le64 */
static void registers_apply(void *ctx,
                            uint64_t index,
                            struct slice command,
                            struct buf *reply)
{
    struct registers *r = ctx;
    struct cursor c = cursor_make(command);
    uint64_t key = cursor_le64(&c) % KEYS;
    uint64_t kind = cursor_le64(&c);
    uint64_t number = cursor_le64(&c);
    (void)index;
    if (kind == REGISTER_WRITE)
        r->values[key] = number;
    else
        r->values[key] += number;
    r->applied++;
    buf_put_le64(reply, r->values[key]);
}

static void registers_save(void *ctx, struct buf *out)
{
    buf_append(out, ctx, sizeof(struct registers));
}

static int registers_load(void *ctx, struct slice image, struct err *err)
{
    if (image.len == 0)
        memset(ctx, 0, sizeof(struct registers));
    else if (image.len == sizeof(struct registers))
        memcpy(ctx, image.data, image.len);
    else
        return err_set(err, ERR_CORRUPT, "registers");
    return 0;
}

/* --- the cell ----------------------------------------------------------------
 */

struct member {
    struct world *world;
    uint64_t id;
    struct registers registers;
    struct replica *replica; /* While it runs. */
};

static struct sim_cluster *cluster;
static struct member members[MEMBERS_MAX];
static size_t member_count;
static size_t founder_count;
static struct rpc_security *security;
static uint64_t running_seed; /* For messages. */
static const char *const addresses[MEMBERS_MAX] = {"m1:70", "m2:70", "m3:70",
                                                   "m4:70", "m5:70"};

/* The register's service: reads behind a barrier, the rest by proposal. */
static int serve_call(void *ctx, struct rpc_call *call, struct err *err)
{
    struct member *m = ctx;
    struct cursor c = cursor_make(call->attachment);
    uint64_t key = cursor_le64(&c) % KEYS;
    uint64_t kind = cursor_le64(&c);
    int rc;
    if (kind != REGISTER_READ)
        return replica_propose(m->replica, call->attachment,
                               call->reply_attachment, err);
    rc = replica_read_barrier(m->replica, err);
    if (rc == 0)
        buf_put_le64(call->reply_attachment, m->registers.values[key]);
    return rc;
}

static int
serve_member(struct member *m, struct rpc_server *rpc, struct err *err)
{
    static const struct rpc_method method = {METHOD_CALL, "test.call",
                                             serve_call};
    struct replica_member cell[MEMBERS_MAX];
    struct replica_machine machine = {&m->registers, registers_apply,
                                      registers_save, registers_load, NULL};
    struct replica_options opts = {.name = "test",
                                   .directory = "/cell",
                                   .id = m->id,
                                   .members = cell,
                                   .member_count = founder_count,
                                   .security = security,
                                   .snapshot_log_bytes = 6000};
    struct rpc_listen_options listen = {.security = security};
    struct rpc_listener *listener = NULL;
    int rc;
    for (size_t i = 0; i < founder_count; i++)
        cell[i] = (struct replica_member){i + 1, addresses[i], true};
    if (m->id > founder_count)
        opts.member_count = 0;
    rc = replica_open(m->world, rpc, &machine, &opts, &m->replica, err);
    if (rc)
        return rc;
    rpc_server_add(rpc, &method, 1, m);
    rc = rpc_listen(rpc, addresses[m->id - 1], &listen, &listener, err);
    while (rc == 0 && fiber_check(NULL) == 0) {
        world_sleep_us(m->world, SECOND / 10);
        rc = replica_health(m->replica, err);
        rc = rc == ERR_FULL ? 0 : rc;
    }
    rpc_listener_close(listener);
    replica_close(m->replica);
    m->replica = NULL;
    return rc;
}

static void member_main(void *arg)
{
    struct member *m = arg;
    struct rpc_server *rpc = rpc_server_new(m->world);
    struct err err = ERR_INIT;
    int rc = serve_member(m, rpc, &err);
    if (rc)
        sim_note(cluster, "member %d ends: %s", (int)m->id, err.text);
    /* A damaged or foreign directory would be our own doing. */
    ck_assert_msg(rc != ERR_CORRUPT && rc != ERR_INVALID,
                  "seed %" PRIu64 ": %s", running_seed, err.text);
    rpc_server_free(rpc);
}

static void start(uint64_t seed, size_t founders, size_t joiners)
{
    struct sim_options o = {
        .network_us = 300, .sync_us = 500, .write_us = 50, .read_us = 50};
    running_seed = seed;
    cluster = sim_cluster_new(seed);
    security = rpc_security_none("test", "member");
    founder_count = founders;
    member_count = founders + joiners;
    for (size_t i = 0; i < member_count; i++) {
        char name[32];
        snprintf(name, sizeof(name), "m%zu", i + 1);
        members[i] = (struct member){
            .world = sim_machine_new(cluster, name, &o), .id = i + 1};
    }
}

static void boot_all(void)
{
    for (size_t i = 0; i < member_count; i++)
        sim_boot(members[i].world, member_main, &members[i]);
}

static void stop_all(void)
{
    for (size_t i = 0; i < member_count; i++)
        if (sim_is_up(members[i].world))
            sim_stop(members[i].world);
}

static void finish(void)
{
    rpc_security_free(security);
    sim_cluster_free(cluster);
}

static void sleep_us(uint64_t us)
{
    world_sleep_us(sim_director(cluster), us);
}

static struct member *find_leader(void)
{
    for (size_t i = 0; i < member_count; i++)
        if (members[i].replica && replica_is_leader(members[i].replica))
            return &members[i];
    return NULL;
}

static struct member *await_leader(uint64_t within_us)
{
    uint64_t until = sim_cluster_now_us(cluster) + within_us;
    while (!find_leader() && sim_cluster_now_us(cluster) < until)
        sleep_us(1000);
    ck_assert_msg(find_leader() != NULL, "no leader within %" PRIu64 " us",
                  within_us);
    return find_leader();
}

/* --- clients
 * ---------------------------------------------------------------- */

struct client {
    struct rand_gen rand;
    struct fiber *fiber;
    struct rpc_channel *channels[MEMBERS_MAX];
    uint64_t id;
    size_t server; /* The one asked first. */
    uint64_t answered;
};

static struct history *history;
static struct client clients[CLIENTS];
static bool ending;

/* One try at one member. */
static int call_member(struct client *c,
                       uint64_t key,
                       const struct history_value *in,
                       uint64_t *out,
                       struct err *err)
{
    struct rpc_call_options opts = {.timeout_us = 2 * SECOND};
    struct buf request = BUF_INIT;
    struct buf reply = BUF_INIT;
    bool sent = true;
    int rc;
    opts.sent = &sent;
    buf_put_le64(&request, key);
    buf_put_le64(&request, in->kind);
    buf_put_le64(&request, in->a);
    rc = rpc_call(c->channels[c->server], METHOD_CALL, &opts, SLICE_EMPTY,
                  buf_slice(&request), NULL, &reply, err);
    if (rc == 0)
        *out = reply.len == 8 ? get_le64(reply.data) : UINT64_MAX;
    buf_close(&request);
    buf_close(&reply);
    /* Refused: surely not executed. */
    if (rc && (!sent || strstr(err->text, "not the leader")))
        rc = ERR_BUSY;
    return rc;
}

static void choose_server(struct client *c, const struct err *err)
{
    char hint[64];
    if (replica_leader_hint(err, hint, sizeof(hint)))
        c->server = (size_t)(hint[1] - '1') % member_count;
    else
        c->server = rand_below(&c->rand, member_count);
}

static void one_call(struct client *c)
{
    uint64_t key = rand_below(&c->rand, KEYS);
    struct history_value in = {.kind = (uint32_t)rand_below(&c->rand, 3),
                               .a = rand_below(&c->rand, 1000)};
    struct history_value out = {0};
    struct err err = ERR_INIT;
    size_t op;
    int rc;
    if (in.kind == REGISTER_READ)
        in.a = 0;
    op = history_call(history, sim_cluster_now_us(cluster), c->id, key, &in);
    rc = call_member(c, key, &in, &out.a, &err);
    if (rc == 0) {
        history_return(history, op, sim_cluster_now_us(cluster), &out);
        c->answered++;
        return;
    }
    if (rc == ERR_BUSY || in.kind == REGISTER_READ)
        history_failed(history, op);
    choose_server(c, &err);
    sleep_us(rand_below(&c->rand, 50000));
}

static void run_client(void *arg)
{
    struct client *c = arg;
    for (size_t i = 0; i < member_count; i++)
        c->channels[i] = rpc_channel_new(
            addresses[i], &(struct rpc_channel_options){.security = security});
    while (!ending) {
        one_call(c);
        sleep_us(rand_below(&c->rand, 40000));
    }
    for (size_t i = 0; i < member_count; i++)
        rpc_channel_free(c->channels[i]);
}

static void start_clients(uint64_t seed)
{
    ending = false;
    history = history_new();
    memset(clients, 0, sizeof(clients));
    for (size_t i = 0; i < CLIENTS; i++) {
        clients[i].id = i + 1;
        rand_init(&clients[i].rand, seed * CLIENTS + i);
        clients[i].fiber =
            fiber_start(loop_self(), "client", run_client, &clients[i]);
    }
}

static uint64_t end_clients(void)
{
    uint64_t answered = 0;
    ending = true;
    for (size_t i = 0; i < CLIENTS; i++) {
        fiber_join(clients[i].fiber);
        answered += clients[i].answered;
    }
    return answered;
}

static void expect_linearizable(uint64_t seed)
{
    struct buf why = BUF_INIT;
    enum history_verdict v = history_check(history, &history_register, 0, &why);
    ck_assert_msg(v == HISTORY_LINEARIZABLE, "seed %" PRIu64 ": %s\n%s", seed,
                  v == HISTORY_WRONG ? "not linearizable" : "too hard to judge",
                  buf_cstr(&why));
    buf_close(&why);
    history_free(history);
}

/* All members that run have executed the same. */
static void expect_agreement(uint64_t seed)
{
    struct replica_status s;
    struct member *m = await_leader(20 * SECOND);
    sleep_us(2 * SECOND);
    m = await_leader(20 * SECOND);
    replica_get_status(m->replica, &s);
    for (size_t i = 0; i < member_count; i++) {
        struct replica_status t;
        if (!members[i].replica)
            continue;
        replica_get_status(members[i].replica, &t);
        ck_assert_msg(t.applied_index == s.applied_index,
                      "seed %" PRIu64 ": member %zu is at %" PRIu64
                      ", the leader at %" PRIu64,
                      seed, i + 1, t.applied_index, s.applied_index);
        ck_assert_mem_eq(&members[i].registers, &m->registers,
                         sizeof(m->registers));
    }
}

/* --- the nemesis
 * -------------------------------------------------------------- */

static void under_nemesis(void *arg)
{
    uint64_t seed = *(const uint64_t *)arg;
    struct world *victims[MEMBERS_MAX];
    struct nemesis_options n = {.seed = seed,
                                .machines = victims,
                                .machine_count = member_count,
                                .duration_us = 20 * (uint64_t)SECOND,
                                .pause_us = SECOND,
                                .fault_us = 2 * SECOND,
                                /* Also without a majority, at times. */
                                .down_max = seed % 3 ? 0 : member_count};
    uint64_t answered;
    boot_all();
    for (size_t i = 0; i < member_count; i++)
        victims[i] = members[i].world;
    start_clients(seed);
    nemesis_run(cluster, &n, NULL);
    sleep_us(5 * SECOND);
    answered = end_clients();
    ck_assert_msg(answered > 200, "seed %" PRIu64 ": only %" PRIu64 " answers",
                  seed, answered);
    expect_agreement(seed);
    stop_all();
}

START_TEST(test_nemesis)
{
    const char *more = getenv("QUARRY_SIM_SEEDS");
    const char *mistake = getenv("QUARRY_FAULT"); /* That must be found. */
    uint64_t count = more ? strtoull(more, NULL, 10) : 8;
    uint64_t first = test_seed();
    if (mistake)
        fault_arm(mistake, 1, UINT64_MAX);
    for (uint64_t seed = first; seed < first + count; seed++) {
        start(seed, seed % 2 ? 3 : 5, 0);
        sim_cluster_run(cluster, under_nemesis, &seed);
        expect_linearizable(seed);
        finish();
    }
}

END_TEST

/* --- fail-over
 * -------------------------------------------------------------------- */

static void kill_leaders(void *arg)
{
    uint64_t worst = 0;
    (void)arg;
    boot_all();
    for (int round = 0; round < 10; round++) {
        struct member *m = await_leader(20 * SECOND);
        uint64_t killed;
        sleep_us(SECOND);
        m = await_leader(SECOND);
        killed = sim_cluster_now_us(cluster);
        sim_crash(m->world, round % 2 ? SIM_CRASH_KILL : SIM_CRASH_POWER);
        sim_await_end(m->world);
        await_leader(SECOND);
        worst = MAX_OF(worst, sim_cluster_now_us(cluster) - killed);
        sim_boot_again(m->world);
    }
    printf("slowest of 10 fail-overs: %" PRIu64 " ms\n", worst / 1000);
    stop_all();
}

START_TEST(test_a_dead_leader_is_replaced_within_a_second)
{
    for (uint64_t seed = 0; seed < 5; seed++) {
        start(test_seed() + seed, 3, 0);
        sim_cluster_run(cluster, kill_leaders, NULL);
        finish();
    }
}

END_TEST

/* --- orderly ends
 * ------------------------------------------------------------------ */

static void hand_over(void *arg)
{
    struct err err = ERR_INIT;
    (void)arg;
    boot_all();
    for (int round = 0; round < 5; round++) {
        struct member *m = await_leader(5 * SECOND);
        uint64_t from = sim_cluster_now_us(cluster);
        sim_stop(m->world);
        await_leader(SECOND);
        /* Nobody had to notice: no election's time went by. */
        ck_assert_uint_lt(sim_cluster_now_us(cluster) - from, 250000);
        sim_boot_again(m->world);
        sleep_us(SECOND);
    }
    (void)err;
    stop_all();
}

START_TEST(test_a_leader_that_stops_hands_over)
{
    start(test_seed(), 3, 0);
    sim_cluster_run(cluster, hand_over, NULL);
    finish();
}

END_TEST

/* --- membership
 * -------------------------------------------------------------------- */

/* Calls on a member's own loop, for the director. */
struct order {
    struct member *member;
    const struct replica_member *add;
    uint64_t remove;
    struct err err;
    int rc;
    bool done;
};

static void run_order(void *arg)
{
    struct order *o = arg;
    fiber_set_deadline(world_mono_ns(o->member->world) + UINT64_C(20000000000));
    o->rc = o->add ? replica_add(o->member->replica, o->add, &o->err)
                   : replica_remove(o->member->replica, o->remove, &o->err);
    o->done = true;
}

static void give_order(struct order *o)
{
    o->member = await_leader(10 * SECOND);
    sim_spawn(o->member->world, "order", run_order, o);
    while (!o->done)
        sleep_us(10000);
    ck_assert_msg(o->rc == 0, "%s", o->err.text);
}

/* From one member to three, and on to three others. */
static void move_house(void *arg)
{
    uint64_t seed = *(const uint64_t *)arg;
    boot_all();
    start_clients(seed);
    sleep_us(3 * SECOND);
    for (uint64_t id = 2; id <= 4; id++) {
        struct replica_member m = {id, addresses[id - 1], true};
        give_order(&(struct order){.add = &m});
        sleep_us(SECOND);
        if (id == 3) {
            give_order(&(struct order){.remove = 1});
            sim_stop(members[0].world);
        }
    }
    sleep_us(2 * SECOND);
    ck_assert_uint_gt(end_clients(), 100);
    expect_agreement(seed);
    ck_assert_uint_ne(await_leader(SECOND)->id, 1);
    stop_all();
}

START_TEST(test_a_cell_moves_to_other_machines)
{
    for (uint64_t seed = 1; seed < 4; seed++) {
        start(seed, 1, 3);
        sim_cluster_run(cluster, move_house, &seed);
        expect_linearizable(seed);
        finish();
    }
}

END_TEST

TEST_MAIN("replica",
          test_nemesis,
          test_a_dead_leader_is_replaced_within_a_second,
          test_a_leader_that_stops_hands_over,
          test_a_cell_moves_to_other_machines)
