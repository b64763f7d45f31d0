/* Landlock: restricts the files a process and its children can reach by name;
 * the kernel never lifts it. Called by number, since C libraries do not know
 * it.
 *
 * The protection depends on the kernel: files (Linux 5.13), connections over
 * TCP (6.7), signals and abstract sockets of others (6.12). Any of them also
 * protects the memory of processes outside of the new domain.
 *
 * One thread: of the process that is confined.
 */
#ifndef MAPREDUCE_SANDBOX_LANDLOCK_H
#define MAPREDUCE_SANDBOX_LANDLOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct landlock_path {
    const char *path; /* One that does not exist is skipped. */
    bool writable;    /* Also new files in it. */
};

/* The version of the interface; 0: the kernel has none. */
int landlock_version(void);

/* Leave the calling process nothing but @paths and, if @network, TCP. PRE:
 * no_new_privs is set. ERR_UNSUPPORTED: the kernel has no Landlock. */
MUST_CHECK int landlock_enter(const struct landlock_path *paths,
                              size_t count,
                              bool network,
                              struct err *err);

#endif /* MAPREDUCE_SANDBOX_LANDLOCK_H */
