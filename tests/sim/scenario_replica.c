/* The replicated log alone: three or five members, under all faults or under a
 * hunt for its leaders.
 *
 * The hunt is what random faults come upon too rarely: leaders that die within
 * moments of their election, having reached some of the others and not all.
 * Messages carry one entry each, so that a moment is long enough for some
 * entries to be copied and others not.
 */
#include <inttypes.h>

#include "base/core/buf.h"
#include "base/sim/sim_nemesis.h"
#include "tests/sim/register_cell.h"
#include "tests/sim/scenario.h"
#include "tests/sim/storm.h"

#define STORM_US      (20 * SECOND_US)
#define ROUNDS        60
#define ANSWERS_LEAST 50

/* --- all faults ---------------------------------------------------------- */

static void strike(struct storm *s)
{
    struct world *victims[REGISTER_MEMBERS_MAX];
    struct nemesis_options n = {.seed = s->seed,
                                .machines = victims,
                                .machine_count = register_cell.member_count,
                                .duration_us = STORM_US,
                                .pause_us = SECOND_US,
                                .fault_us = 2 * SECOND_US};
    /* Also without a majority, at times. */
    n.down_max = s->seed % 3 ? 0 : n.machine_count;
    for (size_t i = 0; i < n.machine_count; i++)
        victims[i] = register_cell.members[i].world;
    nemesis_run(s->sim, &n, NULL);
}

/* --- the hunt ------------------------------------------------------------ */

static struct world *machine(size_t i)
{
    return register_cell.members[i].world;
}

/* Does @m lead, though it may not have committed anything yet, and may serve
 * nobody? */
static bool leads(const struct register_member *m)
{
    struct replica_status s = {.role = REPLICA_FOLLOWER};
    if (m->replica && sim_is_up(m->world) && !m->dying)
        replica_get_status(m->replica, &s);
    return s.role == REPLICA_LEADER;
}

static struct register_member *find_leader(void)
{
    for (size_t i = 0; i < register_cell.member_count; i++)
        if (leads(&register_cell.members[i]))
            return &register_cell.members[i];
    return NULL;
}

/* The leader, as soon as there is one. */
static struct register_member *catch_leader(void)
{
    struct register_member *m = NULL;
    for (int i = 0; i < 20000 && !(m = find_leader()); i++)
        register_sleep_us(100);
    return m;
}

/* Messages follow each other at a distance, so that what happens between two of
 * them has time to happen. */
static void slow_links(void)
{
    struct sim_link slow = {.bytes_per_s = 100000};
    sim_heal(register_cell.sim);
    for (size_t i = 0; i < register_cell.member_count; i++)
        for (size_t j = 0; j < register_cell.member_count; j++)
            if (i != j)
                sim_set_link(register_cell.sim, machine(i), machine(j), &slow);
}

/* From here on @m reaches only those that the draw leaves it. */
static void muffle(struct register_member *m, struct rand_gen *r)
{
    for (size_t i = 0; i < register_cell.member_count; i++)
        if (machine(i) != m->world && !rand_one_in(r, 3))
            sim_cut(m->world, machine(i), true);
}

static size_t count_up(void)
{
    size_t up = 0;
    for (size_t i = 0; i < register_cell.member_count; i++)
        up += sim_is_up(machine(i)) && !register_cell.members[i].dying;
    return up;
}

/* Boot members that are down, drawn, until there is a majority; sometimes more.
 */
static void boot_some(struct rand_gen *r)
{
    size_t majority = register_cell.member_count / 2 + 1;
    while (count_up() < majority || rand_one_in(r, 3)) {
        register_boot(
            &register_cell.members[rand_below(r, register_cell.member_count)]);
    }
}

static void hunt_once(struct rand_gen *r)
{
    struct register_member *m = catch_leader();
    if (!m) {
        register_boot_all();
        return;
    }
    if (rand_one_in(r, 2))
        muffle(m, r);
    register_sleep_us(register_moment_us(r));
    register_kill(m, rand_one_in(r, 3) ? SIM_CRASH_POWER : SIM_CRASH_KILL);
    slow_links();
    boot_some(r);
}

/* Kill the leader after it could reach nobody for @us; NULL: there was none. */
static struct register_member *kill_lonely_leader(uint64_t us)
{
    struct register_member *m = catch_leader();
    for (size_t i = 0; m && i < register_cell.member_count; i++)
        if (machine(i) != m->world)
            sim_cut(m->world, machine(i), true);
    register_sleep_us(us);
    if (m)
        register_kill(m, SIM_CRASH_KILL);
    slow_links();
    return m;
}

/* The story of figure 8 of the Raft paper, with the moments drawn: a leader
 * dies with entries that only it has, another with an entry of a later term;
 * the first comes back, copies its old entries and dies while it does; the
 * second comes back. */
static void hunt_old_entries(struct rand_gen *r)
{
    struct register_member *first;
    struct register_member *second;
    register_boot_all();
    /* Clients have found it, and each has something under way. */
    for (int i = 0; i < 1000 && !register_leader(); i++)
        register_sleep_us(1000);
    register_sleep_us(SECOND_US / 4);
    first = kill_lonely_leader(20000 + rand_below(r, 20000));
    second = kill_lonely_leader(1000 + rand_below(r, 3000));
    if (!first || !second)
        return;
    register_boot(first);
    if (catch_leader() == first) {
        register_sleep_us(rand_below(r, 25000));
        register_kill(first, SIM_CRASH_KILL);
    }
    register_boot(second);
    catch_leader();
    register_boot_all();
}

static void hunt(struct storm *s)
{
    slow_links();
    for (int i = 0; i < ROUNDS; i++)
        if (rand_one_in(&s->rand, 3))
            hunt_old_entries(&s->rand);
        else
            hunt_once(&s->rand);
    sim_heal(s->sim);
    register_boot_all();
}

/* --- the whole ----------------------------------------------------------- */

static void run(struct storm *s, struct buf *figures)
{
    bool hunts = s->seed % 2;
    uint64_t answered;
    register_cell_start(s->sim, &(struct register_options){
                                    .founders = s->seed / 2 % 4 ? 3 : 5,
                                    .append_bytes_max = hunts ? 1 : 0,
                                    .lease_ms = s->seed / 4 % 2 ? 240 : 0});
    register_cell_boot();
    register_clients_start(s->seed);
    if (hunts)
        hunt(s);
    else
        strike(s);
    register_sleep_us(5 * SECOND_US);
    answered = register_clients_end();
    STORM_CHECK(answered > ANSWERS_LEAST, "only %" PRIu64 " answers", answered);
    register_cell_agree();
    register_cell_survives(5 * SECOND_US);
    register_cell_stop();
    buf_printf(figures, " calls=%" PRIu64, answered);
    register_cell_finish();
}

const struct scenario scenario_replica = {
    "replica", "3 or 5 replicas of registers, under faults or a leader hunt",
    run};
