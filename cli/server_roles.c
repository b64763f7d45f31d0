/* The roles a server process can have: one line each, in the order in which
 * they are opened.
 */
#include <stddef.h>

#include "cli/role.h"

extern const struct role lock_role;
extern const struct role namenode_role;
extern const struct role chunk_role;
extern const struct role tablet_role;
extern const struct role master_role;
extern const struct role gateway_role;
extern const struct role worker_role;
extern const struct role jobs_role;
extern const struct role follow_role;

const struct role *const server_roles[] = {
    &lock_role,    &namenode_role, &chunk_role, &tablet_role, &master_role,
    &gateway_role, &worker_role,   &jobs_role,  &follow_role, NULL};
