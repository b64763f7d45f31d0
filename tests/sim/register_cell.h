/* A cell of replicas with registers for a machine, and clients whose histories
 * are judged: what the replicated log promises, with nothing on top of it.
 *
 *     register_cell_start(sim, &options);         machines, not booted
 *     … on the director …
 *     register_cell_boot();
 *     register_clients_start(seed);
 *     … faults …
 *     answered = register_clients_end();
 *     register_cell_agree();
 *     register_cell_stop();
 *     … the simulation ends …
 *     register_cell_finish();
 *
 * Every member tells what it applied: two that apply different commands at one
 * index fail the storm at once, whether a client notices or not.
 *
 * One cell at a time; threads: one.
 */
#ifndef TESTS_SIM_REGISTER_CELL_H
#define TESTS_SIM_REGISTER_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/rand.h"
#include "base/replica/replica.h"
#include "base/sim/sim_cluster.h"

#define REGISTER_MEMBERS_MAX 5
#define REGISTER_KEYS        6

struct registers {
    uint64_t values[REGISTER_KEYS];
    uint64_t applied; /* Commands. */
};

struct register_member {
    struct world *world;
    uint64_t id; /* Of the machine, from 1; of the member, unless it enters. */
    const char *address; /* Where it listens. */
    unsigned disks;      /* That it has lost. */
    struct registers registers;
    uint64_t last_index;     /* Applied; 0: not known. */
    struct replica *replica; /* While it runs. */
    bool dying;              /* Killed, and not yet gone: a scenario's note. */
    bool cut;                /* Its log lacks something: it must not start. */
};

struct register_cell {
    struct sim_cluster *sim;
    uint64_t append_bytes_max;
    uint32_t lease_ms;
    struct register_member members[REGISTER_MEMBERS_MAX];
    size_t member_count;
    size_t founder_count; /* The rest join later. */
    bool entering;
};

/* The one that there is. */
extern struct register_cell register_cell;

struct register_options {
    size_t founders;
    size_t joiners;            /* Machines that become members later. */
    uint64_t append_bytes_max; /* As in replica_options. */
    uint32_t lease_ms;
    bool entering; /* Members find the way into the cell by themselves. */
};

/* @sim is borrowed. */
void register_cell_start(struct sim_cluster *sim,
                         const struct register_options *o);
void register_cell_finish(void);
const char *register_member_address(size_t i);

/* The program of a machine; @arg: its register_member. */
void register_member_main(void *arg);

/* On the director. */
void register_cell_boot(void);
void register_cell_stop(void);
void register_sleep_us(uint64_t us);
/* Its program needs a while to unwind; what follows does not wait for that. */
void register_kill(struct register_member *m, enum sim_crash how);
/* It has gone, or goes now; what was on its disk does not come back. Parks. */
void register_lose_disk(struct register_member *m);
/* It is killed, the end of its log is cut off, and it is started again: it
 * refuses. So its directory goes the way of a disk that is lost. Parks. */
void register_cut_log(struct register_member *m, struct rand_gen *r);
/* If it does not run; a program that dies is waited for. Parks. */
void register_boot(struct register_member *m);
void register_boot_all(void);
/* A while between nothing and long enough for anything. */
uint64_t register_moment_us(struct rand_gen *r);
/* A member that believes to lead; NULL: none. */
struct register_member *register_leader(void);
/* Parks. Fails the storm when there is none within @within_us. */
struct register_member *register_await_leader(uint64_t within_us);
/* Ask for the removal of member @id as `quarry member rm` does: @ask, and the
 * one that it names, until there is an answer. Parks. Errors: the answer's, or
 * the last refusal's after 20 s. */
MUST_CHECK int register_remove(const struct register_member *ask,
                               uint64_t id,
                               struct err *err);
/* With a leader there, kill it and as many more as the cell can lose; there is
 * a leader within @within_us. Then all run again. Parks. */
void register_cell_survives(uint64_t within_us);
/* All members that run have executed the same. Parks. */
void register_cell_agree(void);

void register_clients_start(uint64_t seed);
/* Ends them, judges what they were told, and says how many calls were answered.
 * Parks. */
uint64_t register_clients_end(void);

#endif /* TESTS_SIM_REGISTER_CELL_H */
