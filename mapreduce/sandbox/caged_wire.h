/* The control socket between a process and the launcher of its command: the
 * rules go there, as a length and the fields; the outcome comes back, as an
 * ERR_* (le32) and its text.
 */
#ifndef MAPREDUCE_SANDBOX_CAGED_WIRE_H
#define MAPREDUCE_SANDBOX_CAGED_WIRE_H

#include <stdint.h>

/* Its descriptor in the launcher, behind the streams of the command. */
#define CAGED_CONTROL 3
/* A command and its variable. */
#define CAGED_RULES_BYTES_MAX ((uint64_t)1 << 20)

#endif /* MAPREDUCE_SANDBOX_CAGED_WIRE_H */
