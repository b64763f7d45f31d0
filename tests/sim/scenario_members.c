/* A cell of replicas whose members find into it by themselves, while machines
 * die, come late, are cut off and lose their disks or the ends of their logs,
 * one at a time: a member that lost its disk comes back as another, and nothing
 * that was answered is lost. Members are removed while another machine is dead:
 * those that are left always have a leader.
 */
#include <inttypes.h>
#include <string.h>

#include "base/core/buf.h"
#include "tests/sim/register_cell.h"
#include "tests/sim/scenario.h"
#include "tests/sim/storm.h"

#define ROUNDS        60
#define ANSWERS_LEAST 50

static struct register_member *draw(struct rand_gen *r)
{
    return &register_cell.members[rand_below(r, register_cell.member_count)];
}

static size_t count_voting(const struct replica_status *s)
{
    size_t count = 0;
    for (size_t i = 0; i < s->member_count; i++)
        count += s->members[i].voting;
    return count;
}

/* The member that @leader knows at the address of machine @i runs there, is a
 * voter and has all that was committed. It knows of all voters itself: what the
 * leader alone has is lost with it, and of two voters neither may go. */
static bool is_well(const struct replica_status *leader, size_t i)
{
    const struct register_member *m = &register_cell.members[i];
    struct replica_status s;
    if (!m->replica || m->dying)
        return false;
    replica_get_status(m->replica, &s);
    if (count_voting(&s) != register_cell.member_count)
        return false;
    for (size_t j = 0; j < leader->member_count; j++)
        if (leader->members[j].id == s.id)
            return leader->members[j].voting &&
                   leader->members[j].match_index >= leader->commit_index &&
                   s.role != REPLICA_OUTSIDE && s.term == leader->term;
    return false;
}

/* Any one of the members may go. */
static bool is_whole(void)
{
    struct register_member *m = register_leader();
    struct replica_status s;
    if (!m || m->dying)
        return false;
    replica_get_status(m->replica, &s);
    for (size_t i = 0; i < register_cell.member_count; i++)
        if (!is_well(&s, i))
            return false;
    return s.member_count == register_cell.member_count;
}

/* Note what each member knows, for finding the reason of a failure. */
static void tell_members(void)
{
    static const char *const roles[] = {"follower", "candidate", "leader",
                                        "outside"};
    for (size_t i = 0; i < register_cell.member_count; i++) {
        const struct register_member *m = &register_cell.members[i];
        struct replica_status s = {.role = REPLICA_OUTSIDE};
        if (m->replica)
            replica_get_status(m->replica, &s);
        sim_note(register_cell.sim,
                 "m%zu up=%d %s id=%" PRIu64 " term=%" PRIu64 " last=%" PRIu64
                 " commit=%" PRIu64 " members=%zu",
                 i + 1, m->replica != NULL, roles[s.role], s.id, s.term,
                 s.last_index, s.commit_index, s.member_count);
        for (size_t j = 0; j < s.member_count; j++)
            sim_note(register_cell.sim, "    %" PRIu64 " at %s voting=%d",
                     s.members[j].id, s.members[j].address,
                     s.members[j].voting);
    }
}

/* A while later, with everybody up and able to talk. */
static void await_whole(void)
{
    uint64_t until = storm_now_us() + 30 * SECOND_US;
    sim_heal(register_cell.sim);
    register_boot_all();
    while (!is_whole() && storm_now_us() < until)
        register_sleep_us(10000);
    if (!is_whole())
        tell_members();
    STORM_CHECK(is_whole(), "after half a minute the members are not complete");
}

static void cut_some(struct rand_gen *r)
{
    struct register_member *from = draw(r);
    struct register_member *to = draw(r);
    if (from != to)
        sim_cut(from->world, to->world, rand_one_in(r, 2));
}

/* Machines begin in any order, some die again at once. */
static void found(struct rand_gen *r)
{
    for (size_t i = 0; i < register_cell.member_count; i++) {
        sim_boot(register_cell.members[i].world, register_member_main,
                 &register_cell.members[i]);
        register_sleep_us(register_moment_us(r));
        if (rand_one_in(r, 4))
            register_kill(&register_cell.members[i],
                          rand_one_in(r, 2) ? SIM_CRASH_POWER : SIM_CRASH_KILL);
    }
    /* One of them may be a new machine by then. */
    if (rand_one_in(r, 3))
        register_lose_disk(draw(r));
}

/* One fault, that the next may come upon before it is over. */
static void strike(struct rand_gen *r)
{
    if (rand_one_in(r, 3)) {
        cut_some(r);
        return;
    }
    register_kill(draw(r),
                  rand_one_in(r, 3) ? SIM_CRASH_POWER : SIM_CRASH_KILL);
    register_sleep_us(register_moment_us(r));
    register_boot_all();
}

/* A disk is lost, and more goes wrong while its machine comes back. */
static void lose(struct rand_gen *r)
{
    struct register_member *m;
    await_whole();
    m = draw(r);
    if (rand_one_in(r, 3))
        register_cut_log(m, r);
    else
        register_lose_disk(m);
    register_sleep_us(register_moment_us(r));
    register_boot(m);
    while (!rand_one_in(r, 4)) {
        register_sleep_us(register_moment_us(r));
        strike(r);
        if (rand_one_in(r, 3))
            sim_heal(register_cell.sim);
    }
}

/* A machine dies and stays dead, and another member is to be removed. Whether
 * it is or not, those that are left have a leader. */
static void remove_beside_the_dead(struct rand_gen *r)
{
    struct register_member *dead;
    struct register_member *gone;
    struct register_member *left = register_cell.members;
    struct replica_status s;
    struct err err = ERR_INIT;
    int rc;
    await_whole();
    dead = draw(r);
    do {
        gone = draw(r);
    } while (gone == dead);
    while (left == dead || left == gone)
        left++;
    replica_get_status(gone->replica, &s);
    register_kill(dead, rand_one_in(r, 3) ? SIM_CRASH_POWER : SIM_CRASH_KILL);
    register_sleep_us(3 * register_moment_us(r));
    rc = register_remove(left, s.id, &err);
    STORM_CHECK(rc == 0 || rc == ERR_INVALID || rc == ERR_NOTFOUND,
                "member %" PRIu64 " cannot be removed: %s", s.id, err.text);
    STORM_CHECK(rc == 0 || register_cell.member_count == 3, "%s", err.text);
    register_await_leader(5 * SECOND_US);
    if (rc != ERR_INVALID)
        register_lose_disk(gone);
    register_boot_all();
}

static void run(struct storm *s, struct buf *figures)
{
    uint64_t answered;
    uint64_t lost = 0;
    register_cell_start(s->sim, &(struct register_options){
                                    .founders = s->seed % 4 ? 3 : 5,
                                    .append_bytes_max = s->seed / 4 % 2,
                                    .lease_ms = s->seed / 8 % 2 ? 240 : 0,
                                    .entering = true});
    found(&s->rand);
    register_clients_start(s->seed);
    for (int i = 0; i < ROUNDS; i++) {
        if (rand_one_in(&s->rand, 6))
            lose(&s->rand);
        else if (rand_one_in(&s->rand, 8))
            remove_beside_the_dead(&s->rand);
        else
            strike(&s->rand);
        register_sleep_us(register_moment_us(&s->rand));
    }
    await_whole();
    register_sleep_us(5 * SECOND_US);
    answered = register_clients_end();
    STORM_CHECK(answered > ANSWERS_LEAST, "only %" PRIu64 " answers", answered);
    register_cell_agree();
    register_cell_survives(5 * SECOND_US);
    for (size_t i = 0; i < register_cell.member_count; i++)
        lost += register_cell.members[i].disks;
    register_cell_stop();
    buf_printf(figures, " calls=%" PRIu64 " disks=%" PRIu64, answered, lost);
    register_cell_finish();
}

const struct scenario scenario_members = {
    "members", "3 or 5 replicas that enter by themselves and lose disks", run};
