/* Who belongs to a cell: a small table, copied by value.
 *
 *     config = count { id voting address }    varints, voting one byte,
 *                                              address varint length and bytes
 */
#ifndef BASE_REPLICA_RAFT_CONFIG_H
#define BASE_REPLICA_RAFT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

#define RAFT_MEMBERS_MAX   9
#define RAFT_ADDRESS_BYTES 256 /* Its NUL included. */

struct raft_member {
    uint64_t id; /* Not 0. */
    bool voting; /* False: a learner. */
    char address[RAFT_ADDRESS_BYTES];
};

struct raft_config {
    size_t count;
    struct raft_member members[RAFT_MEMBERS_MAX];
};

/* The member with @id, or NULL. Borrowed. */
const struct raft_member *raft_config_find(const struct raft_config *c,
                                           uint64_t id);
bool raft_config_votes(const struct raft_config *c, uint64_t id);
/* How many voters; how many of them are a majority. */
size_t raft_config_voter_count(const struct raft_config *c);
size_t raft_config_majority(const struct raft_config *c);
/* Add or replace; false when the table is full. */
bool raft_config_put(struct raft_config *c, const struct raft_member *m);
void raft_config_drop(struct raft_config *c, uint64_t id);
/* True when @from and @to differ in at most one voter, so that any majority of
 * the one meets any majority of the other. */
bool raft_config_one_step(const struct raft_config *from,
                          const struct raft_config *to);

void raft_config_encode(const struct raft_config *c, struct buf *out);
/* False when @bytes are not a table: nothing is trusted. */
bool raft_config_decode(struct slice bytes, struct raft_config *out);

#endif /* BASE_REPLICA_RAFT_CONFIG_H */
