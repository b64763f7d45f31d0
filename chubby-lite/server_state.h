/* The state of a server. Private to chubby-lite's server*.c.
 *
 * Invariants
 *     INV-1. Leases exist only while leading (term > 0), one for each session
 *            of the cell (server.c: chubby_server_lead(), follow_sessions()).
 *     INV-2. `changing` counts, for each node, the commands under way that
 *            change it; no session may cache such a node (server_change.c).
 *     INV-3. Each fiber counted by busy_count ends before the server is freed
 *            (chubby_server_close() waits for them).
 *     INV-4. wait_count is the length of `waits` (server_wait.c).
 */
#ifndef CHUBBY_LITE_SERVER_STATE_H
#define CHUBBY_LITE_SERVER_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include <bsd/sys/queue.h>

#include "base/core/hash_map.h"
#include "chubby-lite/cell_state.h"
#include "chubby-lite/claim.h"
#include "chubby-lite/lease.h"
#include "chubby-lite/server.h"

struct fiber;
struct rpc_call;
struct rpc_server;

struct lock_wait;
TAILQ_HEAD(lock_waits, lock_wait);

struct chubby_server {
    struct world *world;
    struct rpc_server *rpc; /* Borrowed. */
    struct replica *replica;
    struct cell *cell;
    uint32_t lease_ms;
    bool (*may_look)(void *ctx, struct slice principal);
    void *may_look_ctx;
    /* While leading; term is 0 otherwise. */
    uint64_t term;
    uint64_t base_us; /* Cell's time when this leadership began, */
    uint64_t base_ns; /* and the monotonic clock's. */
    struct lease_table leases;
    struct hash_map changing; /* By instance of a node: how many changes of it
                                 are under way. */
    struct claim_list claims; /* Of commands under way. */
    struct lock_waits waits;  /* Oldest first. */
    uint64_t wait_count;
    /* Expiry of sessions. */
    struct fiber *clock;
    struct wait_queue tick; /* Woken when the clock shall look again. */
    struct wait_queue idle; /* Woken when busy_count has become 0. */
    unsigned busy_count;    /* Fibers that end or probe sessions. */
    unsigned probe_count;   /* Of these, fibers that probe. */
    bool closing;
    struct hash_map holders; /* Principals with a session that holds a lock, */
    uint64_t holders_ns;     /* as of then; 0: not known. */
};

/* --- server.c ------------------------------------------------------------ */

/* 0, or the error for a call that came to a follower. */
MUST_CHECK int server__check_leader(struct chubby_server *s, struct err *err);
/* 0, or the error for a session that @call's principal did not open. */
MUST_CHECK int server__check_session(struct chubby_server *s,
                                     const struct rpc_call *call,
                                     uint64_t session,
                                     struct err *err);
/* The cell's time, as the leader measures it. */
uint64_t server__now_us(const struct chubby_server *s);

/* --- server_change.c ----------------------------------------------------- */

/* Have @c executed: invalidate caches, then propose it; the answer is appended
 * to @answer. Parks. Errors: those of replica_propose(). */
MUST_CHECK int server__execute(struct chubby_server *s,
                               struct chubby_command *c,
                               struct buf *answer,
                               struct err *err);
/* May a session cache the node @instance now? */
bool server__may_cache(const struct chubby_server *s, uint64_t instance);

/* --- server_wait.c ------------------------------------------------------- */

/* server__execute() for the command ACQUIRE, again whenever the lock may be
 * free, until it is acquired or the call ends. Parks. */
MUST_CHECK int server__acquire(struct chubby_server *s,
                               struct chubby_command *c,
                               struct buf *answer,
                               struct err *err);
/* A command was executed, or a wait ended: wake the waits whose turn it may be.
 */
void server__wake_waits(struct chubby_server *s);
/* Leadership begins or ends here: wake all waits. */
void server__wake_all_waits(struct chubby_server *s);

/* --- server.c: methods --------------------------------------------------- */

/* Handlers of the methods (lock_wire.h); they park. Errors go to the caller. */
CHUBBY_METHODS(RPC_METHOD_HANDLER)

/* --- server_session.c ---------------------------------------------------- */

/* Answer a keep-alive. Parks. */
MUST_CHECK int server__keep_alive(struct chubby_server *s,
                                  struct rpc_call *call,
                                  struct err *err);
/* This server begins to lead: each session has a lease from when an earlier
 * leader can have answered it last, and three quarters of one at least. */
void server__begin_leases(struct chubby_server *s);
/* It leads no longer. */
void server__end_leases(struct chubby_server *s);
/* @session was opened. PRE: the cell has it. */
void server__start_lease(struct chubby_server *s, uint64_t session);
/* The fiber that ends sessions whose lease ran out, until s->closing. */
void server__clock(void *server);
/* Begin to end the session of @l, in a fiber. PRE: no other fiber does. */
void server__start_expiry(struct chubby_server *s,
                          struct lease *l,
                          const char *why);

/* --- server_probe.c ------------------------------------------------------ */

/* If no keep-alive of @l has waited here for a while, start a fiber that finds
 * out whether its process is gone, and then ends the session. */
void server__probe_if_silent(struct chubby_server *s,
                             struct lease *l,
                             uint64_t now_ns);

/* --- server_audit.c ------------------------------------------------------ */

/* Append the path of the node that @c is about, if there is one. To be called
 * before it is executed. */
void server__put_path(struct chubby_server *s,
                      const struct chubby_command *c,
                      struct buf *out);
/* @call, of @c about @path, has its answer: note it if it is for the audit log.
 * Does not park. */
void server__audit(struct chubby_server *s,
                   const struct rpc_call *call,
                   const struct chubby_command *c,
                   struct slice path);

#endif /* CHUBBY_LITE_SERVER_STATE_H */
