/* A command of a user in a cage, started by a process that has threads: this
 * program is executed again as a small process of one thread, the launcher,
 * which makes the cage, watches the limits and waits.
 *
 *     this process ── launcher ── supervisor ── /bin/sh -c COMMAND
 *
 * Its streams are pipes to this process. The launcher ends with the control
 * socket, and takes everything along that it started.
 *
 * One thread; functions block, never for longer than they are told.
 */
#ifndef MAPREDUCE_SANDBOX_CAGED_COMMAND_H
#define MAPREDUCE_SANDBOX_CAGED_COMMAND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

/* The word that makes this program a launcher. */
#define CAGED_COMMAND_WORD "caged-command"

struct caged_rules {
    const char *command;   /* For the shell. */
    const char *variable;  /* "NAME=value", for its environment; NULL: none. */
    uint64_t memory_bytes; /* Of its processes together. */
    bool weak;             /* It may run where the kernel has no namespaces. */
    bool open;             /* No cage at all. */
};

struct caged_command {
    pid_t launcher; /* 0: none. */
    int in;         /* Its streams; -1: closed. */
    int out;
    int errors;
    int control;       /* The socket to the launcher. */
    struct buf output; /* Read from `out`, and not yet taken. */
    struct buf said;   /* The last of what it wrote to `errors`. */
};

/* Start it; only where main() calls caged_command_main(). @c is closed after
 * failure too. */
MUST_CHECK int caged_command_start(struct caged_command *c,
                                   const struct caged_rules *rules,
                                   struct err *err);
/* Write some of @input and read some of the output, waiting @ms at most.
 * *@written bytes of @input were taken. Returns whether anything moved. */
bool caged_command_move(struct caged_command *c,
                        struct slice input,
                        size_t *written,
                        int ms);
/* It gets no more input. */
void caged_command_end_input(struct caged_command *c);
/* PRE: its output has ended. How it ended: 0, ERR_ABORTED with its status or
 * its limit, or why it was not started (ERR_UNSUPPORTED: it cannot be confined
 * here). */
MUST_CHECK int caged_command_wait(struct caged_command *c, struct err *err);
/* End it, if it still runs, and release its memory. */
void caged_command_close(struct caged_command *c);

/* If @argv says so, be the launcher, and do not return. From main() alone,
 * before there are threads. */
void caged_command_main(int argc, char *const *argv);

#endif /* MAPREDUCE_SANDBOX_CAGED_COMMAND_H */
