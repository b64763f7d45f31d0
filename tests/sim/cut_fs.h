/* A file system that is cut at a step: the caller of the Nth change is
 * suspended, before the change is made or right after, until somebody else has
 * decided what becomes of the machine.
 *
 *     struct cut cut = {.at = 7, .after = true};
 *     struct fs *fs = cut_fs_new(sim_cell_fs(…), &cut);
 *     … another fiber waits for cut.reached, crashes or pauses the machine …
 *
 * Reading is no step. A call that consists of smaller changes (fs_replace) is
 * several.
 *
 * Threads: one, of the simulation.
 */
#ifndef TESTS_SIM_CUT_FS_H
#define TESTS_SIM_CUT_FS_H

#include <stdbool.h>
#include <stdint.h>

struct fs;
struct world;

/* The tests' memory: no crash takes it. */
struct cut {
    uint64_t at;    /* Which step, from 1; 0: none. */
    bool after;     /* It has been made, and nobody learns of that. */
    bool fails;     /* Nobody is suspended: from there on nothing can be
                       changed. */
    bool released;  /* Continue. */
    uint64_t count; /* Steps so far. */
    bool reached;   /* Somebody has come to it: */
    struct world *machine;
};

/* Takes @inner over; @cut is borrowed. Owned: fs_close(). */
struct fs *cut_fs_new(struct fs *inner, struct cut *cut);

#endif /* TESTS_SIM_CUT_FS_H */
