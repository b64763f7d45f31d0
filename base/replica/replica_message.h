/* Raft's messages on the wire: one call each, whose answer is the reply.
 *
 *     body       = [cell, kind, refusal, from, to, term, index, index-term,
 *                   commit, round, hint-index, hint-term, offset, flags,
 *                   silence, version]
 *     attachment = { term kind bytes } of an append: varint, byte, varint
 *                  length and bytes; the chunk of a snapshot
 *     version    = of the cluster, as the sender knows it; from 2 on, so that
 *                  messages of a cluster at version 1 are those of old members
 *     flags      = 1: by transfer, 2: answers entries, 4: last chunk
 */
#ifndef BASE_REPLICA_REPLICA_MESSAGE_H
#define BASE_REPLICA_REPLICA_MESSAGE_H

#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/slice.h"
#include "base/replica/raft.h"

/* Append @m to @body and @attachment. @cell is a hash of the cell's name. */
void message_encode(uint64_t cell,
                    const struct raft_message *m,
                    struct buf *body,
                    struct buf *attachment);
/* Read one; *@out is owned (raft_message_close()), also after an error.
 * Errors: ERR_CORRUPT. */
MUST_CHECK int message_decode(struct slice body,
                              struct slice attachment,
                              uint64_t *cell,
                              struct raft_message *out,
                              struct err *err);

#endif /* BASE_REPLICA_REPLICA_MESSAGE_H */
