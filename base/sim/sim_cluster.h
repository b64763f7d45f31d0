/* Several simulated machines: one virtual time, one seed, one trace, and a
 * network between them whose faults the scenario sets.
 *
 *     struct sim_cluster *c = sim_cluster_new(seed);
 *     struct world *a = sim_machine_new(c, "a", &(struct sim_options){…});
 *     struct world *b = sim_machine_new(c, "b", &(struct sim_options){…});
 *     sim_cluster_run(c, scenario, &ctx);
 *     sim_cluster_free(c);
 *
 *     static void scenario(void *arg)           // the director: a fiber of its
 *     {                                         // own world, sim_director(c)
 *         sim_boot(a, server_main, &ctx);
 *         …
 *         sim_crash(a, SIM_CRASH_POWER);        // at any moment
 *         sim_await_end(a);
 *         sim_boot_again(a);
 *         sim_stop(a);
 *     }
 *
 * Each machine is a `struct world *` that all code takes for the world: it has
 * its own disk, power, clocks, randomness and faults (sim.h holds for each),
 * and a name on the network. "NAME:port" reaches its listeners on
 * "0.0.0.0:port", ":port" or its own name; "localhost:port" and "unix:/path"
 * stay within the machine. Port 0 chooses one.
 *
 * A machine's program is a function that serves until its fiber is cancelled
 * (fiber_check(), or ERR_CANCELLED from a parking call) and then closes all it
 * opened, as a process does after SIGTERM. A crash does the same with a disk
 * and a network that no longer work: every fiber of the machine stays
 * cancelled, sleeps return at once, calls on files fail with ERR_IO, streams
 * with ERR_CLOSED or ERR_CANCELLED, so that the program unwinds and frees its
 * memory without any effect on the rest of the world. Waits that return no
 * error (mutexes, conditions, joins) continue: fibers that unwind must end
 * them, as in an orderly stop. The machine cannot boot before that.
 *
 * Threads: one, as all of the simulation.
 */
#ifndef BASE_SIM_SIM_CLUSTER_H
#define BASE_SIM_SIM_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/runtime/world.h"
#include "base/sim/sim.h"

struct buf;
struct sim_cluster;

/* After this time (virtual µs) without a packet getting through, a
 * connection is reset, and an attempt to connect fails. */
#define SIM_NET_GIVE_UP_US UINT64_C(15000000)

/* --- the cluster --------------------------------------------------------- */

/* No machine yet. Owned. */
struct sim_cluster *sim_cluster_new(uint64_t seed);
/* Frees its machines too. PRE: no machine runs. NULL is allowed. */
void sim_cluster_free(struct sim_cluster *c);

/* The director's world: a perfect machine named "director", for the scenario
 * itself and for clients that faults must not hit (unless set on a link). */
struct world *sim_director(struct sim_cluster *c);

/* Run fn(arg) in a fiber of the director and drive all machines until it has
 * returned; machines that still run are stopped then. Panics with a dump of all
 * fibers when every one waits for another and no timer is set. */
void sim_cluster_run(struct sim_cluster *c, task_fn fn, void *arg);

uint64_t sim_cluster_now_us(const struct sim_cluster *c); /* True time. */
/* A checksum of everything that happened: equal for equal runs. */
uint64_t sim_cluster_trace_hash(const struct sim_cluster *c);
/* Steps of fibers so far, and a checksum of them: which fiber ran when. Two
 * runs whose digests are equal did the same, step by step. */
uint64_t sim_cluster_event_count(const struct sim_cluster *c);
uint64_t sim_cluster_digest(const struct sim_cluster *c);
/* Call @fn (NULL: none) with each new line of the trace, without a line
 * feed. It must not touch the simulation. */
void sim_cluster_on_trace(struct sim_cluster *c,
                          void (*fn)(void *ctx, const char *line),
                          void *ctx);
/* Append the newest @max lines: "time machine/fiber operation outcome". */
void sim_cluster_trace_print(const struct sim_cluster *c,
                             size_t max,
                             struct buf *out);
/* Append a line for each fiber of each machine: its state, and until when it
 * waits. */
void sim_cluster_fibers_print(const struct sim_cluster *c, struct buf *out);
/* Add a line of the scenario's own. */
void sim_note(struct sim_cluster *c, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* --- machines ------------------------------------------------------------ */

/* A machine with an empty disk, which runs nothing. @name (copied) is its name
 * on the network, unique, without a colon. @o is copied; its seed is not used,
 * and network_us is the time of a message from this machine without faults.
 * Borrowed from @c; world_free() removes it earlier. */
struct world *sim_machine_new(struct sim_cluster *c,
                              const char *name,
                              const struct sim_options *o);
/* The machine's name and its cluster. Borrowed. */
const char *sim_machine_name(const struct world *m);
struct sim_cluster *sim_machine_cluster(const struct world *m);

/* Start program(arg) in a fiber of @m, with the power back on if it was off.
 * When it returns, the process exits: everything else that runs there ends
 * as in a kill. PRE: nothing runs on @m. */
void sim_boot(struct world *m, task_fn program, void *arg);
/* The same with the program of the last time. */
void sim_boot_again(struct world *m);
/* True while the program, or anything it started, runs. */
bool sim_is_up(const struct world *m);

/* Start a fiber beside the program: a client, a probe. It is cancelled with the
 * rest of the machine and needs no join. */
void sim_spawn(struct world *m, const char *name, task_fn fn, void *arg);

enum sim_crash {
    SIM_CRASH_POWER, /* Unsynced data are lost at the next boot; peers get no
                        answer until they give up or the machine is back. */
    SIM_CRASH_KILL,  /* As kill -9: written data stay; the system closes the
                        connections. */
};

/* End everything on @m now. Does not park: sim_await_end() waits for the last
 * fiber. Allowed when nothing runs. Not on a paused machine. */
void sim_crash(struct world *m, enum sim_crash how);
/* Parks until nothing runs on @m. */
void sim_await_end(struct world *m);
/* Ask the program to end (SIGTERM) and wait until it has. Parks. */
void sim_stop(struct world *m);

/* SIGSTOP: no fiber of @m runs until sim_resume(); its clocks continue, its
 * connections stay open and fill up. */
void sim_pause(struct world *m);
void sim_resume(struct world *m);
bool sim_is_paused(const struct world *m);

/* --- clocks -------------------------------------------------------------- */

/* Set @m's wall clock off by @offset_us from now on, and make both its
 * clocks gain @drift_ppm microseconds in a true second. The monotonic one
 * does not jump. */
void sim_set_clock(struct world *m, int64_t offset_us, int32_t drift_ppm);

/* --- network ------------------------------------------------------------- */

/* One direction between two machines. All 0: as sim_options.network_us says. */
struct sim_link {
    bool cut;             /* Nothing arrives. Bytes that were sent are held,
                             as TCP retransmits them, and arrive after the
                             link is mended. */
    uint32_t delay_us;    /* On top of network_us, */
    uint32_t jitter_us;   /* plus a random time up to this. */
    uint32_t loss_rate;   /* Per million writes: costs a retransmission. */
    uint32_t reset_rate;  /* Per million writes: the connection breaks, */
    uint32_t answer_rate; /* or breaks just after the bytes arrived: the
                             request is executed and its answer is lost. */
    uint64_t bytes_per_s; /* 0: endless. */
};

/* Set the link from @from to @to; NULL: every machine, and the director. */
void sim_set_link(struct sim_cluster *c,
                  struct world *from,
                  struct world *to,
                  const struct sim_link *link);
/* Set only `cut`, one way, and keep the rest. */
void sim_cut(struct world *from, struct world *to, bool cut);
/* Cut @side off from all other machines, both ways. */
void sim_partition(struct sim_cluster *c,
                   struct world *const *side,
                   size_t count);
/* Reset all links: no cut, delay or loss. */
void sim_heal(struct sim_cluster *c);
/* Break every connection between @a and @b (NULL: any) with a reset. */
void sim_reset_connections(struct sim_cluster *c,
                           struct world *a,
                           struct world *b);

/* --- damage -------------------------------------------------------------- */

/* Flip one bit of a durable file whose path begins with @prefix, chosen by the
 * seed; false if there is none. The path goes to the trace. */
bool sim_rot(struct world *m, const char *prefix);

#endif /* BASE_SIM_SIM_CLUSTER_H */
