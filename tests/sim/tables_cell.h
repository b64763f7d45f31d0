/* A cell with tables: tablet servers and masters of a Bigtable on machines of
 * their own, over the lock servers, namenodes and chunk servers of cell.h, with
 * options that make time pass quickly and tablets split early.
 *
 * Used as cell.h; sim_cell_boot() of the cell comes first, and sim_cell_stop()
 * last.
 *
 * Threads: one.
 */
#ifndef TESTS_SIM_TABLES_CELL_H
#define TESTS_SIM_TABLES_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/sim/cell.h"

struct master;
struct quarry;
struct tablet_server;

#define TABLES_MASTERS_MAX 3
#define TABLES_TABLETS_MAX 8

/* Tablets of this size are split. */
#define TABLES_SPLIT_BYTES (UINT64_C(60) << 10)

struct tables_cell;

/* A machine with a master or a tablet server. */
struct tables_server {
    struct tables_cell *tables;
    struct world *world;
    bool is_master;
    char name[16]; /* "m0", "t0", behind the cell's prefix. */
    char address[32];
    /* While it runs: one of them. */
    struct master *master;
    struct tablet_server *tablet;
};

struct tables_cell {
    struct sim_cell *cell;       /* Borrowed. */
    struct cluster_roles *roles; /* All servers have the same name. Owned. */
    char targets[256];           /* Of all lock servers, with commas. */
    struct tables_server masters[TABLES_MASTERS_MAX];
    struct tables_server tablets[TABLES_TABLETS_MAX];
    unsigned master_count;
    unsigned tablet_count;
    struct fiber *supervisor; /* See tables_cell_supervise(). */
    bool stopping;
};

/* Machines that run nothing yet. Owned. */
struct tables_cell *
tables_cell_new(struct sim_cell *cell, unsigned masters, unsigned tablets);
void tables_cell_free(struct tables_cell *t); /* PRE: none of them runs. */
/* Start all. On the director. */
void tables_cell_boot(struct tables_cell *t);
/* From now on boot what ends by itself, as sim_cell_supervise(). */
void tables_cell_supervise(struct tables_cell *t);
/* No more of that. Parks. */
void tables_cell_leave(struct tables_cell *t);
/* Stop all that run, in order. Parks. */
void tables_cell_stop(struct tables_cell *t);

/* The machines of masters, or of tablet servers; returns how many. */
size_t tables_cell_masters(const struct tables_cell *t,
                           struct world *out[TABLES_MASTERS_MAX]);
size_t tables_cell_tablets(const struct tables_cell *t,
                           struct world *out[TABLES_TABLETS_MAX]);

/* The client library on @w, the machine of the running fiber; calls of it take
 * @timeout_us at most. As quarry_open(). Owned: quarry_close(). */
MUST_CHECK int tables_cell_open(struct tables_cell *t,
                                struct world *w,
                                uint64_t timeout_us,
                                struct quarry **out,
                                struct err *err);

#endif /* TESTS_SIM_TABLES_CELL_H */
