/* The files a cage shows: a tree of its own, built from pieces of the host's.
 *
 * One thread, in a mount namespace of its own.
 */
#ifndef MAPREDUCE_SANDBOX_CAGE_MOUNTS_H
#define MAPREDUCE_SANDBOX_CAGE_MOUNTS_H

#include "base/core/err.h"
#include "base/core/macros.h"

struct cage_rules;

/* Make the tree of @rules the root of the calling process. Errors name the
 * path. */
MUST_CHECK int cage_mount(const struct cage_rules *rules, struct err *err);

/* Directories of programs and libraries, absolute; ends with NULL. One that is
 * a link on the host is the same link in the cage. */
extern const char *const cage_system_paths[];
/* Settings that libraries read; ends with NULL. */
extern const char *const cage_settings_paths[];

#endif /* MAPREDUCE_SANDBOX_CAGE_MOUNTS_H */
