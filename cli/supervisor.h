/* A small process between `quarry lock hold` and its command, which ends the
 * command and its descendants when the lock may be lost: when `lock hold` has
 * not confirmed for SUPERVISOR_SILENCE_MS that it holds the lock, by a clock
 * that counts time in suspend, or when `lock hold` has ended, however it did.
 * When the supervisor itself is killed, the kernel kills the command.
 *
 * Threads: one at a time. Nothing parks; supervisor_wait() blocks.
 */
#ifndef CLI_SUPERVISOR_H
#define CLI_SUPERVISOR_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/core/err.h"
#include "base/core/macros.h"

/* A process that is merely busy is never silent for this long. */
#define SUPERVISOR_SILENCE_MS 4000
/* From SIGTERM to SIGKILL. */
#define SUPERVISOR_GRACE_MS 2000
/* After the last word the command is gone within this: both of them, and as
 * much again for a machine that is busy. */
#define SUPERVISOR_OVER_MS 10000

struct supervisor {
    pid_t pid;
    int fd; /* Owned. */
};

/* How the command ended. */
struct supervisor_end {
    int error;   /* errno of execvp(); 0: it ran. */
    int status;  /* Of waitpid(). */
    bool ended;  /* By the supervisor: nobody vouched for it any more. */
    bool silent; /* The supervisor itself is gone; the rest means nothing. */
};

/* Start @argv. Ctrl-C is the command's from now on. ERR_IO. */
MUST_CHECK int
supervisor_start(struct supervisor *s, char *const argv[], struct err *err);
/* The lock is held now. */
void supervisor_vouch(const struct supervisor *s);
/* The lock is lost: end the command at once. */
void supervisor_end(const struct supervisor *s);
/* Wait for the end, and close @s. Blocks. */
void supervisor_wait(struct supervisor *s, struct supervisor_end *out);

#endif /* CLI_SUPERVISOR_H */
