/* Workers and job masters on a simulated cell: a job counts the words of files
 * that are known, and what it wrote is compared.
 *
 *     struct jobs_cell *j = jobs_cell_new(cell, 4, 1);
 *     sim_cell_boot(cell);
 *     jobs_write_input(fs);
 *     jobs_cell_boot(j);
 *     jobs_begin(j);                     // the job of the number 0
 *     … until j->done …
 *     jobs_check_output(fs, 0);
 *
 * The masters vie for a lock; who has it runs the job that was begun, or goes
 * on with it. Machines reach the cell by its addresses, as those of
 * tables_cell.h.
 *
 * Threads: one.
 */
#ifndef TESTS_SIM_JOBS_CELL_H
#define TESTS_SIM_JOBS_CELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "tests/sim/cell.h"

struct worker;
struct worker_pool;

#define JOBS_WORKERS_MAX 6
#define JOBS_MASTERS_MAX 2
#define JOBS_RECORDS     (6 * 400) /* Of the input. */

struct jobs_cell;

struct jobs_worker {
    struct jobs_cell *jobs;
    struct world *world;
    char name[16]; /* "w0". */
    char address[32];
    struct worker *worker; /* While it runs. */
};

struct jobs_master {
    struct jobs_cell *jobs;
    struct world *world;
    struct worker_pool *pool;  /* While it reigns. */
    struct attempt_host *host; /* Of the job, from its beginning. */
    atomic_bool in_danger;     /* The lock service does not answer. */
    atomic_bool over;          /* Its lock may be another's. */
};

struct jobs_cell {
    struct sim_cell *cell; /* Borrowed. */
    struct jobs_worker workers[JOBS_WORKERS_MAX];
    struct jobs_master masters[JOBS_MASTERS_MAX];
    unsigned worker_count;
    unsigned master_count;
    /* The job: the tests' memory, which no crash takes. */
    unsigned number;
    bool wanted; /* Run it. */
    bool done;   /* It has ended: as these say. */
    int code;
    struct err err;
    uint64_t records;
    uint64_t early_bytes; /* Of all jobs that succeeded: what reduces read of
                             other machines' and had while maps ran. */
};

/* Machines that run nothing yet. Owned. */
struct jobs_cell *
jobs_cell_new(struct sim_cell *cell, unsigned workers, unsigned masters);
void jobs_cell_free(struct jobs_cell *j); /* PRE: none of them runs. */
/* Start all. On the director. */
void jobs_cell_boot(struct jobs_cell *j);
/* Boot what has ended by itself. On the director. */
void jobs_cell_boot_ended(struct jobs_cell *j);
/* Stop all that run, in order. Parks. */
void jobs_cell_stop(struct jobs_cell *j);
/* Their machines; returns how many. */
size_t jobs_cell_workers(const struct jobs_cell *j,
                         struct world *out[JOBS_WORKERS_MAX]);
size_t jobs_cell_masters(const struct jobs_cell *j,
                         struct world *out[JOBS_MASTERS_MAX]);

/* Let the masters run another job; its number, from 0. PRE: the one before has
 * ended. */
unsigned jobs_begin(struct jobs_cell *j);
/* What the jobs read. Parks. */
void jobs_write_input(struct fs *fs);
/* STORM_CHECK that job @number has counted all words, each once. Parks. */
void jobs_check_output(struct fs *fs, unsigned number);

#endif /* TESTS_SIM_JOBS_CELL_H */
