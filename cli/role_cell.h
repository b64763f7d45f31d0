/* Options shared by roles on base/replica: the cell of this process. */
#ifndef CLI_ROLE_CELL_H
#define CLI_ROLE_CELL_H

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/replica/replica.h"
#include "cli/role.h"

/* Options of a member, and what they point to. */
struct role_cell {
    struct replica_options options;
    struct replica_member members[REPLICA_MEMBERS_MAX];
    struct buf name;
    struct buf directory;
};

/* For role @role, from the node's cell and the section of the role: election,
 * heartbeat, read-lease (durations), snapshot-log (bytes). Errors: ERR_INVALID
 * (this node is not in its cell; the file is wrong). The caller closes @out in
 * any case.
 */
MUST_CHECK int role_cell_read(const struct role_env *env,
                              const char *role,
                              struct role_cell *out,
                              struct err *err);
void role_cell_close(struct role_cell *c);

/* "leader=… term=… …" about a member. */
void role_cell_status(const struct replica_status *s, struct buf *out);

/* The same as metrics; @cell is its label. */
void role_cell_gather(const struct replica_status *s,
                      const char *cell,
                      struct metric_set *out);

/* data/ROLE, for a role's files: appended to @out. */
void role_directory(const struct role_env *env,
                    const char *role,
                    struct buf *out);

#endif /* CLI_ROLE_CELL_H */
