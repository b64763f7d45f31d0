/* quarry acl … --path: rights to files and directories of a cluster. */
#ifndef CLI_ACL_PATH_H
#define CLI_ACL_PATH_H

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct args;
struct cli;

/* Is it about a path? */
bool acl_is_path(const struct args *args);
MUST_CHECK int
acl_path_show(struct cli *cli, const struct args *args, struct err *err);
/* The words are RIGHT and PRINCIPALS. */
MUST_CHECK int
acl_path_grant(struct cli *cli, const struct args *args, struct err *err);
MUST_CHECK int
acl_path_revoke(struct cli *cli, const struct args *args, struct err *err);

#endif /* CLI_ACL_PATH_H */
