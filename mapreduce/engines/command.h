/* A command that runs beside an attempt, with pipes to its input and from its
 * output: for streaming jobs.
 *
 * Lines to and from it are moved together, never waiting for one side alone, so
 * that neither a command that answers late nor one that answers at length can
 * block. Beside its output it may say things on a third pipe.
 *
 * One thread; what moves lines blocks.
 */
#ifndef MAPREDUCE_ENGINES_COMMAND_H
#define MAPREDUCE_ENGINES_COMMAND_H

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
    /* What becomes of a line of its output, and of one beside it; without the
     * line break, borrowed. */
    void (*line)(struct command *c, struct slice line);
    void (*word)(struct command *c, struct slice line);
    pid_t pid; /* Its own or, in a cage, its supervisor's; 0: none. */
    struct cage_end *end; /* In a cage: how it ended. Owned. */
    int in;               /* Its stdin: we write. -1 when closed. */
    int out;              /* Its stdout: we read. -1 at its end. */
    int control;          /* What it says beside that: we read. */
    struct buf input;  /* Not written yet: gathered here by whoever has some. */
    struct buf output; /* Read, its last line not whole yet. */
    struct buf said;   /* The same of what it says. */
    bool deaf;         /* It closed its stdin: more input is dropped. */
};

/* PRE: task, text, line and word are set, all else is zero. Close it also after
 * failure. */
MUST_CHECK int command_start(struct command *c, struct err *err);
/* Write all gathered input, reading whatever comes meanwhile. */
MUST_CHECK int command_exchange(struct command *c, struct err *err);
/* Close its input, take the rest of its output, and its status: ERR_ABORTED if
 * that is not 0. */
MUST_CHECK int command_finish(struct command *c, struct err *err);
/* End it, if it still runs. */
void command_close(struct command *c);

#endif /* MAPREDUCE_ENGINES_COMMAND_H */
