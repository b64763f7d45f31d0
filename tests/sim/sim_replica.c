/* A simulated cell of replicas replaces a leader that dies within a second and
 * one that stops at once, moves from machine to machine while it serves, and is
 * founded once.
 * (What storms do to it: quarry-sim --scenario replica.) */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/replica/cell_call.h"
#include "base/rpc/security.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "tests/lib/check_main.h"
#include "tests/sim/register_cell.h"
#include "tests/sim/storm.h"

static struct storm storm = {.scenario = "replica"};

static void
play_cell(uint64_t seed, const struct register_options *cell, task_fn fn)
{
    storm.seed = seed;
    storm.sim = sim_cluster_new(seed);
    storm_running = &storm;
    register_cell_start(storm.sim, cell);
    sim_cluster_run(storm.sim, fn, &seed);
    register_cell_finish();
    sim_cluster_free(storm.sim);
    storm_running = NULL;
}

static void play(uint64_t seed, size_t founders, size_t joiners, task_fn fn)
{
    const struct register_options cell = {.founders = founders,
                                          .joiners = joiners};
    play_cell(seed, &cell, fn);
}

/* Members find into the cell by themselves. */
static void play_entering(uint64_t seed, size_t founders, task_fn fn)
{
    const struct register_options cell = {.founders = founders,
                                          .entering = true};
    play_cell(seed, &cell, fn);
}

/* --- fail-over ----------------------------------------------------------- */

static void kill_leaders(void *arg)
{
    uint64_t worst = 0;
    (void)arg;
    register_cell_boot();
    for (int round = 0; round < 10; round++) {
        struct register_member *m = register_await_leader(20 * SECOND_US);
        uint64_t killed;
        register_sleep_us(SECOND_US);
        m = register_await_leader(SECOND_US);
        killed = storm_now_us();
        sim_crash(m->world, round % 2 ? SIM_CRASH_KILL : SIM_CRASH_POWER);
        sim_await_end(m->world);
        register_await_leader(SECOND_US);
        worst = MAX_OF(worst, storm_now_us() - killed);
        sim_boot_again(m->world);
    }
    printf("slowest of 10 fail-overs: %" PRIu64 " ms\n", worst / 1000);
    register_cell_stop();
}

START_TEST(test_a_dead_leader_is_replaced_within_a_second)
{
    for (uint64_t seed = 0; seed < 5; seed++) {
        play(test_seed() + seed, 3, 0, kill_leaders);
    }
}

END_TEST

/* --- no leader ----------------------------------------------------------- */

static void lose_two(void *arg)
{
    struct register_member *left = &register_cell.members[2];
    struct replica_status s;
    (void)arg;
    register_cell_boot();
    register_await_leader(20 * SECOND_US);
    register_sleep_us(SECOND_US);
    replica_get_status(left->replica, &s);
    ck_assert_uint_eq(s.leaderless_us, 0);
    ck_assert_str_eq(s.votes, "");
    for (size_t i = 0; i < 2; i++)
        sim_crash(register_cell.members[i].world, SIM_CRASH_KILL);
    register_sleep_us(12 * SECOND_US);
    replica_get_status(left->replica, &s);
    ck_assert_uint_ge(s.leaderless_us, 10 * SECOND_US);
    ck_assert_uint_le(s.leaderless_us, 13 * SECOND_US);
    ck_assert_ptr_nonnull(strstr(s.votes, "stands=yes needs=2 votes=1:"));
    ck_assert_ptr_nonnull(strstr(s.votes, ",3:self"));
    for (size_t i = 0; i < 2; i++)
        sim_boot_again(register_cell.members[i].world);
    register_await_leader(5 * SECOND_US);
    register_sleep_us(SECOND_US);
    replica_get_status(left->replica, &s);
    ck_assert_uint_eq(s.leaderless_us, 0);
    register_cell_stop();
}

/* The member that is left says for how long it has had no leader, and why it
 * is none itself. */
START_TEST(test_a_member_without_a_leader_says_why)
{
    for (uint64_t seed = 0; seed < 5; seed++)
        play(test_seed() + seed, 3, 0, lose_two);
}

END_TEST

/* --- slow disks ---------------------------------------------------------- */

/* A vote takes two syncs, one after the other, of more than an election's time
 * each. */
static void lead_slowly(void *arg)
{
    (void)arg;
    register_cell_boot();
    for (size_t i = 0; i < register_cell.member_count; i++) {
        struct sim_options o;
        sim_get_options(register_cell.members[i].world, &o);
        o.sync_us = 600000;
        sim_set_options(register_cell.members[i].world, &o);
    }
    for (int round = 0; round < 3; round++) {
        struct register_member *m = register_await_leader(30 * SECOND_US);
        register_sleep_us(5 * SECOND_US);
        m = register_await_leader(30 * SECOND_US);
        sim_crash(m->world, SIM_CRASH_KILL);
        sim_await_end(m->world);
        register_await_leader(30 * SECOND_US);
        sim_boot_again(m->world);
    }
    register_cell_stop();
}

START_TEST(test_slow_disks_get_a_leader_too)
{
    for (uint64_t seed = 0; seed < 5; seed++)
        play(test_seed() + seed, 3, 0, lead_slowly);
}

END_TEST

/* --- orderly ends -------------------------------------------------------- */

static void hand_over(void *arg)
{
    struct err err = ERR_INIT;
    (void)arg;
    register_cell_boot();
    for (int round = 0; round < 5; round++) {
        struct register_member *m = register_await_leader(5 * SECOND_US);
        uint64_t from = storm_now_us();
        sim_stop(m->world);
        register_await_leader(SECOND_US);
        /* Nobody had to notice: no election's time went by. */
        ck_assert_uint_lt(storm_now_us() - from, 250000);
        sim_boot_again(m->world);
        register_sleep_us(SECOND_US);
    }
    (void)err;
    register_cell_stop();
}

START_TEST(test_a_leader_that_stops_hands_over)
{
    play(test_seed(), 3, 0, hand_over);
}

END_TEST

/* --- membership ---------------------------------------------------------- */

/* Calls on a member's own loop, for the director. */
struct order {
    struct register_member *member;
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
    o->member = register_await_leader(10 * SECOND_US);
    sim_spawn(o->member->world, "order", run_order, o);
    while (!o->done)
        register_sleep_us(10000);
    ck_assert_msg(o->rc == 0, "%s", o->err.text);
}

/* From one member to three, and on to three others. */
static void move_house(void *arg)
{
    uint64_t seed = *(const uint64_t *)arg;
    register_cell_boot();
    register_clients_start(seed);
    register_sleep_us(3 * SECOND_US);
    for (uint64_t id = 2; id <= 4; id++) {
        struct replica_member m = {id, register_member_address(id - 1), true};
        give_order(&(struct order){.add = &m});
        register_sleep_us(SECOND_US);
        if (id == 3) {
            give_order(&(struct order){.remove = 1});
            sim_stop(register_cell.members[0].world);
        }
    }
    register_sleep_us(2 * SECOND_US);
    ck_assert_uint_gt(register_clients_end(), 100);
    register_cell_agree();
    ck_assert_uint_ne(register_await_leader(SECOND_US)->id, 1);
    register_cell_stop();
}

START_TEST(test_a_cell_moves_to_other_machines)
{
    for (uint64_t seed = 1; seed < 4; seed++) {
        play(seed, 1, 3, move_house);
    }
}

END_TEST

/* --- entering (under faults: quarry-sim --scenario members) -------------- */

static enum replica_role role_of(const struct register_member *m)
{
    struct replica_status s;
    replica_get_status(m->replica, &s);
    return s.role;
}

/* The last of its first members comes late: until then there is no cell. */
static void found_late(void *arg)
{
    (void)arg;
    for (size_t i = 0; i < 2; i++)
        sim_boot(register_cell.members[i].world, register_member_main,
                 &register_cell.members[i]);
    register_sleep_us(60 * SECOND_US);
    for (size_t i = 0; i < 2; i++)
        ck_assert_int_eq(role_of(&register_cell.members[i]), REPLICA_OUTSIDE);
    sim_boot(register_cell.members[2].world, register_member_main,
             &register_cell.members[2]);
    register_await_leader(2 * SECOND_US);
    register_cell_stop();
}

START_TEST(test_all_are_there_when_a_cell_is_founded)
{
    for (uint64_t seed = 0; seed < 5; seed++)
        play_entering(test_seed() + seed, 3, found_late);
}

END_TEST

/* Two disks of three are lost at once. The member that is left has
 * everything acknowledged, and none starts again without it. */
static void lose_majority(void *arg)
{
    uint64_t applied;
    register_cell_boot();
    register_await_leader(5 * SECOND_US);
    register_clients_start(*(const uint64_t *)arg);
    register_sleep_us(3 * SECOND_US);
    register_clients_end();
    register_sleep_us(SECOND_US);
    applied = register_cell.members[2].registers.applied;
    ck_assert_uint_gt(applied, 0);
    register_kill(&register_cell.members[2], SIM_CRASH_POWER);
    for (size_t i = 0; i < 2; i++)
        register_lose_disk(&register_cell.members[i]);
    for (size_t i = 0; i < 2; i++)
        register_boot(&register_cell.members[i]);
    register_sleep_us(30 * SECOND_US);
    for (size_t i = 0; i < 2; i++)
        ck_assert_int_eq(role_of(&register_cell.members[i]), REPLICA_OUTSIDE);
    register_boot(&register_cell.members[2]);
    register_sleep_us(30 * SECOND_US);
    ck_assert_ptr_null(register_leader());
    /* Nor does one that lost its disk last. */
    register_lose_disk(&register_cell.members[2]);
    register_boot(&register_cell.members[2]);
    register_sleep_us(30 * SECOND_US);
    ck_assert_ptr_null(register_leader());
    register_cell_stop();
}

START_TEST(test_nobody_founds_a_cell_again)
{
    for (uint64_t seed = 0; seed < 5; seed++)
        play_entering(test_seed() + seed, 3, lose_majority);
}

END_TEST

static bool is_known_at(const char *address)
{
    struct register_member *m = register_leader();
    struct replica_status s;
    if (!m)
        return false;
    replica_get_status(m->replica, &s);
    for (size_t i = 0; i < s.member_count; i++)
        if (strcmp(s.members[i].address, address) == 0)
            return s.members[i].voting && s.members[i].reachable &&
                   s.members[i].id == 2 && s.member_count == 3;
    return false;
}

/* A member's machine has another address now, and the same disk. */
static void move_one(void *arg)
{
    struct register_member *m = &register_cell.members[1];
    (void)arg;
    register_cell_boot();
    register_await_leader(5 * SECOND_US);
    register_sleep_us(SECOND_US);
    sim_stop(m->world);
    m->address = "m2:71";
    sim_boot_again(m->world);
    for (int i = 0; i < 1000 && !is_known_at("m2:71"); i++)
        register_sleep_us(10000);
    ck_assert(is_known_at("m2:71"));
    register_cell_agree();
    register_cell_stop();
}

START_TEST(test_a_member_tells_its_new_address)
{
    for (uint64_t seed = 0; seed < 5; seed++)
        play_entering(test_seed() + seed, 3, move_one);
}

END_TEST

/* Has @m, as @by knows it, a vote? -1: it is no member. */
static int vote_of(const struct register_member *m,
                   const struct register_member *by)
{
    struct replica_status own;
    struct replica_status s;
    if (!m->replica || !by->replica)
        return -1;
    replica_get_status(m->replica, &own);
    replica_get_status(by->replica, &s);
    for (size_t i = 0; i < s.member_count; i++)
        if (s.members[i].id == own.id)
            return s.members[i].voting;
    return -1;
}

static void await_vote(const struct register_member *m,
                       const struct register_member *by,
                       int vote)
{
    for (int i = 0; i < 200000 && vote_of(m, by) != vote; i++)
        register_sleep_us(100);
    ck_assert_int_eq(vote_of(m, by), vote);
}

static bool has_committed_all(const struct register_member *m)
{
    struct replica_status s;
    replica_get_status(m->replica, &s);
    return s.commit_index == s.last_index;
}

/* The leader makes a learner a voter, reaches nobody but the learner with that,
 * and dies. The others elect another, whose log does not have the change. */
static void lose_promotion(void *arg)
{
    struct register_member *leader;
    struct register_member *joiner;
    (void)arg;
    register_cell_boot();
    leader = register_await_leader(5 * SECOND_US);
    register_sleep_us(SECOND_US);
    leader = register_await_leader(SECOND_US);
    joiner = &register_cell.members[leader == &register_cell.members[0]];
    register_lose_disk(joiner);
    register_boot(joiner);
    await_vote(joiner, leader, 0);
    while (!has_committed_all(leader))
        register_sleep_us(100);
    sim_partition(register_cell.sim,
                  (struct world *const[]){leader->world, joiner->world}, 2);
    await_vote(joiner, joiner, 1);
    register_kill(leader, SIM_CRASH_KILL);
    register_sleep_us(100000);
    register_await_leader(10 * SECOND_US);
    sim_heal(register_cell.sim);
    register_boot_all();
    register_sleep_us(SECOND_US);
    for (int i = 0; i < 2000; i++) {
        leader = register_await_leader(10 * SECOND_US);
        if (vote_of(joiner, leader) == 1)
            break;
        register_sleep_us(10000);
    }
    ck_assert_int_eq(vote_of(joiner, leader), 1);
    register_cell_agree();
    register_cell_stop();
}

/* A learner that read in its log that it is a voter asks again when that was
 * never committed. */
START_TEST(test_a_lost_promotion_is_asked_for_again)
{
    for (uint64_t seed = 0; seed < 3; seed++)
        play_entering(test_seed() + seed, 5, lose_promotion);
}

END_TEST

/* --- removals ------------------------------------------------------------ */

struct removal {
    const char *from;
    struct cell_request request;
    int rc;
    struct err err;
};

static void ask_for_removal(void *arg)
{
    struct removal *q = arg;
    struct rpc_security *security = rpc_security_none("test", "director");
    q->rc = cell_call(q->from, security, REPLICA_METHOD, 10 * SECOND_US,
                      &q->request, NULL, &q->err);
    rpc_security_free(security);
}

/* One of three dies, and a moment later another is to be removed: while the
 * first is at rest or at work, leads or follows, and before anybody noticed, in
 * the middle of the election, or after it. */
static void remove_beside_the_dead(void *arg)
{
    uint64_t seed = *(const uint64_t *)arg;
    size_t leader;
    size_t dead;
    size_t gone;
    struct err err = ERR_INIT;
    int rc;
    register_cell_boot();
    register_await_leader(20 * SECOND_US);
    register_sleep_us(seed / 2 % 2 ? 4 * SECOND_US : SECOND_US / 2);
    leader = (size_t)(register_await_leader(SECOND_US) - register_cell.members);
    dead = seed % 2 ? leader : (leader + 1) % 3;
    gone = (leader + 2) % 3;
    sim_crash(register_cell.members[dead].world, SIM_CRASH_KILL);
    register_sleep_us(seed / 4 * 100000);
    rc = register_remove(&register_cell.members[3 - dead - gone],
                         register_cell.members[gone].id, &err);
    ck_assert_msg(rc == ERR_INVALID, "seed %" PRIu64 ": %d %s", seed, rc,
                  err.text);
    ck_assert_ptr_nonnull(strstr(err.text, "would be no majority"));
    register_await_leader(5 * SECOND_US);
    register_cell_stop();
}

/* The two that are left of three keep a leader, because neither is removed:
 * alone with the dead one, the other would elect nobody. */
START_TEST(test_a_removal_does_not_count_on_the_dead)
{
    for (uint64_t seed = 0; seed < 60; seed++)
        play(seed, 3, 0, remove_beside_the_dead);
}

END_TEST

/* All but the one that is dead stand still while the leader listens. */
static void remove_while_all_stand_still(void *arg)
{
    struct removal q = {.request = {.verb = CELL_REMOVE}};
    struct register_member *m;
    struct register_member *dead;
    struct fiber *f;
    (void)arg;
    register_cell_boot();
    m = register_await_leader(20 * SECOND_US);
    dead = &register_cell.members[m == &register_cell.members[0]];
    sim_crash(dead->world, SIM_CRASH_KILL);
    sim_await_end(dead->world);
    register_sleep_us(2 * SECOND_US);
    m = register_await_leader(SECOND_US);
    q.from = m->address;
    q.request.id = dead->id;
    f = fiber_start(loop_self(), "removal", ask_for_removal, &q);
    register_sleep_us(SECOND_US / 10);
    for (size_t i = 0; i < register_cell.member_count; i++)
        if (&register_cell.members[i] != dead)
            sim_pause(register_cell.members[i].world);
    register_sleep_us(2 * SECOND_US);
    for (size_t i = 0; i < register_cell.member_count; i++)
        if (&register_cell.members[i] != dead)
            sim_resume(register_cell.members[i].world);
    fiber_join(f);
    ck_assert_msg(q.rc == 0 || q.rc == ERR_BUSY || q.rc == ERR_UNAVAILABLE,
                  "%d %s", q.rc, q.err.text);
    register_cell_stop();
}

/* A member that received nothing because it stood still itself does not
 * declare the others dead. */
START_TEST(test_who_stood_still_does_not_judge)
{
    for (uint64_t seed = 0; seed < 5; seed++)
        play(test_seed() + seed, 3, 0, remove_while_all_stand_still);
}

END_TEST

TEST_MAIN("replica",
          test_a_dead_leader_is_replaced_within_a_second,
          test_a_member_without_a_leader_says_why,
          test_slow_disks_get_a_leader_too,
          test_a_leader_that_stops_hands_over,
          test_a_cell_moves_to_other_machines,
          test_all_are_there_when_a_cell_is_founded,
          test_nobody_founds_a_cell_again,
          test_a_member_tells_its_new_address,
          test_a_lost_promotion_is_asked_for_again,
          test_a_removal_does_not_count_on_the_dead,
          test_who_stood_still_does_not_judge)
