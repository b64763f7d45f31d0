/* Limits of a server process for its callers: section [limits] of its
 * configuration, and the members of the cluster, for whom connections are
 * reserved.
 *
 * Threads: one loop.
 */
#ifndef CLI_SERVER_LIMITS_H
#define CLI_SERVER_LIMITS_H

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct conf;
struct role_env;
struct rpc_listen_options;

/* Set what [limits] says in @o. Errors: ERR_INVALID (says file and line). */
MUST_CHECK int server_limits_read(struct conf *conf,
                                  struct rpc_listen_options *o,
                                  struct err *err);

/* Is @principal, who comes from @peer ("host:port"), a member of the cluster of
 * @env: by its name, or because it comes from a host of the cell? */
bool server_is_member(const struct role_env *env,
                      const char *principal,
                      const char *peer);

#endif /* CLI_SERVER_LIMITS_H */
