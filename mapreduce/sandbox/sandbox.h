/* The restrictions of an attempt: limits of the kernel on its process and a
 * filter of system calls, both inherited by the processes it starts.
 *
 * The code of a job is a first try as often as a mature program. It is denied
 * what no job needs and what would hurt others:
 *
 *     the network           unless the job asks for it: results come from the
 *                           inputs, and an attempt may run twice
 *     other processes       tracing them, reading their memory, signals to the
 *                           runtime or to everybody
 *     its own limits        raising them; what would slip out of its filter
 *     the machine           mounts, namespaces, modules, clocks, keys, devices,
 *                           and kernel interfaces known for their holes
 *
 * Such a call fails with EPERM (sockets: EACCES), or ENOSYS where programs have
 * an alternative; nothing is killed for trying. Files are not restricted here:
 * a cage (cage.h) makes some of them visible.
 *
 * sandbox/ stands on task/; engines/ and the rooms above it may include it.
 *
 * One thread: of the zygote, then of the attempt.
 */
#ifndef MAPREDUCE_SANDBOX_SANDBOX_H
#define MAPREDUCE_SANDBOX_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct sandbox;

struct sandbox_rules {
    uint64_t data_bytes; /* Of one process: heap and private mappings. */
    uint64_t file_bytes; /* Of one file it writes. */
    uint64_t cpu_us;     /* Of one process; 0: any. */
    bool network;        /* Sockets are allowed. */
    bool open;           /* No filter of system calls. */
    bool user_code;      /* Code of a user, not of the runtime, which may need
                            connections of its own and memory to share. */
    bool runtime; /* The runtime is in the same process, and writes files for
                     it: links are refused; its connections are not. */
    pid_t supervisors[2]; /* May not be sent signals; 0: none. */
};

/* Build the filter, once for many attempts. *@out is owned: sandbox_free(). */
MUST_CHECK int sandbox_new(const struct sandbox_rules *rules,
                           struct sandbox **out,
                           struct err *err);
void sandbox_free(struct sandbox *s); /* NULL is allowed. */

/* Confine the calling process, for good. ERR_UNSUPPORTED: this kernel has no
 * filters. */
MUST_CHECK int sandbox_enter(const struct sandbox *s, struct err *err);

#endif /* MAPREDUCE_SANDBOX_SANDBOX_H */
