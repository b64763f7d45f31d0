/* A file system that is cut at a step: whoever changes something for the Nth
 * time stands still, before the change is made or right after, until somebody
 * else has decided what becomes of the machine.
 *
 *     struct cut cut = {.at = 7, .after = true};
 *     struct fs *fs = cut_fs_new(sim_cell_fs(…), &cut);
 *     … another fiber waits for cut.reached, crashes or pauses the machine …
 *
 * Reading is no step. What is made of smaller changes (fs_replace) is several.
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
    bool after;     /* It has been made, and nobody hears of that. */
    bool fails;     /* Nobody stands still: from there on nothing can be
                       changed. */
    bool released;  /* Go on. */
    uint64_t count; /* Steps so far. */
    bool reached;   /* Somebody has come to it: */
    struct world *machine;
};

/* Takes @inner over; @cut is borrowed. Owned: fs_close(). */
struct fs *cut_fs_new(struct fs *inner, struct cut *cut);

#endif /* TESTS_SIM_CUT_FS_H */
