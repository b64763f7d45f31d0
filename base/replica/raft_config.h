/* The members of a cell: a small table, copied by value.
 *
 * Ids are distinct and not 0. Changes are made one voter at a time (Ongaro's
 * dissertation, section 4.1), so that any two majorities of neighbouring tables
 * share a member.
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

/* The member with @id, borrowed until @c changes; NULL: there is none. */
const struct raft_member *raft_config_find(const struct raft_config *c,
                                           uint64_t id);
/* Is @id a voter? */
bool raft_config_votes(const struct raft_config *c, uint64_t id);
/* The number of voters. */
size_t raft_config_voter_count(const struct raft_config *c);
/* How many of them are a majority. */
size_t raft_config_majority(const struct raft_config *c);
/* Add or replace @m; false when the table is full. PRE: its id is not 0. */
bool raft_config_put(struct raft_config *c, const struct raft_member *m);
/* Remove @id; nothing if it is no member. */
void raft_config_drop(struct raft_config *c, uint64_t id);
/* True when @from and @to differ in at most one voter, so that any majority of
 * the one meets any majority of the other. */
bool raft_config_one_step(const struct raft_config *from,
                          const struct raft_config *to);

/* Append the bytes of @c. */
void raft_config_encode(const struct raft_config *c, struct buf *out);
/* Read a table; false when @bytes, which may come from anywhere, are none. */
bool raft_config_decode(struct slice bytes, struct raft_config *out);

#endif /* BASE_REPLICA_RAFT_CONFIG_H */
