/* A command that runs beside an attempt, with pipes to its input and from its
 * output: for streaming jobs.
 *
 * Lines to and from it are moved together, never waiting for one side alone, so
 * that neither a command that answers late nor one that answers at length can
 * block. Counters and notes come through a third pipe.
 *
 * Invariant INV-1: once deaf, `in` is closed and input is dropped
 * (command_engine.c keeps it).
 *
 * One thread; functions that move lines block.
 */
#ifndef MAPREDUCE_ENGINES_COMMAND_ENGINE_H
#define MAPREDUCE_ENGINES_COMMAND_ENGINE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct cage_end;
struct mr_task;

struct command {
    struct mr_task *task;
    const char *text; /* For the shell. Borrowed. */
    /* Called for a line of its output, and for one of the third pipe; without
     * the line break, borrowed. */
    void (*line)(struct command *c, struct slice line);
    void (*word)(struct command *c, struct slice line);
    pid_t pid; /* Its own or, in a cage, its supervisor's; 0: none. */
    struct cage_end *end; /* In a cage: how it ended. Owned. */
    int in;               /* Its stdin, written by us. -1 when closed. */
    int out;              /* Its stdout, read by us. -1 at its end. */
    int control;          /* The third pipe, read by us. */
    struct buf input;     /* Input not written yet: callers append to it. */
    struct buf output;    /* Read, its last line incomplete. */
    struct buf said;      /* The same of the third pipe. */
    bool deaf;            /* It closed its stdin: more input is dropped. */
};

/* Start the command. PRE: task, text, line and word are set, all else is zero.
 * Close it after failure too. */
MUST_CHECK int command_start(struct command *c, struct err *err);
/* Write all gathered input, reading output meanwhile. Blocks. */
MUST_CHECK int command_exchange(struct command *c, struct err *err);
/* Close its input and read the rest of its output: ERR_ABORTED if its status is
 * not 0. Blocks. */
MUST_CHECK int command_finish(struct command *c, struct err *err);
/* End it, if it still runs, and release its memory. */
void command_close(struct command *c);

#endif /* MAPREDUCE_ENGINES_COMMAND_ENGINE_H */
