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
 * The job masters are those of mapreduce/cluster. A customer on the director
 * submits the job that was begun and waits for its end; when a call fails, all
 * over again, as the same job. Machines reach the cell by its addresses, as
 * those of tables_cell.h.
 *
 * Threads: one.
 */
#ifndef TESTS_SIM_JOBS_CELL_H
#define TESTS_SIM_JOBS_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "tests/sim/cell.h"

struct cut;
struct fiber;
struct worker;

#define JOBS_WORKERS_MAX 6
#define JOBS_MASTERS_MAX 2
#define JOBS_RECORDS     (6 * 400) /* Of the input. */
#define JOBS_ID_BYTES    24
/* The side file of jobs that have one: in the cell, and on workers. */
#define JOBS_SIDE_NAME  "side"
#define JOBS_SIDE_BYTES ((size_t)8 << 20)

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
    char address[32];
};

struct jobs_cell {
    struct sim_cell *cell; /* Borrowed. */
    struct jobs_worker workers[JOBS_WORKERS_MAX];
    struct jobs_master masters[JOBS_MASTERS_MAX];
    unsigned worker_count;
    unsigned master_count;
    struct cut *cut; /* Where the masters' steps are cut; NULL: nowhere. */
    struct fiber *customer; /* While the cell runs. */
    /* The job: the tests' memory, which no crash takes. */
    unsigned number;
    bool overwrite; /* Replace an existing output. */
    bool in_parts;  /* It is two, one after the other. */
    bool has_side;  /* Its attempts are to find the side file whole. */
    bool wanted;    /* There is one. */
    bool done;      /* It has ended: as these say. */
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

/* Write the side file. */
void jobs_write_side(struct fs *fs);
/* The id of job @number. */
void jobs_id(char id[JOBS_ID_BYTES], unsigned number);
/* Let the customer want another job; its number, from 0. PRE: the one before
 * has ended. */
unsigned jobs_begin(struct jobs_cell *j);
/* Let the customer submit the same one again. PRE: it has ended. */
void jobs_ask_again(struct jobs_cell *j);
/* Write the input of the jobs. Parks. */
void jobs_write_input(struct fs *fs);
/* STORM_CHECK that job @number has counted all words, each once. Parks. */
void jobs_check_output(struct fs *fs, unsigned number);

#endif /* TESTS_SIM_JOBS_CELL_H */
