/* The namenode's struct and the functions that its files share. Private to
 * gfs-lite/namenode.
 *
 * Everything but the catalog is the leader's own knowledge: reset when this
 * member becomes leader, unused while another leads.
 */
#ifndef GFS_LITE_NAMENODE_NAMENODE_STATE_H
#define GFS_LITE_NAMENODE_NAMENODE_STATE_H

#include "base/core/buf.h"
#include "base/metrics/metric.h"
#include "base/replica/replica.h"
#include "base/rpc/rpc.h"
#include "base/runtime/sync.h"
#include "gfs-lite/namenode/chunk_balance.h"
#include "gfs-lite/namenode/chunk_servers.h"
#include "gfs-lite/namenode/namenode.h"
#include "gfs-lite/namenode/repair.h"
#include "gfs-lite/peers.h"

struct fiber;

/* When a session or a file of record appends was last used. */
struct last_use {
    uint64_t id; /* First: see id_map.h. */
    uint64_t used_ns;
};

/* A copy of a chunk that a server was ordered to make. */
struct copy_task {
    uint64_t handle; /* First: see id_map.h. */
    uint16_t target;
    uint64_t until_ns;
};

/* Why a copy is made. */
enum copy_reason {
    COPY_REPAIR,  /* There are too few, or all are in one rack. */
    COPY_DRAIN,   /* A server that has one is to leave. */
    COPY_BALANCE, /* A disk is fuller than others. */
    COPY_REASONS
};

/* A chunk that is being recovered. */
struct recovery {
    uint64_t file; /* First: see id_map.h. */
};

/* A read that is in the audit log already. */
struct noted_read {
    uint64_t hash; /* Of the reader and the path. */
    uint64_t at_ns;
};

#define NOTED_READS_MAX 64

/* Which chunks are older than an age: handles below `older` existed at the turn
 * before the last one, those below `newer` at the last one. */
struct chunk_age {
    uint64_t older;
    uint64_t newer;
    uint64_t due_ns; /* Of the next turn. */
};

/* Invariants
 *     INV-1. leading_since_ns is 0 unless this member leads; only then do
 *            servers, copies, repairs and keys mean anything.
 *     INV-2. A chunk is `busy` while it has a task in `copies`
 *            (re_replication.c).
 *     INV-3. A file is in `recoveries` at most once: one recovery at a time
 *            (namenode_await_recovery()).
 *     INV-4. `helpers` fibers run beside the maintenance fiber; close waits
 *            until there are none.
 *     INV-5. `term` never decreases.
 *     INV-6. older <= newer in each chunk_age. */
struct namenode {
    struct world *world;
    struct namenode_options options;
    struct catalog catalog;
    struct replica *replica;
    struct peers *peers;
    struct chunk_servers servers;
    struct id_map sessions;   /* struct last_use, owned. */
    struct id_map shared;     /* struct last_use of shared open files. */
    struct id_map blocked;    /* struct last_use of open files: when a recovery
                                 without their writer last found no copy. */
    struct id_map copies;     /* struct copy_task, owned. */
    struct id_map recoveries; /* struct recovery, on their fibers' stacks. */
    struct id_map_walk
        open_walk;     /* Over the open files, by the maintenance fiber. */
    struct mutex lock; /* Of waiting for a recovery's end. */
    struct cond recovered;
    struct repair_queue repairs;
    uint64_t scan_due_ns;
    uint64_t trash_due_ns;
    struct chunk_age alone_age; /* Of open chunks with one copy, */
    struct chunk_age thin_age;  /* and with more, but fewer than wanted. */
    uint64_t alone_since_ns;    /* Chunks could have had one server only, */
    uint64_t alone_ns;          /* the last time that this was so. */
    uint64_t leading_since_ns;  /* 0: another leads. */
    uint64_t term;
    uint64_t under_count;    /* Chunks with too few copies, at the last scan, */
    uint64_t over_count;     /* with too many, */
    uint64_t lost_count;     /* and without any. */
    uint64_t under_since_us; /* Wall clock, when there first were some; 0: there
                                are none. */
    uint64_t lost_since_us;
    struct metric_counter copies_ordered[COPY_REASONS];
    unsigned reports; /* Full reports being applied: the known replicas are
                         incomplete meanwhile. */
    bool copies_tree; /* A fiber proposes steps of a snapshot. */
    bool stopping;
    struct fiber *maintenance;
    size_t helpers;       /* Fibers beside the maintenance fiber. */
    struct fiber *closer; /* Waits for them. */
    struct proof_key keys[PROOF_KEYS_MAX];    /* namenode_proofs.c */
    uint64_t key_turned_ns;                   /* 0: there are none. */
    struct noted_read noted[NOTED_READS_MAX]; /* namenode_audit.c */
};

/* --- namenode.c ---------------------------------------------------------- */

/* 0 on the leader; else the error that names the leader to the caller. */
MUST_CHECK int namenode_lead(const struct namenode *nn, struct err *err);
/* The same, once everything committed before the call is applied here, so that
 * an answer is not stale. Parks. */
MUST_CHECK int namenode_lead_now(struct namenode *nn, struct err *err);
/* Have @c executed by the cell; its time is set here. A refusal by the state
 * machine is an error here. Parks. */
MUST_CHECK int namenode_propose(struct namenode *nn,
                                struct gfs_command *c,
                                struct gfs_result *r,
                                struct buf *reply,
                                struct err *err);
/* A short sleep between steps that follow one another. The loop polls its
 * sockets and timers only when no fiber is ready, and on a fast disk the next
 * step always is. Parks. */
void namenode_rest(const struct namenode *nn);
/* One of nn->helpers has ended. */
void namenode_end_helper(struct namenode *nn);
/* Does safe_mode_holds() for this leader? */
bool namenode_in_safe_mode(const struct namenode *nn);
/* May servers that have not reported since this member leads still do so? A
 * chunk without known copies is not lost until then. */
bool namenode_is_early(const struct namenode *nn);
/* Record that @id was used now. */
void namenode_touch(struct namenode *nn, struct id_map *m, uint64_t id);
/* How long @id has not been used; a new leader counts from its beginning. */
uint64_t
namenode_silent_us(struct namenode *nn, const struct id_map *m, uint64_t id);

/* --- execute.c, query.c, report.c, recovery.c: methods ------------------- */

/* Handlers of the methods (gfs_wire.h); they park. Errors go to the caller. */
NAMENODE_METHODS(RPC_METHOD_HANDLER)

/* --- execute.c: changes -------------------------------------------------- */

/* Was @c executed already? Then it was sent again for its answer. */
bool namenode_is_answered(const struct namenode *nn,
                          const struct gfs_command *c);

/* --- tree_copy.c: whole trees -------------------------------------------- */

/* Seal the chunks that are open below @c's source, so that the snapshot has all
 * that was written to the files before it; their writers continue in new
 * chunks. Parks. */
MUST_CHECK int namenode_prepare_snapshot(struct namenode *nn,
                                         struct gfs_command *c,
                                         struct err *err);
/* Must @c, which ended with @rc and @r, be proposed again once the copy of a
 * tree that is under way is done? */
bool namenode_waits_for_copy(const struct gfs_command *c,
                             int rc,
                             const struct gfs_result *r);
/* Complete the copy of a tree that is under way. Parks. Errors: another leads;
 * ERR_CANCELLED. */
MUST_CHECK int namenode_finish_copy(struct namenode *nn, struct err *err);
/* Propose at most @steps steps of it, unless another fiber does. Parks. */
void namenode_continue_copy(struct namenode *nn, unsigned steps);
/* Continue @c, which sets a tree's replication, after the path @after, unless
 * it is empty. Parks. */
MUST_CHECK int namenode_replicate_rest(struct namenode *nn,
                                       const struct gfs_command *c,
                                       struct slice after,
                                       struct err *err);

/* --- tree_rights.c ------------------------------------------------------- */

/* Has the caller of @c the rights that it needs to all files below its path?
 * Parks. ERR_DENIED; another leads. */
MUST_CHECK int namenode_check_tree(struct namenode *nn,
                                   const struct gfs_command *c,
                                   struct err *err);

/* --- namenode_proofs.c --------------------------------------------------- */

/* Forget the keys: this member has just become leader. */
void namenode_begin_keys(struct namenode *nn);
/* Copy the keys by which chunk servers verify proofs; returns how many. */
size_t namenode_put_keys(struct namenode *nn,
                         struct proof_key keys[PROOF_KEYS_MAX]);
/* Make the proof (proof.h) of the @rights of @call's caller to @handle.
 * out->there is false for the cluster itself, which needs none. */
void namenode_prove(struct namenode *nn,
                    const struct rpc_call *call,
                    uint64_t handle,
                    uint8_t rights,
                    uint32_t length,
                    struct gfs_proof *out);

/* --- namenode_audit.c ---------------------------------------------------- */

/* Audit a read that was allowed only because the caller is an administrator.
 * Does not park. */
struct inode;
void namenode_audit_read(struct namenode *nn,
                         const struct rpc_call *call,
                         const struct inode *n,
                         unsigned bits);
/* Is @c, of @call, audited also when it succeeds? */
bool namenode_is_for_audit(const struct namenode *nn,
                           const struct rpc_call *call,
                           const struct gfs_command *c);

/* --- query.c: questions -------------------------------------------------- */

/* Has the caller of @call all of @bits (enum permission_bits) to @n?
 * ERR_DENIED. */
MUST_CHECK int namenode_check_inode(const struct namenode *nn,
                                    const struct rpc_call *call,
                                    const struct inode *n,
                                    unsigned bits,
                                    struct err *err);

/* --- recovery.c ---------------------------------------------------------- */

/* Has chunk server @number, which counts as alive, been silent for longer than
 * a healthy one is? */
bool namenode_is_quiet(const struct namenode *nn, uint16_t number);

/* The knowledge of an unsealed chunk's writer; not present: it is gone. */
struct writer_view {
    bool present;
    uint64_t acknowledged;
    struct gfs_server_set failed;
};

/* Seal the unsealed chunk @handle at the end of file @id, if it still is, and
 * with @close close the file. *@length is the chunk's, 0 when it had no bytes.
 * Parks. Errors: ERR_BUSY: no server that has it can be reached now;
 * ERR_UNAVAILABLE: another leads. */
MUST_CHECK int namenode_recover(struct namenode *nn,
                                uint64_t id,
                                uint64_t handle,
                                const struct writer_view *writer,
                                bool close,
                                uint64_t *length,
                                struct err *err);
/* Close file @id, whatever its writer does, once its last chunk is sealed; 0
 * also if it is closed or removed already. Parks. Errors: as above. */
MUST_CHECK int
namenode_take_over(struct namenode *nn, uint64_t id, struct err *err);
/* Wait until nobody recovers file @id. Parks. */
void namenode_await_recovery(struct namenode *nn, uint64_t id);

/* --- re_replication.c ---------------------------------------------------- */

/* The number and places of @c's copies, as repair_level_of() needs them. */
struct repair_view namenode_view_chunk(const struct namenode *nn,
                                       const struct placement_server *view,
                                       const struct chunk *c);
/* Call after each step of a long walk; counted in *@steps. Lets other fibers
 * run now and then. False: this member does not lead any more. Parks. */
bool namenode_pause(struct namenode *nn, size_t *steps);
/* Scan all chunks: queue those that need a copy, drop copies that are too many.
 * Parks; by one fiber at a time. */
void namenode_scan(struct namenode *nn);
/* Count the chunks of which no server alive has a copy, and those with too few.
 * False: this member does not lead any more. Parks. */
bool namenode_count(struct namenode *nn, uint64_t *lost, uint64_t *under);
/* Order copies of the most urgent chunks. */
void namenode_order_copies(struct namenode *nn);
/* Order moves that even out the disks. */
void namenode_order_moves(struct namenode *nn);
/* The copy of @handle to @server arrived or failed. */
void namenode_end_copy(struct namenode *nn, uint64_t handle, uint16_t server);
/* Forget copies that took too long or whose target died. */
void namenode_drop_old_copies(struct namenode *nn);
/* Forget the copies that @server was ordered to make: it restarted, or the
 * order did not reach it. */
void namenode_forget_copies(struct namenode *nn, uint16_t server);
/* @server is dead or reports in full: it holds nothing. False: as above. Parks.
 */
bool namenode_forget_server(struct namenode *nn, uint16_t server);

/* --- maintenance.c ------------------------------------------------------- */

/* The maintenance fiber; @arg is the namenode. Ends when it stops. */
void namenode_run_maintenance(void *arg);
/* How many servers of @chain are alive? */
unsigned namenode_chain_alive(const struct namenode *nn,
                              const struct gfs_server_set *chain);

#endif /* GFS_LITE_NAMENODE_NAMENODE_STATE_H */
