/* A server of the cell: the machine on base/replica, and the leader's part that
 * is not replicated: leases, news, cache invalidation, waiting for locks.
 *
 * Consistency of caches. The leader remembers which nodes each session may have
 * cached (lease.h). Before it proposes a command that changes a node, it has
 * those sessions drop it, and waits until each has answered or its lease has
 * run out. Meanwhile no session may cache the node, and no other command makes
 * or removes the names that the command counts on (claim.h). A new leader does
 * not know what was cached: a session counts as having everything it has open
 * until it has answered the new leader; clients then empty their caches.
 *
 * Leases. A keep-alive is answered after a read barrier, so that a leader that
 * was deposed without knowing extends nothing; a client counts its lease from
 * the moment it sent it. When a leader begins, every session has a full lease
 * from the time at which an earlier leader can have passed a read barrier last
 * (replica_quiet_us()), hence it ends no earlier than by the client's own
 * reckoning.
 *
 * Threads: one loop, that of the fiber that opened it.
 */
#ifndef CHUBBY_LITE_SERVER_H
#define CHUBBY_LITE_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"
#include "base/replica/replica.h"

struct chubby_server;
struct rpc_server;
struct world;

/* replica_options.method of its cell; that of namenodes is the default. */
#define CHUBBY_REPLICA_METHOD 91

struct chubby_server_options {
    /* Its name, directory, id, members, security and times; `method` is set
     * here. */
    struct replica_options replica;
    uint32_t lease_ms; /* Longest of a session; default 12,000. */
    /* May @principal see all sessions and holders of locks? Parks. NULL:
     * everybody may. */
    bool (*may_look)(void *ctx, struct slice principal);
    void *may_look_ctx;
};

/* Open the server, recover its state and add its methods to @rpc, which must
 * not listen yet. Parks. *@out is owned. Errors: those of replica_open(). */
MUST_CHECK int chubby_server_open(struct world *w,
                                  struct rpc_server *rpc,
                                  const struct chubby_server_options *opts,
                                  struct chubby_server **out,
                                  struct err *err);
/* Stop serving and close the member of the cell. Parks. PRE: the rpc server
 * does not listen any more. NULL is allowed. */
void chubby_server_close(struct chubby_server *s);

/* 0, or why the server is silent: as replica_health(). Does not park. */
MUST_CHECK int chubby_server_health(const struct chubby_server *s,
                                    struct err *err);

/* Its part of the cell, for status and membership. Borrowed. */
struct replica *chubby_server_replica(struct chubby_server *s);

/* Has @principal a session that holds a lock, as far as this member knows? The
 * answer may be a second old. Does not park. */
bool chubby_server_has_holder(struct chubby_server *s, struct slice principal);

/* Figures for status. */
struct chubby_server_stats {
    uint64_t session_count;
    uint64_t session_limit;
    uint64_t handle_count;
    uint64_t node_count;
    uint64_t waiting_count; /* Calls that wait for a lock, */
    uint64_t lease_count;   /* and leases of sessions; on the leader. */
};

/* Fill *@out. Does not park. */
void chubby_server_get_stats(const struct chubby_server *s,
                             struct chubby_server_stats *out);

#endif /* CHUBBY_LITE_SERVER_H */
