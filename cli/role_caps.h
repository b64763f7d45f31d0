/* Section [worker] of the configuration as far as it says what jobs may ask
 * for: the roles `jobs` and `worker` look at it.
 */
#ifndef CLI_ROLE_CAPS_H
#define CLI_ROLE_CAPS_H

#include "base/core/err.h"
#include "base/core/macros.h"

struct job_caps;
struct role_env;

/* Read max-memory, max-processes, network, no-sandbox, objects. Defaults: a
 * cluster whose principals are authenticated refuses capabilities by which a
 * job's code could reach users other than its own (no-sandbox, and objects
 * where weak-sandbox lets them run without a cage); any other cluster allows
 * them. */
MUST_CHECK int role_caps_read(const struct role_env *env,
                              struct job_caps *caps,
                              struct err *err);

#endif /* CLI_ROLE_CAPS_H */
