/* quarry acl role: named sets of principals. */
#ifndef CLI_ACL_ROLE_H
#define CLI_ACL_ROLE_H

#include "base/core/err.h"
#include "base/core/macros.h"

struct args;
struct cli;

MUST_CHECK int
acl_role_run(struct cli *cli, const struct args *args, struct err *err);

#endif /* CLI_ACL_ROLE_H */
