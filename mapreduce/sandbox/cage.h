/* Where the code of a job's user runs: a process in namespaces of its own.
 *
 * The process sees read-only system libraries, a scratch directory that is
 * removed with it, and the paths of its rules; no other process, no network, no
 * host's inter-process communication, and none of the descriptors of the
 * process that starts it but those it is given. It holds no capability and
 * cannot gain one; where the server is root it runs as nobody. On top of that
 * come Landlock, where the kernel has it, and the filter of system calls
 * (sandbox.h).
 *
 *     parent ── supervisor (process 1 of the new namespace) ── the code
 *
 * The supervisor builds the tree of mounts, starts the process, waits for it
 * and takes all that is left of its family along when it ends.
 *
 * Where a kernel refuses namespaces, cage_fork() fails; with rules.weak it
 * makes do with Landlock and the filter.
 *
 * Invariants
 *     INV-1. Between the fork and the return in the child no byte that user
 *            code wrote is looked at.
 *     INV-2. A child returns from cage_fork() only with everything in place;
 *            otherwise it ends, and cage_status() tells why.
 *
 * One thread, also of the process: there must be no other at the fork.
 */
#ifndef MAPREDUCE_SANDBOX_CAGE_H
#define MAPREDUCE_SANDBOX_CAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct sandbox;

/* The scratch directory, also the value of TMPDIR and HOME. */
#define CAGE_SCRATCH "/tmp"

/* A path of the host that is visible, read-only: both paths are absolute, and
 * @real has no links in it. */
struct cage_path {
    const char *real;
    const char *at; /* Its path in the cage. */
};

struct cage_rules {
    const struct cage_path *visible; /* Files and directories. Those that do not
                                        exist are skipped. */
    size_t visible_count;
    const struct cage_path *writable; /* Directories. The filter is to refuse
                                         links in them (sandbox_rules). */
    size_t writable_count;
    const char *const *hidden; /* Files and directories inside of those. */
    size_t hidden_count;
    const char
        *directory; /* The working directory; NULL: the scratch directory. */
    uint64_t scratch_bytes; /* Room there. */
    unsigned processes_max; /* 0: as many as the system allows. */
    bool stay;    /* Root stays root, without a capability, and does not become
                     nobody: for files that are closed to others. */
    bool network; /* Uses the host's network. */
    bool weak;    /* Continue without namespaces where the kernel has none. */
    const struct sandbox *sandbox; /* Filter and limits, entered last. */
};

/* How the process ended, in memory shared with the supervisor. */
struct cage_end {
    atomic_int ended; /* 1: @status holds; 2: @error does. */
    int status;       /* Of the process, as wait() has it. */
    int code;         /* ERR_*, and why it did not start. */
    bool weak;        /* It has no namespaces. */
    char error[256];
};

/* Zeroed, and shared with processes forked after this. NULL: no memory. Owned.
 */
struct cage_end *cage_end_new(void);
void cage_end_free(struct cage_end *e); /* NULL is allowed. */

/* fork() into a cage: returns 0 in the new process and the supervisor's number
 * in this one, where it is a child to be waited for and killed. @keep are the
 * descriptors besides 0, 1 and 2 that the process keeps. @end is emptied and
 * must outlive it.
 *
 * Errors (-1): ERR_UNSUPPORTED: this kernel does not let this process make
 * namespaces.
 */
MUST_CHECK pid_t cage_fork(const struct cage_rules *rules,
                           const int *keep,
                           size_t keep_count,
                           struct cage_end *end,
                           struct err *err);

/* The wait status of the process, given the supervisor's. */
int cage_status(const struct cage_end *end, int supervisor_status);
/* The error that kept it from starting; 0: it started. */
int cage_error(const struct cage_end *end, struct err *err);

/* May user code see the variable "NAME=value"? Those of the language, the
 * terminal and the clock. */
bool cage_may_know(const char *variable);

#endif /* MAPREDUCE_SANDBOX_CAGE_H */
