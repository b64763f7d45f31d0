/* One run of a simulated cluster under faults, as all scenarios see it: its
 * seed, its clients, and how it fails.
 *
 * A storm has two parts. While it rages, clients on machines of their own work
 * and nemeses strike; then all is healed, the clients end (storm_end()), and
 * the scenario checks what is left.
 *
 *     static void work(struct storm_client *c)
 *     {
 *         … open what is needed …
 *         while (storm_goes_on(c))
 *             … one call; what it returns goes into a history …
 *         … close all …
 *     }
 *
 * A client's machine crashes like any other: then every call returns with an
 * error, sleeps return at once, and storm_goes_on() is false until the program
 * has unwound; booted again, work() restarts. State that must survive its death
 * is in the checkers' memory, not the machine's.
 *
 * Threads: one.
 */
#ifndef TESTS_SIM_STORM_H
#define TESTS_SIM_STORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/macros.h"
#include "base/core/rand.h"
#include "base/sim/sim_cluster.h"

#define STORM_CLIENTS_MAX 16

#define SECOND_US UINT64_C(1000000)

struct storm;

struct storm_client {
    struct storm *storm;
    struct world *world;
    struct rand_gen rand; /* Continues over boots. */
    unsigned number;      /* From 1; no two of a storm are the same. */
    unsigned lives;
    void (*work)(struct storm_client *c);
    void *ctx; /* The checkers'. */
};

struct storm {
    const char *scenario;
    uint64_t seed;
    struct sim_cluster *sim;
    struct rand_gen rand; /* For the scenario's own draws. */
    bool over;            /* The clients shall end. */
    struct storm_client clients[STORM_CLIENTS_MAX];
    size_t client_count;
    uint64_t call_count; /* Calls that were answered; for people. */
};

/* The one that runs, for what only knows that it is in one. */
extern struct storm *storm_running;

/* Print what went wrong, the seed, how to run it again and the newest lines of
 * the trace, and end the process with status 1. */
NORETURN void storm_fail(const char *fmt, ...) PRINTF_LIKE(1, 2);

#define STORM_CHECK(cond, ...) ((cond) ? (void)0 : storm_fail(__VA_ARGS__))

uint64_t storm_now_us(void);      /* True time. */
void storm_sleep_us(uint64_t us); /* On whatever machine this runs. */

/* --- clients ------------------------------------------------------------- */

/* A machine of its own, booted at once, that runs work(c). @name is unique. */
struct storm_client *storm_add_client(struct storm *s,
                                      const char *name,
                                      void (*work)(struct storm_client *c),
                                      void *ctx);
/* Neither is the storm over nor has its machine crashed. */
bool storm_goes_on(struct storm_client *c);
/* The client's machine, as an array for a nemesis; returns how many. */
size_t storm_client_machines(const struct storm *s,
                             struct world *out[STORM_CLIENTS_MAX]);
/* Let the clients end, and wait for them. */
void storm_end(struct storm *s);

#endif /* TESTS_SIM_STORM_H */
